/* SPDX-License-Identifier: Apache-2.0 */
/* What is at an address: the arenas know their blocks, the two sets here hold everything else.
 *
 * Locks: `lock` guards the sets; vmm.c, ipc.c and register.c take it after their own locks. Looking up a block takes
 * the lock of its zone, or none if the address is the block's start. If a process has no spans, a lookup costs one
 * load. */
#include "softnpu/hal/spans.h"

#include "softnpu/hal/arena.h"
#include "softnpu/hal/process.h"

#include <pthread.h>
#include <string.h>

/* No object is in the first pages; a small address is an offset from a NULL pointer. */
#define LOWEST_ADDRESS 65536u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct snpu_ranges spans, reservations;
static uint32_t count; /* both sets together */

void snpu__spans_forget(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    spans.root = reservations.root = NULL;
    count = 0;
}

void snpu__spans_lock(void)
{
    pthread_mutex_lock(&lock);
}

void snpu__spans_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static struct snpu_ranges *set_of(const struct snpu_span *span)
{
    return span->kind == SNPU_RANGE_RESERVED ? &reservations : &spans;
}

void snpu__span_add(struct snpu_span *span)
{
    snpu_ranges_insert(set_of(span), &span->range);
    __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
}

void snpu__span_remove(struct snpu_span *span)
{
    snpu_ranges_remove(set_of(span), &span->range);
    __atomic_store_n(&count, count - 1, __ATOMIC_RELEASE);
}

struct snpu_span *snpu__span_find(uintptr_t addr)
{
    return (struct snpu_span *)snpu_ranges_find(&spans, addr);
}

struct snpu_span *snpu__span_at_or_above(uintptr_t addr)
{
    return (struct snpu_span *)snpu_ranges_at_or_above(&spans, addr);
}

bool snpu__span_overlap(uintptr_t base, uint64_t size_b)
{
    return snpu_ranges_overlap(&spans, base, size_b);
}

struct snpu_span *snpu__reservation_find(uintptr_t addr)
{
    return (struct snpu_span *)snpu_ranges_find(&reservations, addr);
}

/* The caller keeps the block from changing: it holds the zone's lock, or the block begins at the requested address
 * and freeing it now would be a race in the program. */
static bool describe_block(const struct snpu_block *block, struct snpu_range *out)
{
    if (__atomic_load_n(&block->state, __ATOMIC_ACQUIRE) != SNPU_BLOCK_LIVE) {
        return false;
    }
    out->kind = (enum snpu_range_kind)block->kind;
    out->dev = block->place != SNPU_ARENA_HOST ? block->place : 0;
    out->host_side = block->kind == SNPU_RANGE_HOST;
    out->dvpp = block->dvpp;
    out->page_b = (uint32_t)snpu_page_size((enum snpu_page)block->page);
    out->base = block->range.base;
    out->size_b = block->range.size_b;
    return true;
}

static bool lookup_block(struct snpu_arena *arena, uintptr_t addr, struct snpu_range *out)
{
    struct snpu_zone *zone = snpu_arena_zone(arena, addr);
    const struct snpu_block *block = snpu_zone_start(zone, addr);
    if (block != NULL) {
        return describe_block(block, out);
    }
    pthread_mutex_lock(&zone->lock);
    block = (const struct snpu_block *)snpu_ranges_find(&zone->order, addr);
    bool found = block != NULL && describe_block(block, out);
    pthread_mutex_unlock(&zone->lock);
    return found;
}

static bool lookup_span(uintptr_t addr, struct snpu_range *out, bool *readable, bool *writable)
{
    pthread_mutex_lock(&lock);
    const struct snpu_span *span = snpu__span_find(addr);
    if (span == NULL) {
        span = snpu__reservation_find(addr);
    }
    if (span != NULL) {
        out->kind = span->kind;
        out->dev = span->dev;
        out->host_side = span->host_side;
        out->page_b = span->page_b;
        out->base = span->range.base;
        out->size_b = span->range.size_b;
        *readable = span->readable;
        *writable = span->writable;
    }
    pthread_mutex_unlock(&lock);
    return span != NULL;
}

bool snpu__lookup(uintptr_t addr, struct snpu_range *out, bool *readable, bool *writable)
{
    memset(out, 0, sizeof(*out));
    struct snpu_arena *arena = snpu_arena_of(addr);
    if (arena != NULL) {
        *readable = *writable = lookup_block(arena, addr, out);
        return *readable;
    }
    *readable = *writable = false;
    return __atomic_load_n(&count, __ATOMIC_ACQUIRE) != 0 && lookup_span(addr, out, readable, writable);
}

bool snpu_hal_lookup(const void *ptr, struct snpu_range *out)
{
    bool readable, writable;
    return snpu__lookup((uintptr_t)ptr, out, &readable, &writable);
}

static bool touchable(const void *ptr, uint64_t size_b, bool writing)
{
    uintptr_t at = (uintptr_t)ptr, end = at + size_b;
    if (at < LOWEST_ADDRESS || end < at) {
        return false;
    }
    /* The range may extend over adjacent mappings of one reservation, or adjacent registrations. */
    while (at < end) {
        struct snpu_range range;
        bool readable, writable;
        if (!snpu__lookup(at, &range, &readable, &writable)) {
            /* Host memory of the program, unless it is inside a window. The HAL does not check where it ends. */
            return snpu_arena_of(at) == NULL;
        }
        if (!readable || (writing && !writable)) {
            return false;
        }
        at = range.base + range.size_b;
    }
    return true;
}

bool snpu_hal_accessible(const void *ptr, uint64_t size_b)
{
    return touchable(ptr, size_b, false);
}

bool snpu_hal_writable(const void *ptr, uint64_t size_b)
{
    return touchable(ptr, size_b, true);
}
