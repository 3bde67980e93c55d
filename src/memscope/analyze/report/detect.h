/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns visible in the lifetime of a single block; detectors run when the block ends. */
#ifndef MS_REPORT_DETECT_H
#define MS_REPORT_DETECT_H

#include "memscope/analyze/report/findings.h"
#include "memscope/analyze/report/step_table.h"

struct ms_first_use { /* the last block of some size that was used for the first time */
    uint64_t id, at;
    uint32_t site, op, first_op;
};

struct ms_requests { /* sizes requested by one site */
    uint64_t first_b, last_b;
    uint32_t ups, downs;
};

struct ms_detect {
    struct ms_map first_of; /* device and size -> index in first */
    struct ms_first_use *first;
    size_t first_count, first_room;
    struct ms_requests *requests; /* by site */
    size_t request_room;
};

/* A block was allocated; a block was used for the first time. */
int ms_detect_born(struct ms_detect *detect, const struct ms_ledger_entry *entry);
int ms_detect_first_use(struct ms_detect *detect, const struct ms_ledger_entry *entry);
/* A block ends with change end_at; freed is false if the process exited before freeing it. */
void ms_detect_end(struct ms_detect *detect, struct ms_findings *findings, struct ms_ledger *ledger,
                   const struct ms_ledger_entry *entry, uint64_t end_at, bool freed);
/* Called at the end for a block that is still live (end_at UINT64_MAX) or was freed after the last step. Returns whether
 * it is a leak. */
bool ms_detect_leak(struct ms_findings *findings, const struct ms_ledger *ledger, const struct ms_step_table *steps,
                    const struct ms_ledger_entry *entry, uint64_t end_at);

/* Blocks of earlier steps that were freed since the last end of a step: if no step end follows, the program freed them
 * only because it was exiting. Few, since most blocks do not live that long. */
struct ms_departed {
    struct ms_ledger_entry entry;
    uint64_t end_at;
};
struct ms_departures {
    struct ms_departed *list;
    size_t count, room;
};
int ms_detect_departed(struct ms_departures *departures, const struct ms_ledger *ledger,
                       const struct ms_ledger_entry *entry, uint64_t end_at);
/* A departed block that is not a leak may have been freed too late. A block is one or the other. */
void ms_detect_late(struct ms_findings *findings, const struct ms_departed *departed);
/* True if the site requests more each time. */
bool ms_detect_is_growing(const struct ms_detect *detect, uint32_t site);
void ms_detect_free(struct ms_detect *detect);

#endif
