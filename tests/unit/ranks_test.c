/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of ranks: which are uneven, which diverges first, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memscope/analyze/report/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB        (1ull << 20)
#define RANKS_MOST 8u
#define STEPS_MOST 1000u

/* A report whose ranks have the peaks that a test sets; 0: no such step. */
static struct ms_report_step steps[RANKS_MOST][STEPS_MOST];
static struct ms_report_device devices[RANKS_MOST];
static struct ms_report_process processes[RANKS_MOST];
static char names[RANKS_MOST][16];
static struct ms_report report;

static void job(size_t rank_count)
{
    memset(steps, 0, sizeof(steps));
    for (size_t i = 0; i < rank_count; i++) {
        snprintf(names[i], sizeof(names[i]), "npu %zu", i);
        devices[i] = (struct ms_report_device){.device = (uint32_t)i, .name = names[i], .steps = steps[i]};
        processes[i] = (struct ms_report_process){.name = "train", .devices = &devices[i], .device_count = 1};
    }
    report = (struct ms_report){.processes = processes, .process_count = rank_count};
}

static void step(size_t rank, uint32_t number, uint64_t peak_b)
{
    steps[rank][devices[rank].step_count++] = (struct ms_report_step){.step = number, .ended = true, .peak_b = peak_b};
}

static struct ms_ranks *find(void)
{
    struct ms_ranks *ranks;
    assert_int_equal(ms_ranks_find(&report, &ranks), 0);
    return ranks;
}

static void expect_divergence(uint32_t rank, uint32_t number, int64_t bytes, bool from_start)
{
    struct ms_ranks *ranks = find();
    assert_non_null(ranks);
    assert_true(ranks->diverges);
    assert_int_equal(ranks->rank, rank);
    assert_int_equal(ranks->step, number);
    assert_int_equal(ranks->bytes, bytes);
    assert_int_equal(ranks->from_start, from_start);
    ms_ranks_free(ranks);
}

static void expect_none(void)
{
    struct ms_ranks *ranks = find();
    assert_non_null(ranks);
    assert_false(ranks->diverges);
    char text[256];
    ms_ranks_divergence_text(ranks, text, sizeof(text));
    assert_string_equal(text, "");
    ms_ranks_free(ranks);
}

static void test_single_rank(void **state)
{
    (void)state;
    struct ms_ranks *ranks;
    job(0);
    assert_int_equal(ms_ranks_find(&report, &ranks), 0);
    assert_null(ranks);
    job(1);
    step(0, 1, MIB);
    assert_null(find());
    job(2); /* two devices, but only one has steps */
    step(0, 1, MIB);
    assert_null(find());
}

static void test_equal_ranks(void **state)
{
    (void)state;
    job(4);
    for (uint32_t s = 1; s <= 5; s++) {
        for (size_t i = 0; i < 4; i++) {
            step(i, s, 100 * MIB + s * MIB); /* all grow together */
        }
    }
    expect_none();
    struct ms_ranks *ranks = find();
    char text[256];
    ms_ranks_text(ranks, text, sizeof(text));
    assert_string_equal(text, "4 ranks, 5 steps, all equal.");
    ms_ranks_free(ranks);
}

static void test_one_leaks(void **state)
{
    (void)state;
    job(4);
    for (uint32_t s = 1; s <= 6; s++) {
        for (size_t i = 0; i < 4; i++) {
            step(i, s, 100 * MIB + (i == 2 && s >= 4 ? (s - 3) * 2 * MIB : 0));
        }
    }
    expect_divergence(2, 4, 2 * MIB, false);
    struct ms_ranks *ranks = find();
    char text[256];
    ms_ranks_divergence_text(ranks, text, sizeof(text));
    assert_non_null(strstr(text, "npu 2 is the first to diverge, in step 4: since step 2"));
    assert_non_null(strstr(text, "2 MiB more"));
    ms_ranks_text(ranks, text, sizeof(text));
    assert_non_null(strstr(text, "most uneven in step 6, from 100 MiB (npu 0) to 106 MiB (npu 2)."));
    assert_int_not_equal(ranks->reference, 2); /* equal by design: compared with another rank */
    assert_int_equal(ranks->reference_step, 4);
    assert_int_equal(ranks->steps[5].median_b, 100 * MIB);
    assert_int_equal(ranks->steps[5].max_rank, 2);
    ms_ranks_free(ranks);
}

/* Pipeline stages hold different amounts by design; only changes count. */
static void test_uneven_by_design(void **state)
{
    (void)state;
    job(4);
    for (uint32_t s = 1; s <= 6; s++) {
        for (size_t i = 0; i < 4; i++) {
            step(i, s, (100 + 50 * i) * MIB - (i == 1 && s == 5 ? 30 * MIB : 0));
        }
    }
    expect_divergence(1, 5, -30 * (int64_t)MIB, false);
    struct ms_ranks *ranks = find();
    assert_int_equal(ranks->reference, 1); /* different by design: only comparable with itself */
    assert_int_equal(ranks->reference_step, 2);
    ms_ranks_free(ranks);
}

static void test_different_from_the_start(void **state)
{
    (void)state;
    job(3);
    for (uint32_t s = 1; s <= 3; s++) {
        for (size_t i = 0; i < 3; i++) {
            step(i, s, (i == 1 ? 120 : 100) * MIB);
        }
    }
    expect_divergence(1, 1, 20 * MIB, true);
    struct ms_ranks *ranks = find();
    assert_int_not_equal(ranks->reference, 1);
    assert_int_equal(ranks->reference_step, 1);
    ms_ranks_free(ranks);
}

static void test_two_ranks(void **state)
{
    (void)state;
    for (size_t guilty = 0; guilty < 2; guilty++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            job(2);
            for (uint32_t s = 1; s <= 3; s++) {
                for (size_t i = 0; i < 2; i++) {
                    step(i, s,
                         (uint64_t)((int64_t)(100 * MIB) + (i == guilty && s == 3 ? sign * 10 * (int64_t)MIB + 1 : 0)));
                }
            }
            expect_divergence((uint32_t)guilty, 3, sign * 10 * (int64_t)MIB + 1, false);
        }
    }
}

/* Ranks that all vary, as with sequences of different lengths; then one that varies more. */
static void test_noise_is_not_divergence(void **state)
{
    (void)state;
    for (int guilty = 0; guilty < 2; guilty++) {
        uint32_t seed = 1;
        job(8);
        for (uint32_t s = 1; s <= 400; s++) {
            for (size_t i = 0; i < 8; i++) {
                seed = seed * 1664525u + 1013904223u;
                step(i, s, 100 * MIB + (seed >> 8) % (20 * MIB) + (guilty != 0 && i == 3 && s == 300 ? 90 * MIB : 0));
            }
        }
        if (guilty == 0) {
            expect_none();
        } else {
            struct ms_ranks *ranks = find();
            assert_true(ranks->diverges && ranks->rank == 3 && ranks->step == 300);
            ms_ranks_free(ranks);
        }
    }
    job(2); /* small programs: 1 % would be a few bytes */
    for (uint32_t s = 1; s <= 3; s++) {
        step(0, s, 4096);
        step(1, s, 4096 + s * 1024);
    }
    expect_none();
}

/* Steps that only some ranks have, and a last step that was cut off. */
static void test_holes(void **state)
{
    (void)state;
    job(3);
    for (uint32_t s = 1; s <= 8; s++) {
        step(0, s, 50 * MIB);
        if (s >= 3) {
            step(1, s, 50 * MIB);
        }
        if (s <= 6) {
            step(2, s, 50 * MIB);
        }
    }
    steps[0][7].ended = false;
    steps[0][7].peak_b = 500 * MIB;
    expect_none();
    struct ms_ranks *ranks = find();
    assert_int_equal(ranks->step_count, 8);
    assert_int_equal(ranks->steps[0].ranks, 2);
    assert_int_equal(ranks->steps[7].ranks, 1);
    assert_int_equal(ranks->steps[7].max_b, 50 * MIB);
    assert_true(ranks->ranks[1].peaks[0] == MS_RANK_NONE);
    assert_int_equal(ranks->ranks[2].last_step, 6);
    ms_ranks_free(ranks);
}

static void test_names_and_hosts(void **state)
{
    (void)state;
    job(3);
    for (size_t i = 0; i < 3; i++) {
        step(i, 1, MIB);
    }
    devices[1].device = 0; /* two nodes with the same device numbers */
    devices[1].name = names[0];
    processes[0].pid = 7;
    processes[1].pid = 8;
    devices[2].device = MS_DEV_CPU; /* hosts are not ranks if there are NPUs */
    struct ms_ranks *ranks = find();
    assert_int_equal(ranks->rank_count, 2);
    assert_string_equal(ranks->ranks[0].name, "npu 0 of 7");
    assert_string_equal(ranks->ranks[1].name, "npu 0 of 8");
    ms_ranks_free(ranks);
    processes[1].pid = 7; /* and the same process ids */
    processes[0].path = "node0/run";
    processes[1].path = "node1/run";
    ranks = find();
    assert_string_equal(ranks->ranks[1].name, "npu 0 of node1/run");
    ms_ranks_free(ranks);
    devices[0].device = devices[1].device = MS_DEV_CPU;
    processes[2].path = "node2/run";
    ranks = find();
    assert_int_equal(ranks->rank_count, 3);
    ms_ranks_free(ranks);
}

static void test_many_steps(void **state)
{
    (void)state;
    job(2);
    for (uint32_t s = 1; s <= STEPS_MOST; s++) {
        step(0, s, 100 * MIB);
        step(1, s, s >= 777 ? 200 * MIB : 100 * MIB);
    }
    struct ms_ranks *ranks = find();
    assert_true(ranks->step_count <= MS_RANK_STEPS_MAX + 2);
    assert_int_equal(ranks->step_count + ranks->steps_left_out, STEPS_MOST);
    assert_int_equal(ranks->step, 777);
    bool shown = false;
    for (size_t i = 0; i < ranks->step_count; i++) {
        shown = shown || ranks->steps[i].step == 777;
        assert_int_equal(ranks->ranks[1].peaks[i], ranks->steps[i].step >= 777 ? 200 * MIB : 100 * MIB);
    }
    assert_true(shown);
    assert_int_equal(ranks->steps[ranks->step_count - 1].step, STEPS_MOST);
    ms_ranks_free(ranks);
}

/* Differences between two live sets, by site and owner; site ids differ between processes. */
static void test_explain(void **state)
{
    (void)state;
    static const struct ms_report_site here[] = {{.label = "a.c:1 f"}, {.label = "b.c:2 g"}, {.label = "c.c:3 h"}};
    static const struct ms_report_site there[] = {{.label = "c.c:3 h"}, {.label = "a.c:1 f"}};
    static const struct ms_report_amount now[] = {{.owner = "PTA@x", .site = 1, .bytes = 5 * MIB},
                                                  {.owner = "PTA@x", .site = 0, .bytes = 3 * MIB},
                                                  {.owner = "PTA@y", .site = 0, .bytes = MIB},
                                                  {.owner = "", .site = MS_REPORT_NO_SITE, .bytes = 7}};
    static const struct ms_report_amount then[] = {{.owner = "PTA@x", .site = 1, .bytes = 3 * MIB},
                                                   {.owner = "PTA@x", .site = 0, .bytes = 2 * MIB},
                                                   {.owner = "", .site = MS_REPORT_NO_SITE, .bytes = 7}};
    const struct ms_report_process p = {.sites = here, .site_count = 3}, q = {.sites = there, .site_count = 2};
    const struct ms_report_moment m = {.sites = now, .site_count = 4}, n = {.sites = then, .site_count = 3};
    struct ms_ranks ranks = {0};
    assert_int_equal(ms_ranks_explain(&ranks, (struct ms_rank_set){&p, &m}, (struct ms_rank_set){&q, &n}), 0);
    assert_int_equal(ranks.cause_count, 3);
    assert_string_equal(ranks.causes[0].label, "b.c:2 g");
    assert_int_equal(ranks.causes[0].bytes, 5 * MIB);
    assert_int_equal(ranks.causes[0].reference_b, 0);
    assert_string_equal(ranks.causes[1].label, "c.c:3 h");
    assert_int_equal(ranks.causes[1].reference_b, 2 * MIB);
    assert_string_equal(ranks.causes[2].owner, "PTA@y");
    free(ranks.causes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_rank),
        cmocka_unit_test(test_equal_ranks),
        cmocka_unit_test(test_one_leaks),
        cmocka_unit_test(test_uneven_by_design),
        cmocka_unit_test(test_different_from_the_start),
        cmocka_unit_test(test_two_ranks),
        cmocka_unit_test(test_noise_is_not_divergence),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_names_and_hosts),
        cmocka_unit_test(test_many_steps),
        cmocka_unit_test(test_explain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
