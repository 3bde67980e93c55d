/* SPDX-License-Identifier: Apache-2.0 */
/* Collected waste: blocks of one site that show one pattern form one finding, with the intervals and bytes that were
 * not needed. Detectors (detect.c, fragments.c) add findings; finding_text.c replays the savings and phrases the
 * advice. */
#ifndef MS_REPORT_FINDINGS_H
#define MS_REPORT_FINDINGS_H

#include "memscope/analyze/report/curve.h"
#include "memscope/analyze/report/ledger.h"

#define MS_CUTS_MAX     (1u << 23) /* 192 MiB for all findings together */
#define MS_FINDINGS_MAX 65536u

struct ms_finding {
    enum ms_pattern_id pattern;
    uint32_t device_at, site, op;          /* op: ms_model_text */
    uint32_t from_op, to_op;               /* ms_ledger.ops, of the largest block */
    uint32_t first_step, last_step, steps; /* steps: number of distinct steps, ascending */
    uint64_t blocks, bytes, time_ns;
    uint64_t addr, size_b; /* of the largest block */
    uint64_t reserved_b;   /* pool patterns only */
    uint64_t extra;        /* OOM: bytes in use at the time; growing: size of the first request */
    uint32_t asked_at;     /* OOM: site of the first request; not part of the key */
    struct ms_cut *cuts;
    size_t cut_count, cut_room;
};

struct ms_findings {
    struct ms_finding *list;
    size_t count, room;
    struct ms_map of; /* pattern, site and device -> index */
    size_t cut_total;
    bool dropped; /* the limit was exceeded: savings are lower bounds */
    int error;
};

/* One block. op, from_op, to_op: 0 if unknown. */
struct ms_waste {
    enum ms_pattern_id pattern;
    uint32_t site, op, from_op, to_op;
    uint64_t from, to, bytes; /* bytes: wasted during that interval */
};

/* NULL: out of memory. */
struct ms_finding *ms_finding_at(struct ms_findings *findings, enum ms_pattern_id pattern, uint32_t device_at,
                                 uint32_t site, uint32_t op);
void ms_findings_add(struct ms_findings *findings, const struct ms_ledger_entry *entry, const struct ms_waste *waste);
void ms_findings_free(struct ms_findings *findings);

#endif
