/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope PROG: launcher, target, collector.
 *
 * The launcher checks that the output can be written, starts a detached collector, runs the program as
 * its child, and waits for both: for the program to end, then for the files to be complete, and up to --linger for
 * registered processes that outlive the program. Its exit status is the program's. If it is killed, program and
 * collector continue. */
#include "cli/msmemscope/cli.h"

#include "base/bar.h"
#include "base/clock.h"
#include "collect/supervise/output.h"
#include "collect/supervise/session_settings.h"
#include "collect/supervise/supervisor.h"
#include "memscope/options/options.h"
#include "memscope/options/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool quiet;

/* ---- output directory ---- */

/* An O_PATH descriptor of the output directory, or -1 after a message. */
static int open_output(const struct ms_settings *settings, bool *is_new)
{
    const char *path = settings->output;
    if (*path == '\0') {
        cli_error("the current directory has no usable path; use --output.");
        return -1;
    }
    if (ms_path_trust(path, settings->strict_paths, cli_say) != 0) {
        return -1;
    }
    int fd = ms_output_open(path, is_new);
    if (fd < 0) {
        cli_error("cannot use the output directory %s: %s.", path, strerror(-fd));
        return -1;
    }
    return fd;
}

/* Creating the socket file also proves that the directory is writable. A file system without sockets is accepted. */
static int open_listeners(struct ms_session *session, const struct ms_settings *settings, int listeners[2])
{
    int rc = ms_session_new_socket(session);
    unsigned count = 0;
    if (rc == 0) {
        rc = ms_session_listen(session, false);
    }
    if (rc < 0) {
        cli_error("cannot create the recorder's socket: %s.", strerror(-rc));
        return -1;
    }
    listeners[count++] = rc;
    int n = snprintf(session->fallback, sizeof(session->fallback), "%s/.msmemscope-%.8s", settings->output,
                     session->socket);
    rc = n < (int)sizeof(session->fallback) ? ms_session_listen(session, true) : -ENAMETOOLONG;
    if (rc >= 0) {
        listeners[count++] = rc;
        return (int)count;
    }
    session->fallback[0] = '\0';
    if (rc == -EROFS || rc == -EACCES || rc == -ENOSPC || rc == -EDQUOT || rc == -ENOENT || rc == -EIO) {
        cli_error("cannot write to the output directory %s: %s.", settings->output, strerror(-rc));
        close(listeners[0]);
        return -1;
    }
    return (int)count;
}

/* ---- while it runs ---- */

static void print_text(int stream, bool info, const char *text, size_t text_b)
{
    if (info && quiet) {
        return;
    }
    while (text_b > 0) {
        ssize_t n = write(stream, text, text_b);
        if (n < 0 && errno != EINTR) {
            return; /* the reader has closed the pipe; the files are still written */
        }
        n = n < 0 ? 0 : n;
        text += n;
        text_b -= (size_t)n;
    }
}

static void wait_for_something(const struct ms_supervisor *supervisor, int timeout_ms)
{
    bool lost = ms_supervisor_state(supervisor).lost;
    struct pollfd fds[2] = {{target_signal_fd(), POLLIN, 0}, {lost ? -1 : ms_supervisor_fd(supervisor), POLLIN, 0}};
    poll(fds, 2, timeout_ms);
}

static void show_progress(const struct ms_supervisor_state *state, bool *shown)
{
    if (!isatty(2)) {
        return;
    }
    if (state->unfinished > 0) {
        char bar[MS_BAR_B];
        ms_bar(bar, state->progress);
        fprintf(stderr, "\r\033[K[msmemscope] writing results %s", bar);
    } else {
        fprintf(stderr, "\r\033[K[msmemscope] waiting for %u process%s that outlive%s the program", state->living,
                state->living == 1 ? "" : "es", state->living == 1 ? "s" : "");
    }
    *shown = true;
}

#define NOTICE_NS 5000000000ull

/* The program has ended: waits for its files, then for processes that outlive it. */
static void wait_for_results(struct ms_supervisor *supervisor, pid_t program, uint32_t linger_ms)
{
    uint64_t begin_ns = ms_clock_raw_ns(), linger_ns = linger_ms * 1000000ull;
    bool shown = false, asked = false;
    for (;;) {
        ms_supervisor_turn(supervisor);
        struct ms_supervisor_state state = ms_supervisor_state(supervisor);
        uint64_t passed_ns = ms_clock_raw_ns() - begin_ns;
        if (getpid() == 1 && passed_ns >= linger_ns && state.living > 0 && !asked) {
            /* When process 1 exits, all others are killed: terminate them first, so that their files are completed. */
            kill(-1, SIGTERM);
            asked = true;
            linger_ns += 5000000000ull;
        }
        /* Until the collector has noticed that the program ended, it does not complete the files. NOTICE_NS limits the
         * wait for a collector that does not respond. */
        bool unnoticed = passed_ns < NOTICE_NS && ms_supervisor_living(supervisor, program);
        bool wait = state.unfinished > 0 || unnoticed || (state.living > 0 && passed_ns < linger_ns);
        if (!wait || state.lost || target_interrupted()) {
            break;
        }
        if (passed_ns > 1000000000ull) {
            show_progress(&state, &shown);
        }
        wait_for_something(supervisor, 100);
        int status;
        target_turn(-1, &status);
    }
    if (shown) {
        fputs("\r\033[K", stderr);
    }
    struct ms_supervisor_state state = ms_supervisor_state(supervisor);
    if (state.unfinished > 0 && !state.lost) {
        cli_warn("results are still being written to the output directory.");
    }
}

/* For processes that outlive launcher and collector and start recording only then. */
static void describe_for_children(const struct ms_settings *settings, struct ms_session *session)
{
    if (strlen(settings->output) >= sizeof(session->output) ||
        ms_options_format(settings, session->settings, sizeof(session->settings)) >= sizeof(session->settings)) {
        session->settings[0] = '\0';
        return;
    }
    memcpy(session->output, settings->output, strlen(settings->output) + 1);
}

struct child {
    struct ms_session session;
    bool alone;
};

static void give_session(void *argument)
{
    struct child *child = argument;
    static char text[MS_SESSION_MAX_B];
    if (child->alone) {
        child->session.only_pid = (uint64_t)getpid();
    }
    ms_session_format(&child->session, text, sizeof(text));
    setenv(MS_SESSION_ENV, text, 1);
    unsetenv("LD_PRELOAD_PATH");
}

int launch(const struct home *home, const struct ms_settings *settings, char **argv)
{
    struct program program;
    struct child child = {.alone = settings->no_children};
    struct ms_session *session = &child.session;
    struct ms_supervisor_options options = {
        .session = session, .settings = settings, .collector = home->collector, .print = print_text};
    int rc = program_find(argv[0], &program);
    if (rc != 0) {
        return rc;
    }
    if (isatty(2) && !settings->quiet) {
        banner_print();
    }
    if (geteuid() == 0 && !settings->quiet) {
        cli_warn("Current user is root, skip permission check.");
    }
    program_inspect(&program);
    quiet = settings->quiet;

    options.output = open_output(settings, &options.output_is_new);
    if (options.output < 0) {
        return MS_EXIT_USAGE;
    }
    ms_session_init(session);
    int count = open_listeners(session, settings, options.listeners);
    if (count < 0) {
        return MS_EXIT_USAGE;
    }
    options.listener_count = (unsigned)count;
    session->uid = geteuid();
    session->pid_namespace = ms_session_own_pid_namespace();
    session->listener = (uint64_t)getpid();
    ms_settings_to_session(settings, session);
    describe_for_children(settings, session);
    if (preload_set(home, &program) != 0 || python_path_set(home) != 0) {
        unlink(session->fallback);
        return MS_EXIT_TOOL;
    }

    target_signals_block();
    struct ms_supervisor *supervisor;
    struct ms_why why;
    uint32_t clock_kind = 0;
    if (ms_supervisor_start(&options, &supervisor, &clock_kind, &why) != 0) {
        cli_say(why.error);
        unlink(session->fallback);
        return MS_EXIT_TOOL;
    }
    session->clock_kind = clock_kind;

    pid_t pid;
    if (target_start(program.path, argv, give_session, &child, &pid) != 0) {
        int error = errno;
        cli_error("cannot run '%s': %s.", argv[0], strerror(error));
        ms_supervisor_leave(supervisor);
        return error == ENOENT ? MS_EXIT_NOT_FOUND : MS_EXIT_NOT_EXEC;
    }
    int status = 0;
    do {
        ms_supervisor_turn(supervisor);
        wait_for_something(supervisor, -1);
    } while (!target_turn(pid, &status));
    wait_for_results(supervisor, pid, settings->linger_ms);
    ms_supervisor_leave(supervisor);
    target_end_like(status);
}
