/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace: append-only segment files of one process, see docs/format/trace.md.
 *
 * Files in the trace directory: NAME.000001.seg, NAME.000002.seg ... (each can be read alone), NAME.000001.aux ...
 * (checkpoints and symbols, written by the export thread), NAME.reserve (space for the end block when the disk is
 * full; deleted at the end).
 *
 * When the disk is full or the size limit is reached, the files end with an end block that says so. A reader in the
 * same process (ms_trace_options.overflow) is then served from memory, at most 64 MiB ahead, so that results stay
 * correct while it keeps up; the rest is counted.
 *
 * Threads: a writer belongs to one thread, the drain's, except where noted. */
#ifndef MS_TRACE_WRITER_H
#define MS_TRACE_WRITER_H

#include "trace/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_overflow;
struct ms_writer;

struct ms_writer_options {
    uint64_t segment_b; /* a segment ends beyond this size; 0: 64 MiB */
    uint64_t max_b;     /* all segments together; 0: no limit */
    bool ring;          /* beyond max_b delete the oldest segments that a checkpoint covers, instead of ending */
    int sync_ms;        /* interval of fdatasync; 0: never */
    bool memory;        /* begins in memory, for a reader in this process only; see ms_writer_to_files */
};

/* Begins a trace, or continues one that a collector left behind (same name): its last segment is truncated after the
 * last valid block, and a drain continues there. process->name names the files; offset_ns 0: measured by the writer. 0
 * or -errno (-EALREADY: that trace has its end block; -EPROTO: the files cannot be continued). */
int ms_writer_open(int dirfd, const struct ms_process *process, const struct ms_writer_options *options,
                   struct ms_writer **out);
void ms_writer_close(struct ms_writer *writer, enum ms_trace_ending ending); /* MS_ENDING_OPEN: writes no end block */

/* A writer that began in memory continues in files of this directory, from segment 2 on; settings: those now in effect.
 * 0, or -errno: it stays in memory. */
int ms_writer_to_files(struct ms_writer *writer, int dirfd, const char *settings);

/* As completed by the writer. */
const struct ms_process *ms_writer_process(const struct ms_writer *writer);

struct ms_writer_stats {
    uint64_t bytes; /* of all remaining segments */
    uint64_t blocks, records;
    uint64_t segment, first_segment; /* numbers of the current one and of the oldest that remains */
    uint64_t lost_disk;              /* records that could not be written */
    uint32_t ending;                 /* enum ms_trace_ending: DISK or LIMIT once that has happened */
    int error;                       /* -errno that caused it */
};
void ms_writer_stats(const struct ms_writer *writer, struct ms_writer_stats *out);

/* Limit and mode may change while writing (a shadow trace is a ring of size 0: max_b 1). */
void ms_writer_limit(struct ms_writer *writer, uint64_t max_b, bool ring);

/* A checkpoint covers everything before this segment: a ring may delete it. From any thread. */
void ms_writer_covered(struct ms_writer *writer, uint64_t segment);

/* This many bytes of segments were deleted elsewhere (ms_trace_forget). */
void ms_writer_freed(struct ms_writer *writer, uint64_t bytes);

/* Where a reader in the same process continues after the end of the files. From any thread. */
struct ms_overflow *ms_writer_overflow(struct ms_writer *writer);

/* For a trace without a writer: deletes the oldest segments below `covered` until the total is at most max_b. */
int ms_trace_trim(int dirfd, const char *name, uint64_t max_b, uint64_t covered);

#endif
