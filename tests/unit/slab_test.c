/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/slab.h"

#include <errno.h>

struct thing {
    uint64_t value;
    char rest[33];
};

static void wrong_handles_are_refused(void **state)
{
    struct ms_slab slab = MS_SLAB_INIT(struct thing, 100);
    assert_false(ms_slab_check(&slab, NULL));
    assert_false(ms_slab_check(&slab, &slab));
    struct thing *a = ms_slab_alloc(&slab);
    assert_non_null(a);
    assert_true(ms_slab_check(&slab, a));
    assert_false(ms_slab_check(&slab, (char *)a + 1));
    assert_false(ms_slab_check(&slab, a + 1000000));
    assert_false(ms_slab_check(&slab, (void *)-1));
    ms_slab_free(&slab, a);
    assert_false(ms_slab_check(&slab, a));
}

static void destroyed_slots_rest_before_reuse(void **state)
{
    struct ms_slab slab = MS_SLAB_INIT(struct thing, 100);
    struct thing *a = ms_slab_alloc(&slab);
    a->value = 77;
    ms_slab_free(&slab, a);
    struct thing *b = ms_slab_alloc(&slab);
    assert_ptr_not_equal(a, b);
    assert_false(ms_slab_check(&slab, a));
}

static void a_full_slab_says_so_and_recovers(void **state)
{
    struct ms_slab slab = MS_SLAB_INIT(struct thing, 20);
    struct thing *all[20];
    for (int i = 0; i < 20; i++) {
        all[i] = ms_slab_alloc(&slab);
        assert_non_null(all[i]);
        all[i]->value = (uint64_t)i + 1;
        assert_ptr_equal(ms_slab_at(&slab, ms_slab_index(&slab, all[i])), all[i]);
    }
    errno = 0;
    assert_null(ms_slab_alloc(&slab));
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(ms_slab_live(&slab), 20);
    ms_slab_free(&slab, all[7]);
    assert_null(ms_slab_at(&slab, 7));
    struct thing *again = ms_slab_alloc(&slab);
    assert_ptr_equal(again, all[7]);
    assert_int_equal(again->value, 0);
    assert_null(ms_slab_at(&slab, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_handles_are_refused),
        cmocka_unit_test(destroyed_slots_rest_before_reuse),
        cmocka_unit_test(a_full_slab_says_so_and_recovers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
