/* SPDX-License-Identifier: Apache-2.0 */
/* A process that is recorded, from its registration until its files are complete.
 *
 *   QUIET      registered, nothing published yet: leaves nothing behind if it stays so
 *   RECORDING  has a directory and a trace; the sweeper drains it
 *   ENDED      is dead (or became another program): the sweeper takes the rest and closes the trace
 *   CLOSED     the trace is complete; the exporter finishes the files
 *   DONE       nothing is left to be done
 *
 * Threads: the main thread owns everything, except what the sweeper (drain, writer) and the exporter (pipeline) use while
 * they have the process. The words marked atomic are how they tell each other. */
#ifndef MS_COLLECT_RECORDED_H
#define MS_COLLECT_RECORDED_H

#include "collect/protocol/message.h"
#include "collect/usage.h"
#include "memscope/analyze/leaks.h"
#include "memscope/pipeline/pipeline.h"
#include "memscope/recording/modules.h"
#include "memscope/recording/project.h"

enum recorded_phase { QUIET, RECORDING, ENDED, CLOSED, DONE };

struct collector;

struct recorded {
    struct recorded *next;
    struct collector *collector;
    uint64_t serial;
    enum recorded_phase phase;
    struct ms_process identity;
    struct ms_settings settings;

    /* liveness.c */
    int memfd, connection, pidfd; /* -1: none */
    uint32_t pid_here;            /* 0: invisible */
    bool keeps_socket;
    bool dead;
    unsigned quiet_turns;
    uint64_t eof_ns, eof_progress;

    struct ms_view *view;         /* its files, for the text of its stacks; NULL: none */
    char name[MS_PROJECT_NAME_B]; /* of the directory; empty: none yet */
    bool resumed;                 /* a collector before us had it */
    int dirfd, tracefd;
    char path[MS_PATH_MAX_B + MS_PROJECT_NAME_B + 2]; /* as users see it */
    struct ms_log log;

    /* sweeper.c */
    struct ms_drain *drain;
    struct ms_writer *writer;
    uint32_t ended;       /* atomic: the process is dead */
    uint32_t closed;      /* atomic: the trace is complete, drain and writer are gone */
    uint64_t low_stamp;   /* atomic: everything below is in the trace */
    uint64_t records;     /* atomic: taken so far */
    uint32_t early_end;   /* atomic: enum ms_trace_ending if the trace had to end before the process */
    int early_error;      /* -errno */
    uint64_t drain_ns;    /* processor time of the sweeper for it */
    uint64_t buffers_b;   /* of shared memory, at most */
    bool complained;      /* the main thread has said so */
    uint64_t freed_b;     /* of the marks, as the writer knows */
    uint64_t trace_max_b; /* 0: no limit */
    struct recorded *next_swept;

    struct ms_usage_watch *usage; /* NULL: none */
    bool in_memory;               /* not started yet: leaves nothing behind; the main thread's */
    uint32_t to_files;            /* atomic: 1 go on in tracefd, 2 the sweeper does */
    int move_error;               /* with 2 */

    /* exporter.c */
    struct ms_pipeline *pipeline;
    struct ms_marks marks;        /* atomic, for the sweeper */
    bool has_files;               /* the exporter has gone on in files */
    bool tracking;                /* the pipeline makes checkpoints only; files come later, or never */
    uint32_t exported;            /* atomic: the files are complete (or given up), pipeline is gone */
    int export_error;             /* atomic: why they are not complete; 0: they are, so far */
    uint64_t exported_stamp;      /* atomic: everything below is in the files */
    char suspects[MS_SUSPECTS_B]; /* when it was last stopped; written before exported_stamp passes that stop */
    uint64_t suspects_of;         /* which stop that was */
    uint64_t exported_events;     /* atomic: moves while there is progress */
    uint32_t per_mille;           /* atomic: of the trace */
    uint64_t lag_b;               /* of the trace, that is to be read */
    bool only_at_end;             /* --export=end */
    uint32_t awaited;             /* atomic: look now; how often, since everything was exported */
    uint64_t due_ns;              /* when to look again */
    unsigned pause_ms;
    struct recorded *next_export;
};

/* ---- liveness.c ---- */
/* Begins to watch: a pidfd where possible. Returns false if the process is dead already. */
bool ms_liveness_begin(struct recorded *process, uint64_t hello_start_time);
/* For those without a pidfd: asks. (A pidfd becomes readable in the event loop.) */
bool ms_liveness_dead(struct recorded *process, uint64_t progress);

#endif
