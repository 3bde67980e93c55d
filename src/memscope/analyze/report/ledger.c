/* SPDX-License-Identifier: Apache-2.0 */
/* See ledger.h. An allocation failure is stored in `error`; the ledger continues with what it has. */
#include "memscope/analyze/report/ledger.h"

#include "base/macros.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ms_ledger_init(struct ms_ledger *ledger, struct ms_model *model, uint32_t idle_threshold)
{
    *ledger = (struct ms_ledger){.model = model, .entry_used = 1};
    ledger->inefficient.threshold = idle_threshold != 0 ? idle_threshold : MS_IDLE_THRESHOLD;
}

void ms_ledger_free(struct ms_ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->device_count; i++) {
        free(ledger->devices[i]);
    }
    for (uint32_t i = 0; i < ledger->thread_count; i++) {
        free(ledger->threads[i]->touched);
        free(ledger->threads[i]);
    }
    for (uint32_t i = 0; i < ledger->entry_room / MS_LEDGER_CHUNK; i++) {
        free(ledger->chunks[i]);
    }
    free(ledger->devices);
    free(ledger->threads);
    free(ledger->chunks);
    free(ledger->pending);
    free(ledger->sites);
    ms_map_free(&ledger->entry_of);
    ms_map_free(&ledger->site_of);
    ms_map_free(&ledger->thread_of);
    ms_btree_free(&ledger->driver);
    ms_intern_free(&ledger->ops);
    *ledger = (struct ms_ledger){0};
}

/* ---- tables ---- */

struct ms_ledger_device *ms_ledger_device(struct ms_ledger *ledger, uint32_t device, uint32_t *at)
{
    uint32_t i = ledger->device_last;
    if (i >= ledger->device_count || ledger->devices[i]->device != device) {
        for (i = 0; i < ledger->device_count && ledger->devices[i]->device != device; i++) {
        }
    }
    if (i == ledger->device_count) {
        struct ms_ledger_device **devices = realloc(ledger->devices, (i + 1) * sizeof(struct ms_ledger_device *));
        struct ms_ledger_device *added = calloc(1, sizeof(*added));
        if (devices != NULL) {
            ledger->devices = devices;
        }
        if (devices == NULL || added == NULL) {
            free(added);
            ledger->error = -ENOMEM;
            return NULL;
        }
        added->device = device;
        devices[ledger->device_count++] = added;
    }
    ledger->device_last = i;
    if (at != NULL) {
        *at = i;
    }
    return ledger->devices[i];
}

struct ms_ledger_thread *ms_ledger_thread(struct ms_ledger *ledger, uint32_t tid)
{
    uint64_t *known = ms_map_get(&ledger->thread_of, tid);
    if (known != NULL) {
        return ledger->threads[*known];
    }
    struct ms_ledger_thread **threads =
        realloc(ledger->threads, (ledger->thread_count + 1) * sizeof(struct ms_ledger_thread *));
    struct ms_ledger_thread *thread = calloc(1, sizeof(*thread));
    if (threads != NULL) {
        ledger->threads = threads;
    }
    if (threads == NULL || thread == NULL || ms_map_put(&ledger->thread_of, tid, ledger->thread_count) == NULL) {
        free(thread);
        ledger->error = -ENOMEM;
        return NULL;
    }
    thread->tid = tid;
    threads[ledger->thread_count++] = thread;
    return thread;
}

uint32_t ms_ledger_find(const struct ms_ledger *ledger, uint64_t allocation_id)
{
    const uint64_t *known = ms_map_get(&ledger->entry_of, allocation_id);
    return known != NULL ? (uint32_t)*known : 0;
}

/* Free entries are linked through their id, which they do not need. */
static uint32_t new_entry(struct ms_ledger *ledger)
{
    uint32_t number = ledger->entry_free;
    if (number != 0) {
        ledger->entry_free = (uint32_t)ms_ledger_at(ledger, number)->id;
        return number;
    }
    if (ledger->entry_used >= ledger->entry_room) {
        uint32_t count = ledger->entry_room / MS_LEDGER_CHUNK;
        struct ms_ledger_entry **chunks = realloc(ledger->chunks, (count + 1) * sizeof(struct ms_ledger_entry *));
        struct ms_ledger_entry *chunk = calloc(MS_LEDGER_CHUNK, sizeof(*chunk));
        if (chunks != NULL) {
            ledger->chunks = chunks;
        }
        if (chunks == NULL || chunk == NULL) {
            free(chunk);
            ledger->error = -ENOMEM;
            return 0;
        }
        chunks[count] = chunk;
        ledger->entry_room += MS_LEDGER_CHUNK;
    }
    return ledger->entry_used++;
}

void ms_ledger_forget(struct ms_ledger *ledger, uint32_t number)
{
    struct ms_ledger_entry *entry = ms_ledger_at(ledger, number);
    ms_map_remove(&ledger->entry_of, entry->id, NULL);
    *entry = (struct ms_ledger_entry){.id = ledger->entry_free};
    ledger->entry_free = number;
}

void ms_ledger_each(struct ms_ledger *ledger, ms_ledger_entry_fn *fn, void *argument)
{
    for (uint32_t number = 1; number < ledger->entry_used; number++) {
        struct ms_ledger_entry *entry = ms_ledger_at(ledger, number);
        if (entry->alive) {
            fn(argument, number, entry);
        }
    }
}

/* Equal stacks are one site; without stacks, equal operators; without operators, equal sizes. */
uint32_t ms_ledger_site(struct ms_ledger *ledger, const struct ms_block *block)
{
    struct ms_ledger_site site = {.c_stack = block->c_stack, .op = block->op, .space = block->space};
    site.python_stack = block->python_stack != MS_STACK_NO_GIL ? block->python_stack : 0;
    if (site.c_stack == 0 && site.python_stack == 0 && site.op == 0) {
        site.size_b = block->size_b;
    }
    uint64_t key = ms_hash_u64((uint64_t)site.c_stack << 32 | site.python_stack) ^
                   ms_hash_u64(((uint64_t)site.op << 8 | site.space) + 1) ^ ms_hash_u64(site.size_b << 1);
    for (;; key++) {
        bool added;
        uint64_t *at = ms_map_at(&ledger->site_of, key, ledger->site_count, &added);
        if (at == NULL) {
            ledger->error = -ENOMEM;
            return MS_REPORT_NO_SITE;
        }
        if (!added) {
            const struct ms_ledger_site *there = &ledger->sites[*at];
            if (*at == MS_REPORT_NO_SITE ||
                (there->c_stack == site.c_stack && there->python_stack == site.python_stack && there->op == site.op &&
                 there->size_b == site.size_b && there->space == site.space)) {
                return (uint32_t)*at;
            }
            continue;
        }
        if (ledger->site_count == MS_LEDGER_SITES_MAX) { /* all others share one unnamed site */
            ms_map_remove(&ledger->site_of, key, NULL);
            return MS_REPORT_NO_SITE;
        }
        if (ledger->site_count == ledger->site_room) {
            uint32_t room = ledger->site_room != 0 ? ledger->site_room * 2 : 64;
            struct ms_ledger_site *sites = realloc(ledger->sites, room * sizeof(*sites));
            if (sites == NULL) {
                ms_map_remove(&ledger->site_of, key, NULL);
                ledger->error = -ENOMEM;
                return MS_REPORT_NO_SITE;
            }
            ledger->sites = sites;
            ledger->site_room = room;
        }
        ledger->sites[ledger->site_count] = site;
        return ledger->site_count++;
    }
}

/* ---- sums ---- */

static void change(struct ms_ledger *ledger, struct ms_ledger_entry *entry, bool more, uint64_t time_ns,
                   const struct ms_ledger_listener *listener)
{
    struct ms_ledger_device *device = ledger->devices[entry->device_at];
    uint64_t size_b = entry->size_b;
    device->used_b += more ? size_b : 0 - size_b;
    device->classes_b[entry->class] += more ? size_b : 0 - size_b;
    device->blocks += more ? 1 : (uint64_t)-1;
    device->time_ns = time_ns;
    if (more) {
        entry->born = device->now;
    }
    if (listener->changed != NULL) {
        listener->changed(listener->argument, device, entry->device_at, entry, more);
    }
    device->now++;
}

static bool counts(const struct ms_ledger_entry *entry)
{
    return entry->role == MS_ROLE_COUNTED || entry->role == MS_ROLE_DIRECT;
}

/* ---- driver memory: pool or direct ---- */

static void make_segment(struct ms_ledger *ledger, uint32_t number, uint8_t space, uint64_t time_ns,
                         const struct ms_ledger_listener *listener)
{
    struct ms_ledger_entry *entry = ms_ledger_at(ledger, number);
    struct ms_ledger_device *device = ledger->devices[entry->device_at];
    if (entry->role != MS_ROLE_PENDING && entry->role != MS_ROLE_DIRECT) {
        return; /* already a segment, or host memory */
    }
    if (entry->role == MS_ROLE_DIRECT) {
        change(ledger, entry, false, time_ns, listener);
    } else {
        device->driver_b += entry->size_b;
    }
    entry->role = MS_ROLE_SEGMENT;
    entry->inside_space = space;
    device->segment_b += entry->size_b;
    device->segments++;
}

/* Settles pending blocks of one space (MS_SPACE_COUNT: all) and of one thread (0: all). */
static void settle(struct ms_ledger *ledger, unsigned space, uint32_t tid, const struct ms_ledger_listener *listener)
{
    size_t kept = 0;
    for (size_t i = 0; i < ledger->pending_count; i++) {
        uint32_t number = ledger->pending[i];
        struct ms_ledger_entry *entry = ms_ledger_at(ledger, number);
        if (entry->role != MS_ROLE_PENDING) {
            continue;
        }
        if ((tid != 0 && entry->tid != tid) || (space != MS_SPACE_COUNT && entry->space != space)) {
            ledger->pending[kept++] = number;
            continue;
        }
        struct ms_ledger_device *device = ledger->devices[entry->device_at];
        entry->role = MS_ROLE_DIRECT;
        device->driver_b += entry->size_b;
        change(ledger, entry, true, entry->malloc_ns > device->time_ns ? entry->malloc_ns : device->time_ns, listener);
    }
    ledger->pending_count = kept;
}

void ms_ledger_settle(struct ms_ledger *ledger, uint32_t tid, const struct ms_ledger_listener *listener)
{
    if (ledger->pending_count != 0) {
        settle(ledger, MS_SPACE_COUNT, tid, listener);
    }
}

static void wait_for_pool(struct ms_ledger *ledger, uint32_t number)
{
    if (ledger->pending_count == ledger->pending_room) {
        size_t room = ledger->pending_room != 0 ? ledger->pending_room * 2 : 64;
        uint32_t *pending = realloc(ledger->pending, room * sizeof(*pending));
        if (pending == NULL) {
            ledger->error = -ENOMEM;
            return;
        }
        ledger->pending = pending;
        ledger->pending_room = room;
    }
    ledger->pending[ledger->pending_count++] = number;
}

static void index_driver(void *argument, uint32_t number, struct ms_ledger_entry *entry)
{
    struct ms_ledger *ledger = argument;
    if (entry->type == MS_TYPE_HAL && entry->space == MS_SPACE_HAL &&
        !ms_btree_put(&ledger->driver, entry->addr, number)) {
        ledger->error = -ENOMEM;
    }
}

static bool holds(const struct ms_ledger_entry *segment, uint64_t addr)
{
    return segment->alive && addr >= segment->addr && addr - segment->addr < segment->size_b;
}

/* The driver block that contains a pool address; 0: unknown. */
static uint32_t around(struct ms_ledger *ledger, uint64_t addr)
{
    struct ms_btree_place place;
    if (ledger->segment_last != 0 && ms_ledger_at(ledger, ledger->segment_last)->space == MS_SPACE_HAL &&
        holds(ms_ledger_at(ledger, ledger->segment_last), addr)) {
        return ledger->segment_last;
    }
    if (ms_btree_floor(&ledger->driver, addr, &place) && holds(ms_ledger_at(ledger, place.value), addr)) {
        return ledger->segment_last = place.value;
    }
    const struct ms_block *handle = ms_model_mapped(ledger->model, addr);
    return handle != NULL ? ms_ledger_find(ledger, handle->allocation_id) : 0;
}

/* A pool has allocated a block: finds the driver memory below it. */
static void find_segment(struct ms_ledger *ledger, struct ms_ledger_entry *entry, bool grew,
                         const struct ms_ledger_listener *listener)
{
    if (!ledger->pools_seen) {
        ledger->pools_seen = true;
        ms_ledger_each(ledger, index_driver, ledger);
    }
    uint32_t segment = around(ledger, entry->addr);
    if (segment != 0) {
        make_segment(ledger, segment, entry->space, entry->malloc_ns, listener);
    }
    struct ms_ledger_entry *at = segment != 0 ? ms_ledger_at(ledger, segment) : NULL;
    if (at != NULL && at->role == MS_ROLE_SEGMENT) {
        entry->segment = segment;
        at->inside_b += entry->size_b;
        at->inside_most_b = at->inside_b > at->inside_most_b ? at->inside_b : at->inside_most_b;
        at->fullest_b = at->inside_b > at->fullest_b ? at->inside_b : at->fullest_b;
        at->inside_blocks++;
        at->inside_ever++;
        at->inside_step = entry->step;
    }
    /* Handles are mapped in pieces, and a dump does not say where: a pool that grew took the handles of its thread. */
    bool mapped = segment != 0 && ms_ledger_at(ledger, segment)->space == MS_SPACE_HANDLE;
    for (size_t i = 0; i < ledger->pending_count; i++) {
        struct ms_ledger_entry *pending = ms_ledger_at(ledger, ledger->pending[i]);
        if (pending->role == MS_ROLE_PENDING && pending->tid == entry->tid &&
            (mapped || (segment == 0 && grew && pending->space == MS_SPACE_HANDLE))) {
            make_segment(ledger, ledger->pending[i], entry->space, entry->malloc_ns, listener);
        }
    }
    ms_ledger_settle(ledger, entry->tid, listener);
}

/* ---- events ---- */

static void note_time(struct ms_ledger *ledger, uint64_t time_ns)
{
    if (ledger->begin_ns == 0) {
        ledger->begin_ns = time_ns;
    }
    ledger->last_ns = time_ns > ledger->last_ns ? time_ns : ledger->last_ns;
}

static bool is_driver(const struct ms_block *block)
{
    return block->type == MS_TYPE_HAL;
}

/* Pools report how much they hold; records the value for the block's pool. True: it holds more than before. */
static bool note_pool(struct ms_ledger_device *device, const struct ms_block *block, const struct ms_pool_state *pool)
{
    uint64_t *total = &device->totals_b[block->space];
    bool grew = MS_SPACE_IS_POOL(block->space) && pool->total_b > *total;
    if (MS_SPACE_IS_POOL(block->space)) {
        device->reserved_b += pool->total_b - *total;
        *total = pool->total_b;
        device->pool_used_b[block->space] = pool->used_b;
        device->pool_blocks[block->space] = pool->live_blocks;
    }
    return grew;
}

uint32_t ms_ledger_malloc(struct ms_ledger *ledger, const struct ms_block *block, const struct ms_pool_state *pool,
                          const struct ms_ledger_listener *listener)
{
    uint32_t device_at;
    struct ms_ledger_device *device = ms_ledger_device(ledger, block->device, &device_at);
    uint32_t there = ms_ledger_find(ledger, block->allocation_id);
    uint32_t number = device != NULL && there == 0 ? new_entry(ledger) : 0;
    if (number == 0 || ms_map_put(&ledger->entry_of, block->allocation_id, number) == NULL) {
        ledger->error = there == 0 ? -ENOMEM : ledger->error;
        return 0;
    }
    note_time(ledger, block->malloc_ns);
    struct ms_ledger_entry *entry = ms_ledger_at(ledger, number);
    *entry = (struct ms_ledger_entry){
        .id = block->allocation_id,
        .addr = block->addr,
        .size_b = block->size_b,
        .malloc_ns = block->malloc_ns,
        .device_at = device_at,
        .tid = block->tid,
        .step = block->step,
        .op = block->op,
        .owner = block->owner,
        .site = ms_ledger_site(ledger, block),
        .space = block->space,
        .type = block->type,
        .class = (uint8_t)ms_owner_class_of(block, ms_model_owner(ledger->model, block->owner)),
        .module_id = block->module_id,
        .alive = true,
    };
    const struct ms_open_op *op = ms_ledger_op(ledger, block->tid);
    entry->use.born_op = op != NULL ? op->number : 0;
    entry->use.others = ledger->accesses;
    bool grew = note_pool(device, block, pool);
    if (is_driver(block)) {
        entry->role = MS_ROLE_PENDING;
        if (ledger->pools_seen && block->space == MS_SPACE_HAL && !ms_btree_put(&ledger->driver, block->addr, number)) {
            ledger->error = -ENOMEM;
        }
        /* A pool requests one block at a time; only handles are created in batches before they are used. */
        settle(ledger, MS_SPACE_HAL, entry->tid, listener);
        wait_for_pool(ledger, number);
        return number;
    }
    ledger->pinned_b += block->type == MS_TYPE_HOST_PINNED ? block->size_b : 0;
    if (MS_SPACE_IS_POOL(block->space)) {
        find_segment(ledger, entry, grew, listener);
        unsigned framework = ms_inefficient_framework(block->space);
        if (framework != MS_FRAMEWORK_NONE) {
            ms_inefficient_malloc(&ledger->inefficient, framework, &entry->use.stamps);
        }
        /* ATB buffers may come from a pool that already counts them. */
        if (block->space == MS_SPACE_ATB &&
            (ms_model_find(ledger->model, MS_SPACE_PTA_WORKSPACE, block->device, block->addr) != NULL ||
             ms_model_find(ledger->model, MS_SPACE_PTA, block->device, block->addr) != NULL)) {
            entry->role = MS_ROLE_NESTED;
            return number;
        }
    } else if (ms_inefficient_framework(block->space) != MS_FRAMEWORK_NONE) {
        ms_inefficient_malloc(&ledger->inefficient, ms_inefficient_framework(block->space), &entry->use.stamps);
    }
    entry->role = MS_ROLE_COUNTED;
    change(ledger, entry, true, block->malloc_ns, listener);
    return number;
}

uint32_t ms_ledger_end(struct ms_ledger *ledger, const struct ms_block *block, const struct ms_pool_state *pool,
                       uint64_t time_ns, const struct ms_ledger_listener *listener)
{
    uint32_t number = ms_ledger_find(ledger, block->allocation_id);
    if (number == 0) {
        return 0;
    }
    struct ms_ledger_entry *entry = ms_ledger_at(ledger, number);
    struct ms_ledger_device *device = ledger->devices[entry->device_at];
    note_time(ledger, time_ns);
    note_pool(device, block, pool);
    unsigned framework = ms_inefficient_framework(block->space);
    if (framework != MS_FRAMEWORK_NONE) {
        ms_inefficient_free(&ledger->inefficient, framework, &entry->use.stamps);
    }
    if (entry->role == MS_ROLE_PENDING) { /* freed while pending: it did not belong to a pool */
        ms_ledger_settle(ledger, entry->tid, listener);
    }
    entry->alive = false;
    if (is_driver(block)) {
        device->driver_b -= entry->size_b;
        if (entry->role == MS_ROLE_SEGMENT) {
            device->segment_b -= entry->size_b;
            device->segments--;
        }
        if (ledger->pools_seen && block->space == MS_SPACE_HAL) {
            ms_btree_remove(&ledger->driver, block->addr);
        }
        ledger->segment_last = ledger->segment_last == number ? 0 : ledger->segment_last;
    }
    ledger->pinned_b -= block->type == MS_TYPE_HOST_PINNED ? entry->size_b : 0;
    if (entry->segment != 0) {
        struct ms_ledger_entry *segment = ms_ledger_at(ledger, entry->segment);
        bool same = segment->space == MS_SPACE_HANDLE || holds(segment, entry->addr); /* it may have been replaced */
        if (same && segment->alive && segment->role == MS_ROLE_SEGMENT && segment->inside_blocks != 0) {
            segment->inside_b -= entry->size_b < segment->inside_b ? entry->size_b : segment->inside_b;
            segment->inside_blocks--;
        }
    }
    if (counts(entry)) {
        change(ledger, entry, false, time_ns, listener);
    }
    return number;
}

void ms_ledger_owner(struct ms_ledger *ledger, const struct ms_block *block)
{
    uint32_t number = ms_ledger_find(ledger, block->allocation_id);
    if (number == 0) {
        return;
    }
    struct ms_ledger_entry *entry = ms_ledger_at(ledger, number);
    uint8_t class = (uint8_t)ms_owner_class_of(block, ms_model_owner(ledger->model, block->owner));
    struct ms_ledger_device *device = ledger->devices[entry->device_at];
    if (entry->alive && counts(entry) && class != entry->class) {
        device->classes_b[entry->class] -= entry->size_b;
        device->classes_b[class] += entry->size_b;
    }
    entry->owner = block->owner;
    entry->class = class;
}
