/* SPDX-License-Identifier: Apache-2.0 */
/* See report_json.h. Objects are written field by field in the order of docs/format/report.md. Numbers stay below 2^53:
 * addresses and absolute times are strings. */
#include "memscope/render/report_json.h"

#include "memscope/render/json.h"
#include "memscope/render/ranks.h"
#include "trace/event.h"

/* ---- parts ---- */

static void put_site_id(struct ms_json *json, uint32_t site)
{
    if (site == MS_REPORT_NO_SITE) {
        ms_json_null(json, "site");
    } else {
        ms_json_number(json, "site", site);
    }
}

enum { OWNER = 1, SITE = 2 };

static void put_amounts(struct ms_json *json, const char *key, const struct ms_report_amount *amounts, size_t count,
                        unsigned by)
{
    ms_json_array(json, key);
    for (size_t i = 0; i < count; i++) {
        ms_json_object(json, NULL);
        if ((by & SITE) != 0) {
            put_site_id(json, amounts[i].site);
        }
        if ((by & OWNER) != 0 && amounts[i].owner[0] != '\0') {
            ms_json_text(json, "owner", amounts[i].owner);
            ms_json_text(json, "class", ms_owner_class_name(amounts[i].class));
        }
        ms_json_number(json, "bytes", amounts[i].bytes);
        ms_json_number(json, "blocks", amounts[i].blocks);
        ms_json_close(json);
    }
    ms_json_close(json);
}

static void put_block_fields(struct ms_json *json, const struct ms_report_block *block)
{
    ms_json_hex(json, "addr", block->addr);
    ms_json_number(json, "bytes", block->size_b);
    ms_json_text(json, "pool", ms_space_title(block->space));
    ms_json_text(json, "owner", block->owner);
    ms_json_text(json, "op", block->op);
    put_site_id(json, block->site);
    ms_json_number(json, "step", block->step);
    ms_json_number(json, "t_ns", block->t_ns);
}

static void put_account(struct ms_json *json, const struct ms_report_account *account)
{
    ms_json_object(json, "account");
    ms_json_number(json, "driver_b", account->driver_b);
    ms_json_number(json, "segments", account->segments);
    ms_json_number(json, "segment_b", account->segment_b);
    ms_json_array(json, "pools");
    for (size_t i = 0; i < account->pool_count; i++) {
        const struct ms_report_pool *pool = &account->pools[i];
        ms_json_object(json, NULL);
        ms_json_text(json, "name", pool->name);
        ms_json_number(json, "reserved_b", pool->reserved_b);
        ms_json_number(json, "used_b", pool->used_b);
        ms_json_number(json, "blocks", pool->blocks);
        ms_json_close(json);
    }
    ms_json_close(json);
    ms_json_array(json, "modules");
    for (size_t i = 0; i < account->module_count; i++) {
        ms_json_object(json, NULL);
        ms_json_text(json, "name", account->modules[i].name);
        ms_json_number(json, "bytes", account->modules[i].bytes);
        ms_json_number(json, "blocks", account->modules[i].blocks);
        ms_json_close(json);
    }
    ms_json_close(json);
    ms_json_number(json, "pinned_b", account->pinned_b);
    if (account->usage_known) {
        ms_json_object(json, "usage");
        ms_json_number(json, "process_used_b", account->process_used_b);
        ms_json_number(json, "device_used_b", account->device_used_b);
        ms_json_number(json, "device_total_b", account->device_total_b);
        ms_json_number(json, "rest_b", account->rest_b);
        ms_json_close(json);
    } else {
        ms_json_null(json, "usage");
    }
    ms_json_close(json);
}

static void put_moment(struct ms_json *json, const char *key, const struct ms_report_moment *moment)
{
    ms_json_object(json, key);
    ms_json_number(json, "t_ns", moment->t_ns);
    ms_json_number(json, "used_b", moment->used_b);
    ms_json_number(json, "reserved_b", moment->reserved_b);
    ms_json_number(json, "driver_b", moment->driver_b);
    ms_json_number(json, "step", moment->step);
    ms_json_text(json, "op", moment->op);
    put_site_id(json, moment->site);
    ms_json_number(json, "blocks", moment->blocks);
    put_amounts(json, "owners", moment->owners, moment->owner_count, OWNER);
    put_amounts(json, "sites", moment->sites, moment->site_count, OWNER | SITE);
    ms_json_array(json, "top");
    for (size_t i = 0; i < moment->top_count; i++) {
        ms_json_object(json, NULL);
        put_block_fields(json, &moment->top[i]);
        ms_json_close(json);
    }
    ms_json_close(json);
    put_account(json, &moment->account);
    ms_json_close(json);
}

/* Columns instead of rows: what charts need, and a third of the size. */
#define COLUMN(json, key, array, count, field)                                                                         \
    do {                                                                                                               \
        ms_json_array(json, key);                                                                                      \
        for (size_t column_i = 0; column_i < (count); column_i++) {                                                    \
            ms_json_number(json, NULL, (array)[column_i].field);                                                       \
        }                                                                                                              \
        ms_json_close(json);                                                                                           \
    } while (0)

static void put_series(struct ms_json *json, const struct ms_report_device *device)
{
    const struct ms_report_point *points = device->points;
    size_t count = device->point_count;
    ms_json_object(json, "series");
    COLUMN(json, "t_ns", points, count, t_ns);
    COLUMN(json, "used_b", points, count, used_b);
    COLUMN(json, "reserved_b", points, count, reserved_b);
    COLUMN(json, "driver_b", points, count, driver_b);
    ms_json_object(json, "classes");
    for (unsigned class = 0; class < MS_CLASS_COUNT; class ++) {
        uint64_t any = 0;
        for (size_t i = 0; i < count; i++) {
            any |= points[i].classes_b[class];
        }
        if (any != 0) {
            COLUMN(json, ms_owner_class_name(class), points, count, classes_b[class]);
        }
    }
    ms_json_close(json);
    ms_json_close(json);
}

static void put_fragmentation(struct ms_json *json, const struct ms_report_fragmentation *f)
{
    ms_json_object(json, "fragmentation");
    COLUMN(json, "t_ns", f->points, f->point_count, t_ns);
    COLUMN(json, "reserved_b", f->points, f->point_count, reserved_b);
    COLUMN(json, "used_b", f->points, f->point_count, used_b);
    COLUMN(json, "largest_free_b", f->points, f->point_count, largest_free_b);
    COLUMN(json, "empty_b", f->points, f->point_count, empty_b);
    COLUMN(json, "pinned_free_b", f->points, f->point_count, pinned_free_b);
    ms_json_number(json, "worst_t_ns", f->worst_t_ns);
    ms_json_number(json, "worst_pinned_free_b", f->worst_pinned_free_b);
    ms_json_number(json, "pin_total", f->pin_total);
    ms_json_array(json, "pins");
    for (size_t i = 0; i < f->pin_count; i++) {
        ms_json_object(json, NULL);
        ms_json_hex(json, "addr", f->pins[i].addr);
        ms_json_number(json, "bytes", f->pins[i].size_b);
        ms_json_number(json, "used_b", f->pins[i].used_b);
        ms_json_number(json, "blocks", f->pins[i].blocks);
        ms_json_object(json, "largest");
        put_block_fields(json, &f->pins[i].largest);
        ms_json_close(json);
        ms_json_close(json);
    }
    ms_json_close(json);
    ms_json_close(json);
}

static void put_steps(struct ms_json *json, const struct ms_report_device *device)
{
    ms_json_array(json, "steps");
    for (size_t i = 0; i < device->step_count; i++) {
        const struct ms_report_step *step = &device->steps[i];
        ms_json_object(json, NULL);
        ms_json_number(json, "step", step->step);
        ms_json_bool(json, "ended", step->ended);
        ms_json_number(json, "begin_ns", step->begin_ns);
        ms_json_number(json, "end_ns", step->end_ns);
        ms_json_number(json, "begin_b", step->begin_b);
        ms_json_number(json, "end_b", step->end_b);
        ms_json_number(json, "peak_b", step->peak_b);
        ms_json_number(json, "reserved_b", step->reserved_b);
        ms_json_number(json, "allocations", step->allocations);
        ms_json_number(json, "allocated_b", step->allocated_b);
        ms_json_number(json, "frees", step->frees);
        ms_json_number(json, "freed_b", step->freed_b);
        ms_json_number(json, "survivor_b", step->survivor_b);
        ms_json_number(json, "survivor_blocks", step->survivor_blocks);
        put_amounts(json, "survivors", step->survivors, step->survivor_count, SITE);
        ms_json_close(json);
    }
    ms_json_close(json);
    ms_json_number(json, "steps_left_out", device->steps_left_out);
    if (device->growth.known) {
        ms_json_object(json, "growth");
        ms_json_number(json, "from_step", device->growth.from_step);
        ms_json_number(json, "to_step", device->growth.to_step);
        ms_json_signed(json, "bytes", device->growth.bytes);
        ms_json_signed(json, "per_step_b", device->growth.per_step_b);
        ms_json_close(json);
    } else {
        ms_json_null(json, "growth");
    }
}

static void put_ops(struct ms_json *json, const struct ms_report_device *device)
{
    ms_json_array(json, "operators");
    for (size_t i = 0; i < device->op_count; i++) {
        const struct ms_report_op *op = &device->ops[i];
        ms_json_object(json, NULL);
        ms_json_text(json, "name", op->name);
        ms_json_number(json, "calls", op->calls);
        ms_json_number(json, "allocations", op->allocations);
        ms_json_number(json, "allocated_b", op->allocated_b);
        ms_json_number(json, "rise_b", op->rise_b);
        ms_json_number(json, "at_peak_b", op->at_peak_b);
        ms_json_close(json);
    }
    ms_json_close(json);
    ms_json_number(json, "operators_left_out", device->ops_left_out);
}

static void put_advice(struct ms_json *json, const struct ms_report_device *device)
{
    ms_json_array(json, "advice");
    for (size_t i = 0; i < device->finding_count; i++) {
        const struct ms_report_finding *finding = &device->findings[i];
        ms_json_object(json, NULL);
        ms_json_text(json, "pattern", ms_patterns[finding->pattern].name);
        ms_json_bool(json, "minor", finding->minor);
        ms_json_text(json, "text", finding->text);
        put_site_id(json, finding->site);
        ms_json_text(json, "op", finding->op);
        ms_json_text(json, "from_op", finding->from_op);
        ms_json_text(json, "to_op", finding->to_op);
        ms_json_number(json, "first_step", finding->first_step);
        ms_json_number(json, "last_step", finding->last_step);
        ms_json_number(json, "blocks", finding->blocks);
        ms_json_number(json, "bytes", finding->bytes);
        ms_json_number(json, "at_stake_b", finding->at_stake_b);
        ms_json_number(json, "saves_peak_b", finding->saves_peak_b);
        ms_json_number(json, "saves_reserved_b", finding->saves_reserved_b);
        ms_json_number(json, "t_ns", finding->t_ns);
        ms_json_hex(json, "addr", finding->addr);
        ms_json_number(json, "block_b", finding->size_b);
        ms_json_text(json, "confidence", finding->confidence);
        ms_json_close(json);
    }
    ms_json_close(json);
    ms_json_number(json, "saves_together_b", device->saves_together_b);
    ms_json_bool(json, "exact", device->exact);
}

static void put_device(struct ms_json *json, const struct ms_report_device *device)
{
    ms_json_object(json, NULL);
    ms_json_text(json, "name", device->name);
    if (device->device == MS_DEV_CPU) {
        ms_json_null(json, "device");
    } else {
        ms_json_number(json, "device", device->device);
    }
    put_moment(json, "peak", &device->peak);
    put_moment(json, "end", &device->end);
    put_series(json, device);
    put_fragmentation(json, &device->fragmentation);
    put_steps(json, device);
    put_ops(json, device);
    put_advice(json, device);
    ms_json_close(json);
}

static void put_notes(struct ms_json *json, const struct ms_report_note *notes, size_t count)
{
    static const char *const levels[] = {
        [MS_NOTE_REMARK] = "remark", [MS_NOTE_WARNING] = "warning", [MS_NOTE_PARTIAL] = "partial"};
    ms_json_array(json, "notes");
    for (size_t i = 0; i < count; i++) {
        ms_json_object(json, NULL);
        ms_json_text(json, "level", levels[notes[i].level]);
        ms_json_text(json, "text", notes[i].text);
        ms_json_close(json);
    }
    ms_json_close(json);
}

void ms_frames_json(const struct ms_report_frame *frames, size_t count, struct ms_json *json)
{
    ms_json_array(json, "frames");
    for (size_t i = 0; i < count; i++) {
        ms_json_object(json, NULL);
        ms_json_text(json, "language", frames[i].python ? "python" : "c");
        ms_json_text(json, "function", frames[i].function);
        ms_json_text(json, "file", frames[i].file);
        ms_json_number(json, "line", frames[i].line);
        ms_json_close(json);
    }
    ms_json_close(json);
}

static void put_sites(struct ms_json *json, const struct ms_report_process *process)
{
    ms_json_array(json, "sites");
    for (size_t i = 0; i < process->site_count; i++) {
        const struct ms_report_site *site = &process->sites[i];
        ms_json_object(json, NULL);
        ms_json_text(json, "label", site->shown);
        ms_json_text(json, "op", site->op);
        ms_frames_json(site->frames, site->frame_count, json);
        ms_json_close(json);
    }
    ms_json_close(json);
}

static void put_process(struct ms_json *json, const struct ms_report_process *process)
{
    ms_json_object(json, NULL);
    ms_json_number(json, "pid", process->pid);
    ms_json_text(json, "name", process->name);
    ms_json_text(json, "command", process->command);
    ms_json_text(json, "path", process->path);
    ms_json_text(json, "source", process->source);
    ms_json_big(json, "begin_ns", process->begin_ns);
    ms_json_number(json, "duration_ns", process->duration_ns);
    ms_json_number(json, "events", process->events);
    ms_json_number(json, "blocks", process->blocks);
    ms_json_number(json, "accesses", process->accesses);
    ms_json_number(json, "lost", process->lost);
    ms_json_number(json, "lost_memory", process->lost_memory);
    ms_json_number(json, "gap_total", process->gap_total);
    ms_json_array(json, "gaps");
    for (size_t i = 0; i < process->gap_count; i++) {
        ms_json_object(json, NULL);
        ms_json_number(json, "since_ns", process->gaps[i].since_ns);
        ms_json_number(json, "until_ns", process->gaps[i].until_ns);
        ms_json_number(json, "lost", process->gaps[i].lost);
        ms_json_number(json, "lost_memory", process->gaps[i].lost_memory);
        ms_json_text(json, "cause", process->gaps[i].cause);
        ms_json_close(json);
    }
    ms_json_close(json);
    put_notes(json, process->notes, process->note_count);
    put_sites(json, process);
    ms_json_array(json, "devices");
    for (size_t i = 0; i < process->device_count; i++) {
        put_device(json, &process->devices[i]);
    }
    ms_json_close(json);
    ms_json_close(json);
}

/* ---- interface ---- */

void ms_report_json(const struct ms_report *report, struct ms_buffer *out)
{
    struct ms_json json = {.out = out};
    ms_json_object(&json, NULL);
    ms_json_text(&json, "format", "msmemscope-report");
    ms_json_number(&json, "version", 1);
    ms_json_text(&json, "input", report->input);
    ms_json_bool(&json, "partial", report->partial);
    put_notes(&json, report->notes, report->note_count);
    ms_json_array(&json, "classes");
    for (unsigned class = 0; class < MS_CLASS_COUNT; class ++) {
        ms_json_object(&json, NULL);
        ms_json_text(&json, "name", ms_owner_class_name(class));
        ms_json_text(&json, "title", ms_owner_class_title(class));
        ms_json_close(&json);
    }
    ms_json_close(&json);
    ms_json_array(&json, "patterns");
    for (unsigned i = 0; i < MS_PATTERN_COUNT; i++) {
        ms_json_object(&json, NULL);
        ms_json_text(&json, "name", ms_patterns[i].name);
        ms_json_text(&json, "title", ms_patterns[i].title);
        ms_json_text(&json, "meaning", ms_patterns[i].meaning);
        ms_json_text(&json, "remedy", ms_patterns[i].remedy);
        ms_json_close(&json);
    }
    ms_json_close(&json);
    ms_json_array(&json, "processes");
    for (size_t i = 0; i < report->process_count; i++) {
        put_process(&json, &report->processes[i]);
    }
    ms_json_close(&json);
    ms_ranks_json(report->ranks, &json);
    ms_json_close(&json);
    ms_buffer_char(out, '\n');
}
