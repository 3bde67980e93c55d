/* SPDX-License-Identifier: Apache-2.0 */
/* See step_table.h. Survivors are found at the end of a step: the model lists live blocks newest first, so the walk
 * stops at the first block of an earlier step. */
#include "memscope/analyze/report/step_table.h"

#include <errno.h>
#include <stdlib.h>

void ms_step_change(struct ms_step_table *table, const struct ms_ledger_device *device,
                    const struct ms_ledger_entry *entry, bool more)
{
    if (!table->inside || table->count == 0) {
        return;
    }
    struct ms_report_step *step = &table->entries[table->count - 1].step;
    step->peak_b = device->used_b > step->peak_b ? device->used_b : step->peak_b;
    step->reserved_b = device->reserved_b > step->reserved_b ? device->reserved_b : step->reserved_b;
    if (more) {
        step->allocations++;
        step->allocated_b += entry->size_b;
    } else {
        step->frees++;
        step->freed_b += entry->size_b;
    }
}

/* ---- survivors ---- */

struct survivor_walk {
    const struct ms_ledger *ledger;
    uint32_t device, step;
    struct ms_map at; /* site -> index below */
    struct ms_survivors *sites;
    size_t count, room;
    uint64_t blocks, bytes;
};

static int survivor(void *argument, const struct ms_block *block)
{
    struct survivor_walk *walk = argument;
    if (block->device != walk->device) {
        return 0;
    }
    if (block->step < walk->step) {
        return 1;
    }
    uint32_t number = block->step == walk->step ? ms_ledger_find(walk->ledger, block->allocation_id) : 0;
    const struct ms_ledger_entry *entry = number != 0 ? ms_ledger_at(walk->ledger, number) : NULL;
    if (entry == NULL || (entry->role != MS_ROLE_COUNTED && entry->role != MS_ROLE_DIRECT)) {
        return 0;
    }
    bool added;
    uint64_t *at = ms_map_at(&walk->at, entry->site, walk->count, &added);
    if (at == NULL) {
        return -ENOMEM;
    }
    if (added) {
        if (walk->count == walk->room) {
            size_t room = walk->room != 0 ? walk->room * 2 : 32;
            struct ms_survivors *sites = realloc(walk->sites, room * sizeof(*sites));
            if (sites == NULL) {
                return -ENOMEM;
            }
            walk->sites = sites;
            walk->room = room;
        }
        walk->sites[walk->count++] = (struct ms_survivors){.site = entry->site};
    }
    walk->sites[*at].blocks++;
    walk->sites[*at].bytes += entry->size_b;
    walk->blocks++;
    walk->bytes += entry->size_b;
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    const struct ms_survivors *x = a, *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x->site < y->site ? -1 : x->site > y->site;
}

static int find_survivors(struct ms_step_entry *entry, struct ms_ledger *ledger, uint32_t device)
{
    struct survivor_walk walk = {.ledger = ledger, .device = device, .step = entry->step.step};
    int rc = ms_model_blocks(ledger->model, true, survivor, &walk);
    if (walk.count != 0) {
        qsort(walk.sites, walk.count, sizeof(*walk.sites), by_bytes);
    }
    entry->survivor_count = walk.count < MS_SURVIVORS_KEPT ? walk.count : MS_SURVIVORS_KEPT;
    for (size_t i = 0; i < entry->survivor_count; i++) {
        entry->survivors[i] = walk.sites[i];
    }
    entry->step.survivor_b = walk.bytes;
    entry->step.survivor_blocks = walk.blocks;
    free(walk.sites);
    ms_map_free(&walk.at);
    return rc < 0 ? rc : 0;
}

/* ---- steps ---- */

static int begin_step(struct ms_step_table *table, const struct ms_ledger_device *device,
                      const struct ms_step_info *info)
{
    table->inside = false;
    if (table->count == MS_STEPS_KEPT) {
        table->left_out++;
        return 0;
    }
    if (table->count == table->room) {
        size_t room = table->room != 0 ? table->room * 2 : 64;
        struct ms_step_entry *entries = realloc(table->entries, room * sizeof(*entries));
        if (entries == NULL) {
            return -ENOMEM;
        }
        table->entries = entries;
        table->room = room;
    }
    table->entries[table->count++] = (struct ms_step_entry){.step = {.step = info->step,
                                                                     .begin_ns = info->time_ns,
                                                                     .begin_b = device->used_b,
                                                                     .peak_b = device->used_b,
                                                                     .reserved_b = device->reserved_b}};
    table->inside = true;
    return 0;
}

int ms_step_mark(struct ms_step_table *table, struct ms_ledger *ledger, uint32_t device_at,
                 const struct ms_step_info *info)
{
    struct ms_ledger_device *device = ledger->devices[device_at];
    if (info->begins) {
        device->step = info->step;
        return begin_step(table, device, info);
    }
    device->ended_step = info->step;
    struct ms_step_entry *entry = table->count != 0 ? &table->entries[table->count - 1] : NULL;
    if (!table->inside || entry->step.step != info->step) {
        return 0;
    }
    table->inside = false;
    entry->step.ended = true;
    entry->step.end_ns = info->time_ns;
    entry->step.end_b = device->used_b;
    entry->end_at = device->now;
    return find_survivors(entry, ledger, device->device);
}

void ms_step_last(struct ms_step_table *table, const struct ms_ledger_device *device, uint64_t time_ns)
{
    if (table->inside) {
        struct ms_step_entry *entry = &table->entries[table->count - 1];
        entry->step.end_ns = time_ns;
        entry->step.end_b = device->used_b;
        entry->end_at = device->now;
    }
}

uint64_t ms_step_end_at(const struct ms_step_table *table, uint32_t step)
{
    size_t low = 0, high = table->count; /* numbers ascend */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->entries[middle].step.step < step) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < table->count && table->entries[low].step.step == step && table->entries[low].step.ended;
    return found ? table->entries[low].end_at : UINT64_MAX;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

struct ms_report_growth ms_step_growth(const struct ms_step_table *table)
{
    struct ms_report_growth growth = {0};
    size_t count = 0;
    const struct ms_report_step *first = NULL, *last = NULL;
    int64_t *differences = malloc((table->count + 1) * sizeof(*differences));
    for (size_t i = 0; differences != NULL && i < table->count; i++) {
        const struct ms_report_step *step = &table->entries[i].step;
        if (!step->ended || step->step < 2) { /* the first step does initialisation */
            continue;
        }
        if (last != NULL) {
            differences[count++] = (int64_t)(step->end_b - last->end_b);
        }
        first = first != NULL ? first : step;
        last = step;
    }
    if (count >= 2) {
        qsort(differences, count, sizeof(*differences), ascending);
        growth = (struct ms_report_growth){.known = true,
                                           .from_step = first->step,
                                           .to_step = last->step,
                                           .bytes = (int64_t)(last->end_b - first->end_b),
                                           .per_step_b = differences[count / 2]};
    }
    free(differences);
    return growth;
}

void ms_step_free(struct ms_step_table *table)
{
    free(table->entries);
    *table = (struct ms_step_table){0};
}
