/* SPDX-License-Identifier: Apache-2.0 */
/* See peak.h. */
#include "memscope/analyze/report/peak.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ms_remnant ms_remnant_of(const struct ms_ledger_entry *entry)
{
    return (struct ms_remnant){.addr = entry->addr,
                               .size_b = entry->size_b,
                               .malloc_ns = entry->malloc_ns,
                               .owner = entry->owner,
                               .site = entry->site,
                               .step = entry->step,
                               .op = entry->op,
                               .space = entry->space,
                               .type = entry->type,
                               .class = entry->class,
                               .module_id = entry->module_id};
}

static int add(struct ms_remnant **list, size_t *count, size_t *room, const struct ms_ledger_entry *entry)
{
    if (*count == *room) {
        size_t bigger = *room != 0 ? *room * 2 : 256;
        struct ms_remnant *moved = realloc(*list, bigger * sizeof(*moved));
        if (moved == NULL) {
            return -ENOMEM;
        }
        *list = moved;
        *room = bigger;
    }
    (*list)[(*count)++] = ms_remnant_of(entry);
    return 0;
}

void ms_snapshot_take(struct ms_snapshot *snapshot, const struct ms_ledger *ledger,
                      const struct ms_ledger_device *device, const struct ms_ledger_entry *entry)
{
    snapshot->known = true;
    snapshot->at = device->now;
    snapshot->pinned_b = ledger->pinned_b;
    snapshot->op = entry != NULL ? entry->op : 0;
    snapshot->site = entry != NULL ? entry->site : MS_REPORT_NO_SITE;
    snapshot->device = *device;
}

int ms_peak_change(struct ms_peak *peak, const struct ms_ledger *ledger, const struct ms_ledger_device *device,
                   const struct ms_ledger_entry *entry, bool more)
{
    if (more) {
        if (!peak->snapshot.known || device->used_b > peak->snapshot.device.used_b) {
            ms_snapshot_take(&peak->snapshot, ledger, device, entry);
            peak->gone_count = 0;
        }
        return 0;
    }
    return entry->born <= peak->snapshot.at ? add(&peak->gone, &peak->gone_count, &peak->gone_room, entry) : 0;
}

struct taking {
    uint32_t device_at;
    uint64_t at; /* only entries allocated up to this change */
    struct ms_remnant *list;
    size_t count, room;
    int error;
};

static void take(void *argument, uint32_t number, struct ms_ledger_entry *entry)
{
    (void)number;
    struct taking *taking = argument;
    bool counts = entry->role == MS_ROLE_COUNTED || entry->role == MS_ROLE_DIRECT;
    if (counts && entry->device_at == taking->device_at && entry->born <= taking->at && taking->error == 0) {
        taking->error = add(&taking->list, &taking->count, &taking->room, entry);
    }
}

static int finish(struct taking *taking, struct ms_remnant **out, size_t *count)
{
    if (taking->error != 0) {
        free(taking->list);
        return taking->error;
    }
    *out = taking->list;
    *count = taking->count;
    return 0;
}

int ms_peak_take(const struct ms_peak *peak, struct ms_ledger *ledger, uint32_t device_at, struct ms_remnant **out,
                 size_t *count)
{
    struct taking taking = {.device_at = device_at, .at = peak->snapshot.at};
    if (peak->gone_count != 0) {
        taking.list = malloc(peak->gone_count * sizeof(*taking.list));
        if (taking.list == NULL) {
            return -ENOMEM;
        }
        memcpy(taking.list, peak->gone, peak->gone_count * sizeof(*taking.list));
        taking.count = taking.room = peak->gone_count;
    }
    if (peak->snapshot.known) {
        ms_ledger_each(ledger, take, &taking);
    }
    return finish(&taking, out, count);
}

int ms_live_take(struct ms_ledger *ledger, uint32_t device_at, struct ms_remnant **out, size_t *count)
{
    struct taking taking = {.device_at = device_at, .at = UINT64_MAX};
    ms_ledger_each(ledger, take, &taking);
    return finish(&taking, out, count);
}

void ms_peak_free(struct ms_peak *peak)
{
    free(peak->gone);
    *peak = (struct ms_peak){0};
}
