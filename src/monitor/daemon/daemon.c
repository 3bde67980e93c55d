/* SPDX-License-Identifier: Apache-2.0 */
/* Start, event loop and end of the daemon.
 *
 * Modules start in list order and stop in reverse order. If a module cannot start, those before it are stopped and the
 * daemon exits with status 1. READY=1 is sent to the service manager when all modules have started, so that units which
 * depend on this one can use its sockets and port at once. */
#include "monitor/daemon/daemon.h"

#include "base/clock.h"
#include "monitor/daemon/registry_internal.h"
#include "monitor/daemon/service.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void mon_daemon_stop(struct mon_daemon *daemon)
{
    event_base_loopexit(daemon->base, NULL);
}

void mon_daemon_reload(struct mon_daemon *daemon)
{
    for (size_t i = 0; daemon->modules[i] != NULL; i++) {
        if (daemon->modules[i]->reload != NULL) {
            daemon->modules[i]->reload(daemon);
        }
    }
    MON_LOG_INFO("reloaded");
}

static int start_modules(struct mon_daemon *daemon, size_t *started)
{
    for (*started = 0; daemon->modules[*started] != NULL; (*started)++) {
        const struct mon_daemon_module *module = daemon->modules[*started];
        int result = module->start(daemon);
        if (result != 0) {
            MON_LOG_ERROR("%s could not start: %s", module->name, strerror(-result));
            return result;
        }
    }
    return 0;
}

static void stop_modules(struct mon_daemon *daemon, size_t started)
{
    while (started-- > 0) {
        if (daemon->modules[started]->stop != NULL) {
            daemon->modules[started]->stop(daemon);
        }
    }
}

/* The default limit is too low for many connections and a pidfd per process. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void serve(struct mon_daemon *daemon)
{
    size_t started;
    if (start_modules(daemon, &started) == 0) {
        mon_log_started();
        MON_LOG_INFO("ready");
        mon_service_notify("READY=1");
        event_base_dispatch(daemon->base);
        mon_service_notify("STOPPING=1");
    } else {
        daemon->exit_code = EXIT_FAILURE;
    }
    stop_modules(daemon, started);
}

/* Everything after flags have been parsed. */
static int run(struct mon_daemon *daemon, const struct mon_flag_notes *notes)
{
    struct mon_log_options log = {
        .file = daemon->flags.logtostderr ? "stderr" : daemon->flags.log_file,
        .max_b = (uint64_t)daemon->flags.log_max_mb << 20,
        .keep = (unsigned)daemon->flags.log_keep,
        .min_level = (enum mon_log_level)daemon->flags.minloglevel,
    };
    int result = mon_log_open(&log);
    if (result != 0) {
        fprintf(stderr, "dynolog: cannot open log file '%s': %s (--log_file)\n", log.file, strerror(-result));
        return EXIT_FAILURE;
    }
    MON_LOG_INFO("dynolog %s, pid %d, log %s", MON_DAEMON_VERSION, (int)getpid(), mon_log_path());
    for (size_t i = 0; i < notes->count; i++) {
        MON_LOG_WARNING("%s", notes->lines[i]);
    }
    if (getuid() == 0) {
        MON_LOG_WARNING("running as root; a dedicated user is safer (the packaged unit has one)");
    }
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    if (gethostname(daemon->host, sizeof(daemon->host) - 1) != 0) {
        snprintf(daemon->host, sizeof(daemon->host), "localhost");
    }
    daemon->started_ns = ms_clock_ns(CLOCK_MONOTONIC);
    daemon->base = event_base_new();
    daemon->registry = mon_registry_new(daemon->host);
    if (daemon->base == NULL || daemon->registry == NULL) {
        MON_LOG_ERROR("out of memory for the event loop");
        daemon->exit_code = EXIT_FAILURE;
    } else {
        serve(daemon);
    }
    mon_registry_free(daemon->registry);
    if (daemon->base != NULL) {
        event_base_free(daemon->base);
    }
    MON_LOG_INFO("exiting with status %d", daemon->exit_code);
    mon_log_close();
    return daemon->exit_code;
}

int mon_daemon_run(const struct mon_daemon_module *const *modules, int argc, char **argv)
{
    struct mon_daemon daemon = {.modules = modules, .exit_code = EXIT_SUCCESS};
    struct mon_flag_notes notes = {NULL, 0, 0};
    char error[512];
    int status = EXIT_FAILURE;
    if (mon_flags_init(&daemon.flags) != 0) {
        fputs("dynolog: out of memory\n", stderr);
        return EXIT_FAILURE;
    }
    if (mon_flags_parse(&daemon.flags, argc, argv, &notes, error, sizeof(error)) != 0) {
        fprintf(stderr, "dynolog: %s\n", error);
    } else if (daemon.flags.help) {
        mon_flags_help(stdout, "dynolog");
        status = EXIT_SUCCESS;
    } else if (daemon.flags.markdown) {
        mon_flags_markdown(stdout);
        status = EXIT_SUCCESS;
    } else if (daemon.flags.man) {
        mon_flags_man(stdout);
        status = EXIT_SUCCESS;
    } else if (daemon.flags.version) {
        puts("dynolog version " MON_DAEMON_VERSION);
        status = EXIT_SUCCESS;
    } else {
        status = run(&daemon, &notes);
    }
    mon_flag_notes_free(&notes);
    mon_flags_free(&daemon.flags);
    return status;
}
