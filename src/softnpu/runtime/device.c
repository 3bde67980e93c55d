/* SPDX-License-Identifier: Apache-2.0 */
/* Devices as the program numbers them, and each device's state in this process.
 *
 * Invariants: the visible list is read once, on first use, and never changes. It ends at the first entry that is not
 * the number of an existing device or is a duplicate, as on the real stack: a typing error hides devices instead of
 * selecting wrong ones.
 *
 * Threads and locks: snpu_rt_lock guards snpu_devices.
 *
 * Failure policy: unknown numbers return 107001 with the number of visible devices. */
#include "softnpu/runtime/engine.h"

#include "softnpu/runtime/futex.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

pthread_mutex_t snpu_rt_lock = PTHREAD_MUTEX_INITIALIZER;
struct rt_device snpu_devices[SNPU_MAX_DEVICES];

static pthread_once_t visible_once = PTHREAD_ONCE_INIT;
static uint32_t visible_count;
static uint32_t visible[SNPU_MAX_DEVICES];
static int32_t user_of[SNPU_MAX_DEVICES];

static bool next_number(const char **text, uint32_t limit, uint32_t *out)
{
    const char *p = *text;
    while (isspace((unsigned char)*p)) {
        p++;
    }
    if (!isdigit((unsigned char)*p)) {
        return false;
    }
    char *end;
    errno = 0;
    unsigned long v = strtoul(p, &end, 10);
    while (isspace((unsigned char)*end)) {
        end++;
    }
    if (errno != 0 || v >= limit || (*end != ',' && *end != '\0')) {
        return false;
    }
    *text = *end == ',' ? end + 1 : end;
    *out = (uint32_t)v;
    return true;
}

static void read_visible(void)
{
    uint32_t all = snpu_hal_device_count();
    for (uint32_t i = 0; i < SNPU_MAX_DEVICES; i++) {
        user_of[i] = -1;
    }
    const char *list = getenv("ASCEND_RT_VISIBLE_DEVICES");
    if (list == NULL) {
        for (uint32_t i = 0; i < all && i < SNPU_MAX_DEVICES; i++) {
            visible[i] = i;
            user_of[i] = (int32_t)i;
        }
        visible_count = all < SNPU_MAX_DEVICES ? all : SNPU_MAX_DEVICES;
        return;
    }
    uint32_t dev;
    while (*list != '\0' && next_number(&list, all, &dev) && user_of[dev] < 0) {
        user_of[dev] = (int32_t)visible_count;
        visible[visible_count++] = dev;
    }
}

uint32_t snpu_dev_visible_count(void)
{
    pthread_once(&visible_once, read_visible);
    return visible_count;
}

int32_t snpu_dev_from_user(const char *function, int32_t user_dev, uint32_t *dev)
{
    uint32_t count = snpu_dev_visible_count();
    if (user_dev < 0 || (uint32_t)user_dev >= count) {
        return snpu_fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: no device %d (%u visible)", function, user_dev, count);
    }
    *dev = visible[user_dev];
    return 0;
}

int32_t snpu_dev_to_user(uint32_t dev, int32_t *user_dev)
{
    snpu_dev_visible_count();
    if (dev >= SNPU_MAX_DEVICES || user_of[dev] < 0) {
        return snpu_fail(ACL_ERROR_RT_INVALID_DEVICEID, "driver device %u is not visible to this process", dev);
    }
    *user_dev = user_of[dev];
    return 0;
}

int32_t snpu_dev_synchronize(uint32_t dev, int32_t timeout_ms)
{
    int64_t deadline = deadline_after_ms(timeout_ms);
    struct snpu_stream **list;
    size_t count = snpu_streams_snapshot(dev, NULL, &list);
    int32_t ret = 0;
    for (size_t i = 0; i < count; i++) {
        if (ret != ACL_ERROR_RT_STREAM_SYNC_TIMEOUT && !list[i]->internal && !snpu_stream_is_mine(list[i])) {
            int64_t left = deadline_left_ns(deadline);
            int32_t left_ms = left < 0 ? -1 : (int32_t)((left + 999999) / 1000000);
            int32_t one = snpu_stream_synchronize(list[i], left_ms);
            ret = ret != 0 ? ret : one;
        }
        snpu_stream_put(list[i]);
    }
    free(list);
    return ret;
}

void snpu_dev_lose(uint32_t dev)
{
    __atomic_store_n(&snpu_devices[dev].lost, 1, __ATOMIC_RELEASE);
    snpu_hal_set_lost(dev, true);
    struct snpu_stream **list;
    size_t count = snpu_streams_snapshot(dev, NULL, &list);
    for (size_t i = 0; i < count; i++) {
        snpu_stream_cancel(list[i], ACL_ERROR_RT_LOST_HEARTBEAT);
        snpu_stream_put(list[i]);
    }
    free(list);
}
