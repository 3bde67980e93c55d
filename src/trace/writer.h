/* Writing a trace: append-only segment files of one process, see docs/format/trace.md.
 *
 * Files in the trace directory: NAME.000001.seg, NAME.000002.seg ... (each readable alone), NAME.000001.aux ...
 * (checkpoints and symbols, written by the export worker), NAME.reserve (space for the end block when the disk is
 * full). Written and rotated by one thread, the drain's. */
#ifndef MS_TRACE_WRITER_H
#define MS_TRACE_WRITER_H

#include "trace/reader.h"

#include <stdint.h>

struct ms_writer;

struct ms_writer_options {
    size_t sz;          /* sizeof(struct ms_writer_options) */
    uint64_t segment_b; /* rotate beyond; 0: 64 MiB */
    uint64_t max_b;     /* all segments together; 0: no limit */
    bool ring;          /* beyond max_b delete the oldest segments that a later checkpoint covers, instead of ending */
    int sync_ms;        /* fdatasync that often; 0: never */
};

/* Begins a trace, or continues one that a collector left behind (same name): its last segment is cut after the last
 * sound block, and ms_writer_resumed_seq says what it already holds. process->name names the files. 0 or -errno. */
int ms_writer_open(int dirfd, const struct ms_process *process, const struct ms_writer_options *options,
                   struct ms_writer **out);
void ms_writer_close(struct ms_writer *writer, enum ms_trace_ending ending); /* MS_ENDING_OPEN: writes no end block */

struct ms_writer_stats {
    uint64_t bytes, blocks, records, definitions;
    uint64_t segment; /* number of the current one */
    uint64_t first_segment;
    uint64_t lost_disk; /* records that could not be written */
    int error;          /* -errno that ended the writing, 0: none */
};
void ms_writer_stats(const struct ms_writer *writer, struct ms_writer_stats *out);

/* Deletes segments below `segment`, with their aux files. Returns how many. */
unsigned ms_writer_delete_before(struct ms_writer *writer, uint64_t segment);

#endif
