/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded process, from its registration until its files are complete.
 *
 *   QUIET      registered, nothing published yet: leaves no files if that does not change
 *   RECORDING  has a directory and a trace; the sweeper drains it
 *   ENDED      is dead (or has exec'd another program): the sweeper drains the rest and closes the trace
 *   CLOSED     the trace is complete; the export threads finish the files
 *   DONE       nothing left to do
 *
 * Threads: the main thread owns everything except what the sweeper (drain, writer) and the export threads (pipeline)
 * use while they hold the process. They communicate through the words marked atomic. */
#ifndef MS_COLLECT_RECORDED_H
#define MS_COLLECT_RECORDED_H

#include "collect/protocol/message.h"
#include "collect/usage.h"
#include "memscope/analyze/leaks.h"
#include "memscope/pipeline/pipeline.h"
#include "memscope/recording/modules.h"
#include "memscope/recording/project.h"

enum ms_phase { MS_PHASE_QUIET, MS_PHASE_RECORDING, MS_PHASE_ENDED, MS_PHASE_CLOSED, MS_PHASE_DONE };

struct ms_collector;

struct ms_recorded {
    struct ms_recorded *next;
    struct ms_collector *collector;
    uint64_t serial;
    enum ms_phase phase;
    struct ms_process identity;
    struct ms_settings settings;

    /* liveness.c */
    int memfd, connection, pidfd; /* -1: none */
    uint32_t pid_here;            /* 0: invisible */
    bool keeps_socket;
    bool dead;
    unsigned quiet_turns;
    uint64_t eof_ns, eof_progress;

    struct ms_process_modules *files; /* its mapped files, used to symbolize its stacks; NULL: none */
    char name[MS_PROJECT_NAME_B];     /* of the directory; empty: none yet */
    bool resumed;                     /* a previous collector had it */
    int dirfd, tracefd;
    char path[MS_PATH_MAX_B + MS_PROJECT_NAME_B + 2]; /* as shown to users */
    struct ms_log log;

    /* sweeper.c */
    struct ms_drain *drain;
    struct ms_writer *writer;
    uint32_t ended;       /* atomic: the process is dead */
    uint32_t closed;      /* atomic: the trace is complete, drain and writer are closed */
    uint64_t low_stamp;   /* atomic: everything below is in the trace */
    uint64_t records;     /* atomic: drained so far */
    uint32_t early_end;   /* atomic: enum ms_trace_ending if the trace had to end before the process */
    int early_error;      /* -errno */
    uint64_t drain_ns;    /* processor time the sweeper spent on it */
    uint64_t buffers_b;   /* shared memory in use, peak */
    bool complained;      /* early_end was reported */
    uint64_t freed_b;     /* reclaim.freed_b as last passed to the writer */
    uint64_t trace_max_b; /* 0: no limit */
    struct ms_recorded *next_swept;

    struct ms_usage_samples *usage; /* NULL: none */
    bool in_memory;                 /* not started yet, leaves no files; owned by the main thread */
    uint32_t to_files;              /* atomic: 1: continue in tracefd, 2: the sweeper does */
    int move_error;                 /* valid when to_files is 2 */

    /* export_thread.c */
    struct ms_pipeline *pipeline;
    struct ms_reclaim reclaim;    /* atomic, for the sweeper */
    bool has_files;               /* the export thread has switched to files */
    bool tracking;                /* the pipeline writes checkpoints only; files come later, or never */
    uint32_t exported;            /* atomic: the files are complete (or abandoned), pipeline is closed */
    int export_error;             /* atomic: why the files are incomplete, -errno; 0: no error so far */
    uint64_t exported_stamp;      /* atomic: everything below is in the files */
    char suspects[MS_SUSPECTS_B]; /* as of the last stop; written before exported_stamp passes that stop */
    uint64_t suspects_of;         /* which stop that was */
    uint64_t exported_events;     /* atomic: moves while there is progress */
    uint32_t per_mille;           /* atomic: of the trace */
    uint64_t lag_b;               /* bytes of the trace still to be read */
    bool only_at_end;             /* --export=end */
    uint32_t awaited;             /* atomic: look now; number of requests since everything was exported */
    uint64_t due_ns;              /* when to look again */
    unsigned pause_ms;
    struct ms_recorded *next_export;
};

/* ---- liveness.c ---- */
/* Starts monitoring, with a pidfd where possible. False if the process is already dead. */
bool ms_liveness_begin(struct ms_recorded *process, uint64_t hello_start_time);
/* Polls a process that has no pidfd. (A pidfd becomes readable in the event loop.) */
bool ms_liveness_dead(struct ms_recorded *process, uint64_t progress);

#endif
