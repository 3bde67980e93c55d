/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the reader.
 *
 * Path of a record:  segment file -> block (unpacked, in memory or droppable) -> run -> cursor of its stream -> heap
 * -> event.  Blocks are read in file order until a SWEEP says what may be released. */
#ifndef MS_TRACE_READER_INTERNAL_H
#define MS_TRACE_READER_INTERNAL_H

#include "trace/blockfile.h"
#include "trace/codec.h"
#include "trace/reader.h"
#include "trace/segment.h"
#include "trace/timeline.h"

/* ---- blocks (reader_blocks.c) ---- */

/* A RECORDS block with unreleased runs. Its content may be dropped and is read again when needed. */
struct ms_pending_block {
    struct ms_pending_block *before, *after; /* in file order */
    struct ms_block_head head;
    uint64_t segment, offset;
    uint8_t *raw; /* NULL: dropped */
    uint32_t runs_left;
    uint32_t pins; /* cursors that are reading it */
};

/* A run queued in its stream. */
struct ms_pending_run {
    struct ms_pending_run *next;
    struct ms_pending_block *block;
    struct ms_run run;
    uint32_t data_at, data_b; /* in the block */
};

struct ms_pending_block *ms__block_add(struct ms_trace *trace, const struct ms_block_head *head, uint64_t offset,
                                       uint8_t *raw);
/* Content of the block, kept until it is unpinned; NULL: cannot be read again (damage was reported). */
const uint8_t *ms__block_pin(struct ms_trace *trace, struct ms_pending_block *block);
void ms__block_unpin(struct ms_trace *trace, struct ms_pending_block *block);
/* One of its runs is done; frees the block with the last one. */
void ms__block_run_done(struct ms_trace *trace, struct ms_pending_block *block);

/* ---- streams (reader_merge.c) ---- */

struct ms_cursor {
    uint32_t stream;
    uint32_t tid;
    uint32_t clock_kind;
    uint32_t heap_at; /* position + 1, 0: not in the heap */
    uint8_t order;    /* 0 frees, 1 everything else, 2 allocations */
    bool gap;         /* the record is synthetic: sequence numbers are missing */
    bool expect;      /* next_seq is known */
    uint64_t next_seq;
    uint64_t missing;    /* missing sequence numbers */
    uint64_t last_stamp; /* of the previous record */
    struct ms_decoded record;
    struct ms_decoded after_gap;    /* the record after the gap */
    struct ms_pending_block *block; /* of the run being decoded; NULL: none */
    struct ms_pending_run *first, *last;
    struct ms_decoder decoder;
};

/* Queues the runs of a block. False: damaged. */
bool ms__merge_add_runs(struct ms_trace *trace, struct ms_pending_block *block);
/* The cursor with the next record; NULL: none. */
struct ms_cursor *ms__merge_first(struct ms_trace *trace);
/* Advances past the record that ms__merge_first returned. */
void ms__merge_next(struct ms_trace *trace, struct ms_cursor *cursor);
/* Whether the record may be released. */
bool ms__merge_final(struct ms_trace *trace, const struct ms_cursor *cursor);
/* The map between clocks has changed: sorts again. */
void ms__merge_reorder(struct ms_trace *trace);
/* Discards all queued records, and what is expected next. */
void ms__merge_forget(struct ms_trace *trace);
void ms__merge_destroy(struct ms_trace *trace);

/* ---- files (reader_files.c) ---- */

enum ms_advance { MS_ADVANCE_BLOCK, MS_ADVANCE_WAIT, MS_ADVANCE_END };

/* Reads and processes one more block. */
enum ms_advance ms__files_advance(struct ms_trace *trace);
/* Begins at the loaded checkpoint, or where the files allow it. 0 or -errno. */
int ms__files_begin(struct ms_trace *trace);
int ms__files_begin_in_memory(struct ms_trace *trace);
int ms__files_open(struct ms_trace *trace, uint64_t segment, const char *suffix);
/* Numbers of files with that suffix, ascending; the caller frees. -errno on failure. */
int64_t ms__files_list(const struct ms_trace *trace, const char *suffix, uint64_t **numbers);
void ms__damage(struct ms_trace *trace, uint64_t segment, uint64_t offset, const char *reason);
/* Loads definitions from a block. 0 or -errno. */
int ms__load_definitions(struct ms_trace *trace, struct ms_bytes content);

/* ---- times and events (reader_event.c) ---- */

uint64_t ms__file_ns(const struct ms_trace *trace, uint32_t clock_kind, uint64_t stamp);
void ms__event_fill(struct ms_trace *trace, const struct ms_cursor *cursor, struct ms_event *event);
/* A gap after everything, for records lost since a stamp. */
void ms__event_tail(struct ms_trace *trace, uint64_t lost, uint64_t since_stamp, struct ms_event *event);

void ms__learn_device_clock(struct ms_trace *trace, uint32_t device, uint64_t counter, uint64_t khz, uint64_t time_ns);

/* ---- clocks in checkpoints (reader_clocks.c) ---- */

int ms__clocks_save(const struct ms_trace *trace, const struct ms_position *position, struct ms_blob *to);
void ms__clocks_load(struct ms_trace *trace, struct ms_bytes from);

/* Device counters and their file times, in order of arrival. */
#define MS_DEVICE_ANCHORS 16
struct ms_device_clock {
    uint32_t device;
    uint32_t count;
    struct {
        uint64_t counter, time_ns, khz;
    } anchor[MS_DEVICE_ANCHORS]; /* a ring */
};

/* ---- aux (aux.c) ---- */

/* Loads the latest checkpoint whose segment exists, or the first one at or after a segment. 0 or -errno. */
int ms__aux_latest_checkpoint(struct ms_trace *trace);
int ms__aux_checkpoint_from(struct ms_trace *trace, uint64_t segment);
void ms__aux_destroy(struct ms_trace *trace);

#define MS_DAMAGES_KEPT 64

struct ms_trace {
    int dir;
    struct ms_trace_options options;
    struct ms_segment_info info;
    bool info_known;
    bool two_clocks; /* stamps of more than one clock have been seen */

    struct ms_blockfile file;     /* fd -1: none */
    uint64_t segment;             /* number of the file; 0: memory of the writer */
    uint64_t segments_b;          /* bytes of all segments when the reader last looked for new ones */
    uint64_t first_record_at;     /* records before this offset of the segment are skipped (opening at a position) */
    struct ms_overflow *overflow; /* NULL: not in the writer's process */
    int overflow_fd;              /* until it is `file` */
    uint64_t memory_at;           /* offset up to which memory was read before */
    bool moved;                   /* memory has ended, files follow */
    uint64_t holes;               /* records missing between others, reported as gaps */
    bool tail_reported;           /* those after the last record were reported */
    struct ms_blockfile again;    /* to read dropped content again */
    uint64_t again_segment;

    struct ms_pending_block *blocks, *blocks_last;
    size_t blocks_b;

    struct ms_cursor **cursor; /* MS_CATALOG_STREAMS */
    uint64_t *stream_start;    /* next_seq of streams at the start of the first segment; NULL: unknown */
    struct ms_cursor **heap;
    uint32_t heap_count;
    struct ms_cursor *current; /* the cursor whose record was released last */

    struct ms_timeline *timeline;
    struct ms_deftable *definitions;
    uint64_t low;
    uint32_t low_kind;
    uint64_t skip_below; /* released before the start position */
    uint32_t skip_kind;
    uint64_t released_low; /* everything below has been released; records that arrive below are late */
    bool ended;            /* no more blocks will come */
    bool jumped;           /* to a checkpoint; not reported yet */

    uint64_t next_index, last_ns;
    size_t event_b; /* of struct ms_event; as a variable, so that libc clears it: compilers put in "rep stos", 8 ns
                       slower */
    struct ms_device_clock *device;
    uint32_t devices;

    struct ms_trace_stats stats;
    uint64_t end_stamp;
    struct ms_damage damage[MS_DAMAGES_KEPT];
    uint32_t damage_first, damage_count;

    struct ms_checkpoint checkpoint;
    struct ms_blob checkpoint_content;
    size_t checkpoint_clocks_b;
    struct ms_blob checkpoint_parts; /* of the one being read */
    uint64_t checkpoint_part;        /* expected next; UINT64_MAX: the first part of another one */
    uint64_t definition_pass;        /* counts checkpoints, to know which definitions one of them already has */
    bool have_checkpoint;
    bool first_counts; /* use the first checkpoint of a file, not the last */
    struct ms_symbols *symbols;
};

#endif
