/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, the calling thread's current context, setting and resetting devices.
 *
 * Invariants: a device has at most one primary context, alive while primary_refs > 0. A context has a default stream
 * for its whole life. A thread remembers its context as (pointer, serial), so a context destroyed by another thread is
 * detected instead of used; slab memory keeps the pointer readable.
 *
 * Threads and locks: snpu_rt_lock for the bookkeeping; streams are closed without it. Creating and destroying contexts
 * is serialised by life_lock, which is taken before any other lock. User callbacks run without any lock.
 *
 * Failure policy: a partially created context is undone. In a child forked from a process with devices every call
 * fails: its worker threads do not exist, and any lock may be held by a thread that does not exist either. */
#include "softnpu/runtime/engine.h"

#include "softnpu/runtime/context_life.h"
#include "softnpu/runtime/futex.h"
#include "softnpu/runtime/memory.h"
#include "softnpu/runtime/prof.h"
#include "base/slab.h"

#include "ascend_hal.h"

#include <stdlib.h>

#define CONTEXTS_MAX     65536
#define CLOSE_ALL_MS     2000       /* for tasks that ignore cancellation when their streams are closed */
#define DRAIN_BLOCKED_NS 200000000  /* nothing runs, everything waits */
#define DRAIN_RUNNING_NS 5000000000 /* one task that does not end */
#define DRAIN_LOOK_NS    5000000

struct context {
    struct snpu_ctx ctx;
    struct snpu_ctx_private priv;
};

static struct ms_slab contexts = MS_SLAB_INIT(struct context, CONTEXTS_MAX);
static pthread_mutex_t life_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t next_serial; /* guarded by snpu_rt_lock */

static __thread struct {
    struct snpu_ctx *ctx;
    uint64_t serial;
} current;

/* ---- fork ---- */

static uint32_t active; /* this process has, or had, device state */
static uint32_t orphan; /* forked from such a process */

static void after_fork_in_child(void)
{
    if (active) {
        orphan = 1;
        current.ctx = NULL;
    }
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

void snpu_mark_active(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    __atomic_store_n(&active, 1, __ATOMIC_RELAXED);
}

int32_t snpu_guard(const char *function)
{
    if (MS_UNLIKELY(__atomic_load_n(&orphan, __ATOMIC_RELAXED))) {
        return snpu_fail(ACL_ERROR_RT_CONTEXT_NULL,
                         "%s: devices cannot be used in a process forked from one that used a device", function);
    }
    return 0;
}

/* ---- current context ---- */

bool snpu_ctx_alive(const struct snpu_ctx *ctx)
{
    return ms_slab_check(&contexts, ctx) && __atomic_load_n(&ctx->priv->serial, __ATOMIC_ACQUIRE) != 0;
}

void snpu_ctx_set_current(struct snpu_ctx *ctx)
{
    current.ctx = ctx;
    current.serial = ctx != NULL ? __atomic_load_n(&ctx->priv->serial, __ATOMIC_ACQUIRE) : 0;
}

struct snpu_ctx *snpu_ctx_current(void)
{
    struct snpu_ctx *ctx = current.ctx;
    if (ctx == NULL) {
        return NULL;
    }
    if (MS_UNLIKELY(__atomic_load_n(&ctx->priv->serial, __ATOMIC_ACQUIRE) != current.serial)) {
        current.ctx = NULL;
        return NULL;
    }
    return ctx;
}

static int32_t default_device = -1;

int32_t snpu_device_set_default(const char *function, int32_t user_dev)
{
    uint32_t dev;
    int32_t ret = user_dev >= 0 ? snpu_dev_from_user(function, user_dev, &dev) : 0;
    if (ret == 0) {
        __atomic_store_n(&default_device, user_dev < 0 ? -1 : user_dev, __ATOMIC_RELAXED);
    }
    return ret;
}

int32_t snpu_ctx_get(const char *function, struct snpu_ctx **out)
{
    *out = snpu_ctx_current();
    if (MS_LIKELY(*out != NULL)) {
        return 0;
    }
    int32_t ret = snpu_guard(function);
    return ret != 0 ? ret
                    : snpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: this thread has no context; call aclrtSetDevice first",
                                function);
}

int32_t snpu_ctx_need(const char *function, struct snpu_ctx **out)
{
    *out = snpu_ctx_current();
    if (MS_LIKELY(*out != NULL)) {
        return 0;
    }
    int32_t device = __atomic_load_n(&default_device, __ATOMIC_RELAXED);
    int32_t ret = device >= 0 ? snpu_device_set(function, device) : 0;
    return ret != 0 ? ret : snpu_ctx_get(function, out);
    return snpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: this thread has no context; call aclrtSetDevice first", function);
}

/* ---- creation and destruction ---- */

static int32_t context_create(const char *function, uint32_t dev, int32_t user_dev, bool primary, struct snpu_ctx **out)
{
    if (snpu_devices[dev].contexts == 0) {
        int32_t opened = snpu_from_drv(halDeviceOpen(dev, NULL, NULL), "halDeviceOpen");
        if (opened != 0) {
            return opened;
        }
    }
    struct context *context = ms_slab_alloc(&contexts);
    if (context == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory for another context", function);
    }
    struct snpu_ctx *ctx = &context->ctx;
    ctx->dev = dev;
    ctx->user_dev = user_dev;
    ctx->primary = primary;
    ctx->priv = &context->priv;
    int32_t ret = snpu_stream_open(function, ctx, 0, 0, false, &ctx->default_stream);
    if (ret != 0) {
        ms_slab_free(&contexts, context);
        return ret;
    }
    ctx->default_stream->is_default = true;
    pthread_mutex_lock(&snpu_rt_lock);
    __atomic_store_n(&context->priv.serial, ++next_serial, __ATOMIC_RELEASE);
    snpu_devices[dev].contexts++;
    pthread_mutex_unlock(&snpu_rt_lock);
    *out = ctx;
    return 0;
}

/* Lets queued work finish while it makes progress: a running task may take a while, but there is no point in waiting
 * when all remaining tasks wait for something that does not come. */
static void context_drain(const struct snpu_ctx *ctx)
{
    struct snpu_stream **list;
    size_t count = snpu_streams_snapshot(ctx->dev, ctx, &list);
    uint64_t passed = 0;
    int64_t quiet_since = deadline_after_ms(0);
    for (;;) {
        uint64_t sum = 0;
        bool blocked = true;
        struct snpu_stream *busy = NULL;
        for (size_t i = 0; i < count; i++) {
            uint64_t done = __atomic_load_n(&list[i]->done, __ATOMIC_ACQUIRE);
            sum += done;
            if (done != __atomic_load_n(&list[i]->submitted, __ATOMIC_ACQUIRE) && !snpu_stream_is_mine(list[i])) {
                busy = list[i];
                blocked &= __atomic_load_n(&list[i]->waiting, __ATOMIC_RELAXED) != 0;
            }
        }
        int64_t now = deadline_after_ms(0);
        if (sum != passed) {
            passed = sum;
            quiet_since = now;
        }
        if (busy == NULL || now - quiet_since > (blocked ? DRAIN_BLOCKED_NS : DRAIN_RUNNING_NS)) {
            break;
        }
        snpu_stream_wait_seq(busy, __atomic_load_n(&busy->submitted, __ATOMIC_ACQUIRE), now + DRAIN_LOOK_NS);
    }
    for (size_t i = 0; i < count; i++) {
        snpu_stream_put(list[i]);
    }
    free(list);
}

/* Closes everything the context still owns. The handle becomes invalid before the first stream is closed. */
static void context_destroy(struct snpu_ctx *ctx, bool force)
{
    __atomic_store_n(&ctx->priv->serial, 0, __ATOMIC_RELEASE);
    if (!force) {
        context_drain(ctx);
    }
    struct rt_device *device = &snpu_devices[ctx->dev];
    int64_t deadline = deadline_after_ms(CLOSE_ALL_MS);
    for (;;) {
        pthread_mutex_lock(&snpu_rt_lock);
        struct snpu_stream *stream = device->streams;
        while (stream != NULL && stream->ctx != ctx) {
            stream = stream->next;
        }
        if (stream != NULL) {
            snpu_stream_unlink_locked(stream);
        }
        pthread_mutex_unlock(&snpu_rt_lock);
        if (stream == NULL) {
            break;
        }
        snpu_stream_close_by(stream, deadline);
    }
    for (size_t i = 0; i < MS_COUNT_OF(ctx->priv->scratch); i++) {
        if (ctx->priv->scratch[i] != NULL) {
            halMemFree(ctx->priv->scratch[i]);
        }
    }
    pthread_mutex_lock(&snpu_rt_lock);
    device->contexts--;
    pthread_mutex_unlock(&snpu_rt_lock);
    ms_slab_free(&contexts, MS_CONTAINER_OF(ctx, struct context, ctx));
}

/* The device's last context is gone: release everything this process has on it. */
static void device_closed(uint32_t dev)
{
    halDeviceClose(dev, NULL);
    snpu__mem_device_closed(dev);
    pthread_mutex_lock(&snpu_rt_lock);
    struct rt_device *device = &snpu_devices[dev];
    for (uint32_t i = 0; i < SNPU_MAX_DEVICES; i++) {
        device->peer[i] = false;
    }
    snpu_exception_forget(dev);
    pthread_mutex_unlock(&snpu_rt_lock);
}

int32_t snpu_device_set(const char *function, int32_t user_dev)
{
    uint32_t dev;
    int32_t ret = snpu_guard(function);
    if (ret != 0 || (ret = snpu_dev_from_user(function, user_dev, &dev)) != 0) {
        return ret;
    }
    snpu_mark_active();
    snpu_prof_init();
    struct rt_device *device = &snpu_devices[dev];
    bool first = __atomic_load_n(&device->primary, __ATOMIC_ACQUIRE) == NULL, opened = false;
    if (first) {
        snpu_device_notify(user_dev, ACL_RT_DEVICE_STATE_SET_PRE);
    }
    pthread_mutex_lock(&life_lock);
    if (device->primary == NULL) {
        opened = device->contexts == 0;
        struct snpu_ctx *ctx;
        ret = context_create(function, dev, user_dev, true, &ctx);
        if (ret == 0) {
            __atomic_store_n(&device->primary, ctx, __ATOMIC_RELEASE);
        }
    }
    if (ret == 0) {
        device->primary_refs++;
        snpu_ctx_set_current(device->primary);
    }
    pthread_mutex_unlock(&life_lock);
    if (ret == 0 && opened) {
        snpu_prof_device(dev, true);
    }
    if (ret == 0 && first) {
        snpu_device_notify(user_dev, ACL_RT_DEVICE_STATE_SET_POST);
    }
    return ret;
}

/* Returns true if nothing is left on the device. */
static bool reset_locked(uint32_t dev, bool force)
{
    struct rt_device *device = &snpu_devices[dev];
    struct snpu_ctx *primary = device->primary;
    device->primary_refs = 0;
    __atomic_store_n(&device->primary, NULL, __ATOMIC_RELEASE);
    if (primary != NULL) {
        context_destroy(primary, force);
    }
    for (uint32_t i = 0; force && i < CONTEXTS_MAX && device->contexts > 0; i++) {
        struct context *context = ms_slab_at(&contexts, i);
        if (context != NULL && context->ctx.dev == dev && snpu_ctx_alive(&context->ctx)) {
            context_destroy(&context->ctx, true);
        }
    }
    bool closed = device->contexts == 0;
    if (closed) {
        device_closed(dev);
    }
    if (force) {
        __atomic_store_n(&device->lost, 0, __ATOMIC_RELEASE);
        snpu_hal_set_lost(dev, false);
    }
    return closed;
}

int32_t snpu_device_reset(const char *function, int32_t user_dev, bool force)
{
    uint32_t dev;
    int32_t ret = snpu_guard(function);
    if (ret != 0 || (ret = snpu_dev_from_user(function, user_dev, &dev)) != 0) {
        return ret;
    }
    struct rt_device *device = &snpu_devices[dev];
    pthread_mutex_lock(&life_lock);
    if (device->primary == NULL && !(force && (device->contexts > 0 || device->lost))) {
        pthread_mutex_unlock(&life_lock);
        return snpu_fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: device %d is not set", function, user_dev);
    }
    bool last = force || device->primary_refs == 1;
    if (!last) {
        device->primary_refs--;
    }
    pthread_mutex_unlock(&life_lock);
    if (!last) {
        return 0;
    }
    snpu_device_notify(user_dev, ACL_RT_DEVICE_STATE_RESET_PRE);
    pthread_mutex_lock(&life_lock);
    bool closed = false;
    /* Another thread may have set or reset the device meanwhile; then only this call's reference is dropped. */
    if (force || device->primary_refs == 1) {
        closed = reset_locked(dev, force);
    } else if (device->primary_refs > 1) {
        device->primary_refs--;
    }
    pthread_mutex_unlock(&life_lock);
    if (closed) {
        snpu_prof_device(dev, false);
    }
    snpu_device_notify(user_dev, ACL_RT_DEVICE_STATE_RESET_POST);
    return 0;
}

int32_t snpu_ctx_create(const char *function, int32_t user_dev, struct snpu_ctx **out)
{
    uint32_t dev;
    int32_t ret = snpu_guard(function);
    if (ret != 0 || (ret = snpu_dev_from_user(function, user_dev, &dev)) != 0) {
        return ret;
    }
    snpu_mark_active();
    snpu_prof_init();
    pthread_mutex_lock(&life_lock);
    bool opened = snpu_devices[dev].contexts == 0;
    ret = context_create(function, dev, user_dev, false, out);
    if (ret == 0) {
        snpu_ctx_set_current(*out);
    }
    pthread_mutex_unlock(&life_lock);
    if (ret == 0 && opened) {
        snpu_prof_device(dev, true);
    }
    return ret;
}

int32_t snpu_ctx_destroy(const char *function, void *handle)
{
    int32_t ret = snpu_guard(function);
    if (ret != 0) {
        return ret;
    }
    struct snpu_ctx *ctx = handle;
    uint32_t dev = 0;
    bool closed = false;
    pthread_mutex_lock(&life_lock);
    if (!snpu_ctx_alive(ctx)) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a context or was destroyed", function, handle);
    } else if (ctx->primary) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                        "%s: destroy the primary context of device %d with aclrtResetDevice", function, ctx->user_dev);
    } else {
        dev = ctx->dev;
        context_destroy(ctx, false);
        closed = snpu_devices[dev].contexts == 0;
        if (closed) {
            device_closed(dev);
        }
    }
    pthread_mutex_unlock(&life_lock);
    if (closed) {
        snpu_prof_device(dev, false);
    }
    return ret;
}

int32_t snpu_ctx_select(const char *function, void *handle)
{
    int32_t ret = snpu_guard(function);
    if (ret != 0) {
        return ret;
    }
    if (!snpu_ctx_alive(handle)) {
        return snpu_fail(handle == NULL ? ACL_ERROR_RT_CONTEXT_NULL : ACL_ERROR_RT_PARAM_INVALID,
                         "%s: %p is not a context or was destroyed", function, handle);
    }
    snpu_ctx_set_current(handle);
    return 0;
}
