/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of one device (or of the host) in this process: a window of address space on a memory file. */
#ifndef SOFTNPU_HAL_ARENA_H
#define SOFTNPU_HAL_ARENA_H

#include "softnpu/hal/machine.h"
#include "softnpu/hal/zone.h"

#define SNPU_ARENA_HOST  SNPU_MAX_DEVICES
#define SNPU_ARENA_COUNT (SNPU_MAX_DEVICES + 1)

struct snpu_arena;

/* The arena of a device or of the host, opened on first use. NULL with errno if there is not enough address space. */
struct snpu_arena *snpu_arena_get(uint32_t index);

/* A block in state TAKEN of size_b (a multiple of the page size), aligned to the page size and to align_b. The
 * memory is either unused (reads as zeros) or was freed by this process before. NULL if nothing fits. */
struct snpu_block *snpu_arena_take(struct snpu_arena *arena, enum snpu_page page, uint64_t size_b, uint64_t align_b);

/* The caller owns the block: state TAKEN. */
void snpu_arena_give(struct snpu_arena *arena, struct snpu_block *block);

/* Returns cached pages to the system. */
void snpu_arena_trim(struct snpu_arena *arena);

/* The memory file, and a block's offset in it. */
int snpu_arena_fd(const struct snpu_arena *arena);
uint64_t snpu_arena_offset(const struct snpu_arena *arena, uintptr_t addr);

/* The arena whose window contains addr, NULL if none. Takes no lock. */
struct snpu_arena *snpu_arena_of(uintptr_t addr);
struct snpu_zone *snpu_arena_zone(struct snpu_arena *arena, uintptr_t addr);

/* Visits every block of the arena that is not free; see snpu_zone_visit. */
void snpu_arena_visit(struct snpu_arena *arena, void (*visit)(struct snpu_block *block, void *arg), void *arg);
struct snpu_arena *snpu_arena_if_open(uint32_t index);

uint64_t snpu_page_size(enum snpu_page page);

/* After fork, in the child. */
void snpu_arena_forget(void);

#endif
