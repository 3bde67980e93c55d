/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory as the drain sees it. Every word is read once into private memory and checked there; offsets and
 * sizes of the header were copied when the memory was opened.
 *
 * Why a sweep is complete: the heads are read first, and everything committed when a head was read is in chunks that
 * were OWNED before (the producer's release, our acquire), so the following walk over the table sees them. If a
 * chunk of a stream is found, all earlier chunks of the stream were FULL before it was taken; they are copied after
 * the walk, in order of sequence, hence completely. The exception are chunks that were FREE when the walk passed
 * them: the chunks found after them wait for the next walk. All their records were committed after the heads were
 * read, so `low` still holds.
 *
 * Why `low` holds: a producer stores `reserved` before it takes a stamp. A stream that shows reserved == committed
 * after T was read will stamp its next record later than T, except for the time that the store may spend in the
 * store buffer; the millisecond covers that. A stream in flight will not go below its last committed stamp. */
#include "trace/drain_internal.h"

#include "base/clock.h"
#include "trace/producer_internal.h"
#include "trace/testpoint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define LOW_MARGIN_NS 1000000u
#define FLIGHT_MAX_NS 60000000000u /* a stream that claims to be in flight for longer is ignored */
#define AHEAD_B       (1u << 20)
#define SEQUENCE_JUMP (1u << 24) /* more cannot be missing between two chunks */

/* ---- watermark ---- */

/* Ticks per nanosecond, roughly: from the last two anchors; at first from the kind alone. */
static uint64_t margin_ticks(const struct ms_drain *d, const struct ms_anchor *now)
{
    const struct ms_anchor *then = &d->anchor;
    if (now->clock_kind == MS_CLOCK_MONOTONIC || then->clock_kind != now->clock_kind ||
        now->monotonic_ns - then->monotonic_ns < LOW_MARGIN_NS || now->ticks <= then->ticks) {
        return now->clock_kind == MS_CLOCK_TSC ? (uint64_t)LOW_MARGIN_NS * 8 : LOW_MARGIN_NS;
    }
    double rate = (double)(now->ticks - then->ticks) / (double)(now->monotonic_ns - then->monotonic_ns);
    return (uint64_t)(rate * LOW_MARGIN_NS) + 1;
}

/* Last committed stamp of a stream in flight; UINT64_MAX: not in flight. 0: unknown at the moment. */
static uint64_t flight_bound(struct ms_drain *d, uint32_t stream, const struct ms_anchor *now)
{
    struct ms_stream_head *head = &d->heads[stream];
    struct ms_in_flight *pending = &d->in_flight[stream];
    uint32_t kind = __atomic_load_n(&head->clock_kind, __ATOMIC_ACQUIRE);
    uint64_t reserved = __atomic_load_n(&head->reserved, __ATOMIC_ACQUIRE);
    uint64_t committed = __atomic_load_n(&head->committed, __ATOMIC_ACQUIRE);
    uint64_t stamp = __atomic_load_n(&head->last_stamp, __ATOMIC_ACQUIRE);
    if (kind != now->clock_kind && kind != 0 && kind < MS_CLOCK_KINDS) {
        d->other_clock = kind;
    }
    if (reserved == committed) {
        pending->since_ns = 0;
        return UINT64_MAX;
    }
    if (pending->since_ns == 0 || pending->reserved != reserved) {
        *pending = (struct ms_in_flight){.reserved = reserved, .since_ns = now->monotonic_ns};
    } else if (now->monotonic_ns - pending->since_ns > FLIGHT_MAX_NS) {
        d->stats.damage[MS_DAMAGE_HEAD] += pending->since_ns != 1;
        pending->since_ns = 1;
        return UINT64_MAX;
    }
    if (kind != now->clock_kind || __atomic_load_n(&head->clock_kind, __ATOMIC_ACQUIRE) != kind) {
        return 0; /* its clock is changing, or still the previous one */
    }
    return stamp;
}

uint64_t ms__pool_low(struct ms_drain *d, const struct ms_anchor *now)
{
    uint64_t margin = margin_ticks(d, now);
    uint64_t low = now->ticks > margin ? now->ticks - margin : 0;
    uint32_t used = __atomic_load_n(&d->shm->streams_used, __ATOMIC_ACQUIRE);
    used = used < d->stream_max ? used : d->stream_max;
    d->other_clock = 0;
    for (uint32_t i = 0; i < used; i++) {
        uint64_t bound = flight_bound(d, i, now);
        low = bound < low ? bound : low;
    }
    d->stats.streams = used;
    return low;
}

/* ---- finding chunks ---- */

static int by_stream_and_sequence(const void *a, const void *b)
{
    const struct ms_found *x = a, *y = b;
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    if (x->first_seq != y->first_seq) {
        return x->first_seq < y->first_seq ? -1 : 1;
    }
    return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* First look at a chunk with its current owner. */
static void get_to_know(struct ms_drain *d, uint32_t index)
{
    const struct ms_chunk *chunk = &d->chunks[index];
    struct ms_chunk_view *v = &d->view[index];
    *v = (struct ms_chunk_view){
        .known = true,
        .old = !d->first_look_done && d->opened_again,
        .stream = __atomic_load_n(&chunk->stream, __ATOMIC_RELAXED),
        .next_seq = __atomic_load_n(&chunk->first_seq, __ATOMIC_RELAXED),
        .tid = __atomic_load_n(&chunk->tid, __ATOMIC_RELAXED),
        .clock_kind = __atomic_load_n(&chunk->clock_kind, __ATOMIC_RELAXED),
    };
    if (v->stream >= d->stream_max || v->clock_kind == 0 || v->clock_kind >= MS_CLOCK_KINDS) {
        d->stats.damage[MS_DAMAGE_CHUNK]++;
        v->stream = 0;
        v->bad = true;
    }
}

void ms__pool_look(struct ms_drain *d)
{
    uint32_t fresh = __atomic_load_n(&d->shm->fresh, __ATOMIC_ACQUIRE);
    fresh = fresh < d->chunk_max ? fresh : d->chunk_max;
    d->found_count = 0;
    d->emptied_count = 0; /* chunks that could not be freed are still FULL and will be found again */
    d->stats.chunks_in_use = 0;
    for (uint32_t i = 0; i < fresh; i++) {
        MS_TESTPOINT("walking");
        uint32_t state = __atomic_load_n(&d->table[i].state, __ATOMIC_ACQUIRE) & MS_CHUNK_STATE;
        struct ms_chunk_view *v = &d->view[i];
        if (state == MS_CHUNK_FREE) {
            v->known = false; /* only damage frees a chunk without the drain */
            continue;
        }
        if (state == MS_CHUNK_STATE) {
            d->stats.damage[MS_DAMAGE_TABLE]++;
            __atomic_store_n(&d->table[i].state, MS_CHUNK_FULL, __ATOMIC_RELAXED);
            state = MS_CHUNK_FULL;
        }
        d->stats.chunks_in_use++;
        if (!v->known) {
            get_to_know(d, i);
        }
        if (state == MS_CHUNK_FULL || __atomic_load_n(&d->chunks[i].used_b, __ATOMIC_ACQUIRE) != v->taken_b) {
            d->found[d->found_count++] = (struct ms_found){.first_seq = v->next_seq, .stream = v->stream, .chunk = i};
        }
    }
    d->first_look_done = true;
    qsort(d->found, d->found_count, sizeof(d->found[0]), by_stream_and_sequence);
}

/* ---- taking ---- */

/* Compares the chunk's claimed position in its stream with what is known. */
static void check_sequence(struct ms_drain *d, struct ms_chunk_view *v)
{
    const struct ms_stream_state *s = &ms__writer_catalog(d->writer)->stream[v->stream];
    bool repeats = v->next_seq < s->next_seq;
    if ((repeats && !v->old) || (!repeats && v->next_seq - s->next_seq > SEQUENCE_JUMP)) {
        d->stats.damage[MS_DAMAGE_CHUNK]++;
        v->next_seq = s->next_seq;
    }
}

uint32_t ms__pool_copy(struct ms_drain *d, uint32_t index, bool *full)
{
    struct ms_chunk *chunk = &d->chunks[index];
    struct ms_chunk_view *v = &d->view[index];
    *full = (__atomic_load_n(&d->table[index].state, __ATOMIC_ACQUIRE) & MS_CHUNK_STATE) == MS_CHUNK_FULL;
    uint32_t used_b = __atomic_load_n(&chunk->used_b, __ATOMIC_ACQUIRE);
    if (v->bad) {
        return 0;
    }
    if (used_b > MS_CHUNK_DATA_B || used_b < v->taken_b || used_b % 8 != 0) {
        d->stats.damage[MS_DAMAGE_LENGTH]++;
        v->bad = true;
        return 0;
    }
    if (v->taken_b == 0) {
        check_sequence(d, v);
    }
    uint32_t length_b = used_b - v->taken_b;
    memcpy(d->copy, chunk->data + v->taken_b, length_b);
    v->taken_b = used_b;
    return length_b;
}

/* ---- giving back ---- */

static void push_freed(struct ms_drain *d, uint32_t index)
{
    struct ms_shm *shm = d->shm;
    struct ms_chunk_entry *entry = &d->table[index];
    uint32_t state = __atomic_load_n(&entry->state, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->state, (state & ~(uint32_t)MS_CHUNK_STATE) + 4u + MS_CHUNK_FREE, __ATOMIC_RELAXED);
    uint64_t top = __atomic_load_n(&shm->free_top, __ATOMIC_RELAXED), tagged;
    do {
        __atomic_store_n(&entry->next, (uint32_t)top, __ATOMIC_RELAXED);
        tagged = ((top >> 32) + 1) << 32 | (index + 1);
    } while (!__atomic_compare_exchange_n(&shm->free_top, &top, tagged, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

void ms__pool_free_emptied(struct ms_drain *d)
{
    struct ms_shm *shm = d->shm;
    if (d->emptied_count == 0) {
        return;
    }
    for (uint32_t i = 0; i < d->emptied_count; i++) {
        d->view[d->emptied[i]].known = false;
        push_freed(d, d->emptied[i]);
    }
    uint32_t full = __atomic_load_n(&shm->full_chunks, __ATOMIC_RELAXED), left;
    do {
        left = full > d->emptied_count ? full - d->emptied_count : 0;
    } while (!__atomic_compare_exchange_n(&shm->full_chunks, &full, left, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    d->emptied_count = 0;
    __atomic_fetch_add(&shm->progress, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&shm->waiting, __ATOMIC_SEQ_CST) != 0) {
        ms__futex_wake(&shm->progress, INT32_MAX, true);
    }
}

void ms__pool_prepare(struct ms_drain *d)
{
    uint32_t fresh = __atomic_load_n(&d->shm->fresh, __ATOMIC_RELAXED);
    uint64_t used_b = (uint64_t)((char *)d->chunks - (char *)d->shm) + (uint64_t)fresh * MS_CHUNK_B;
    if (d->memfd < 0 || fresh > d->chunk_max || used_b + AHEAD_B / 2 <= d->allocated_b ||
        used_b + AHEAD_B > d->size_b) {
        return;
    }
    uint64_t from_b = d->allocated_b > used_b ? d->allocated_b : used_b;
    fallocate(d->memfd, 0, (off_t)from_b, (off_t)(used_b + AHEAD_B - from_b));
    d->allocated_b = used_b + AHEAD_B;
}
