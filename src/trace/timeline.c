/* SPDX-License-Identifier: Apache-2.0 */
/* Anchors are kept in order, at most MAX per clock; beyond that, every second one of the older half is dropped (by
 * number only, so that every reader of the same file drops the same ones). Lookups are nearly in order: the last piece
 * is tried first. */
#include "trace/timeline.h"

#include "base/macros.h"

#include <stdlib.h>
#include <string.h>

#define MAX  8192
#define HALF (MAX / 2)

struct point {
    uint64_t ticks, time;
    uint64_t rate; /* time per tick up to the next point, 32 fractional bits */
};

struct series {
    struct point point[MAX];
    uint32_t count;
    uint32_t last; /* piece of the last lookup */
};

struct ms_timeline {
    struct series *series[MS_CLOCK_KINDS];
};

struct ms_timeline *ms_timeline_new(void)
{
    return calloc(1, sizeof(struct ms_timeline));
}

void ms_timeline_free(struct ms_timeline *timeline)
{
    for (unsigned i = 0; timeline != NULL && i < MS_COUNT_OF(timeline->series); i++) {
        free(timeline->series[i]);
    }
    free(timeline);
}

static uint64_t rate_between(const struct point *a, const struct point *b)
{
    __uint128_t rate = ((__uint128_t)(b->time - a->time) << 32) / (b->ticks - a->ticks);
    return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

static void thin(struct series *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < HALF; i += 2) {
        s->point[kept++] = s->point[i];
    }
    memmove(&s->point[kept], &s->point[HALF], (s->count - HALF) * sizeof(s->point[0]));
    s->count = kept + s->count - HALF;
    for (uint32_t i = 0; i < kept; i++) {
        s->point[i].rate = rate_between(&s->point[i], &s->point[i + 1]);
    }
    s->last = 0;
}

void ms_timeline_add(struct ms_timeline *timeline, const struct ms_anchor *anchor)
{
    ms_timeline_add_point(timeline, anchor->clock_kind,
                          &(struct ms_timeline_point){anchor->ticks, anchor->monotonic_ns * MS_TIME_UNITS});
}

uint32_t ms_timeline_from(const struct ms_timeline *timeline, uint32_t clock_kind, uint64_t time,
                          struct ms_timeline_point *out, uint32_t max)
{
    const struct series *s = clock_kind < MS_CLOCK_KINDS ? timeline->series[clock_kind] : NULL;
    uint32_t first = s != NULL ? s->count : 0;
    while (first > 0 && s->count - first < max && (first == s->count || s->point[first].time > time)) {
        first--;
    }
    for (uint32_t i = first; s != NULL && i < s->count; i++) {
        out[i - first] = (struct ms_timeline_point){s->point[i].ticks, s->point[i].time};
    }
    return s != NULL ? s->count - first : 0;
}

void ms_timeline_add_point(struct ms_timeline *timeline, uint32_t clock_kind, const struct ms_timeline_point *point)
{
    if (clock_kind == 0 || clock_kind >= MS_CLOCK_KINDS) {
        return;
    }
    struct series **slot = &timeline->series[clock_kind];
    struct series *s = *slot;
    if (s == NULL && (s = *slot = calloc(1, sizeof(*s))) == NULL) {
        return;
    }
    struct point p = {.ticks = point->ticks, .time = point->time};
    if (s->count > 0) {
        struct point *before = &s->point[s->count - 1];
        if (p.ticks <= before->ticks || p.time <= before->time) {
            return;
        }
        before->rate = p.rate = rate_between(before, &p);
    } else {
        p.rate = (uint64_t)MS_TIME_UNITS << 32; /* a nanosecond per tick, until the next anchor */
    }
    if (s->count == MAX) {
        thin(s);
    }
    s->point[s->count++] = p;
}

static const struct point *piece_of(struct series *s, uint64_t ticks)
{
    uint32_t i = s->last;
    if (i < s->count && s->point[i].ticks <= ticks && (i + 1 == s->count || ticks < s->point[i + 1].ticks)) {
        return &s->point[i];
    }
    uint32_t low = 0, high = s->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (s->point[middle].ticks <= ticks) {
            low = middle;
        } else {
            high = middle;
        }
    }
    s->last = low;
    return &s->point[low];
}

bool ms_timeline_knows(const struct ms_timeline *timeline, uint32_t clock_kind)
{
    return clock_kind < MS_CLOCK_KINDS && timeline->series[clock_kind] != NULL;
}

uint64_t ms_timeline_at(struct ms_timeline *timeline, uint32_t clock_kind, uint64_t ticks)
{
    struct series *s = clock_kind < MS_CLOCK_KINDS ? timeline->series[clock_kind] : NULL;
    if (s == NULL || s->count == 0) {
        return 0;
    }
    const struct point *p = piece_of(s, ticks);
    if (ticks >= p->ticks) {
        __uint128_t forward = (__uint128_t)(ticks - p->ticks) * p->rate >> 32;
        return forward < UINT64_MAX - p->time ? p->time + (uint64_t)forward : UINT64_MAX;
    }
    __uint128_t back = (__uint128_t)(p->ticks - ticks) * p->rate >> 32;
    return back < p->time ? p->time - (uint64_t)back : 0;
}
