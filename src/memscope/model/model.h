/* SPDX-License-Identifier: Apache-2.0 */
/* The model: applies the events of one process, in the order in which the trace reader releases them, and maintains
 * blocks, pools, segments, steps and rows. Collector, offline commands and Python analyzers all use it.
 *
 *     struct ms_model *model;
 *     ms_model_new(&options, &model);
 *     ms_model_add(model, ms_dump_consumer(dump));        // exporters
 *     ms_model_add(model, ms_leaks_consumer(leaks));      // analyses
 *     while (ms_trace_next(trace, &event) == MS_TRACE_EVENT)
 *         ms_model_feed(model, &event);
 *     ms_model_end(model);                                // the process is gone: on_end, then synthetic frees
 *     ms_model_free(model);
 *
 * Rows come out in order of their ids. A model may hold events back (an allocation at a live address waits up to 2
 * us of event time for a free that the clock put after it) until later events, STOP or the end release them.
 *
 * Steps: a device without marks of its own follows the first one that has some (marks of threads without a device
 * count for all such devices).
 *
 * Memory is O(live blocks + texts used as owners + threads), never O(events). One thread at a time. Functions return
 * 0 or -errno; an error of a consumer is returned by the feed in which it occurred and does not stop the model: rows
 * still go to the other consumers. */
#ifndef MS_MODEL_MODEL_H
#define MS_MODEL_MODEL_H

#include "memscope/model/row.h"
#include "trace/wanted.h"

#include <stddef.h>

struct ms_model;

/* ---- options ---- */

#define MS_MODEL_STEPS_MAX 5

struct ms_model_options {
    uint32_t events;     /* MS_WANT_ALLOC|FREE|LAUNCH|ACCESS|TRACEBACK as the user named them */
    uint32_t levels;     /* MS_WANT_OP|KERNEL */
    uint32_t analysis;   /* MS_ANALYSIS_* */
    bool events_only;    /* write only the named events, not those they imply */
    bool deferred;       /* nothing is traced before START */
    bool cpu;            /* --device has cpu */
    bool all_npu;        /* --device has npu */
    uint64_t npu_mask;   /* bit n: npu:n */
    uint32_t step_count; /* --steps; 0: all */
    uint32_t steps[MS_MODEL_STEPS_MAX];
    uint32_t oom_top_k; /* 0: 10 */
    bool event_ids;     /* the index of an event is the id of its rows: for dumps, which contain snapshots too */

    /* CONFIG events: converts their text to new options; NULL: they are ignored. True: *options was changed. */
    bool (*parse_config)(void *argument, const char *text, size_t length_b, struct ms_model_options *options);
    void *config_argument;
    /* Lines for the log file. NULL: none. */
    void (*log)(void *argument, int level, const char *line); /* level as in config.json: 0 debug ... 3 error */
    void *argument;
};
/* alloc, free, launch; level op; leaks; all NPUs. */
#define MS_MODEL_OPTIONS_DEFAULT                                                                                       \
    {                                                                                                                  \
        .events = MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_LAUNCH, .levels = MS_WANT_OP, .analysis = MS_ANALYSIS_LEAKS,  \
        .all_npu = true                                                                                                \
    }

/* ---- blocks ---- */

/* Spaces: where an address belongs; blocks of different spaces may have equal addresses. Name, row type of its
 * blocks, title in reports.
 *
 *   HAL       halMemAlloc, on a device or (then of type HOST_PINNED) on the host
 *   HANDLE    halMemCreate: the address is a handle
 *   REGISTER  aclrtHostRegister
 *   HOST      CPU tensors
 *
 * The others are pools, named as in enum ms_pool. */
#define MS_SPACES(X)                                                                                                   \
    X(HAL, HAL, "driver")                                                                                              \
    X(HANDLE, HAL, "driver")                                                                                           \
    X(REGISTER, HOST_PINNED, "pinned")                                                                                 \
    X(PTA, PTA, "PTA")                                                                                                 \
    X(PTA_WORKSPACE, PTA_WORKSPACE, "PTA workspace")                                                                   \
    X(ATB, ATB, "ATB")                                                                                                 \
    X(MINDSPORE, MINDSPORE, "MindSpore")                                                                               \
    X(HOST, HOST, "host")

enum ms_space {
#define X(name, type, title) MS_SPACE_##name,
    MS_SPACES(X)
#undef X
        MS_SPACE_COUNT
};
enum ms_row_type ms_space_type(enum ms_space space);
const char *ms_space_title(unsigned space); /* "PTA", "driver"; "unknown" if out of range */
#define MS_SPACE_IS_POOL(space) ((space) >= MS_SPACE_PTA && (space) <= MS_SPACE_MINDSPORE)

enum ms_block_state {
    MS_BLOCK_LIVE = 1,    /* its MALLOC row is written (or not requested) */
    MS_BLOCK_SHADOW,      /* allocated while not tracing: no row yet */
    MS_BLOCK_SHADOW_FREE, /* has a MALLOC row, freed while not tracing: its FREE row follows at START or at the end */
    MS_BLOCK_GHOST,       /* only accesses are known */
    MS_BLOCK_HIDDEN,      /* on a device that was not requested */
};

struct ms_block {
    uint64_t addr, size_b;
    uint64_t allocation_id;
    uint64_t malloc_ns;
    uint64_t malloc_row; /* id of its MALLOC row */
    uint64_t flag;       /* HAL: flag of the allocation */
    uint32_t device;
    uint32_t tid; /* that allocated it */
    uint32_t c_stack, python_stack;
    uint32_t step;         /* in which it was allocated; 0: before the first */
    uint32_t kernel_index; /* kernels launched before it */
    uint32_t owner;        /* ms_model_owner */
    uint32_t op;           /* operator that was running in its thread, ms_model_text; 0: none */
    uint8_t space;         /* enum ms_space */
    uint8_t type;          /* enum ms_row_type: HAL, PTA ... */
    uint8_t state;         /* enum ms_block_state */
    uint8_t page_type;     /* enum drv_mem_pg_type: 0 normal, 1 huge, 2 giant */
    uint8_t module_id;     /* HAL */
    uint8_t inefficient;   /* up to three of MS_INEFFICIENT_*, two bits each, in order of detection */
    uint8_t revived;       /* number of failed frees */
    uint8_t shadow : 1;    /* allocated while not tracing: its MALLOC row was written later */
    uint8_t of_pool : 1;   /* HAL: a pool has reserved it, to cut it into blocks */
    uint32_t accesses;
    uint64_t first_access_ns, last_access_ns;

    uint32_t older, newer; /* private to the model: list of live blocks in order of allocation */
};

enum ms_block_end {
    MS_END_FREE,     /* freed */
    MS_END_SHADOW,   /* freed while not tracing */
    MS_END_RESIDUAL, /* another allocation got its address: its free was lost or never reported */
    MS_END_EXIT,     /* live when the process ended */
};

/* State of the pool (or of HAL, HOST ...) that a block belongs to, after the event. */
struct ms_pool_state {
    uint64_t total_b, used_b;           /* total is 0 if it is not reported */
    uint64_t peak_total_b, peak_used_b; /* since the beginning */
    uint64_t live_blocks;
};

/* ---- consumers ---- */

struct ms_step_info {
    uint32_t device; /* a known device; one call for each that follows the mark */
    uint32_t step;   /* 1, 2, 3 ... */
    bool begins;
    uint64_t time_ns, row; /* row: id of the next row */
};

/* An operator begins or ends: while tracing, at level op, and if launches are recorded. */
struct ms_op_info {
    uint32_t device, tid;
    bool begins;
    bool atb; /* false: ATen */
    uint64_t time_ns;
    struct ms_text name;
};

/* Any function may be NULL. Called in order of events; for one event: on_malloc or on_free, then on_row. Analyses see
 * everything traced on a requested device, written or not; exporters see what is written. */
struct ms_consumer {
    void *self;
    int (*on_row)(void *self, const struct ms_row *row);
    int (*on_slice)(void *self, const struct ms_slice *slice);
    int (*on_malloc)(void *self, const struct ms_block *block, const struct ms_pool_state *pool);
    /* block may be a ghost */
    int (*on_access)(void *self, const struct ms_block *block, const struct ms_event *event);
    int (*on_free)(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns);
    int (*on_step)(void *self, const struct ms_step_info *step);
    int (*on_op)(void *self, const struct ms_op_info *op); /* before its row */
    int (*on_gap)(void *self, const struct ms_event *event);
    int (*on_watch)(void *self, const struct ms_event *event); /* content of a watched tensor */
    /* owner or inefficient_type of a block changed after its MALLOC row was written; the block may already be freed */
    int (*on_late)(void *self, const struct ms_block *block);
    int (*on_stop)(void *self);  /* STOP: files must be complete up to here */
    int (*on_end)(void *self);   /* live blocks still exist: ms_model_blocks; their synthetic frees follow */
    int (*on_close)(void *self); /* end of the calls */
};

/* ---- running ---- */

int ms_model_new(const struct ms_model_options *options, struct ms_model **out);
void ms_model_free(struct ms_model *model);
int ms_model_add(struct ms_model *model, const struct ms_consumer *consumer); /* copied; not from a callback */

int ms_model_feed(struct ms_model *model, const struct ms_event *event);
int ms_model_flush(struct ms_model *model); /* releases what is final; never changes the final result */
int ms_model_end(struct ms_model *model);

/* ---- queries ---- */

/* Whether events become rows now: tracing, and within a requested step of some device. */
bool ms_model_active(struct ms_model *model);

struct ms_model_stats {
    uint64_t events, rows; /* rows: number of ids */
    uint64_t blocks;       /* number of allocation ids */
    uint64_t live, live_b;
    uint64_t reordered;               /* allocations whose free came up to 2 us later */
    uint64_t double_mallocs;          /* residual blocks */
    uint64_t unmatched_frees;         /* of addresses without a known allocation (inherited by fork, or lost) */
    uint64_t ghosts;                  /* blocks without a known allocation that were accessed */
    uint64_t revived;                 /* frees that failed */
    uint64_t gaps, lost, lost_memory; /* events lost; of which allocations and frees */
    uint64_t uncertain_since_ns;      /* time of the first loss of allocations or frees; 0: none */
    uint64_t row_counts[MS_EV_COUNT];
    size_t memory_b; /* held by the model */
    uint64_t last_ns;
    uint32_t pid;
    bool steps_by_mstx, steps_by_api;
    uint64_t devices; /* NPUs seen: bit n, below 64 */
};
void ms_model_stats(const struct ms_model *model, struct ms_model_stats *out);

/* Live blocks (every state), oldest first; stops when fn returns nonzero and returns that. The model must not be fed
 * meanwhile. newest_first reverses the order. */
typedef int (*ms_block_fn)(void *argument, const struct ms_block *block);
int ms_model_blocks(const struct ms_model *model, bool newest_first, ms_block_fn fn, void *argument);

/* The block of that space and device that contains the address; NULL: none. O(log n). device is ignored for the spaces
 * of the driver; MS_DEV_UNKNOWN: any. */
const struct ms_block *ms_model_find(struct ms_model *model, enum ms_space space, uint32_t device, uint64_t addr);

bool ms_model_pool(const struct ms_model *model, enum ms_space space, uint32_t device, struct ms_pool_state *out);
/* The driver's last report about a device: bytes used by all processes, by this process, and in total. */
struct ms_usage {
    uint64_t device_b, process_b, total_b;
};
bool ms_model_usage(const struct ms_model *model, uint32_t device, struct ms_usage *out); /* false: unknown */
/* During on_access or on_free, for the block that was passed: sets ms_block.inefficient and calls on_late. */
void ms_model_set_inefficient(struct ms_model *model, uint64_t allocation_id, uint8_t found);
uint32_t ms_model_step(const struct ms_model *model, uint32_t device);    /* the last one that began; 0: none yet */
struct ms_text ms_model_owner(const struct ms_model *model, uint32_t id); /* "PTA@model@weight" */
/* The innermost running operator of a thread; empty: none. */
struct ms_text ms_model_op(struct ms_model *model, uint32_t tid);
struct ms_text ms_model_text(const struct ms_model *model, uint32_t id);
const char *ms_module_name(unsigned module_id); /* "RUNTIME"; "UNKNOWN" */

/* Segments: address ranges backed with memory by the driver, through halMemAlloc or by mapping a handle. */
struct ms_segment {
    uint64_t addr, size_b;
    uint32_t device;
    bool mapped;                    /* false: halMemAlloc, handle is 0 */
    uint64_t handle, offset_b;      /* offset in the handle */
    uint64_t reserve, reserve_b;    /* the reservation around it, 0 if unknown */
    const struct ms_block *backing; /* its HAL block; NULL: unknown */
    uint64_t pool_used_b;           /* bytes of pool blocks inside; a block across two segments counts in parts */
    uint32_t pool_blocks;           /* that begin inside */
};
typedef int (*ms_segment_fn)(void *argument, const struct ms_segment *segment);
bool ms_model_segment(struct ms_model *model, uint64_t addr, struct ms_segment *out);
/* The physical handle mapped at the address; NULL: none. Cheaper than ms_model_segment. */
const struct ms_block *ms_model_mapped(const struct ms_model *model, uint64_t addr);
int ms_model_segments(struct ms_model *model, ms_segment_fn fn, void *argument); /* in order of address */
/* Pool blocks that overlap the range, in order of address within each pool. */
int ms_model_blocks_in(struct ms_model *model, uint64_t addr, uint64_t size_b, ms_block_fn fn, void *argument);

/* ---- checkpoints: payload of the trace's CHECKPOINT block ---- */

/* The whole state as bytes (*out is freed by the caller). -EAGAIN: events are held back, feed more first. */
int ms_model_save(struct ms_model *model, void **out, size_t *out_b);
/* Replaces the state by that of the checkpoint; options (NULL: unchanged) must be those of that time, consumers stay.
 * -EPROTO: not a checkpoint, or damaged; the model is unusable then. */
int ms_model_restore(struct ms_model *model, const struct ms_model_options *options, const void *payload,
                     size_t payload_b);
/* Definitions of the trace that the state refers to, each once (*out is freed by the caller). */
int ms_model_definitions(const struct ms_model *model, uint32_t **out, size_t *count);

#endif
