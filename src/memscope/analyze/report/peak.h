/* SPDX-License-Identifier: Apache-2.0 */
/* The exact live set at the highest point of a device's `used`, known at the end without a second reading and without a
 * copy at every new peak: what lives at the end and was born before the peak was live at it, and so was what went
 * since, which is kept until there is a higher one. Memory is O(blocks live at the peak). */
#ifndef MS_REPORT_PEAK_H
#define MS_REPORT_PEAK_H

#include "memscope/analyze/report/ledger.h"

struct ms_remnant { /* what is told of a block in a live set */
    uint64_t addr, size_b, malloc_ns;
    uint32_t owner, site, step, op;
    uint8_t space, type, class, module_id;
};

/* A device at a moment. */
struct ms_snapshot {
    bool known;
    uint64_t at; /* number of the change */
    uint64_t pinned_b;
    uint32_t op, site;
    struct ms_ledger_device device;
};

struct ms_peak {
    struct ms_snapshot snapshot;
    struct ms_remnant *gone; /* were live at it */
    size_t gone_count, gone_room;
};

struct ms_remnant ms_remnant_of(const struct ms_life *life);
void ms_snapshot_take(struct ms_snapshot *snapshot, const struct ms_ledger *ledger,
                      const struct ms_ledger_device *device, const struct ms_life *life);
/* For every change. 0 or -ENOMEM. */
int ms_peak_change(struct ms_peak *peak, const struct ms_ledger *ledger, const struct ms_ledger_device *device,
                   const struct ms_life *life, bool more);
/* The live set; *out to be freed by the caller. */
int ms_peak_take(const struct ms_peak *peak, struct ms_ledger *ledger, uint32_t device_at, struct ms_remnant **out,
                 size_t *count);
/* What is live now. */
int ms_live_take(struct ms_ledger *ledger, uint32_t device_at, struct ms_remnant **out, size_t *count);
void ms_peak_free(struct ms_peak *peak);

#endif
