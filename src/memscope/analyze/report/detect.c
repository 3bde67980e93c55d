/* SPDX-License-Identifier: Apache-2.0 */
/* See detect.h. A detector examines a block when it ends, and fills in what was wasted and when; the table at the end
 * lists all detectors. Blocks without recorded accesses are not judged. */
#include "memscope/analyze/report/detect.h"

#include "base/macros.h"

#include <errno.h>
#include <stdlib.h>

#define PART_UNTOUCHED  4u          /* overallocation: at least a quarter */
#define UNTOUCHED_MIN_B (64u << 10) /* and at least this many bytes */
#define REMAINDER_B     (1u << 20)  /* a pool may add up to this to a large block that it does not split */
#define GROWING_UPS     8u          /* growing requests: grew at least this many times */
#define FIRST_USES_MAX  65536u

struct end {
    struct ms_detect *detect;
    struct ms_ledger *ledger;
    const struct ms_ledger_entry *entry;
    uint64_t at;
    bool freed;
};

static bool has(const struct ms_ledger_entry *entry, unsigned pattern)
{
    for (uint8_t rest = entry->use.stamps.found; rest != 0; rest >>= 2) {
        if ((rest & 3) == pattern) {
            return true;
        }
    }
    return false;
}

/* ---- which blocks ---- */

static bool analysed(const struct ms_ledger_entry *entry)
{
    return entry->role == MS_ROLE_COUNTED &&
           (entry->space == MS_SPACE_MINDSPORE || ms_inefficient_framework(entry->space) != MS_FRAMEWORK_NONE);
}

/* Leaks: allocated in a step after the first, kept until the program ended although a later step has ended, and, if
 * accesses are recorded, not used in that later step. They could have been freed after their last use, or at the end of
 * their step. Driver memory counts, too, unless a pool keeps it for reuse. */
static bool outlived(const struct ms_ledger *ledger, const struct ms_ledger_entry *entry)
{
    return (analysed(entry) || entry->role == MS_ROLE_DIRECT) && entry->step >= 2 &&
           ledger->devices[entry->device_at]->ended_step > entry->step;
}

/* ---- detectors ---- */

static bool early(const struct end *end, struct ms_waste *waste)
{
    const struct ms_ledger_entry *entry = end->entry;
    waste->from = entry->born;
    waste->to = entry->use.first_from;
    waste->to_op = entry->use.first_op;
    return has(entry, MS_INEFFICIENT_EARLY);
}

/* A block that has outlived its step may be a leak, which the next step end shows: see ms_detect_late. */
static bool late(const struct end *end, struct ms_waste *waste)
{
    const struct ms_ledger_entry *entry = end->entry;
    waste->from = entry->use.last_to;
    waste->from_op = entry->use.last_op;
    return end->freed && has(entry, MS_INEFFICIENT_LATE) && !outlived(end->ledger, entry);
}

static bool idle(const struct end *end, struct ms_waste *waste)
{
    const struct ms_use *use = &end->entry->use;
    waste->from = use->idle_from;
    waste->to = use->idle_to;
    waste->from_op = use->idle_from_op;
    waste->to_op = use->idle_to_op;
    return use->idle_to > use->idle_from;
}

/* Memory that an operator allocates and frees internally is not announced as its input or output. */
static bool is_internal(const struct end *end)
{
    const struct ms_ledger_entry *entry = end->entry;
    const uint64_t *known = ms_map_get(&end->ledger->thread_of, entry->tid);
    const struct ms_ledger_thread *thread = known != NULL ? end->ledger->threads[*known] : NULL;
    for (uint32_t i = 0; entry->use.born_op != 0 && thread != NULL && i < thread->depth && i < MS_OPS_OPEN; i++) {
        if (thread->ops[i].number == entry->use.born_op) {
            return true;
        }
    }
    return false;
}

static bool unused(const struct end *end, struct ms_waste *waste)
{
    (void)waste;
    const struct ms_use *use = &end->entry->use;
    return end->freed && use->accesses == 0 && end->ledger->accesses != use->others && !is_internal(end);
}

static uint64_t size_key(uint32_t device_at, uint64_t size_b)
{
    return size_b ^ (uint64_t)device_at << 56;
}

static bool redundant(const struct end *end, struct ms_waste *waste)
{
    const struct ms_ledger_entry *entry = end->entry;
    const uint64_t *known = ms_map_get(&end->detect->first_of, size_key(entry->device_at, entry->size_b));
    if (!end->freed || known == NULL || entry->use.accesses == 0) {
        return false;
    }
    const struct ms_first_use *other = &end->detect->first[*known];
    waste->site = other->site;
    waste->op = other->op;
    waste->from = other->at;
    waste->from_op = entry->use.last_op;
    waste->to_op = other->first_op;
    return other->id != entry->id && other->at >= entry->use.last_to;
}

static bool dead_write(const struct end *end, struct ms_waste *waste)
{
    const struct ms_use *use = &end->entry->use;
    waste->from = use->dead_from;
    waste->to = use->dead_to;
    waste->from_op = use->dead_from_op;
    waste->to_op = use->dead_to_op;
    return use->dead_to > use->dead_from;
}

static bool overallocation(const struct end *end, struct ms_waste *waste)
{
    const struct ms_use *use = &end->entry->use;
    uint64_t size_b = end->entry->size_b, touched_b = 0;
    for (unsigned i = 0; i < use->range_count; i++) {
        touched_b += use->range[i][1] - use->range[i][0];
    }
    uint64_t rest_b = size_b - touched_b;
    waste->bytes = rest_b;
    return use->accesses != 0 && rest_b >= UNTOUCHED_MIN_B && rest_b >= size_b / PART_UNTOUCHED &&
           (size_b <= REMAINDER_B || rest_b > REMAINDER_B);
}

static bool growing(const struct end *end, struct ms_waste *waste)
{
    const struct ms_ledger_entry *entry = end->entry;
    if (entry->site >= end->detect->request_room) {
        return false;
    }
    const struct ms_requests *requests = &end->detect->requests[entry->site];
    bool so_far = requests->ups >= GROWING_UPS / 2 && requests->downs * 10 <= requests->ups;
    waste->bytes = entry->size_b - requests->first_b;
    return so_far && entry->size_b > requests->first_b;
}

static const struct {
    enum ms_pattern_id pattern;
    bool (*detect)(const struct end *end, struct ms_waste *waste);
} detectors[] = {
    {MS_PATTERN_EARLY, early},         {MS_PATTERN_LATE, late},
    {MS_PATTERN_IDLE, idle},           {MS_PATTERN_UNUSED, unused},
    {MS_PATTERN_REDUNDANT, redundant}, {MS_PATTERN_DEAD_WRITE, dead_write},
    {MS_PATTERN_GROWING, growing},     {MS_PATTERN_OVERALLOCATION, overallocation},
};

/* ---- events ---- */

void ms_detect_end(struct ms_detect *detect, struct ms_findings *findings, struct ms_ledger *ledger,
                   const struct ms_ledger_entry *entry, uint64_t end_at, bool freed)
{
    struct end end = {detect, ledger, entry, end_at, freed};
    if (!analysed(entry)) {
        return;
    }
    for (size_t i = 0; i < MS_COUNT_OF(detectors); i++) {
        struct ms_waste waste = {.pattern = detectors[i].pattern,
                                 .site = entry->site,
                                 .op = entry->op,
                                 .from = entry->born,
                                 .to = end_at,
                                 .bytes = entry->size_b};
        if (detectors[i].detect(&end, &waste)) {
            ms_findings_add(findings, entry, &waste);
        }
    }
}

int ms_detect_departed(struct ms_departures *departures, const struct ms_ledger *ledger,
                       const struct ms_ledger_entry *entry, uint64_t end_at)
{
    if (!outlived(ledger, entry)) {
        return 0;
    }
    if (departures->count == departures->room) {
        size_t room = departures->room != 0 ? departures->room * 2 : 64;
        struct ms_departed *list = realloc(departures->list, room * sizeof(*list));
        if (list == NULL) {
            return -ENOMEM;
        }
        departures->list = list;
        departures->room = room;
    }
    departures->list[departures->count++] = (struct ms_departed){*entry, end_at};
    return 0;
}

bool ms_detect_leak(struct ms_findings *findings, const struct ms_ledger *ledger, const struct ms_step_table *steps,
                    const struct ms_ledger_entry *entry, uint64_t end_at)
{
    const struct ms_ledger_device *device = ledger->devices[entry->device_at];
    if (!outlived(ledger, entry) || (entry->use.accesses != 0 && entry->use.last_step >= device->ended_step)) {
        return false;
    }
    struct ms_waste waste = {.pattern = MS_PATTERN_LEAK,
                             .site = entry->site,
                             .op = entry->op,
                             .from = entry->use.accesses != 0 ? entry->use.last_to : ms_step_end_at(steps, entry->step),
                             .to = end_at,
                             .from_op = entry->use.last_op,
                             .bytes = entry->size_b};
    ms_findings_add(findings, entry, &waste);
    return true;
}

void ms_detect_late(struct ms_findings *findings, const struct ms_departed *departed)
{
    const struct ms_ledger_entry *entry = &departed->entry;
    if (analysed(entry) && has(entry, MS_INEFFICIENT_LATE)) {
        struct ms_waste waste = {.pattern = MS_PATTERN_LATE,
                                 .site = entry->site,
                                 .op = entry->op,
                                 .from = entry->use.last_to,
                                 .to = departed->end_at,
                                 .from_op = entry->use.last_op,
                                 .bytes = entry->size_b};
        ms_findings_add(findings, entry, &waste);
    }
}

int ms_detect_born(struct ms_detect *detect, const struct ms_ledger_entry *entry)
{
    if (!analysed(entry) || entry->site == MS_REPORT_NO_SITE) {
        return 0;
    }
    if (entry->site >= detect->request_room) {
        size_t room = detect->request_room != 0 ? detect->request_room * 2 : 256;
        room = room > entry->site ? room : entry->site + 1;
        struct ms_requests *requests = realloc(detect->requests, room * sizeof(*requests));
        if (requests == NULL) {
            return -ENOMEM;
        }
        for (size_t i = detect->request_room; i < room; i++) {
            requests[i] = (struct ms_requests){0};
        }
        detect->requests = requests;
        detect->request_room = room;
    }
    struct ms_requests *requests = &detect->requests[entry->site];
    if (requests->last_b == 0) {
        requests->first_b = entry->size_b;
    } else {
        requests->ups += entry->size_b > requests->last_b;
        requests->downs += entry->size_b < requests->last_b;
    }
    requests->last_b = entry->size_b;
    return 0;
}

int ms_detect_first_use(struct ms_detect *detect, const struct ms_ledger_entry *entry)
{
    if (!analysed(entry)) {
        return 0;
    }
    if (detect->first_count == detect->first_room && detect->first_room < FIRST_USES_MAX) {
        size_t room = detect->first_room != 0 ? detect->first_room * 2 : 64;
        struct ms_first_use *first = realloc(detect->first, room * sizeof(*first));
        if (first == NULL) {
            return -ENOMEM;
        }
        detect->first = first;
        detect->first_room = room;
    }
    uint64_t key = size_key(entry->device_at, entry->size_b);
    uint64_t *at = ms_map_get(&detect->first_of, key);
    if (at == NULL && detect->first_count < detect->first_room) {
        at = ms_map_put(&detect->first_of, key, detect->first_count);
        detect->first_count += at != NULL;
    }
    if (at != NULL) {
        detect->first[*at] = (struct ms_first_use){.id = entry->id,
                                                   .at = entry->use.first_from + 1,
                                                   .site = entry->site,
                                                   .op = entry->op,
                                                   .first_op = entry->use.first_op};
    }
    return 0;
}

bool ms_detect_is_growing(const struct ms_detect *detect, uint32_t site)
{
    const struct ms_requests *requests = site < detect->request_room ? &detect->requests[site] : NULL;
    return requests != NULL && requests->ups >= GROWING_UPS && requests->downs * 10 <= requests->ups &&
           requests->last_b >= 2 * requests->first_b;
}

void ms_detect_free(struct ms_detect *detect)
{
    ms_map_free(&detect->first_of);
    free(detect->first);
    free(detect->requests);
    *detect = (struct ms_detect){0};
}
