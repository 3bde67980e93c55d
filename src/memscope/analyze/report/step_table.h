/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of each step of a device: peak, growth, and which of its allocations survived it. */
#ifndef MS_REPORT_STEP_TABLE_H
#define MS_REPORT_STEP_TABLE_H

#include "memscope/analyze/report/ledger.h"

#define MS_STEPS_KEPT     20000u
#define MS_SURVIVORS_KEPT 5u

struct ms_survivors {
    uint32_t site;
    uint64_t blocks, bytes;
};

struct ms_step_entry {
    struct ms_report_step step; /* absolute times, without survivors */
    uint64_t end_at;            /* changes before its end */
    struct ms_survivors survivors[MS_SURVIVORS_KEPT];
    size_t survivor_count;
};

struct ms_step_table {
    struct ms_step_entry *entries;
    size_t count, room;
    uint64_t left_out;
    bool inside;
};

void ms_step_change(struct ms_step_table *table, const struct ms_ledger_device *device,
                    const struct ms_ledger_entry *entry, bool more);
/* Begins or ends a step. 0 or -ENOMEM. */
int ms_step_mark(struct ms_step_table *table, struct ms_ledger *ledger, uint32_t device_at,
                 const struct ms_step_info *info);
/* The recording ends. */
void ms_step_last(struct ms_step_table *table, const struct ms_ledger_device *device, uint64_t time_ns);
struct ms_report_growth ms_step_growth(const struct ms_step_table *table);
/* Changes before the end of a step; UINT64_MAX: it did not end, or is not kept. */
uint64_t ms_step_end_at(const struct ms_step_table *table, uint32_t step);
void ms_step_free(struct ms_step_table *table);

#endif
