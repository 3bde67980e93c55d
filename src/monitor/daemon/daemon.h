/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon: one event loop, the values of its flags, and modules that hang their events into the loop.
 *
 * Threads: none. Every module runs in the loop and must not block; what can be slow (a name lookup, a disk) is done in
 * pieces or handed to libevent. */
#ifndef MON_DAEMON_DAEMON_H
#define MON_DAEMON_DAEMON_H

#include "monitor/daemon/flags.h"
#include "monitor/daemon/logger.h"
#include "monitor/daemon/registry.h"

#include <event2/event.h>

struct mon_daemon_module;

struct mon_daemon {
    const struct mon_daemon_module *const *modules; /* ended by NULL */
    struct event_base *base;
    struct mon_flags flags;
    struct mon_registry *registry;
    char host[256];      /* host name, for labels */
    uint64_t started_ns; /* CLOCK_MONOTONIC */
    int exit_code;       /* of mon_daemon_run; a module that must end the daemon sets it and calls mon_daemon_stop */
};

struct mon_daemon_module {
    const char *name;
    /* 0: runs, or has nothing to do under these flags. -errno after a message in the log: the daemon does not start. */
    int (*start)(struct mon_daemon *daemon);
    void (*stop)(struct mon_daemon *daemon);   /* only after a start that returned 0; in reverse order; may be NULL */
    void (*reload)(struct mon_daemon *daemon); /* SIGHUP: open files anew, read certificates anew; may be NULL */
};

/* main of the daemon, with these modules (ended by NULL); returns the exit status. */
int mon_daemon_run(const struct mon_daemon_module *const *modules, int argc, char **argv);
void mon_daemon_stop(struct mon_daemon *daemon); /* leaves the loop soon, then modules stop in order */

/* The version that getVersion answers and --version prints. */
#define MON_DAEMON_VERSION NPUSCOPE_VERSION

#endif
