/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of a process: which block is where, and what every device uses at every moment. The analyses of the report
 * read it and are independent of each other.
 *
 * `used` of a device counts each byte once: pool blocks, host blocks, and driver memory that does not belong to a pool.
 * When a driver block is allocated, it is not yet known whether it belongs to a pool: the pool announces a block inside
 * it right afterwards, on the same thread. So it is PENDING (not counted) until the thread does something else; if a
 * pool block was placed in it by then, it is a SEGMENT, otherwise DIRECT. A direct block in which a pool places a block
 * later becomes a segment at that time.
 *
 * An entry is valid until ms_ledger_forget is called after its end. One thread at a time. */
#ifndef MS_REPORT_LEDGER_H
#define MS_REPORT_LEDGER_H

#include "base/btree.h"
#include "base/intern.h"
#include "base/map.h"
#include "memscope/analyze/inefficient.h"
#include "memscope/analyze/report/report.h"

/* ---- allocation sites ---- */

struct ms_ledger_site { /* a call stack, or what is known without one */
    uint32_t c_stack, python_stack;
    uint32_t op;     /* ms_model_text */
    uint64_t size_b; /* set if nothing else is known */
    uint8_t space;
};

/* ---- blocks ---- */

enum ms_memory_role {
    MS_ROLE_COUNTED,
    MS_ROLE_PENDING,
    MS_ROLE_DIRECT,
    MS_ROLE_SEGMENT,
    MS_ROLE_NESTED /* inside a block of another pool */
};

/* How a block is used. Positions are change numbers of the device, see ms_ledger_device.now. */
struct ms_use {
    uint64_t accesses;
    uint64_t first_from;        /* changes before the operator that used it first began */
    uint64_t last_to;           /* changes before the operator that used it last ended */
    uint32_t first_op, last_op; /* ms_ledger.ops */
    uint32_t last_step;
    uint64_t op_number; /* of the last access; 0: outside of operators */
    uint64_t born_op;   /* operator running at the allocation; 0: none */
    uint64_t others;    /* accesses to any block before this one was allocated */
    struct ms_stamps stamps;
    /* The longest interval without use. */
    uint64_t idle_from, idle_to;
    uint32_t idle_from_op, idle_to_op;
    /* unread: the last write has not been read; and the worst write that was followed by another write. */
    bool unread;
    uint64_t unread_op_number, unread_from, dead_from, dead_to;
    uint32_t unread_op, dead_from_op, dead_to_op;
    /* Ranges of offsets that were accessed: up to four, ascending, merged where they touch. */
    uint8_t range_count;
    uint64_t range[4][2];
};

struct ms_ledger_entry {
    uint64_t id, addr, size_b, malloc_ns;
    uint64_t born;      /* number of the change that allocated it */
    uint32_t device_at; /* index in ms_ledger.devices */
    uint32_t tid, step, op, owner, site;
    uint8_t space, type, class, module_id;
    uint8_t role; /* enum ms_memory_role */
    bool alive;
    uint32_t segment; /* the entry that contains it; 0: unknown */
    /* For segments. */
    uint64_t inside_b, inside_most_b;    /* pool blocks inside; maximum in this step */
    uint64_t fullest_b;                  /* overall maximum */
    uint32_t inside_blocks, inside_step; /* inside_step: step of the last allocation inside */
    uint32_t idle_steps, sparse_steps;   /* finished steps in which it was empty; at most a quarter full */
    uint64_t inside_ever;                /* blocks that were ever inside */
    uint8_t inside_space;
    struct ms_use use;
};

struct ms_ledger_device {
    uint32_t device;
    uint64_t now; /* changes of `used` so far: the state after change n is point n of the curve */
    uint64_t time_ns;
    uint64_t used_b, segment_b, segments, reserved_b;
    uint64_t driver_b; /* segments and direct blocks; pending ones are added when they are settled */
    uint64_t totals_b[MS_SPACE_COUNT], pool_used_b[MS_SPACE_COUNT], pool_blocks[MS_SPACE_COUNT];
    uint64_t classes_b[MS_CLASS_COUNT];
    uint64_t blocks;           /* counted in used */
    uint32_t step, ended_step; /* the last step that began; that ended */
    struct ms_usage usage;     /* last value from the driver */
    uint64_t usage_driver_b;   /* driver_b at that time */
    uint64_t usage_ns;         /* when this value was first reported */
    bool rest_known;           /* rest_b is from a value that stayed the same for a while */
    uint64_t rest_b;           /* memory of the process beyond its requests to the driver */
};

/* ---- operators ---- */

#define MS_OPS_OPEN 16u

struct ms_open_op {
    uint32_t name; /* ms_ledger.ops */
    uint32_t device_at;
    uint64_t number, start_now, start_b, most_b;
    uint64_t allocations, allocated_b;
    uint64_t touched_from; /* position in the thread's list */
};

struct ms_ledger_thread {
    uint32_t tid;
    uint32_t depth; /* may exceed the number kept */
    struct ms_open_op ops[MS_OPS_OPEN];
    uint32_t *touched; /* entries accessed by open operators */
    size_t touched_count, touched_room;
};

/* ---- ledger ---- */

struct ms_ledger {
    struct ms_model *model;
    struct ms_ledger_device **devices;
    uint32_t device_count, device_last;
    struct ms_ledger_entry **chunks; /* of MS_LEDGER_CHUNK; entry 0 is never used */
    uint32_t entry_used, entry_free, entry_room;
    struct ms_map entry_of; /* allocation id -> entry */
    struct ms_btree driver; /* address -> entry of a halMemAlloc block; kept once a pool was seen */
    bool pools_seen;
    uint32_t *pending;
    size_t pending_count, pending_room;
    uint32_t segment_last; /* segment of the last pool block */
    struct ms_ledger_site *sites;
    uint32_t site_count, site_room;
    struct ms_map site_of;
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

#define MS_LEDGER_CHUNK     512u
#define MS_LEDGER_SITES_MAX 65536u

static inline struct ms_ledger_entry *ms_ledger_at(const struct ms_ledger *ledger, uint32_t number)
{
    return &ledger->chunks[number / MS_LEDGER_CHUNK][number % MS_LEDGER_CHUNK];
}

void ms_ledger_init(struct ms_ledger *ledger, struct ms_model *model, uint32_t idle_threshold);
void ms_ledger_free(struct ms_ledger *ledger);

struct ms_ledger_device *ms_ledger_device(struct ms_ledger *ledger, uint32_t device,
                                          uint32_t *at);                           /* NULL: out of memory */
struct ms_ledger_thread *ms_ledger_thread(struct ms_ledger *ledger, uint32_t tid); /* NULL: out of memory */
uint32_t ms_ledger_find(const struct ms_ledger *ledger, uint64_t allocation_id);   /* 0: none */

/* Called after each change of a device's `used`, with the block that caused it. */
typedef void ms_change_fn(void *argument, struct ms_ledger_device *device, uint32_t device_at,
                          struct ms_ledger_entry *entry, bool more);

/* Events. Every change is passed to `changed`; a pending block may be passed with a later event. */
struct ms_ledger_listener {
    void *argument;
    ms_change_fn *changed;
};
/* 0: it exists already, or out of memory (see ledger->error). */
uint32_t ms_ledger_malloc(struct ms_ledger *ledger, const struct ms_block *block, const struct ms_pool_state *pool,
                          const struct ms_ledger_listener *listener);
/* Returns its number; the entry stays readable until ms_ledger_forget. 0: unknown. */
uint32_t ms_ledger_end(struct ms_ledger *ledger, const struct ms_block *block, const struct ms_pool_state *pool,
                       uint64_t time_ns, const struct ms_ledger_listener *listener);
void ms_ledger_forget(struct ms_ledger *ledger, uint32_t number);
void ms_ledger_owner(struct ms_ledger *ledger, const struct ms_block *block); /* its owner has changed */
/* The thread does something else: its pending blocks do not belong to a pool. tid 0: all threads. */
void ms_ledger_settle(struct ms_ledger *ledger, uint32_t tid, const struct ms_ledger_listener *listener);
/* Operators of a thread; end returns the data of the operator that ended (NULL: none was open). */
void ms_ledger_op_begin(struct ms_ledger *ledger, const struct ms_row *row);
const struct ms_open_op *ms_ledger_op_end(struct ms_ledger *ledger, const struct ms_row *row);
/* The allocation site of a block, as an index in sites. */
uint32_t ms_ledger_site(struct ms_ledger *ledger, const struct ms_block *block);
const struct ms_open_op *ms_ledger_op(struct ms_ledger *ledger, uint32_t tid); /* innermost; NULL: none */
/* An ACCESS row. Returns the entry, 0: unknown; *found gets the patterns of inefficient.h that this access shows. */
uint32_t ms_ledger_access(struct ms_ledger *ledger, const struct ms_row *row, unsigned *found);

/* Calls the function for every live block. */
typedef void ms_ledger_entry_fn(void *argument, uint32_t number, struct ms_ledger_entry *entry);
void ms_ledger_each(struct ms_ledger *ledger, ms_ledger_entry_fn *fn, void *argument);

#endif
