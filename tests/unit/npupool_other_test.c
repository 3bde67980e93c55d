/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned host memory, MindSpore's pool, workspaces and ATB's buffers: sizes, reuse, failures. */
#include "npupool_fixture.h"

#include <stdlib.h>
#include <string.h>

/* ---- pinned */

static npool_pinned *pinned_pool(const char *options)
{
    struct npool_config config;
    npool_config_default(&config);
    assert_int_equal(npool_config_parse(&config, options), 0);
    npool_pinned *pool = npool_pinned_create(&config);
    assert_non_null(pool);
    return pool;
}

static void *pin(npool_pinned *pool, size_t size_b)
{
    void *ptr = NULL;
    assert_int_equal(npool_pinned_malloc(pool, &ptr, size_b), 0);
    memset(ptr, 1, size_b);
    return ptr;
}

static struct npool_pinned_stats pinned_stats(npool_pinned *pool)
{
    struct npool_pinned_stats stats;
    assert_int_equal(npool_pinned_get_stats(pool, &stats), 0);
    return stats;
}

static void pinned_sizes_are_powers_of_two(void **state)
{
    npool_pinned *pool = pinned_pool("");
    void *a = pin(pool, 1000), *b = pin(pool, 1024);
    assert_int_equal(pinned_stats(pool).allocated_b, 2048);
    assert_int_equal(fixture_calls.allocs, 2);
    assert_int_equal(fixture_calls.last_size, 1024);
    assert_true(fixture_calls.last_flag == 0x2100000000900800ull);
    assert_int_equal(npool_pinned_free(pool, a), 0);
    assert_ptr_equal(pin(pool, 600), a); /* 1024 again */
    assert_int_equal(npool_pinned_free(pool, a), 0);
    assert_ptr_not_equal(pin(pool, 512), a);
    assert_int_equal(npool_pinned_free(pool, b), 0);
    assert_int_equal(npool_pinned_free(pool, b), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_pinned_free(pool, &pool), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_pinned_empty_cache(pool), 0);
    assert_int_equal(pinned_stats(pool).reserved_b, 512);
    npool_pinned_destroy(pool);
}

static void pinned_blocks_wait_for_copies(void **state)
{
    npool_pinned *pool = pinned_pool("");
    void *a = pin(pool, 4096);
    fixture_block(fixture_stream);
    assert_int_equal(npool_pinned_record(pool, a, fixture_stream), 0);
    assert_int_equal(npool_pinned_free(pool, a), 0);
    assert_ptr_not_equal(pin(pool, 4096), a);
    fixture_release();
    assert_int_equal(aclrtSynchronizeStream(fixture_stream), 0);
    assert_ptr_equal(pin(pool, 4096), a);
    assert_int_equal(npool_pinned_record(pool, &pool, fixture_stream), ACL_ERROR_INVALID_PARAM);
    npool_pinned_destroy(pool);
}

static void pinned_options(void **state)
{
    npool_pinned *pool = pinned_pool("pinned_max_round_threshold_mb:1,pinned_max_cached_size_mb:2");
    void *a = pin(pool, 3 * MIB + 1);
    assert_int_equal(pinned_stats(pool).allocated_b, 3 * MIB + 1);
    assert_int_equal(npool_pinned_free(pool, a), 0);
    assert_int_equal(pinned_stats(pool).reserved_b, 0); /* too large to keep */
    npool_pinned_destroy(pool);

    pool = pinned_pool("pinned_reserve_segment_size_mb:1");
    a = pin(pool, 4096);
    char *b = pin(pool, 4096);
    assert_ptr_equal(b, (char *)a + 4096);
    assert_int_equal(fixture_calls.last_size, MIB);
    assert_int_equal(pinned_stats(pool).reserved_b, MIB);
    pin(pool, MIB); /* no longer fits */
    assert_int_equal(pinned_stats(pool).reserved_b, 2 * MIB);
    assert_int_equal(npool_pinned_free(pool, a), 0);
    assert_int_equal(npool_pinned_empty_cache(pool), 0);
    assert_ptr_equal(pin(pool, 4096), a);
    npool_pinned_destroy(pool);

    fixture_reset();
    pool = pinned_pool("pinned_mem_register:True");
    a = pin(pool, 4096);
    assert_int_equal(fixture_calls.allocs, 0); /* our own pages */
    assert_int_equal(npool_pinned_free(pool, a), 0);
    assert_ptr_equal(pin(pool, 4096), a);
    npool_pinned_destroy(pool);

    pool = pinned_pool("pin_memory_expandable_segments:True");
    assert_int_equal(npool_pinned_free(pool, pin(pool, 4096)), 0);
    npool_pinned_destroy(pool);
}

/* ---- MindSpore */

static struct npool_mindspore_stats mindspore_stats(npool_mindspore *pool)
{
    struct npool_mindspore_stats stats;
    assert_int_equal(npool_mindspore_get_stats(pool, &stats), 0);
    return stats;
}

static void *take(npool_mindspore *pool, size_t size_b)
{
    void *ptr = NULL;
    assert_int_equal(npool_mindspore_malloc(pool, &ptr, size_b), 0);
    return ptr;
}

static void mindspore_blocks(void **state)
{
    npool_mindspore *pool = npool_mindspore_create(&(struct npool_mindspore_options){
        .sz = sizeof(struct npool_mindspore_options), .init_size_b = 256 * MIB, .increase_size_b = 64 * MIB});
    char *a = take(pool, 1), *b = take(pool, 513), *c = take(pool, 4096);
    assert_ptr_equal(b, a + 512);
    assert_ptr_equal(c, b + 1024);
    assert_int_equal(mindspore_stats(pool).total_b, 256 * MIB);
    assert_int_equal(mindspore_stats(pool).used_b, 512 + 1024 + 4096);
    assert_int_equal(npool_mindspore_free(pool, b), 0);
    assert_ptr_equal(take(pool, 1000), b); /* best fit */
    void *large = take(pool, 300 * MIB);   /* more than a block */
    assert_int_equal(mindspore_stats(pool).total_b, 556 * MIB);
    void *more = take(pool, 260 * MIB);
    assert_int_equal(mindspore_stats(pool).blocks, 3);
    void *none = NULL;
    assert_int_equal(npool_mindspore_malloc(pool, &none, 800 * MIB), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_null(none);
    assert_int_equal(npool_mindspore_free(pool, a), 0);
    assert_int_equal(npool_mindspore_free(pool, b), 0);
    assert_int_equal(npool_mindspore_free(pool, c), 0);
    assert_ptr_equal(take(pool, 255 * MIB), a); /* merged again */
    assert_int_equal(npool_mindspore_free(pool, a + 512), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_mindspore_free(pool, large), 0);
    assert_int_equal(npool_mindspore_free(pool, large), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_mindspore_free(pool, more), 0);
    assert_int_equal(mindspore_stats(pool).used_peak_b, 815 * MIB);
    npool_mindspore_destroy(pool);
}

static void mindspore_blocks_are_a_gigabyte_by_default(void **state)
{
    npool_mindspore *pool = npool_mindspore_create(NULL);
    void *a = take(pool, 100); /* the device has 1 GiB, so a whole block fits only if nothing is lost to rounding */
    assert_true(fixture_calls.allocs >= 1);
    assert_true(mindspore_stats(pool).total_b == GIB || mindspore_stats(pool).total_b == 512);
    assert_int_equal(npool_mindspore_free(pool, a), 0);
    npool_mindspore_destroy(pool);
}

static void mindspore_maps_what_it_needs(void **state)
{
    npool_mindspore *pool = npool_mindspore_create(
        &(struct npool_mindspore_options){.sz = sizeof(struct npool_mindspore_options), .vmm = true});
    char *a = take(pool, MIB);
    assert_int_equal(fixture_calls.creates, 1);
    assert_int_equal(fixture_calls.last_create_size, 2 * MIB);
    char *b = take(pool, 4 * MIB); /* one free at the end, three more: two units */
    assert_ptr_equal(b, a + MIB);
    assert_int_equal(fixture_calls.creates, 3);
    memset(a, 1, 5 * MIB);
    assert_int_equal(mindspore_stats(pool).total_b, 6 * MIB);
    void *none = NULL;
    assert_int_equal(npool_mindspore_malloc(pool, &none, 2 * GIB), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(mindspore_stats(pool).total_b, 6 * MIB);
    fixture_fail = true;
    assert_int_equal(npool_mindspore_malloc(pool, &none, 8 * MIB), ACL_ERROR_RT_MEMORY_ALLOCATION);
    fixture_fail = false;
    assert_int_equal(npool_mindspore_free(pool, b), 0);
    assert_ptr_equal(take(pool, 5 * MIB), b);
    npool_mindspore_destroy(pool);
    size_t free_b = 0, total_b = 0;
    assert_int_equal(aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b), 0);
    assert_int_equal(free_b, total_b);
    assert_null(npool_mindspore_create(&(struct npool_mindspore_options){.vmm = true}));
}

/* ---- workspace */

static void workspaces(void **state)
{
    npool_workspace *workspace = npool_workspace_create();
    struct npool_workspace_stats stats;
    void *a = NULL, *b = NULL;
    assert_int_equal(npool_workspace_get(workspace, &a, 10 * MIB, fixture_stream), 0);
    assert_int_equal(npool_workspace_get(workspace, &b, 1, fixture_stream), 0);
    assert_ptr_equal(a, b); /* the same block: work on a stream runs in order */
    assert_int_equal(npool_workspace_get_stats(workspace, 0, &stats), 0);
    assert_int_equal(stats.reserved_b, 12 * MIB);
    assert_int_equal(stats.allocated_b, 24 * MIB);
    assert_int_equal(npool_workspace_empty(workspace), 0);
    assert_int_equal(fixture_calls.frees, 0); /* in use */
    assert_int_equal(npool_workspace_put(workspace), 0);
    assert_int_equal(npool_workspace_put(workspace), 0);
    assert_int_equal(npool_workspace_empty(workspace), 0);
    assert_int_equal(fixture_calls.frees, 1);
    assert_int_equal(npool_workspace_get(workspace, &b, 2 * GIB, fixture_stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(fixture_calls.failed_allocs, 1); /* huge pages only */
    assert_int_equal(npool_workspace_get(workspace, NULL, 1, fixture_stream), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_workspace_get(workspace, &b, SIZE_MAX, fixture_stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
    npool_workspace_destroy(workspace);
}

/* ---- ATB */

static void atb_workspace_only_grows(void **state)
{
    npool_atb *buffers = npool_atb_create();
    void *a = NULL, *b = NULL;
    assert_int_equal(npool_atb_begin(buffers, 5 * MIB, fixture_stream, &a), 0);
    assert_int_equal(npool_atb_begin(buffers, 1, fixture_stream, &b), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_atb_end(buffers), 0);
    assert_int_equal(npool_atb_begin(buffers, MIB, fixture_stream, &b), 0);
    assert_ptr_equal(a, b);
    assert_int_equal(npool_atb_end(buffers), 0);
    assert_int_equal(fixture_calls.allocs, 1);
    assert_int_equal(npool_atb_begin(buffers, 9 * MIB, fixture_stream, &b), 0);
    assert_int_equal(fixture_calls.allocs, 2);
    assert_int_equal(fixture_calls.frees, 1);
    assert_int_equal(npool_atb_end(buffers), 0);
    assert_false(npool_atb_reporting(buffers)); /* no tool attached */
    npool_atb_destroy(buffers);
}

int main(int argc, char **argv)
{
    fixture_environment(argv, NULL);
#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(pinned_sizes_are_powers_of_two),
        TEST(pinned_blocks_wait_for_copies),
        TEST(pinned_options),
        TEST(mindspore_blocks),
        TEST(mindspore_blocks_are_a_gigabyte_by_default),
        TEST(mindspore_maps_what_it_needs),
        TEST(workspaces),
        TEST(atb_workspace_only_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
