/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon as a service: pid file, readiness, signals. */
#ifndef MON_DAEMON_SERVICE_H
#define MON_DAEMON_SERVICE_H

#include "monitor/daemon/daemon.h"

extern const struct mon_daemon_module mon_module_service;

/* Notifies the service manager, if there is one: "READY=1", "STATUS=...", "STOPPING=1". */
void mon_service_notify(const char *state);

/* SIGHUP: calls reload of every module; defined in daemon.c. */
void mon_daemon_reload(struct mon_daemon *daemon);

#endif
