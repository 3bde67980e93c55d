/* SPDX-License-Identifier: Apache-2.0 */
/* Supervises a collector: starts it detached (own process group, parent init, clean environment, no inherited file),
 * receives registrations for it, keeps a copy of each, restarts it once if it dies, and prints its reports.
 *
 * The user of a supervisor polls ms_supervisor_fd and calls ms_supervisor_turn. One thread; never waits, except for the
 * collector's first message (ms_supervisor_start) and, when nothing is left to record, for its exit
 * (ms_supervisor_leave). */
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
    bool output_is_new;    /* remove it at the end if it is empty */
    int listeners[2];
    unsigned listener_count;
    /* Shows a text of the collector to the user: stream 1 or 2; info: not with --quiet. NULL: no console; the collector
     * writes reports to files. */
    void (*print)(int stream, bool info, const char *text, size_t text_b);
};

/* 0 with *clock_kind set, or -errno with a line in why->error. */
int ms_supervisor_start(const struct ms_supervisor_options *options, struct ms_supervisor **out, uint32_t *clock_kind,
                        struct ms_why *why);

int ms_supervisor_fd(const struct ms_supervisor *supervisor);
void ms_supervisor_turn(struct ms_supervisor *supervisor);

struct ms_supervisor_state {
    unsigned living;     /* registered processes that have not ended */
    unsigned unfinished; /* ended, but with incomplete files */
    unsigned progress;   /* of those, per mille */
    unsigned registered; /* in total */
    unsigned restarts;
    bool lost; /* no collector left: it died twice, or could not be restarted */
};
struct ms_supervisor_state ms_supervisor_state(const struct ms_supervisor *supervisor);

/* Whether the collector still considers this process alive; that lasts for a while after it has ended. */
bool ms_supervisor_living(const struct ms_supervisor *supervisor, pid_t pid);

/* Hands everything over to the collector, which continues alone. Frees the supervisor. */
void ms_supervisor_leave(struct ms_supervisor *supervisor);

#endif
