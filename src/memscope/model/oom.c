/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots, and the rows for a driver out of memory: a snapshot, the failed call, and (analysis oom) the most recent
 * and the largest live blocks. Allocators retry at once: details are written at most every two seconds, triggers
 * always. */
#include "memscope/model/model_internal.h"

#include <stdlib.h>
#include <string.h>

#define DETAILS_EVERY_NS 2000000000ull
#define TOP_K_DEFAULT    10u
#define TOP_K_MAX        1000u

/* ---- snapshot ---- */

struct memory_facts {
    uint64_t reserved_b, max_reserved_b, allocated_b, max_allocated_b, total_b, free_b;
};

static double percent(uint64_t part, uint64_t whole)
{
    return whole != 0 ? (double)part / (double)whole * 100.0 : 0.0;
}

/* Both sets of keys: those of the original program and those of its documentation. */
static void snapshot_row(struct ms_model *model, const struct ms_event *event, struct ms_text name,
                         const struct memory_facts *m)
{
    struct ms_row *row = ms__row(model, MS_EV_SNAPSHOT, MS_TYPE_SNAPSHOT, event, event->device);
    uint64_t used_b = m->total_b > m->free_b ? m->total_b - m->free_b : 0;
    row->name = name;
    ms__attr_number(row, MS_ATTR_RESERVED, m->reserved_b);
    ms__attr_number(row, MS_ATTR_MAX_RESERVED, m->max_reserved_b);
    ms__attr_number(row, MS_ATTR_ALLOCATED, m->allocated_b);
    ms__attr_number(row, MS_ATTR_MAX_ALLOCATED, m->max_allocated_b);
    ms__attr_number(row, MS_ATTR_TOTAL, m->total_b);
    ms__attr_number(row, MS_ATTR_FREE, m->free_b);
    ms__attr_rate(row, MS_ATTR_DEVICE_RATE, percent(used_b, m->total_b));
    ms__attr_rate(row, MS_ATTR_RESERVED_RATE, percent(m->allocated_b, m->reserved_b));
    ms__attr_number(row, MS_ATTR_TOTAL_MEM, m->total_b);
    ms__attr_number(row, MS_ATTR_FREE_MEM, m->free_b);
    ms__attr_number(row, MS_ATTR_PEAK_RESERVED, m->max_reserved_b);
    ms__attr_number(row, MS_ATTR_PEAK_ALLOCATED, m->max_allocated_b);
    ms__attr_rate(row, MS_ATTR_DEVICE_UTILIZATION, percent(used_b, m->total_b));
    ms__attr_rate(row, MS_ATTR_PT_UTILIZATION, percent(m->allocated_b, m->reserved_b));
    ms__row_send(model, 0);
}

/* What the model knows about the device. */
static struct memory_facts facts_of(struct ms_model *model, uint32_t device)
{
    static const uint8_t frameworks[] = {MS_SPACE_PTA, MS_SPACE_MINDSPORE, MS_SPACE_ATB, MS_SPACE_HAL, MS_SPACE_HOST};
    struct memory_facts facts = {0};
    struct ms_pool_state pool;
    for (unsigned i = 0; i < sizeof(frameworks); i++) {
        if (ms_model_pool(model, frameworks[i], device, &pool)) {
            bool none = frameworks[i] == MS_SPACE_HAL || frameworks[i] == MS_SPACE_HOST; /* nothing is reserved ahead */
            facts.reserved_b = none ? pool.used_b : pool.total_b;
            facts.max_reserved_b = none ? pool.peak_used_b : pool.peak_total_b;
            facts.allocated_b = pool.used_b;
            facts.max_allocated_b = pool.peak_used_b;
            break;
        }
    }
    const struct ms_device *entry = ms__device(model, device);
    if (entry != NULL && entry->usage_known) {
        facts.total_b = entry->usage_total_b;
        facts.free_b = entry->usage_total_b > entry->usage_device_b ? entry->usage_total_b - entry->usage_device_b : 0;
    }
    return facts;
}

static uint64_t or_known(uint64_t given, uint64_t known)
{
    return given != UINT64_MAX ? given : known;
}

/* A row requested by the program, so it is also written outside tracing. The model fills in what the program left
 * open. */
int ms__snapshot(struct ms_model *model, const struct ms_event *event)
{
    const struct ms_device *device = ms__device(model, event->device);
    if (device == NULL || (!device->wanted && event->device != MS_DEV_CPU)) {
        return 0;
    }
    struct memory_facts known = facts_of(model, event->device);
    const struct ms_event_snapshot *given = &event->snapshot;
    known = (struct memory_facts){
        .reserved_b = or_known(given->reserved_b, known.reserved_b),
        .max_reserved_b = or_known(given->max_reserved_b, known.max_reserved_b),
        .allocated_b = or_known(given->allocated_b, known.allocated_b),
        .max_allocated_b = or_known(given->max_allocated_b, known.max_allocated_b),
        .total_b = or_known(given->total_b, known.total_b),
        .free_b = or_known(given->free_b, known.free_b),
    };
    snapshot_row(model, event, event->text, &known);
    return 0;
}

/* ---- details ---- */

static bool is_candidate(const struct ms_block *block, uint32_t device)
{
    if (block->state != MS_BLOCK_LIVE) {
        return false;
    }
    return block->type == MS_TYPE_HAL || (MS_SPACE_IS_POOL(block->space) && block->device == device);
}

static void detail_row(struct ms_model *model, const struct ms_event *event, enum ms_row_type type, const char *name,
                       const struct ms_block *block)
{
    struct ms_row *row = ms__row(model, MS_EV_OOM_DETAIL, type, event, event->device);
    row->name = (struct ms_text){.s = name, .length_b = (uint32_t)strlen(name)};
    row->c_stack = block->c_stack;
    row->python_stack = block->python_stack;
    const char *pool = ms_type_name(block->type);
    ms__attr_text(row, MS_ATTR_POOL, pool, strlen(pool));
    ms__attr_form(row, MS_ATTR_PTR, MS_FORM_ADDR, block->addr);
    ms__attr_number(row, MS_ATTR_SIZE, block->size_b);
    ms__attr_number(row, MS_ATTR_TIMESTAMP, block->malloc_ns);
    ms__row_send(model, 0);
}

/* Order of the largest: size, then the older one. A heap with the worst on top keeps the best k. */
static bool better(const struct ms_block *a, const struct ms_block *b)
{
    return a->size_b != b->size_b ? a->size_b > b->size_b : a->allocation_id < b->allocation_id;
}

static void sift_down(const struct ms_block **heap, uint32_t count, uint32_t at)
{
    for (;;) {
        uint32_t worst = at, left = 2 * at + 1;
        if (left < count && better(heap[worst], heap[left])) {
            worst = left;
        }
        if (left + 1 < count && better(heap[worst], heap[left + 1])) {
            worst = left + 1;
        }
        if (worst == at) {
            return;
        }
        const struct ms_block *swap = heap[at];
        heap[at] = heap[worst];
        heap[worst] = swap;
        at = worst;
    }
}

static int compare_better(const void *a, const void *b)
{
    return better(*(const struct ms_block *const *)a, *(const struct ms_block *const *)b) ? -1 : 1;
}

static void details(struct ms_model *model, const struct ms_event *event)
{
    uint32_t k = model->options.oom_top_k != 0 ? model->options.oom_top_k : TOP_K_DEFAULT;
    k = k < TOP_K_MAX ? k : TOP_K_MAX;
    uint32_t shown = 0;
    for (uint32_t n = model->blocks.newest; n != 0 && shown < k; n = ms__block(&model->blocks, n)->older) {
        const struct ms_block *block = ms__block(&model->blocks, n);
        if (is_candidate(block, event->device)) {
            detail_row(model, event, MS_TYPE_OOM_RECENT_ALLOC, "OOM_RecentAlloc", block);
            shown++;
        }
    }
    const struct ms_block *heap[TOP_K_MAX];
    uint32_t count = 0;
    for (uint32_t n = model->blocks.oldest; n != 0; n = ms__block(&model->blocks, n)->newer) {
        const struct ms_block *block = ms__block(&model->blocks, n);
        if (!is_candidate(block, event->device)) {
            continue;
        }
        if (count < k) {
            heap[count++] = block;
            if (count == k) {
                for (uint32_t i = k / 2; i-- > 0;) {
                    sift_down(heap, k, i);
                }
            }
        } else if (better(block, heap[0])) {
            heap[0] = block;
            sift_down(heap, k, 0);
        }
    }
    qsort(heap, count, sizeof(heap[0]), compare_better);
    for (uint32_t i = 0; i < count; i++) {
        detail_row(model, event, MS_TYPE_OOM_TOP_ALLOC, "OOM_TopAlloc", heap[i]);
    }
}

int ms__oom(struct ms_model *model, const struct ms_event *event)
{
    static const char *const functions[] = {
        [0] = "N/A", [MS_OOM_MEM_ALLOC] = "halMemAlloc", [MS_OOM_MEM_CREATE] = "halMemCreate"};
    const uint32_t both = MS_WANT_ALLOC | MS_WANT_FREE;
    if (!ms__active(model, event->device) || (model->collect & both) != both) {
        return 0;
    }
    if (!model->options.event_ids) {
        struct memory_facts facts = facts_of(model, event->device);
        snapshot_row(model, event, (struct ms_text){.s = "OOM_Snapshot", .length_b = 12}, &facts);
    }
    if ((model->options.analysis & MS_ANALYSIS_OOM) == 0) {
        return 0;
    }
    const char *function = functions[event->function <= MS_OOM_MEM_CREATE ? event->function : 0];
    struct ms_row *row = ms__row(model, MS_EV_OOM_DETAIL, MS_TYPE_OOM_TRIGGER, event, event->device);
    row->name = (struct ms_text){.s = "OOM_Trigger", .length_b = 11};
    ms__attr_text(row, MS_ATTR_FUNC, function, strlen(function));
    ms__attr_number(row, MS_ATTR_REQ_SIZE, event->size_b);
    ms__attr_number(row, MS_ATTR_FLAG, event->flag);
    ms__row_send(model, 0);
    if (model->oom_ns == 0 || event->time_ns - model->oom_ns >= DETAILS_EVERY_NS) {
        model->oom_ns = event->time_ns;
        details(model, event);
    }
    return 0;
}
