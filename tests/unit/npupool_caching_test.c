/* SPDX-License-Identifier: Apache-2.0 */
/* torch_npu's caching allocator: exact sizes, splitting and merging, streams, the steps before out of memory,
 * expandable segments, limits, private pools, threads. */
#include "npupool_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of device 0 by address, from the snapshot. */
struct picture {
    struct npool_block_info blocks[64];
    size_t count;
};

static int add_block(const struct npool_block_info *block, void *arg)
{
    struct picture *picture = arg;
    assert_true(picture->count < 64);
    picture->blocks[picture->count++] = *block;
    return 0;
}

static struct picture look(npool_caching *pool)
{
    struct picture picture = {.count = 0};
    assert_int_equal(npool_snapshot(pool, add_block, &picture), 0);
    return picture;
}

static void sizes(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    static const size_t rounded[][2] = {{1, 512},
                                        {480, 512},
                                        {481, 1024},
                                        {MIB - 32, MIB},
                                        {MIB - 31, MIB + 512},
                                        {MIB, MIB + 512},
                                        {20 * MIB, 20 * MIB + 512}};
    for (size_t i = 0; i < sizeof(rounded) / sizeof(rounded[0]); i++) {
        assert_int_equal(npool_round_size(pool, rounded[i][0]), rounded[i][1]);
    }
    static const size_t segments[][2] = {{512, 2 * MIB},        {MIB, 2 * MIB},
                                         {MIB + 512, 20 * MIB}, {10 * MIB - 512, 20 * MIB},
                                         {10 * MIB, 10 * MIB},  {10 * MIB + 512, 12 * MIB}};
    for (size_t i = 0; i < sizeof(segments) / sizeof(segments[0]); i++) {
        assert_int_equal(npool_segment_size(pool, segments[i][0]), segments[i][1]);
    }
    npool_caching_destroy(pool);
}

static void rounding_to_divisions_of_powers_of_two(void **state)
{
    npool_caching *pool = fixture_pool("roundup_power2_divisions:4");
    assert_int_equal(npool_round_size(pool, 1200 * KIB), 1280 * KIB); /* quarters of 1 MiB above 1 MiB */
    assert_int_equal(npool_round_size(pool, 2 * MIB - 32), 2 * MIB);
    assert_int_equal(npool_round_size(pool, 100), 512);
    assert_int_equal(npool_round_size(pool, 5 * MIB), 5 * MIB + MIB); /* quarters of 4 MiB, and the padding */
    npool_caching_destroy(pool);
    pool = fixture_pool("base_addr_aligned_kb:16");
    assert_int_equal(npool_round_size(pool, 2 * MIB), 2 * MIB + 16 * KIB);
    assert_int_equal(npool_round_size(pool, 600), 1024);
    npool_caching_destroy(pool);
}

static void segments_reach_the_driver_as_they_should(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    void *a = fixture_malloc(pool, 1000);
    assert_int_equal(fixture_calls.allocs, 1);
    assert_int_equal(fixture_calls.last_size, 2 * MIB); /* no 32 bytes added: aclrtMallocAlign32 */
    assert_true(fixture_calls.last_flag == 0x2100000000924400ull);
    void *b = fixture_malloc(pool, 1000);
    assert_int_equal(fixture_calls.allocs, 1);
    assert_ptr_equal((char *)b, (char *)a + 1536);
    void *c = fixture_malloc(pool, 3 * MIB);
    assert_int_equal(fixture_calls.last_size, 20 * MIB);
    void *d = fixture_malloc(pool, 11 * MIB);
    assert_ptr_equal((char *)d, (char *)c + 3 * MIB + 512); /* out of the 17 MiB that were left */
    void *e = fixture_malloc(pool, 11 * MIB);
    assert_int_equal(fixture_calls.last_size, 12 * MIB);
    assert_int_equal(fixture_calls.allocs, 3);
    struct npool_stats stats = fixture_stats(pool);
    assert_int_equal(stats.reserved_bytes.current, 34 * MIB);
    assert_int_equal(stats.segments.current, 3);
    assert_int_equal(stats.allocations.current, 5);
    assert_int_equal(stats.requested_bytes.current, 2000 + 25 * MIB);
    fixture_free(pool, a);
    fixture_free(pool, b);
    fixture_free(pool, c);
    fixture_free(pool, d);
    fixture_free(pool, e);
    assert_int_equal(fixture_calls.frees, 0); /* cached */
    assert_int_equal(fixture_stats(pool).allocated_bytes.current, 0);
    assert_int_equal(fixture_stats(pool).allocated_bytes.peak,
                     2 * 1536 + (3 * MIB + 512) + (11 * MIB + 512) + 12 * MIB);
    assert_int_equal(npool_empty_cache(pool), 0);
    assert_int_equal(fixture_calls.frees, 3);
    assert_int_equal(fixture_stats(pool).reserved_bytes.current, 0);
    npool_caching_destroy(pool);
}

static void free_neighbours_are_joined(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    void *p[3];
    for (size_t i = 0; i < 3; i++) {
        p[i] = fixture_malloc(pool, 1);
    }
    assert_ptr_equal((char *)p[2], (char *)p[0] + 1024);
    struct picture picture = look(pool);
    assert_int_equal(picture.count, 4);
    assert_int_equal(picture.blocks[3].size_b, 2 * MIB - 1536);
    assert_int_equal(picture.blocks[3].state, NPOOL_BLOCK_FREE);
    assert_int_equal(fixture_stats(pool).inactive_split_bytes.current, 2 * MIB - 1536);
    fixture_free(pool, p[1]);
    assert_int_equal(look(pool).count, 4);
    assert_int_equal(fixture_stats(pool).inactive_splits.current, 2);
    assert_ptr_equal(fixture_malloc(pool, 1), p[1]); /* the smallest that fits */
    fixture_free(pool, p[1]);
    fixture_free(pool, p[0]);
    picture = look(pool);
    assert_int_equal(picture.count, 3);
    assert_int_equal(picture.blocks[0].size_b, 1024);
    fixture_free(pool, p[2]);
    picture = look(pool);
    assert_int_equal(picture.count, 1);
    assert_int_equal(picture.blocks[0].size_b, 2 * MIB);
    assert_true(picture.blocks[0].segment_first && picture.blocks[0].small && !picture.blocks[0].expandable);
    assert_int_equal(fixture_stats(pool).inactive_split_bytes.current, 0);
    npool_caching_destroy(pool);
}

static void large_blocks_are_split_only_if_a_lot_is_left(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    void *a = fixture_malloc(pool, 11 * MIB); /* 12 MiB segment, less than 1 MiB would be left */
    struct picture picture = look(pool);
    assert_int_equal(picture.count, 1);
    assert_int_equal(picture.blocks[0].size_b, 12 * MIB);
    assert_int_equal(picture.blocks[0].requested_b, 11 * MIB);
    fixture_free(pool, a);
    void *b = fixture_malloc(pool, 5 * MIB);
    assert_ptr_equal(a, b);
    picture = look(pool);
    assert_int_equal(picture.count, 2);
    assert_int_equal(picture.blocks[0].size_b, 5 * MIB + 512);
    npool_caching_destroy(pool);
}

static void blocks_above_the_limit_are_not_split(void **state)
{
    npool_caching *pool = fixture_pool("max_split_size_mb:32");
    void *a = fixture_malloc(pool, 64 * MIB);
    fixture_free(pool, a);
    void *b = fixture_malloc(pool, 20 * MIB); /* not out of the cached 66 MiB */
    assert_int_equal(fixture_calls.allocs, 2);
    assert_ptr_not_equal(a, b);
    void *c = fixture_malloc(pool, 40 * MIB); /* 66 MiB is more than 20 MiB too large */
    assert_int_equal(fixture_calls.allocs, 3);
    void *d = fixture_malloc(pool, 50 * MIB);
    assert_ptr_equal(a, d);
    assert_int_equal(fixture_stats(pool).oversize_allocations.current, 2);
    fixture_free(pool, b);
    fixture_free(pool, c);
    fixture_free(pool, d);
    npool_caching_destroy(pool);
}

static void each_stream_has_its_own_blocks(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    void *a = fixture_malloc(pool, 1000), *b = NULL;
    fixture_free(pool, a);
    assert_int_equal(npool_malloc(pool, &b, 1000, fixture_other_stream), 0);
    assert_ptr_not_equal(a, b);
    assert_int_equal(fixture_calls.allocs, 2);
    assert_ptr_equal(fixture_malloc(pool, 1000), a);
    npool_caching_destroy(pool);
}

static void used_on_another_stream(void **state, const char *options)
{
    npool_caching *pool = fixture_pool(options);
    void *a = fixture_malloc(pool, 1000);
    assert_int_equal(npool_record_stream(pool, a, fixture_stream), 0); /* its own stream: no effect */
    assert_int_equal(npool_record_stream(pool, a, fixture_other_stream), 0);
    assert_int_equal(npool_record_stream(pool, a, fixture_other_stream), 0);
    fixture_block(fixture_other_stream);
    fixture_free(pool, a);
    assert_int_equal(look(pool).blocks[0].state, NPOOL_BLOCK_AWAITING);
    assert_int_equal(fixture_stats(pool).allocated_bytes.current, 0);
    assert_int_equal(fixture_stats(pool).active_bytes.current, 1536);
    void *b = fixture_malloc(pool, 1000);
    assert_ptr_not_equal(a, b);
    fixture_release();
    assert_int_equal(aclrtSynchronizeStream(fixture_other_stream), 0);
    /* Checked by the next request; with lazy reclaim only if nothing else fits. */
    void *c = fixture_malloc(pool, 1000);
    assert_int_equal(look(pool).blocks[0].state == NPOOL_BLOCK_AWAITING, options != NULL);
    assert_int_equal(a == c, options == NULL);
    assert_int_equal(npool_empty_cache(pool), 0);
    assert_int_equal(fixture_stats(pool).active_bytes.current, fixture_stats(pool).allocated_bytes.current);
    fixture_free(pool, b);
    fixture_free(pool, c);
    npool_caching_destroy(pool);
}

static void blocks_wait_for_other_streams(void **state)
{
    used_on_another_stream(state, NULL);
}

static void lazily_reclaimed_blocks_wait_longer(void **state)
{
    used_on_another_stream(state, "multi_stream_lazy_reclaim:True");
}

static void out_of_memory_takes_four_driver_calls(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    void *ptr = (void *)1;
    assert_int_equal(npool_malloc(pool, &ptr, 2 * GIB, fixture_stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_ptr_equal(ptr, (void *)1);
    assert_int_equal(fixture_calls.failed_allocs, 4); /* huge and normal pages, before and after emptying the cache */
    assert_int_equal(fixture_calls.allocs, 4);
    assert_non_null(strstr(npool_last_error(), "out of memory"));
    assert_non_null(strstr(npool_last_error(), "2 GiB"));
    struct npool_stats stats = fixture_stats(pool);
    assert_int_equal(stats.ooms, 1);
    assert_int_equal(stats.alloc_retries, 1);
    npool_caching_destroy(pool);
}

static void out_of_memory_takes_six_with_oversize_blocks(void **state)
{
    npool_caching *pool = fixture_pool("max_split_size_mb:32");
    void *a = fixture_malloc(pool, 100 * MIB), *b = NULL;
    fixture_free(pool, a); /* cached, too large to serve 40 MiB, large enough to be released for them */
    fixture_reset();
    fixture_fail = true;
    assert_int_equal(npool_malloc(pool, &b, 40 * MIB, fixture_stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(fixture_calls.failed_allocs, 6);
    assert_int_equal(fixture_calls.frees, 1);
    /* Nothing left to release: back to four. */
    fixture_calls.failed_allocs = 0;
    assert_int_equal(npool_malloc(pool, &b, 40 * MIB, fixture_stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(fixture_calls.failed_allocs, 4);
    npool_caching_destroy(pool);
}

static void small_requests_fail_with_normal_pages_only(void **state)
{
    /* A segment is at least 2 MiB, so there are always two attempts; without caching the request itself decides. */
    struct npool_config config;
    npool_config_default(&config);
    config.no_caching = true;
    npool_caching *pool = npool_caching_create(&config);
    void *ptr = NULL;
    fixture_fail = true;
    assert_int_equal(npool_malloc(pool, &ptr, 1000, fixture_stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(fixture_calls.failed_allocs, 1);
    fixture_fail = false;
    assert_int_equal(npool_malloc(pool, &ptr, 1000, fixture_stream), 0);
    assert_int_equal(fixture_calls.last_size, 1056); /* aclrtMalloc: to a multiple of 32, and 32 more */
    assert_int_equal(fixture_stats(pool).reserved_bytes.current, 0);
    assert_int_equal(npool_record_stream(pool, ptr, fixture_other_stream), 0);
    assert_int_equal(npool_free(pool, ptr), 0);
    assert_int_equal(fixture_calls.frees, 1);
    assert_int_not_equal(npool_free(pool, ptr), 0);
    npool_caching_destroy(pool);
}

static void the_cache_makes_room_before_failing(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    void *a = fixture_malloc(pool, 600 * MIB);
    fixture_free(pool, a);
    void *b = fixture_malloc(pool, 700 * MIB);
    assert_int_equal(fixture_calls.failed_allocs, 2);
    assert_int_equal(fixture_calls.frees, 1);
    assert_int_equal(fixture_stats(pool).alloc_retries, 1);
    assert_int_equal(fixture_stats(pool).ooms, 0);
    fixture_free(pool, b);
    npool_caching_destroy(pool);
}

static void workspaces_make_room_too(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    npool_workspace *workspace = npool_workspace_create();
    void *scratch = NULL;
    assert_int_equal(npool_attach_workspace(pool, workspace), 0);
    assert_int_equal(npool_workspace_get(workspace, &scratch, 600 * MIB, fixture_stream), 0);
    assert_int_equal(npool_workspace_put(workspace), 0);
    void *a = fixture_malloc(pool, 700 * MIB);
    assert_int_equal(fixture_calls.failed_allocs, 2);
    fixture_free(pool, a);
    npool_caching_destroy(pool);
    npool_workspace_destroy(workspace);
}

static void no_retry_if_not_wanted(void **state)
{
    npool_caching *pool = fixture_pool("throw_on_npumalloc_oom:True");
    void *ptr = NULL;
    assert_int_equal(npool_malloc(pool, &ptr, 2 * GIB, fixture_stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(fixture_calls.failed_allocs, 2);
    npool_caching_destroy(pool);
}

static void pages_of_a_gigabyte(void **state)
{
    npool_caching *pool = fixture_pool("page_size:1g");
    assert_int_equal(npool_segment_size(pool, 3 * MIB), GIB);
    void *small = fixture_malloc(pool, 1000);
    assert_true(fixture_calls.last_flag == 0x2100000000924400ull);
    fixture_calls.allocs = 0;
    void *ptr = NULL;
    (void)npool_malloc(pool, &ptr, 3 * MIB, fixture_stream); /* works with or without such pages */
    assert_true(fixture_calls.allocs >= 1);
    fixture_free(pool, small);
    npool_caching_destroy(pool);
}

static void expandable_segments_grow_in_place(void **state)
{
    npool_caching *pool = fixture_pool("expandable_segments:True");
    char *a = fixture_malloc(pool, MIB - 32);
    assert_int_equal(fixture_calls.creates, 1);
    assert_int_equal(fixture_calls.last_create_size, 2 * MIB);
    assert_int_equal(fixture_calls.allocs, 0);
    char *b = fixture_malloc(pool, 512 * KIB - 32);
    char *c = fixture_malloc(pool, MIB - 32); /* 512 KiB are left: the block crosses the border of two units */
    assert_ptr_equal(b, a + MIB);
    assert_ptr_equal(c, b + 512 * KIB);
    assert_int_equal(fixture_calls.creates, 2);
    memset(c, 1, MIB); /* mapped without a gap: device memory of the machine is host memory */
    struct npool_stats stats = fixture_stats(pool);
    assert_int_equal(stats.reserved_bytes.current, 4 * MIB);
    assert_int_equal(stats.segments.current, 1);
    char *d = fixture_malloc(pool, 30 * MIB);
    assert_int_equal(fixture_calls.creates, 4);
    assert_int_equal(fixture_calls.last_create_size, 20 * MIB);
    assert_int_equal(fixture_stats(pool).segments.current, 2);
    assert_int_equal(fixture_stats(pool).reserved_bytes.current, 44 * MIB);

    /* Everything but c is released; the units that hold the start and the end of c stay. */
    fixture_free(pool, a);
    fixture_free(pool, b);
    fixture_free(pool, d);
    assert_int_equal(npool_empty_cache(pool), 0);
    stats = fixture_stats(pool);
    assert_int_equal(stats.reserved_bytes.current, 4 * MIB);
    assert_int_equal(stats.segments.current, 1);
    for (size_t i = 0; i < MIB; i++) {
        if (c[i] != 1) {
            fail_msg("byte %zu of a block in use changed", i);
        }
    }
    fixture_free(pool, c);
    assert_int_equal(npool_empty_cache(pool), 0);
    assert_int_equal(fixture_stats(pool).reserved_bytes.current, 0);
    assert_int_equal(fixture_stats(pool).segments.current, 0);
    npool_caching_destroy(pool);
}

static void expandable_units_in_the_middle_are_given_back(void **state)
{
    npool_caching *pool = fixture_pool("expandable_segments:True");
    void *a = fixture_malloc(pool, 20 * MIB - 32), *b = fixture_malloc(pool, 40 * MIB - 32);
    void *c = fixture_malloc(pool, 20 * MIB - 32);
    assert_int_equal(fixture_stats(pool).reserved_bytes.current, 80 * MIB);
    fixture_free(pool, b);
    assert_int_equal(npool_empty_cache(pool), 0);
    assert_int_equal(fixture_stats(pool).reserved_bytes.current, 40 * MIB);
    struct picture picture = look(pool);
    assert_int_equal(picture.count, 4);
    assert_int_equal(picture.blocks[1].state, NPOOL_BLOCK_UNMAPPED);
    assert_int_equal(picture.blocks[1].size_b, 40 * MIB);
    assert_int_equal(picture.blocks[3].state, NPOOL_BLOCK_UNMAPPED);
    void *d = fixture_malloc(pool, 30 * MIB); /* back into the hole */
    assert_ptr_equal(d, b);
    fixture_free(pool, a);
    fixture_free(pool, c);
    fixture_free(pool, d);
    npool_caching_destroy(pool);
}

static void expandable_segments_run_out_of_memory(void **state)
{
    npool_caching *pool = fixture_pool("expandable_segments:True");
    void *a = fixture_malloc(pool, 500 * MIB - 32), *ptr = NULL;
    assert_int_equal(npool_malloc(pool, &ptr, 900 * MIB - 32, fixture_stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(fixture_calls.failed_creates, 2); /* one per attempt: there is only one kind of page */
    assert_int_equal(fixture_stats(pool).reserved_bytes.current, 500 * MIB);
    fixture_free(pool, a);
    assert_int_equal(npool_malloc(pool, &ptr, 900 * MIB - 32, fixture_stream), 0);
    assert_int_equal(fixture_stats(pool).reserved_bytes.current, 900 * MIB);
    fixture_free(pool, ptr);
    npool_caching_destroy(pool);
}

static void a_fraction_limits_the_pool(void **state)
{
    npool_caching *pool = fixture_pool("per_process_memory_fraction:0.25");
    void *a = fixture_malloc(pool, 200 * MIB), *b = NULL;
    assert_int_equal(npool_malloc(pool, &b, 100 * MIB, fixture_stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(fixture_calls.failed_allocs, 0); /* no driver call */
    assert_non_null(strstr(npool_last_error(), "fraction"));
    assert_int_equal(npool_set_memory_fraction(pool, 0.5), 0);
    b = fixture_malloc(pool, 100 * MIB);
    assert_int_equal(npool_set_memory_fraction(pool, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_set_memory_fraction(pool, 1.5), ACL_ERROR_INVALID_PARAM);
    fixture_free(pool, a);
    fixture_free(pool, b);
    npool_caching_destroy(pool);
}

static void old_blocks_are_collected_above_the_threshold(void **state)
{
    npool_caching *pool = fixture_pool("per_process_memory_fraction:0.5,garbage_collection_threshold:0.5");
    void *old = fixture_malloc(pool, 100 * MIB), *young = fixture_malloc(pool, 60 * MIB);
    fixture_free(pool, old);
    for (size_t i = 0; i < 10; i++) { /* time passes: searches of the large pool */
        void *ptr = NULL;
        assert_int_equal(npool_malloc(pool, &ptr, 2 * MIB, fixture_other_stream), 0);
        fixture_free(pool, ptr);
    }
    fixture_free(pool, young);
    void *again = fixture_malloc(pool, 60 * MIB);
    assert_ptr_equal(again, young);
    fixture_free(pool, again);
    assert_int_equal(fixture_calls.frees, 0);
    fixture_malloc(pool, 120 * MIB);
    assert_int_equal(fixture_calls.frees, 0); /* 184 MiB were reserved, the threshold is 256 MiB */
    fixture_malloc(pool, 130 * MIB);          /* 306 MiB: the oldest is released */
    assert_int_equal(fixture_calls.frees, 1);
    struct picture picture = look(pool);
    for (size_t i = 0; i < picture.count; i++) {
        assert_int_not_equal(picture.blocks[i].ptr, (uintptr_t)old);
    }
    npool_caching_destroy(pool);
}

static void private_pools_are_apart(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    npool_mempool *mine = npool_mempool_create(pool, false), *spare = npool_mempool_create(pool, true);
    void *a = fixture_malloc(pool, 1000);
    fixture_free(pool, a);
    assert_int_equal(npool_mempool_use(pool, mine), 0);
    void *b = fixture_malloc(pool, 1000);
    assert_int_equal(fixture_calls.allocs, 2);
    struct picture picture = look(pool);
    assert_true(picture.blocks[0].mempool == mine || picture.blocks[picture.count - 1].mempool == mine);
    assert_int_equal(npool_mempool_use(pool, spare), 0);
    void *c = fixture_malloc(pool, 600 * MIB);
    fixture_free(pool, c);
    assert_int_equal(npool_mempool_use(pool, NULL), 0);
    void *d = fixture_malloc(pool, 590 * MIB); /* the driver has no more: the spare pool's block serves */
    assert_ptr_equal(c, d);
    assert_int_equal(fixture_calls.failed_allocs, 2);
    assert_int_equal(fixture_stats(pool).alloc_retries, 0);

    assert_int_equal(npool_mempool_destroy(pool, mine), 0); /* b is still in use */
    assert_int_equal(npool_mempool_use(pool, mine), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(fixture_calls.frees, 0);
    fixture_free(pool, b);
    assert_int_equal(fixture_calls.frees, 1);
    fixture_free(pool, d);
    assert_int_equal(npool_mempool_destroy(pool, spare), 0);
    assert_int_equal(fixture_calls.frees, 2);
    assert_int_equal(npool_mempool_destroy(pool, spare), ACL_ERROR_INVALID_PARAM);
    npool_caching_destroy(pool);
}

static void several_devices(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    void *a = fixture_malloc(pool, 1000), *b = NULL;
    assert_int_equal(aclrtSetDevice(1), 0);
    assert_int_equal(npool_malloc(pool, &b, 3 * MIB, NULL), 0);
    assert_int_equal(fixture_calls.last_flag & 0x3ff, 1);
    assert_int_equal(npool_free(pool, a), 0); /* of the other device */
    struct npool_stats stats;
    assert_int_equal(npool_get_stats(pool, 1, &stats), 0);
    assert_int_equal(stats.reserved_bytes.current, 20 * MIB);
    assert_int_equal(npool_free(pool, b), 0);
    assert_int_equal(npool_empty_cache(pool), 0);
    assert_int_equal(npool_get_stats(pool, 1, &stats), 0);
    assert_int_equal(stats.reserved_bytes.current, 0);
    assert_int_equal(fixture_stats(pool).reserved_bytes.current, 2 * MIB);
    npool_caching_destroy(pool);
    assert_int_equal(aclrtResetDevice(1), 0);
    assert_int_equal(aclrtSetDevice(0), 0);
}

static void wrong_use_is_refused(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    char *a = fixture_malloc(pool, 1000);
    void *ptr = NULL;
    assert_int_equal(npool_malloc(NULL, &ptr, 1, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_malloc(pool, NULL, 1, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_malloc(pool, &ptr, SIZE_MAX, fixture_stream), ACL_ERROR_RT_MEMORY_ALLOCATION);
    ptr = a;
    assert_int_equal(npool_malloc(pool, &ptr, 0, fixture_stream), 0);
    assert_null(ptr);
    assert_int_equal(npool_free(pool, NULL), 0);
    assert_int_equal(npool_free(NULL, a), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_free(pool, a + 512), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_free(pool, &ptr), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_record_stream(pool, &ptr, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_free(pool, a), 0);
    assert_int_equal(npool_free(pool, a), ACL_ERROR_INVALID_PARAM); /* twice */
    assert_int_equal(npool_get_stats(pool, 64, &(struct npool_stats){0}), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_get_stats(pool, -1, &(struct npool_stats){0}), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_empty_cache(NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_round_size(pool, SIZE_MAX), 0);
    npool_caching_destroy(NULL);
    npool_caching_destroy(pool);
}

/* ---- threads */

enum { THREADS = 4, TURNS = 1500, HELD = 24 };

struct worker {
    pthread_t thread;
    npool_caching *pool;
    unsigned seed;
    bool good;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    unsigned char *held[HELD] = {0};
    size_t size[HELD] = {0};
    worker->good = aclrtSetDevice(0) == 0;
    for (unsigned i = 0; i < TURNS && worker->good; i++) {
        worker->seed = worker->seed * 1664525u + 1013904223u;
        size_t at = (worker->seed >> 8) % HELD;
        if (held[at] != NULL) {
            /* No other thread may have written into it. */
            worker->good = held[at][0] == (unsigned char)at && held[at][size[at] - 1] == (unsigned char)at;
            worker->good = worker->good && npool_free(worker->pool, held[at]) == 0;
            held[at] = NULL;
        } else {
            size[at] =
                (worker->seed >> 4) % 8 == 0 ? (worker->seed >> 6) % (3 * MIB) + 1 : (worker->seed >> 6) % 9000 + 1;
            void *ptr = NULL;
            worker->good = npool_malloc(worker->pool, &ptr, size[at], NULL) == 0;
            held[at] = ptr;
            if (worker->good) {
                held[at][0] = held[at][size[at] - 1] = (unsigned char)at;
            }
        }
        if (i % 500 == 499) {
            worker->good = worker->good && npool_empty_cache(worker->pool) == 0;
        }
    }
    for (size_t i = 0; i < HELD; i++) {
        worker->good = npool_free(worker->pool, held[i]) == 0 && worker->good;
    }
    return NULL;
}

static void many_threads(void **state)
{
    static const char *const options[] = {"expandable_segments:False", "expandable_segments:True",
                                          "release_lock_on_npumalloc:True"};
    for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++) {
        npool_caching *pool = fixture_pool(options[o]);
        struct worker workers[THREADS];
        for (unsigned i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){.pool = pool, .seed = i + 1};
            assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
            pthread_join(workers[i].thread, NULL);
            assert_true(workers[i].good);
        }
        struct npool_stats stats = fixture_stats(pool);
        assert_int_equal(stats.allocated_bytes.current, 0);
        assert_int_equal(stats.active_bytes.current, 0);
        assert_int_equal(npool_empty_cache(pool), 0);
        stats = fixture_stats(pool);
        assert_int_equal(stats.reserved_bytes.current, 0);
        assert_int_equal(stats.inactive_split_bytes.current, 0);
        assert_int_equal(stats.segments.current, 0);
        npool_caching_destroy(pool);
    }
}

int main(int argc, char **argv)
{
    fixture_environment(argv, NULL);
#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(sizes),
        TEST(rounding_to_divisions_of_powers_of_two),
        TEST(segments_reach_the_driver_as_they_should),
        TEST(free_neighbours_are_joined),
        TEST(large_blocks_are_split_only_if_a_lot_is_left),
        TEST(blocks_above_the_limit_are_not_split),
        TEST(each_stream_has_its_own_blocks),
        TEST(blocks_wait_for_other_streams),
        TEST(lazily_reclaimed_blocks_wait_longer),
        TEST(out_of_memory_takes_four_driver_calls),
        TEST(out_of_memory_takes_six_with_oversize_blocks),
        TEST(small_requests_fail_with_normal_pages_only),
        TEST(the_cache_makes_room_before_failing),
        TEST(workspaces_make_room_too),
        TEST(no_retry_if_not_wanted),
        TEST(pages_of_a_gigabyte),
        TEST(expandable_segments_grow_in_place),
        TEST(expandable_units_in_the_middle_are_given_back),
        TEST(expandable_segments_run_out_of_memory),
        TEST(a_fraction_limits_the_pool),
        TEST(old_blocks_are_collected_above_the_threshold),
        TEST(private_pools_are_apart),
        TEST(several_devices),
        TEST(wrong_use_is_refused),
        TEST(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
