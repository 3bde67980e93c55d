/* SPDX-License-Identifier: Apache-2.0 */
/* Each detector of the report on the smallest case that shows its pattern, and on one that just misses it. */
#include "report_rig.h"

/* ---- detectors ---- */

static void say(struct rig *rig, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    feed(rig, (struct ms_event){.kind = MS_R_MARK, .text = {.s = text, .length_b = (uint32_t)length}});
}

static void use(struct rig *rig, const char *name, uint64_t addr, uint64_t size_b, bool write)
{
    say(rig, "memscope-aten-ac:ptr=%llu;is_write=%s;is_read=%s;name=aten.%s;tensor_size=%llu", (unsigned long long)addr,
        write ? "True" : "False", write ? "False" : "True", name, (unsigned long long)size_b);
}

/* An operator that accesses one block. */
static void op(struct rig *rig, const char *name, uint64_t addr, uint64_t size_b, bool write)
{
    say(rig, "memscope-aten-b: name=aten.%s", name);
    use(rig, name, addr, size_b, write);
    say(rig, "memscope-aten-e: name=aten.%s", name);
}

static void allocate(struct rig *rig, uint64_t addr, uint64_t size_b)
{
    feed(rig, (struct ms_event){.kind = MS_R_POOL_ALLOC, .pool = MS_POOL_PTA, .addr = addr, .size_b = size_b});
}

static void release(struct rig *rig, uint64_t addr)
{
    feed(rig, (struct ms_event){.kind = MS_R_POOL_FREE, .pool = MS_POOL_PTA, .addr = addr});
}

static void mark_step(struct rig *rig, uint64_t number, bool start)
{
    feed(rig, (struct ms_event){.kind = start ? MS_R_RANGE_START : MS_R_RANGE_END,
                                .range_id = number,
                                .text = {.s = "step start", .length_b = start ? 10 : 0}});
}

/* A large block that is allocated, used and freed: the peak is here. */
static void crowd(struct rig *rig)
{
    allocate(rig, 0x70000000, 8 << 20);
    op(rig, "mm.default", 0x70000000, 8 << 20, true);
    release(rig, 0x70000000);
}

static const struct ms_report_finding *find(const struct ms_report *report, enum ms_pattern_id pattern)
{
    const struct ms_report_device *device = &report->processes[0].devices[0];
    for (size_t i = 0; i < device->finding_count; i++) {
        if (device->findings[i].pattern == pattern) {
            return &device->findings[i];
        }
    }
    return NULL;
}

static void expect(struct rig *rig, enum ms_pattern_id pattern, uint64_t saves_b)
{
    const struct ms_report *report = finish(rig);
    const struct ms_report_finding *finding = find(report, pattern);
    assert_non_null(finding);
    assert_int_equal(finding->saves_peak_b, saves_b);
    assert_true(finding->text[0] != '\0' && finding->blocks == 1);
    end(rig);
}

static void expect_nothing(struct rig *rig, enum ms_pattern_id pattern)
{
    assert_null(find(finish(rig), pattern));
    end(rig);
}

#define SIZE (4u << 20)

/* A block of the second step that is last used there and freed after the third one; the fourth may follow. */
static void kept_block(struct rig *rig, bool another_step)
{
    begin(rig);
    for (uint64_t step = 1; step <= 3; step++) {
        mark_step(rig, step, true);
        if (step == 2) {
            allocate(rig, 0x1000000, SIZE);
            op(rig, "add.Tensor", 0x1000000, SIZE, true);
        }
        crowd(rig);
        mark_step(rig, step, false);
    }
    release(rig, 0x1000000);
    if (another_step) {
        mark_step(rig, 4, true);
        crowd(rig);
        mark_step(rig, 4, false);
    }
}

/* Freed only because the program ended: a leak, and nothing else. */
static void test_one_finding_for_a_leak(void **state)
{
    (void)state;
    struct rig rig;
    kept_block(&rig, false);
    const struct ms_report *report = finish(&rig);
    assert_non_null(find(report, MS_PATTERN_LEAK));
    assert_null(find(report, MS_PATTERN_LATE));
    end(&rig);
    kept_block(&rig, true);
    report = finish(&rig);
    assert_null(find(report, MS_PATTERN_LEAK));
    assert_non_null(find(report, MS_PATTERN_LATE));
    end(&rig);
}

static void test_unused_blocks(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    allocate(&rig, 0x1000000, SIZE);
    crowd(&rig);
    release(&rig, 0x1000000);
    expect(&rig, MS_PATTERN_UNUSED, SIZE);
    begin(&rig); /* memory that an operator allocates internally is not announced as used */
    say(&rig, "memscope-aten-b: name=aten.sort.default");
    allocate(&rig, 0x1000000, SIZE);
    crowd(&rig);
    release(&rig, 0x1000000);
    say(&rig, "memscope-aten-e: name=aten.sort.default");
    expect_nothing(&rig, MS_PATTERN_UNUSED);
    begin(&rig); /* no accesses are recorded in the meantime */
    crowd(&rig);
    allocate(&rig, 0x1000000, SIZE);
    release(&rig, 0x1000000);
    expect_nothing(&rig, MS_PATTERN_UNUSED);
}

static void test_dead_writes(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        bool read, dead;
    } cases[] = {
        {"zeros.default", "mm.out", false, true},
        {"zeros.default", "mm.out", true, false},
        {"zeros.default", "copy_.default", false, true},
        {"zeros.default", "index_copy_.default", false, false}, /* changes a part of it */
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        struct rig rig;
        begin(&rig);
        allocate(&rig, 0x1000000, SIZE);
        op(&rig, cases[i].first, 0x1000000, SIZE, true);
        crowd(&rig);
        if (cases[i].read) {
            op(&rig, "sum.default", 0x1000000, SIZE, false);
        }
        op(&rig, cases[i].second, 0x1000000, SIZE, true);
        op(&rig, "sum.default", 0x1000000, SIZE, false);
        release(&rig, 0x1000000);
        if (cases[i].dead) {
            expect(&rig, MS_PATTERN_DEAD_WRITE, SIZE);
        } else {
            expect_nothing(&rig, MS_PATTERN_DEAD_WRITE);
        }
    }
}

static void test_redundant_allocations(void **state)
{
    (void)state;
    for (unsigned other = 0; other < 2; other++) { /* of equal size, or not */
        struct rig rig;
        begin(&rig);
        allocate(&rig, 0x1000000, SIZE);
        op(&rig, "relu.default", 0x1000000, SIZE, true);
        allocate(&rig, 0x2000000, SIZE + other * 512);
        op(&rig, "gelu.default", 0x2000000, SIZE + other * 512, true);
        crowd(&rig);
        release(&rig, 0x1000000);
        release(&rig, 0x2000000);
        if (other == 0) {
            expect(&rig, MS_PATTERN_REDUNDANT, SIZE);
        } else {
            expect_nothing(&rig, MS_PATTERN_REDUNDANT);
        }
    }
}

static void test_overallocation(void **state)
{
    (void)state;
    for (unsigned part = 1; part <= 4; part++) { /* touched: a part of four, in two pieces */
        struct rig rig;
        begin(&rig);
        allocate(&rig, 0x1000000, SIZE);
        op(&rig, "relu.default", 0x1000000, SIZE / 8, true);
        op(&rig, "relu.default", 0x1000000 + SIZE / 8, SIZE / 4 * part - SIZE / 8, false);
        crowd(&rig);
        op(&rig, "sum.default", 0x1000000, 512, false);
        release(&rig, 0x1000000);
        if (part < 3) { /* up to 1 MiB is rounding by the pool */
            expect(&rig, MS_PATTERN_OVERALLOCATION, SIZE - SIZE / 4 * part);
        } else {
            expect_nothing(&rig, MS_PATTERN_OVERALLOCATION);
        }
    }
}

/* ---- pools ---- */

static void segment(struct rig *rig, uint64_t addr, uint64_t size_b)
{
    feed(rig, hal(addr, size_b));
    rig->total_b += size_b;
    feed(rig, (struct ms_event){.kind = MS_R_POOL_TOTAL, .pool = MS_POOL_PTA, .size_b = rig->total_b});
}

static void test_stream_blocked_free(void **state)
{
    (void)state;
    for (unsigned room = 0; room < 2; room++) {
        struct rig rig;
        begin(&rig);
        segment(&rig, 0x10000000, 20 << 20);
        allocate(&rig, 0x10000000, 8 << 20);
        if (room != 0) {
            release(&rig, 0x10000000);
        } else {
            allocate(&rig, 0x10800000, 8 << 20); /* 4 MiB remain */
        }
        segment(&rig, 0x20000000, 20 << 20);
        allocate(&rig, 0x20000000, 8 << 20);
        const struct ms_report *report = finish(&rig);
        const struct ms_report_finding *finding = find(report, MS_PATTERN_STREAM_BLOCKED);
        assert_int_equal(finding != NULL, room);
        assert_true(finding == NULL || (finding->saves_reserved_b == 20 << 20 && !finding->minor));
        end(&rig);
    }
}

/* Two blocks of another stream are free, neither large enough alone; a blocked range counts with the bytes it costs. */
static void test_cost_of_a_blocked_range(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    segment(&rig, 0x10000000, 20 << 20);
    allocate(&rig, 0x10000000, 6 << 20);
    allocate(&rig, 0x10600000, 6 << 20);
    allocate(&rig, 0x10c00000, 8 << 20);
    release(&rig, 0x10000000);
    release(&rig, 0x10c00000); /* 6 and 8 MiB are free, 14 in total */
    segment(&rig, 0x20000000, 20 << 20);
    allocate(&rig, 0x20000000, 10 << 20); /* neither would suffice */
    segment(&rig, 0x30000000, 20 << 20);
    allocate(&rig, 0x30000000, 7 << 20); /* the 8 MiB would suffice, and 10 of the second segment */
    segment(&rig, 0x40000000, 2 << 20);
    allocate(&rig, 0x40000000, 1 << 20); /* small blocks are never in large segments */
    segment(&rig, 0x50000000, 20 << 20);
    allocate(&rig, 0x50000000, 7 << 20);
    const struct ms_report_finding *finding = find(finish(&rig), MS_PATTERN_STREAM_BLOCKED);
    assert_non_null(finding);
    assert_int_equal(finding->blocks, 2);
    assert_int_equal(finding->saves_reserved_b, 40 << 20);
    assert_int_equal(finding->size_b, 7 << 20);
    assert_int_equal(finding->addr, 0x30000000);
    assert_false(finding->minor);
    end(&rig);
}

/* A step that requests 9 MiB from a segment with enough free space, sampled twice. */
static void step_of_nine(struct rig *rig, uint64_t number)
{
    mark_step(rig, number, true);
    for (unsigned i = 0; i < 2; i++) {
        rig->now_ns += 2000000;
        allocate(rig, 0x30000000, 9 << 20);
        release(rig, 0x30000000);
    }
    mark_step(rig, number, false);
}

static void test_remainders_too_small_for_any_request(void **state)
{
    (void)state;
    static const struct {
        uint64_t later_b; /* requested once, in the last step */
        unsigned steps;
        uint64_t wasted_b;
    } cases[] = {
        {0, 4, (3 << 20) + (1 << 19)},       /* 1.5 MiB and 2 MiB */
        {9 << 20, 4, (3 << 20) + (1 << 19)}, /* as before */
        {2 << 20, 4, 0},                     /* the larger one would suffice */
        {1 << 19, 4, (3 << 20) + (1 << 19)}, /* small blocks have a separate pool */
        {0, 1, 0},                           /* the sizes that steps request are not known yet */
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        struct rig rig;
        begin(&rig);
        segment(&rig, 0x10000000, 20 << 20);
        allocate(&rig, 0x10000000, 9 << 20);
        allocate(&rig, 0x10a80000, (9 << 20) + (1 << 19)); /* 1.5 MiB between them, none after */
        segment(&rig, 0x20000000, 20 << 20);
        allocate(&rig, 0x20000000, 18 << 20); /* 2 MiB after it */
        segment(&rig, 0x30000000, 20 << 20);
        for (uint64_t step = 1; step <= cases[i].steps; step++) {
            step_of_nine(&rig, step);
        }
        if (cases[i].later_b != 0) {
            mark_step(&rig, 9, true);
            allocate(&rig, 0x31000000, cases[i].later_b);
            release(&rig, 0x31000000);
            mark_step(&rig, 9, false);
        }
        const struct ms_report_finding *finding = find(finish(&rig), MS_PATTERN_SPLIT_WASTE);
        assert_int_equal(finding != NULL ? finding->saves_reserved_b : 0, cases[i].wasted_b);
        end(&rig);
    }
}

static void test_segments_over_steps(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    segment(&rig, 0x10000000, 20 << 20); /* empty after the first step */
    allocate(&rig, 0x10000000, 18 << 20);
    segment(&rig, 0x20000000, 20 << 20); /* a small block stays in it */
    allocate(&rig, 0x20000000, 16 << 20);
    allocate(&rig, 0x21000000, 2 << 20);
    segment(&rig, 0x30000000, 20 << 20); /* used in every step */
    for (uint64_t i = 1; i <= 6; i++) {
        mark_step(&rig, i, true);
        allocate(&rig, 0x30000000, 18 << 20);
        if (i == 1) {
            release(&rig, 0x10000000);
            release(&rig, 0x20000000);
        }
        release(&rig, 0x30000000);
        mark_step(&rig, i, false);
    }
    const struct ms_report *report = finish(&rig);
    const struct ms_report_finding *idle = find(report, MS_PATTERN_OVER_RESERVE);
    const struct ms_report_finding *sparse = find(report, MS_PATTERN_FRAGMENTATION);
    assert_non_null(idle);
    assert_int_equal(idle->saves_reserved_b, 20 << 20);
    assert_int_equal(idle->last_step, 6);
    assert_int_equal(idle->addr, 0x10000000);
    assert_non_null(sparse);
    assert_int_equal(sparse->saves_reserved_b, 18 << 20);
    assert_int_equal(sparse->last_step, 6);
    assert_int_equal(sparse->addr, 0x21000000);
    const struct ms_report_fragmentation *f = &report->processes[0].devices[0].fragmentation;
    assert_int_equal(f->pin_total, 1);
    assert_int_equal(f->pins[0].addr, 0x20000000);
    assert_int_equal(f->pins[0].largest.size_b, 2 << 20);
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_finding_for_a_leak),
        cmocka_unit_test(test_unused_blocks),
        cmocka_unit_test(test_dead_writes),
        cmocka_unit_test(test_redundant_allocations),
        cmocka_unit_test(test_overallocation),
        cmocka_unit_test(test_stream_blocked_free),
        cmocka_unit_test(test_cost_of_a_blocked_range),
        cmocka_unit_test(test_remainders_too_small_for_any_request),
        cmocka_unit_test(test_segments_over_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
