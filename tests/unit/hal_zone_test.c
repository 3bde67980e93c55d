/* SPDX-License-Identifier: Apache-2.0 */
/* The address allocator and its ordered set under random use. No memory is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "softnpu/hal/zone.h"

#include <stdlib.h>

#define BASE  ((uintptr_t)0x100000000000)
#define UNIT  4096u
#define UNITS 4096u

static struct snpu_zone zone;

static void open_zone(void)
{
    assert_int_equal(snpu_zone_open(&zone, BASE, UNITS * UNIT, UNIT), 0);
}

static void close_zone(void)
{
    snpu_zone_close(&zone);
}

/* Everything is free and merged into one range again. */
static void assert_whole(void)
{
    struct snpu_block *all = snpu_zone_take(&zone, UNITS * UNIT, UNIT);
    assert_non_null(all);
    assert_int_equal(all->range.base, BASE);
    assert_null(snpu_zone_take(&zone, UNIT, UNIT));
    snpu_zone_give(&zone, all);
}

static void count_block(struct snpu_block *block, void *arg)
{
    ++*(int *)arg;
}

static void random_use_never_overlaps_and_merges_again(void **state)
{
    static unsigned char owner[UNITS]; /* by unit */
    struct snpu_block *held[64] = {NULL};
    unsigned seed = 42, live = 0;
    open_zone();
    for (int i = 0; i < 200000; i++) {
        unsigned k = (unsigned)rand_r(&seed) % 64;
        if (held[k] != NULL) {
            uint64_t first = (held[k]->range.base - BASE) / UNIT, units = held[k]->range.size_b / UNIT;
            for (uint64_t u = first; u < first + units; u++) {
                assert_int_equal(owner[u], k + 1);
                owner[u] = 0;
            }
            assert_ptr_equal(snpu_zone_start(&zone, held[k]->range.base), held[k]);
            uintptr_t base = held[k]->range.base;
            snpu_zone_give(&zone, held[k]);
            assert_null(snpu_zone_start(&zone, base));
            held[k] = NULL;
            live--;
            continue;
        }
        uint64_t units = 1 + (uint64_t)rand_r(&seed) % (rand_r(&seed) % 8 == 0 ? 400 : 20);
        uint64_t align = (uint64_t)UNIT << rand_r(&seed) % 6;
        held[k] = snpu_zone_take(&zone, units * UNIT, align);
        if (held[k] == NULL) {
            continue;
        }
        assert_int_equal(held[k]->range.base % align, 0);
        assert_int_equal(held[k]->range.size_b, units * UNIT);
        uint64_t first = (held[k]->range.base - BASE) / UNIT;
        assert_true(first + units <= UNITS);
        for (uint64_t u = first; u < first + units; u++) {
            assert_int_equal(owner[u], 0);
            owner[u] = (unsigned char)(k + 1);
        }
        /* For an address inside the block, the set finds the same block. */
        uintptr_t inside = held[k]->range.base + (uint64_t)rand_r(&seed) % held[k]->range.size_b;
        assert_ptr_equal(snpu_ranges_find(&zone.order, inside), &held[k]->range);
        live++;
    }
    int visited = 0;
    snpu_zone_visit(&zone, count_block, &visited);
    assert_int_equal(visited, live);
    for (int k = 0; k < 64; k++) {
        if (held[k] != NULL) {
            snpu_zone_give(&zone, held[k]);
        }
    }
    assert_whole();
    close_zone();
}

static void the_last_hole_that_fits_is_found(void **state)
{
    struct snpu_block *b[64];
    open_zone();
    /* Holes of 5 units each between blocks of 59: no bin guarantees a fit for a request of 5. */
    for (int i = 0; i < 64; i++) {
        b[i] = snpu_zone_take(&zone, 5 * UNIT, UNIT);
        assert_non_null(snpu_zone_take(&zone, 59 * UNIT, UNIT));
    }
    assert_null(snpu_zone_take(&zone, UNIT, UNIT));
    for (int i = 0; i < 64; i += 2) {
        snpu_zone_give(&zone, b[i]);
    }
    assert_null(snpu_zone_take(&zone, 6 * UNIT, UNIT));
    for (int i = 0; i < 64; i += 2) {
        assert_non_null(snpu_zone_take(&zone, 5 * UNIT, UNIT));
    }
    assert_null(snpu_zone_take(&zone, UNIT, UNIT));
    close_zone();
}

static void addresses_outside_are_not_found(void **state)
{
    open_zone();
    assert_null(snpu_zone_start(&zone, 0));
    assert_null(snpu_zone_start(&zone, BASE - UNIT));
    assert_null(snpu_zone_start(&zone, BASE + UNITS * UNIT));
    assert_null(snpu_zone_start(&zone, UINTPTR_MAX));
    struct snpu_block *b = snpu_zone_take(&zone, 2 * UNIT, UNIT);
    assert_null(snpu_zone_start(&zone, b->range.base + 1));
    assert_null(snpu_zone_start(&zone, b->range.base + UNIT));
    snpu_zone_give(&zone, b);
    close_zone();
}

static void ranges_are_found_at_their_edges(void **state)
{
    struct snpu_ranges set = {NULL};
    struct snpu_node a = {.base = 100, .size_b = 50}, b = {.base = 150, .size_b = 10}, c = {.base = 200, .size_b = 1};
    snpu_ranges_insert(&set, &b);
    snpu_ranges_insert(&set, &c);
    snpu_ranges_insert(&set, &a);
    assert_null(snpu_ranges_find(&set, 99));
    assert_ptr_equal(snpu_ranges_find(&set, 100), &a);
    assert_ptr_equal(snpu_ranges_find(&set, 149), &a);
    assert_ptr_equal(snpu_ranges_find(&set, 150), &b);
    assert_null(snpu_ranges_find(&set, 160));
    assert_null(snpu_ranges_find(&set, 201));
    assert_ptr_equal(snpu_ranges_at_or_above(&set, 151), &c);
    assert_null(snpu_ranges_at_or_above(&set, 201));
    assert_ptr_equal(snpu_ranges_at_or_below(&set, 199), &b);
    assert_null(snpu_ranges_at_or_below(&set, 99));
    assert_false(snpu_ranges_overlap(&set, 0, 100));
    assert_true(snpu_ranges_overlap(&set, 0, 101));
    assert_false(snpu_ranges_overlap(&set, 160, 40));
    assert_true(snpu_ranges_overlap(&set, 160, 41));
    assert_true(snpu_ranges_overlap(&set, 120, 1));
    assert_false(snpu_ranges_overlap(&set, 120, 0));
    snpu_ranges_remove(&set, &b);
    assert_null(snpu_ranges_find(&set, 155));
    assert_ptr_equal(snpu_ranges_find(&set, 200), &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_use_never_overlaps_and_merges_again),
        cmocka_unit_test(the_last_hole_that_fits_is_found),
        cmocka_unit_test(addresses_outside_are_not_found),
        cmocka_unit_test(ranges_are_found_at_their_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
