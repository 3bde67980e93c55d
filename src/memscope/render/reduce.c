/* SPDX-License-Identifier: Apache-2.0 */
/* See reduce.h. Points are merged into groups of equal size, each with the values of its highest point and the time of
 * its first, which is how points are defined. Steps are dropped evenly. */
#include "memscope/render/reduce.h"

#include <stdlib.h>
#include <string.h>

#define ASIDE_B (1u << 20)

static size_t group_of(size_t count, size_t limit)
{
    return limit != 0 && count > limit ? (count + limit - 1) / limit : 1;
}

static bool reduce_points(struct ms_report_device *device, size_t limit)
{
    size_t every = group_of(device->point_count, limit), kept = 0;
    if (every == 1) {
        return true;
    }
    struct ms_report_point *points = malloc((device->point_count / every + 1) * sizeof(*points));
    for (size_t i = 0; points != NULL && i < device->point_count; i++) {
        if (i % every == 0) {
            points[kept++] = device->points[i];
        } else if (device->points[i].used_b > points[kept - 1].used_b) {
            uint64_t t_ns = points[kept - 1].t_ns;
            points[kept - 1] = device->points[i];
            points[kept - 1].t_ns = t_ns;
        }
    }
    device->points = points;
    device->point_count = kept;
    return points != NULL;
}

static bool reduce_fragments(struct ms_report_fragmentation *fragmentation, size_t limit)
{
    size_t every = group_of(fragmentation->point_count, limit), kept = 0;
    if (every == 1) {
        return true;
    }
    struct ms_report_free *points = malloc((fragmentation->point_count / every + 1) * sizeof(*points));
    for (size_t i = 0; points != NULL && i < fragmentation->point_count; i++) {
        if (i % every == 0) {
            points[kept++] = fragmentation->points[i];
        } else if (fragmentation->points[i].pinned_free_b > points[kept - 1].pinned_free_b) {
            uint64_t t_ns = points[kept - 1].t_ns;
            points[kept - 1] = fragmentation->points[i];
            points[kept - 1].t_ns = t_ns;
        }
    }
    fragmentation->points = points;
    fragmentation->point_count = kept;
    return points != NULL;
}

static bool reduce_steps(struct ms_report_device *device, size_t limit)
{
    size_t every = group_of(device->step_count, limit), kept = 0;
    if (every == 1) {
        return true;
    }
    struct ms_report_step *steps = malloc((device->step_count / every + 2) * sizeof(*steps));
    for (size_t i = 0; steps != NULL && i < device->step_count; i++) {
        if (i % every == 0 || i + 1 == device->step_count) {
            steps[kept++] = device->steps[i];
        }
    }
    device->steps_left_out += device->step_count - kept;
    device->steps = steps;
    device->step_count = kept;
    return steps != NULL;
}

/* Each array is either the report's or a copy; only arrays that differ are copied. */
static bool reduce_device(struct ms_report_device *device, const struct ms_reduce_options *options)
{
    bool ok = reduce_points(device, options->points);
    ok = reduce_fragments(&device->fragmentation, options->points) && ok;
    return reduce_steps(device, options->steps) && ok;
}

/* The host is the last of the devices. */
static bool is_aside(const struct ms_report_device *devices, size_t count)
{
    return count > 1 && devices[count - 1].device == MS_DEV_CPU && devices[count - 1].peak.used_b < ASIDE_B;
}

/* Remembers the report it was made from. */
struct reduced {
    struct ms_report report;
    const struct ms_report *whole;
};

struct ms_report *ms_report_reduce(const struct ms_report *report, const struct ms_reduce_options *options)
{
    struct reduced *reduced = calloc(1, sizeof(*reduced));
    struct ms_report_process *processes = calloc(report->process_count + 1, sizeof(*processes));
    if (reduced == NULL || processes == NULL) {
        free(reduced);
        free(processes);
        return NULL;
    }
    reduced->report = *report;
    reduced->report.processes = processes;
    reduced->report.process_count = 0;
    reduced->whole = report;
    bool ok = true;
    for (size_t i = 0; ok && i < report->process_count; i++) {
        size_t count = report->processes[i].device_count;
        struct ms_report_device *devices = malloc((count + 1) * sizeof(*devices));
        ok = devices != NULL;
        if (ok && count != 0) {
            memcpy(devices, report->processes[i].devices, count * sizeof(*devices));
            count -= options->npus && is_aside(devices, count);
        }
        processes[i] = report->processes[i];
        processes[i].devices = devices;
        processes[i].device_count = ok ? count : 0;
        reduced->report.process_count++;
        for (size_t j = 0; j < processes[i].device_count; j++) {
            ok = reduce_device(&devices[j], options) && ok;
        }
    }
    if (!ok) {
        ms_report_reduced_free(&reduced->report);
        return NULL;
    }
    return &reduced->report;
}

static void free_other(const void *array, const void *whole)
{
    if (array != whole) {
        free((void *)(uintptr_t)array);
    }
}

void ms_report_reduced_free(struct ms_report *report)
{
    struct reduced *reduced = (struct reduced *)report; /* report is its first member */
    if (reduced == NULL) {
        return;
    }
    for (size_t i = 0; i < report->process_count; i++) {
        const struct ms_report_process *process = &report->processes[i];
        for (size_t j = 0; j < process->device_count; j++) {
            const struct ms_report_device *ours = &process->devices[j],
                                          *whole = &reduced->whole->processes[i].devices[j];
            free_other(ours->points, whole->points);
            free_other(ours->fragmentation.points, whole->fragmentation.points);
            free_other(ours->steps, whole->steps);
        }
        free((void *)(uintptr_t)process->devices);
    }
    free((void *)(uintptr_t)report->processes);
    free(reduced);
}
