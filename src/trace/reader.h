/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a trace: one process of a trace directory, from its beginning or from a checkpoint, finished or still
 * growing.
 *
 *     struct ms_trace *t;
 *     int rc = ms_trace_open(dirfd, name, NULL, &t);
 *     while ((rc = ms_trace_next(t, &event)) == MS_TRACE_EVENT) ...
 *     MS_TRACE_END: no more events.  MS_TRACE_AGAIN: the process or its collector is running; try again later.
 *
 * Memory is bounded by definitions plus a fixed cache of decoded blocks. Of a damaged file only the damaged part is
 * lost: the rest is released, a GAP event marks the loss, and ms_trace_next_damage returns file, offset and reason.
 *
 * A trace is used by one thread at a time. Several readers of one trace and its writer do not disturb each other.
 *
 * Left to the model: an allocation at an address whose free arrives up to 2 us later (two threads, coarse clock).
 * Only the model knows which addresses are live. */
#ifndef MS_TRACE_READER_H
#define MS_TRACE_READER_H

#include "trace/event.h"
#include "trace/process.h"

#include <stddef.h>

struct ms_overflow;
struct ms_trace;

/* Or -errno. JUMP: the next segments were deleted; ms_trace_checkpoint has the state from which the next event
 * continues. */
enum ms_trace_result { MS_TRACE_EVENT = 1, MS_TRACE_AGAIN = 0, MS_TRACE_END = 2, MS_TRACE_JUMP = 3 };

struct ms_trace_options {
    size_t cache_b;               /* decoded blocks kept; 0: 64 MiB */
    bool live;                    /* the writer may still be running: without an end block return AGAIN, not END */
    bool from_latest;             /* begin at the latest checkpoint, not at the first segment */
    struct ms_overflow *overflow; /* live, in the writer's process: where it continues when the disk is full */
    bool memory;                  /* the writer began in memory: begin there; the directory is not needed yet */
};

/* ---- which processes a trace directory holds ---- */

/* Calls fn for each process, in order of name; stops when fn returns nonzero and returns that. 0, or -errno if the
 * directory cannot be read. Processes whose files are unreadable are skipped. */
int ms_trace_list(int dirfd, int (*fn)(void *argument, const struct ms_process *process), void *argument);

struct ms_damage {
    char file[96];
    uint64_t offset;
    const char *reason;
};
/* The same for those that are skipped: their first file, and what is wrong with it. */
int ms_trace_list_unreadable(int dirfd, int (*fn)(void *argument, const struct ms_damage *damage), void *argument);

/* ---- events ---- */

/* name: from ms_trace_list; NULL: the first one. options may be NULL. 0 or -errno (-ENOENT: no such trace; -EPROTO: not
 * a trace, or of a later version). */
int ms_trace_open(int dirfd, const char *name, const struct ms_trace_options *options, struct ms_trace **out);
int ms_trace_next(struct ms_trace *trace, struct ms_event *event);
void ms_trace_close(struct ms_trace *trace);

/* Directory where a trace that began in memory continues. Until then its reader waits (AGAIN) at the end of the memory.
 * 0 or -errno. */
int ms_trace_follow(struct ms_trace *trace, int dirfd);

/* Live: the writer is closed, nothing will be added; without an end block, this is all that could be written. */
void ms_trace_writer_closed(struct ms_trace *trace);

const struct ms_process *ms_trace_process(const struct ms_trace *trace);

/* ---- definitions; pointers are valid until the trace is closed, unless noted ---- */

/* Frames, innermost first: `in` is a module id (C) or a code id (Python) of the process. Returns their number, 0 if the
 * id is unknown. *cut (may be NULL): frames of the stack that were not recorded. */
uint32_t ms_trace_c_stack(const struct ms_trace *trace, uint32_t id, const struct ms_frame **frames, uint32_t *cut);
uint32_t ms_trace_python_stack(const struct ms_trace *trace, uint32_t id, const struct ms_frame **frames,
                               uint32_t *cut);
bool ms_trace_text(const struct ms_trace *trace, uint32_t id, struct ms_text *out);
bool ms_trace_module(const struct ms_trace *trace, uint32_t id, struct ms_module *out);
bool ms_trace_code(const struct ms_trace *trace, uint32_t id, struct ms_code *out);

/* Text of a frame that was symbolised (ms_aux_symbol), valid until the next one is added. False: none. */
bool ms_trace_symbol(const struct ms_trace *trace, uint32_t module, uint64_t offset, struct ms_text *out);
/* Adds one for the lifetime of this reader, without writing it. MS_MODULE_NONE means "no module", with the address as
 * its offset. 0 or -errno. */
#define MS_MODULE_NONE UINT32_MAX
int ms_trace_add_symbol(struct ms_trace *trace, uint32_t module, uint64_t offset, const char *text, size_t length_b);

/* Calls fn with the id of each C stack defined so far. */
void ms_trace_each_c_stack(const struct ms_trace *trace, void (*fn)(void *argument, uint32_t id), void *argument);

/* ---- progress and damage ---- */

struct ms_trace_stats {
    uint64_t events, gaps, lost;   /* released so far */
    uint64_t released_below_stamp; /* everything with a smaller stamp has been released */
    uint64_t released_below_ns;    /* the same as file time */
    uint64_t bytes_read, bytes_total;
    uint64_t damages;
    uint64_t cuts;             /* of which: files that end inside a block, as a killed writer leaves them */
    uint64_t late;             /* records that violated the watermark; 0 unless shared memory was damaged */
    uint64_t realtime_step_ns; /* largest change of realtime relative to file time */
    uint32_t streams, segments;
    uint32_t ending;                 /* enum ms_trace_ending */
    uint64_t end_ns;                 /* of the end block: time of the last record in the files */
    uint64_t counted[MS_GAP_CAUSES]; /* by enum ms_gap_cause, from the end block */
};
void ms_trace_stats(const struct ms_trace *trace, struct ms_trace_stats *out);

/* Oldest damage not returned yet; false: none. */
bool ms_trace_next_damage(struct ms_trace *trace, struct ms_damage *out);

/* File time of a raw stamp that was released; device counter of a device as file time (false: no DEVICE_CLOCK yet). */
uint64_t ms_trace_time_ns(const struct ms_trace *trace, uint64_t stamp);
bool ms_trace_device_time_ns(const struct ms_trace *trace, uint32_t device, uint64_t counter, uint64_t *out);

/* ---- checkpoints ---- */

/* Position of a reader between two calls of ms_trace_next; saved in a checkpoint. */
struct ms_position {
    uint64_t segment;   /* where reading must begin ... */
    uint64_t offset;    /* ... in that segment, */
    uint64_t low_stamp; /* ... skipping records older than this */
    uint64_t index;     /* of the next event */
    uint64_t last_ns;   /* time of the last event */
    uint32_t clock_kind;
    uint32_t reserved;
};
/* True at a sweep, that is, when everything below its mark has been released and nothing above: only there can a
 * checkpoint be made. ms_trace_next returns AGAIN or the next event afterwards. */
bool ms_trace_position(struct ms_trace *trace, struct ms_position *out);

/* Number of the segment being read; 0: the writer's memory. */
uint64_t ms_trace_segment(const struct ms_trace *trace);

/* Deletes segments [from, below) that the reader has passed and a checkpoint covers. Returns their bytes. */
uint64_t ms_trace_forget(struct ms_trace *trace, uint64_t from, uint64_t below);

struct ms_checkpoint {
    struct ms_position position;
    const void *payload; /* of the model; valid until the trace is closed */
    size_t payload_b;
};
/* The checkpoint at which reading began (from_latest, or because the first segments were deleted), or the target of the
 * last jump; false: reading began at the start of a segment without one. */
bool ms_trace_checkpoint(const struct ms_trace *trace, struct ms_checkpoint *out);

#endif
