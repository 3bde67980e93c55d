/* SPDX-License-Identifier: Apache-2.0 */
/* See fragments.h. A segment is a driver block that a pool uses; adjacent pieces of mapped memory count as one. Blocks
 * of up to 1 MiB are in segments of 2 MiB (torch_npu's small pool), others elsewhere, so neither can use the other's
 * free memory. */
#include "memscope/analyze/report/fragments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_EVERY_NS  1000000u
#define SMALL_BLOCK_B   (1u << 20)
#define SMALL_SEGMENT_B (2u << 20)
#define IDLE_STEPS      3u
#define SPARSE_STEPS    2u
#define WALK_FREE       1000000u /* blocks that may be visited in any case */

/* Is the segment almost empty? */
static bool is_sparse(uint64_t used_b, uint64_t size_b)
{
    return used_b != 0 && used_b <= size_b / 4;
}

/* It was half full once: its free memory is fragmentation, not a segment that is still being filled. */
static bool was_fuller(const struct ms_ledger_entry *segment)
{
    return segment->fullest_b >= segment->size_b / 2;
}

static bool is_small(const struct ms_ledger_device *device, uint64_t segment_b)
{
    return device->totals_b[MS_SPACE_PTA] != 0 && segment_b <= SMALL_SEGMENT_B;
}

/* ---- scanning a range ---- */

struct fragment_scan {
    uint64_t addr, size_b, at; /* at: end of the last block */
    uint8_t space;             /* of the first block; other spaces are nested in its blocks */
    bool any;
    uint64_t used_b, blocks, largest_gap_b;
    uint64_t too_small_b, smallest_b; /* gaps smaller than the smallest request */
    uint64_t largest_too_small_b;
    struct ms_block largest;
};

static void gap(struct fragment_scan *look, uint64_t gap_b)
{
    look->largest_gap_b = gap_b > look->largest_gap_b ? gap_b : look->largest_gap_b;
    if (gap_b < look->smallest_b) {
        look->too_small_b += gap_b;
        look->largest_too_small_b = gap_b > look->largest_too_small_b ? gap_b : look->largest_too_small_b;
    }
}

static int look_at(void *argument, const struct ms_block *block)
{
    struct fragment_scan *look = argument;
    if (look->any && block->space != look->space) {
        return 0;
    }
    look->any = true;
    look->space = block->space;
    uint64_t end = look->addr + look->size_b;
    uint64_t from = block->addr > look->at ? block->addr : look->at;
    uint64_t to = block->addr + block->size_b < end ? block->addr + block->size_b : end;
    gap(look, from - look->at);
    look->used_b += to > from ? to - from : 0;
    look->blocks++;
    look->at = to > look->at ? to : look->at;
    if (block->size_b > look->largest.size_b) {
        look->largest = *block;
    }
    return 0;
}

static int look_into(struct ms_fragments *fragments, struct ms_ledger *ledger, struct fragment_scan *look,
                     uint64_t addr, uint64_t size_b, uint64_t smallest_b)
{
    *look = (struct fragment_scan){.addr = addr, .size_b = size_b, .at = addr, .smallest_b = smallest_b};
    int rc = ms_model_blocks_in(ledger->model, addr, size_b, look_at, look);
    if (look->any) {
        gap(look, addr + size_b - look->at);
    } else {
        look->largest_gap_b = size_b;
    }
    fragments->walked += look->blocks + 1;
    return rc;
}

/* ---- pins ---- */

static void add_pin(struct ms_pins *pins, struct ms_ledger *ledger, const struct fragment_scan *look)
{
    uint64_t free_b = look->size_b - look->used_b;
    pins->free_b += free_b;
    pins->total++;
    size_t at = pins->count;
    while (at > 0 && pins->list[at - 1].size_b - pins->list[at - 1].used_b < free_b) {
        at--;
    }
    if (at == MS_PINS_KEPT) {
        return;
    }
    size_t last = pins->count < MS_PINS_KEPT ? pins->count++ : MS_PINS_KEPT - 1;
    memmove(&pins->list[at + 1], &pins->list[at], (last - at) * sizeof(pins->list[0]));
    uint32_t number = ms_ledger_find(ledger, look->largest.allocation_id);
    pins->list[at] =
        (struct ms_pin){.addr = look->addr,
                        .size_b = look->size_b,
                        .used_b = look->used_b,
                        .blocks = look->blocks,
                        .largest = number != 0 ? ms_remnant_of(ms_ledger_at(ledger, number)) : (struct ms_remnant){0}};
}

/* ---- samples ---- */

struct scanned_range {
    uint64_t addr, size_b;
    bool mapped, fuller;
};

struct collect {
    const struct ms_ledger *ledger;
    uint32_t device_at;
    struct scanned_range *ranges;
    size_t count, room;
};

static int collect(void *argument, const struct ms_segment *segment)
{
    struct collect *c = argument;
    uint32_t number = segment->backing != NULL ? ms_ledger_find(c->ledger, segment->backing->allocation_id) : 0;
    const struct ms_ledger_entry *entry = number != 0 ? ms_ledger_at(c->ledger, number) : NULL;
    if (entry == NULL || entry->device_at != c->device_at || entry->role != MS_ROLE_SEGMENT) {
        return 0;
    }
    struct scanned_range *last = c->count != 0 ? &c->ranges[c->count - 1] : NULL;
    if (segment->mapped && last != NULL && last->mapped && last->addr + last->size_b == segment->addr) {
        last->size_b += segment->size_b;
        last->fuller = last->fuller || was_fuller(entry);
        return 0;
    }
    if (c->count == c->room) {
        size_t room = c->room != 0 ? c->room * 2 : 64;
        struct scanned_range *ranges = realloc(c->ranges, room * sizeof(*ranges));
        if (ranges == NULL) {
            return -ENOMEM;
        }
        c->ranges = ranges;
        c->room = room;
    }
    c->ranges[c->count++] = (struct scanned_range){segment->addr, segment->size_b, segment->mapped, was_fuller(entry)};
    return 0;
}

static void drop_every_second(struct ms_fragments *fragments)
{
    for (size_t i = 0; i < fragments->point_count / 2; i++) {
        fragments->points[i] = fragments->points[2 * i];
    }
    fragments->point_count /= 2;
    fragments->every_ns *= 2;
}

/* largest_b: the largest piece that is too small, for small and for large blocks. */
static void note_split(struct ms_fragments *fragments, const struct ms_ledger_device *device, uint32_t device_at,
                       uint64_t too_small_b, const uint64_t largest_b[2], struct ms_findings *findings)
{
    fragments->split_b[fragments->split_at++ % 3] = too_small_b;
    uint64_t lasting_b = too_small_b;
    for (unsigned i = 0; i < 3; i++) {
        lasting_b = fragments->split_b[i] < lasting_b ? fragments->split_b[i] : lasting_b;
    }
    if (lasting_b == 0 || fragments->split_at < 3) {
        return;
    }
    struct ms_finding *finding = ms_finding_at(findings, MS_PATTERN_SPLIT_WASTE, device_at, MS_REPORT_NO_SITE, 0);
    if (finding != NULL && lasting_b > finding->reserved_b) {
        finding->reserved_b = finding->bytes = lasting_b;
        finding->time_ns = device->time_ns;
        finding->first_step = finding->last_step = device->step;
        memcpy(fragments->split_largest_b, largest_b, sizeof(fragments->split_largest_b));
    }
}

/* A request could use one of the pieces: they were not wasted after all. */
static void take_split_back(struct ms_fragments *fragments, uint32_t device_at, struct ms_findings *findings)
{
    struct ms_finding *finding = ms_finding_at(findings, MS_PATTERN_SPLIT_WASTE, device_at, MS_REPORT_NO_SITE, 0);
    if (finding != NULL) {
        finding->reserved_b = finding->bytes = 0;
    }
    memset(fragments->split_largest_b, 0, sizeof(fragments->split_largest_b));
    fragments->split_at = 0;
}

static int take_point(struct ms_fragments *fragments, struct ms_ledger *ledger, uint32_t device_at,
                      struct ms_findings *findings)
{
    const struct ms_ledger_device *device = ledger->devices[device_at];
    struct collect c = {.ledger = ledger, .device_at = device_at};
    struct ms_report_free point = {.t_ns = device->time_ns, .reserved_b = device->reserved_b, .used_b = device->used_b};
    struct ms_pins *pins = calloc(1, sizeof(*pins));
    uint64_t too_small_b = 0, largest_b[2] = {0, 0};
    int rc = pins != NULL ? ms_model_segments(ledger->model, collect, &c) : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < c.count; i++) {
        struct fragment_scan look;
        bool small = is_small(device, c.ranges[i].size_b);
        uint64_t smallest_b = fragments->smallest_before_b[small ? 0 : 1];
        rc = look_into(fragments, ledger, &look, c.ranges[i].addr, c.ranges[i].size_b, smallest_b);
        point.largest_free_b = look.largest_gap_b > point.largest_free_b ? look.largest_gap_b : point.largest_free_b;
        point.empty_b += look.used_b == 0 ? look.size_b : 0;
        too_small_b += look.too_small_b;
        uint64_t *largest = &largest_b[small ? 0 : 1];
        *largest = look.largest_too_small_b > *largest ? look.largest_too_small_b : *largest;
        if (c.ranges[i].fuller && is_sparse(look.used_b, look.size_b)) {
            point.pinned_free_b += look.size_b - look.used_b;
            add_pin(pins, ledger, &look);
        }
    }
    free(c.ranges);
    if (rc == 0 && !fragments->by_steps && pins->free_b > fragments->worst.free_b) {
        fragments->worst = *pins;
        fragments->worst.time_ns = device->time_ns;
    }
    free(pins);
    if (rc == 0) {
        fragments->points[fragments->point_count++] = point;
        note_split(fragments, device, device_at, too_small_b, largest_b, findings);
    }
    if (fragments->point_count == MS_FREE_POINTS) {
        drop_every_second(fragments);
    }
    fragments->next_ns = device->time_ns + fragments->every_ns;
    return rc;
}

/* ---- a new segment although a free range was large enough ---- */

static int find_blocked(struct ms_fragments *fragments, struct ms_ledger *ledger, uint32_t device_at,
                        const struct ms_ledger_entry *entry, struct ms_findings *findings)
{
    const struct ms_ledger_entry *fresh = ms_ledger_at(ledger, entry->segment);
    const struct ms_ledger_device *device = ledger->devices[device_at];
    bool small = is_small(device, fresh->size_b);
    struct ms_btree_place place;
    for (bool more = ms_btree_ceiling(&ledger->driver, 0, &place); more; more = ms_btree_next(&place)) {
        const struct ms_ledger_entry *segment = ms_ledger_at(ledger, place.value);
        if (segment == fresh || segment->role != MS_ROLE_SEGMENT || segment->device_at != device_at ||
            segment->inside_space != entry->space || is_small(device, segment->size_b) != small ||
            segment->size_b - segment->inside_b < entry->size_b) {
            continue;
        }
        struct fragment_scan look;
        int rc = look_into(fragments, ledger, &look, segment->addr, segment->size_b, 0);
        if (rc != 0) {
            return rc;
        }
        if (look.largest_gap_b < entry->size_b) {
            continue;
        }
        struct ms_finding *finding =
            ms_finding_at(findings, MS_PATTERN_STREAM_BLOCKED, device_at, entry->site, entry->op);
        if (finding != NULL) {
            finding->first_step = finding->blocks == 0 ? entry->step : finding->first_step;
            finding->time_ns = finding->blocks == 0 ? entry->malloc_ns : finding->time_ns;
            finding->last_step = entry->step;
            finding->op = entry->op;
            finding->blocks++;
            finding->bytes += entry->size_b;
            finding->reserved_b += fresh->size_b;
            finding->addr = entry->size_b > finding->size_b ? entry->addr : finding->addr;
            finding->size_b = entry->size_b > finding->size_b ? entry->size_b : finding->size_b;
        }
        return 0;
    }
    return 0;
}

/* ---- events ---- */

int ms_fragments_change(struct ms_fragments *fragments, struct ms_ledger *ledger, uint32_t device_at,
                        const struct ms_ledger_entry *entry, bool more, struct ms_findings *findings)
{
    const struct ms_ledger_device *device = ledger->devices[device_at];
    if (device->reserved_b == 0 || device->device == MS_DEV_CPU) {
        return 0;
    }
    if (fragments->points == NULL) {
        fragments->points = calloc(MS_FREE_POINTS, sizeof(*fragments->points));
        fragments->every_ns = FIRST_EVERY_NS;
        if (fragments->points == NULL) {
            return -ENOMEM;
        }
    }
    int rc = 0;
    if (more && MS_SPACE_IS_POOL(entry->space)) {
        unsigned class = entry->space == MS_SPACE_PTA && entry->size_b <= SMALL_BLOCK_B ? 0 : 1;
        uint64_t *smallest = &fragments->smallest_b[class];
        *smallest = *smallest == 0 || entry->size_b < *smallest ? entry->size_b : *smallest;
        if (entry->size_b <= fragments->split_largest_b[class]) {
            take_split_back(fragments, device_at, findings);
        }
        const struct ms_ledger_entry *segment = entry->segment != 0 ? ms_ledger_at(ledger, entry->segment) : NULL;
        if (segment != NULL && segment->inside_ever == 1 && segment->space == MS_SPACE_HAL &&
            fragments->walked < 2 * device->now + WALK_FREE) {
            rc = find_blocked(fragments, ledger, device_at, entry, findings);
        }
    }
    if (rc == 0 && device->time_ns >= fragments->next_ns && fragments->walked < 2 * device->now + WALK_FREE) {
        rc = take_point(fragments, ledger, device_at, findings);
    }
    return rc;
}

/* True if more than ever before; an equal value extends the finding to this step. */
static bool is_worst(struct ms_finding *finding, const struct ms_ledger_device *device, uint64_t bytes)
{
    finding->last_step = bytes == finding->reserved_b ? device->ended_step : finding->last_step;
    return bytes > finding->reserved_b;
}

struct by_site { /* free bytes in sparse segments, by the site of their largest block */
    uint32_t site;
    uint64_t free_b, segments;
    struct ms_remnant largest;
};

/* The site that keeps most. */
static void report_sparse(struct ms_findings *findings, const struct ms_ledger_device *device, uint32_t device_at,
                          const struct ms_pins *pins)
{
    struct by_site sites[MS_PINS_KEPT];
    size_t count = 0, best = 0;
    for (size_t i = 0; i < pins->count; i++) {
        const struct ms_pin *pin = &pins->list[i];
        size_t at = 0;
        while (at < count && sites[at].site != pin->largest.site) {
            at++;
        }
        if (at == count) {
            sites[count++] = (struct by_site){.site = pin->largest.site, .largest = pin->largest};
        }
        sites[at].free_b += pin->size_b - pin->used_b;
        sites[at].segments++;
        best = sites[at].free_b > sites[best].free_b ? at : best;
    }
    struct ms_finding *finding = count != 0 ? ms_finding_at(findings, MS_PATTERN_FRAGMENTATION, device_at,
                                                            sites[best].site, sites[best].largest.op)
                                            : NULL;
    if (finding == NULL || !is_worst(finding, device, pins->free_b)) {
        return;
    }
    finding->op = sites[best].largest.op;
    finding->first_step = sites[best].largest.step;
    finding->last_step = device->ended_step;
    finding->blocks = pins->total;
    finding->bytes = finding->reserved_b = pins->free_b;
    finding->addr = sites[best].largest.addr;
    finding->size_b = sites[best].largest.size_b;
    finding->time_ns = sites[best].largest.malloc_ns;
}

static void tell_idle(struct ms_findings *findings, const struct ms_ledger_device *device, uint32_t device_at,
                      uint64_t idle_b, uint64_t segments, const struct ms_ledger_entry *largest)
{
    struct ms_finding *finding =
        ms_finding_at(findings, MS_PATTERN_OVER_RESERVE, device_at, largest->site, largest->op);
    if (finding == NULL || !is_worst(finding, device, idle_b)) {
        return;
    }
    finding->op = largest->op;
    finding->first_step = largest->inside_step;
    finding->last_step = device->ended_step;
    finding->blocks = segments;
    finding->bytes = finding->reserved_b = idle_b;
    finding->addr = largest->addr;
    finding->size_b = largest->size_b;
    finding->time_ns = largest->malloc_ns;
}

int ms_fragments_step(struct ms_fragments *fragments, struct ms_ledger *ledger, uint32_t device_at,
                      struct ms_findings *findings)
{
    const struct ms_ledger_device *device = ledger->devices[device_at];
    struct ms_pins *pins = calloc(1, sizeof(*pins));
    struct ms_btree_place place;
    uint64_t idle_b = 0, idle_count = 0;
    const struct ms_ledger_entry *idle = NULL;
    int rc = pins != NULL ? 0 : -ENOMEM;
    for (bool more = ms_btree_ceiling(&ledger->driver, 0, &place); rc == 0 && more; more = ms_btree_next(&place)) {
        struct ms_ledger_entry *segment = ms_ledger_at(ledger, place.value);
        if (segment->role != MS_ROLE_SEGMENT || segment->device_at != device_at) {
            continue;
        }
        segment->idle_steps = segment->inside_most_b == 0 ? segment->idle_steps + 1 : 0;
        segment->sparse_steps =
            is_sparse(segment->inside_most_b, segment->size_b) && was_fuller(segment) ? segment->sparse_steps + 1 : 0;
        segment->inside_most_b = segment->inside_b;
        if (segment->idle_steps >= IDLE_STEPS) {
            idle_b += segment->size_b;
            idle_count++;
            idle = idle == NULL || segment->size_b > idle->size_b ? segment : idle;
        }
        if (segment->sparse_steps >= SPARSE_STEPS && segment->inside_b != 0 &&
            fragments->walked < 2 * device->now + WALK_FREE) {
            struct fragment_scan look;
            rc = look_into(fragments, ledger, &look, segment->addr, segment->size_b, 0);
            add_pin(pins, ledger, &look);
        }
    }
    if (rc == 0 && idle != NULL) {
        tell_idle(findings, device, device_at, idle_b, idle_count, idle);
    }
    if (rc == 0 && pins->total != 0) {
        if (!fragments->by_steps || pins->free_b > fragments->worst.free_b) {
            fragments->worst = *pins;
            fragments->worst.time_ns = device->time_ns;
            fragments->by_steps = true;
        }
        report_sparse(findings, device, device_at, pins);
    }
    free(pins);
    for (unsigned i = 0; i < 2; i++) {
        fragments->smallest_before_b[i] = fragments->smallest_b[i];
        fragments->smallest_b[i] = 0;
    }
    return rc;
}

void ms_fragments_free(struct ms_fragments *fragments)
{
    free(fragments->points);
    *fragments = (struct ms_fragments){0};
}
