/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a collector: starts it apart from everything (own process group, parent init, clean environment, no inherited
 * file), receives registrations for it, keeps a copy of each, starts it once more if it dies, and prints what it
 * reports.
 *
 * The user of a supervisor polls ms_supervisor_fd and calls ms_supervisor_turn. One thread; never waits, except for the
 * collector's first word (ms_supervisor_start) and, when nothing is left to record, for its end (ms_supervisor_leave).
 */
#ifndef MS_SUPERVISE_SUPERVISOR_H
#define MS_SUPERVISE_SUPERVISOR_H

#include "collect/protocol/session.h"
#include "memscope/options/settings.h"

#include <sys/types.h>

struct ms_supervisor;

struct ms_supervisor_options {
    const struct ms_session *session;
    const struct ms_settings *settings;
    const char *collector; /* path of the program */
    int output;            /* the output directory; stays the caller's */
    bool output_is_new;    /* remove it at the end if nothing was put into it */
    int listeners[2];
    unsigned listener_count;
    /* A text that the collector wants the user to see: stream 1 or 2; info: not with --quiet. NULL: there is no
     * console; the collector writes reports into files. */
    void (*print)(int stream, bool info, const char *text, size_t text_b);
};

/* 0 with *clock_kind set, or -errno with a line in why->error. */
int ms_supervisor_start(const struct ms_supervisor_options *options, struct ms_supervisor **out, uint32_t *clock_kind,
                        struct ms_why *why);

int ms_supervisor_fd(const struct ms_supervisor *supervisor);
void ms_supervisor_turn(struct ms_supervisor *supervisor);

struct ms_supervisor_state {
    unsigned living;     /* registered processes that have not ended */
    unsigned unfinished; /* that have ended, but whose files are not complete */
    unsigned progress;   /* of those, per mille */
    unsigned registered; /* ever */
    unsigned restarts;
    bool lost; /* no collector any more: it died twice, or could not be started again */
};
struct ms_supervisor_state ms_supervisor_state(const struct ms_supervisor *supervisor);

/* Whether the collector still takes this process for alive: for a while after it has ended, it does. */
bool ms_supervisor_living(const struct ms_supervisor *supervisor, pid_t pid);

/* Hands everything over to the collector, which goes on alone. Frees the supervisor. */
void ms_supervisor_leave(struct ms_supervisor *supervisor);

#endif
