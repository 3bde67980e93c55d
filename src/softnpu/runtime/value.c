/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and awaiting 64-bit values in device memory.
 *
 * A value may be changed by anything: a write task (which wakes the sleepers), a copy, a kernel, another process that
 * mapped the memory. Only write tasks wake sleepers, so a wait sleeps in short slices that grow to 2 ms.
 *
 * Failure policy: an address that is not device-visible memory, or stops being so while a stream waits, is 107000. */
#include "softnpu/runtime/value.h"

#include "softnpu/runtime/engine.h"
#include "softnpu/runtime/prof.h"

#include <errno.h>
#include <stdlib.h>

#define SLICE_MAX_MS 2

struct value_task {
    uint64_t *address;
    uint64_t value;
    uint32_t flag;
};

static bool holds(uint32_t flag, uint64_t have, uint64_t value)
{
    switch (flag) {
    case ACL_STREAM_WAIT_VALUE_GEQ:
        return (int64_t)(have - value) >= 0;
    case ACL_STREAM_WAIT_VALUE_EQ:
        return have == value;
    case ACL_STREAM_WAIT_VALUE_AND:
        return (have & value) != 0;
    default:
        return ~(have | value) != 0;
    }
}

static int32_t write_run(struct snpu_task *task)
{
    struct value_task *t = (struct value_task *)task->payload;
    if (!snpu_hal_accessible(t->address, sizeof(*t->address))) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    __atomic_store_n(t->address, t->value, __ATOMIC_RELEASE);
    snpu_wake_all((const uint32_t *)t->address);
    return 0;
}

static int32_t wait_run(struct snpu_task *task)
{
    struct value_task *t = (struct value_task *)task->payload;
    int32_t slice_ms = 0;
    for (;;) {
        if (!snpu_hal_accessible(t->address, sizeof(*t->address))) {
            return ACL_ERROR_RT_PARAM_INVALID;
        }
        uint64_t have = __atomic_load_n(t->address, __ATOMIC_ACQUIRE);
        if (holds(t->flag, have, t->value)) {
            return 0;
        }
        slice_ms = slice_ms < SLICE_MAX_MS ? slice_ms + 1 : slice_ms;
        int waited = snpu_task_wait(task, (const uint32_t *)t->address, (uint32_t)have, slice_ms);
        if (waited == -ECANCELED) {
            return ACL_ERROR_RT_STREAM_ABORT;
        }
    }
}

static int32_t write_ri_get(const void *payload, void *params)
{
    const struct value_task *t = payload;
    ((aclmdlRITaskParams *)params)->valueWriteTaskParams = (aclmdlRIValueWriteTaskParams){t->address, t->value};
    return 0;
}

static int32_t wait_ri_get(const void *payload, void *params)
{
    const struct value_task *t = payload;
    ((aclmdlRITaskParams *)params)->valueWaitTaskParams = (aclmdlRIValueWaitTaskParams){t->address, t->value, t->flag};
    return 0;
}

static int32_t check(const char *function, const void *address, uint32_t flag, uint32_t flag_max)
{
    struct snpu_range range;
    if (address == NULL || (uintptr_t)address % sizeof(uint64_t) != 0 || flag > flag_max) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: devAddr %p (must be a multiple of 8) or flag %u is invalid",
                         function, address, flag);
    }
    if (!snpu_hal_lookup(address, &range) || !snpu_hal_accessible(address, sizeof(uint64_t))) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not device memory", function, address);
    }
    return 0;
}

static int32_t make(const struct value_task *t, void **out, size_t *out_b)
{
    struct value_task *copy = malloc(sizeof(*copy));
    if (copy == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "aclmdlRITaskSetParams: out of host memory");
    }
    *copy = *t;
    *out = copy;
    *out_b = sizeof(*copy);
    return 0;
}

static int32_t write_ri_set(const void *payload, const void *params, void **out, size_t *out_b)
{
    (void)payload;
    const aclmdlRIValueWriteTaskParams *p = &((const aclmdlRITaskParams *)params)->valueWriteTaskParams;
    int32_t ret = check("aclmdlRITaskSetParams", p->devAddr, 0, 0);
    return ret != 0 ? ret : make(&(struct value_task){p->devAddr, p->value, 0}, out, out_b);
}

static int32_t wait_ri_set(const void *payload, const void *params, void **out, size_t *out_b)
{
    (void)payload;
    const aclmdlRIValueWaitTaskParams *p = &((const aclmdlRITaskParams *)params)->valueWaitTaskParams;
    int32_t ret = check("aclmdlRITaskSetParams", p->devAddr, p->flag, ACL_STREAM_WAIT_VALUE_NOR);
    return ret != 0 ? ret : make(&(struct value_task){p->devAddr, p->value, p->flag}, out, out_b);
}

static const struct snpu_task_kind write_kind = {
    .name = "MEM_WRITE_VALUE",
    .prof_type = SNPU_TASK_MEM_WRITE_VALUE,
    .ri_type = ACL_MODEL_RI_TASK_VALUE_WRITE,
    .captures = true,
    .run = write_run,
    .ri_get = write_ri_get,
    .ri_set = write_ri_set,
};

static const struct snpu_task_kind wait_kind = {
    .name = "MEM_WAIT_VALUE",
    .prof_type = SNPU_TASK_MEM_WAIT_VALUE,
    .ri_type = ACL_MODEL_RI_TASK_VALUE_WAIT,
    .captures = true,
    .run = wait_run,
    .ri_get = wait_ri_get,
    .ri_set = wait_ri_set,
};

static int32_t submit(const char *function, const struct snpu_task_kind *kind, struct value_task t, void *handle)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    return ret != 0 ? ret : snpu_stream_submit(stream, kind, &t, sizeof(t), NULL, 0, NULL);
}

int32_t snpu_value_write(const char *function, void *address, uint64_t value, uint32_t flag, void *stream)
{
    int32_t ret = check(function, address, flag, 0);
    return ret != 0 ? ret : submit(function, &write_kind, (struct value_task){address, value, flag}, stream);
}

int32_t snpu_value_wait(const char *function, void *address, uint64_t value, uint32_t flag, void *stream)
{
    int32_t ret = check(function, address, flag, ACL_STREAM_WAIT_VALUE_NOR);
    return ret != 0 ? ret : submit(function, &wait_kind, (struct value_task){address, value, flag}, stream);
}
