/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks, as producers see them: taking one, filling it, and what happens when none is free.
 *
 * Chunks that the collector freed are taken before fresh ones, because their pages and cache lines are warm. The
 * free list is a Treiber stack whose top carries a tag, so that a chunk that was taken and freed in between is
 * detected. Both sides push and pop; all indices are checked because the program may have overwritten them.
 *
 * Back-pressure depends on the backlog, the number of FULL chunks of the whole process: one bounded wait, then the
 * process drops (and counts) records until the collector makes progress. Waiting while the application holds a lock
 * is safe because the collector needs nothing from this process.
 *
 * Called on the slow path: signals are blocked, the context is busy. The only failure is "no free chunk". */
#include "trace/producer_internal.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POPULATE_CHUNKS 4u /* 64 KiB: 1.1 us per page that the collector has allocated, 1.7 us with single chunks */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

long ms__futex_wait(const uint32_t *word, uint32_t value, const struct timespec *timeout, bool shared)
{
    return syscall(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
}

void ms__futex_wake(const uint32_t *word, int count, bool shared)
{
    syscall(SYS_futex, word, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static uint32_t pop_freed(struct ms_shm *shm)
{
    uint64_t top = __atomic_load_n(&shm->free_top, __ATOMIC_ACQUIRE);
    for (;;) {
        uint32_t index = (uint32_t)top;
        if (index == 0 || index > shm->chunk_max) {
            return 0;
        }
        uint32_t next = __atomic_load_n(&ms_shm_entry(shm, index - 1)->next, __ATOMIC_RELAXED);
        uint64_t tagged = ((top >> 32) + 1) << 32 | next;
        if (__atomic_compare_exchange_n(&shm->free_top, &top, tagged, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            return index;
        }
    }
}

static uint32_t take_fresh(struct ms_shm *shm, bool whole)
{
    uint32_t index = __atomic_load_n(&shm->fresh, __ATOMIC_RELAXED);
    do {
        if (index >= shm->chunk_max) {
            return 0;
        }
    } while (!__atomic_compare_exchange_n(&shm->fresh, &index, index + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    /* One call for several chunks instead of a fault per page; kernels without this request fault the pages in one by
     * one. Two threads may request the same pages, which is harmless. */
    if (whole && index >= __atomic_load_n(&ms_gate->populated, __ATOMIC_RELAXED)) {
        uint32_t left = shm->chunk_max - index, count = left < POPULATE_CHUNKS ? left : POPULATE_CHUNKS;
        __atomic_store_n(&ms_gate->populated, index + count, __ATOMIC_RELAXED);
        madvise(ms_shm_chunk(shm, index), (size_t)count * MS_CHUNK_B, MADV_POPULATE_WRITE);
    }
    return index + 1;
}

static void ring_bell(struct ms_shm *shm)
{
    if (__atomic_load_n(&shm->collector_asleep, __ATOMIC_SEQ_CST) != 0) {
        __atomic_fetch_add(&shm->bell, 1, __ATOMIC_RELEASE);
        ms__futex_wake(&shm->bell, 1, true);
    }
}

static void set_state(struct ms_chunk_entry *entry, enum ms_chunk_state state)
{
    uint32_t old = __atomic_load_n(&entry->state, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->state, (old & ~(uint32_t)MS_CHUNK_STATE) + 4u + state, __ATOMIC_RELEASE);
}

void ms__chunk_give_up(struct ms_ctx *ctx)
{
    struct ms_shm *shm = ctx->shm;
    if (ctx->chunk == NULL) {
        return;
    }
    uint32_t index = (uint32_t)(((char *)ctx->chunk - (char *)ms_shm_chunk(shm, 0)) / MS_CHUNK_B);
    ctx->chunk = NULL;
    ctx->offset = ctx->limit = 0;
    MS_TESTPOINT("filling");
    __atomic_store_n(&ctx->head->chunk, 0, __ATOMIC_RELAXED);
    uint32_t full = __atomic_add_fetch(&shm->full_chunks, 1, __ATOMIC_RELAXED);
    MS_TESTPOINT("counted");
    set_state(ms_shm_entry(shm, index), MS_CHUNK_FULL);
    MS_TESTPOINT("full");
    if (full >= __atomic_load_n(&shm->backlog_max, __ATOMIC_RELAXED) / 4) {
        ring_bell(shm);
    }
}

bool ms__chunk_dropping(const struct ms_shm *shm)
{
    return __atomic_load_n(&ms_gate->dropping, __ATOMIC_RELAXED) != 0 &&
           __atomic_load_n(&ms_gate->dropped_at, __ATOMIC_RELAXED) == __atomic_load_n(&shm->progress, __ATOMIC_ACQUIRE);
}

static bool room_comes(struct ms_shm *shm)
{
    if (ms__chunk_dropping(shm)) {
        return false;
    }
    uint32_t progress = __atomic_load_n(&shm->progress, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&shm->full_chunks, __ATOMIC_RELAXED) < __atomic_load_n(&shm->backlog_max, __ATOMIC_RELAXED)) {
        return true; /* it arrived meanwhile */
    }
    ring_bell(shm);
    uint32_t wait_ms = __atomic_load_n(&shm->full_wait_ms, __ATOMIC_RELAXED);
    if (wait_ms > 0) {
        struct timespec timeout = {.tv_sec = wait_ms / 1000, .tv_nsec = (long)(wait_ms % 1000) * 1000000};
        __atomic_fetch_add(&shm->waiting, 1, __ATOMIC_SEQ_CST);
        ms__futex_wait(&shm->progress, progress, &timeout, true);
        __atomic_fetch_sub(&shm->waiting, 1, __ATOMIC_RELAXED);
    }
    bool moved = __atomic_load_n(&shm->progress, __ATOMIC_ACQUIRE) != progress;
    __atomic_store_n(&ms_gate->dropped_at, progress, __ATOMIC_RELAXED);
    __atomic_store_n(&ms_gate->dropping, !moved, __ATOMIC_RELAXED);
    return moved;
}

bool ms__chunk_take(struct ms_ctx *ctx, uint32_t *cause)
{
    struct ms_shm *shm = ctx->shm;
    if (__atomic_load_n(&shm->full_chunks, __ATOMIC_RELAXED) >= __atomic_load_n(&shm->backlog_max, __ATOMIC_RELAXED) &&
        !room_comes(shm)) {
        *cause = MS_GAP_FULL;
        return false;
    }
    uint32_t index = pop_freed(shm);
    if (index == 0) {
        index = take_fresh(shm, ctx->seq != 0); /* most threads never need more than one page of their first chunk */
    }
    if (index == 0) {
        *cause = MS_GAP_NO_ROOM;
        return false;
    }
    MS_TESTPOINT("popped");
    struct ms_chunk *chunk = ms_shm_chunk(shm, index - 1);
    __atomic_store_n(&chunk->stream, ctx->stream, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->generation, ctx->head->generation, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->first_seq, ctx->seq, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->tid, ctx->tid, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->clock_kind, ctx->clock_kind, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->used_b, 0, __ATOMIC_RELAXED);
    MS_TESTPOINT("headed");
    set_state(ms_shm_entry(shm, index - 1), MS_CHUNK_OWNED);
    MS_TESTPOINT("owned");
    __atomic_store_n(&ctx->head->chunk, index, __ATOMIC_RELEASE);
    ctx->chunk = chunk;
    ctx->offset = 0;
    ctx->limit = MS_CHUNK_DATA_B;
    return true;
}
