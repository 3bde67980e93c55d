/* SPDX-License-Identifier: Apache-2.0 */
/* Converts rows of a dump back to the events behind them, so that the same model handles dumps and traces.
 *
 * What a dump does not contain is inferred:
 *  - ids of ranges: they are assigned in order of the starts, and only the row of the end shows one; the first end
 *    yields the offset, and where the rule does not hold, an end belongs to the last open range of its thread;
 *  - whether a FREE of driver memory releases a handle: if the handle was created;
 *  - which FREE rows marked shadow:true are real: those at the very end mean "still live when the process ended"
 *    and are left to the model, which creates them again.
 *
 * One model per process id. Memory: O(open ranges + live handles) besides the models. */
#include "memscope/source/internal.h"

#include "ascend_hal.h" /* flags of halMemAlloc */
#include "base/map.h"
#include "trace/aten_mark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_RANGES_MAX 4096u

struct open_range {
    uint64_t ordinal;
    uint32_t tid;
};

struct dump_process {
    uint32_t pid;
    struct ms_model *model;
    uint64_t range_ordinal, range_offset; /* of the ids, once known */
    bool range_offset_known;
    struct open_range ranges[OPEN_RANGES_MAX];
    uint32_t range_count;
    struct ms_map handles;        /* live ones */
    struct ms_map totals, usages; /* last reported value, by pool and device */
    struct ms_event *waiting;
    size_t waiting_count, waiting_room;
    bool tracing;
};

struct ms_events {
    struct ms_model_options options;
    struct ms_source_listener listener;
    struct dump_process **processes;
    size_t count, last;
    struct ms_buffer text;
    int error;
};

/* ---- processes ---- */

static struct dump_process *process_of(struct ms_events *events, uint32_t pid)
{
    if (events->count != 0 && (events->processes[events->last]->pid == pid || pid == MS_ID_NONE)) {
        return events->processes[events->last]; /* rows of the device have no process */
    }
    for (size_t i = 0; i < events->count; i++) {
        if (events->processes[i]->pid == pid) {
            events->last = i;
            return events->processes[i];
        }
    }
    struct dump_process **grown = realloc(events->processes, (events->count + 1) * sizeof(struct dump_process *));
    struct dump_process *process = calloc(1, sizeof(*process));
    if (grown != NULL) {
        events->processes = grown;
    }
    int rc = grown != NULL && process != NULL ? ms_model_new(&events->options, &process->model) : -ENOMEM;
    if (rc == 0) {
        process->pid = pid;
        process->tracing = true;
        rc = events->listener.begin(events->listener.argument, pid, process->model);
    }
    if (rc != 0) {
        events->error = rc;
        if (process != NULL) {
            ms_model_free(process->model);
        }
        free(process);
        return NULL;
    }
    grown[events->count] = process;
    events->last = events->count++;
    return process;
}

static int feed(struct dump_process *process, struct ms_event *event)
{
    event->order = ms_record_specs[event->kind].order;
    event->stamp = event->time_ns;
    event->pid = process->pid;
    return ms_model_feed(process->model, event);
}

/* ---- contents of a row ---- */

static uint64_t number_of(const struct ms_row *row, enum ms_attr_key key, uint64_t none)
{
    const struct ms_attr *attr = ms__attr(row, key);
    uint64_t number = none;
    if (attr == NULL) {
        return none;
    }
    if (attr->form == MS_FORM_NUMBER || attr->form == MS_FORM_ADDR || attr->form == MS_FORM_PTR) {
        return attr->number;
    }
    if (attr->form == MS_FORM_TEXT && !ms__parse_hex(attr->text.s, attr->text.length_b, &number)) {
        ms__parse_u64(attr->text.s, attr->text.length_b, &number);
    }
    return number;
}

/* Either of two keys: generations differ. */
static uint64_t either(const struct ms_row *row, enum ms_attr_key key, enum ms_attr_key other)
{
    return number_of(row, key, number_of(row, other, 0));
}

static struct ms_text text_of(const struct ms_row *row, enum ms_attr_key key)
{
    const struct ms_attr *attr = ms__attr(row, key);
    return attr != NULL && attr->form == MS_FORM_TEXT ? attr->text : (struct ms_text){.s = ""};
}

static bool text_is(struct ms_text text, const char *word)
{
    return text.length_b == strlen(word) && memcmp(text.s, word, text.length_b) == 0;
}

static struct ms_event event_of(const struct ms_row *row, enum ms_record_kind kind)
{
    return (struct ms_event){
        .kind = (uint8_t)kind,
        .index = row->id,
        .time_ns = row->time_ns,
        .tid = row->tid,
        .stream = row->tid,
        .device = row->device,
        .c_stack = row->c_stack,
        .python_stack = row->python_stack,
        .addr = row->addr,
        .text = {.s = ""},
        .text2 = {.s = ""},
    };
}

/* ---- memory ---- */

static uint8_t pool_of_type(unsigned type)
{
    static const uint8_t pools[MS_TYPE_COUNT] = {
#define X(number, name) [MS_TYPE_##name] = MS_POOL_##name,
        MS_POOLS(X)
#undef X
    };
    return type < MS_TYPE_COUNT ? pools[type] : MS_POOL_NONE;
}

/* Whether this is pinned memory. One generation calls it HOST, like CPU tensors, and adds an attribute. */
static bool is_pinned(const struct ms_row *row)
{
    return row->type == MS_TYPE_HOST_PINNED ||
           (row->type == MS_TYPE_HOST && text_is(text_of(row, MS_ATTR_PINNED), "true"));
}

static int feed_total(struct dump_process *process, const struct ms_row *row, uint8_t pool)
{
    if (row->type == MS_TYPE_HOST || ms__attr(row, MS_ATTR_TOTAL) == NULL) {
        return 0;
    }
    uint64_t total = number_of(row, MS_ATTR_TOTAL, 0);
    bool added;
    uint64_t *known = ms_map_at(&process->totals, MS_POOL_ARG(pool, row->device), total, &added);
    if (known == NULL || (!added && *known == total)) {
        return known == NULL ? -ENOMEM : 0;
    }
    *known = total;
    struct ms_event event = event_of(row, MS_R_POOL_TOTAL);
    event.pool = pool;
    event.pool_total_b = total;
    return feed(process, &event);
}

static int feed_usage(struct dump_process *process, const struct ms_row *row)
{
    if (ms__attr(row, MS_ATTR_DEVICE_USED) == NULL && ms__attr(row, MS_ATTR_PROCESS_USED) == NULL) {
        return 0;
    }
    struct ms_event event = event_of(row, MS_R_USAGE);
    event.device_used_b = number_of(row, MS_ATTR_DEVICE_USED, 0);
    event.process_used_b = number_of(row, MS_ATTR_PROCESS_USED, 0);
    bool added;
    uint64_t sum = event.device_used_b ^ event.process_used_b << 1;
    uint64_t *known = ms_map_at(&process->usages, row->device, sum, &added);
    if (known == NULL || (!added && *known == sum)) {
        return known == NULL ? -ENOMEM : 0;
    }
    *known = sum;
    return feed(process, &event);
}

#define NO_MODULE 0xffu /* a dump names the module in the owner, if at all */

static int driver_malloc(struct dump_process *process, const struct ms_row *row, struct ms_event *event)
{
    struct ms_text page = text_of(row, MS_ATTR_PAGE_TYPE);
    bool huge = text_is(page, "huge"), giant = text_is(page, "giant");
    if (text_is(text_of(row, MS_ATTR_ALLOC_TYPE), "create")) {
        event->kind = MS_R_HAL_CREATE;
        event->side = MEM_DEV_SIDE;
        event->module_id = NO_MODULE;
        event->page_type = giant ? MEM_GIANT_PAGE_TYPE : huge ? MEM_HUGE_PAGE_TYPE : MEM_NORMAL_PAGE_TYPE;
        return ms_map_put(&process->handles, event->addr, 1) != NULL ? 0 : -ENOMEM;
    }
    event->kind = MS_R_HAL_ALLOC;
    event->flag = (row->device & MEM_DEVID_MASK) | (huge ? MEM_PAGE_HUGE : 0) | (giant ? MEM_PAGE_GIANT : 0) |
                  (uint64_t)NO_MODULE << MEM_MODULE_ID_BIT;
    return 0;
}

static int on_malloc_row(struct dump_process *process, const struct ms_row *row)
{
    struct ms_event event = event_of(row, MS_R_POOL_ALLOC);
    event.size_b = number_of(row, MS_ATTR_SIZE, 0);
    event.text = text_of(row, MS_ATTR_OWNER);
    event.pool = pool_of_type(row->type);
    int rc = feed_usage(process, row);
    if (is_pinned(row)) {
        event.kind = MS_R_HOST_REGISTER;
    } else if (row->type == MS_TYPE_HAL) {
        rc = rc != 0 ? rc : driver_malloc(process, row, &event);
    } else {
        rc = rc != 0 ? rc : feed_total(process, row, event.pool);
    }
    return rc != 0 ? rc : feed(process, &event);
}

static int on_free_row(struct dump_process *process, const struct ms_row *row, struct ms_event *event)
{
    *event = event_of(row, MS_R_POOL_FREE);
    event->pool = pool_of_type(row->type);
    if (is_pinned(row)) {
        event->kind = MS_R_HOST_UNREGISTER;
    } else if (row->type == MS_TYPE_HAL) {
        event->kind = ms_map_remove(&process->handles, row->addr, NULL) ? MS_R_HAL_RELEASE : MS_R_HAL_FREE;
    } else {
        return feed_total(process, row, event->pool);
    }
    return feed_usage(process, row);
}

/* ---- FREE rows that may be synthetic ---- */

static int wait_free(struct dump_process *process, const struct ms_row *row)
{
    if (process->waiting_count == process->waiting_room) {
        size_t room = process->waiting_room != 0 ? process->waiting_room * 2 : 256;
        struct ms_event *waiting = realloc(process->waiting, room * sizeof(*waiting));
        if (waiting == NULL) {
            return -ENOMEM;
        }
        process->waiting = waiting;
        process->waiting_room = room;
    }
    struct ms_event event;
    int rc = on_free_row(process, row, &event);
    process->waiting[process->waiting_count++] = event;
    return rc;
}

static int feed_waiting(struct dump_process *process)
{
    int rc = 0;
    for (size_t i = 0; i < process->waiting_count; i++) {
        int one = feed(process, &process->waiting[i]);
        rc = rc != 0 ? rc : one;
    }
    process->waiting_count = 0;
    return rc;
}

/* ---- marks and ranges ---- */

static uint64_t begin_range(struct dump_process *process, uint32_t tid)
{
    uint64_t ordinal = ++process->range_ordinal;
    if (process->range_count == OPEN_RANGES_MAX) { /* the oldest ones have lost their ends */
        memmove(process->ranges, process->ranges + OPEN_RANGES_MAX / 2,
                OPEN_RANGES_MAX / 2 * sizeof(process->ranges[0]));
        process->range_count = OPEN_RANGES_MAX / 2;
    }
    process->ranges[process->range_count++] = (struct open_range){.ordinal = ordinal, .tid = tid};
    return ordinal;
}

/* The ordinal of the range's start; 0: it has none. */
static uint64_t end_range(struct dump_process *process, uint32_t tid, struct ms_text name)
{
    static const char words[] = "Range end from id ";
    uint64_t id = 0;
    if (name.length_b > sizeof(words) - 1 && memcmp(name.s, words, sizeof(words) - 1) == 0) {
        ms__parse_u64(name.s + sizeof(words) - 1, name.length_b - (sizeof(words) - 1), &id);
    }
    uint32_t found = UINT32_MAX;
    for (uint32_t i = process->range_count; process->range_offset_known && id != 0 && i-- > 0;) {
        if (process->ranges[i].ordinal + process->range_offset == id) {
            found = i;
            break;
        }
    }
    for (uint32_t i = process->range_count; found == UINT32_MAX && i-- > 0;) {
        if (process->ranges[i].tid == tid) {
            found = i;
        }
    }
    if (found == UINT32_MAX && process->range_count != 0) {
        found = process->range_count - 1;
    }
    if (found == UINT32_MAX) {
        return 0;
    }
    uint64_t ordinal = process->ranges[found].ordinal;
    if (!process->range_offset_known && id != 0) {
        process->range_offset = id - ordinal; /* may wrap: a difference */
        process->range_offset_known = true;
    }
    memmove(&process->ranges[found], &process->ranges[found + 1],
            (--process->range_count - found) * sizeof(process->ranges[0]));
    return ordinal;
}

static int on_mark_row(struct dump_process *process, const struct ms_row *row)
{
    struct ms_event event = event_of(row, MS_R_MARK);
    event.text = row->name;
    if (row->type == MS_TYPE_RANGE_START) {
        event.kind = MS_R_RANGE_START;
        event.range_id = begin_range(process, row->tid);
    } else if (row->type == MS_TYPE_RANGE_END) {
        event.kind = MS_R_RANGE_END;
        event.range_id = end_range(process, row->tid, row->name);
        event.text = (struct ms_text){.s = ""};
    }
    return feed(process, &event);
}

/* ---- operators, kernels, accesses ---- */

static int on_op_row(struct ms_events *events, struct dump_process *process, const struct ms_row *row)
{
    bool start = row->type == MS_TYPE_ATEN_START || row->type == MS_TYPE_ATB_START;
    struct ms_event event = event_of(row, start ? MS_R_OP_START : MS_R_OP_END);
    event.text = row->name;
    if (row->type == MS_TYPE_ATEN_START || row->type == MS_TYPE_ATEN_END) { /* as the Python API marks them */
        event.kind = MS_R_MARK;
        events->text.used = 0;
        MS_BUFFER_TEXT(&events->text, MS_ATEN_MARK);
        ms_buffer_char(&events->text, start ? 'b' : 'e');
        MS_BUFFER_TEXT(&events->text, ": name=");
        ms_buffer_add(&events->text, row->name.s, row->name.length_b);
        if (events->text.failed) {
            return -ENOMEM;
        }
        event.text = (struct ms_text){.s = events->text.s, .length_b = (uint32_t)events->text.used};
    } else {
        event.path = text_of(row, MS_ATTR_PATH);
        event.addr = number_of(row, MS_ATTR_WORKSPACE_PTR, 0);
        event.size_b = number_of(row, MS_ATTR_WORKSPACE_SIZE, 0);
    }
    return feed(process, &event);
}

static int on_kernel_row(struct dump_process *process, const struct ms_row *row)
{
    static const struct {
        uint8_t type, kind;
    } kinds[] = {{MS_TYPE_KERNEL_LAUNCH, MS_R_KERNEL_LAUNCH},
                 {MS_TYPE_KERNEL_EXECUTE_START, MS_R_KERNEL_EXECUTE},
                 {MS_TYPE_KERNEL_EXECUTE_END, MS_R_KERNEL_EXECUTE},
                 {MS_TYPE_KERNEL_START, MS_R_OP_KERNEL_START},
                 {MS_TYPE_KERNEL_END, MS_R_OP_KERNEL_END}};
    for (size_t i = 0; i < MS_COUNT_OF(kinds); i++) {
        if (kinds[i].type == row->type) {
            struct ms_event event = event_of(row, kinds[i].kind);
            event.text = row->name;
            event.path = text_of(row, MS_ATTR_PATH);
            event.stream_id = (int64_t)number_of(row, MS_ATTR_STREAM_ID, 0);
            event.task_id = (uint32_t)number_of(row, MS_ATTR_TASK_ID, 0);
            event.end = row->type == MS_TYPE_KERNEL_EXECUTE_END;
            return feed(process, &event);
        }
    }
    return 0;
}

/* Attributes of the access itself, as they were reported: "dtype:...,shape:...". */
static struct ms_text access_attributes(struct ms_events *events, const struct ms_row *row)
{
    struct ms_buffer *out = &events->text;
    out->used = 0;
    for (uint32_t i = 0; i < row->attr_count; i++) {
        const struct ms_attr *attr = &row->attr[i];
        if (attr->key <= MS_ATTR_TYPE || attr->form != MS_FORM_TEXT) {
            continue;
        }
        if (out->used != 0) {
            ms_buffer_char(out, ',');
        }
        bool other = attr->key == MS_ATTR_OTHER;
        const char *key = other ? attr->other_key : ms_attr_name(attr->key);
        ms_buffer_add(out, key, other ? attr->other_key_b : strlen(key));
        ms_buffer_char(out, ':');
        ms_buffer_add(out, attr->text.s, attr->text.length_b);
    }
    return (struct ms_text){.s = out->used != 0 ? out->s : "", .length_b = (uint32_t)out->used};
}

static int on_access_row(struct ms_events *events, struct dump_process *process, const struct ms_row *row)
{
    struct ms_event event = event_of(row, MS_R_ACCESS);
    struct ms_text pool = text_of(row, MS_ATTR_TYPE);
    unsigned type = pool.length_b != 0 ? ms__type_of(pool.s, pool.length_b) : MS_TYPE_PTA;
    event.pool = pool_of_type(type);
    event.type = row->type == MS_TYPE_READ    ? MS_ACCESS_READ
                 : row->type == MS_TYPE_WRITE ? MS_ACCESS_WRITE
                                              : MS_ACCESS_UNKNOWN;
    event.size_b = number_of(row, MS_ATTR_SIZE, 0);
    event.text = row->name;
    event.attributes = access_attributes(events, row);
    return feed(process, &event);
}

/* ---- the rest ---- */

static int on_system_row(struct dump_process *process, const struct ms_row *row)
{
    static const uint8_t kinds[] = {
        [MS_TYPE_ACL_INIT] = MS_R_ACL_INIT, [MS_TYPE_ACL_FINI] = MS_R_ACL_FINI, [MS_TYPE_START_TRACE] = MS_R_START,
        [MS_TYPE_STOP_TRACE] = MS_R_STOP,   [MS_TYPE_STEP] = MS_R_STEP,
    };
    struct ms_event event = event_of(row, row->type < sizeof(kinds) ? kinds[row->type] : MS_R_NONE);
    if (event.kind == MS_R_STEP) {
        ms__parse_u64(row->name.s, row->name.length_b, &event.value);
    }
    return event.kind != MS_R_NONE ? feed(process, &event) : 0;
}

static int on_snapshot_row(struct dump_process *process, const struct ms_row *row)
{
    struct ms_event event = event_of(row, MS_R_SNAPSHOT);
    event.text = row->name;
    event.snapshot.reserved_b = number_of(row, MS_ATTR_RESERVED, 0);
    event.snapshot.max_reserved_b = either(row, MS_ATTR_MAX_RESERVED, MS_ATTR_PEAK_RESERVED);
    event.snapshot.allocated_b = number_of(row, MS_ATTR_ALLOCATED, 0);
    event.snapshot.max_allocated_b = either(row, MS_ATTR_MAX_ALLOCATED, MS_ATTR_PEAK_ALLOCATED);
    event.snapshot.total_b = either(row, MS_ATTR_TOTAL, MS_ATTR_TOTAL_MEM);
    event.snapshot.free_b = either(row, MS_ATTR_FREE, MS_ATTR_FREE_MEM);
    return feed(process, &event);
}

/* The model finds the largest and most recent blocks again. */
static int on_oom_row(struct dump_process *process, const struct ms_row *row)
{
    if (row->type != MS_TYPE_OOM_TRIGGER) {
        return 0;
    }
    struct ms_event event = event_of(row, MS_R_OOM);
    event.function = text_is(text_of(row, MS_ATTR_FUNC), "halMemCreate") ? MS_OOM_MEM_CREATE : MS_OOM_MEM_ALLOC;
    event.size_b = number_of(row, MS_ATTR_REQ_SIZE, 0);
    event.flag = number_of(row, MS_ATTR_FLAG, 0);
    return feed(process, &event);
}

/* ---- consumer ---- */

static int on_row(void *self, const struct ms_row *row)
{
    struct ms_events *events = self;
    struct dump_process *process = process_of(events, row->pid);
    if (process == NULL) {
        return events->error;
    }
    if (row->event == MS_EV_FREE && ms__attr(row, MS_ATTR_SHADOW) != NULL) {
        return wait_free(process, row);
    }
    int waited = process->waiting_count != 0 ? feed_waiting(process) : 0, rc = 0;
    struct ms_event event;
    switch (row->event) {
    case MS_EV_MALLOC:
        rc = on_malloc_row(process, row);
        break;
    case MS_EV_FREE:
        rc = on_free_row(process, row, &event);
        rc = rc != 0 ? rc : feed(process, &event);
        break;
    case MS_EV_ACCESS:
        rc = on_access_row(events, process, row);
        break;
    case MS_EV_OP_LAUNCH:
        rc = on_op_row(events, process, row);
        break;
    case MS_EV_KERNEL_LAUNCH:
        rc = on_kernel_row(process, row);
        break;
    case MS_EV_MSTX:
        rc = on_mark_row(process, row);
        break;
    case MS_EV_SYSTEM:
        rc = on_system_row(process, row);
        break;
    case MS_EV_SNAPSHOT:
        rc = on_snapshot_row(process, row);
        break;
    case MS_EV_OOM_DETAIL:
        rc = on_oom_row(process, row);
        break;
    default:
        break;
    }
    return waited != 0 ? waited : rc;
}

static int on_slice(void *self, const struct ms_slice *slice)
{
    struct ms_events *events = self;
    struct dump_process *process = process_of(events, slice->pid);
    if (process == NULL) {
        return events->error;
    }
    struct ms_event event = {.kind = MS_R_SLICE,
                             .time_ns = slice->start_ns != 0 ? slice->start_ns : slice->end_ns,
                             .tid = slice->tid,
                             .device = slice->device,
                             .slice_start_ns = slice->start_ns,
                             .slice_end_ns = slice->end_ns,
                             .text = slice->function,
                             .text2 = {.s = ""}};
    return feed(process, &event);
}

static int on_close(void *self)
{
    struct ms_events *events = self;
    int rc = 0;
    for (size_t i = 0; i < events->count; i++) {
        struct dump_process *process = events->processes[i];
        int one = ms_model_end(process->model);
        if (events->listener.end != NULL) {
            int end_rc = events->listener.end(events->listener.argument, process->pid, process->model);
            one = one != 0 ? one : end_rc;
        }
        rc = rc != 0 ? rc : one;
    }
    return rc;
}

struct ms_events *ms__events_new(const struct ms_model_options *options, const struct ms_source_listener *listener)
{
    struct ms_events *events = calloc(1, sizeof(*events));
    if (events != NULL) {
        events->options = *options;
        events->options.event_ids = true;
        events->listener = *listener;
    }
    return events;
}

struct ms_consumer ms__events_consumer(struct ms_events *events)
{
    return (struct ms_consumer){.self = events, .on_row = on_row, .on_slice = on_slice, .on_close = on_close};
}

void ms__events_free(struct ms_events *events)
{
    if (events == NULL) {
        return;
    }
    for (size_t i = 0; i < events->count; i++) {
        struct dump_process *process = events->processes[i];
        ms_model_free(process->model);
        ms_map_free(&process->handles);
        ms_map_free(&process->totals);
        ms_map_free(&process->usages);
        free(process->waiting);
        free(process);
    }
    free(events->processes);
    ms_buffer_free(&events->text);
    free(events);
}
