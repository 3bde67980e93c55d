/* SPDX-License-Identifier: Apache-2.0 */
/* The report's collecting half: a consumer of the model that updates the ledger and the parts that keep something of
 * it. Results are built in results.c. Allocation failures are remembered and returned at the end of the process. */
#include "memscope/analyze/report/report_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parts ---- */

static void keep(struct ms_collected *collected, int rc)
{
    collected->error = collected->error == 0 && rc != 0 ? rc : collected->error;
}

static struct ms_device_parts *parts_of(struct ms_collected *collected, uint32_t device_at)
{
    if (device_at < collected->device_count) {
        return collected->devices[device_at];
    }
    struct ms_device_parts **devices = realloc(collected->devices, (device_at + 1) * sizeof(struct ms_device_parts *));
    if (devices == NULL) {
        keep(collected, -ENOMEM);
        return NULL;
    }
    collected->devices = devices;
    for (; collected->device_count <= device_at; collected->device_count++) {
        devices[collected->device_count] = calloc(1, sizeof(struct ms_device_parts));
        if (devices[collected->device_count] == NULL) {
            keep(collected, -ENOMEM);
            return NULL;
        }
    }
    return devices[device_at];
}

static struct ms_op_entry *op_entry(struct ms_device_parts *parts, uint32_t name)
{
    if (name >= parts->op_room) {
        size_t room = parts->op_room != 0 ? parts->op_room * 2 : 256;
        room = room > name ? room : (size_t)name + 1;
        struct ms_op_entry *ops = realloc(parts->ops, room * sizeof(*ops));
        if (ops == NULL) {
            return NULL;
        }
        memset(ops + parts->op_room, 0, (room - parts->op_room) * sizeof(*ops));
        parts->ops = ops;
        parts->op_room = room;
    }
    return &parts->ops[name];
}

/* ---- events from the ledger ---- */

/* The driver is polled ten times a second, asynchronously to the program: a value may predate the last request, and
 * then the next one differs. A value that is stable for longer is correct. */
static void look_at_usage(struct ms_collected *collected, struct ms_ledger_device *device)
{
    struct ms_usage usage;
    if (ms_model_usage(collected->model, device->device, &usage) &&
        memcmp(&usage, &device->usage, sizeof(usage)) != 0) {
        ms__settle_usage(device, device->time_ns);
        device->usage = usage;
        device->usage_driver_b = device->driver_b;
        device->usage_ns = device->time_ns;
    }
}

static void changed(void *argument, struct ms_ledger_device *device, uint32_t device_at, struct ms_ledger_entry *entry,
                    bool more)
{
    struct ms_collected *collected = argument;
    struct ms_device_parts *parts = parts_of(collected, device_at);
    if (parts == NULL) {
        return;
    }
    look_at_usage(collected, device);
    keep(collected, ms_curve_add(&parts->curve, device->used_b) ? 0 : -ENOMEM);
    keep(collected, ms_series_add(&parts->series, device, collected->ledger.begin_ns));
    uint32_t step = collected->builder->options.peak_step;
    if (!more || step == 0 || (device->step == step && device->ended_step < step)) {
        keep(collected, ms_peak_change(&parts->peak, &collected->ledger, device, entry, more));
    }
    ms_step_change(&parts->steps, device, entry, more);
    keep(collected,
         ms_fragments_change(&parts->fragments, &collected->ledger, device_at, entry, more, &collected->findings));
    struct ms_open_op *op = more ? (struct ms_open_op *)(uintptr_t)ms_ledger_op(&collected->ledger, entry->tid) : NULL;
    if (op != NULL && op->device_at == device_at) {
        op->allocations++;
        op->allocated_b += entry->size_b;
        op->most_b = device->used_b > op->most_b ? device->used_b : op->most_b;
    }
}

static struct ms_ledger_listener listener_of(struct ms_collected *collected)
{
    return (struct ms_ledger_listener){.argument = collected, .changed = changed};
}

/* ---- events from the model ---- */

static int on_malloc(void *self, const struct ms_block *block, const struct ms_pool_state *pool)
{
    struct ms_collected *collected = self;
    struct ms_ledger_listener listener = listener_of(collected);
    uint32_t number = ms_ledger_malloc(&collected->ledger, block, pool, &listener);
    if (number != 0) {
        keep(collected, ms_detect_born(&collected->detect, ms_ledger_at(&collected->ledger, number)));
    }
    return 0;
}

static void tell_mark(const struct ms_collected *collected, const struct ms_ledger_entry *entry)
{
    const struct ms_report_options *options = &collected->builder->options;
    if (options->inefficient != NULL && entry->use.stamps.found != 0) {
        struct ms_report_inefficient block = {.pid = collected->pid,
                                              .device = collected->ledger.devices[entry->device_at]->device,
                                              .step = entry->step,
                                              .addr = entry->addr,
                                              .malloc_ns = entry->malloc_ns,
                                              .size_b = entry->size_b,
                                              .found = entry->use.stamps.found};
        options->inefficient(options->argument, &block);
    }
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    struct ms_collected *collected = self;
    struct ms_ledger_listener listener = listener_of(collected);
    if (collected->ended) {
        return 0; /* the process is gone: the block was not freed */
    }
    uint32_t number = ms_ledger_end(&collected->ledger, block, pool, time_ns, &listener);
    if (number != 0) {
        const struct ms_ledger_entry *entry = ms_ledger_at(&collected->ledger, number);
        uint64_t now = collected->ledger.devices[entry->device_at]->now;
        ms_detect_end(&collected->detect, &collected->findings, &collected->ledger, entry, now != 0 ? now - 1 : 0,
                      how == MS_END_FREE || how == MS_END_SHADOW);
        tell_mark(collected, entry);
        struct ms_device_parts *parts = parts_of(collected, entry->device_at);
        if (parts != NULL && now != 0) {
            keep(collected, ms_detect_departed(&parts->departures, &collected->ledger, entry, now - 1));
        }
        ms_ledger_forget(&collected->ledger, number);
    }
    return 0;
}

static void end_op(struct ms_collected *collected, const struct ms_row *row)
{
    const struct ms_open_op *op = ms_ledger_op_end(&collected->ledger, row);
    struct ms_device_parts *parts = op != NULL ? parts_of(collected, op->device_at) : NULL;
    struct ms_op_entry *entry = parts != NULL ? op_entry(parts, op->name) : NULL;
    if (entry != NULL) {
        entry->calls++;
        entry->allocations += op->allocations;
        entry->allocated_b += op->allocated_b;
        entry->rise_b = op->most_b - op->start_b > entry->rise_b ? op->most_b - op->start_b : entry->rise_b;
    }
}

static uint64_t attr_number(const struct ms_row *row, enum ms_attr_key key)
{
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].key == key && row->attr[i].form == MS_FORM_NUMBER) {
            return row->attr[i].number;
        }
    }
    return 0;
}

/* The site of the request; none if unknown. */
static uint32_t site_of(struct ms_ledger *ledger, const struct ms_row *row)
{
    const struct ms_block asked = {.c_stack = row->c_stack, .python_stack = row->python_stack, .space = MS_SPACE_HAL};
    return row->c_stack != 0 || row->python_stack != 0 ? ms_ledger_site(ledger, &asked) : MS_REPORT_NO_SITE;
}

/* The allocator retries several times: one finding per operator and step. */
static void out_of_memory(struct ms_collected *collected, const struct ms_row *row)
{
    uint32_t device_at;
    const struct ms_ledger_device *device = ms_ledger_device(&collected->ledger, row->device, &device_at);
    const struct ms_open_op *op = ms_ledger_op(&collected->ledger, row->tid);
    struct ms_finding *finding =
        device != NULL ? ms_finding_at(&collected->findings, MS_PATTERN_OOM, device_at, MS_REPORT_NO_SITE, 0) : NULL;
    if (finding == NULL) {
        return;
    }
    uint64_t asked_b = attr_number(row, MS_ATTR_REQ_SIZE);
    if (finding->blocks++ == 0) {
        finding->first_step = device->step;
        finding->time_ns = row->time_ns;
        finding->extra = device->used_b;
        finding->asked_at = site_of(&collected->ledger, row);
    }
    finding->from_op = op != NULL ? op->name : finding->from_op;
    finding->last_step = device->step;
    finding->size_b = asked_b > finding->size_b ? asked_b : finding->size_b;
    finding->bytes = finding->size_b;
}

static int on_row(void *self, const struct ms_row *row)
{
    struct ms_collected *collected = self;
    struct ms_ledger *ledger = &collected->ledger;
    struct ms_ledger_listener listener = listener_of(collected);
    if (ledger->begin_ns == 0 && row->type != MS_TYPE_KERNEL_EXECUTE_START) {
        ledger->begin_ns = row->time_ns;
    }
    unsigned found;
    switch (row->event) {
    case MS_EV_ACCESS: {
        ms_ledger_settle(ledger, row->tid, &listener);
        uint32_t number = ms_ledger_access(ledger, row, &found);
        if (number != 0 && ms_ledger_at(ledger, number)->use.accesses == 1) {
            keep(collected, ms_detect_first_use(&collected->detect, ms_ledger_at(ledger, number)));
        }
        break;
    }
    case MS_EV_OP_LAUNCH:
        ms_ledger_settle(ledger, row->tid, &listener);
        if (row->type == MS_TYPE_ATEN_START || row->type == MS_TYPE_ATB_START) {
            ms_ledger_op_begin(ledger, row);
        } else {
            end_op(collected, row);
        }
        break;
    case MS_EV_KERNEL_LAUNCH:
        ms_ledger_settle(ledger, row->tid, &listener);
        break;
    case MS_EV_OOM_DETAIL:
        if (row->type == MS_TYPE_OOM_TRIGGER) {
            out_of_memory(collected, row);
        }
        break;
    default:
        break;
    }
    return 0;
}

static int on_step(void *self, const struct ms_step_info *step)
{
    struct ms_collected *collected = self;
    struct ms_ledger *ledger = &collected->ledger;
    struct ms_ledger_listener listener = listener_of(collected);
    uint32_t device_at;
    ledger->begin_ns = ledger->begin_ns == 0 ? step->time_ns : ledger->begin_ns;
    ms_ledger_settle(ledger, 0, &listener);
    struct ms_ledger_device *device = ms_ledger_device(ledger, step->device, &device_at);
    struct ms_device_parts *parts = device != NULL ? parts_of(collected, device_at) : NULL;
    if (parts == NULL) {
        return 0;
    }
    keep(collected, ms_step_mark(&parts->steps, ledger, device_at, step));
    if (!step->begins) {
        for (size_t i = 0; i < parts->departures.count; i++) {
            ms_detect_late(&collected->findings, &parts->departures.list[i]);
        }
        parts->departures.count = 0;
        keep(collected, ms_fragments_step(&parts->fragments, ledger, device_at, &collected->findings));
    }
    return 0;
}

static int on_gap(void *self, const struct ms_event *event)
{
    struct ms_collected *collected = self;
    if (collected->gap_total++ < MS_GAPS_KEPT) {
        collected->gaps[collected->gap_total - 1] =
            (struct ms_report_gap){.since_ns = event->gap.since_ns,
                                   .until_ns = event->time_ns,
                                   .lost = event->gap.lost,
                                   .lost_memory = event->gap.lost_alloc + event->gap.lost_free,
                                   .cause = ms_gap_cause_name(event->gap.cause)};
    }
    return 0;
}

static int on_late(void *self, const struct ms_block *block)
{
    struct ms_collected *collected = self;
    ms_ledger_owner(&collected->ledger, block);
    return 0;
}

static void end_entry(void *argument, uint32_t number, struct ms_ledger_entry *entry)
{
    (void)number;
    struct ms_collected *collected = argument;
    const struct ms_device_parts *parts = parts_of(collected, entry->device_at);
    if (parts != NULL) {
        ms_detect_end(&collected->detect, &collected->findings, &collected->ledger, entry, UINT64_MAX, false);
        ms_detect_leak(&collected->findings, &collected->ledger, &parts->steps, entry, UINT64_MAX);
        tell_mark(collected, entry);
    }
}

static int on_end(void *self)
{
    struct ms_collected *collected = self;
    struct ms_ledger *ledger = &collected->ledger;
    struct ms_ledger_listener listener = listener_of(collected);
    ms_ledger_settle(ledger, 0, &listener);
    ms_ledger_each(ledger, end_entry, collected);
    struct ms_model_stats stats;
    ms_model_stats(collected->model, &stats);
    ledger->last_ns = stats.last_ns > ledger->last_ns ? stats.last_ns : ledger->last_ns;
    for (uint32_t i = 0; i < collected->device_count; i++) {
        struct ms_device_parts *parts = collected->devices[i];
        for (size_t j = 0; j < parts->departures.count; j++) {
            const struct ms_departed *departed = &parts->departures.list[j];
            if (!ms_detect_leak(&collected->findings, ledger, &parts->steps, &departed->entry, departed->end_at)) {
                ms_detect_late(&collected->findings, departed);
            }
        }
        ms_step_last(&parts->steps, ledger->devices[i], ledger->last_ns);
    }
    collected->ended = true;
    return 0;
}

/* ---- processes ---- */

void ms_report_model_options(struct ms_model_options *out)
{
    *out = (struct ms_model_options)MS_MODEL_OPTIONS_DEFAULT;
    out->events = MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_LAUNCH | MS_WANT_ACCESS;
    out->levels = MS_WANT_OP | MS_WANT_KERNEL;
    out->analysis = MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_OOM;
    out->oom_top_k = 1;
    out->cpu = true;
}

/* For a model that starts in the middle of a recording: live blocks count as allocated now. */
static int adopt(void *argument, const struct ms_block *block)
{
    struct ms_collected *collected = argument;
    struct ms_model_stats stats;
    struct ms_pool_state pool;
    if (block->state != MS_BLOCK_LIVE || !ms_model_pool(collected->model, block->space, block->device, &pool)) {
        return 0;
    }
    ms_model_stats(collected->model, &stats);
    struct ms_block now = *block;
    now.malloc_ns = stats.last_ns > block->malloc_ns ? stats.last_ns : block->malloc_ns;
    return on_malloc(collected, &now, &pool);
}

int ms_report_process_begin(struct ms_report_builder *builder, uint32_t pid, struct ms_model *model)
{
    struct ms_collected *collected = calloc(1, sizeof(*collected));
    if (collected == NULL) {
        return -ENOMEM;
    }
    collected->builder = builder;
    collected->arena = &builder->arena;
    collected->pid = pid;
    collected->model = model;
    ms_ledger_init(&collected->ledger, model, builder->options.idle_threshold);
    struct ms_consumer consumer = {.self = collected,
                                   .on_row = on_row,
                                   .on_malloc = on_malloc,
                                   .on_free = on_free,
                                   .on_step = on_step,
                                   .on_gap = on_gap,
                                   .on_late = on_late,
                                   .on_end = on_end};
    int rc = ms_model_add(model, &consumer);
    if (rc != 0) {
        free(collected);
        return rc;
    }
    collected->next = builder->open;
    builder->open = collected;
    return ms_model_blocks(model, false, adopt, collected);
}

static void collected_free(struct ms_collected *collected)
{
    for (uint32_t i = 0; i < collected->device_count; i++) {
        struct ms_device_parts *parts = collected->devices[i];
        ms_curve_free(&parts->curve);
        ms_series_free(&parts->series);
        ms_peak_free(&parts->peak);
        ms_step_free(&parts->steps);
        ms_fragments_free(&parts->fragments);
        free(parts->departures.list);
        free(parts->ops);
        free(parts);
    }
    free(collected->devices);
    ms_ledger_free(&collected->ledger);
    ms_detect_free(&collected->detect);
    ms_findings_free(&collected->findings);
    free(collected->site_of);
    free(collected->sites);
    free(collected->notes);
    free(collected);
}

int ms_report_process_end(struct ms_report_builder *builder, struct ms_model *model, struct ms_stack_source stacks,
                          const char *name, const char *path, const char *source)
{
    struct ms_collected **link = &builder->open;
    while (*link != NULL && (*link)->model != model) {
        link = &(*link)->next;
    }
    struct ms_collected *collected = *link;
    if (collected == NULL) {
        return -EINVAL;
    }
    *link = collected->next;
    collected->stacks = stacks;
    struct ms_report_process process = {.pid = collected->pid,
                                        .name = ms_arena_text(&builder->arena, name, strlen(name)),
                                        .path = ms_arena_text(&builder->arena, path, strlen(path)),
                                        .source = ms_arena_text(&builder->arena, source, strlen(source)),
                                        .command = ""};
    int rc = collected->error != 0 ? collected->error : collected->ledger.error;
    rc = rc != 0 ? rc : collected->findings.error;
    rc = rc != 0 ? rc : ms__results(collected, &process);
    struct ms_report_process *processes =
        rc == 0 ? realloc(builder->processes, (builder->process_count + 1) * sizeof(*processes)) : NULL;
    if (processes != NULL) {
        builder->processes = processes;
        processes[builder->process_count++] = process;
    } else if (rc == 0) {
        rc = -ENOMEM;
    }
    collected_free(collected);
    return rc;
}

void ms_report_process_command(struct ms_report_builder *builder, const char *command)
{
    if (builder->process_count != 0) {
        builder->processes[builder->process_count - 1].command =
            ms_arena_text(&builder->arena, command, strlen(command));
    }
}

/* ---- notes ---- */

int ms__add_note(struct ms_arena *arena, struct ms_report_note **notes, size_t *count, enum ms_note_level level,
                 const char *text)
{
    struct ms_report_note *more = realloc(*notes, (*count + 1) * sizeof(*more));
    if (more == NULL) {
        return -ENOMEM;
    }
    *notes = more;
    more[(*count)++] = (struct ms_report_note){level, ms_arena_text(arena, text, strlen(text))};
    return 0;
}

void ms_report_note(struct ms_report_builder *builder, enum ms_note_level level, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    builder->report.partial = builder->report.partial || level == MS_NOTE_PARTIAL;
    if (ms__add_note(&builder->arena, &builder->notes, &builder->note_count, level, text) != 0) {
        builder->error = -ENOMEM;
    }
}

/* ---- interface ---- */

int ms_report_begin(const struct ms_report_options *options, struct ms_report_builder **out)
{
    struct ms_report_builder *builder = calloc(1, sizeof(*builder));
    if (builder == NULL) {
        return -ENOMEM;
    }
    builder->options = *options;
    builder->options.top = options->top != 0 ? options->top : 10;
    const char *input = options->input != NULL ? options->input : "";
    builder->report.input = ms_arena_text(&builder->arena, input, strlen(input));
    *out = builder;
    return 0;
}

const struct ms_report *ms_report_finish(struct ms_report_builder *builder)
{
    builder->report.processes = builder->processes;
    builder->report.process_count = builder->process_count;
    builder->report.notes = builder->notes;
    builder->report.note_count = builder->note_count;
    for (size_t i = 0; i < builder->process_count; i++) {
        for (size_t j = 0; j < builder->processes[i].note_count; j++) {
            builder->report.partial =
                builder->report.partial || builder->processes[i].notes[j].level == MS_NOTE_PARTIAL;
        }
    }
    return builder->error == 0 && !builder->arena.failed ? &builder->report : NULL;
}

void ms_report_free(struct ms_report_builder *builder)
{
    if (builder == NULL) {
        return;
    }
    for (struct ms_collected *open = builder->open, *next; open != NULL; open = next) {
        next = open->next;
        collected_free(open);
    }
    free(builder->processes);
    free(builder->notes);
    ms_arena_free(&builder->arena);
    free(builder);
}
