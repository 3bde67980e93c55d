/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: one event loop, its flags, and modules that add events to the loop.
 *
 * Modules run in one thread, that of the event loop, and must not block: slow operations (name lookups, disk) are split
 * up, or given to libevent or to a thread of the module. */
#ifndef MON_DAEMON_DAEMON_H
#define MON_DAEMON_DAEMON_H

#include "monitor/daemon/flags.h"
#include "monitor/daemon/logger.h"
#include "monitor/daemon/registry.h"

#include <event2/event.h>

struct mon_daemon_module;

struct mon_daemon {
    const struct mon_daemon_module *const *modules; /* NULL-terminated */
    struct event_base *base;
    struct mon_flags flags;
    struct mon_registry *registry;
    char host[256];      /* host name, for labels */
    uint64_t started_ns; /* CLOCK_MONOTONIC */
    int exit_code;       /* exit status; to end the daemon, a module sets it and calls mon_daemon_stop */
};

struct mon_daemon_module {
    const char *name;
    /* 0: started, or nothing to do with these flags. -errno, after logging a message: the daemon does not start. */
    int (*start)(struct mon_daemon *daemon);
    void (*stop)(struct mon_daemon *daemon);   /* called in reverse order, only if start returned 0; may be NULL */
    void (*reload)(struct mon_daemon *daemon); /* SIGHUP: reopen files, reload certificates; may be NULL */
};

/* The daemon's main, with a NULL-terminated list of modules; returns the exit status. */
int mon_daemon_run(const struct mon_daemon_module *const *modules, int argc, char **argv);
void mon_daemon_stop(struct mon_daemon *daemon); /* leaves the loop soon; modules are then stopped */

/* The version that --version prints. */
#define MON_DAEMON_VERSION NPUSCOPE_VERSION

#endif
