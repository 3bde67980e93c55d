/* SPDX-License-Identifier: Apache-2.0 */
/* See gather.h. Blocks are added when they are allocated and completed when they end; what becomes known late (owner,
 * pool peak, stack texts) is filled in then or at the end of the process.
 *
 * Memory in addition to the store: O(live blocks + threads + pools + distinct stacks and names of the process). */
#include "memscope/query/gather.h"

#include "base/buffer.h"
#include "base/map.h"
#include "memscope/analyze/site.h"
#include "memscope/export/json_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OPS_OPEN 64u

struct account { /* a pool of a device */
    struct ms_device_record record;
    uint64_t live_b, live_blocks;
    uint64_t step_begin_b, step_peak_b, step_allocated_b, step_blocks;
};

struct gathered_ops {
    uint32_t depth;             /* may exceed OPS_OPEN */
    uint64_t numbers[OPS_OPEN]; /* of records, from 1 on */
};

struct gathered_process {
    struct gather *gather;
    struct ms_model *model;
    uint32_t number, pid;
    uint64_t first_ns, last_ns, events, lost;
    uint64_t first_block; /* index of its first record */
    uint64_t blocks;
    struct account *accounts;
    size_t account_count, account_room;
    struct ms_map account_of;    /* device and pool -> index */
    struct ms_map live;          /* allocation id -> record index */
    struct ms_map owners, names; /* ids of the model -> texts of the store */
    struct ms_map stack_of;      /* C and Python stack -> number */
    struct ms_map op_stacks;     /* tid -> pointer */
    struct ms_map open_steps;    /* device -> record index */
    uint64_t freed_id, freed_at; /* the last freed block: its row follows, or the free failed */
};

struct gather {
    struct ms_store *store;
    struct ms_source *source;
    const volatile sig_atomic_t *stop;
    const struct ms_source_process *input;
    struct gathered_process **processes; /* of the input */
    size_t process_count;
    struct ms_buffer attr;
    int error;
};

static int failed(struct gather *gather)
{
    return *gather->stop != 0 ? -EINTR : gather->error;
}

static void *add_record(struct gather *gather, enum ms_query_table table)
{
    void *record = ms_store_add(gather->store, table);
    gather->error = record == NULL && gather->error == 0 ? -errno : gather->error;
    return record;
}

static uint32_t text_of(struct gather *gather, const char *s, size_t length_b)
{
    uint32_t text = ms_intern(&gather->store->texts, s, length_b);
    gather->error = text == 0 && length_b != 0 && gather->error == 0 ? -ENOMEM : gather->error;
    return text;
}

/* A text that has an id in the model. */
static uint32_t known_text(struct gathered_process *process, struct ms_map *map, uint32_t id,
                           struct ms_text (*get)(const struct ms_model *model, uint32_t id))
{
    bool added;
    uint64_t *slot = ms_map_at(map, id, 0, &added);
    if (slot == NULL) {
        process->gather->error = -ENOMEM;
        return 0;
    }
    if (added) {
        struct ms_text text = get(process->model, id);
        *slot = text_of(process->gather, text.s, text.length_b);
    }
    return (uint32_t)*slot;
}

static void seen_at(struct gathered_process *process, uint64_t time_ns)
{
    process->first_ns = process->first_ns == 0 || time_ns < process->first_ns ? time_ns : process->first_ns;
    process->last_ns = time_ns > process->last_ns ? time_ns : process->last_ns;
}

/* ---- stacks ---- */

static uint32_t stack_of(struct gathered_process *process, uint32_t c_stack, uint32_t python_stack)
{
    struct gather *gather = process->gather;
    python_stack = python_stack == MS_STACK_NO_GIL ? 0 : python_stack;
    bool added;
    if (c_stack == 0 && python_stack == 0) {
        return 0;
    }
    uint64_t key = (uint64_t)c_stack << 32 | python_stack;
    uint64_t *slot = ms_map_at(&process->stack_of, key, 0, &added);
    if (slot == NULL) {
        gather->error = -ENOMEM;
        return 0;
    }
    struct ms_stack_record *record = added ? add_record(gather, MS_TABLE_STACKS) : NULL;
    if (added && record == NULL) { /* no slot may name a record that does not exist */
        ms_map_remove(&process->stack_of, key, NULL);
        return 0;
    }
    if (record != NULL) { /* its texts follow at the end: built once, and only if needed */
        *record = (struct ms_stack_record){.process = process->number, .c = c_stack, .python = python_stack};
        *slot = ms_store_count(gather->store, MS_TABLE_STACKS);
    }
    return (uint32_t)*slot;
}

static void add_calls(struct gathered_process *process)
{
    struct gather *gather = process->gather;
    struct ms_store *store = gather->store;
    struct ms_stack_source stacks = ms_source_stacks(gather->source);
    bool wanted = (store->needs & MS_NEED_CALLS) != 0;
    for (size_t i = ms_map_first(&process->stack_of, 0); i < process->stack_of.size;
         i = ms_map_first(&process->stack_of, i + 1)) {
        struct ms_stack_record *record = ms_store_at(store, MS_TABLE_STACKS, process->stack_of.slots[i].value - 1);
        struct ms_text c = {0}, python = {0};
        if (wanted && record->c != 0 && stacks.c_stack != NULL) {
            c = stacks.c_stack(stacks.self, record->c);
        }
        if (wanted && record->python != 0 && stacks.python_stack != NULL) {
            python = stacks.python_stack(stacks.self, record->python);
        }
        char site[2048];
        size_t site_b = ms_site_text(python, true, site, sizeof(site));
        site_b = site_b != 0 ? site_b : ms_site_text(c, false, site, sizeof(site));
        record->site = text_of(gather, site, site_b);
        record->c = text_of(gather, c.s, c.length_b);
        record->python = text_of(gather, python.s, python.length_b);
    }
}

/* ---- pools and steps ---- */

static struct account *account_of(struct gathered_process *process, uint32_t device, uint32_t pool)
{
    bool added;
    uint64_t *slot = ms_map_at(&process->account_of, (uint64_t)device << 8 | pool, process->account_count, &added);
    if (slot != NULL && added) {
        if (process->account_count == process->account_room) {
            size_t room = process->account_room != 0 ? process->account_room * 2 : 16;
            struct account *accounts = realloc(process->accounts, room * sizeof(*accounts));
            if (accounts == NULL) {
                ms_map_remove(&process->account_of, (uint64_t)device << 8 | pool, NULL);
                process->gather->error = -ENOMEM;
                return NULL;
            }
            process->accounts = accounts;
            process->account_room = room;
        }
        process->accounts[process->account_count++] =
            (struct account){.record = {.process = process->number, .device = device, .pool = pool}};
    }
    if (slot == NULL) {
        process->gather->error = -ENOMEM;
        return NULL;
    }
    return &process->accounts[*slot];
}

static void end_step(struct gathered_process *process, uint32_t device, uint64_t time_ns)
{
    struct gather *gather = process->gather;
    uint64_t at;
    if (!ms_map_remove(&process->open_steps, device, &at)) {
        return;
    }
    struct ms_step_record *step = ms_store_at(gather->store, MS_TABLE_STEPS, at);
    step->end_ns = time_ns;
    for (size_t i = 0; i < process->account_count; i++) {
        struct account *account = &process->accounts[i];
        struct ms_step_pool_record *record =
            account->record.device == device ? add_record(gather, MS_TABLE_STEP_POOLS) : NULL;
        if (record != NULL) {
            *record = (struct ms_step_pool_record){.begin_b = account->step_begin_b,
                                                   .end_b = account->live_b,
                                                   .peak_b = account->step_peak_b,
                                                   .allocated_b = account->step_allocated_b,
                                                   .blocks = account->step_blocks,
                                                   .process = process->number,
                                                   .device = device,
                                                   .step = step->step,
                                                   .pool = account->record.pool};
        }
    }
}

static int on_step(void *self, const struct ms_step_info *info)
{
    struct gathered_process *process = self;
    struct gather *gather = process->gather;
    end_step(process, info->device, info->time_ns); /* of a previous step whose end was not recorded */
    struct ms_step_record *step = info->begins ? add_record(gather, MS_TABLE_STEPS) : NULL;
    if (step == NULL) {
        return failed(gather);
    }
    *step = (struct ms_step_record){
        .process = process->number, .device = info->device, .step = info->step, .begin_ns = info->time_ns};
    if (ms_map_put(&process->open_steps, info->device, ms_store_count(gather->store, MS_TABLE_STEPS) - 1) == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < process->account_count; i++) {
        struct account *account = &process->accounts[i];
        if (account->record.device == info->device) {
            account->step_begin_b = account->step_peak_b = account->live_b;
            account->step_allocated_b = account->step_blocks = 0;
        }
    }
    return failed(gather);
}

/* ---- operators ---- */

static struct gathered_ops *op_stack_of(struct gathered_process *process, uint32_t tid)
{
    uint64_t *slot = ms_map_at(&process->op_stacks, tid, 0, NULL);
    if (slot != NULL && *slot == 0) {
        *slot = (uint64_t)(uintptr_t)calloc(1, sizeof(struct gathered_ops));
    }
    if (slot == NULL || *slot == 0) {
        process->gather->error = -ENOMEM;
        return NULL;
    }
    return (struct gathered_ops *)(uintptr_t)*slot;
}

static void op_row(struct gathered_process *process, const struct ms_row *row, const char *kind, bool begins)
{
    struct gather *gather = process->gather;
    struct gathered_ops *stack = op_stack_of(process, row->tid);
    if (stack == NULL) {
        return;
    }
    if (!begins) {
        if (stack->depth != 0 && --stack->depth < OPS_OPEN) {
            struct ms_operator_record *record =
                ms_store_at(gather->store, MS_TABLE_OPERATORS, stack->numbers[stack->depth] - 1);
            record->end_ns = row->time_ns;
        }
        return;
    }
    if (stack->depth < OPS_OPEN) {
        struct ms_operator_record *record = add_record(gather, MS_TABLE_OPERATORS);
        if (record == NULL) {
            return;
        }
        *record = (struct ms_operator_record){.begin_ns = row->time_ns,
                                              .process = process->number,
                                              .tid = row->tid,
                                              .device = row->device,
                                              .depth = stack->depth,
                                              .name = text_of(gather, row->name.s, row->name.length_b),
                                              .kind = text_of(gather, kind, strlen(kind))};
        stack->numbers[stack->depth] = ms_store_count(gather->store, MS_TABLE_OPERATORS);
    }
    stack->depth++;
}

static void charge_op(struct gathered_process *process, const struct ms_block *block)
{
    uint64_t *slot = ms_map_get(&process->op_stacks, block->tid);
    const struct gathered_ops *stack = slot != NULL ? (const struct gathered_ops *)(uintptr_t)*slot : NULL;
    if (stack != NULL && stack->depth != 0) {
        uint32_t innermost = stack->depth < OPS_OPEN ? stack->depth : OPS_OPEN;
        struct ms_operator_record *record =
            ms_store_at(process->gather->store, MS_TABLE_OPERATORS, stack->numbers[innermost - 1] - 1);
        record->blocks++;
        record->allocated_b += block->size_b;
    }
}

/* ---- blocks ---- */

static void fill_block(struct gathered_process *process, struct ms_block_record *record, const struct ms_block *block)
{
    record->owner = known_text(process, &process->owners, block->owner, ms_model_owner);
    record->accesses = block->accesses;
    record->first_access_ns = block->first_access_ns;
    record->last_access_ns = block->last_access_ns;
    record->inefficient = block->inefficient;
}

static void add_block(struct gathered_process *process, const struct ms_block *block)
{
    struct gather *gather = process->gather;
    struct ms_block_record *record = NULL;
    uint64_t at = ms_store_count(gather->store, MS_TABLE_BLOCKS);
    if (block->revived != 0 && process->freed_id == block->allocation_id) {
        at = process->freed_at; /* its free failed */
        record = ms_store_at(gather->store, MS_TABLE_BLOCKS, at);
    } else {
        record = add_record(gather, MS_TABLE_BLOCKS);
        process->first_block = process->blocks == 0 ? at : process->first_block;
        process->blocks++;
    }
    if (record == NULL || ms_map_put(&process->live, block->allocation_id, at) == NULL) {
        gather->error = gather->error != 0 ? gather->error : -ENOMEM;
        return;
    }
    *record = (struct ms_block_record){
        .allocation_id = block->allocation_id,
        .addr = block->addr,
        .size_b = block->size_b,
        .malloc_ns = block->malloc_ns,
        .process = process->number,
        .device = block->device,
        .tid = block->tid,
        .step = block->step,
        .op = block->op != 0 ? known_text(process, &process->names, block->op, ms_model_text) : 0,
        .stack = stack_of(process, block->c_stack, block->python_stack),
        .pool = block->type,
        .end = MS_END_EXIT,
        .module_id = block->module_id,
        .page_type = block->page_type,
    };
    fill_block(process, record, block);
}

static int on_malloc(void *self, const struct ms_block *block, const struct ms_pool_state *pool)
{
    struct gathered_process *process = self;
    struct gather *gather = process->gather;
    struct account *account = account_of(process, block->device, block->type);
    if (account == NULL ||
        (ms_store_wants(gather->store, MS_TABLE_BLOCKS) && ms_map_get(&process->live, block->allocation_id) != NULL)) {
        return failed(gather);
    }
    seen_at(process, block->malloc_ns);
    bool revived = block->revived != 0;
    account->record.blocks += !revived;
    account->record.allocated_b += revived ? 0 : block->size_b;
    account->step_blocks += !revived;
    account->step_allocated_b += revived ? 0 : block->size_b;
    account->live_b += block->size_b;
    account->live_blocks++;
    account->step_peak_b = account->live_b > account->step_peak_b ? account->live_b : account->step_peak_b;
    if (account->live_b > account->record.peak_b) {
        account->record.peak_b = account->live_b;
        account->record.peak_ns = block->malloc_ns;
        account->record.peak_step = ms_model_step(process->model, block->device);
    }
    if (pool != NULL && pool->total_b > account->record.reserved_peak_b) {
        account->record.reserved_peak_b = pool->total_b;
    }
    if (ms_store_wants(gather->store, MS_TABLE_OPERATORS) && !revived) {
        charge_op(process, block);
    }
    if (ms_store_wants(gather->store, MS_TABLE_BLOCKS)) {
        add_block(process, block);
    } else {
        process->blocks++;
    }
    return failed(gather);
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    (void)pool;
    struct gathered_process *process = self;
    struct gather *gather = process->gather;
    struct account *account = account_of(process, block->device, block->type);
    if (account != NULL && how != MS_END_EXIT && account->live_blocks != 0) {
        seen_at(process, time_ns);
        account->live_b -= block->size_b < account->live_b ? block->size_b : account->live_b;
        account->live_blocks--;
    }
    uint64_t at;
    if (ms_map_remove(&process->live, block->allocation_id, &at)) {
        struct ms_block_record *record = ms_store_at(gather->store, MS_TABLE_BLOCKS, at);
        fill_block(process, record, block);
        record->end = (uint8_t)how;
        record->free_ns = how != MS_END_EXIT ? time_ns : 0;
        process->freed_id = block->allocation_id;
        process->freed_at = at;
    }
    return failed(gather);
}

static int on_late(void *self, const struct ms_block *block)
{
    struct gathered_process *process = self;
    uint64_t *at = ms_map_get(&process->live, block->allocation_id);
    if (at != NULL || process->freed_id == block->allocation_id) {
        fill_block(process, ms_store_at(process->gather->store, MS_TABLE_BLOCKS, at != NULL ? *at : process->freed_at),
                   block);
    }
    return failed(process->gather);
}

/* Was the block live when its pool was at its maximum? Known only at the end. */
static void mark_peaks(struct gathered_process *process)
{
    struct ms_store *store = process->gather->store;
    uint64_t count = ms_store_count(store, MS_TABLE_BLOCKS);
    for (uint64_t i = process->first_block; process->blocks != 0 && i < count; i++) {
        struct ms_block_record *record = ms_store_at(store, MS_TABLE_BLOCKS, i);
        if (record->process == process->number) {
            const struct account *account = account_of(process, record->device, record->pool);
            uint64_t peak_ns = account != NULL ? account->record.peak_ns : 0;
            record->at_peak = record->malloc_ns <= peak_ns && (record->free_ns == 0 || record->free_ns > peak_ns);
        }
    }
}

/* ---- rows ---- */

static void add_attr(struct gather *gather, struct ms_event_record *event, const struct ms_row *row)
{
    gather->attr.used = 0;
    ms_json_attrs(&gather->attr, row);
    char *bytes = gather->attr.failed ? NULL : ms_records_add(&gather->store->attrs, gather->attr.used);
    if (bytes == NULL) {
        gather->error = gather->error != 0 ? gather->error : gather->attr.failed ? -ENOMEM : -errno;
        return;
    }
    memcpy(bytes, gather->attr.s, gather->attr.used);
    event->attr = (uint64_t)(bytes - gather->store->attrs.base);
    event->attr_b = (uint32_t)gather->attr.used;
}

static uint32_t block_of(const struct gathered_process *process, uint64_t allocation_id)
{
    const uint64_t *at = ms_map_get(&process->live, allocation_id);
    return at != NULL ? (uint32_t)*at + 1 : process->freed_id == allocation_id ? (uint32_t)process->freed_at + 1 : 0;
}

static void add_event(struct gathered_process *process, const struct ms_row *row)
{
    struct gather *gather = process->gather;
    struct ms_event_record *event = add_record(gather, MS_TABLE_EVENTS);
    if (event == NULL) {
        return;
    }
    *event = (struct ms_event_record){.id = row->id,
                                      .time_ns = row->time_ns,
                                      .addr = row->addr,
                                      .process = process->number,
                                      .name = text_of(gather, row->name.s, row->name.length_b),
                                      .tid = row->tid,
                                      .device = row->device,
                                      .step = ms_model_step(process->model, row->device),
                                      .stack = stack_of(process, row->c_stack, row->python_stack),
                                      .event = row->event,
                                      .type = row->type,
                                      .has = row->has_addr ? MS_EVENT_HAS_ADDR : 0};
    for (uint32_t i = 0; i < row->attr_count; i++) {
        const struct ms_attr *attr = &row->attr[i];
        if (attr->form != MS_FORM_NUMBER) {
            continue;
        }
        switch (attr->key) {
        case MS_ATTR_SIZE:
        case MS_ATTR_REQ_SIZE:
            event->size_b = attr->number;
            event->has |= MS_EVENT_HAS_SIZE;
            break;
        case MS_ATTR_USED:
        case MS_ATTR_ALLOCATED:
            event->used_b = attr->number;
            event->has |= MS_EVENT_HAS_USED;
            break;
        case MS_ATTR_TOTAL:
            if (row->event == MS_EV_SNAPSHOT) { /* of the device; its `reserved` is that of the pool */
                break;
            }
            /* fallthrough */
        case MS_ATTR_RESERVED:
            event->reserved_b = attr->number;
            event->has |= MS_EVENT_HAS_RESERVED;
            break;
        default:
            break;
        }
    }
    if ((gather->store->needs & MS_NEED_BLOCKS) != 0 && row->allocation_id != 0) {
        event->block = block_of(process, row->allocation_id);
    }
    if ((gather->store->needs & MS_NEED_ATTR) != 0) {
        add_attr(gather, event, row);
    }
}

static int on_row(void *self, const struct ms_row *row)
{
    static const struct {
        const char *kind;
        bool begins;
    } operators[MS_TYPE_COUNT] = {
        [MS_TYPE_ATEN_START] = {"aten", true},     [MS_TYPE_ATEN_END] = {"aten", false},
        [MS_TYPE_ATB_START] = {"atb", true},       [MS_TYPE_ATB_END] = {"atb", false},
        [MS_TYPE_KERNEL_START] = {"kernel", true}, [MS_TYPE_KERNEL_END] = {"kernel", false},
    };
    struct gathered_process *process = self;
    struct gather *gather = process->gather;
    process->events++;
    seen_at(process, row->time_ns);
    if (operators[row->type].kind != NULL && ms_store_wants(gather->store, MS_TABLE_OPERATORS)) {
        op_row(process, row, operators[row->type].kind, operators[row->type].begins);
    }
    if (ms_store_wants(gather->store, MS_TABLE_EVENTS)) {
        add_event(process, row);
    }
    return failed(gather);
}

static int on_gap(void *self, const struct ms_event *event)
{
    struct gathered_process *process = self;
    process->lost += event->gap.lost;
    return failed(process->gather);
}

static int on_close(void *self)
{
    struct gathered_process *process = self;
    struct gather *gather = process->gather;
    for (size_t i; (i = ms_map_first(&process->open_steps, 0)) < process->open_steps.size;) {
        end_step(process, (uint32_t)process->open_steps.slots[i].key, 0);
    }
    for (size_t i = 0; i < process->account_count; i++) {
        struct account *account = &process->accounts[i];
        struct ms_device_record *record = add_record(gather, MS_TABLE_DEVICES);
        if (record != NULL) {
            *record = account->record;
            record->end_b = account->live_b;
            record->end_blocks = account->live_blocks;
        }
    }
    add_calls(process);
    if (ms_store_wants(gather->store, MS_TABLE_BLOCKS)) {
        mark_peaks(process);
    }
    return failed(gather);
}

/* ---- processes ---- */

static int add_live(void *argument, const struct ms_block *block)
{
    return block->state == MS_BLOCK_LIVE ? on_malloc(argument, block, NULL) : 0;
}

static int begin_process(void *argument, uint32_t pid, struct ms_model *model)
{
    struct gather *gather = argument;
    struct gathered_process **processes =
        realloc(gather->processes, (gather->process_count + 1) * sizeof(struct gathered_process *));
    struct gathered_process *process = calloc(1, sizeof(*process));
    gather->processes = processes != NULL ? processes : gather->processes;
    if (processes == NULL || process == NULL) {
        free(process);
        return -ENOMEM;
    }
    *process = (struct gathered_process){
        .gather = gather, .model = model, .number = gather->store->processes++, .pid = pid != MS_ID_NONE ? pid : 0};
    gather->processes[gather->process_count++] = process;
    struct ms_consumer consumer = {.self = process,
                                   .on_row = on_row,
                                   .on_malloc = on_malloc,
                                   .on_free = on_free,
                                   .on_late = on_late,
                                   .on_step = on_step,
                                   .on_gap = on_gap,
                                   .on_close = on_close};
    int rc = ms_model_add(model, &consumer);
    return rc != 0 ? rc : ms_model_blocks(model, false, add_live, process); /* of a checkpoint */
}

static void end_process(struct gathered_process *process, bool complete)
{
    static const char *const kinds[] = {[MS_SOURCE_TRACE] = "trace", [MS_SOURCE_CSV] = "csv", [MS_SOURCE_DB] = "db"};
    struct gather *gather = process->gather;
    const struct ms_source_process *input = gather->input;
    struct ms_process_record *record = add_record(gather, MS_TABLE_PROCESSES);
    if (record != NULL) {
        *record = (struct ms_process_record){.first_ns = process->first_ns,
                                             .last_ns = process->last_ns,
                                             .events = process->events,
                                             .blocks = process->blocks,
                                             .lost = process->lost,
                                             .process = process->number,
                                             .pid = process->pid,
                                             .name = text_of(gather, input->name, strlen(input->name)),
                                             .path = text_of(gather, input->path, strlen(input->path)),
                                             .kind = text_of(gather, kinds[input->kind], strlen(kinds[input->kind])),
                                             .complete = complete};
    }
    for (size_t i = ms_map_first(&process->op_stacks, 0); i < process->op_stacks.size;
         i = ms_map_first(&process->op_stacks, i + 1)) {
        free((void *)(uintptr_t)process->op_stacks.slots[i].value);
    }
    struct ms_map *maps[] = {&process->account_of, &process->live,      &process->owners,    &process->names,
                             &process->stack_of,   &process->op_stacks, &process->open_steps};
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        ms_map_free(maps[i]);
    }
    free(process->accounts);
    free(process);
}

int ms_gather(struct ms_store *store, struct ms_source *source, const volatile sig_atomic_t *stop)
{
    struct gather gather = {.store = store, .source = source, .stop = stop};
    struct ms_source_listener listener = {.argument = &gather, .begin = begin_process};
    struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
    options.events |= MS_WANT_ACCESS | MS_WANT_TRACEBACK;
    options.levels |= MS_WANT_KERNEL;
    options.analysis |= MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_OOM;
    options.analysis |= (store->needs & MS_NEED_INEFFICIENT) != 0 ? MS_ANALYSIS_INEFFICIENT : 0;
    options.cpu = true;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ms_source_count(source); i++) {
        struct ms_source_stats before, after;
        gather.input = ms_source_process(source, i);
        ms_source_stats(source, &before);
        rc = ms_source_feed(source, i, &options, &listener);
        ms_source_stats(source, &after);
        for (size_t j = 0; j < gather.process_count; j++) {
            end_process(gather.processes[j], after.problems == before.problems || !after.partial);
        }
        gather.process_count = 0;
    }
    free(gather.processes);
    ms_buffer_free(&gather.attr);
    return rc != 0 ? rc : failed(&gather);
}
