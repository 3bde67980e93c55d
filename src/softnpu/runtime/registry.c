/* SPDX-License-Identifier: Apache-2.0 */
/* The program's functions that the runtime calls when devices and streams are created and destroyed. Each kind is a
 * short list of {name, function, argument}; registering a name again replaces it, registering NULL removes it.
 *
 * Threads and locks: one leaf lock for all lists. Callbacks are called from a copy, without the lock, so they may
 * register and unregister callbacks themselves.
 *
 * Failure policy: a full list returns 207005. */
#include "softnpu/runtime/registry.h"

#include "softnpu/runtime/context_life.h"
#include "softnpu/runtime/engine.h"

#include <string.h>

#define ENTRIES_MAX 64
#define NAME_MAX_B  64

struct registry_entry {
    char name[NAME_MAX_B];
    void (*function)(void);
    void *args;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registry_list {
    struct registry_entry entries[ENTRIES_MAX];
    uint32_t count;
} lists[SNPU_REG_KINDS];

int32_t snpu_registry_set(const char *function, enum snpu_registry_kind kind, const char *name, void (*callback)(void),
                          void *args)
{
    if (name == NULL || *name == '\0' || strlen(name) >= NAME_MAX_B) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the name must have 1 to %d characters", function,
                         NAME_MAX_B - 1);
    }
    int32_t ret = snpu_guard(function);
    if (ret != 0) {
        return ret;
    }
    struct registry_list *list = &lists[kind];
    pthread_mutex_lock(&lock);
    uint32_t i = 0;
    while (i < list->count && strcmp(list->entries[i].name, name) != 0) {
        i++;
    }
    if (callback == NULL) {
        if (i < list->count) {
            memmove(&list->entries[i], &list->entries[i + 1], (list->count - i - 1) * sizeof(struct registry_entry));
            list->count--;
        }
    } else if (i == ENTRIES_MAX) {
        ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: %d callbacks are already registered", function,
                        ENTRIES_MAX);
    } else {
        struct registry_entry *entry = &list->entries[i];
        strcpy(entry->name, name);
        entry->function = callback;
        entry->args = args;
        list->count += i == list->count;
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

static uint32_t copy_list(enum snpu_registry_kind kind, struct registry_list *copy)
{
    if (__atomic_load_n(&lists[kind].count, __ATOMIC_RELAXED) == 0) {
        return 0; /* the common case, on the path of every stream and device */
    }
    pthread_mutex_lock(&lock);
    copy->count = lists[kind].count;
    memcpy(copy->entries, lists[kind].entries, copy->count * sizeof(struct registry_entry));
    pthread_mutex_unlock(&lock);
    return copy->count;
}

void snpu_device_notify(int32_t user_dev, int state)
{
    struct registry_list list;
    uint32_t count = copy_list(SNPU_REG_DEVICE_STATE, &list);
    for (uint32_t i = 0; i < count; i++) {
        aclrtDeviceStateCallback callback = (aclrtDeviceStateCallback)list.entries[i].function;
        callback(user_dev, (aclrtDeviceState)state, list.entries[i].args);
    }
}

void snpu_stream_notify(struct snpu_stream *stream, int state)
{
    struct registry_list list;
    uint32_t count = copy_list(SNPU_REG_STREAM_STATE, &list);
    for (uint32_t i = 0; i < count; i++) {
        aclrtStreamStateCallback callback = (aclrtStreamStateCallback)list.entries[i].function;
        callback(stream, (aclrtStreamState)state, list.entries[i].args);
    }
}

int32_t snpu_task_abort_notify(int32_t user_dev, int stage, uint32_t timeout_ms)
{
    struct registry_list list;
    uint32_t count = copy_list(SNPU_REG_TASK_ABORT, &list);
    for (uint32_t i = 0; i < count; i++) {
        aclrtDeviceTaskAbortCallback callback = (aclrtDeviceTaskAbortCallback)list.entries[i].function;
        int32_t refused = callback(user_dev, (aclrtDeviceTaskAbortStage)stage, timeout_ms, list.entries[i].args);
        if (refused != 0) {
            return snpu_fail(ACL_ERROR_RT_DEVICE_TASK_ABORT, "aclrtDeviceTaskAbort: callback %s returned %d",
                             list.entries[i].name, refused);
        }
    }
    return 0;
}
