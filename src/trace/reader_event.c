/* SPDX-License-Identifier: Apache-2.0 */
/* From decoded records to events: times, texts, and the meaning of fields by kind. */
#include "trace/reader_internal.h"

#include <stdlib.h>

/* ---- times ---- */

static uint64_t to_file_ns(const struct ms_trace *t, uint64_t time)
{
    return time / MS_TIME_UNITS + (uint64_t)t->info.process.offset_ns;
}

uint64_t ms__file_ns(const struct ms_trace *t, uint32_t clock_kind, uint64_t stamp)
{
    return to_file_ns(t, ms_timeline_at(t->timeline, clock_kind, stamp));
}

static struct ms_device_clock *device_clock(const struct ms_trace *t, uint32_t device)
{
    for (uint32_t i = 0; i < t->devices; i++) {
        if (t->device[i].device == device) {
            return &t->device[i];
        }
    }
    return NULL;
}

void ms__learn_device_clock(struct ms_trace *t, uint32_t device, uint64_t counter, uint64_t khz, uint64_t time_ns)
{
    struct ms_device_clock *clock = device_clock(t, device);
    if (clock == NULL) {
        struct ms_device_clock *grown = realloc(t->device, (t->devices + 1) * sizeof(*grown));
        if (grown == NULL) {
            return;
        }
        t->device = grown;
        clock = &t->device[t->devices++];
        *clock = (struct ms_device_clock){.device = device};
    }
    uint32_t at = clock->count % MS_DEVICE_ANCHORS;
    clock->anchor[at].counter = counter;
    clock->anchor[at].time_ns = time_ns;
    clock->anchor[at].khz = khz;
    clock->count++;
}

/* Through the latest anchor that is not later than the counter (or the earliest that is kept) and the one after it;
 * where there is none after it, at the nominal rate. */
bool ms_trace_device_time_ns(const struct ms_trace *t, uint32_t device, uint64_t counter, uint64_t *out)
{
    const struct ms_device_clock *clock = device_clock(t, device);
    if (clock == NULL) {
        return false;
    }
    uint32_t kept = clock->count < MS_DEVICE_ANCHORS ? clock->count : MS_DEVICE_ANCHORS;
    uint32_t oldest = clock->count - kept, i = clock->count - 1;
    while (i > oldest && clock->anchor[i % MS_DEVICE_ANCHORS].counter > counter) {
        i--;
    }
    uint32_t here = i % MS_DEVICE_ANCHORS, other = here;
    if (i + 1 < clock->count) {
        other = (i + 1) % MS_DEVICE_ANCHORS;
    } else if (i > oldest) {
        other = (i - 1) % MS_DEVICE_ANCHORS; /* the last rate that was seen goes on */
    }
    double ticks = (double)((int64_t)(clock->anchor[other].counter - clock->anchor[here].counter));
    double ns = (double)((int64_t)(clock->anchor[other].time_ns - clock->anchor[here].time_ns));
    uint64_t khz = clock->anchor[here].khz;
    double rate = ticks != 0 && ns / ticks > 0 ? ns / ticks : khz != 0 ? 1e6 / (double)khz : 1;
    double away = (double)((int64_t)(counter - clock->anchor[here].counter)) * rate;
    away = away > 9e18 ? 9e18 : away < -9e18 ? -9e18 : away;
    *out = clock->anchor[here].time_ns + (uint64_t)(int64_t)away;
    return true;
}

uint64_t ms_trace_time_ns(const struct ms_trace *t, uint64_t stamp)
{
    return ms__file_ns(t, t->low_kind != 0 ? t->low_kind : t->info.process.clock_kind, stamp);
}

/* ---- fields ---- */

static struct ms_text text_of(const struct ms_trace *t, uint64_t field, const char *bytes)
{
    struct ms_text text = {.s = "", .id = (uint32_t)field};
    if (text.id != 0) {
        ms_trace_text(t, text.id, &text);
    } else if (field >> 32 != 0) {
        text.s = bytes;
        text.length_b = (uint32_t)(field >> 32);
    }
    return text;
}

static void set_pool(struct ms_event *e, uint32_t arg)
{
    e->pool = (uint8_t)MS_ARG_POOL(arg);
    e->device = MS_ARG_DEVICE(arg);
}

static void fill_gap(struct ms_trace *t, const struct ms_cursor *c, struct ms_event *e)
{
    const uint64_t *f = c->record.field;
    uint64_t since_ns = f[0] != 0 ? ms__file_ns(t, c->clock_kind, f[0]) : t->info.process.start_ns;
    e->gap = (struct ms_event_gap){
        .since_ns = since_ns < e->time_ns ? since_ns : e->time_ns,
        .lost = f[1],
        .lost_alloc = f[2],
        .lost_free = f[3],
        .cause = f[4] < MS_GAP_CAUSES ? (uint32_t)f[4] : MS_GAP_DAMAGED,
    };
    t->stats.gaps++;
    t->stats.lost += f[1];
}

static void fill_fields(struct ms_trace *t, const struct ms_cursor *c, struct ms_event *e)
{
    const struct ms_decoded *r = &c->record;
    const uint64_t *f = r->field;
    e->device = MS_DEV_UNKNOWN;
    switch ((enum ms_record_kind)r->kind) {
    case MS_R_HAL_ALLOC:
        e->addr = f[0], e->size_b = f[1], e->flag = f[2];
        break;
    case MS_R_HAL_CREATE:
        e->device = r->arg;
        e->addr = f[0], e->size_b = f[1];
        e->side = (uint32_t)f[2], e->module_id = (uint32_t)f[3];
        e->page_type = (uint32_t)f[4], e->mem_type = (uint32_t)f[5];
        break;
    case MS_R_HAL_FREE:
    case MS_R_HAL_FREE_FAILED:
    case MS_R_HAL_RELEASE:
    case MS_R_HAL_RELEASE_FAILED:
    case MS_R_ADDRESS_FREE:
    case MS_R_ADDRESS_FREE_FAILED:
    case MS_R_UNMAP:
    case MS_R_UNMAP_FAILED:
    case MS_R_HOST_UNREGISTER:
    case MS_R_HOST_UNREGISTER_FAILED:
        e->addr = f[0];
        break;
    case MS_R_RESERVE:
        e->addr = f[0], e->size_b = f[1];
        break;
    case MS_R_MAP:
        e->addr = f[0], e->size_b = f[1], e->offset_b = f[2], e->handle = f[3];
        break;
    case MS_R_HOST_REGISTER:
        e->addr = f[0], e->size_b = f[1], e->flag = r->arg;
        break;
    case MS_R_OOM:
        e->device = r->arg;
        e->size_b = f[0], e->flag = f[1], e->function = (uint32_t)f[2];
        break;
    case MS_R_POOL_TOTAL:
        set_pool(e, r->arg);
        e->size_b = f[0];
        break;
    case MS_R_POOL_ALLOC:
    case MS_R_HEAP_ADD:
    case MS_R_HEAP_SUB:
        set_pool(e, r->arg);
        e->addr = f[0], e->size_b = f[1];
        break;
    case MS_R_POOL_FREE:
        set_pool(e, r->arg);
        e->addr = f[0];
        break;
    case MS_R_MARK:
        e->device = r->arg;
        e->stream_id = (int64_t)f[0];
        e->text = text_of(t, f[1], r->text[0]);
        break;
    case MS_R_RANGE_START:
        e->device = r->arg;
        e->range_id = f[0], e->stream_id = (int64_t)f[1];
        e->text = text_of(t, f[2], r->text[0]);
        break;
    case MS_R_RANGE_END:
        e->device = r->arg;
        e->range_id = f[0];
        break;
    case MS_R_SET_DEVICE:
        e->device = r->arg;
        e->value = f[0];
        break;
    case MS_R_KERNEL_LAUNCH:
        e->device = r->arg;
        e->stream_id = (int64_t)f[0], e->task_id = (uint32_t)f[1];
        e->text = text_of(t, f[2], r->text[0]);
        break;
    case MS_R_KERNEL_EXECUTE:
        e->device = r->arg;
        e->counter = f[0], e->stream_id = (int64_t)f[1], e->task_id = (uint32_t)f[2], e->end = (uint32_t)f[3];
        e->text = text_of(t, f[5], r->text[0]);
        ms_trace_device_time_ns(t, r->arg, f[0], &e->time_ns);
        break;
    case MS_R_DEVICE_CLOCK:
        e->device = r->arg;
        e->counter = f[0], e->value = f[1];
        ms__learn_device_clock(t, r->arg, f[0], f[1], ms__file_ns(t, c->clock_kind, r->stamp));
        break;
    case MS_R_OP_START:
    case MS_R_OP_END:
    case MS_R_OP_KERNEL_START:
    case MS_R_OP_KERNEL_END:
        e->device = r->arg;
        e->addr = f[0], e->size_b = f[1];
        e->text = text_of(t, f[2], r->text[0]);
        e->text2 = text_of(t, f[3], r->text[1]);
        break;
    case MS_R_ACCESS:
        set_pool(e, r->arg);
        e->addr = f[0], e->size_b = f[1], e->type = (uint32_t)f[2];
        e->text = text_of(t, f[4], r->text[0]);
        e->text2 = text_of(t, f[5], r->text[1]);
        break;
    case MS_R_SNAPSHOT:
        e->device = r->arg;
        memcpy(e->memory, f, sizeof(e->memory));
        e->text = text_of(t, f[6], r->text[0]);
        break;
    case MS_R_STEP:
        e->value = f[0];
        break;
    case MS_R_CONFIG:
    case MS_R_LOG:
    case MS_R_THREAD:
        e->value = r->arg;
        e->text = text_of(t, f[0], r->text[0]);
        break;
    case MS_R_LABEL_PUSH:
    case MS_R_LABEL_POP:
        e->value = r->arg;
        e->text = text_of(t, f[0], r->text[0]);
        break;
    case MS_R_ADDR_LABEL:
        e->value = r->arg;
        e->addr = f[0];
        e->text = text_of(t, f[1], r->text[0]);
        break;
    case MS_R_SLICE:
        e->value = r->arg & 0xff;
        e->tid = r->arg >> 8 != 0 ? r->arg >> 8 : e->tid;
        e->slice_start_ns = f[0] != 0 ? ms__file_ns(t, c->clock_kind, f[0]) : 0;
        e->slice_end_ns = f[1] != 0 ? ms__file_ns(t, c->clock_kind, f[1]) : 0;
        e->text = text_of(t, f[2], r->text[0]);
        break;
    case MS_R_GAP:
        fill_gap(t, c, e);
        break;
    case MS_R_USAGE:
        e->device = r->arg;
        e->size_b = f[0], e->process_used_b = f[1], e->total_b = f[2];
        break;
    case MS_R_WATCH:
        e->device = r->arg;
        e->addr = f[0], e->size_b = f[1], e->flag = f[2], e->task_id = (uint32_t)f[3], e->value = f[4];
        e->text = text_of(t, f[5], r->text[0]);
        e->text2 = text_of(t, f[6], r->text[1]);
        break;
    case MS_R_RECORDER:
        memcpy(e->memory, f, 4 * sizeof(f[0]));
        break;
    case MS_R_STOP:
        e->value = r->arg;
        break;
    case MS_R_ACL_INIT:
    case MS_R_ACL_FINI:
    case MS_R_START:
    case MS_R_CLOCK:
    case MS_R_DEF_TEXT:
    case MS_R_DEF_STACK:
    case MS_R_DEF_PYSTACK:
    case MS_R_DEF_MODULE:
    case MS_R_DEF_CODE:
    case MS_R_NONE:
    case MS_R_LIMIT:
        break;
    }
}

void ms__event_fill(struct ms_trace *t, const struct ms_cursor *c, struct ms_event *e)
{
    const struct ms_decoded *r = &c->record;
    uint64_t time_ns = ms__file_ns(t, c->clock_kind, r->stamp);
    time_ns = time_ns > t->last_ns ? time_ns : t->last_ns + 1;
    t->last_ns = time_ns;
    memset(e, 0, t->event_b);
    e->index = t->next_index++;
    e->time_ns = time_ns;
    e->stamp = r->stamp;
    e->seq = r->seq;
    e->stream = c->stream;
    e->tid = c->tid;
    e->pid = t->info.process.pid;
    e->kind = r->kind;
    e->order = ms_record_specs[r->kind].order;
    e->flags = r->flags & (MS_RECORD_SHADOW | MS_RECORD_CUT);
    e->c_stack = r->stacks.c;
    e->python_stack = r->stacks.python;
    e->text.s = e->text2.s = "";
    fill_fields(t, c, e);
}

void ms__event_tail(struct ms_trace *t, uint64_t lost, uint64_t since_stamp, struct ms_event *e)
{
    struct ms_cursor end = {
        .stream = MS_STREAM_COLLECTOR,
        .clock_kind = t->low_kind,
        .record = {.kind = MS_R_GAP, .stamp = since_stamp, .field = {since_stamp, lost, lost, lost, MS_GAP_DISK}},
    };
    ms__event_fill(t, &end, e);
}
