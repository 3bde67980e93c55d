/* Walks stacks of all kinds of frames by the unwind tables and compares each with what the C library says. Ends with 0
 * if they are the same. Needs nothing but the walker, so that it can be compiled for any processor. */
#include "agent/hooks.h"
#include "agent/loaded.h"
#include "agent/unwind.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

/* What the walker uses of others. */
int (*ms_real_dlclose)(void *handle);
uint32_t ms_def_modules_epoch(void)
{
    return 0;
}
void ms_def_forget_modules(void)
{
}

static struct ms_unwind_thread thread;
static unsigned walks, frames, wrong;

static __attribute__((noinline)) void compare(void)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    struct ms_unwind_start start = {
        .pc = (uintptr_t)__builtin_return_address(0), .sp = (uintptr_t)__builtin_dwarf_cfa(), .fp = frame[0]};
    uintptr_t pcs[64];
    void *expected[64];
    int count = (int)ms_unwind(&thread, &start, pcs, 64), expected_count = backtrace(expected, 64);
    bool same = expected_count - 1 == count;
    for (int i = 0; same && i < count; i++) {
        same = (uintptr_t)expected[i + 1] == pcs[i];
    }
    walks++;
    frames += (unsigned)count;
    wrong += !same;
}

static void descend(unsigned plan, unsigned depth);

static __attribute__((noinline)) void plain(unsigned plan, unsigned depth)
{
    volatile char room[40];
    room[0] = (char)plan;
    descend(plan >> 2, depth);
    __asm__ volatile("" ::"r"(room[0]));
}

static __attribute__((noinline)) void flexible(unsigned plan, unsigned depth)
{
    volatile char *room = __builtin_alloca((plan & 12) * 64 + 64);
    room[0] = (char)plan;
    descend(plan >> 2, depth);
    room[1] = 0;
}

static __attribute__((noinline)) void aligned(unsigned plan, unsigned depth)
{
    _Alignas(64) volatile char room[64];
    volatile char *more = __builtin_alloca((plan & 12) + 16);
    room[0] = more[0] = (char)plan;
    descend(plan >> 2, depth);
    __asm__ volatile("" ::"r"(room), "r"(more) : "memory");
}

static __attribute__((noinline)) void large(unsigned plan, unsigned depth)
{
    volatile char room[9000];
    room[0] = room[8999] = (char)plan;
    descend(plan >> 2, depth);
    __asm__ volatile("" ::"r"(room) : "memory");
}

static __attribute__((noinline)) void descend(unsigned plan, unsigned depth)
{
    static void (*const ways[])(unsigned, unsigned) = {plain, flexible, aligned, large};
    if (depth == 0) {
        compare();
    } else {
        ways[plan & 3](plan, depth - 1);
    }
    __asm__ volatile("" ::: "memory");
}

/* From inside of the C library. */
static int by_number(const void *a, const void *b)
{
    static unsigned calls;
    if (calls++ % 64 == 0) {
        descend(calls, 5);
    }
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

int main(void)
{
    enum { ROUNDS = 2000, NUMBERS = 1000 };
    int numbers[NUMBERS];
    ms_loaded_setup();
    for (unsigned i = 0; i < ROUNDS; i++) {
        descend((unsigned)rand(), i % 9);
    }
    for (unsigned i = 0; i < NUMBERS; i++) {
        numbers[i] = rand();
    }
    qsort(numbers, NUMBERS, sizeof(numbers[0]), by_number);
    printf("%u walks, %u frames, %u wrong\n", walks, frames, wrong);
    return wrong != 0 || walks <= ROUNDS;
}
