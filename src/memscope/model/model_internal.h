/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the model: its parts, and the functions they share. See model.h. */
#ifndef MS_MODEL_MODEL_INTERNAL_H
#define MS_MODEL_MODEL_INTERNAL_H

#include "base/btree.h"
#include "base/intern.h"
#include "base/map.h"
#include "memscope/model/model.h"

/* ---- blocks.c: storage and lookup ---- */

struct ms_block_index { /* blocks of one space (and device, for pools) in order of address */
    uint32_t device;
    uint8_t space;
    struct ms_btree tree;
};

struct ms_block_slot {
    uint32_t block; /* 0: free; block 0 is never used */
    uint32_t hash;
};

struct ms_blocks {
    struct ms_block **chunks;
    uint32_t chunk_count, chunk_room;
    uint32_t used, free_head;
    uint32_t count;
    uint32_t oldest, newest;
    struct ms_block_slot *table;
    uint32_t table_mask, table_count;
    bool ordered; /* the indexes are built on first use, and maintained from then on */
    struct ms_block_index *indexes;
    uint32_t index_count;
};

#define MS_BLOCK_CHUNK 1024u

static inline struct ms_block *ms__block(const struct ms_blocks *blocks, uint32_t number)
{
    return &blocks->chunks[number / MS_BLOCK_CHUNK][number % MS_BLOCK_CHUNK];
}

/* 0: none. device MS_DEV_UNKNOWN matches any. */
uint32_t ms__blocks_find(const struct ms_blocks *blocks, enum ms_space space, uint32_t device, uint64_t addr);
/* The block that contains the address, at its start or inside. */
uint32_t ms__blocks_containing(struct ms_blocks *blocks, enum ms_space space, uint32_t device, uint64_t addr);
/* Adds a copy of *block as the newest one; 0: no memory. */
uint32_t ms__blocks_add(struct ms_blocks *blocks, const struct ms_block *block);
/* The address no longer leads to it, but it stays in the list. */
void ms__blocks_hide(struct ms_blocks *blocks, uint32_t number);
bool ms__blocks_show(struct ms_blocks *blocks, uint32_t number);
void ms__blocks_remove(struct ms_blocks *blocks, uint32_t number);
bool ms__blocks_order(struct ms_blocks *blocks); /* builds the indexes; false: no memory */
void ms__blocks_free(struct ms_blocks *blocks);
size_t ms__blocks_memory(const struct ms_blocks *blocks);

/* ---- parts ---- */

struct ms_pool_entry {
    uint8_t space; /* HANDLE counts as HAL */
    uint32_t device;
    struct ms_pool_state state;
};

struct ms_step_state {
    uint32_t number; /* of the last step that began */
    bool inside;
    bool used;
    uint64_t range_id;
};

struct ms_device {
    uint32_t device;
    bool wanted; /* --device */
    bool active; /* tracing, and within the wanted steps */
    struct ms_step_state steps;
    bool usage_known;
    uint64_t usage_device_b, usage_process_b, usage_total_b;
};

#define MS_LABEL_LEVELS 8
#define MS_LABEL_USER   5 /* first level of user labels */
#define MS_LABEL_DEPTH  3 /* different labels per level */
#define MS_OP_DEPTH     16

/* What a thread is doing. */
struct ms_thread_state {
    uint32_t tid;
    uint32_t labels[MS_LABEL_USER][MS_LABEL_DEPTH], label_counts[MS_LABEL_USER][MS_LABEL_DEPTH];
    uint8_t depth[MS_LABEL_USER];
    uint32_t user[MS_LABEL_DEPTH];
    uint8_t user_depth;
    uint32_t label_total; /* labels that are set now */
    uint32_t ops[MS_OP_DEPTH];
    uint32_t op_depth; /* may exceed MS_OP_DEPTH */
};

struct ms_map_entry { /* MAP */
    uint64_t addr, size_b, offset_b, handle;
};
struct ms_reserve_entry {
    uint64_t addr, size_b;
};

struct ms_segments {
    struct ms_btree map_tree, reserve_tree; /* address -> number in the arrays */
    struct ms_map_entry *maps;
    struct ms_reserve_entry *reserves;
    uint32_t map_room, reserve_room, map_free, reserve_free, map_used, reserve_used;
    struct ms_map_entry unmapped[64]; /* the last ones, in case the call failed */
    struct ms_reserve_entry released[64];
    uint32_t unmapped_at, released_at;
};

struct ms_heap {
    uint64_t size_b;
    uint32_t device;
    uint8_t space;
};

struct ms_held {
    struct ms_event event;
    char *texts; /* both, copied */
};

#define MS_FREED_KEPT 1024u
#define MS_GHOSTS_MAX 65536u

struct ms_model {
    struct ms_model_options options;
    uint32_t collect, dump; /* MS_WANT_* including implied ones; those that are written */
    struct ms_consumer *consumers;
    unsigned consumer_count;
    int error; /* first of this feed */

    struct ms_blocks blocks;
    struct ms_pool_entry *pools;
    uint32_t pool_count, pool_last;
    struct ms_device **devices;
    uint32_t device_count, device_last;
    struct ms_step_state steps; /* of devices without marks of their own */
    uint32_t step_leader;       /* device whose marks these are */
    uint8_t step_source;        /* enum ms_step_source */
    bool step_conflict_reported;
    bool tracing;
    bool ended;

    struct ms_intern texts;      /* labels, operators, names */
    struct ms_intern owner_sets; /* tuples of MS_LABEL_LEVELS text ids */
    uint32_t *owner_texts;       /* of owner_sets */
    uint32_t owner_room;
    uint32_t plain_owners[MS_SPACE_COUNT][256]; /* without labels, by module */
    struct ms_map thread_of_tid;                /* to the index below */
    struct ms_thread_state *threads;
    uint32_t thread_count, thread_room;

    struct ms_segments segments;
    struct ms_map heap_of_addr; /* to the index below */
    struct ms_heap *heaps;
    uint32_t heap_count, heap_room;

    struct ms_block *freed; /* ring: driver blocks that were freed last */
    uint64_t freed_count;

    struct ms_held *held; /* events held back: [held_first, held_end) */
    uint32_t held_first, held_end, held_room;
    bool forced; /* process even if it contradicts the live blocks */

    uint64_t next_row, last_allocation, last_ns; /* last_ns: of a row */
    uint64_t stop_ns;
    uint64_t oom_ns; /* when details were last written */
    uint32_t kernel_index;
    uint32_t pid;
    struct ms_model_stats stats;
    uint32_t logged[4]; /* per kind of warning */

    struct ms_block *reported; /* passed to on_access or on_free now; NULL: none */
    struct ms_row row;         /* being built */
    char scratch[256];
};

enum ms_step_source { MS_STEPS_NONE, MS_STEPS_MSTX, MS_STEPS_API };

/* Result of processing an event besides 0 and -errno: it contradicts the live blocks, and a later event may resolve
 * that. */
#define MS_HOLD 1

/* model.c */
struct ms_device *ms__device(struct ms_model *model, uint32_t device); /* NULL: no memory */
void ms__note(struct ms_model *model, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));
void ms__clear(struct ms_model *model, const struct ms_model_options *options); /* resets; consumers stay */
void ms__keep_error(struct ms_model *model, int rc);
bool ms__is_wanted(struct ms_model *model,
                   uint32_t device);                      /* tracing, on a requested device and in a requested step */
bool ms__active(struct ms_model *model, uint32_t device); /* the same, as of the last update */
void ms__update_activity(struct ms_model *model, const struct ms_event *event);
int ms__process(struct ms_model *model, const struct ms_event *event);

/* MS__CALL(model, on_row, MS__SELF, row): every consumer that has the function */
#define MS__CALL(model, function, ...)                                                                                 \
    do {                                                                                                               \
        for (unsigned ms_i = 0; ms_i < (model)->consumer_count; ms_i++) {                                              \
            const struct ms_consumer *ms_c = &(model)->consumers[ms_i];                                                \
            if (ms_c->function != NULL) {                                                                              \
                ms__keep_error((model), ms_c->function(__VA_ARGS__));                                                  \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)
#define MS__SELF ms_c->self
/* The same for on_access and on_free: ms_model_set_inefficient may change the block meanwhile. */
#define MS__REPORT(model, block, function, ...)                                                                        \
    do {                                                                                                               \
        (model)->reported = (block);                                                                                   \
        MS__CALL(model, function, MS__SELF, block, __VA_ARGS__);                                                       \
        (model)->reported = NULL;                                                                                      \
    } while (0)

/* rows.c */
struct ms_row *ms__row(struct ms_model *model, enum ms_row_event event, enum ms_row_type type, const struct ms_event *e,
                       uint32_t device);
void ms__row_at(struct ms_model *model, uint64_t time_ns); /* sets a later time; strictly after the previous row */
void ms__attr_number(struct ms_row *row, enum ms_attr_key key, uint64_t number);
void ms__attr_form(struct ms_row *row, enum ms_attr_key key, enum ms_attr_form form, uint64_t number);
void ms__attr_text(struct ms_row *row, enum ms_attr_key key, const char *s, size_t length_b);
void ms__attr_rate(struct ms_row *row, enum ms_attr_key key, double rate);
void ms__attr_parse(struct ms_row *row, const char *s, size_t length_b); /* "k:v,k:v" */
void ms__row_send(struct ms_model *model, uint32_t wants);               /* wants: bits of which one must be written */

/* pools.c */
struct ms_pool_entry *ms__pool(struct ms_model *model, enum ms_space space, uint32_t device);
int ms__pool_total(struct ms_model *model, const struct ms_event *event);
int ms__pool_heap(struct ms_model *model, const struct ms_event *event);
enum ms_space ms__space_of_pool(unsigned pool); /* enum ms_pool; MS_SPACE_COUNT: none */

/* memory.c */
int ms__memory_event(struct ms_model *model, const struct ms_event *event); /* may return MS_HOLD */
bool ms__frees_same(const struct ms_event *alloc, const struct ms_event *event);
void ms__promote(struct ms_model *model, uint32_t device, const struct ms_event *event);
void ms__end_blocks(struct ms_model *model);

/* access.c */
int ms__access(struct ms_model *model, const struct ms_event *event, enum ms_space space, uint32_t type);
int ms__aten_access(struct ms_model *model, const struct ms_event *event, const char *s, size_t length_b);

/* marks.c */
int ms__mark(struct ms_model *model, const struct ms_event *event);
int ms__range_start(struct ms_model *model, const struct ms_event *event);
int ms__range_end(struct ms_model *model, const struct ms_event *event);
int ms__launch(struct ms_model *model, const struct ms_event *event);

/* steps.c */
const struct ms_step_state *ms__steps_of(struct ms_model *model, uint32_t device);
bool ms__step_wanted(struct ms_model *model, uint32_t device);
void ms__step_begin(struct ms_model *model, const struct ms_event *event);
bool ms__step_end(struct ms_model *model, const struct ms_event *event); /* true: the range was a step */
void ms__step_api(struct ms_model *model, const struct ms_event *event);

/* owners.c */
struct ms_thread_state *ms__thread(struct ms_model *model, uint32_t tid, bool make);
uint32_t ms__running_op(struct ms_model *model, uint32_t tid); /* innermost, a text; 0: none */
uint32_t ms__owner_at_malloc(struct ms_model *model, const struct ms_block *block);
uint32_t ms__owner_given(struct ms_model *model, struct ms_text text);
int ms__label_event(struct ms_model *model, const struct ms_event *event);
void ms__owner_set(struct ms_model *model, struct ms_block *block, unsigned level, uint32_t label);
void ms__owner_accessed(struct ms_model *model, struct ms_block *block);
bool ms__owners_restore(struct ms_model *model, const uint32_t slots[MS_LABEL_LEVELS]);

/* oom.c */
int ms__oom(struct ms_model *model, const struct ms_event *event);
int ms__snapshot(struct ms_model *model, const struct ms_event *event);

/* segments.c */
int ms__segment_event(struct ms_model *model, const struct ms_event *event);
bool ms__segments_map(struct ms_segments *segments, const struct ms_map_entry *entry);
bool ms__segments_reserve(struct ms_segments *segments, const struct ms_reserve_entry *entry);
void ms__segments_free(struct ms_segments *segments);

/* reorder.c */
int ms__hold(struct ms_model *model, const struct ms_event *event);
int ms__release(struct ms_model *model, uint64_t now_ns, bool all);
void ms__held_free(struct ms_model *model);

#endif
