/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates address ranges of one large window. Independent of pages, devices and capacity: memory.c decides what
 * may be allocated, the zone decides where. */
#ifndef SOFTNPU_HAL_ZONE_H
#define SOFTNPU_HAL_ZONE_H

#include "softnpu/hal/ranges.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A range of a zone, in use or free; together they tile it. Type-stable: a pointer to a block stays readable for the
 * life of the process, so that an invalid free can inspect it without a lock. */
struct snpu_block {
    struct snpu_node range; /* must be first; ordered by address in its zone */
    uint32_t state;         /* enum snpu_block_state, atomic */
    uint8_t page;           /* enum snpu_page */
    uint8_t kind;           /* enum snpu_range_kind, SNPU_RANGE_NONE for a physical handle */
    uint8_t place;          /* index of its arena: a device, or the host */
    uint8_t dvpp;
    uint8_t exported; /* named to other processes: see share.h before it is given back */
    uint32_t module_id;
    uint64_t registered; /* pinned host memory: bit per device it was registered for, atomic */
    struct snpu_block *bin_prev, *bin_next;
};

enum snpu_block_state {
    SNPU_BLOCK_FREE,   /* belongs to the zone */
    SNPU_BLOCK_TAKEN,  /* belongs to the code that took it */
    SNPU_BLOCK_LIVE,   /* an allocation: halMemFree may end it */
    SNPU_BLOCK_CACHED, /* freed, its pages kept for the next allocation of this size */
};

#define SNPU_ZONE_BINS 256 /* four per power of two */

struct snpu_zone {
    uintptr_t base;
    uint64_t size_b;
    uint64_t unit_b;            /* every block is a multiple of it and aligned to it */
    struct snpu_block **starts; /* by unit: the block that begins there; read without the lock */
    pthread_mutex_t lock;       /* guards the order and the bins; only the block slab's lock is taken inside */
    struct snpu_ranges order;
    struct snpu_block *bins[SNPU_ZONE_BINS];
    uint64_t bin_used[SNPU_ZONE_BINS / 64];
};

/* 0 or -ENOMEM. */
int snpu_zone_open(struct snpu_zone *zone, uintptr_t base, uint64_t size_b, uint64_t unit_b);

/* In a forked child: frees what the zone itself has allocated. */
void snpu_zone_close(struct snpu_zone *zone);

/* A block of size_b (a multiple of the unit), aligned to align_b (a power of two), state TAKEN; NULL if nothing
 * fits. */
struct snpu_block *snpu_zone_take(struct snpu_zone *zone, uint64_t size_b, uint64_t align_b);

/* The caller owns the block (TAKEN) and has returned its pages. */
void snpu_zone_give(struct snpu_zone *zone, struct snpu_block *block);

/* The block that begins at addr, whatever its state. Takes no lock. */
struct snpu_block *snpu_zone_start(const struct snpu_zone *zone, uintptr_t addr);

/* Calls visit for every block that is not free, in address order, under the zone's lock; visit must not call the
 * zone. */
void snpu_zone_visit(struct snpu_zone *zone, void (*visit)(struct snpu_block *block, void *arg), void *arg);

/* In a forked child: the inherited blocks belong to the parent. */
void snpu_zone_forget_blocks(void);

#endif
