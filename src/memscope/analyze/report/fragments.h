/* SPDX-License-Identifier: Apache-2.0 */
/* Free memory in pools: how much, in which pieces, and what prevents it from being returned to the driver.
 *
 * Inspecting segments costs time proportional to the number of blocks, so the number of samples is limited: 512 are
 * kept; when there are more, every second one is dropped and the interval doubles. In total, no more blocks are visited
 * than twice the number of changes. Whether a segment is empty or sparse for whole steps is counted as blocks are
 * allocated and freed, and checked at the end of each step. */
#ifndef MS_REPORT_FRAGMENTS_H
#define MS_REPORT_FRAGMENTS_H

#include "memscope/analyze/report/findings.h"
#include "memscope/analyze/report/peak.h"

#define MS_FREE_POINTS 512u
#define MS_PINS_KEPT   64u

struct ms_pin {
    uint64_t addr, size_b, used_b, blocks;
    struct ms_remnant largest;
};

struct ms_pins { /* segments at one moment */
    uint64_t time_ns, free_b, total;
    struct ms_pin list[MS_PINS_KEPT];
    size_t count;
};

struct ms_fragments {
    struct ms_report_free *points; /* absolute times */
    size_t point_count;
    uint64_t next_ns, every_ns;
    uint64_t walked; /* blocks visited */
    struct ms_pins worst;
    bool by_steps; /* `worst` refers to segments that stay sparse for whole steps */
    /* Smallest request of the current and of the previous step, for small and for large blocks. */
    uint64_t smallest_b[2], smallest_before_b[2];
    uint64_t split_b[3]; /* bytes in remainders that are too small, at the last three samples */
    unsigned split_at;
    uint64_t split_largest_b[2]; /* largest piece in the finding: a request of that size would retract it */
};

/* Called after every change; a pool block may have required a new segment. 0 or -ENOMEM. */
int ms_fragments_change(struct ms_fragments *fragments, struct ms_ledger *ledger, uint32_t device_at,
                        const struct ms_ledger_entry *entry, bool more, struct ms_findings *findings);
/* A step has ended. */
int ms_fragments_step(struct ms_fragments *fragments, struct ms_ledger *ledger, uint32_t device_at,
                      struct ms_findings *findings);
void ms_fragments_free(struct ms_fragments *fragments);

#endif
