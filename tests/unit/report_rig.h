/* SPDX-License-Identifier: Apache-2.0 */
/* A model and a report that a test feeds with events. */
#ifndef MS_TESTS_REPORT_RIG_H
#define MS_TESTS_REPORT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "memscope/analyze/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;

static inline uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

struct rig {
    struct ms_model *model;
    struct ms_report_builder *builder;
    uint64_t now_ns, index, total_b;
};

static inline void feed(struct rig *rig, struct ms_event event)
{
    event.index = rig->index++;
    event.time_ns = rig->now_ns += 1 + next_random() % 5000;
    event.pid = 7;
    event.tid = 8;
    assert_int_equal(ms_model_feed(rig->model, &event), 0);
}

static inline void begin(struct rig *rig)
{
    *rig = (struct rig){.now_ns = 1000000};
    struct ms_model_options options;
    ms_report_model_options(&options);
    struct ms_report_options report = {.input = "test", .top = 5};
    assert_int_equal(ms_model_new(&options, &rig->model), 0);
    assert_int_equal(ms_report_begin(&report, &rig->builder), 0);
    assert_int_equal(ms_report_process_begin(rig->builder, 7, rig->model), 0);
}

static inline const struct ms_report *finish_with(struct rig *rig, struct ms_stack_source stacks)
{
    assert_int_equal(ms_model_end(rig->model), 0);
    assert_int_equal(ms_report_process_end(rig->builder, rig->model, stacks, "n", "p", "trace"), 0);
    const struct ms_report *report = ms_report_finish(rig->builder);
    assert_non_null(report);
    return report;
}

static inline const struct ms_report *finish(struct rig *rig)
{
    return finish_with(rig, (struct ms_stack_source){0});
}

static inline void end(struct rig *rig)
{
    ms_model_free(rig->model);
    ms_report_free(rig->builder);
}

static inline struct ms_event hal(uint64_t addr, uint64_t size_b)
{
    return (struct ms_event){.kind = MS_R_HAL_ALLOC, .addr = addr, .size_b = size_b, .device = 0};
}

#endif
