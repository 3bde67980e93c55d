/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as programs use them; see stream_api.h. Threads and locks: those of stream.c. */
#include "softnpu/runtime/stream_api.h"

#include "softnpu/runtime/engine.h"
#include "softnpu/runtime/futex.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/registry.h"

#include "base/slab.h"

#include <stdlib.h>

#define KNOWN_FLAGS                                                                                                    \
    (ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT | ACL_STREAM_HUGE |                         \
     ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY)

int32_t snpu_stream_create(const char *function, uint32_t priority, uint32_t flags, void **out)
{
    struct snpu_ctx *ctx;
    struct snpu_stream *stream;
    if (out == NULL || priority > SNPU_PRIORITY_LEAST || (flags & ~(uint32_t)KNOWN_FLAGS) != 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid argument: stream %p, priority %u, flag 0x%x",
                         function, (void *)out, priority, flags);
    }
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret != 0 || (ret = snpu_stream_open(function, ctx, priority, flags, false, &stream)) != 0) {
        return ret;
    }
    snpu_prof_stream(stream->dev, stream->id, true);
    snpu_stream_notify(stream, ACL_RT_STREAM_STATE_CREATE_POST);
    *out = stream;
    return 0;
}

/* The stream behind an explicit handle; the default stream has no handle. */
static int32_t resolve_named(const char *function, void *handle, struct snpu_stream **out)
{
    if (handle == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the default stream is not allowed here", function);
    }
    return snpu_stream_resolve_any(function, handle, out);
}

int32_t snpu_stream_destroy(const char *function, void *handle, bool force)
{
    struct snpu_stream *stream;
    int32_t ret = resolve_named(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    if (stream->is_default || stream->internal) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: stream %u is destroyed with its %s", function, stream->id,
                         stream->internal ? "model" : "context");
    }
    if (snpu_stream_capturing(stream)) {
        return snpu_fail(ACL_ERROR_RT_STREAM_CAPTURED, "%s: stream %u is being captured or bound to a model", function,
                         stream->id);
    }
    snpu_stream_notify(stream, ACL_RT_STREAM_STATE_DESTROY_PRE);
    pthread_mutex_lock(&snpu_rt_lock);
    bool mine = snpu_stream_unlink_locked(stream);
    pthread_mutex_unlock(&snpu_rt_lock);
    if (!mine) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is being destroyed by another thread", function, handle);
    }
    snpu_prof_stream(stream->dev, stream->id, false);
    snpu_stream_close(stream, force);
    return 0;
}

static int32_t check_timeout(const char *function, int32_t timeout_ms)
{
    if (timeout_ms < -1) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid timeout %d", function, timeout_ms);
    }
    return 0;
}

int32_t snpu_stream_wait_empty(const char *function, void *handle, int32_t timeout_ms)
{
    struct snpu_stream *stream;
    int32_t ret = check_timeout(function, timeout_ms);
    if (ret != 0 || (ret = snpu_stream_resolve(function, handle, &stream)) != 0) {
        return ret;
    }
    __atomic_fetch_add(&stream->refs, 1, __ATOMIC_RELAXED);
    ret = snpu_stream_synchronize(stream, timeout_ms);
    snpu_stream_put(stream);
    return ret;
}

int32_t snpu_device_wait_empty(const char *function, int32_t timeout_ms)
{
    struct snpu_ctx *ctx;
    int32_t ret = check_timeout(function, timeout_ms);
    if (ret != 0 || (ret = snpu_ctx_need(function, &ctx)) != 0) {
        return ret;
    }
    return snpu_dev_synchronize(ctx->dev, timeout_ms);
}

int32_t snpu_stream_busy(const char *function, void *handle, bool *busy)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0 || (ret = snpu_capture_check_sync(stream)) != 0) {
        return ret;
    }
    *busy = __atomic_load_n(&stream->done, __ATOMIC_ACQUIRE) != __atomic_load_n(&stream->submitted, __ATOMIC_ACQUIRE);
    if (*busy) {
        snpu_worker_hurry(stream); /* a caller that polls is waiting */
        return 0;
    }
    return snpu_stream_take_error(stream);
}

int32_t snpu_stream_discard(const char *function, void *handle)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    return ret != 0 ? ret : snpu_stream_abort(stream);
}

int32_t snpu_stream_interrupt(const char *function, void *handle)
{
    struct snpu_stream *stream;
    int32_t ret = resolve_named(function, handle, &stream);
    return ret != 0 ? ret : snpu_stream_stop(stream);
}

int32_t snpu_device_task_abort(const char *function, int32_t user_dev, uint32_t timeout_ms)
{
    uint32_t dev;
    int32_t ret = snpu_guard(function);
    if (ret != 0 || (ret = snpu_dev_from_user(function, user_dev, &dev)) != 0 ||
        (ret = snpu_task_abort_notify(user_dev, ACL_RT_DEVICE_TASK_ABORT_PRE, timeout_ms)) != 0) {
        return ret;
    }
    int64_t deadline = deadline_after_ms(timeout_ms == 0 ? -1 : (int64_t)timeout_ms);
    struct snpu_stream **list;
    size_t count = snpu_streams_snapshot(dev, NULL, &list);
    bool *mine = calloc(count + 1, sizeof(*mine));
    if (mine == NULL) {
        ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
    }
    /* All at once: no stream may continue because another one was aborted first. */
    for (size_t i = 0; i < count && mine != NULL; i++) {
        mine[i] = snpu_stream_abort_begin(list[i], ACL_ERROR_RT_DEVICE_TASK_ABORT);
    }
    for (size_t i = 0; i < count; i++) {
        if (mine != NULL) {
            int32_t one = snpu_stream_abort_end(list[i], mine[i], deadline);
            ret = ret != 0 ? ret : one;
        }
        snpu_stream_put(list[i]);
    }
    free(mine);
    free(list);
    int32_t post = snpu_task_abort_notify(user_dev, ACL_RT_DEVICE_TASK_ABORT_POST, timeout_ms);
    return ret != 0 ? ret : post;
}

int32_t snpu_streams_available(const char *function, uint32_t *count)
{
    struct snpu_ctx *ctx;
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret == 0) {
        pthread_mutex_lock(&snpu_rt_lock);
        *count = SNPU_STREAMS_PER_DEVICE - snpu_devices[ctx->dev].stream_count;
        pthread_mutex_unlock(&snpu_rt_lock);
    }
    return ret;
}

/* ---- attributes ---- */

static int32_t set_failure_mode(const char *function, struct snpu_stream *stream, uint64_t mode)
{
    if (mode > ACL_STOP_ON_FAILURE) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid failure mode %llu", function,
                         (unsigned long long)mode);
    }
    /* The mode applies to the whole context as soon as one stream has it. */
    int32_t before = __atomic_exchange_n(&stream->failure_mode, (int32_t)mode, __ATOMIC_ACQ_REL);
    __atomic_fetch_add(&stream->ctx->priv->stop_on_failure, (int32_t)mode - before, __ATOMIC_ACQ_REL);
    return 0;
}

int32_t snpu_stream_set_attr(const char *function, void *handle, int attr, uint64_t value)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    uint32_t *field = NULL;
    uint64_t max = 1;
    switch (attr) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
        return set_failure_mode(function, stream, value);
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        field = &stream->overflow_switch;
        break;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        field = &stream->custom_tag;
        max = UINT32_MAX;
        break;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
        field = &stream->cache_op_info;
        break;
    case ACL_STREAM_ATTR_PRIORITY:
        field = &stream->priority;
        max = SNPU_PRIORITY_LEAST;
        break;
    }
    if (field == NULL || value > max) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid attribute %d or value %llu", function, attr,
                         (unsigned long long)value);
    }
    __atomic_store_n(field, (uint32_t)value, __ATOMIC_RELAXED);
    return 0;
}

int32_t snpu_stream_get_attr(const char *function, void *handle, int attr, uint64_t *value)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    switch (attr) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
        *value = (uint64_t)__atomic_load_n(&stream->failure_mode, __ATOMIC_RELAXED);
        return 0;
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        *value = __atomic_load_n(&stream->overflow_switch, __ATOMIC_RELAXED);
        return 0;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        *value = __atomic_load_n(&stream->custom_tag, __ATOMIC_RELAXED);
        return 0;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
        *value = __atomic_load_n(&stream->cache_op_info, __ATOMIC_RELAXED);
        return 0;
    case ACL_STREAM_ATTR_PRIORITY:
        *value = __atomic_load_n(&stream->priority, __ATOMIC_RELAXED);
        return 0;
    }
    return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown attribute %d", function, attr);
}

int32_t snpu_stream_describe(const char *function, void *handle, struct snpu_stream_info *out)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve_any(function, handle, &stream);
    if (ret == 0) {
        *out = (struct snpu_stream_info){.id = stream->id,
                                         .priority = __atomic_load_n(&stream->priority, __ATOMIC_RELAXED),
                                         .flags = stream->flags,
                                         .submitted = __atomic_load_n(&stream->submitted, __ATOMIC_RELAXED)};
    }
    return ret;
}

/* ---- configurations ---- */

static struct ms_slab configs = MS_SLAB_INIT(aclrtStreamConfigHandle, 65536);

void *snpu_stream_config_new(void)
{
    return ms_slab_alloc(&configs);
}

bool snpu_stream_config_free(void *config)
{
    if (!ms_slab_check(&configs, config)) {
        return false;
    }
    ms_slab_free(&configs, config);
    return true;
}
