/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the reader; nobody else's.
 *
 * The way of a record:  segment file -> block (unpacked, in memory or droppable) -> run -> cursor of its stream -> heap
 * -> event.  Blocks are read in file order until a SWEEP says what may be released. */
#ifndef MS_TRACE_READER_INTERNAL_H
#define MS_TRACE_READER_INTERNAL_H

#include "trace/blockfile.h"
#include "trace/codec.h"
#include "trace/reader.h"
#include "trace/segment.h"
#include "trace/timeline.h"

/* ---- blocks (reader_blocks.c) ---- */

/* A RECORDS block with runs that are not released completely. Its content may be dropped and is read again when needed.
 */
struct ms_pending_block {
    struct ms_pending_block *before, *after; /* in file order */
    struct ms_block_head head;
    uint64_t segment, offset;
    uint8_t *raw; /* NULL: dropped */
    uint32_t runs_left;
    uint32_t pins; /* cursors that read it now */
};

/* A run that waits for its turn in its stream. */
struct ms_pending_run {
    struct ms_pending_run *next;
    struct ms_pending_block *block;
    struct ms_run run;
    uint32_t data_at, data_b; /* in the block */
};

struct ms_pending_block *ms__block_add(struct ms_trace *trace, const struct ms_block_head *head, uint64_t offset,
                                       uint8_t *raw);
/* Content of the block, which stays until it is unpinned; NULL: cannot be read again (damage was told). */
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
    uint8_t order;    /* 0 ends of lives, 1 everything else, 2 beginnings */
    bool gap;         /* the record is made up: sequence numbers are missing */
    bool expect;      /* next_seq is known */
    uint64_t next_seq;
    uint64_t missing;    /* sequence numbers that did not come */
    uint64_t last_stamp; /* of the record before */
    struct ms_decoded record;
    struct ms_decoded after_gap;    /* the record that the gap stands in front of */
    struct ms_pending_block *block; /* of the run that is being decoded; NULL: none */
    struct ms_pending_run *first, *last;
    struct ms_decoder decoder;
};

/* Queues the runs of a block. False: damaged. */
bool ms__merge_add_runs(struct ms_trace *trace, struct ms_pending_block *block);
/* The cursor whose record comes next; NULL: nothing is there. */
struct ms_cursor *ms__merge_first(struct ms_trace *trace);
/* Moves on from the record that ms__merge_first gave. */
void ms__merge_next(struct ms_trace *trace, struct ms_cursor *cursor);
/* Whether the record may be released. */
bool ms__merge_final(struct ms_trace *trace, const struct ms_cursor *cursor);
/* Order must be found anew: the map between clocks has changed. */
void ms__merge_reorder(struct ms_trace *trace);
/* Forgets all records that wait, and what the next ones should be. */
void ms__merge_forget(struct ms_trace *trace);
void ms__merge_destroy(struct ms_trace *trace);

/* ---- files (reader_files.c) ---- */

enum ms_advance { MS_ADVANCE_BLOCK, MS_ADVANCE_WAIT, MS_ADVANCE_END };

/* Reads one more block and does what it says. */
enum ms_advance ms__files_advance(struct ms_trace *trace);
/* Begins at the checkpoint that is loaded, or where the files allow it. 0 or -errno. */
int ms__files_begin(struct ms_trace *trace);
int ms__files_begin_in_memory(struct ms_trace *trace);
int ms__files_open(struct ms_trace *trace, uint64_t segment, const char *suffix);
/* Numbers of files with that suffix, ascending; the caller frees. -errno on failure. */
int64_t ms__files_list(const struct ms_trace *trace, const char *suffix, uint64_t **numbers);
void ms__damage(struct ms_trace *trace, uint64_t segment, uint64_t offset, const char *reason);
/* Definitions as they stand in a block. 0 or -errno. */
int ms__load_definitions(struct ms_trace *trace, struct ms_bytes content);

/* ---- times and events (reader_event.c) ---- */

uint64_t ms__file_ns(const struct ms_trace *trace, uint32_t clock_kind, uint64_t stamp);
void ms__event_fill(struct ms_trace *trace, const struct ms_cursor *cursor, struct ms_event *event);
/* A gap behind everything, of records that were lost since a stamp. */
void ms__event_tail(struct ms_trace *trace, uint64_t lost, uint64_t since_stamp, struct ms_event *event);

void ms__learn_device_clock(struct ms_trace *trace, uint32_t device, uint64_t counter, uint64_t khz, uint64_t time_ns);

/* ---- clocks in checkpoints (reader_clocks.c) ---- */

int ms__clocks_save(const struct ms_trace *trace, const struct ms_position *position, struct ms_blob *to);
void ms__clocks_load(struct ms_trace *trace, struct ms_bytes from);

/* Device counters against file time, in the order in which they were learnt. */
#define MS_DEVICE_ANCHORS 16
struct ms_device_clock {
    uint32_t device;
    uint32_t count;
    struct {
        uint64_t counter, time_ns, khz;
    } anchor[MS_DEVICE_ANCHORS]; /* a ring */
};

/* ---- aux (aux.c) ---- */

/* Loads the latest checkpoint whose segment is there, or the first one at or behind a segment. 0 or -errno. */
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

    struct ms_blockfile file; /* fd -1: none */
    uint64_t segment;         /* number of the file; 0: memory of the writer */
    uint64_t segments_b;      /* bytes of all segments when the reader last looked for new ones */
    uint64_t first_record_at; /* records before this offset of the segment are passed over (opening at a position) */
    struct ms_overflow *overflow; /* NULL: not the writer's own process */
    int overflow_fd;              /* until it is `file` */
    uint64_t memory_at;           /* how far memory was read before */
    bool moved;                   /* memory has ended, files are next */
    uint64_t holes;               /* records that were missing between others and told as gaps */
    bool tail_told;               /* and those behind the last one */
    struct ms_blockfile again;    /* for content that was dropped */
    uint64_t again_segment;

    struct ms_pending_block *blocks, *blocks_last;
    size_t blocks_b;

    struct ms_cursor **cursor; /* MS_CATALOG_STREAMS */
    uint64_t *stream_start;    /* next_seq of streams at the start of the first segment; NULL: not known */
    struct ms_cursor **heap;
    uint32_t heap_count;
    struct ms_cursor *current; /* whose record was released last */

    struct ms_timeline *timeline;
    struct ms_deftable *definitions;
    uint64_t low;
    uint32_t low_kind;
    uint64_t skip_below; /* released before the position at which we began */
    uint32_t skip_kind;
    uint64_t released_low; /* everything below has been released; what still comes from there is late */
    bool ended;            /* no more blocks will come */
    bool jumped;           /* to a checkpoint; not told yet */

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
    struct ms_blob checkpoint_parts; /* of the one that is being met */
    uint64_t checkpoint_part;        /* that comes next; UINT64_MAX: the first of another one */
    uint64_t definition_pass;        /* counts checkpoints, to tell what one of them has put already */
    bool have_checkpoint;
    bool first_counts; /* of the checkpoints in a file, else the last */
    struct ms_symbols *symbols;
};

#endif
