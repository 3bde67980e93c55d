/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a PyTorch memory snapshot, as it is written: entries of device_traces and annotations one by one, then
 * the state at the end. See memory_viz.h for what it means; here is how it becomes a pickle.
 *
 * Lists grow while others are written between them, and nothing may wait: a file has one stream of operations. Each
 * list has a number in the memo; what goes to it is appended after fetching it, and the list is then stored under the
 * key "npuscope" of the dictionary that the file is, for no other reason than to take it off the stack again. The last
 * thing stored under that key is what it is for. An entry of a live block has a number too, so that its category can be
 * set when the owner becomes known; numbers of freed blocks are used again. */
#ifndef MS_EXPORT_VIZ_WRITER_H
#define MS_EXPORT_VIZ_WRITER_H

#include "base/buffer.h"
#include "base/intern.h"
#include "base/map.h"
#include "memscope/export/ranges.h"
#include "memscope/model/stacks.h"

/* Texts that the format is made of. */
#define MS_VIZ_WORDS(X)                                                                                                \
    X(ACTION, "action")                                                                                                \
    X(ADDR, "addr")                                                                                                    \
    X(SIZE, "size")                                                                                                    \
    X(STREAM, "stream")                                                                                                \
    X(FRAMES, "frames")                                                                                                \
    X(TIME_US, "time_us")                                                                                              \
    X(CATEGORY, "category")                                                                                            \
    X(DEVICE_FREE, "device_free")                                                                                      \
    X(FILENAME, "filename")                                                                                            \
    X(LINE, "line")                                                                                                    \
    X(NAME, "name")                                                                                                    \
    X(STAGE, "stage")                                                                                                  \
    X(DEVICE, "device")                                                                                                \
    X(ALLOC, "alloc")                                                                                                  \
    X(FREE_REQUESTED, "free_requested")                                                                                \
    X(FREE_COMPLETED, "free_completed")                                                                                \
    X(SEGMENT_ALLOC, "segment_alloc")                                                                                  \
    X(SEGMENT_FREE, "segment_free")                                                                                    \
    X(SEGMENT_MAP, "segment_map")                                                                                      \
    X(SEGMENT_UNMAP, "segment_unmap")                                                                                  \
    X(OOM, "oom")                                                                                                      \
    X(SNAPSHOT, "snapshot")                                                                                            \
    X(START, "START")                                                                                                  \
    X(END, "END")                                                                                                      \
    X(MARK, "MARK")                                                                                                    \
    X(UNKNOWN, "unknown")                                                                                              \
    X(ADDRESS, "address")                                                                                              \
    X(TOTAL_SIZE, "total_size")                                                                                        \
    X(ALLOCATED_SIZE, "allocated_size")                                                                                \
    X(ACTIVE_SIZE, "active_size")                                                                                      \
    X(REQUESTED_SIZE, "requested_size")                                                                                \
    X(SEGMENT_TYPE, "segment_type")                                                                                    \
    X(SEGMENT_POOL_ID, "segment_pool_id")                                                                              \
    X(IS_EXPANDABLE, "is_expandable")                                                                                  \
    X(BLOCKS, "blocks")                                                                                                \
    X(STATE, "state")                                                                                                  \
    X(LARGE, "large")                                                                                                  \
    X(SMALL, "small")                                                                                                  \
    X(ACTIVE_ALLOCATED, "active_allocated")                                                                            \
    X(INACTIVE, "inactive")                                                                                            \
    X(SEGMENTS, "segments")                                                                                            \
    X(DEVICE_TRACES, "device_traces")                                                                                  \
    X(EXTERNAL_ANNOTATIONS, "external_annotations")                                                                    \
    X(NPUSCOPE, "npuscope")                                                                                            \
    X(VERSION, "version")                                                                                              \
    X(PROCESS, "process")                                                                                              \
    X(PID, "pid")                                                                                                      \
    X(DEVICES, "devices")                                                                                              \
    X(NESTED, "nested_blocks")

enum ms_viz_word {
#define X(name, text) MS_VIZ_##name,
    MS_VIZ_WORDS(X)
#undef X
        MS_VIZ_WORD_COUNT
};

struct ms_viz_list {
    uint32_t number; /* in the memo; 0: nothing is in it */
};

struct ms_viz_writer {
    int fd;
    struct ms_buffer out;
    struct ms_stack_source stacks;
    uint64_t words_known; /* bit per word */
    uint32_t numbers;     /* of the memo given out */
    uint32_t *unused;     /* those of entries that are of no use any more */
    size_t unused_count, unused_room;
    struct ms_viz_list *open; /* what is being appended to; NULL: nothing */
    unsigned open_items;
    struct ms_intern frames; /* keys: calls behind an entry; and the lines of stacks */
    struct ms_intern lines;
    struct ms_map frames_number, lines_number; /* in the memo */
    bool categories;                           /* some entry has one */
    bool failed;                               /* no memory */
    int error;                                 /* the first one; 0: none */
};

struct ms_viz_entry {
    enum ms_viz_word action;
    uint64_t addr; /* of OOM: what the device has free */
    uint64_t size_b, time_ns;
    uint32_t frames;         /* ms_viz_frames; 0: none */
    uint32_t number;         /* ms_viz_number: it can be changed later; 0: no */
    struct ms_text category; /* may be empty */
};

void ms_viz_begin(struct ms_viz_writer *writer, int fd, struct ms_stack_source stacks);
/* Writes what is in the buffer if that is much, or all. 0 or the first error there was. */
int ms_viz_flush(struct ms_viz_writer *writer, bool all);
void ms_viz_free(struct ms_viz_writer *writer);

/* Calls: C, operator, Python, innermost first. The same ones have the same number; 0: none. op may be empty. */
uint32_t ms_viz_frames(struct ms_viz_writer *writer, uint32_t c_stack, uint32_t python_stack, struct ms_text op);
uint32_t ms_viz_number(struct ms_viz_writer *writer);
void ms_viz_number_free(struct ms_viz_writer *writer, uint32_t number);

void ms_viz_add(struct ms_viz_writer *writer, struct ms_viz_list *list, const struct ms_viz_entry *entry);
void ms_viz_categorize(struct ms_viz_writer *writer, uint32_t number, struct ms_text category);
/* stage: START, END, MARK. device: -1: none. */
void ms_viz_annotate(struct ms_viz_writer *writer, struct ms_viz_list *list, struct ms_text name,
                     enum ms_viz_word stage, int64_t device, uint64_t time_ns);

/* ---- the end: keys of the outer dictionary, one after the other ---- */

/* The segments of one device, between ms_viz_open_key and ms_viz_close_key. */
void ms_viz_segments(struct ms_viz_writer *writer, uint32_t device, const struct ms_ranges *segments,
                     const struct ms_ranges *blocks);
void ms_viz_open_key(struct ms_viz_writer *writer, enum ms_viz_word key); /* a list */
void ms_viz_item(struct ms_viz_writer *writer, struct ms_viz_list *list); /* a list as an item of it; NULL: empty */
void ms_viz_close_key(struct ms_viz_writer *writer);
void ms_viz_list(struct ms_viz_writer *writer, enum ms_viz_word key, struct ms_viz_list *list);

void ms_viz_word(struct ms_viz_writer *writer, enum ms_viz_word word);

#endif
