/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the report against slow references on random events: the curve with cuts, the live set at the peak, sums of
 * the ledger. */
#include "report_rig.h"

#include "memscope/analyze/report/curve.h"
#include "memscope/render/report_json.h"

/* ---- the curve ---- */

enum { CHANGES = 5000, CUTS = 40 };

/* Tests every point. */
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

/* With fewer points than changes the peak is exact, and the saving is a lower bound. */
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

struct known { /* a block from the test's perspective */
    bool live;
    uint64_t addr, size_b;
};

struct history {
    struct known blocks[BLOCKS];
    uint64_t used_b, peak_b, live_at_peak;
};

static uint64_t live(const struct history *history)
{
    uint64_t count = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        count += history->blocks[i].live;
    }
    return count;
}

static void turn(struct rig *rig, struct history *history)
{
    struct known *block = &history->blocks[next_random() % BLOCKS];
    struct ms_event event = {.device = 0, .pool = MS_POOL_PTA, .addr = block->addr};
    if (!block->live) {
        block->size_b = 512 * (1 + next_random() % 64);
        event.kind = MS_R_POOL_ALLOC;
        event.size_b = block->size_b;
        history->used_b += block->size_b;
    } else {
        event.kind = MS_R_POOL_FREE;
        history->used_b -= block->size_b;
    }
    block->live = !block->live;
    feed(rig, event);
    if (history->used_b > history->peak_b) {
        history->peak_b = history->used_b;
        history->live_at_peak = live(history);
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

static void test_live_sets_and_sums(void **state)
{
    (void)state;
    for (uint64_t round = 1; round < 20; round++) {
        struct rig rig;
        struct history history = {0};
        for (size_t i = 0; i < BLOCKS; i++) {
            history.blocks[i].addr = 0x100000 + i * 0x10000;
        }
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
            turn(&rig, &history);
        }
        uint64_t at_end = live(&history), used_b = history.used_b;
        const struct ms_report *report = finish(&rig);
        assert_int_equal(report->process_count, 1);
        assert_int_equal(report->processes[0].device_count, 1);
        const struct ms_report_device *device = &report->processes[0].devices[0];
        check_moment(&device->peak, history.peak_b, history.live_at_peak);
        check_moment(&device->end, used_b, at_end);
        assert_int_equal(device->peak.account.pool_count, 1);
        assert_int_equal(device->peak.account.pools[0].used_b, history.peak_b);
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
        assert_int_equal(highest, history.peak_b);
        assert_true(device->point_count <= MS_REPORT_POINTS);
        assert_int_equal(device->step_count, EVENTS / 500);
        for (size_t i = 0; i < device->step_count; i++) { /* bytes are neither created nor lost */
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

/* ---- driver memory: pool or direct ---- */

static void test_a_segment_is_not_counted_twice(void **state)
{
    (void)state;
    struct rig rig;
    seed = 5;
    begin(&rig);
    feed(&rig, hal(0x10000000, 20 << 20)); /* a segment */
    feed(&rig, (struct ms_event){.kind = MS_R_POOL_TOTAL, .pool = MS_POOL_PTA, .size_b = 20 << 20});
    feed(&rig, (struct ms_event){.kind = MS_R_POOL_ALLOC, .pool = MS_POOL_PTA, .addr = 0x10000000, .size_b = 3 << 20});
    feed(&rig, hal(0x40000000, 5 << 20)); /* direct */
    feed(&rig, hal(0x50000000, 1 << 20)); /* allocated and freed */
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

static void report_usage(struct rig *rig, uint64_t device_mib, uint64_t process_mib)
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

/* The driver's value is from a different moment than the peak and the end: it is adjusted by later requests, and the
 * memory the program did not request stays constant. Pools do not report that they have returned their segments. */
static void test_driver_usage(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    feed(&rig, hal(0x10000000, 20 << 20));
    feed(&rig, (struct ms_event){.kind = MS_R_POOL_TOTAL, .pool = MS_POOL_PTA, .size_b = 20 << 20});
    report_usage(&rig, 123, 23); /* 3 MiB of the process are not requests, 100 belong to others */
    feed(&rig, (struct ms_event){.kind = MS_R_POOL_ALLOC, .pool = MS_POOL_PTA, .addr = 0x10000000, .size_b = 3 << 20});
    rig.now_ns += 1000000000;
    feed(&rig, hal(0x40000000, 50 << 20)); /* the peak, before the driver is polled again */
    report_usage(&rig, 123, 23);           /* still the value of the previous moment */
    report_usage(&rig, 173, 73);
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
    assert_int_equal(device->end.reserved_b, 3 << 20); /* the remaining block */
    end(&rig);
}

/* Hostile input: wrong addresses and sizes, ends without beginnings, jumping times. Processing must terminate, count
 * every byte once, and produce results that can be written. */
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

/* ---- sites ---- */

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

/* Two sites with the same label are distinguished by the first call in which they differ; others keep their short
 * label. */
static void test_sites_with_equal_labels(void **state)
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
        cmocka_unit_test(test_driver_usage),
        cmocka_unit_test(test_hostile_events),
        cmocka_unit_test(test_sites_with_equal_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
