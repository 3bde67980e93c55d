/* SPDX-License-Identifier: Apache-2.0 */
/* Operator names for --watch: points in records, and the number of calls of each. Called under the lock of watch.c.
 * Counters are in a fixed-size table that is cleared when full. */
#include "agent/watch_internal.h"

#include "agent/agent.h"

#include <string.h>

#define COUNTERS 4096u

/* ---- texts ---- */

void ms__put(struct ms_watch_text *t, const char *s, size_t length_b)
{
    size_t fits = sizeof(t->bytes) - t->length_b;
    fits = fits < length_b ? fits : length_b;
    memcpy(t->bytes + t->length_b, s, fits);
    t->length_b += fits;
}

void ms__put_number(struct ms_watch_text *t, uint64_t number)
{
    char digits[24], *s = digits + sizeof(digits);
    do {
        *--s = (char)('0' + number % 10);
    } while ((number /= 10) != 0);
    ms__put(t, s, (size_t)(digits + sizeof(digits) - s));
}

uint32_t ms__watch_device(void)
{
    uint32_t device = ms_device_current();
    return device != MS_DEV_UNKNOWN ? device : MS_DEV_CPU;
}

void ms__put_torch_point(struct ms_watch_text *t, uint32_t tid, const char *name, size_t name_b)
{
    uint32_t device = ms__watch_device();
    t->length_b = 0;
    if (device == MS_DEV_CPU) {
        ms__put(t, "cpu", 3);
    } else {
        ms__put_number(t, device);
    }
    ms__put(t, "_", 1);
    ms__put_number(t, tid);
    ms__put(t, "/", 1);
    ms__put(t, name, name_b < MS_WATCH_OP_B ? name_b : MS_WATCH_OP_B);
}

bool ms__is_named(const struct ms_watch_text *point, const char *name, size_t name_b)
{
    const char *slash = memchr(point->bytes, '/', point->length_b);
    size_t rest_b = slash != NULL ? (size_t)(point->bytes + point->length_b - slash - 1) : 0;
    return name_b != 0 && rest_b == name_b && memcmp(slash + 1, name, name_b) == 0;
}

/* ---- number of calls by name ---- */

struct counters {
    struct {
        uint64_t hash;
        uint32_t count;
    } slots[COUNTERS];
    uint32_t used;
};
static struct counters calls[2]; /* by enum ms_watch_counter */

uint32_t ms__watch_count(enum ms_watch_counter which, const struct ms_watch_text *point)
{
    struct counters *counters = &calls[which];
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < point->length_b; i++) {
        hash = (hash ^ (unsigned char)point->bytes[i]) * 0x100000001b3ull;
    }
    hash += hash == 0;
    if (counters->used > COUNTERS / 4 * 3) {
        memset(counters, 0, sizeof(*counters));
    }
    for (uint32_t at = (uint32_t)(hash >> 40) % COUNTERS;; at = (at + 1) % COUNTERS) {
        if (counters->slots[at].hash == 0) {
            counters->slots[at].hash = hash;
            counters->used++;
        }
        if (counters->slots[at].hash == hash) {
            return ++counters->slots[at].count;
        }
    }
}
