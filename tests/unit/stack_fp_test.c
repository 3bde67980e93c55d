/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of frame pointers: valid ones, and arbitrary register values. */
#include "agent/stack_fp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
// cmocka needs the headers above
#include <cmocka.h>

static __attribute__((noinline)) uint32_t here(struct ms_stack_range *range, uintptr_t *pcs, uint32_t max)
{
    uint32_t count = ms_fp_walk(range, (uintptr_t)__builtin_frame_address(0), pcs, max);
    __asm__ volatile("" ::: "memory");
    return count;
}

static __attribute__((noinline)) uint32_t deeper(struct ms_stack_range *range, uintptr_t *pcs, uint32_t max)
{
    uint32_t count = here(range, pcs, max);
    __asm__ volatile("" ::: "memory");
    return count;
}

static void true_frames(void **state)
{
    (void)state;
    struct ms_stack_range range = {0, 0};
    uintptr_t pcs[16];
    assert_true(deeper(&range, pcs, 16) >= 2);
    assert_in_range(pcs[0] - (uintptr_t)deeper, 1, 200);
    assert_in_range(pcs[1] - (uintptr_t)true_frames, 1, 2000);
    assert_int_equal(deeper(&range, pcs, 1), 1);
}

/* A page of stack with nothing after it. */
static void ends_of_memory(void **state)
{
    (void)state;
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(munmap(pages + 4096, 4096), 0);
    uintptr_t *words = (uintptr_t *)(void *)pages, base = (uintptr_t)pages;
    uintptr_t pcs[16];
    static const struct {
        uintptr_t next; /* of the first frame, relative to the page */
        uint32_t count;
    } cases[] = {{64, 2},   /* another frame */
                 {0, 1},    /* itself */
                 {4, 1},    /* misaligned */
                 {4080, 2}, /* the last one that fits */
                 {4088, 1}, /* half of it beyond */
                 {4096, 1}, /* beyond */
                 {1u << 30, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ms_stack_range range = {base, base + 4096};
        memset(pages, 0, 4096);
        words[0] = base + cases[i].next;
        words[1] = 1000;
        words[9] = 2000;
        words[511] = 3000;
        assert_int_equal(ms_fp_walk(&range, base, pcs, 16), cases[i].count);
        assert_int_equal(pcs[0], 1000);
    }
    static const uintptr_t wild[] = {0, 1, 8, 0x1000, UINTPTR_MAX & ~(uintptr_t)7, (uintptr_t)1 << 47};
    for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
        struct ms_stack_range nothing = {0, 0};
        assert_int_equal(ms_fp_walk(&nothing, wild[i], pcs, 16), 0);
    }
    munmap(pages, 4096);
}

static void agreement(void **state)
{
    (void)state;
    static const uintptr_t a[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, skipped[] = {1, 3, 4}, other[] = {1, 2, 9};
    assert_true(ms_fp_agrees(a, 9, a, 9, true));
    assert_true(ms_fp_agrees(a, 6, a, 9, true));   /* the C library's first frames */
    assert_false(ms_fp_agrees(a, 6, a, 9, false)); /* the stack continues */
    assert_false(ms_fp_agrees(a, 2, a, 9, true));  /* too much is missing */
    assert_false(ms_fp_agrees(a, 9, a, 8, true));
    assert_false(ms_fp_agrees(skipped, 3, a, 4, true));
    assert_false(ms_fp_agrees(other, 3, a, 3, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(true_frames),
        cmocka_unit_test(ends_of_memory),
        cmocka_unit_test(agreement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
