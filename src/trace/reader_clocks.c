/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of a reader as a checkpoint keeps them, so that later times are the same as without it: the points of the
 * timeline from the last one before the position on, and what is known about device counters. Numbers of 8 bytes:
 * number of points; clock kind, ticks, time each; number of counters; device, counter, time, kHz each. */
#include "trace/reader_internal.h"

#include <errno.h>
#include <stdlib.h>

#define POINTS_MAX   1024u
#define COUNTERS_MAX 4096u

static int put(struct ms_blob *to, uint64_t number)
{
    uint8_t *at = ms_blob_room(to, sizeof(number));
    if (at == NULL) {
        return -ENOMEM;
    }
    memcpy(at, &number, sizeof(number));
    to->used_b += sizeof(number);
    return 0;
}

static int put_points(const struct ms_trace *t, const struct ms_position *position, struct ms_blob *to)
{
    struct ms_timeline_point *points = malloc((size_t)MS_CLOCK_KINDS * POINTS_MAX * sizeof(*points));
    if (points == NULL) {
        return -ENOMEM;
    }
    uint32_t count[MS_CLOCK_KINDS] = {0};
    uint64_t total = 0, low = ms_timeline_at(t->timeline, position->clock_kind, position->low_stamp);
    for (uint32_t kind = 1; kind < MS_CLOCK_KINDS; kind++) {
        count[kind] = ms_timeline_from(t->timeline, kind, low, &points[total], POINTS_MAX);
        total += count[kind];
    }
    int rc = put(to, total);
    const struct ms_timeline_point *point = points;
    for (uint32_t kind = 1; kind < MS_CLOCK_KINDS; kind++) {
        for (uint32_t i = 0; i < count[kind] && rc == 0; i++, point++) {
            rc = put(to, kind);
            rc = rc != 0 ? rc : put(to, point->ticks);
            rc = rc != 0 ? rc : put(to, point->time);
        }
    }
    free(points);
    return rc;
}

int ms__clocks_save(const struct ms_trace *t, const struct ms_position *position, struct ms_blob *to)
{
    int rc = put_points(t, position, to);
    uint64_t total = 0;
    for (uint32_t i = 0; i < t->devices; i++) {
        total += t->device[i].count < MS_DEVICE_ANCHORS ? t->device[i].count : MS_DEVICE_ANCHORS;
    }
    rc = rc != 0 ? rc : put(to, total);
    for (uint32_t i = 0; i < t->devices; i++) {
        const struct ms_device_clock *clock = &t->device[i];
        uint32_t first = clock->count < MS_DEVICE_ANCHORS ? 0 : clock->count - MS_DEVICE_ANCHORS;
        for (uint32_t k = first; k < clock->count && rc == 0; k++) {
            rc = put(to, clock->device);
            rc = rc != 0 ? rc : put(to, clock->anchor[k % MS_DEVICE_ANCHORS].counter);
            rc = rc != 0 ? rc : put(to, clock->anchor[k % MS_DEVICE_ANCHORS].time_ns);
            rc = rc != 0 ? rc : put(to, clock->anchor[k % MS_DEVICE_ANCHORS].khz);
        }
    }
    return rc;
}

static bool get(struct ms_bytes *from, uint64_t *numbers, size_t count)
{
    const uint8_t *bytes = ms_get_bytes(from, count * sizeof(*numbers));
    if (bytes != NULL) {
        memcpy(numbers, bytes, count * sizeof(*numbers));
    }
    return bytes != NULL;
}

void ms__clocks_load(struct ms_trace *t, struct ms_bytes from)
{
    uint64_t count, n[4];
    if (!get(&from, &count, 1) || count > (uint64_t)MS_CLOCK_KINDS * POINTS_MAX) {
        return;
    }
    while (count-- > 0 && get(&from, n, 3)) {
        ms_timeline_add_point(t->timeline, (uint32_t)n[0], &(struct ms_timeline_point){n[1], n[2]});
    }
    if (!get(&from, &count, 1) || count > COUNTERS_MAX) {
        return;
    }
    t->devices = 0;
    while (count-- > 0 && get(&from, n, 4)) {
        ms__learn_device_clock(t, (uint32_t)n[0], n[1], n[3], n[2]);
    }
}
