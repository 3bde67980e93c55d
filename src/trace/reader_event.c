/* SPDX-License-Identifier: Apache-2.0 */
/* Converts decoded records to events: times, texts, and fields by kind. */
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

/* Interpolates between the latest anchor that is not later than the counter (or the earliest one kept) and the next
 * one; without a next one, uses the nominal rate. */
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
        other = (i - 1) % MS_DEVICE_ANCHORS; /* the last known rate continues */
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

/* The record's operand, by the column `arg` of the table. */
static inline void fill_NONE(struct ms_event *e, uint32_t arg)
{
}

static inline void fill_ID(struct ms_event *e, uint32_t arg)
{
}

static inline void fill_DEVICE(struct ms_event *e, uint32_t arg)
{
    e->device = arg;
}

static inline void fill_POOL(struct ms_event *e, uint32_t arg)
{
    e->pool = (uint8_t)MS_ARG_POOL(arg);
    e->device = MS_ARG_DEVICE(arg);
}

static inline void fill_FLAG(struct ms_event *e, uint32_t arg)
{
    e->flag = arg;
}

static inline void fill_VALUE(struct ms_event *e, uint32_t arg)
{
    e->value = arg;
}

static inline void fill_SLICE(struct ms_event *e, uint32_t arg)
{
    e->value = arg & 0xff;
    e->tid = arg >> 8 != 0 ? arg >> 8 : e->tid;
}

static void finish_gap(struct ms_trace *t, struct ms_event *e)
{
    uint64_t since_ns = e->gap.since_ns != 0 ? e->gap.since_ns : t->info.process.start_ns;
    e->gap.since_ns = since_ns < e->time_ns ? since_ns : e->time_ns;
    e->gap.cause = e->gap.cause < MS_GAP_CAUSES ? e->gap.cause : MS_GAP_DAMAGED;
    t->stats.gaps++;
    t->stats.lost += e->gap.lost;
}

/* Copies fields and operand to the members named in the tables of records.h. The compiler sees one case per kind, with
 * constant indexes. */
#define NUMBER(to) e->to = (__typeof__(e->to))f[n++];
#define FILL_a(to) NUMBER(to)
#define FILL_q(to) NUMBER(to)
#define FILL_i(to) NUMBER(to)
#define FILL_d(to) NUMBER(to)
#define FILL_k(to) e->to = f[n] != 0 ? ms__file_ns(t, c->clock_kind, f[n]) : 0, n++;
#define FILL_t(to) e->to = text_of(t, f[n++], r->text[texts++]);
#define SKIP_a
#define SKIP_q
#define SKIP_d
#define SKIP_f
#define SKIP_l
#define SKIP_b24                      n += 2;
#define SKIP_t                        texts++;
#define FILL(type, name, to, meaning) FILL_##type(to)
#define SKIP(type, name, meaning)                                                                                      \
    n++;                                                                                                               \
    SKIP_##type

static void fill_fields(struct ms_trace *t, const struct ms_cursor *c, struct ms_event *e)
{
    const struct ms_decoded *r = &c->record;
    const uint64_t *f = r->field;
    unsigned n = 0, texts = 0;
    switch ((enum ms_record_kind)r->kind) {
#define X(number, name, payload, order, arg_, meaning)                                                                 \
    case MS_R_##name:                                                                                                  \
        fill_##arg_(e, r->arg);                                                                                        \
        MS_FIELDS_##payload(FILL, SKIP) break;
        MS_RECORDS(X)
#undef X
    case MS_R_NONE:
    case MS_R_LIMIT:
        break;
    }
    (void)n;
    (void)texts;
}

/* Everything beyond copying. */
static void finish(struct ms_trace *t, const struct ms_cursor *c, struct ms_event *e)
{
    switch (e->kind) {
    case MS_R_KERNEL_EXECUTE:
        ms_trace_device_time_ns(t, e->device, e->counter, &e->time_ns);
        break;
    case MS_R_DEVICE_CLOCK:
        ms__learn_device_clock(t, e->device, e->counter, e->value, ms__file_ns(t, c->clock_kind, e->stamp));
        break;
    case MS_R_GAP:
        finish_gap(t, e);
        break;
    default:
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
    e->device = MS_DEV_UNKNOWN;
    e->text.s = e->text2.s = "";
    fill_fields(t, c, e);
    finish(t, c, e);
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
