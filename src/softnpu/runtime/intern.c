/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel names, each kept once until the process ends; see kernel.h for the reason.
 *
 * A hash table that never shrinks. The number of distinct kernel names in a process is bounded by its binaries.
 * Threads and locks: names.lock, a leaf; never taken on the launch path. */
#include "softnpu/runtime/kernel.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024

struct interned_name {
    struct interned_name *next;
    char text[];
};

static struct {
    pthread_mutex_t lock;
    struct interned_name *buckets[BUCKETS];
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t hash(const char *text)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *text != '\0'; text++) {
        h = (h ^ (uint8_t)*text) * 16777619u;
    }
    return h;
}

const char *snpu__intern(const char *text)
{
    struct interned_name **bucket = &names.buckets[hash(text) % BUCKETS];
    pthread_mutex_lock(&names.lock);
    struct interned_name *name = *bucket;
    while (name != NULL && strcmp(name->text, text) != 0) {
        name = name->next;
    }
    if (name == NULL) {
        size_t text_b = strlen(text) + 1;
        name = malloc(sizeof(*name) + text_b);
        if (name != NULL) {
            memcpy(name->text, text, text_b);
            name->next = *bucket;
            *bucket = name;
        }
    }
    pthread_mutex_unlock(&names.lock);
    return name != NULL ? name->text : NULL;
}
