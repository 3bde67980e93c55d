/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are consistent for any input: random events of several threads and devices, with lost events, double
 * allocations, failed frees, tracing switched on and off. Totals are recomputed here, from the rows alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/map.h"
#include "memscope/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

struct checker {
    uint64_t next_id, last_ns;
    struct ms_map live;  /* allocation id -> size + 1 */
    uint64_t used[8][4]; /* by type and device, from rows */
    uint64_t mallocs, frees, ends;
    int64_t blocks_seen; /* on_malloc minus on_free */
};

static uint64_t attr_of(const struct ms_row *row, enum ms_attr_key key)
{
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].key == key) {
            return row->attr[i].number;
        }
    }
    return UINT64_MAX;
}

static int on_row(void *self, const struct ms_row *row)
{
    struct checker *check = self;
    assert_true(row->id >= check->next_id);
    check->next_id = row->id + 1;
    assert_true(row->time_ns > check->last_ns);
    check->last_ns = row->time_ns;
    for (uint32_t i = 1; i < row->attr_count; i++) {
        assert_true(row->attr[i].key > row->attr[i - 1].key); /* the order of the table */
    }
    if (row->event != MS_EV_MALLOC && row->event != MS_EV_FREE) {
        return 0;
    }
    uint64_t id = attr_of(row, MS_ATTR_ALLOCATION_ID), size = attr_of(row, MS_ATTR_SIZE);
    assert_int_equal(attr_of(row, MS_ATTR_ADDR), row->addr);
    assert_int_equal(id, row->allocation_id);
    uint64_t *used = &check->used[row->type - MS_TYPE_HAL][row->device];
    if (row->event == MS_EV_MALLOC) {
        assert_null(ms_map_get(&check->live, id));
        ms_map_put(&check->live, id, size + 1);
        *used += size;
        check->mallocs++;
    } else {
        uint64_t allocated = 0;
        assert_true(ms_map_remove(&check->live, id, &allocated)); /* every FREE has its MALLOC */
        assert_int_equal(allocated, size + 1);
        *used -= size;
        check->frees++;
    }
    return 0;
}

static int on_malloc(void *self, const struct ms_block *block, const struct ms_pool_state *pool)
{
    ((struct checker *)self)->blocks_seen++;
    assert_true(pool->used_b >= block->size_b && pool->peak_used_b >= pool->used_b);
    return 0;
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    (void)block, (void)how, (void)pool, (void)time_ns;
    ((struct checker *)self)->blocks_seen--;
    return 0;
}

static int on_end(void *self)
{
    ((struct checker *)self)->ends++;
    return 0;
}

static struct ms_event random_event(uint64_t *time_ns, bool deferred)
{
    static const uint8_t kinds[] = {
        MS_R_POOL_ALLOC,      MS_R_POOL_ALLOC, MS_R_POOL_FREE,   MS_R_POOL_FREE, MS_R_HAL_ALLOC,  MS_R_HAL_FREE,
        MS_R_HAL_FREE_FAILED, MS_R_HAL_CREATE, MS_R_HAL_RELEASE, MS_R_MARK,      MS_R_POOL_TOTAL, MS_R_RANGE_START,
        MS_R_RANGE_END,       MS_R_START,      MS_R_STOP,        MS_R_MAP,       MS_R_UNMAP,      MS_R_RESERVE};
    uint64_t r = next_random();
    struct ms_event e = {
        .kind = kinds[r % sizeof(kinds)], .pid = 7, .device = (uint32_t)(r >> 8 & 1), .text.s = "", .text2.s = ""};
    if ((e.kind == MS_R_START || e.kind == MS_R_STOP) && (!deferred || r >> 40 & 7)) {
        e.kind = MS_R_MARK;
    }
    *time_ns += 1 + (r >> 16 & 0xfff);
    e.time_ns = *time_ns;
    e.tid = e.stream = (uint32_t)(r >> 10 & 3) + 1;
    e.pool = (uint8_t)(1 + (r >> 12 & 3));
    e.addr = 0x1000 + (r >> 28 & 31) * 0x1000;
    e.size_b = 1 + (r >> 33 & 0xfff);
    if (e.kind == MS_R_HAL_ALLOC) {
        e.flag = r >> 8 & 1;
    } else if (e.kind == MS_R_HAL_CREATE) {
        e.side = 1;
    } else if (e.kind == MS_R_RANGE_START || e.kind == MS_R_RANGE_END) {
        e.range_id = r >> 50 & 7;
        e.text = (struct ms_text){.s = "step start", .length_b = 10};
    } else if (e.kind == MS_R_POOL_FREE && (r >> 52 & 1)) {
        e.device = MS_DEV_UNKNOWN;
    }
    return e;
}

static void rows_are_consistent(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        seed = 0x9e3779b97f4a7c15ull * (round + 1);
        struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
        options.deferred = round % 3 == 1;
        if (round % 3 == 2) {
            options.step_count = 2;
            options.steps[0] = 1;
            options.steps[1] = 3;
        }
        struct checker check = {0};
        struct ms_consumer consumer = {
            .self = &check, .on_row = on_row, .on_malloc = on_malloc, .on_free = on_free, .on_end = on_end};
        struct ms_model *model;
        assert_int_equal(ms_model_new(&options, &model), 0);
        ms_model_add(model, &consumer);
        uint64_t time_ns = 1000000;
        for (unsigned i = 0; i < 3000; i++) {
            struct ms_event event = random_event(&time_ns, options.deferred);
            assert_int_equal(ms_model_feed(model, &event), 0);
            if (i % 500 == 499) { /* saving and restoring must change nothing */
                void *saved, *again;
                size_t saved_b, again_b;
                int rc = ms_model_save(model, &saved, &saved_b);
                if (rc == -EAGAIN) { /* events are held back; try again later */
                    continue;
                }
                assert_int_equal(rc, 0);
                ms_model_free(model);
                assert_int_equal(ms_model_new(&options, &model), 0);
                assert_int_equal(ms_model_restore(model, NULL, saved, saved_b), 0);
                assert_int_equal(ms_model_save(model, &again, &again_b), 0);
                assert_int_equal(again_b, saved_b);
                assert_memory_equal(again, saved, saved_b);
                free(saved);
                free(again);
                ms_model_add(model, &consumer);
            }
        }
        assert_int_equal(ms_model_end(model), 0);
        assert_int_equal(check.live.count, 0); /* every MALLOC has its FREE */
        assert_int_equal(check.mallocs, check.frees);
        assert_int_equal(check.blocks_seen, 0);
        assert_int_equal(check.ends, 1);
        for (unsigned i = 0; i < 8 * 4; i++) {
            assert_int_equal((&check.used[0][0])[i], 0);
        }
        struct ms_model_stats stats;
        ms_model_stats(model, &stats);
        assert_int_equal(stats.live, 0);
        ms_map_free(&check.live);
        ms_model_free(model);
    }
}

/* A checkpoint with any byte changed is refused or accepted, but never read beyond its end. */
static void damaged_checkpoints_do_no_harm(void **state)
{
    (void)state;
    seed = 42;
    struct ms_model *model;
    assert_int_equal(ms_model_new(NULL, &model), 0);
    uint64_t time_ns = 1000000;
    for (unsigned i = 0; i < 200; i++) {
        struct ms_event event = random_event(&time_ns, false);
        ms_model_feed(model, &event);
    }
    uint8_t *saved;
    size_t saved_b;
    struct ms_event later = {.kind = MS_R_MARK, .pid = 7, .time_ns = time_ns + 1000000, .text.s = "", .text2.s = ""};
    ms_model_feed(model, &later); /* releases held events */
    assert_int_equal(ms_model_save(model, (void **)&saved, &saved_b), 0);
    ms_model_free(model);
    for (unsigned i = 0; i < 3000; i++) {
        size_t length = i % 3 == 0 ? next_random() % saved_b : saved_b;
        uint8_t *copy = malloc(length + 1);
        memcpy(copy, saved, length);
        if (length == saved_b) {
            copy[next_random() % length] = (uint8_t)next_random();
        }
        assert_int_equal(ms_model_new(NULL, &model), 0);
        int rc = ms_model_restore(model, NULL, copy, length);
        assert_true(length == saved_b || rc != 0);
        if (rc == 0) {
            struct ms_event event = random_event(&time_ns, false);
            ms_model_feed(model, &event);
            ms_model_end(model);
        }
        ms_model_free(model);
        free(copy);
    }
    free(saved);
}

static int count_segment(void *argument, const struct ms_segment *segment)
{
    *(uint64_t *)argument += segment->pool_used_b;
    return 0;
}

/* Pool blocks in a mapped range lead to the handle under them. */
static void segments_join_pools_and_handles(void **state)
{
    (void)state;
    struct ms_model *model;
    assert_int_equal(ms_model_new(NULL, &model), 0);
    struct ms_event events[] = {
        {.kind = MS_R_RESERVE, .addr = 0x100000, .size_b = 0x100000},
        {.kind = MS_R_HAL_CREATE, .addr = 0x7777, .size_b = 0x4000, .side = 1, .device = 1},
        {.kind = MS_R_MAP, .addr = 0x110000, .size_b = 0x4000, .handle = 0x7777},
        {.kind = MS_R_HAL_ALLOC, .addr = 0x900000, .size_b = 0x10000},
        {.kind = MS_R_POOL_ALLOC, .pool = MS_POOL_PTA, .device = 1, .addr = 0x111000, .size_b = 0x200},
        {.kind = MS_R_POOL_ALLOC, .pool = MS_POOL_PTA, .device = 1, .addr = 0x113f00, .size_b = 0x200},
        {.kind = MS_R_POOL_ALLOC, .pool = MS_POOL_ATB, .device = 0, .addr = 0x900000, .size_b = 0x100},
    };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        events[i].time_ns = 1000 + i;
        events[i].text.s = events[i].text2.s = "";
        assert_int_equal(ms_model_feed(model, &events[i]), 0);
    }
    struct ms_segment segment;
    assert_true(ms_model_segment(model, 0x111010, &segment));
    assert_true(segment.mapped);
    assert_int_equal(segment.handle, 0x7777);
    assert_int_equal(segment.reserve, 0x100000);
    assert_int_equal(segment.device, 1);
    assert_int_equal(segment.backing->size_b, 0x4000);
    assert_int_equal(segment.pool_blocks, 2);
    assert_int_equal(segment.pool_used_b, 0x300); /* the second block is only partly inside */
    assert_false(ms_model_segment(model, 0x500000, &segment));
    uint64_t total = 0;
    assert_int_equal(ms_model_segments(model, count_segment, &total), 0);
    assert_int_equal(total, 0x400);
    const struct ms_block *block = ms_model_find(model, MS_SPACE_PTA, 1, 0x1110ff);
    assert_non_null(block);
    assert_int_equal(block->addr, 0x111000);
    assert_null(ms_model_find(model, MS_SPACE_PTA, 1, 0x111200));
    ms_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_consistent),
        cmocka_unit_test(damaged_checkpoints_do_no_harm),
        cmocka_unit_test(segments_join_pools_and_handles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
