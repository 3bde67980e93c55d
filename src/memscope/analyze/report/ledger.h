/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of a process: which block lives where, and what every device uses at every moment. Analyses of the report
 * read it and know nothing of each other.
 *
 * `used` of a device counts each byte once: blocks of pools, blocks of the host, and driver memory that is no pool's.
 * Whether a block of the driver is a pool's is not known when it comes: the pool announces a block inside of it right
 * afterwards, in the same thread. So it waits (PENDING, not counted) until the thread does something else; if a pool's
 * block came to lie in it, it is a SEGMENT, otherwise DIRECT. A direct one that a pool moves into later becomes a
 * segment then.
 *
 * A life is good until the ledger forgets it after its end. One thread at a time. */
#ifndef MS_REPORT_LEDGER_H
#define MS_REPORT_LEDGER_H

#include "base/btree.h"
#include "base/intern.h"
#include "base/map.h"
#include "memscope/analyze/inefficient.h"
#include "memscope/analyze/report/report.h"

/* ---- where memory is allocated ---- */

struct ms_place { /* a call stack, or what is known without one */
    uint32_t c_stack, python_stack;
    uint32_t op;     /* ms_model_text */
    uint64_t size_b; /* where nothing else is known */
    uint8_t space;
};

/* ---- blocks ---- */

enum ms_standing { MS_COUNTED, MS_PENDING, MS_DIRECT, MS_SEGMENT, MS_NESTED /* in a block of another pool */ };

/* How a block is used. Positions are numbers of changes of the device, see ms_ledger_device.now. */
struct ms_use {
    uint64_t accesses;
    uint64_t first_from;        /* changes before the operator that used it first began */
    uint64_t last_to;           /* changes before the operator that used it last had ended */
    uint32_t first_op, last_op; /* ms_ledger.ops */
    uint32_t last_step;
    uint64_t op_number; /* of the last access; 0: outside of operators */
    uint64_t born_op;   /* operator that was running when the block came; 0: none */
    uint64_t others;    /* accesses to any block before it came */
    struct ms_stamps stamps;
    /* The longest time without use. */
    uint64_t idle_from, idle_to;
    uint32_t idle_from_op, idle_to_op;
    /* A write that nobody has read; the worst one that another write followed. */
    bool unread;
    uint64_t unread_op_number, unread_from, dead_from, dead_to;
    uint32_t unread_op, dead_from_op, dead_to_op;
    /* What was touched: up to four ranges of offsets, in order, merged where they meet. */
    uint8_t range_count;
    uint64_t range[4][2];
};

struct ms_life {
    uint64_t id, addr, size_b, malloc_ns;
    uint64_t born;      /* number of the change that it was */
    uint32_t device_at; /* index of ms_ledger.devices */
    uint32_t tid, step, op, owner, site;
    uint8_t space, type, class, module_id;
    uint8_t standing; /* enum ms_standing */
    bool alive;
    uint32_t segment; /* life that it lies in; 0: not known */
    /* Of segments. */
    uint64_t inside_b, inside_most_b;    /* blocks of pools; most in this step */
    uint64_t fullest_b;                  /* most ever */
    uint32_t inside_blocks, inside_step; /* inside_step: in which a block came last */
    uint32_t idle_steps, sparse_steps;   /* finished steps that it was empty; at most a quarter full */
    uint64_t inside_ever;                /* blocks that were ever in it */
    uint8_t inside_space;
    struct ms_use use;
};

struct ms_ledger_device {
    uint32_t device;
    uint64_t now; /* changes of `used` so far: the state after change n is point n of the curve */
    uint64_t time_ns;
    uint64_t used_b, segment_b, segments, reserved_b;
    uint64_t driver_b; /* segments and direct ones: what is pending comes a moment later */
    uint64_t totals_b[MS_SPACE_COUNT], pool_used_b[MS_SPACE_COUNT], pool_blocks[MS_SPACE_COUNT];
    uint64_t classes_b[MS_CLASS_COUNT];
    uint64_t blocks;           /* that count for used */
    uint32_t step, ended_step; /* the last one that began, that ended */
    struct ms_usage usage;     /* what the driver said last */
    uint64_t usage_driver_b;   /* driver_b then */
    uint64_t usage_ns;         /* when it was first told so */
    bool rest_known;           /* rest_b is of an answer that stayed the same for a while */
    uint64_t rest_b;           /* what the process has beyond what it asked the driver for */
};

/* ---- operators ---- */

#define MS_OPS_OPEN 16u

struct ms_open_op {
    uint32_t name; /* ms_ledger.ops */
    uint32_t device_at;
    uint64_t number, start_now, start_b, most_b;
    uint64_t allocations, allocated_b;
    uint64_t touched_from; /* in the thread's list */
};

struct ms_ledger_thread {
    uint32_t tid;
    uint32_t depth; /* may be more than are kept */
    struct ms_open_op ops[MS_OPS_OPEN];
    uint32_t *touched; /* lives that open operators accessed */
    size_t touched_count, touched_room;
};

/* ---- all of it ---- */

struct ms_ledger {
    struct ms_model *model;
    struct ms_ledger_device **devices;
    uint32_t device_count, device_last;
    struct ms_life **chunks; /* of MS_LIFE_CHUNK; life 0 is never used */
    uint32_t life_used, life_free, life_room;
    struct ms_map life_of;  /* allocation id: number */
    struct ms_btree driver; /* address: number, of halMemAlloc blocks; kept once a pool was seen */
    bool pools_seen;
    uint32_t *pending;
    size_t pending_count, pending_room;
    uint32_t segment_last; /* where the last pool block was */
    struct ms_place *places;
    uint32_t place_count, place_room;
    struct ms_map place_of;
    struct ms_intern ops;
    uint64_t op_count;
    struct ms_map thread_of;
    struct ms_ledger_thread **threads;
    uint32_t thread_count;
    struct ms_inefficient inefficient;
    uint64_t pinned_b;
    uint64_t begin_ns, last_ns, accesses;
    int error;
};

#define MS_LIFE_CHUNK 512u
#define MS_PLACES_MAX 65536u

static inline struct ms_life *ms_ledger_life(const struct ms_ledger *ledger, uint32_t number)
{
    return &ledger->chunks[number / MS_LIFE_CHUNK][number % MS_LIFE_CHUNK];
}

void ms_ledger_init(struct ms_ledger *ledger, struct ms_model *model, uint32_t idle_threshold);
void ms_ledger_free(struct ms_ledger *ledger);

struct ms_ledger_device *ms_ledger_device(struct ms_ledger *ledger, uint32_t device,
                                          uint32_t *at);                           /* NULL: no memory */
struct ms_ledger_thread *ms_ledger_thread(struct ms_ledger *ledger, uint32_t tid); /* NULL: no memory */
uint32_t ms_ledger_find(const struct ms_ledger *ledger, uint64_t allocation_id);   /* 0: none */

/* Told whenever `used` of a device has changed: after the change, with the block that it was about. */
typedef void ms_change_fn(void *argument, struct ms_ledger_device *device, uint32_t device_at, struct ms_life *life,
                          bool more);

/* What happens. Changes are told to `changed`; a pending block may be told together with a later event. */
struct ms_ledger_listener {
    void *argument;
    ms_change_fn *changed;
};
/* 0: it was there already, or there is no memory (then ledger->error). */
uint32_t ms_ledger_malloc(struct ms_ledger *ledger, const struct ms_block *block, const struct ms_pool_state *pool,
                          const struct ms_ledger_listener *listener);
/* Its number; it stays readable until ms_ledger_forget. 0: not known. */
uint32_t ms_ledger_end(struct ms_ledger *ledger, const struct ms_block *block, const struct ms_pool_state *pool,
                       uint64_t time_ns, const struct ms_ledger_listener *listener);
void ms_ledger_forget(struct ms_ledger *ledger, uint32_t number);
void ms_ledger_owner(struct ms_ledger *ledger, const struct ms_block *block); /* it has another one */
/* The thread does something else: what is pending of it is no pool's. tid 0: of all threads. */
void ms_ledger_settle(struct ms_ledger *ledger, uint32_t tid, const struct ms_ledger_listener *listener);
/* Operators of a thread; end gives back what is known of the one that ended (NULL: none was open). */
void ms_ledger_op_begin(struct ms_ledger *ledger, const struct ms_row *row);
const struct ms_open_op *ms_ledger_op_end(struct ms_ledger *ledger, const struct ms_row *row);
/* Where a block was allocated, as an index of places. */
uint32_t ms_ledger_place(struct ms_ledger *ledger, const struct ms_block *block);
const struct ms_open_op *ms_ledger_op(struct ms_ledger *ledger, uint32_t tid); /* innermost; NULL: none */
/* An ACCESS row. Gives the life, 0: not known; *found gets the patterns of 7.6 that this access shows. */
uint32_t ms_ledger_access(struct ms_ledger *ledger, const struct ms_row *row, unsigned *found);

/* Every block that is alive. */
typedef void ms_life_fn(void *argument, uint32_t number, struct ms_life *life);
void ms_ledger_each(struct ms_ledger *ledger, ms_life_fn *fn, void *argument);

#endif
