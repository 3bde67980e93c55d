/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope-collector --supervise SESSION: the supervisor of a program that was started without msmemscope. It
 * keeps a collector running for the program and its children until the last of them has ended. The recorder in the
 * program starts it and passes it the bound socket of the session. */
#include "cli/msmemscope/recordings.h"

#include "base/clock.h"
#include "base/macros.h"
#include "collect/supervise/output.h"
#include "collect/supervise/supervisor.h"
#include "memscope/options/options.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LISTENER_FD 3
#define PATIENCE_NS 10000000000ull /* timeout for the first registration */

static bool take_settings(const struct ms_session *session, struct ms_settings *settings)
{
    struct ms_why why;
    ms_settings_init(settings); /* the output directory is below the current one, which is the program's */
    if (ms_options_apply_text(settings, session->settings, &why) != 0) {
        return false;
    }
    if (session->output[0] != '\0') {
        memcpy(settings->output, session->output, strlen(session->output) + 1);
    }
    if ((session->flags & MS_SESSION_API) != 0) {
        settings->collect_mode = MS_COLLECT_DEFERRED;
    }
    return true;
}

static void keep(struct ms_supervisor *supervisor)
{
    uint64_t begin_ns = ms_clock_raw_ns();
    for (;;) {
        ms_supervisor_turn(supervisor);
        struct ms_supervisor_state state = ms_supervisor_state(supervisor);
        bool waiting = state.registered == 0 && ms_clock_raw_ns() - begin_ns < PATIENCE_NS;
        if (state.lost || (state.living + state.unfinished == 0 && !waiting)) {
            return;
        }
        struct pollfd wait = {ms_supervisor_fd(supervisor), POLLIN, 0};
        poll(&wait, 1, state.registered == 0 ? 100 : -1);
    }
}

int cmd_supervise(const char *text)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE};
    static struct ms_session session;
    static struct ms_settings settings;
    char self[4096];
    for (size_t i = 0; i < MS_COUNT_OF(ignored); i++) {
        signal(ignored[i], SIG_IGN);
    }
    signal(SIGCHLD, SIG_DFL);
    ssize_t self_b = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (self_b <= 0 || fcntl(LISTENER_FD, F_SETFD, FD_CLOEXEC) != 0 || ms_session_parse(text, &session) != 0 ||
        !take_settings(&session, &settings)) {
        return 2;
    }
    self[self_b] = '\0';
    struct ms_supervisor_options options = {.session = &session,
                                            .settings = &settings,
                                            .collector = self,
                                            .listeners = {LISTENER_FD},
                                            .listener_count = 1}; /* print stays NULL: no console */
    /* With the API nothing is created before start(), which selects the directory. */
    options.output = (session.flags & MS_SESSION_API) != 0 ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
                                                           : ms_output_open(settings.output, &options.output_is_new);
    if (options.output < 0) {
        return 1;
    }
    struct ms_supervisor *supervisor;
    struct ms_why why;
    uint32_t clock_kind;
    if (ms_supervisor_start(&options, &supervisor, &clock_kind, &why) != 0) {
        return 1;
    }
    if (chdir("/") == 0) { /* does not keep a file system busy */
        keep(supervisor);
    }
    ms_supervisor_leave(supervisor);
    return 0;
}
