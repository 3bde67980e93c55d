/* SPDX-License-Identifier: Apache-2.0 */
/* See ledger.h. An allocation failure is stored in `error`; the ledger continues with what it has. */
#include "memscope/analyze/report/ledger.h"

#include "base/macros.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ms_ledger_init(struct ms_ledger *ledger, struct ms_model *model, uint32_t idle_threshold)
{
    *ledger = (struct ms_ledger){.model = model, .life_used = 1};
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
    for (uint32_t i = 0; i < ledger->life_room / MS_LIFE_CHUNK; i++) {
        free(ledger->chunks[i]);
    }
    free(ledger->devices);
    free(ledger->threads);
    free(ledger->chunks);
    free(ledger->pending);
    free(ledger->places);
    ms_map_free(&ledger->life_of);
    ms_map_free(&ledger->place_of);
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
        struct ms_ledger_device *entry = calloc(1, sizeof(*entry));
        if (devices != NULL) {
            ledger->devices = devices;
        }
        if (devices == NULL || entry == NULL) {
            free(entry);
            ledger->error = -ENOMEM;
            return NULL;
        }
        entry->device = device;
        devices[ledger->device_count++] = entry;
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
    const uint64_t *known = ms_map_get(&ledger->life_of, allocation_id);
    return known != NULL ? (uint32_t)*known : 0;
}

/* Free lives are linked through their id, which they do not need. */
static uint32_t new_life(struct ms_ledger *ledger)
{
    uint32_t number = ledger->life_free;
    if (number != 0) {
        ledger->life_free = (uint32_t)ms_ledger_life(ledger, number)->id;
        return number;
    }
    if (ledger->life_used >= ledger->life_room) {
        uint32_t count = ledger->life_room / MS_LIFE_CHUNK;
        struct ms_life **chunks = realloc(ledger->chunks, (count + 1) * sizeof(struct ms_life *));
        struct ms_life *chunk = calloc(MS_LIFE_CHUNK, sizeof(*chunk));
        if (chunks != NULL) {
            ledger->chunks = chunks;
        }
        if (chunks == NULL || chunk == NULL) {
            free(chunk);
            ledger->error = -ENOMEM;
            return 0;
        }
        chunks[count] = chunk;
        ledger->life_room += MS_LIFE_CHUNK;
    }
    return ledger->life_used++;
}

void ms_ledger_forget(struct ms_ledger *ledger, uint32_t number)
{
    struct ms_life *life = ms_ledger_life(ledger, number);
    ms_map_remove(&ledger->life_of, life->id, NULL);
    *life = (struct ms_life){.id = ledger->life_free};
    ledger->life_free = number;
}

void ms_ledger_each(struct ms_ledger *ledger, ms_life_fn *fn, void *argument)
{
    for (uint32_t number = 1; number < ledger->life_used; number++) {
        struct ms_life *life = ms_ledger_life(ledger, number);
        if (life->alive) {
            fn(argument, number, life);
        }
    }
}

/* Equal stacks are one place; without stacks, equal operators; without operators, equal sizes. */
uint32_t ms_ledger_place(struct ms_ledger *ledger, const struct ms_block *block)
{
    struct ms_place place = {.c_stack = block->c_stack, .op = block->op, .space = block->space};
    place.python_stack = block->python_stack != MS_STACK_NO_GIL ? block->python_stack : 0;
    if (place.c_stack == 0 && place.python_stack == 0 && place.op == 0) {
        place.size_b = block->size_b;
    }
    uint64_t key = ms_hash_u64((uint64_t)place.c_stack << 32 | place.python_stack) ^
                   ms_hash_u64(((uint64_t)place.op << 8 | place.space) + 1) ^ ms_hash_u64(place.size_b << 1);
    for (;; key++) {
        bool added;
        uint64_t *at = ms_map_at(&ledger->place_of, key, ledger->place_count, &added);
        if (at == NULL) {
            ledger->error = -ENOMEM;
            return MS_REPORT_NO_SITE;
        }
        if (!added) {
            const struct ms_place *there = &ledger->places[*at];
            if (*at == MS_REPORT_NO_SITE ||
                (there->c_stack == place.c_stack && there->python_stack == place.python_stack &&
                 there->op == place.op && there->size_b == place.size_b && there->space == place.space)) {
                return (uint32_t)*at;
            }
            continue;
        }
        if (ledger->place_count == MS_PLACES_MAX) { /* all others share one unnamed place */
            ms_map_remove(&ledger->place_of, key, NULL);
            return MS_REPORT_NO_SITE;
        }
        if (ledger->place_count == ledger->place_room) {
            uint32_t room = ledger->place_room != 0 ? ledger->place_room * 2 : 64;
            struct ms_place *places = realloc(ledger->places, room * sizeof(*places));
            if (places == NULL) {
                ms_map_remove(&ledger->place_of, key, NULL);
                ledger->error = -ENOMEM;
                return MS_REPORT_NO_SITE;
            }
            ledger->places = places;
            ledger->place_room = room;
        }
        ledger->places[ledger->place_count] = place;
        return ledger->place_count++;
    }
}

/* ---- sums ---- */

static void change(struct ms_ledger *ledger, struct ms_life *life, bool more, uint64_t time_ns,
                   const struct ms_ledger_listener *listener)
{
    struct ms_ledger_device *device = ledger->devices[life->device_at];
    uint64_t size_b = life->size_b;
    device->used_b += more ? size_b : 0 - size_b;
    device->classes_b[life->class] += more ? size_b : 0 - size_b;
    device->blocks += more ? 1 : (uint64_t)-1;
    device->time_ns = time_ns;
    if (more) {
        life->born = device->now;
    }
    if (listener->changed != NULL) {
        listener->changed(listener->argument, device, life->device_at, life, more);
    }
    device->now++;
}

static bool counts(const struct ms_life *life)
{
    return life->role == MS_ROLE_COUNTED || life->role == MS_ROLE_DIRECT;
}

/* ---- driver memory: pool or direct ---- */

static void make_segment(struct ms_ledger *ledger, uint32_t number, uint8_t space, uint64_t time_ns,
                         const struct ms_ledger_listener *listener)
{
    struct ms_life *life = ms_ledger_life(ledger, number);
    struct ms_ledger_device *device = ledger->devices[life->device_at];
    if (life->role != MS_ROLE_PENDING && life->role != MS_ROLE_DIRECT) {
        return; /* already a segment, or host memory */
    }
    if (life->role == MS_ROLE_DIRECT) {
        change(ledger, life, false, time_ns, listener);
    } else {
        device->driver_b += life->size_b;
    }
    life->role = MS_ROLE_SEGMENT;
    life->inside_space = space;
    device->segment_b += life->size_b;
    device->segments++;
}

/* Settles pending blocks of one space (MS_SPACE_COUNT: all) and of one thread (0: all). */
static void settle(struct ms_ledger *ledger, unsigned space, uint32_t tid, const struct ms_ledger_listener *listener)
{
    size_t kept = 0;
    for (size_t i = 0; i < ledger->pending_count; i++) {
        uint32_t number = ledger->pending[i];
        struct ms_life *life = ms_ledger_life(ledger, number);
        if (life->role != MS_ROLE_PENDING) {
            continue;
        }
        if ((tid != 0 && life->tid != tid) || (space != MS_SPACE_COUNT && life->space != space)) {
            ledger->pending[kept++] = number;
            continue;
        }
        struct ms_ledger_device *device = ledger->devices[life->device_at];
        life->role = MS_ROLE_DIRECT;
        device->driver_b += life->size_b;
        change(ledger, life, true, life->malloc_ns > device->time_ns ? life->malloc_ns : device->time_ns, listener);
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

static void index_driver(void *argument, uint32_t number, struct ms_life *life)
{
    struct ms_ledger *ledger = argument;
    if (life->type == MS_TYPE_HAL && life->space == MS_SPACE_HAL &&
        !ms_btree_put(&ledger->driver, life->addr, number)) {
        ledger->error = -ENOMEM;
    }
}

static bool holds(const struct ms_life *segment, uint64_t addr)
{
    return segment->alive && addr >= segment->addr && addr - segment->addr < segment->size_b;
}

/* The driver block that contains a pool address; 0: unknown. */
static uint32_t around(struct ms_ledger *ledger, uint64_t addr)
{
    struct ms_btree_place place;
    if (ledger->segment_last != 0 && ms_ledger_life(ledger, ledger->segment_last)->space == MS_SPACE_HAL &&
        holds(ms_ledger_life(ledger, ledger->segment_last), addr)) {
        return ledger->segment_last;
    }
    if (ms_btree_floor(&ledger->driver, addr, &place) && holds(ms_ledger_life(ledger, place.value), addr)) {
        return ledger->segment_last = place.value;
    }
    const struct ms_block *handle = ms_model_mapped(ledger->model, addr);
    return handle != NULL ? ms_ledger_find(ledger, handle->allocation_id) : 0;
}

/* A pool has allocated a block: finds the driver memory below it. */
static void find_segment(struct ms_ledger *ledger, struct ms_life *life, bool grew,
                         const struct ms_ledger_listener *listener)
{
    if (!ledger->pools_seen) {
        ledger->pools_seen = true;
        ms_ledger_each(ledger, index_driver, ledger);
    }
    uint32_t segment = around(ledger, life->addr);
    if (segment != 0) {
        make_segment(ledger, segment, life->space, life->malloc_ns, listener);
    }
    struct ms_life *at = segment != 0 ? ms_ledger_life(ledger, segment) : NULL;
    if (at != NULL && at->role == MS_ROLE_SEGMENT) {
        life->segment = segment;
        at->inside_b += life->size_b;
        at->inside_most_b = at->inside_b > at->inside_most_b ? at->inside_b : at->inside_most_b;
        at->fullest_b = at->inside_b > at->fullest_b ? at->inside_b : at->fullest_b;
        at->inside_blocks++;
        at->inside_ever++;
        at->inside_step = life->step;
    }
    /* Handles are mapped in pieces, and a dump does not say where: a pool that grew took the handles of its thread. */
    bool mapped = segment != 0 && ms_ledger_life(ledger, segment)->space == MS_SPACE_HANDLE;
    for (size_t i = 0; i < ledger->pending_count; i++) {
        struct ms_life *pending = ms_ledger_life(ledger, ledger->pending[i]);
        if (pending->role == MS_ROLE_PENDING && pending->tid == life->tid &&
            (mapped || (segment == 0 && grew && pending->space == MS_SPACE_HANDLE))) {
            make_segment(ledger, ledger->pending[i], life->space, life->malloc_ns, listener);
        }
    }
    ms_ledger_settle(ledger, life->tid, listener);
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
    uint32_t number = device != NULL && there == 0 ? new_life(ledger) : 0;
    if (number == 0 || ms_map_put(&ledger->life_of, block->allocation_id, number) == NULL) {
        ledger->error = there == 0 ? -ENOMEM : ledger->error;
        return 0;
    }
    note_time(ledger, block->malloc_ns);
    struct ms_life *life = ms_ledger_life(ledger, number);
    *life = (struct ms_life){
        .id = block->allocation_id,
        .addr = block->addr,
        .size_b = block->size_b,
        .malloc_ns = block->malloc_ns,
        .device_at = device_at,
        .tid = block->tid,
        .step = block->step,
        .op = block->op,
        .owner = block->owner,
        .site = ms_ledger_place(ledger, block),
        .space = block->space,
        .type = block->type,
        .class = (uint8_t)ms_owner_class_of(block, ms_model_owner(ledger->model, block->owner)),
        .module_id = block->module_id,
        .alive = true,
    };
    const struct ms_open_op *op = ms_ledger_op(ledger, block->tid);
    life->use.born_op = op != NULL ? op->number : 0;
    life->use.others = ledger->accesses;
    bool grew = note_pool(device, block, pool);
    if (is_driver(block)) {
        life->role = MS_ROLE_PENDING;
        if (ledger->pools_seen && block->space == MS_SPACE_HAL && !ms_btree_put(&ledger->driver, block->addr, number)) {
            ledger->error = -ENOMEM;
        }
        /* A pool requests one block at a time; only handles are created in batches before they are used. */
        settle(ledger, MS_SPACE_HAL, life->tid, listener);
        wait_for_pool(ledger, number);
        return number;
    }
    ledger->pinned_b += block->type == MS_TYPE_HOST_PINNED ? block->size_b : 0;
    if (MS_SPACE_IS_POOL(block->space)) {
        find_segment(ledger, life, grew, listener);
        unsigned framework = ms_inefficient_framework(block->space);
        if (framework != MS_FRAMEWORK_NONE) {
            ms_inefficient_malloc(&ledger->inefficient, framework, &life->use.stamps);
        }
        /* ATB buffers may come from a pool that already counts them. */
        if (block->space == MS_SPACE_ATB &&
            (ms_model_find(ledger->model, MS_SPACE_PTA_WORKSPACE, block->device, block->addr) != NULL ||
             ms_model_find(ledger->model, MS_SPACE_PTA, block->device, block->addr) != NULL)) {
            life->role = MS_ROLE_NESTED;
            return number;
        }
    } else if (ms_inefficient_framework(block->space) != MS_FRAMEWORK_NONE) {
        ms_inefficient_malloc(&ledger->inefficient, ms_inefficient_framework(block->space), &life->use.stamps);
    }
    life->role = MS_ROLE_COUNTED;
    change(ledger, life, true, block->malloc_ns, listener);
    return number;
}

uint32_t ms_ledger_end(struct ms_ledger *ledger, const struct ms_block *block, const struct ms_pool_state *pool,
                       uint64_t time_ns, const struct ms_ledger_listener *listener)
{
    uint32_t number = ms_ledger_find(ledger, block->allocation_id);
    if (number == 0) {
        return 0;
    }
    struct ms_life *life = ms_ledger_life(ledger, number);
    struct ms_ledger_device *device = ledger->devices[life->device_at];
    note_time(ledger, time_ns);
    note_pool(device, block, pool);
    unsigned framework = ms_inefficient_framework(block->space);
    if (framework != MS_FRAMEWORK_NONE) {
        ms_inefficient_free(&ledger->inefficient, framework, &life->use.stamps);
    }
    if (life->role == MS_ROLE_PENDING) { /* freed while pending: it did not belong to a pool */
        ms_ledger_settle(ledger, life->tid, listener);
    }
    life->alive = false;
    if (is_driver(block)) {
        device->driver_b -= life->size_b;
        if (life->role == MS_ROLE_SEGMENT) {
            device->segment_b -= life->size_b;
            device->segments--;
        }
        if (ledger->pools_seen && block->space == MS_SPACE_HAL) {
            ms_btree_remove(&ledger->driver, block->addr);
        }
        ledger->segment_last = ledger->segment_last == number ? 0 : ledger->segment_last;
    }
    ledger->pinned_b -= block->type == MS_TYPE_HOST_PINNED ? life->size_b : 0;
    if (life->segment != 0) {
        struct ms_life *segment = ms_ledger_life(ledger, life->segment);
        bool same = segment->space == MS_SPACE_HANDLE || holds(segment, life->addr); /* it may have been replaced */
        if (same && segment->alive && segment->role == MS_ROLE_SEGMENT && segment->inside_blocks != 0) {
            segment->inside_b -= life->size_b < segment->inside_b ? life->size_b : segment->inside_b;
            segment->inside_blocks--;
        }
    }
    if (counts(life)) {
        change(ledger, life, false, time_ns, listener);
    }
    return number;
}

void ms_ledger_owner(struct ms_ledger *ledger, const struct ms_block *block)
{
    uint32_t number = ms_ledger_find(ledger, block->allocation_id);
    if (number == 0) {
        return;
    }
    struct ms_life *life = ms_ledger_life(ledger, number);
    uint8_t class = (uint8_t)ms_owner_class_of(block, ms_model_owner(ledger->model, block->owner));
    struct ms_ledger_device *device = ledger->devices[life->device_at];
    if (life->alive && counts(life) && class != life->class) {
        device->classes_b[life->class] -= life->size_b;
        device->classes_b[class] += life->size_b;
    }
    life->owner = block->owner;
    life->class = class;
}
