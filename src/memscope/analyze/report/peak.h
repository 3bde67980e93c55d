/* SPDX-License-Identifier: Apache-2.0 */
/* The exact live set at the maximum of a device's `used`, available at the end without a second pass and without a copy
 * at every new peak: blocks that are live at the end and were allocated before the peak were live at the peak, as were
 * the blocks freed since, which are kept until a higher peak is reached. Memory is O(blocks live at the peak). */
#ifndef MS_REPORT_PEAK_H
#define MS_REPORT_PEAK_H

#include "memscope/analyze/report/ledger.h"

struct ms_remnant { /* what is kept of a block in a live set */
    uint64_t addr, size_b, malloc_ns;
    uint32_t owner, site, step, op;
    uint8_t space, type, class, module_id;
};

/* A device at one moment. */
struct ms_snapshot {
    bool known;
    uint64_t at; /* change number */
    uint64_t pinned_b;
    uint32_t op, site;
    struct ms_ledger_device device;
};

struct ms_peak {
    struct ms_snapshot snapshot;
    struct ms_remnant *gone; /* live at the peak, freed since */
    size_t gone_count, gone_room;
};

struct ms_remnant ms_remnant_of(const struct ms_ledger_entry *entry);
void ms_snapshot_take(struct ms_snapshot *snapshot, const struct ms_ledger *ledger,
                      const struct ms_ledger_device *device, const struct ms_ledger_entry *entry);
/* Called for every change. 0 or -ENOMEM. */
int ms_peak_change(struct ms_peak *peak, const struct ms_ledger *ledger, const struct ms_ledger_device *device,
                   const struct ms_ledger_entry *entry, bool more);
/* The live set at the peak; the caller frees *out. */
int ms_peak_take(const struct ms_peak *peak, struct ms_ledger *ledger, uint32_t device_at, struct ms_remnant **out,
                 size_t *count);
/* The current live set. */
int ms_live_take(struct ms_ledger *ledger, uint32_t device_at, struct ms_remnant **out, size_t *count);
void ms_peak_free(struct ms_peak *peak);

#endif
