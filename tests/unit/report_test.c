/* Parts of the report against slow references: the curve with cuts, the live set at the peak, sums of the ledger, on
 * random events; and each detector on the smallest case that shows its pattern, and on one that just does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/curve.h"
#include "analyze/report.h"
#include "base/macros.h"
#include "view/report_json.h"

#include <stdio.h>
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

/* ---- the curve ---- */

enum { CHANGES = 5000, CUTS = 40 };

/* Every point, one after the other. */
static uint64_t slow_peak(const uint64_t *values, size_t count, const struct ms_cut *cuts, size_t cut_count,
                          uint64_t *most)
{
    uint64_t peak = 0;
    *most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t cut = 0;
        for (size_t j = 0; j < cut_count; j++) {
            cut += cuts[j].from <= i && i < cuts[j].to ? cuts[j].bytes : 0;
        }
        uint64_t value = values[i] > cut ? values[i] - cut : 0;
        peak = value > peak ? value : peak;
        *most = cut > *most ? cut : *most;
    }
    return peak;
}

static void test_cuts_are_exact(void **state)
{
    (void)state;
    static uint64_t values[CHANGES];
    for (seed = 1; seed < 400; seed += 7) {
        uint64_t first = seed;
        struct ms_curve curve = {0};
        size_t count = 1 + next_random() % CHANGES, cut_count = next_random() % CUTS;
        struct ms_cut cuts[CUTS];
        for (size_t i = 0; i < count; i++) {
            values[i] = next_random() % 1000000;
            assert_true(ms_curve_add(&curve, values[i]));
        }
        for (size_t i = 0; i < cut_count; i++) {
            cuts[i].from = next_random() % count;
            cuts[i].to = next_random() % 8 == 0 ? UINT64_MAX : next_random() % (count + 1);
            cuts[i].bytes = next_random() % 300000;
        }
        assert_true(ms_curve_index(&curve));
        uint64_t highest, most, slow_most, slow = slow_peak(values, count, cuts, cut_count, &slow_most);
        assert_true(ms_curve_cut(&curve, cuts, cut_count, &highest, &most));
        assert_int_equal(highest, slow);
        assert_int_equal(most, slow_most);
        assert_int_equal(ms_curve_peak(&curve, NULL), slow_peak(values, count, NULL, 0, &slow_most));
        ms_curve_free(&curve);
        seed = first;
    }
}

/* With fewer points than changes the peak is exact, and what is saved is never more than the truth. */
static void test_cuts_of_a_coarse_curve_are_bounds(void **state)
{
    (void)state;
    static uint64_t values[CHANGES];
    for (seed = 1; seed < 200; seed += 7) {
        uint64_t first = seed;
        struct ms_curve curve = {.limit = 256};
        struct ms_cut cuts[CUTS];
        size_t cut_count = next_random() % CUTS;
        for (size_t i = 0; i < CHANGES; i++) {
            values[i] = next_random() % 1000000;
            assert_true(ms_curve_add(&curve, values[i]));
        }
        for (size_t i = 0; i < cut_count; i++) {
            cuts[i] = (struct ms_cut){next_random() % CHANGES, next_random() % (CHANGES + 1), next_random() % 300000};
        }
        assert_true(curve.shift > 0 && curve.count <= 256 && ms_curve_index(&curve));
        uint64_t highest, most, slow_most, slow = slow_peak(values, CHANGES, cuts, cut_count, &slow_most);
        assert_true(ms_curve_cut(&curve, cuts, cut_count, &highest, &most));
        assert_true(highest >= slow && most <= slow_most);
        assert_int_equal(ms_curve_peak(&curve, NULL), slow_peak(values, CHANGES, NULL, 0, &slow_most));
        ms_curve_free(&curve);
        seed = first;
    }
}

/* ---- random events: sums, live sets, conservation ---- */

enum { BLOCKS = 64, EVENTS = 4000 };

struct known { /* a block, as the test sees it */
    bool live;
    uint64_t addr, size_b;
};

struct rig {
    struct ms_model *model;
    struct ms_report_builder *builder;
    struct known blocks[BLOCKS];
    uint64_t now_ns, index, used_b, peak_b, total_b;
    uint64_t live_at_peak;
    uint64_t allocated, freed;
};

static void feed(struct rig *rig, struct ms_event event)
{
    event.index = rig->index++;
    event.time_ns = rig->now_ns += 1 + next_random() % 5000;
    event.pid = 7;
    event.tid = 8;
    assert_int_equal(ms_model_feed(rig->model, &event), 0);
}

static uint64_t live(const struct rig *rig)
{
    uint64_t count = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        count += rig->blocks[i].live;
    }
    return count;
}

static void turn(struct rig *rig)
{
    struct known *block = &rig->blocks[next_random() % BLOCKS];
    struct ms_event event = {.device = 0, .pool = MS_POOL_PTA, .addr = block->addr};
    if (!block->live) {
        block->size_b = 512 * (1 + next_random() % 64);
        event.kind = MS_R_POOL_ALLOC;
        event.size_b = block->size_b;
        rig->used_b += block->size_b;
        rig->allocated++;
    } else {
        event.kind = MS_R_POOL_FREE;
        rig->used_b -= block->size_b;
        rig->freed++;
    }
    block->live = !block->live;
    feed(rig, event);
    if (rig->used_b > rig->peak_b) {
        rig->peak_b = rig->used_b;
        rig->live_at_peak = live(rig);
    }
}

static uint64_t sum(const struct ms_report_amount *amounts, size_t count, uint64_t *blocks)
{
    uint64_t bytes = 0;
    *blocks = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += amounts[i].bytes;
        *blocks += amounts[i].blocks;
        assert_true(i == 0 || amounts[i].bytes <= amounts[i - 1].bytes || amounts[i].site == MS_REPORT_NO_SITE);
    }
    return bytes;
}

static void check_moment(const struct ms_report_moment *moment, uint64_t used_b, uint64_t blocks)
{
    uint64_t counted;
    assert_int_equal(moment->used_b, used_b);
    assert_int_equal(moment->blocks, blocks);
    assert_int_equal(sum(moment->owners, moment->owner_count, &counted), used_b);
    assert_int_equal(counted, blocks);
    assert_int_equal(sum(moment->sites, moment->site_count, &counted), used_b);
    assert_int_equal(counted, blocks);
}

static void begin(struct rig *rig)
{
    *rig = (struct rig){.now_ns = 1000000};
    for (size_t i = 0; i < BLOCKS; i++) {
        rig->blocks[i].addr = 0x100000 + i * 0x10000;
    }
    struct ms_model_options options;
    ms_report_model_options(&options);
    struct ms_report_options report = {.sz = sizeof(report), .input = "test", .top = 5};
    assert_int_equal(ms_model_new(&options, &rig->model), 0);
    assert_int_equal(ms_report_begin(&report, &rig->builder), 0);
    assert_int_equal(ms_report_process_begin(rig->builder, 7, rig->model), 0);
}

static const struct ms_report *finish_with(struct rig *rig, struct ms_stack_source stacks)
{
    assert_int_equal(ms_model_end(rig->model), 0);
    assert_int_equal(ms_report_process_end(rig->builder, rig->model, stacks, "n", "p", "trace"), 0);
    const struct ms_report *report = ms_report_finish(rig->builder);
    assert_non_null(report);
    return report;
}

static const struct ms_report *finish(struct rig *rig)
{
    return finish_with(rig, (struct ms_stack_source){0});
}

static void end(struct rig *rig)
{
    ms_model_free(rig->model);
    ms_report_free(rig->builder);
}

static void test_live_sets_and_sums(void **state)
{
    (void)state;
    for (uint64_t round = 1; round < 20; round++) {
        struct rig rig;
        seed = round * 77777;
        begin(&rig);
        feed(&rig, (struct ms_event){.kind = MS_R_POOL_TOTAL, .pool = MS_POOL_PTA, .size_b = 1 << 22});
        for (unsigned i = 0; i < EVENTS; i++) {
            if (i % 500 == 100 || i % 500 == 400) {
                bool start = i % 500 == 100;
                feed(&rig, (struct ms_event){.kind = start ? MS_R_RANGE_START : MS_R_RANGE_END,
                                             .range_id = i / 500 + 1,
                                             .text = {.s = "step start", .length_b = start ? 10 : 0}});
            }
            turn(&rig);
        }
        uint64_t at_end = live(&rig), used_b = rig.used_b;
        const struct ms_report *report = finish(&rig);
        assert_int_equal(report->process_count, 1);
        assert_int_equal(report->processes[0].device_count, 1);
        const struct ms_report_device *device = &report->processes[0].devices[0];
        check_moment(&device->peak, rig.peak_b, rig.live_at_peak);
        check_moment(&device->end, used_b, at_end);
        assert_int_equal(device->peak.account.pool_count, 1);
        assert_int_equal(device->peak.account.pools[0].used_b, rig.peak_b);
        uint64_t highest = 0;
        for (size_t i = 0; i < device->point_count; i++) {
            uint64_t classes_b = 0;
            for (unsigned class = 0; class < MS_CLASS_COUNT; class ++) {
                classes_b += device->points[i].classes_b[class];
            }
            assert_int_equal(classes_b, device->points[i].used_b);
            assert_true(i == 0 || device->points[i].t_ns > device->points[i - 1].t_ns);
            highest = device->points[i].used_b > highest ? device->points[i].used_b : highest;
        }
        assert_int_equal(highest, rig.peak_b);
        assert_true(device->point_count <= MS_REPORT_POINTS);
        assert_int_equal(device->step_count, EVENTS / 500);
        for (size_t i = 0; i < device->step_count; i++) { /* bytes are neither made nor lost */
            const struct ms_report_step *step = &device->steps[i];
            assert_int_equal(step->begin_b + step->allocated_b - step->freed_b, step->end_b);
            assert_true(step->survivor_b <= step->allocated_b && step->peak_b >= step->end_b);
        }
        struct ms_buffer json = {0};
        ms_report_json(report, &json);
        assert_true(!json.failed && json.used > 1000 && json.s[0] == '{' && json.s[json.used - 1] == '\n');
        ms_buffer_free(&json);
        end(&rig);
    }
}

/* ---- memory of the driver: whose it is ---- */

static struct ms_event hal(uint64_t addr, uint64_t size_b)
{
    return (struct ms_event){.kind = MS_R_HAL_ALLOC, .addr = addr, .size_b = size_b, .device = 0};
}

static void test_a_segment_is_not_counted_twice(void **state)
{
    (void)state;
    struct rig rig;
    seed = 5;
    begin(&rig);
    feed(&rig, hal(0x10000000, 20 << 20)); /* a segment */
    feed(&rig, (struct ms_event){.kind = MS_R_POOL_TOTAL, .pool = MS_POOL_PTA, .size_b = 20 << 20});
    feed(&rig, (struct ms_event){.kind = MS_R_POOL_ALLOC, .pool = MS_POOL_PTA, .addr = 0x10000000, .size_b = 3 << 20});
    feed(&rig, hal(0x40000000, 5 << 20)); /* nobody's */
    feed(&rig, hal(0x50000000, 1 << 20)); /* comes and goes */
    feed(&rig, (struct ms_event){.kind = MS_R_HAL_FREE, .addr = 0x50000000, .device = MS_DEV_UNKNOWN});
    const struct ms_report *report = finish(&rig);
    const struct ms_report_device *device = &report->processes[0].devices[0];
    check_moment(&device->peak, 9 << 20, 3);
    check_moment(&device->end, 8 << 20, 2);
    const struct ms_report_account *account = &device->end.account;
    assert_int_equal(account->driver_b, 25 << 20);
    assert_int_equal(account->segment_b, 20 << 20);
    assert_int_equal(account->segments, 1);
    assert_int_equal(account->module_count, 1);
    assert_int_equal(account->driver_b, account->segment_b + account->modules[0].bytes);
    end(&rig);
}

static void tell_usage(struct rig *rig, uint64_t device_mib, uint64_t process_mib)
{
    feed(rig, (struct ms_event){.kind = MS_R_USAGE,
                                .size_b = device_mib << 20,
                                .process_used_b = process_mib << 20,
                                .total_b = 65536ull << 20});
}

static void drop(struct rig *rig, uint64_t addr)
{
    feed(rig, (struct ms_event){.kind = MS_R_HAL_FREE, .addr = addr, .device = MS_DEV_UNKNOWN});
}

/* What the driver said is of another moment than the peak and the end: it is carried on, and what nobody asked for
 * stays what it was. Pools do not say that they have given their segments back. */
static void test_what_the_driver_says(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    feed(&rig, hal(0x10000000, 20 << 20));
    feed(&rig, (struct ms_event){.kind = MS_R_POOL_TOTAL, .pool = MS_POOL_PTA, .size_b = 20 << 20});
    tell_usage(&rig, 123, 23); /* 3 MiB of the process are no request, 100 are others' */
    feed(&rig, (struct ms_event){.kind = MS_R_POOL_ALLOC, .pool = MS_POOL_PTA, .addr = 0x10000000, .size_b = 3 << 20});
    rig.now_ns += 1000000000;
    feed(&rig, hal(0x40000000, 50 << 20)); /* the peak, before the driver was asked again */
    tell_usage(&rig, 123, 23);             /* of the moment before, as it happens */
    tell_usage(&rig, 173, 73);
    drop(&rig, 0x40000000);
    drop(&rig, 0x10000000);
    const struct ms_report *report = finish(&rig);
    const struct ms_report_device *device = &report->processes[0].devices[0];
    const struct ms_report_account *peak = &device->peak.account, *last = &device->end.account;
    assert_int_equal(peak->driver_b, 70 << 20);
    assert_int_equal(peak->process_used_b, 73 << 20);
    assert_int_equal(peak->device_used_b, 173 << 20);
    assert_int_equal(peak->rest_b, 3 << 20);
    assert_int_equal(last->driver_b, 0);
    assert_int_equal(last->process_used_b, 3 << 20);
    assert_int_equal(last->device_used_b, 103 << 20);
    assert_int_equal(last->rest_b, 3 << 20);
    assert_int_equal(device->peak.reserved_b, 20 << 20);
    assert_int_equal(device->end.reserved_b, 3 << 20); /* the block that is still there */
    end(&rig);
}

/* Whatever comes in: wrong addresses and sizes, ends without beginnings, times that jump. It must come to an end, count
 * every byte once, and give results that can be written. */
static void test_hostile_events(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {
        MS_R_HAL_ALLOC,  MS_R_HAL_FREE,      MS_R_HAL_FREE_FAILED,
        MS_R_HAL_CREATE, MS_R_HAL_RELEASE,   MS_R_MAP,
        MS_R_UNMAP,      MS_R_RESERVE,       MS_R_POOL_ALLOC,
        MS_R_POOL_ALLOC, MS_R_POOL_FREE,     MS_R_POOL_FREE,
        MS_R_POOL_TOTAL, MS_R_HEAP_ADD,      MS_R_HEAP_SUB,
        MS_R_ACCESS,     MS_R_ACCESS,        MS_R_OP_START,
        MS_R_OP_END,     MS_R_RANGE_START,   MS_R_RANGE_END,
        MS_R_STEP,       MS_R_OOM,           MS_R_USAGE,
        MS_R_START,      MS_R_STOP,          MS_R_GAP,
        MS_R_ADDR_LABEL, MS_R_HOST_REGISTER, MS_R_KERNEL_LAUNCH,
    };
    for (uint64_t round = 1; round <= 40; round++) {
        struct rig rig;
        seed = round * 1234567;
        begin(&rig);
        for (unsigned i = 0; i < 3000; i++) {
            bool huge = next_random() % 64 == 0;
            uint64_t r = next_random();
            struct ms_event event = {
                .kind = kinds[next_random() % MS_COUNT_OF(kinds)],
                .pool = (uint8_t)(1 + next_random() % 6),
                .device = (uint32_t)(next_random() % 3),
                .addr = huge ? r : 0x10000 + r % 64 * 0x1000,
                .size_b = huge ? r >> 1 : next_random() % 0x4000,
                .flag = next_random() % 16 == 0 ? r : next_random() % 3 | 1 << 10,
                .handle = 0x10000 + next_random() % 64 * 0x1000,
                .type = (uint32_t)(next_random() % 4),
                .text = {.s = next_random() % 3 != 0 ? "step start" : "op.x_.y", .length_b = 0},
                .text2 = {.s = ""},
            };
            event.text.length_b = (uint32_t)strlen(event.text.s);
            event.index = rig.index++;
            event.time_ns = rig.now_ns += next_random() % 256 == 0 ? 1ull << (next_random() % 50) : next_random() % 99;
            event.pid = 7;
            event.tid = 8 + (uint32_t)(next_random() % 3);
            if (event.kind == MS_R_GAP) {
                event.gap =
                    (struct ms_event_gap){.since_ns = event.time_ns - 5, .lost = 3, .lost_alloc = 1, .cause = 99};
            }
            ms_model_feed(rig.model, &event);
        }
        const struct ms_report *report = finish(&rig);
        for (size_t i = 0; i < report->processes[0].device_count; i++) {
            const struct ms_report_device *device = &report->processes[0].devices[i];
            uint64_t blocks;
            assert_int_equal(sum(device->peak.owners, device->peak.owner_count, &blocks), device->peak.used_b);
            assert_int_equal(sum(device->end.owners, device->end.owner_count, &blocks), device->end.used_b);
            uint64_t modules_b = 0;
            for (size_t j = 0; j < device->end.account.module_count; j++) {
                modules_b += device->end.account.modules[j].bytes;
            }
            assert_int_equal(device->end.account.driver_b, device->end.account.segment_b + modules_b);
            for (size_t j = 0; j < device->finding_count; j++) {
                assert_true(device->findings[j].saves_peak_b <= device->peak.used_b);
            }
        }
        assert_true(report->partial);
        struct ms_buffer json = {0};
        ms_report_json(report, &json);
        assert_false(json.failed);
        ms_buffer_free(&json);
        end(&rig);
    }
}

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

/* An operator that uses one block. */
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

/* Something large that is used and goes again: the peak is here. */
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

static void test_blocks_that_are_never_used(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    allocate(&rig, 0x1000000, SIZE);
    crowd(&rig);
    release(&rig, 0x1000000);
    expect(&rig, MS_PATTERN_UNUSED, SIZE);
    begin(&rig); /* what an operator takes for itself is not announced as used */
    say(&rig, "memscope-aten-b: name=aten.sort.default");
    allocate(&rig, 0x1000000, SIZE);
    crowd(&rig);
    release(&rig, 0x1000000);
    say(&rig, "memscope-aten-e: name=aten.sort.default");
    expect_nothing(&rig, MS_PATTERN_UNUSED);
    begin(&rig); /* nobody's accesses are recorded meanwhile */
    crowd(&rig);
    allocate(&rig, 0x1000000, SIZE);
    release(&rig, 0x1000000);
    expect_nothing(&rig, MS_PATTERN_UNUSED);
}

static void test_writes_that_nobody_reads(void **state)
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

static void test_blocks_that_could_be_used_again(void **state)
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

static void test_blocks_that_are_too_large(void **state)
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
        if (part < 3) { /* up to 1 MiB is the pool's own rounding */
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

static void test_a_free_range_that_could_not_be_used(void **state)
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
            allocate(&rig, 0x10800000, 8 << 20); /* 4 MiB are left */
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

/* Two blocks of another stream lie free, none of them large enough alone; what blocks is counted by what it costs. */
static void test_what_a_blocked_range_costs(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    segment(&rig, 0x10000000, 20 << 20);
    allocate(&rig, 0x10000000, 6 << 20);
    allocate(&rig, 0x10600000, 6 << 20);
    allocate(&rig, 0x10c00000, 8 << 20);
    release(&rig, 0x10000000);
    release(&rig, 0x10c00000); /* 6 and 8 MiB are free, 14 in all */
    segment(&rig, 0x20000000, 20 << 20);
    allocate(&rig, 0x20000000, 10 << 20); /* neither of them would do */
    segment(&rig, 0x30000000, 20 << 20);
    allocate(&rig, 0x30000000, 7 << 20); /* 8 MiB would do, and 10 of the second segment */
    segment(&rig, 0x40000000, 2 << 20);
    allocate(&rig, 0x40000000, 1 << 20); /* small blocks never lie in large segments */
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

/* A step that asks for 9 MiB in a segment that has room, looked at twice. */
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
        uint64_t later_b; /* asked for once, in the last step */
        unsigned steps;
        uint64_t wasted_b;
    } cases[] = {
        {0, 4, (3 << 20) + (1 << 19)},       /* 1.5 MiB and 2 MiB */
        {9 << 20, 4, (3 << 20) + (1 << 19)}, /* as before */
        {2 << 20, 4, 0},                     /* the larger of them would do */
        {1 << 19, 4, (3 << 20) + (1 << 19)}, /* a small block has a pool of its own */
        {0, 1, 0},                           /* nobody knows yet what steps ask for */
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        struct rig rig;
        begin(&rig);
        segment(&rig, 0x10000000, 20 << 20);
        allocate(&rig, 0x10000000, 9 << 20);
        allocate(&rig, 0x10a80000, (9 << 20) + (1 << 19)); /* 1.5 MiB between them, none behind */
        segment(&rig, 0x20000000, 20 << 20);
        allocate(&rig, 0x20000000, 18 << 20); /* 2 MiB behind it */
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

/* ---- places ---- */

static struct ms_text stack_text(void *self, uint32_t id)
{
    static const char *const stacks[] = {
        "",
        "prog(f+0x1) [0x1] at /a/f.c:1\nprog(g+0x1) [0x2] at /a/g.c:51\nprog(main+0x1) [0x3] at /a/main.c:9\n",
        "prog(f+0x1) [0x1] at /a/f.c:1\nprog(g+0x1) [0x2] at /a/g.c:52\nprog(main+0x1) [0x3] at /a/main.c:9\n",
        "prog(h+0x1) [0x1] at /a/h.c:1\nprog(main+0x1) [0x3] at /a/main.c:9\n",
    };
    (void)self;
    return (struct ms_text){.s = stacks[id], .length_b = (uint32_t)strlen(stacks[id])};
}

/* Two places that read alike are told apart by the first call in which they differ; others stay as short as they are.
 */
static void test_places_that_read_alike(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    for (uint32_t i = 1; i <= 3; i++) {
        feed(&rig, (struct ms_event){.kind = MS_R_POOL_ALLOC,
                                     .pool = MS_POOL_PTA,
                                     .addr = i << 24,
                                     .size_b = (uint64_t)(4 - i) << 20,
                                     .c_stack = i});
    }
    const struct ms_report *report = finish_with(&rig, (struct ms_stack_source){.c_stack = stack_text});
    const struct ms_report_process *process = &report->processes[0];
    static const char *const shown[] = {"f.c:1 f < g < main (g.c:51)", "f.c:1 f < g < main (g.c:52)", "h.c:1 h < main"};
    for (unsigned i = 0; i < 3; i++) {
        const struct ms_report_site *site = &process->sites[process->devices[0].peak.sites[i].site];
        assert_string_equal(site->shown, shown[i]);
        assert_string_equal(site->label, i < 2 ? "f.c:1 f < g < main" : shown[i]);
    }
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuts_are_exact),
        cmocka_unit_test(test_cuts_of_a_coarse_curve_are_bounds),
        cmocka_unit_test(test_live_sets_and_sums),
        cmocka_unit_test(test_a_segment_is_not_counted_twice),
        cmocka_unit_test(test_what_the_driver_says),
        cmocka_unit_test(test_hostile_events),
        cmocka_unit_test(test_blocks_that_are_never_used),
        cmocka_unit_test(test_writes_that_nobody_reads),
        cmocka_unit_test(test_blocks_that_could_be_used_again),
        cmocka_unit_test(test_blocks_that_are_too_large),
        cmocka_unit_test(test_a_free_range_that_could_not_be_used),
        cmocka_unit_test(test_what_a_blocked_range_costs),
        cmocka_unit_test(test_remainders_too_small_for_any_request),
        cmocka_unit_test(test_segments_over_steps),
        cmocka_unit_test(test_places_that_read_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
