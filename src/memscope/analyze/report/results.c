/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the results of a process from the collected data: texts of sites, sums of live sets, sorted lists. */
#include "memscope/analyze/report/report_internal.h"

#include "base/macros.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS_KEPT 200u

static uint64_t since_begin(const struct ms_collected *collected, uint64_t time_ns)
{
    return time_ns > collected->ledger.begin_ns ? time_ns - collected->ledger.begin_ns : 0;
}

/* ---- live sets ---- */

static const char *owner_of(struct ms_collected *collected, const struct ms_remnant *remnant)
{
    struct ms_text owner = ms_model_owner(collected->model, remnant->owner);
    return owner.length_b != 0 ? ms__text(collected, owner) : ms_type_name(remnant->type);
}

static struct ms_report_block block_of(struct ms_collected *collected, const struct ms_remnant *remnant)
{
    return (struct ms_report_block){.addr = remnant->addr,
                                    .size_b = remnant->size_b,
                                    .t_ns = since_begin(collected, remnant->malloc_ns),
                                    .step = remnant->step,
                                    .site = ms__site(collected, remnant->site),
                                    .space = remnant->space,
                                    .owner = owner_of(collected, remnant),
                                    .op = ms__model_text(collected, remnant->op)};
}

static int by_bytes(const void *a, const void *b)
{
    const struct ms_report_amount *x = a, *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return x->site < y->site ? -1 : x->site > y->site;
}

static int larger_first(const void *a, const void *b)
{
    const struct ms_remnant *x = a, *y = b;
    if (x->size_b != y->size_b) {
        return x->size_b > y->size_b ? -1 : 1;
    }
    return x->malloc_ns < y->malloc_ns ? -1 : x->malloc_ns > y->malloc_ns;
}

/* Sums by owner (by type if there is none), or by owner and site. */
static struct ms_report_amount *sum_up(const struct ms_remnant *set, size_t count, bool owners, size_t *out_count)
{
    struct ms_map index = {0};
    struct ms_report_amount *amounts = NULL;
    size_t used = 0, room = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t owner = set[i].owner != 0 ? set[i].owner : UINT32_MAX - set[i].type;
        uint64_t key = owner | (owners ? 0 : (uint64_t)set[i].site << 32);
        bool added;
        uint64_t *at = ms_map_at(&index, key, used, &added);
        ok = at != NULL;
        if (ok && added) {
            if (used == room) {
                room = room != 0 ? room * 2 : 32;
                struct ms_report_amount *moved = realloc(amounts, room * sizeof(*moved));
                ok = moved != NULL;
                amounts = ok ? moved : amounts;
            }
            if (ok) { /* site and blocks refer to the first block until the texts are made */
                amounts[used++] = (struct ms_report_amount){.class = set[i].class, .site = (uint32_t)i};
            }
        }
        if (ok) {
            amounts[*at].bytes += set[i].size_b;
            amounts[*at].blocks++;
        }
    }
    ms_map_free(&index);
    if (!ok) {
        free(amounts);
        return NULL;
    }
    if (used != 0) {
        qsort(amounts, used, sizeof(*amounts), by_bytes);
    }
    *out_count = used;
    return amounts != NULL ? amounts : calloc(1, sizeof(*amounts));
}

static int put_owners(struct ms_collected *collected, const struct ms_remnant *set, size_t count,
                      struct ms_report_moment *out)
{
    size_t used = 0;
    struct ms_report_amount *amounts = sum_up(set, count, true, &used);
    struct ms_report_amount *kept = ms_arena_get(collected->arena, (used + 1) * sizeof(*kept));
    if (amounts == NULL || kept == NULL) {
        free(amounts);
        return -ENOMEM;
    }
    for (size_t i = 0; i < used; i++) {
        kept[i] = amounts[i];
        kept[i].owner = owner_of(collected, &set[amounts[i].site]);
        kept[i].site = MS_REPORT_NO_SITE;
    }
    free(amounts);
    out->owners = kept;
    out->owner_count = used;
    return 0;
}

static int put_sites(struct ms_collected *collected, const struct ms_remnant *set, size_t count,
                     struct ms_report_moment *out)
{
    size_t used = 0, top = collected->builder->options.top;
    struct ms_report_amount *amounts = sum_up(set, count, false, &used);
    struct ms_report_amount *kept = ms_arena_get(collected->arena, (top + 1) * sizeof(*kept));
    if (amounts == NULL || kept == NULL) {
        free(amounts);
        return -ENOMEM;
    }
    for (size_t i = 0; i < used; i++) {
        size_t at = i < top ? i : top; /* the rest is merged */
        uint64_t bytes = kept[at].bytes + amounts[i].bytes, blocks = kept[at].blocks + amounts[i].blocks;
        kept[at] = amounts[i];
        kept[at].owner = i < top ? owner_of(collected, &set[amounts[i].site]) : "";
        kept[at].site = i < top ? ms__site(collected, set[amounts[i].site].site) : MS_REPORT_NO_SITE;
        kept[at].bytes = bytes;
        kept[at].blocks = blocks;
    }
    free(amounts);
    out->sites = kept;
    out->site_count = used < top + 1 ? used : top + 1;
    return 0;
}

#define MODULES_MAX 256u

/* The owner of driver memory contains its module: "CANN@HCCL@label". */
static void add_module(struct ms_collected *collected, struct ms_report_account *account,
                       struct ms_report_module *modules, const struct ms_remnant *remnant)
{
    struct ms_text owner = ms_model_owner(collected->model, remnant->owner);
    const char *name = ms_module_name(remnant->module_id);
    size_t name_b = strlen(name), at = 0;
    if (owner.length_b > 5 && memcmp(owner.s, "CANN@", 5) == 0) {
        const char *end = memchr(owner.s + 5, '@', owner.length_b - 5);
        name = owner.s + 5;
        name_b = (size_t)((end != NULL ? end : owner.s + owner.length_b) - name);
    }
    while (at < account->module_count &&
           (strlen(modules[at].name) != name_b || memcmp(modules[at].name, name, name_b) != 0)) {
        at++;
    }
    if (at == account->module_count && at == MODULES_MAX) {
        at--; /* table full: the last entry takes the rest */
    } else if (at == account->module_count) {
        modules[at].name = ms_arena_text(collected->arena, name, name_b);
        account->module_count++;
    }
    modules[at].bytes += remnant->size_b;
    modules[at].blocks++;
}

#define USAGE_SETTLED_NS 250000000u /* more than two polls */

static uint64_t rest_of(const struct ms_ledger_device *device)
{
    return device->usage.process_b > device->usage_driver_b ? device->usage.process_b - device->usage_driver_b : 0;
}

void ms__settle_usage(struct ms_ledger_device *device, uint64_t now_ns)
{
    if (device->usage_ns != 0 && now_ns - device->usage_ns >= USAGE_SETTLED_NS) {
        device->rest_known = true;
        device->rest_b = rest_of(device);
    }
}

/* The last value from the driver, adjusted for the process's requests since. */
static void put_usage(const struct ms_ledger_device *device, struct ms_report_account *out)
{
    uint64_t others_b =
        device->usage.device_b > device->usage.process_b ? device->usage.device_b - device->usage.process_b : 0;
    out->usage_known = device->usage.total_b != 0 || device->usage.device_b != 0;
    if (out->usage_known) {
        out->rest_b = device->rest_known ? device->rest_b : rest_of(device);
        out->process_used_b = device->driver_b + out->rest_b;
        out->device_used_b = others_b + out->process_used_b;
        out->device_total_b = device->usage.total_b;
    }
}

static int put_account(struct ms_collected *collected, const struct ms_snapshot *snapshot, const struct ms_remnant *set,
                       size_t count, struct ms_report_account *out)
{
    const struct ms_ledger_device *device = &snapshot->device;
    struct ms_report_pool *pools = ms_arena_get(collected->arena, MS_SPACE_COUNT * sizeof(*pools));
    struct ms_report_module *modules = ms_arena_get(collected->arena, MODULES_MAX * sizeof(*modules));
    if (pools == NULL || modules == NULL) {
        return -ENOMEM;
    }
    *out = (struct ms_report_account){.driver_b = device->driver_b,
                                      .segments = device->segments,
                                      .segment_b = device->segment_b,
                                      .pools = pools,
                                      .modules = modules,
                                      .pinned_b = snapshot->pinned_b};
    put_usage(device, out);
    for (unsigned space = 0; space < MS_SPACE_COUNT; space++) {
        if (MS_SPACE_IS_POOL(space) && (device->totals_b[space] != 0 || device->pool_used_b[space] != 0)) {
            pools[out->pool_count++] = (struct ms_report_pool){.space = (uint8_t)space,
                                                               .name = ms_space_title(space),
                                                               .reserved_b = device->totals_b[space],
                                                               .used_b = device->pool_used_b[space],
                                                               .blocks = device->pool_blocks[space]};
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (set[i].type == MS_TYPE_HAL) {
            add_module(collected, out, modules, &set[i]);
        }
    }
    return 0;
}

/* set: the live set; gets sorted. */
static int make_moment(struct ms_collected *collected, const struct ms_snapshot *snapshot, struct ms_remnant *set,
                       size_t count, struct ms_report_moment *out)
{
    const struct ms_ledger_device *device = &snapshot->device;
    *out = (struct ms_report_moment){.t_ns = since_begin(collected, device->time_ns),
                                     .used_b = device->used_b,
                                     .reserved_b = device->reserved_b,
                                     .driver_b = device->driver_b,
                                     .step = device->step,
                                     .op = ms__model_text(collected, snapshot->op),
                                     .site = ms__site(collected, snapshot->site),
                                     .blocks = count};
    if (count != 0) {
        qsort(set, count, sizeof(*set), larger_first);
    }
    size_t top = count < collected->builder->options.top ? count : collected->builder->options.top;
    struct ms_report_block *blocks = ms_arena_get(collected->arena, (top + 1) * sizeof(*blocks));
    if (blocks == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < top; i++) {
        blocks[i] = block_of(collected, &set[i]);
    }
    out->top = blocks;
    out->top_count = top;
    int rc = put_owners(collected, set, count, out);
    rc = rc != 0 ? rc : put_sites(collected, set, count, out);
    return rc != 0 ? rc : put_account(collected, snapshot, set, count, &out->account);
}

/* Pools do not report the segments they return when a process exits; they cannot hold more than the driver gave. */
static void take_back_reserved(struct ms_ledger_device *end)
{
    uint64_t used_b = 0;
    for (unsigned space = 0; space < MS_SPACE_COUNT; space++) {
        used_b += MS_SPACE_IS_POOL(space) ? end->pool_used_b[space] : 0;
    }
    uint64_t spare_b = end->driver_b > used_b ? end->driver_b - used_b : 0;
    end->reserved_b = 0;
    for (unsigned space = 0; space < MS_SPACE_COUNT; space++) {
        if (MS_SPACE_IS_POOL(space)) {
            uint64_t given_b = end->pool_used_b[space];
            uint64_t free_b = end->totals_b[space] > given_b ? end->totals_b[space] - given_b : 0;
            free_b = free_b < spare_b ? free_b : spare_b;
            spare_b -= free_b;
            end->totals_b[space] = end->totals_b[space] > given_b ? given_b + free_b : end->totals_b[space];
            end->reserved_b += end->totals_b[space];
        }
    }
}

static int put_moments(struct ms_collected *collected, uint32_t device_at, struct ms_report_device *out)
{
    struct ms_ledger *ledger = &collected->ledger;
    struct ms_device_parts *parts = collected->devices[device_at];
    struct ms_remnant *set = NULL;
    size_t count = 0;
    int rc = ms_peak_take(&parts->peak, ledger, device_at, &set, &count);
    rc = rc != 0 ? rc : make_moment(collected, &parts->peak.snapshot, set, count, &out->peak);
    for (size_t i = 0; rc == 0 && i < count; i++) { /* which operators allocated the peak's live set */
        struct ms_text op = ms_model_text(collected->model, set[i].op);
        uint32_t name = set[i].op != 0 ? ms_intern(&ledger->ops, op.s, op.length_b) : 0;
        if (name != 0 && name < parts->op_room) {
            parts->ops[name].at_peak_b += set[i].size_b;
        }
    }
    free(set);
    set = NULL;
    struct ms_snapshot end;
    ms_snapshot_take(&end, ledger, ledger->devices[device_at], NULL);
    ms__settle_usage(&end.device, ledger->last_ns);
    if (parts->peak.snapshot.device.driver_b != 0) {
        take_back_reserved(&end.device);
    }
    rc = rc != 0 ? rc : ms_live_take(ledger, device_at, &set, &count);
    rc = rc != 0 ? rc : make_moment(collected, &end, set, count, &out->end);
    out->end.t_ns = since_begin(collected, ledger->last_ns);
    free(set);
    return rc;
}

/* ---- over time ---- */

static int put_points(struct ms_collected *collected, const struct ms_device_parts *parts, struct ms_report_device *out)
{
    struct ms_report_point *points;
    size_t count;
    int rc = ms_series_take(&parts->series, &points, &count);
    if (rc != 0) {
        return rc;
    }
    struct ms_report_point *kept = ms_arena_get(collected->arena, (count + 1) * sizeof(*kept));
    if (kept != NULL) {
        memcpy(kept, points, count * sizeof(*kept));
        out->points = kept;
        out->point_count = count;
    }
    free(points);
    return kept != NULL ? 0 : -ENOMEM;
}

static int put_fragmentation(struct ms_collected *collected, const struct ms_fragments *fragments,
                             struct ms_report_fragmentation *out)
{
    const struct ms_pins *worst = &fragments->worst;
    size_t top = worst->count < collected->builder->options.top ? worst->count : collected->builder->options.top;
    struct ms_report_free *points = ms_arena_get(collected->arena, (fragments->point_count + 1) * sizeof(*points));
    struct ms_report_pin *pins = ms_arena_get(collected->arena, (top + 1) * sizeof(*pins));
    if (points == NULL || pins == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < fragments->point_count; i++) {
        points[i] = fragments->points[i];
        points[i].t_ns = since_begin(collected, points[i].t_ns);
    }
    for (size_t i = 0; i < top; i++) {
        const struct ms_pin *pin = &worst->list[i];
        pins[i] = (struct ms_report_pin){.addr = pin->addr,
                                         .size_b = pin->size_b,
                                         .used_b = pin->used_b,
                                         .blocks = pin->blocks,
                                         .largest = block_of(collected, &pin->largest)};
    }
    *out = (struct ms_report_fragmentation){.points = points,
                                            .point_count = fragments->point_count,
                                            .worst_t_ns = since_begin(collected, worst->time_ns),
                                            .worst_pinned_free_b = worst->free_b,
                                            .pins = pins,
                                            .pin_count = top,
                                            .pin_total = worst->total};
    return 0;
}

static int put_steps(struct ms_collected *collected, const struct ms_step_table *table, struct ms_report_device *out)
{
    struct ms_report_step *steps = ms_arena_get(collected->arena, (table->count + 1) * sizeof(*steps));
    if (steps == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct ms_step_entry *entry = &table->entries[i];
        struct ms_report_amount *survivors =
            ms_arena_get(collected->arena, (entry->survivor_count + 1) * sizeof(*survivors));
        if (survivors == NULL) {
            return -ENOMEM;
        }
        for (size_t j = 0; j < entry->survivor_count; j++) {
            survivors[j] = (struct ms_report_amount){.owner = "",
                                                     .site = ms__site(collected, entry->survivors[j].site),
                                                     .blocks = entry->survivors[j].blocks,
                                                     .bytes = entry->survivors[j].bytes};
        }
        steps[i] = entry->step;
        steps[i].begin_ns = since_begin(collected, entry->step.begin_ns);
        steps[i].end_ns = since_begin(collected, entry->step.end_ns);
        steps[i].survivors = survivors;
        steps[i].survivor_count = entry->survivor_count;
    }
    out->steps = steps;
    out->step_count = table->count;
    out->steps_left_out = table->left_out;
    out->growth = ms_step_growth(table);
    return 0;
}

/* ---- operators ---- */

static int by_rise(const void *a, const void *b)
{
    const struct ms_report_op *x = a, *y = b;
    if (x->rise_b != y->rise_b) {
        return x->rise_b > y->rise_b ? -1 : 1;
    }
    if (x->allocated_b != y->allocated_b) {
        return x->allocated_b > y->allocated_b ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static int put_ops(struct ms_collected *collected, const struct ms_device_parts *parts, struct ms_report_device *out)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < parts->op_room; i++) {
        count += parts->ops[i].calls != 0;
    }
    struct ms_report_op *ops = ms_arena_get(collected->arena, (count + 1) * sizeof(*ops));
    if (ops == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < parts->op_room; i++) {
        const struct ms_op_entry *entry = &parts->ops[i];
        if (entry->calls != 0) {
            ops[at++] = (struct ms_report_op){.name = ms__op_text(collected, (uint32_t)i),
                                              .calls = entry->calls,
                                              .allocations = entry->allocations,
                                              .allocated_b = entry->allocated_b,
                                              .rise_b = entry->rise_b,
                                              .at_peak_b = entry->at_peak_b};
        }
    }
    qsort(ops, count, sizeof(*ops), by_rise);
    out->ops = ops;
    out->op_count = count < OPS_KEPT ? count : OPS_KEPT;
    out->ops_left_out = count - out->op_count;
    return 0;
}

/* ---- the process ---- */

static int make_device(struct ms_collected *collected, uint32_t device_at, struct ms_report_device *out)
{
    struct ms_device_parts *parts = collected->devices[device_at];
    uint32_t device = collected->ledger.devices[device_at]->device;
    *out = (struct ms_report_device){.device = device};
    out->name = device == MS_DEV_CPU       ? "cpu"
                : device == MS_DEV_UNKNOWN ? "no device"
                                           : ms_arena_print(collected->arena, "npu %u", device);
    int rc = put_moments(collected, device_at, out);
    rc = rc != 0 ? rc : put_points(collected, parts, out);
    rc = rc != 0 ? rc : put_fragmentation(collected, &parts->fragments, &out->fragmentation);
    rc = rc != 0 ? rc : put_steps(collected, &parts->steps, out);
    rc = rc != 0 ? rc : put_ops(collected, parts, out);
    return rc != 0 ? rc : ms__findings(collected, device_at, out);
}

static int by_number(const void *a, const void *b)
{
    const struct ms_report_device *x = a, *y = b;
    return x->device < y->device ? -1 : x->device > y->device;
}

static int say(struct ms_collected *collected, enum ms_note_level level, const char *text)
{
    return ms__add_note(collected->arena, &collected->notes, &collected->note_count, level, text);
}

static int make_notes(struct ms_collected *collected, const struct ms_model_stats *stats, struct ms_report_process *out)
{
    char text[256];
    int rc = 0;
    if (stats->lost_memory != 0 || stats->uncertain_since_ns != 0) {
        snprintf(
            text, sizeof(text), "partial: %llu allocations and frees were lost; figures after %.3f s are uncertain",
            (unsigned long long)stats->lost_memory, (double)since_begin(collected, stats->uncertain_since_ns) / 1e9);
        rc = say(collected, MS_NOTE_PARTIAL, text);
    } else if (stats->lost != 0) {
        snprintf(text, sizeof(text), "%llu events were lost, none of them an allocation or free",
                 (unsigned long long)stats->lost);
        rc = say(collected, MS_NOTE_WARNING, text);
    }
    if (rc == 0 && stats->unmatched_frees != 0) {
        snprintf(text, sizeof(text), "%llu frees of blocks that were allocated before the recording, or lost",
                 (unsigned long long)stats->unmatched_frees);
        rc = say(collected, MS_NOTE_REMARK, text);
    }
    if (rc == 0 && collected->ledger.accesses == 0 && stats->blocks != 0) {
        rc = say(collected, MS_NOTE_REMARK,
                 "no accesses were recorded, so use cannot be analysed; record with --events=alloc,free,access,launch");
    }
    struct ms_report_note *kept = ms_arena_get(collected->arena, (collected->note_count + 1) * sizeof(*kept));
    if (kept == NULL || rc != 0) {
        return rc != 0 ? rc : -ENOMEM;
    }
    if (collected->note_count != 0) {
        memcpy(kept, collected->notes, collected->note_count * sizeof(*kept));
    }
    out->notes = kept;
    out->note_count = collected->note_count;
    return 0;
}

int ms__results(struct ms_collected *collected, struct ms_report_process *out)
{
    struct ms_ledger *ledger = &collected->ledger;
    struct ms_model_stats stats;
    ms_model_stats(collected->model, &stats);
    out->begin_ns = ledger->begin_ns;
    out->duration_ns = since_begin(collected, ledger->last_ns);
    out->events = stats.events;
    out->blocks = stats.blocks;
    out->accesses = ledger->accesses;
    out->lost = stats.lost;
    out->lost_memory = stats.lost_memory;
    out->gap_total = collected->gap_total;
    out->gap_count = collected->gap_total < MS_GAPS_KEPT ? (size_t)collected->gap_total : MS_GAPS_KEPT;
    struct ms_report_gap *gaps = ms_arena_get(collected->arena, (out->gap_count + 1) * sizeof(*gaps));
    struct ms_report_device *devices = ms_arena_get(collected->arena, (collected->device_count + 1) * sizeof(*devices));
    if (gaps == NULL || devices == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < out->gap_count; i++) {
        gaps[i] = collected->gaps[i];
        gaps[i].since_ns = since_begin(collected, gaps[i].since_ns);
        gaps[i].until_ns = since_begin(collected, gaps[i].until_ns);
    }
    out->gaps = gaps;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < collected->device_count; i++) {
        bool oom = false;
        for (size_t j = 0; j < collected->findings.count; j++) {
            oom = oom || (collected->findings.list[j].device_at == i);
        }
        if (collected->devices[i]->curve.changes != 0 || oom) {
            rc = make_device(collected, i, &devices[out->device_count++]);
        }
    }
    qsort(devices, out->device_count, sizeof(*devices), by_number);
    out->devices = devices;
    rc = rc != 0 ? rc : make_notes(collected, &stats, out);
    rc = rc != 0 || collected->error != 0 ? rc : ms__distinguish_sites(collected);
    struct ms_report_site *sites = ms_arena_get(collected->arena, (collected->site_count + 1) * sizeof(*sites));
    if (rc != 0 || sites == NULL || collected->error != 0) {
        return rc != 0 ? rc : -ENOMEM;
    }
    if (collected->site_count != 0) {
        memcpy(sites, collected->sites, collected->site_count * sizeof(*sites));
    }
    out->sites = sites;
    out->site_count = collected->site_count;
    return 0;
}
