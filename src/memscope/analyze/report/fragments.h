/* SPDX-License-Identifier: Apache-2.0 */
/* Free memory in pools: how much, in which pieces, and what keeps it from being given back.
 *
 * Looking into segments costs as much as there are blocks, so it is done at most every so often: 512 moments are kept,
 * and when there are more every second one is dropped and the time between them doubles; and never for more blocks in
 * all than twice the number of changes. Whether a segment is empty or sparse for whole steps is counted as blocks come
 * and go, and asked at the end of each step. */
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

struct ms_pins { /* segments of one moment */
    uint64_t time_ns, free_b, total;
    struct ms_pin list[MS_PINS_KEPT];
    size_t count;
};

struct ms_fragments {
    struct ms_report_free *points; /* times absolute */
    size_t point_count;
    uint64_t next_ns, every_ns;
    uint64_t walked; /* blocks looked at */
    struct ms_pins worst;
    bool by_steps; /* `worst` is of segments that stay so for whole steps */
    /* Requests of this step and of the one before: smallest, of small and of large blocks. */
    uint64_t smallest_b[2], smallest_before_b[2];
    uint64_t split_b[3]; /* remainders too small, at the last three looks */
    unsigned split_at;
    uint64_t split_largest_b[2]; /* pieces of the finding, the largest: a request of that size would take it back */
};

/* After every change; a pool's block may have needed a new segment. 0 or -ENOMEM. */
int ms_fragments_change(struct ms_fragments *fragments, struct ms_ledger *ledger, uint32_t device_at,
                        const struct ms_life *life, bool more, struct ms_findings *findings);
/* A step has ended. */
int ms_fragments_step(struct ms_fragments *fragments, struct ms_ledger *ledger, uint32_t device_at,
                      struct ms_findings *findings);
void ms_fragments_free(struct ms_fragments *fragments);

#endif
