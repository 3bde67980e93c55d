/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinds stacks with all kinds of frames by the unwind tables and compares each with the C library's backtrace. Exits
 * with 0 if they are equal. Needs only the unwinder, so that it can be compiled for any processor. */
#include "agent/hooks.h"
#include "agent/loaded.h"
#include "agent/unwind.h"
#include "frame_shapes.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

/* Stubs for functions that the unwinder calls. */
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

static __attribute__((noinline)) void bottom(void)
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

/* Called from inside the C library. */
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
    ms_loaded_setup(true);
    for (unsigned i = 0; i < ROUNDS; i++) {
        descend((uint64_t)rand() << 16 ^ (uint64_t)rand(), i % 9);
    }
    for (unsigned i = 0; i < NUMBERS; i++) {
        numbers[i] = rand();
    }
    qsort(numbers, NUMBERS, sizeof(numbers[0]), by_number);
    printf("%u walks, %u frames, %u wrong\n", walks, frames, wrong);
    return wrong != 0 || walks <= ROUNDS;
}
