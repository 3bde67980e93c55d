/* SPDX-License-Identifier: Apache-2.0 */
/* check_leaks: HAL blocks that are allocated between two marks and not freed before the third.
 *
 * Per process and device, in order of ids: marks are counted; from mark i to mark i + 1 allocations are added, and
 * until mark i + 2 frees remove them. The rest are leaks. Only at the end is it known whether there are enough marks.
 * Memory: O(blocks allocated between the two marks). */
#include "memscope/analyze/offline/offline.h"

#include "base/map.h"
#include "memscope/source/words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum leaks_row { MARK, MALLOC, FREE };

struct left { /* a block that was allocated between the marks */
    uint64_t id, addr, size_b;
};

struct leaks_device {
    uint32_t pid, device;
    uint64_t marks;
    struct ms_map number_of_addr; /* address -> index in left */
    struct left *left;            /* of several at one address the last counts, if it is in the map */
    size_t count, room;
};

struct leaks_check {
    const char *mark;
    size_t mark_b;
    uint64_t start_index;
    struct leaks_device *devices;
    size_t count, last;
    uint64_t common; /* marks of threads without a device: they count for every device */
};

/* ---- rows ---- */

static const struct ms_source_wish wish = {.attrs[MS_EV_MALLOC] = MS_WISH(SIZE)};

static bool choose(void *self, const struct ms_row *row, struct ms_offline_event *event)
{
    const struct leaks_check *check = self;
    if (row->event == MS_EV_MSTX) {
        event->kind = MARK;
        return row->type == MS_TYPE_MARK && row->name.length_b == check->mark_b &&
               memcmp(row->name.s, check->mark, check->mark_b) == 0;
    }
    if (row->type != MS_TYPE_HAL || (row->event != MS_EV_MALLOC && row->event != MS_EV_FREE) || !row->has_addr) {
        return false;
    }
    event->kind = row->event == MS_EV_MALLOC ? MALLOC : FREE;
    event->number = row->addr;
    const struct ms_attr *size = event->kind == MALLOC ? ms__attr(row, MS_ATTR_SIZE) : NULL;
    event->size_b = size != NULL && size->form == MS_FORM_NUMBER ? size->number : 0;
    return true;
}

static struct leaks_device *device_of(struct leaks_check *check, uint32_t pid, uint32_t number)
{
    for (size_t i = 0; i < check->count; i++) {
        struct leaks_device *device = &check->devices[(check->last + i) % check->count];
        if (device->device == number && device->pid == pid) {
            check->last = (size_t)(device - check->devices);
            return device;
        }
    }
    struct leaks_device *devices = realloc(check->devices, (check->count + 1) * sizeof(*devices));
    if (devices == NULL) {
        return NULL;
    }
    check->devices = devices;
    devices[check->count] = (struct leaks_device){.pid = pid, .device = number, .marks = check->common};
    check->last = check->count++;
    return &devices[check->last];
}

static int remember(struct leaks_device *device, const struct ms_offline_event *event)
{
    if (device->count == device->room) {
        size_t room = device->room != 0 ? device->room * 2 : 1024;
        struct left *left = realloc(device->left, room * sizeof(*left));
        if (left == NULL) {
            return -ENOMEM;
        }
        device->left = left;
        device->room = room;
    }
    device->left[device->count] = (struct left){event->id, event->number, event->size_b};
    return ms_map_put(&device->number_of_addr, event->number, device->count++) != NULL ? 0 : -ENOMEM;
}

static int take(void *self, const struct ms_offline_event *event)
{
    struct leaks_check *check = self;
    if (event->kind == MARK && event->device == MS_DEV_UNKNOWN) {
        check->common++;
        for (size_t i = 0; i < check->count; i++) {
            check->devices[i].marks++;
        }
        return 0;
    }
    struct leaks_device *device = device_of(check, event->pid, event->device);
    if (device == NULL) {
        return -ENOMEM;
    }
    if (event->kind == MARK) {
        device->marks++;
        return 0;
    }
    uint64_t behind = device->marks > check->start_index ? device->marks - check->start_index : 0; /* marks A, B, C */
    if (event->kind == MALLOC && behind == 1) {
        return remember(device, event);
    }
    if (event->kind == FREE && (behind == 1 || behind == 2)) {
        ms_map_remove(&device->number_of_addr, event->number, NULL);
    }
    return 0;
}

static void restart(void *self)
{
    struct leaks_check *check = self;
    for (size_t i = 0; i < check->count; i++) {
        ms_map_free(&check->devices[i].number_of_addr);
        free(check->devices[i].left);
    }
    free(check->devices);
    check->devices = NULL;
    check->count = check->last = 0;
    check->common = 0;
}

/* ---- results ---- */

/* Formats a number as Python prints a float: the shortest text that reads back as the same number. */
static void float_text(double number, char out[40])
{
    int digits = 1, exponent;
    do {
        snprintf(out, 40, "%.*e", digits - 1, number);
    } while (strtod(out, NULL) != number && digits++ < 17);
    exponent = atoi(strchr(out, 'e') + 1);
    if (exponent >= -4 && exponent < 16) {
        snprintf(out, 40, "%.*f", digits - 1 > exponent + 1 ? digits - 1 - exponent : 1, number);
    }
}

static int by_device(const void *a, const void *b)
{
    const struct leaks_device *x = a, *y = b;
    return x->device != y->device ? (x->device < y->device ? -1 : 1) : x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void device_text(uint32_t device, char out[16])
{
    if (device == MS_DEV_CPU) {
        snprintf(out, 16, "cpu");
    } else if (device == MS_DEV_UNKNOWN) {
        snprintf(out, 16, "N/A");
    } else {
        snprintf(out, 16, "%u", device);
    }
}

/* Reports it if there are too few marks. */
static bool has_marks(struct ms_offline *offline, const struct leaks_check *check, const struct leaks_device *device)
{
    char text[16];
    device_text(device->device, text);
    ms_offline_line(offline, "INFO: Starting to analyze data for device %s...", text);
    if (device->marks < 3) {
        ms_offline_line(offline, "ERROR: Device %s has fewer than 3 data points. Please re-collect the data points.",
                        text);
    } else if (check->start_index > device->marks - 3) {
        ms_offline_line(offline,
                        "INFO: Start index %" PRIu64 " is out of bounds. Device %s has a total of %" PRIu64
                        " MSTX events.",
                        check->start_index, text, device->marks);
    }
    return device->marks >= 3 && check->start_index <= device->marks - 3;
}

static void print_leaks(struct ms_offline *offline, const struct leaks_device *device,
                        struct ms_check_leaks_result *result)
{
    char text[16];
    bool any = false;
    device_text(device->device, text);
    for (size_t i = 0; i < device->count; i++) {
        const struct left *left = &device->left[i];
        const uint64_t *number = ms_map_get(&device->number_of_addr, left->addr);
        if (number == NULL || *number != i) {
            continue;
        }
        if (!any) {
            ms_offline_line(offline, "====== ERROR: Detected memory leaks on device %s ======", text);
        }
        any = true;
        char mb[40];
        float_text((double)left->size_b / 1048576.0, mb);
        ms_offline_line(offline, "Direct Hal memory leak of %s Mb(s) at 0x%016" PRIx64 " in Index %" PRIu64 ".", mb,
                        left->addr, left->id);
        result->leaks++;
        result->bytes += left->size_b;
    }
    if (!any) {
        ms_offline_line(offline, "No hal memory leaks detected on device %s.", text);
    }
}

static void print_results(struct ms_offline *offline, struct leaks_check *check, struct ms_check_leaks_result *result)
{
    if (check->count != 0) {
        qsort(check->devices, check->count, sizeof(*check->devices), by_device);
    }
    bool *good = calloc(check->count + 1, sizeof(*good));
    for (size_t i = 0; good != NULL && i < check->count; i++) {
        good[i] = has_marks(offline, check, &check->devices[i]);
        result->devices += good[i];
        result->skipped += !good[i];
    }
    if (result->devices != 0) {
        ms_offline_line(offline, "%s", "");
        ms_offline_line(offline, "Leak Analysis Results for the Custom Range:");
    }
    for (size_t i = 0; good != NULL && i < check->count; i++) {
        if (good[i]) {
            print_leaks(offline, &check->devices[i], result);
        }
    }
    free(good);
}

static bool is_blank(const char *text)
{
    return text == NULL || text[strspn(text, " \t\r\n\f\v")] == '\0';
}

int ms_check_leaks(const char *path, const char *mark, uint64_t start_index, const struct ms_analyze_io *io,
                   struct ms_check_leaks_result *result, char *why, size_t why_b)
{
    struct ms_offline offline;
    struct ms_check_leaks_result found = {0};
    int rc = ms_offline_open(&offline, path, false, &wish, io, why, why_b);
    if (rc == 0 && is_blank(mark)) {
        rc = ms_offline_fail(&offline, -EINVAL, "mstx_info, the text of the marks, must not be blank");
    }
    if (rc == 0) {
        struct leaks_check check = {.mark = mark, .mark_b = strlen(mark), .start_index = start_index};
        struct ms_offline_reader reader = {&check, choose, take, restart};
        rc = ms_offline_read(&offline, &reader);
        if (rc == 0) {
            found.rows = offline.rows;
            found.rows_left_out = offline.left_out;
            print_results(&offline, &check, &found);
        }
        restart(&check);
    }
    ms_offline_close(&offline);
    if (rc == 0 && result != NULL) {
        *result = found;
    }
    return rc;
}
