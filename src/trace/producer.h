/* SPDX-License-Identifier: Apache-2.0 */
/* The recording side: how a hook puts a record into shared memory. Needs only libc; takes no lock, allocates nothing
 * and makes no system call, except when a chunk is full.
 *
 *     unsigned state = ms_rec_state();         // first in every hook; MS_STATE_OFF: only call the real function
 *     ...
 *     struct ms_slot slot;
 *     struct ms_p_hal_alloc *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_ALLOC);
 *     if (p != NULL) {
 *         p->addr = ...;
 *         ms_rec_commit(&slot, MS_R_HAL_ALLOC, ms_rec_flags(state), arg, ms_rec_stamp(&slot));
 *     }
 *
 * Between begin and commit the thread is "in flight" and may only fill the payload. The payload is uninitialised, so
 * every byte must be written. Texts and stacks become ids before begin (definitions.h). begin fails and counts the
 * loss when space runs out or when a signal handler interrupts a record of its own thread; it fails silently in a
 * process that does not record. Nothing here changes errno.
 *
 * Stamps: a free (MS_ORDER_FREE) is stamped and committed before the real call, an allocation (MS_ORDER_ALLOC) after
 * it.
 *
 * Threads: a stream belongs to one thread. Fork: the gate page is wiped in a child, whose first record takes the
 * slow path and attaches again; a vfork child records as its parent. A thread returns its stream when it exits;
 * later records (late destructors) take a new one. */
#ifndef MS_TRACE_PRODUCER_H
#define MS_TRACE_PRODUCER_H

#include "base/macros.h"
#include "trace/records.h"
#include "trace/shm.h"
#include "trace/stamp.h"
#include "trace/testpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a thread needs to record; private memory, pooled, never freed. */
struct ms_ctx {
    struct ms_shm *shm;
    struct ms_stream_head *head;
    struct ms_chunk *chunk; /* NULL: none */
    uint32_t offset;        /* of the next record in the chunk's data */
    uint32_t limit; /* records must end here; 0: the next record takes the slow path (no chunk, or a loss to report) */
    uint64_t seq;   /* records committed by this stream */
    uint64_t last_stamp;
    uint32_t busy; /* between begin and commit, or on the slow path */
    uint32_t clock_kind;

    uint32_t stream; /* index of head */
    uint32_t tid;
    uint32_t keep;                      /* never reclaim this context from a thread that seems to have ended */
    uint32_t thread_written;            /* this owner's THREAD record is written */
    uint32_t abandoned;                 /* was in use when its process forked; has no owner since */
    struct ms_definitions *definitions; /* NULL until the first one */
    void *of_owner;                     /* per-thread data of the agent; NULL at first */
    uint32_t owner_words[4];            /* the same, without an allocation; zero at first */
    struct ms_ctx *next;
};

/* One initial-exec pointer is all the thread-local storage used: the reserve for libraries loaded late is small. */
extern __thread struct ms_ctx *ms_ctx_tls __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A private page that reads zero in a forked child, for everything that must not survive fork. */
struct ms_gate {
    struct ms_shm *shm;  /* NULL: not attached (yet, or since fork); a memory in state OFF if attaching failed */
    uint32_t lock;       /* of the slow path: attaching, pool of contexts; 0 free, 1 held, 2 held with waiters */
    uint32_t pid;        /* that attached */
    uint32_t dropping;   /* no space, and the wait timed out ... */
    uint32_t dropped_at; /* ... while `progress` had this value */
    struct ms_ctx *pool; /* contexts of ended threads */
    uint32_t contexts_used;
    uint32_t next_check; /* where the search for contexts of vanished threads continues */
    uint32_t populated;  /* chunks below were populated in advance */
};
extern struct ms_gate *ms_gate __attribute__((visibility("hidden")));

struct ms_slot {
    struct ms_ctx *ctx;
    struct ms_record *record;
    uint32_t length_b;
};

/* Called once per process, and again in a forked child, for the first record: returns the shared memory to record
 * into, or NULL for "do not record, and do not call again". Runs with signals blocked; hooks called from it record
 * nothing. */
typedef struct ms_shm *(*ms_attach_fn)(void);

/* Must come first; until then nothing is recorded. A second call replaces the function for the next attach. 0 or
 * -errno. */
int ms_producer_setup(ms_attach_fn attach);

/* The recording process; in a vfork child, its parent. */
uint32_t ms_producer_pid(void);

/* To be called in a forked child, for kernels that do not wipe pages on fork. */
void ms_producer_forked(void);

/* ---- slow paths, out of line ---- */
unsigned ms_rec_state_slow(void);
/* Returns the context, busy and with its record reserved. It takes no slot, so that slots of hooks stay in
 * registers. */
struct ms_ctx *ms_rec_begin_slow(size_t payload_b, unsigned order);

/* The calling thread's context, not busy; takes one if needed. NULL: the thread cannot record now. */
struct ms_ctx *ms_rec_context(void);

/* enum ms_trace_state. Attaches the process first if necessary. */
static inline unsigned ms_rec_state(void)
{
    const struct ms_shm *shm = __atomic_load_n(&ms_gate->shm, __ATOMIC_ACQUIRE);
    return MS_LIKELY(shm != NULL) ? __atomic_load_n(&shm->state, __ATOMIC_RELAXED) : ms_rec_state_slow();
}

/* The collector's words of an attached process; NULL if it is not attached. */
static inline const struct ms_shm *ms_rec_shm(void)
{
    return __atomic_load_n(&ms_gate->shm, __ATOMIC_ACQUIRE);
}

static inline uint8_t ms_rec_flags(unsigned state)
{
    return state == MS_STATE_SHADOW ? MS_RECORD_SHADOW : 0;
}

/* From here on, a signal handler that records sees busy and gives up; the collector sees `reserved` before the stamp is
 * taken, on which its watermark depends. */
static inline void ms_rec_reserve(struct ms_ctx *ctx)
{
    ctx->busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&ctx->head->reserved, ctx->seq + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    MS_TESTPOINT("reserved");
}

static inline void *ms_rec_payload(struct ms_slot *slot, struct ms_ctx *ctx, size_t payload_b)
{
    slot->ctx = ctx;
    slot->record = (struct ms_record *)(void *)(ctx->chunk->data + ctx->offset);
    slot->length_b = (uint32_t)(sizeof(struct ms_record) + payload_b);
    return slot->record + 1;
}

/* Space for a payload (with its tail) of payload_b bytes, a multiple of 8. order: enum ms_record_order of the record,
 * to count it if it is lost. */
static inline void *ms_rec_begin(struct ms_slot *slot, size_t payload_b, unsigned order)
{
    struct ms_ctx *ctx = ms_ctx_tls;
    if (MS_UNLIKELY(ctx == NULL || ctx->busy != 0 || ctx->shm != ms_gate->shm ||
                    ctx->offset + sizeof(struct ms_record) + payload_b > ctx->limit)) {
        ctx = ms_rec_begin_slow(payload_b, order);
        if (ctx == NULL) {
            return NULL;
        }
    } else {
        ms_rec_reserve(ctx);
    }
    return ms_rec_payload(slot, ctx, payload_b);
}

static inline uint64_t ms_rec_stamp(const struct ms_slot *slot)
{
    return ms_stamp(slot->ctx->clock_kind);
}

static inline void ms_rec_commit(const struct ms_slot *slot, enum ms_record_kind kind, uint8_t flags, uint32_t arg,
                                 uint64_t stamp)
{
    struct ms_ctx *ctx = slot->ctx;
    struct ms_record *r = slot->record;
    MS_TESTPOINT("stamped");
    /* The watermark and the merge require that stamps of one stream never decrease; counters of two cores may differ by
     * a few ticks. */
    stamp = stamp < ctx->last_stamp ? ctx->last_stamp : stamp;
    r->kind = (uint8_t)kind;
    r->flags = flags;
    r->words = (uint16_t)(slot->length_b / 8);
    r->arg = arg;
    r->stamp = stamp;
    ctx->last_stamp = stamp;
    ctx->offset += slot->length_b;
    ctx->seq++;
    MS_TESTPOINT("filled");
    __atomic_store_n(&ctx->chunk->used_b, ctx->offset, __ATOMIC_RELEASE);
    MS_TESTPOINT("used");
    __atomic_store_n(&ctx->head->last_stamp, stamp, __ATOMIC_RELEASE);
    __atomic_store_n(&ctx->head->committed, ctx->seq, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ctx->busy = 0;
    MS_TESTPOINT("committed");
}

/* Cancels what begin reserved: nothing is recorded. */
static inline void ms_rec_cancel(const struct ms_slot *slot)
{
    __atomic_store_n(&slot->ctx->head->reserved, slot->ctx->seq, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    slot->ctx->busy = 0;
}

#endif
