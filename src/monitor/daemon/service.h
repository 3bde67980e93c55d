/* The daemon as a service: pid file, readiness, signals. */
#ifndef MS_DAEMON_SERVICE_H
#define MS_DAEMON_SERVICE_H

#include "monitor/daemon/daemon.h"

extern const struct ms_daemon_module ms_module_service;

/* Tells the service manager, if there is one: "READY=1", "STATUS=...", "STOPPING=1". */
void ms_service_notify(const char *state);

/* SIGHUP: calls reload of every module; given by the daemon. */
void ms_daemon_reload(struct ms_daemon *daemon);

#endif
