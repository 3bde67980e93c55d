/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the streams of a process into one order.
 *
 * Order: records of a stream keep their sequence; between streams the smaller stamp goes first; at equal stamps
 * frees go before other records, and those before allocations; then the smaller stream. Stamps of different clocks
 * are compared as times.
 *
 * A cursor holds the next record of its stream; the heap holds the cursors that have one. Missing records show as a
 * jump in the sequence and become a GAP before the next record. Duplicates are skipped. */
#include "trace/reader_internal.h"

#include <stdlib.h>

/* ---- heap ---- */

/* A clock without a mark so far: its records wait for the mark, after all others. */
static uint64_t time_of(struct ms_trace *t, uint32_t clock_kind, uint64_t stamp)
{
    return ms_timeline_knows(t->timeline, clock_kind) ? ms_timeline_at(t->timeline, clock_kind, stamp) : UINT64_MAX;
}

static bool earlier(struct ms_trace *t, const struct ms_cursor *a, const struct ms_cursor *b)
{
    uint64_t x = a->record.stamp, y = b->record.stamp;
    if (a->clock_kind != b->clock_kind) {
        x = time_of(t, a->clock_kind, x);
        y = time_of(t, b->clock_kind, y);
    }
    if (x != y) {
        return x < y;
    }
    return a->order != b->order ? a->order < b->order : a->stream < b->stream;
}

static void place(struct ms_trace *t, uint32_t at, struct ms_cursor *c)
{
    t->heap[at] = c;
    c->heap_at = at + 1;
}

static void sift_up(struct ms_trace *t, uint32_t at, struct ms_cursor *c)
{
    while (at > 0) {
        uint32_t up = (at - 1) / 2;
        if (!earlier(t, c, t->heap[up])) {
            break;
        }
        place(t, at, t->heap[up]);
        at = up;
    }
    place(t, at, c);
}

static void sift_down(struct ms_trace *t, uint32_t at, struct ms_cursor *c)
{
    for (;;) {
        uint32_t down = 2 * at + 1;
        if (down >= t->heap_count) {
            break;
        }
        if (down + 1 < t->heap_count && earlier(t, t->heap[down + 1], t->heap[down])) {
            down++;
        }
        if (!earlier(t, t->heap[down], c)) {
            break;
        }
        place(t, at, t->heap[down]);
        at = down;
    }
    place(t, at, c);
}

void ms__merge_reorder(struct ms_trace *t)
{
    for (uint32_t i = t->heap_count / 2; i-- > 0;) {
        sift_down(t, i, t->heap[i]);
    }
}

static void enter(struct ms_trace *t, struct ms_cursor *c)
{
    sift_up(t, t->heap_count++, c);
}

static void leave_top(struct ms_trace *t)
{
    t->heap[0]->heap_at = 0;
    struct ms_cursor *last = t->heap[--t->heap_count];
    if (t->heap_count != 0) {
        sift_down(t, 0, last);
    }
}

/* ---- runs ---- */

static void end_run(struct ms_trace *t, struct ms_cursor *c)
{
    if (c->block != NULL) {
        ms__block_unpin(t, c->block);
        ms__block_run_done(t, c->block);
        c->block = NULL;
    }
}

/* Checks the position of a run in its stream; false: all of it is a duplicate. */
static bool meet_run(struct ms_cursor *c, const struct ms_run *run)
{
    uint64_t end = run->first_seq + run->sequences;
    if (c->expect && end <= c->next_seq) {
        return false;
    }
    if (c->expect && run->first_seq > c->next_seq) {
        c->missing += run->first_seq - c->next_seq;
    }
    if (!c->expect || run->first_seq > c->next_seq) {
        c->next_seq = run->first_seq;
    }
    c->expect = true;
    return true;
}

/* False: no run is queued. */
static bool begin_run(struct ms_trace *t, struct ms_cursor *c)
{
    while (c->first != NULL) {
        struct ms_pending_run *p = c->first;
        struct ms_pending_block *block = p->block;
        c->first = p->next;
        const uint8_t *raw = NULL;
        if (meet_run(c, &p->run) && p->run.records == 0) {
            c->next_seq = p->run.first_seq + p->run.sequences; /* only definitions */
        } else if (c->next_seq < p->run.first_seq + p->run.sequences) {
            raw = ms__block_pin(t, block);
        }
        if (raw != NULL) {
            struct ms_bytes data = {.at = raw + p->data_at, .end = raw + p->data_at + p->data_b};
            ms_decode_begin(&c->decoder, &p->run, data);
            c->block = block;
            free(p);
            return true;
        }
        free(p);
        ms__block_run_done(t, block);
    }
    return false;
}

/* The next record of the stream that is not a duplicate; false: none yet. */
static bool decode_next(struct ms_trace *t, struct ms_cursor *c)
{
    while (c->block != NULL || begin_run(t, c)) {
        int rc = ms_decode(&c->decoder, &c->record);
        if (rc == 1) {
            if (c->record.seq < c->next_seq) {
                continue;
            }
            c->next_seq = c->record.seq + 1;
            return true;
        }
        uint64_t end = c->decoder.run.first_seq + c->decoder.run.sequences;
        if (rc < 0) {
            ms__damage(t, c->block->segment, c->block->offset, "records of a run cannot be decoded");
        } else if (c->next_seq < end) {
            c->next_seq = end; /* definitions at the end of the run */
        }
        end_run(t, c);
    }
    return false;
}

static uint8_t order_of(unsigned kind)
{
    switch (ms_record_spec(kind)->order) {
    case MS_ORDER_FREE:
        return 0;
    case MS_ORDER_ALLOC:
        return 2;
    default:
        return 1;
    }
}

/* Was released before the position at which this reader began. */
static bool released_before(struct ms_trace *t, const struct ms_cursor *c, uint64_t stamp)
{
    if (t->skip_below == 0) {
        return false;
    }
    if (c->clock_kind == t->skip_kind) {
        return stamp < t->skip_below;
    }
    return ms_timeline_at(t->timeline, c->clock_kind, stamp) < ms_timeline_at(t->timeline, t->skip_kind, t->skip_below);
}

/* Inserts a GAP before the record. */
static void put_gap(struct ms_trace *t, struct ms_cursor *c)
{
    t->holes += c->missing;
    c->after_gap = c->record;
    c->gap = true;
    c->order = 0;
    c->record = (struct ms_decoded){
        .kind = MS_R_GAP,
        .seq = c->after_gap.seq,
        .stamp = c->after_gap.stamp,
        .field = {c->last_stamp, c->missing, c->missing, c->missing, MS_GAP_DAMAGED, 0},
        .fields = 6,
    };
    c->missing = 0;
}

/* Loads the next record into the cursor; false: none yet. */
static bool advance(struct ms_trace *t, struct ms_cursor *c)
{
    if (c->gap) { /* the gap was released: now the record after it */
        c->gap = false;
        c->record = c->after_gap;
        c->order = order_of(c->record.kind);
        c->last_stamp = c->record.stamp;
        return true;
    }
    while (decode_next(t, c)) {
        c->tid = c->decoder.run.tid;
        c->clock_kind = c->decoder.run.clock_kind;
        t->two_clocks |= c->clock_kind != t->info.process.clock_kind;
        if (c->record.kind == MS_R_CLOCK || released_before(t, c, c->record.stamp)) {
            c->last_stamp = c->record.stamp;
            c->missing = 0;
            continue;
        }
        c->order = order_of(c->record.kind);
        if (c->missing != 0) {
            put_gap(t, c);
        } else {
            c->last_stamp = c->record.stamp;
        }
        return true;
    }
    return false;
}

/* ---- interface ---- */

static struct ms_cursor *cursor_of(struct ms_trace *t, uint32_t stream)
{
    struct ms_cursor *c = t->cursor[stream];
    if (c == NULL && (c = calloc(1, sizeof(*c))) != NULL) {
        c->stream = stream;
        c->clock_kind = t->info.process.clock_kind;
        c->expect = t->stream_start != NULL;
        c->next_seq = c->expect ? t->stream_start[stream] : 0;
        t->cursor[stream] = c;
        t->stats.streams++;
    }
    return c;
}

static bool add_run(struct ms_trace *t, struct ms_pending_block *block, const struct ms_run *run, struct ms_bytes data)
{
    struct ms_cursor *c = run->stream < MS_CATALOG_STREAMS ? cursor_of(t, run->stream) : NULL;
    struct ms_pending_run *p = c != NULL ? malloc(sizeof(*p)) : NULL;
    if (p == NULL) {
        return false;
    }
    *p = (struct ms_pending_run){
        .block = block,
        .run = *run,
        .data_at = (uint32_t)(data.at - block->raw),
        .data_b = (uint32_t)(data.end - data.at),
    };
    block->runs_left++;
    *(c->first != NULL ? &c->last->next : &c->first) = p;
    c->last = p;
    if (c->heap_at == 0 && advance(t, c)) {
        enter(t, c);
    }
    return true;
}

bool ms__merge_add_runs(struct ms_trace *t, struct ms_pending_block *block)
{
    block->pins++; /* the content must stay during the walk */
    struct ms_bytes content = {.at = block->raw, .end = block->raw + block->head.raw_b};
    bool ok = true;
    while (ok && content.at != content.end) {
        struct ms_run run;
        struct ms_bytes data;
        ok = ms_run_read(&content, &run, &data) && add_run(t, block, &run, data);
    }
    block->pins--;
    ms__block_run_done(t, block);
    return ok;
}

struct ms_cursor *ms__merge_first(struct ms_trace *t)
{
    return t->heap_count != 0 ? t->heap[0] : NULL;
}

void ms__merge_next(struct ms_trace *t, struct ms_cursor *c)
{
    if (advance(t, c)) {
        sift_down(t, 0, c);
    } else {
        leave_top(t);
    }
}

bool ms__merge_final(struct ms_trace *t, const struct ms_cursor *c)
{
    if (t->low == UINT64_MAX || t->ended) {
        return true;
    }
    if (c->clock_kind == t->low_kind) {
        return c->record.stamp < t->low;
    }
    return t->low != 0 && time_of(t, c->clock_kind, c->record.stamp) < time_of(t, t->low_kind, t->low);
}

static void forget(struct ms_trace *t, struct ms_cursor *c)
{
    end_run(t, c);
    while (c->first != NULL) {
        struct ms_pending_run *p = c->first;
        c->first = p->next;
        ms__block_run_done(t, p->block);
        free(p);
    }
    c->heap_at = 0;
    c->gap = c->expect = false;
    c->missing = 0;
}

void ms__merge_forget(struct ms_trace *t)
{
    for (uint32_t i = 0; i < MS_CATALOG_STREAMS; i++) {
        if (t->cursor[i] != NULL) {
            forget(t, t->cursor[i]);
        }
    }
    t->heap_count = 0;
    t->current = NULL;
    free(t->stream_start);
    t->stream_start = NULL;
}

void ms__merge_destroy(struct ms_trace *t)
{
    for (uint32_t i = 0; t->cursor != NULL && i < MS_CATALOG_STREAMS; i++) {
        if (t->cursor[i] != NULL) {
            forget(t, t->cursor[i]);
            free(t->cursor[i]);
        }
    }
    free(t->cursor);
    free(t->heap);
    free(t->stream_start);
}
