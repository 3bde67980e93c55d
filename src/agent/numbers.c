/* SPDX-License-Identifier: Apache-2.0 */
/* See numbers.h. A set of addresses in buckets of 8 words; 0 is a free word. Threads: a thread may free what another one
 * has allocated, so words are changed atomically; an address is in the set once, because its block lives. A forked child
 * keeps the set, as it keeps the blocks. No failure: a full bucket refuses. */
#include "agent/numbers.h"

#define BUCKETS 8192u /* 512 KiB, of which a program that has none touches nothing */
#define WORDS   8u

uint32_t ms_numbers_live;
static uintptr_t buckets[BUCKETS][WORDS];

static uintptr_t *bucket_of(uintptr_t addr)
{
    return buckets[(addr >> 4) * 0x9e3779b97f4a7c15ull >> 40 & (BUCKETS - 1)];
}

static bool replace(uintptr_t *bucket, uintptr_t old, uintptr_t new)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        uintptr_t expected = old;
        if (__atomic_compare_exchange_n(&bucket[i], &expected, new, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            return true;
        }
    }
    return false;
}

bool ms_numbers_begin(const void *ptr)
{
    ms_self.numbers = (ms_self.numbers - 1u) & 7u;
    if (!replace(bucket_of((uintptr_t)ptr), 0, (uintptr_t)ptr)) {
        return false;
    }
    __atomic_fetch_add(&ms_numbers_live, 1, __ATOMIC_RELAXED);
    return true;
}

bool ms_numbers_end(const void *ptr)
{
    if (!replace(bucket_of((uintptr_t)ptr), (uintptr_t)ptr, 0)) {
        return false;
    }
    __atomic_fetch_sub(&ms_numbers_live, 1, __ATOMIC_RELAXED);
    return true;
}
