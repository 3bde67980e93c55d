/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of all kinds, nested according to a plan: of fixed size, with a frame pointer, of a size that varies between
 * calls, re-aligned. The includer defines bottom(), which runs in the innermost frame. */
#ifndef FRAME_SHAPES_H
#define FRAME_SHAPES_H

#include <stdint.h>

static void bottom(void);

/* Four bits of the plan per frame. */
static __attribute__((noinline)) void descend(uint64_t plan, unsigned depth);

static __attribute__((noinline)) void plain(uint64_t plan, unsigned depth)
{
    volatile char room[40];
    room[0] = (char)plan;
    if ((plan & 8) != 0) {
        descend(plan >> 4, depth);
    } else {
        descend(plan >> 4, depth); /* another return address ... */
        __asm__ volatile("nop");   /* ... also for the compiler */
    }
    __asm__ volatile("" ::"r"(room[0]));
}

static __attribute__((noinline)) void flexible(uint64_t plan, unsigned depth)
{
    volatile char *room = __builtin_alloca(((plan & 12) << 6) + 64);
    room[0] = (char)plan;
    descend(plan >> 4, depth);
    room[1] = 0;
}

/* Re-aligned, so that only a word in the frame locates its beginning. */
static __attribute__((noinline)) void aligned(uint64_t plan, unsigned depth)
{
    _Alignas(64) volatile char room[64];
    volatile char *more = __builtin_alloca((plan & 12) + 16);
    room[0] = more[0] = (char)plan;
    descend(plan >> 4, depth);
    __asm__ volatile("" ::"r"(room), "r"(more) : "memory");
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) void framed(uint64_t plan, unsigned depth)
{
    descend(plan >> 4, depth);
    __asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void descend(uint64_t plan, unsigned depth)
{
    static void (*const ways[])(uint64_t, unsigned) = {plain, flexible, framed, aligned};
    if (depth == 0) {
        bottom();
    } else {
        ways[plan & 3](plan, depth - 1);
    }
    __asm__ volatile("" ::: "memory");
}

#endif
