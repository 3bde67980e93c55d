/* SPDX-License-Identifier: Apache-2.0 */
/* A window: address space reserved without access, aligned to 1 GiB, then mapped from a memory file. It has two
 * zones, each at least twice the device's capacity: one for normal pages, one for huge and giant pages, so that 4
 * KiB blocks never fragment the space of aligned ones. Pages get memory only when they are touched. A forked child
 * does not inherit the window, because the device state belongs to the parent.
 *
 * Pages of a freed block return to the system at once (a hole is punched into the file), except for a cache of the
 * most recently freed blocks, CACHE_MAX_B per arena: allocating a cached size makes no system call. The cache is
 * split into stripes, chosen by thread, to avoid contention; a thread that finds nothing in its own stripe searches
 * the others before it locks the zone.
 *
 * Locks: a stripe's lock or the zone's lock, never both. `open_lock` guards the opening of arenas; an opened arena
 * is published with release order and never closed. */
#include "softnpu/hal/arena.h"

#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STRIPES     8
#define STRIPE_MAX  32
#define CACHE_MAX_B ((uint64_t)64 << 20)
#define ZONE_MIN_B  (4 * SNPU_GIANT_B) /* space for the largest alignment that a flag word can request */

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

struct stripe {
    pthread_mutex_t lock;
    uint32_t count;
    /* Oldest first. The size is stored with the pointer so that a search does not touch the blocks. */
    struct {
        uint64_t size_b;
        struct snpu_block *block;
    } cached[STRIPE_MAX];
} __attribute__((aligned(64)));

struct snpu_arena {
    uintptr_t base;
    uint64_t size_b;
    int fd;
    struct snpu_zone large, normal;
    uint64_t cached_b __attribute__((aligned(64)));
    struct stripe stripes[STRIPES];
};

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct snpu_arena *arenas[SNPU_ARENA_COUNT];
static struct snpu_arena *opened[SNPU_ARENA_COUNT]; /* the same without gaps, in the order of opening */
static uint32_t opened_count;

uint64_t snpu_page_size(enum snpu_page page)
{
    static const uint64_t sizes[SNPU_PAGE_TYPES] = {SNPU_NORMAL_B, SNPU_HUGE_B, SNPU_GIANT_B};
    return sizes[page];
}

static uint32_t stripe_of_thread(void)
{
    static uint32_t threads;
    static __thread uint32_t stripe; /* plus one; 0: not assigned */
    if (stripe == 0) {
        stripe = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % STRIPES + 1;
    }
    return stripe - 1;
}

/* ---- windows ---- */

/* size_b and the result are multiples of 1 GiB. */
static uintptr_t reserve(uint64_t size_b)
{
    char *p = mmap(NULL, size_b + SNPU_GIANT_B, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        return 0;
    }
    uintptr_t base = MS_ROUND_UP((uintptr_t)p, SNPU_GIANT_B);
    uint64_t before_b = base - (uintptr_t)p;
    if (before_b > 0) {
        munmap(p, before_b);
    }
    munmap((void *)(base + size_b), SNPU_GIANT_B - before_b);
    return base;
}

static int map_window(struct snpu_arena *arena, const char *name)
{
    arena->fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (arena->fd < 0) {
        arena->fd = memfd_create(name, MFD_CLOEXEC); /* kernels before 6.3 reject the seal flag */
    }
    if (arena->fd < 0) {
        return -errno;
    }
    arena->base = reserve(arena->size_b);
    if (arena->base == 0 || ftruncate(arena->fd, (off_t)arena->size_b) != 0 ||
        mmap((void *)arena->base, arena->size_b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
             arena->fd, 0) == MAP_FAILED) {
        int rc = -errno;
        if (arena->base != 0) {
            munmap((void *)arena->base, arena->size_b);
        }
        close(arena->fd);
        return rc;
    }
    madvise((void *)arena->base, arena->size_b, MADV_DONTFORK);
    madvise((void *)arena->base, arena->size_b, MADV_DONTDUMP);
    return 0;
}

static struct snpu_arena *open_arena(uint32_t index, uint64_t capacity_b)
{
    char name[32];
    struct snpu_arena *arena = NULL;
    if (posix_memalign((void **)&arena, 64, sizeof(*arena)) != 0) {
        errno = ENOMEM;
        return NULL;
    }
    memset(arena, 0, sizeof(*arena));
    snprintf(name, sizeof(name), index == SNPU_ARENA_HOST ? "softnpu-host" : "softnpu-hbm-%u", index);
    int rc = -ENOMEM;
    /* Twice the capacity suffices for any order of sizes; fall back to the capacity itself. */
    for (unsigned factor = 2; factor >= 1; factor--) {
        uint64_t zone_b = MS_ROUND_UP(capacity_b * factor, SNPU_GIANT_B);
        arena->size_b = 2 * (zone_b > ZONE_MIN_B ? zone_b : ZONE_MIN_B);
        rc = map_window(arena, name);
        if (rc == 0) {
            break;
        }
    }
    if (rc == 0) {
        rc = snpu_zone_open(&arena->large, arena->base, arena->size_b / 2, SNPU_HUGE_B);
    }
    if (rc == 0) {
        rc = snpu_zone_open(&arena->normal, arena->base + arena->size_b / 2, arena->size_b / 2, SNPU_NORMAL_B);
    }
    if (rc != 0) {
        free(arena);
        errno = -rc;
        return NULL;
    }
    for (int i = 0; i < STRIPES; i++) {
        pthread_mutexattr_t attr;
        pthread_mutexattr_init(&attr);
        pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
        pthread_mutex_init(&arena->stripes[i].lock, &attr);
        pthread_mutexattr_destroy(&attr);
    }
    return arena;
}

/* The host window is not a capacity limit: it is twice the physical memory, and pages cost nothing until touched. */
static uint64_t host_window_b(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_b = sysconf(_SC_PAGESIZE);
    uint64_t ram_b = pages > 0 && page_b > 0 ? (uint64_t)pages * (uint64_t)page_b : 0;
    return ram_b > 16 * SNPU_GIANT_B ? ram_b : 16 * SNPU_GIANT_B;
}

struct snpu_arena *snpu_arena_if_open(uint32_t index)
{
    return __atomic_load_n(&arenas[index], __ATOMIC_ACQUIRE);
}

struct snpu_arena *snpu_arena_get(uint32_t index)
{
    struct snpu_arena *arena = snpu_arena_if_open(index);
    if (MS_LIKELY(arena != NULL)) {
        return arena;
    }
    uint64_t capacity_b = index == SNPU_ARENA_HOST ? host_window_b() : snpu_hal_capacity_b(index);
    pthread_mutex_lock(&open_lock);
    arena = arenas[index];
    if (arena == NULL) {
        arena = open_arena(index, capacity_b);
        if (arena != NULL) {
            opened[opened_count] = arena;
            __atomic_store_n(&opened_count, opened_count + 1, __ATOMIC_RELEASE);
            __atomic_store_n(&arenas[index], arena, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&open_lock);
    return arena;
}

struct snpu_arena *snpu_arena_of(uintptr_t addr)
{
    uint32_t count = __atomic_load_n(&opened_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        if (addr - opened[i]->base < opened[i]->size_b) {
            return opened[i];
        }
    }
    return NULL;
}

struct snpu_zone *snpu_arena_zone(struct snpu_arena *arena, uintptr_t addr)
{
    return addr < arena->normal.base ? &arena->large : &arena->normal;
}

int snpu_arena_fd(const struct snpu_arena *arena)
{
    return arena->fd;
}

uint64_t snpu_arena_offset(const struct snpu_arena *arena, uintptr_t addr)
{
    return addr - arena->base;
}

/* ---- blocks ---- */

static void release(struct snpu_arena *arena, struct snpu_block *block)
{
    uint64_t offset = block->range.base - arena->base;
    if (fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)block->range.size_b) !=
        0) {
        memset((void *)block->range.base, 0, block->range.size_b);
    }
    snpu_zone_give(snpu_arena_zone(arena, block->range.base), block);
}

/* Stripe lock held. */
static struct snpu_block *stripe_remove(struct snpu_arena *arena, struct stripe *stripe, uint32_t i)
{
    struct snpu_block *block = stripe->cached[i].block;
    uint32_t left = stripe->count - 1;
    memmove(&stripe->cached[i], &stripe->cached[i + 1], (left - i) * sizeof(stripe->cached[0]));
    __atomic_store_n(&stripe->count, left, __ATOMIC_RELAXED);
    __atomic_store_n(&block->state, SNPU_BLOCK_TAKEN, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&arena->cached_b, block->range.size_b, __ATOMIC_RELAXED);
    return block;
}

static struct snpu_block *stripe_find(struct snpu_arena *arena, struct stripe *stripe, enum snpu_page page,
                                      uint64_t size_b, uint64_t align_b)
{
    struct snpu_block *found = NULL;
    for (uint32_t i = stripe->count; i-- > 0;) {
        if (stripe->cached[i].size_b != size_b) {
            continue;
        }
        struct snpu_block *block = stripe->cached[i].block;
        if (block->page == page && block->range.base % align_b == 0) {
            found = stripe_remove(arena, stripe, i);
            break;
        }
    }
    return found;
}

static struct snpu_block *cache_find(struct snpu_arena *arena, enum snpu_page page, uint64_t size_b, uint64_t align_b)
{
    if (__atomic_load_n(&arena->cached_b, __ATOMIC_RELAXED) < size_b) {
        return NULL;
    }
    uint32_t own = stripe_of_thread();
    struct snpu_block *block = NULL;
    for (uint32_t i = 0; i < STRIPES && block == NULL; i++) {
        struct stripe *stripe = &arena->stripes[(own + i) % STRIPES];
        if (__atomic_load_n(&stripe->count, __ATOMIC_RELAXED) == 0) {
            continue;
        }
        if (i == 0) {
            pthread_mutex_lock(&stripe->lock);
        } else if (pthread_mutex_trylock(&stripe->lock) != 0) {
            continue;
        }
        block = stripe_find(arena, stripe, page, size_b, align_b);
        pthread_mutex_unlock(&stripe->lock);
    }
    return block;
}

/* The oldest block of the first non-empty stripe, beginning with `first`. */
static struct snpu_block *cache_evict(struct snpu_arena *arena, uint32_t first)
{
    struct snpu_block *victim = NULL;
    for (uint32_t i = 0; i < STRIPES && victim == NULL; i++) {
        struct stripe *stripe = &arena->stripes[(first + i) % STRIPES];
        pthread_mutex_lock(&stripe->lock);
        if (stripe->count > 0) {
            victim = stripe_remove(arena, stripe, 0);
        }
        pthread_mutex_unlock(&stripe->lock);
    }
    return victim;
}

static uint64_t alignment(enum snpu_page page, uint64_t align_b)
{
    uint64_t page_b = snpu_page_size(page);
    return align_b > page_b ? align_b : page_b;
}

static struct snpu_block *zone_take(struct snpu_arena *arena, enum snpu_page page, uint64_t size_b, uint64_t align_b)
{
    struct snpu_zone *zone = page == SNPU_PAGE_NORMAL ? &arena->normal : &arena->large;
    struct snpu_block *block = snpu_zone_take(zone, size_b, alignment(page, align_b));
    if (block != NULL) {
        block->page = (uint8_t)page;
    }
    return block;
}

struct snpu_block *snpu_arena_take(struct snpu_arena *arena, enum snpu_page page, uint64_t size_b, uint64_t align_b)
{
    struct snpu_block *block = cache_find(arena, page, size_b, alignment(page, align_b));
    return block != NULL ? block : zone_take(arena, page, size_b, align_b);
}

void snpu_arena_give(struct snpu_arena *arena, struct snpu_block *block)
{
    uint64_t size_b = block->range.size_b;
    struct snpu_block *victim = NULL;
    if (size_b > CACHE_MAX_B) {
        release(arena, block);
        return;
    }
    uint32_t own = stripe_of_thread();
    struct stripe *stripe = &arena->stripes[own];
    pthread_mutex_lock(&stripe->lock);
    if (stripe->count == STRIPE_MAX) {
        victim = stripe_remove(arena, stripe, 0);
    }
    uint64_t cached_b = __atomic_add_fetch(&arena->cached_b, size_b, __ATOMIC_RELAXED);
    __atomic_store_n(&block->state, SNPU_BLOCK_CACHED, __ATOMIC_RELEASE);
    stripe->cached[stripe->count].size_b = size_b;
    stripe->cached[stripe->count].block = block;
    __atomic_store_n(&stripe->count, stripe->count + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&stripe->lock);
    if (victim != NULL) {
        release(arena, victim);
    }
    while (MS_UNLIKELY(cached_b > CACHE_MAX_B)) {
        victim = cache_evict(arena, own + 1); /* this thread's own blocks last: it may reuse them soon */
        if (victim == NULL) {
            break;
        }
        release(arena, victim);
        cached_b = __atomic_load_n(&arena->cached_b, __ATOMIC_RELAXED);
    }
}

void snpu_arena_trim(struct snpu_arena *arena)
{
    for (struct snpu_block *b; (b = cache_evict(arena, 0)) != NULL;) {
        release(arena, b);
    }
}

void snpu_arena_visit(struct snpu_arena *arena, void (*visit)(struct snpu_block *block, void *arg), void *arg)
{
    snpu_zone_visit(&arena->large, visit, arg);
    snpu_zone_visit(&arena->normal, visit, arg);
}

void snpu_arena_forget(void)
{
    for (uint32_t i = 0; i < opened_count; i++) {
        /* The child has not inherited the window, only the descriptor. */
        close(opened[i]->fd);
        snpu_zone_close(&opened[i]->large);
        snpu_zone_close(&opened[i]->normal);
        free(opened[i]);
    }
    memset(arenas, 0, sizeof(arenas));
    opened_count = 0;
    open_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    snpu_zone_forget_blocks();
}
