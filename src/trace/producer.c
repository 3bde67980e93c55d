/* SPDX-License-Identifier: Apache-2.0 */
/* Slow path of recording: attaching the process, giving threads a context and a stream, and records that need more
 * than space in the current chunk.
 *
 * Invariants: a context is used by one thread at a time; its chunk is OWNED by its stream. Sequence numbers of a
 * stream have no holes: records that are lost are counted in the stream's head and reported by a GAP record before
 * the next one. Each owner of a stream begins with a THREAD record; a change of the clock is a CLOCK record.
 *
 * Locks: gate->lock, a futex word in the gate page, held for a few instructions (and once per process while
 * attaching); only the attach function is called under it. It is unlocked in a forked child because the page is
 * wiped.
 *
 * Failure policy: every failure loses the record, counts it by cause, and lets the program continue. errno is
 * preserved. Signals are blocked here, so a handler cannot find the lock held by its own thread. No cancellation
 * points.
 *
 * Fork in a signal handler that interrupts a record: the child finishes that record too. Its context is abandoned
 * and redirected to a private dummy, so that the parent's counters are not touched; at most the bytes of the same
 * record are written again with the same values. */
#include "trace/producer_internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#ifdef MS_TESTPOINTS
void (*ms_testpoint_hook)(const char *label);
#endif

/* A process that does not record uses this memory, whose state is OFF. */
static struct ms_shm off_memory;
static struct ms_gate closed_gate = {.shm = &off_memory};
struct ms_gate *ms_gate = &closed_gate;

__thread struct ms_ctx *ms_ctx_tls;

/* In ms_ctx_tls while a thread without a context is on the slow path: hooks called from there find it busy. */
static struct ms_ctx starting = {.busy = 1};

static ms_attach_fn attach_process MS_EARLY;
static pthread_key_t thread_end MS_EARLY;
static bool have_key MS_EARLY;

/* Contexts come from one static array (pages are touched on first use); further concurrent threads record nothing, and
 * are counted. */
static struct ms_ctx contexts[MS_STREAMS_MAX];
static uint32_t contexts_touched MS_EARLY; /* survives fork, unlike gate->contexts_used: contexts that hold something */

/* Where the interrupted record of a forked child goes. */
static struct ms_stream_head abandoned_head;
static struct ms_chunk abandoned_chunk;

#define FIRST_KEYS       32 /* values that glibc stores in the thread itself; further ones are allocated */
#define CHECK_CONTEXTS   64 /* with more contexts, look for vanished threads before taking a new one */
#define CHECKS_PER_START 8

/* ---- signals and errno around the slow path ---- */

struct quiet {
    uint64_t signals;
    int error;
};

static struct quiet quiet_begin(void)
{
    struct quiet before = {.error = errno};
    uint64_t all = ~0ull;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before.signals, sizeof(before.signals));
    return before;
}

static void quiet_end(struct quiet before)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before.signals, NULL, sizeof(before.signals));
    errno = before.error;
}

/* ---- lock ---- */

static void gate_lock(void)
{
    uint32_t expected = 0;
    if (__atomic_compare_exchange_n(&ms_gate->lock, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
    }
    while (__atomic_exchange_n(&ms_gate->lock, 2, __ATOMIC_ACQUIRE) != 0) {
        ms__futex_wait(&ms_gate->lock, 2, NULL, false);
    }
}

static void gate_unlock(void)
{
    if (__atomic_exchange_n(&ms_gate->lock, 0, __ATOMIC_RELEASE) == 2) {
        ms__futex_wake(&ms_gate->lock, 1, false);
    }
}

/* ---- loss ---- */

void ms__count_lost(struct ms_ctx *ctx, unsigned order, uint32_t cause)
{
    struct ms_lost *lost = &ctx->head->lost;
    if (lost->since_stamp == 0) {
        uint64_t now = ms_stamp(ctx->clock_kind);
        __atomic_store_n(&lost->cause, cause, __ATOMIC_RELAXED);
        __atomic_store_n(&lost->since_stamp, now < ctx->last_stamp ? ctx->last_stamp : now, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&lost->allocs, order == MS_ORDER_ALLOC,
                       __ATOMIC_RELAXED); /* a signal handler may interrupt the update */
    __atomic_fetch_add(&lost->frees, order == MS_ORDER_FREE, __ATOMIC_RELAXED);
    __atomic_fetch_add(&lost->records, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&ctx->shm->lost_total[cause % MS_GAP_CAUSES], 1, __ATOMIC_RELAXED);
    ctx->limit = 0;
}

/* For a thread without a stream: counted for the process. */
static void count_lost_unowned(struct ms_shm *shm, unsigned order, uint32_t cause)
{
    uint64_t unset = 0;
    __atomic_compare_exchange_n(&shm->lost.since_stamp, &unset, ms_stamp(shm->clock_kind), false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    __atomic_store_n(&shm->lost.cause, cause, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shm->lost.allocs, order == MS_ORDER_ALLOC, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shm->lost.frees, order == MS_ORDER_FREE, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shm->lost.records, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shm->lost_total[cause % MS_GAP_CAUSES], 1, __ATOMIC_RELAXED);
}

/* ---- contexts ---- */

static void put_into_pool(struct ms_ctx *ctx)
{
    ctx->tid = 0;
    ctx->keep = 0;
    ctx->busy = 0;
    ctx->next = ms_gate->pool;
    ms_gate->pool = ctx;
}

/* A thread ends: destructor of its thread-specific value. It runs again if the thread records afterwards. */
static void release_context(void *argument)
{
    struct ms_ctx *ctx = argument;
    struct quiet before = quiet_begin();
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    if (ctx->shm == ms_gate->shm && ctx->tid == tid && ctx->busy == 0) {
        ctx->busy = 1;
        ms_ctx_tls = &starting;
        ms__chunk_give_up(ctx);
        __atomic_store_n(&ctx->head->tid, 0, __ATOMIC_RELEASE);
        gate_lock();
        put_into_pool(ctx);
        gate_unlock();
    } /* else: the parent's from before fork, or already reclaimed */
    ms_ctx_tls = NULL;
    quiet_end(before);
}

/* Reclaims contexts of threads that ended without running destructors. Called with the lock held. */
static void take_back_some(void)
{
    uint32_t used = ms_gate->contexts_used;
    if (used == 0 || (have_key && used < CHECK_CONTEXTS)) {
        return;
    }
    for (unsigned i = 0; i < CHECKS_PER_START; i++) {
        struct ms_ctx *ctx = &contexts[ms_gate->next_check++ % used];
        uint32_t tid = __atomic_load_n(&ctx->tid, __ATOMIC_ACQUIRE);
        if (tid == 0 || ctx->keep || ctx->abandoned || syscall(SYS_tgkill, ms_gate->pid, tid, 0) == 0 ||
            errno != ESRCH) {
            continue;
        }
        ms__chunk_give_up(ctx);
        __atomic_store_n(&ctx->head->reserved, ctx->seq, __ATOMIC_RELAXED);
        __atomic_store_n(&ctx->head->tid, 0, __ATOMIC_RELEASE);
        put_into_pool(ctx);
    }
}

static struct ms_ctx *new_context(struct ms_shm *shm)
{
    while (ms_gate->contexts_used < contexts_touched && contexts[ms_gate->contexts_used].abandoned) {
        ms_gate->contexts_used++;
    }
    uint32_t stream = __atomic_load_n(&shm->streams_used, __ATOMIC_RELAXED);
    if (ms_gate->contexts_used >= MS_COUNT_OF(contexts) || stream >= shm->stream_max) {
        return NULL;
    }
    struct ms_ctx *ctx = &contexts[ms_gate->contexts_used++];
    if (ms_gate->contexts_used > contexts_touched) {
        contexts_touched = ms_gate->contexts_used;
    }
    ctx->stream = stream;
    ctx->head = ms_shm_stream(shm, stream);
    ctx->shm = shm;
    ctx->clock_kind = __atomic_load_n(&shm->clock_kind, __ATOMIC_RELAXED);
    __atomic_store_n(&ctx->head->clock_kind, ctx->clock_kind, __ATOMIC_RELAXED);
    __atomic_store_n(&shm->streams_used, stream + 1, __ATOMIC_RELEASE);
    return ctx;
}

/* A context for the calling thread, marked busy, or NULL. */
static struct ms_ctx *take_context(struct ms_shm *shm)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    gate_lock();
    if (ms_gate->pool == NULL) {
        take_back_some();
    }
    struct ms_ctx *ctx = ms_gate->pool;
    if (ctx != NULL) {
        ms_gate->pool = ctx->next;
    } else {
        ctx = new_context(shm);
    }
    if (ctx != NULL) {
        ctx->busy = 1;
        ctx->thread_written = 0;
        ctx->of_owner = NULL;
        memset(ctx->owner_words, 0, sizeof(ctx->owner_words));
        /* In a vfork child the tid is the child's, but the context will be the parent's. */
        ctx->keep = (uint32_t)syscall(SYS_getpid) != ms_gate->pid;
        __atomic_store_n(&ctx->tid, tid, __ATOMIC_RELEASE);
    }
    gate_unlock();
    if (ctx == NULL) {
        return NULL;
    }
    __atomic_store_n(&ctx->head->generation, ctx->head->generation + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&ctx->head->tid, tid, __ATOMIC_RELEASE);
    if (have_key) {
        pthread_setspecific(thread_end, ctx);
    }
    ms_ctx_tls = ctx;
    return ctx;
}

/* ---- process ---- */

/* Cleans up what the parent of a forked child left in private memory. Its contexts are never reused: the thread that
 * forked still points to its own, and the first thread that gets here cannot know which one. */
static void forget_parent(void)
{
    struct ms_ctx *mine = ms_ctx_tls;
    for (uint32_t i = 0; i < contexts_touched; i++) {
        struct ms_ctx *ctx = &contexts[i];
        if (ctx == mine && ctx->busy) {
            ctx->head = &abandoned_head;
            ctx->chunk = &abandoned_chunk;
        } else if (!ctx->abandoned) {
            ms__definitions_drop(ctx);
            memset(ctx, 0, sizeof(*ctx));
        }
        ctx->abandoned = 1;
    }
}

static struct ms_shm *attached(void)
{
    struct ms_shm *shm = __atomic_load_n(&ms_gate->shm, __ATOMIC_ACQUIRE);
    if (shm != NULL) {
        return shm;
    }
    gate_lock();
    shm = ms_gate->shm;
    if (shm == NULL) {
        if (ms_gate->pid == 0) {
            ms_gate->pid = (uint32_t)syscall(SYS_getpid);
            forget_parent();
        }
        ms_ctx_tls = &starting;
        shm = attach_process();
        ms_ctx_tls = NULL;
        __atomic_store_n(&ms_gate->shm, shm != NULL ? shm : &off_memory, __ATOMIC_RELEASE);
    }
    gate_unlock();
    return shm != NULL ? shm : &off_memory;
}

unsigned ms_rec_state_slow(void)
{
    if (ms_ctx_tls == &starting) {
        return MS_STATE_OFF;
    }
    struct quiet before = quiet_begin();
    unsigned state = __atomic_load_n(&attached()->state, __ATOMIC_RELAXED);
    quiet_end(before);
    return state;
}

uint32_t ms_producer_pid(void)
{
    return ms_gate->pid;
}

int ms_producer_setup(ms_attach_fn attach)
{
    attach_process = attach;
    if (ms_gate != &closed_gate) {
        return 0;
    }
    size_t page_b = (size_t)sysconf(_SC_PAGESIZE);
    struct ms_gate *page = mmap(NULL, page_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return -errno;
    }
    madvise(page, page_b, MADV_WIPEONFORK);
    page->pid = (uint32_t)syscall(SYS_getpid);
    have_key = pthread_key_create(&thread_end, release_context) == 0;
    if (have_key && thread_end >= FIRST_KEYS) {
        pthread_key_delete(thread_end); /* setting it would allocate; vanished threads are found by their tid */
        have_key = false;
    }
    __atomic_store_n(&ms_gate, page, __ATOMIC_RELEASE);
    return 0;
}

void ms_producer_forked(void)
{
    if (ms_gate != &closed_gate) {
        memset(ms_gate, 0, sizeof(*ms_gate));
        if (ms_ctx_tls != NULL && !ms_ctx_tls->busy) {
            ms_ctx_tls = NULL;
        }
    }
}

/* ---- the record itself ---- */

/* Makes space for a record in the context's chunk, or in a new one. */
static bool make_room(struct ms_ctx *ctx, size_t length_b, uint32_t *cause)
{
    if (ctx->chunk != NULL && ctx->offset + length_b <= MS_CHUNK_DATA_B) {
        return true;
    }
    ms__chunk_give_up(ctx);
    return ms__chunk_take(ctx, cause);
}

/* A record of the recorder itself before the requested one; the context stays busy. */
static bool write_own(struct ms_ctx *ctx, enum ms_record_kind kind, uint32_t arg, const void *payload, size_t payload_b,
                      uint32_t *cause)
{
    struct ms_slot slot;
    if (!make_room(ctx, sizeof(struct ms_record) + payload_b, cause)) {
        return false;
    }
    ms_rec_reserve(ctx);
    memcpy(ms_rec_payload(&slot, ctx, payload_b), payload, payload_b);
    ms_rec_commit(&slot, kind, 0, arg, ms_rec_stamp(&slot));
    ctx->busy = 1;
    return true;
}

static bool write_thread(struct ms_ctx *ctx, uint32_t *cause)
{
    struct {
        struct ms_p_thread thread;
        char name[16];
    } payload = {0};
    prctl(PR_GET_NAME, payload.name);
    payload.thread.name.length_b = (uint32_t)strnlen(payload.name, sizeof(payload.name));
    size_t payload_b = sizeof(payload.thread) + MS_ROUND_UP(payload.thread.name.length_b, 8);
    ctx->thread_written = write_own(ctx, MS_R_THREAD, ctx->tid, &payload, payload_b, cause);
    return ctx->thread_written;
}

static bool tell_loss(struct ms_ctx *ctx, uint32_t *cause)
{
    struct ms_lost *lost = &ctx->head->lost;
    struct ms_p_gap gap = {
        .since_stamp = lost->since_stamp,
        .lost = lost->records,
        .lost_alloc = lost->allocs,
        .lost_free = lost->frees,
        .cause = lost->cause,
    };
    if (!write_own(ctx, MS_R_GAP, 0, &gap, sizeof(gap), cause)) {
        return false;
    }
    __atomic_store_n(&lost->records, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lost->allocs, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lost->frees, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lost->since_stamp, 0, __ATOMIC_RELAXED);
    return true;
}

/* The collector has changed the clock. While the head has kind 0, its last stamp is meaningless. */
static bool tell_clock(struct ms_ctx *ctx, uint32_t kind, uint32_t *cause)
{
    struct ms_p_clock payload = {.before = ctx->last_stamp};
    if (!make_room(ctx, sizeof(struct ms_record) + sizeof(payload), cause)) {
        return false;
    }
    __atomic_store_n(&ctx->head->clock_kind, 0, __ATOMIC_RELEASE);
    ctx->clock_kind = kind;
    ctx->last_stamp = 0;
    bool written = write_own(ctx, MS_R_CLOCK, kind, &payload, sizeof(payload), cause);
    __atomic_store_n(&ctx->head->clock_kind, kind, __ATOMIC_RELEASE);
    return written;
}

static struct ms_ctx *begin(size_t payload_b, unsigned order)
{
    struct ms_shm *shm = attached();
    struct ms_ctx *ctx = ms_ctx_tls;
    if (shm == &off_memory) {
        return NULL;
    }
    if (ctx == NULL || ctx->shm != shm) {
        ms_ctx_tls = &starting;
        ctx = take_context(shm);
        if (ctx == NULL) {
            ms_ctx_tls = NULL;
            count_lost_unowned(shm, order, MS_GAP_NO_ROOM);
            return NULL;
        }
    }
    ctx->busy = 1;
    uint32_t cause = MS_GAP_TOO_LONG;
    uint32_t clock_kind = __atomic_load_n(&shm->clock_kind, __ATOMIC_RELAXED);
    size_t length_b = sizeof(struct ms_record) + payload_b;
    bool room = length_b <= MS_RECORD_MAX_B && payload_b % 8 == 0 &&
                (clock_kind == ctx->clock_kind || tell_clock(ctx, clock_kind, &cause)) &&
                (ctx->thread_written || write_thread(ctx, &cause)) &&
                (ctx->head->lost.since_stamp == 0 || tell_loss(ctx, &cause)) && make_room(ctx, length_b, &cause);
    if (!room) {
        ms__count_lost(ctx, order, cause);
        ctx->busy = 0;
        return NULL;
    }
    ctx->limit = MS_CHUNK_DATA_B;
    ms_rec_reserve(ctx);
    return ctx;
}

struct ms_ctx *ms_rec_begin_slow(size_t payload_b, unsigned order)
{
    struct ms_ctx *ctx = ms_ctx_tls;
    if (ctx == &starting) {
        return NULL; /* called from inside the slow path */
    }
    if (ctx != NULL && ctx->shm == ms_gate->shm) {
        if (ctx->busy) {
            ms__count_lost(ctx, order, MS_GAP_REENTERED);
            return NULL;
        }
        if (ctx->chunk == NULL && ms__chunk_dropping(ctx->shm)) { /* no system calls while the collector is stuck */
            ctx->busy = 1;
            ms__count_lost(ctx, order, MS_GAP_FULL);
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
            ctx->busy = 0;
            return NULL;
        }
    }
    struct quiet before = quiet_begin();
    ctx = begin(payload_b, order);
    quiet_end(before);
    return ctx;
}

struct ms_ctx *ms_rec_context(void)
{
    struct ms_ctx *ctx = ms_ctx_tls;
    if (ctx != NULL && ctx->shm == ms_gate->shm) {
        return ctx->busy ? NULL : ctx;
    }
    struct ms_slot slot;
    if (ms_rec_begin(&slot, 0, MS_ORDER_DEF) == NULL) {
        return NULL;
    }
    ms_rec_cancel(&slot);
    return slot.ctx;
}
