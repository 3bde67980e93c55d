/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the file of a PyTorch memory snapshot: entries of device_traces and annotations one by one, then the final
 * state. memory_viz.h explains the content; this is how it becomes a pickle.
 *
 * Several lists grow alternately, without buffering, while a pickle is one sequence of opcodes. So each list has a memo
 * number; to append to it, it is fetched from the memo, extended, and then stored under the key "npuscope" of the
 * file's outer dictionary, only to remove it from the stack again. The last value stored under that key is the
 * meaningful one. The entry of a live block also has a memo number, so its category can be set when the owner becomes
 * known; numbers of freed blocks are reused. */
#ifndef MS_EXPORT_VIZ_WRITER_H
#define MS_EXPORT_VIZ_WRITER_H

#include "base/buffer.h"
#include "base/intern.h"
#include "base/map.h"
#include "memscope/export/ranges.h"
#include "memscope/model/stacks.h"

/* Texts used by the format. */
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
    uint32_t number; /* in the memo; 0: empty */
};

struct ms_viz_writer {
    int fd;
    struct ms_buffer out;
    struct ms_stack_source stacks;
    uint64_t words_known; /* bit per word */
    uint32_t numbers;     /* memo numbers assigned */
    uint32_t *unused;     /* numbers of entries that are no longer needed */
    size_t unused_count, unused_room;
    struct ms_viz_list *open; /* list being appended to; NULL: none */
    unsigned open_items;
    struct ms_intern frames; /* keys: the calls of an entry, and the lines of stacks */
    struct ms_intern lines;
    struct ms_map frames_number, lines_number; /* memo numbers */
    bool categories;                           /* some entry has one */
    bool failed;                               /* out of memory */
    int error;                                 /* the first error; 0: none */
};

struct ms_viz_entry {
    enum ms_viz_word action;
    uint64_t addr; /* for OOM: free bytes of the device */
    uint64_t size_b, time_ns;
    uint32_t frames;         /* ms_viz_frames; 0: none */
    uint32_t number;         /* ms_viz_number: it can be changed later; 0: it cannot */
    struct ms_text category; /* may be empty */
};

void ms_viz_begin(struct ms_viz_writer *writer, int fd, struct ms_stack_source stacks);
/* Writes the buffer if it is large, or if `all` is set. 0 or the first error so far. */
int ms_viz_flush(struct ms_viz_writer *writer, bool all);
void ms_viz_free(struct ms_viz_writer *writer);

/* Calls: C, operator, Python, innermost first. Equal calls get the same number; 0: none. op may be empty. */
uint32_t ms_viz_frames(struct ms_viz_writer *writer, uint32_t c_stack, uint32_t python_stack, struct ms_text op);
uint32_t ms_viz_number(struct ms_viz_writer *writer);
void ms_viz_number_free(struct ms_viz_writer *writer, uint32_t number);

void ms_viz_add(struct ms_viz_writer *writer, struct ms_viz_list *list, const struct ms_viz_entry *entry);
void ms_viz_categorize(struct ms_viz_writer *writer, uint32_t number, struct ms_text category);
/* stage: START, END, MARK. device: -1 for none. */
void ms_viz_annotate(struct ms_viz_writer *writer, struct ms_viz_list *list, struct ms_text name,
                     enum ms_viz_word stage, int64_t device, uint64_t time_ns);

/* ---- the end: keys of the outer dictionary, one after the other ---- */

/* The segments of one device, between ms_viz_open_key and ms_viz_close_key. */
void ms_viz_segments(struct ms_viz_writer *writer, uint32_t device, const struct ms_ranges *segments,
                     const struct ms_ranges *blocks);
void ms_viz_open_key(struct ms_viz_writer *writer, enum ms_viz_word key); /* starts a list */
void ms_viz_item(struct ms_viz_writer *writer, struct ms_viz_list *list); /* adds a list as an item; NULL: empty */
void ms_viz_close_key(struct ms_viz_writer *writer);
void ms_viz_list(struct ms_viz_writer *writer, enum ms_viz_word key, struct ms_viz_list *list);

void ms_viz_word(struct ms_viz_writer *writer, enum ms_viz_word word);

#endif
