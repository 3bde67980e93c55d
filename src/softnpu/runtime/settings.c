/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of devices, contexts, streams and threads; see settings.h.
 *
 * Threads and locks: snpu_rt_lock for everything that belongs to a device; stream limits are single words.
 *
 * Failure policy: out-of-range values return 107000 and change nothing. */
#include "softnpu/runtime/settings.h"

#include "softnpu/runtime/engine.h"
#include "base/clock.h"

#include "ascend_hal.h"
#include "runtime/rt.h"

#include <string.h>

#define SAMPLE_MIN_NS 10000000u

/* ---- options ---- */

/* The largest value of each option; determinism has levels. Initially all process options are 0, and no context option
 * is set. */
static const int64_t option_max[] = {
    [ACL_OPT_DETERMINISTIC] = 2,
    [ACL_OPT_ENABLE_DEBUG_KERNEL] = 1,
    [ACL_OPT_STRONG_CONSISTENCY] = 1,
    [ACL_OPT_ENABLE_KERNEL_EARLY_START] = 1,
};
static int64_t process_options[MS_COUNT_OF(option_max)]; /* snpu_rt_lock */

/* *set stays NULL for process options. */
static int32_t sys_param_place(const char *function, bool of_context, int opt, bool **set, int64_t **value)
{
    struct snpu_ctx *ctx = NULL;
    int32_t ret = snpu_guard(function);
    if (ret != 0 || (of_context && (ret = snpu_ctx_need(function, &ctx)) != 0)) {
        return ret;
    }
    if (opt < 0 || opt >= (int)MS_COUNT_OF(option_max)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown option %d", function, opt);
    }
    *set = of_context ? &ctx->priv->sys_param_set[opt] : NULL;
    *value = of_context ? &ctx->priv->sys_param[opt] : &process_options[opt];
    return 0;
}

int32_t snpu_sys_param_set(const char *function, bool of_context, int opt, int64_t value)
{
    bool *set = NULL;
    int64_t *place = NULL;
    int32_t ret = sys_param_place(function, of_context, opt, &set, &place);
    if (ret != 0) {
        return ret;
    }
    if (value < 0 || value > option_max[opt]) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: option %d must be 0 to %lld, not %lld", function, opt,
                         (long long)option_max[opt], (long long)value);
    }
    pthread_mutex_lock(&snpu_rt_lock);
    if (set != NULL) {
        *set = true;
    }
    *place = value;
    pthread_mutex_unlock(&snpu_rt_lock);
    return 0;
}

int32_t snpu_sys_param_get(const char *function, bool of_context, int opt, int64_t *value)
{
    bool *set = NULL;
    int64_t *place = NULL;
    int32_t ret = sys_param_place(function, of_context, opt, &set, &place);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&snpu_rt_lock);
    bool known = set == NULL || *set;
    int64_t have = *place;
    pthread_mutex_unlock(&snpu_rt_lock);
    if (!known) {
        return snpu_fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "%s: option %d was not set", function, opt);
    }
    *value = have;
    return 0;
}

int32_t snpu_sat_mode_set(const char *function, int mode)
{
    struct snpu_ctx *ctx;
    if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid mode %d", function, mode);
    }
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret == 0) {
        /* Stored as 1 for saturation, so a zeroed device is in INFNAN mode. */
        __atomic_store_n(&snpu_devices[ctx->dev].sat_mode, mode == ACL_RT_OVERFLOW_MODE_SATURATION, __ATOMIC_RELAXED);
    }
    return ret;
}

int32_t snpu_sat_mode_get(const char *function, int *mode)
{
    struct snpu_ctx *ctx;
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret == 0) {
        *mode = __atomic_load_n(&snpu_devices[ctx->dev].sat_mode, __ATOMIC_RELAXED) ? ACL_RT_OVERFLOW_MODE_SATURATION
                                                                                    : ACL_RT_OVERFLOW_MODE_INFNAN;
    }
    return ret;
}

/* ---- cores ---- */

static uint32_t core_count(uint32_t dev, int type)
{
    int64_t cores = 0;
    halGetDeviceInfo(dev, type == ACL_RT_DEV_RES_CUBE_CORE ? MODULE_TYPE_AICORE : MODULE_TYPE_VECTOR_CORE,
                     INFO_TYPE_CORE_NUM, &cores);
    return (uint32_t)cores;
}

static int32_t check_type(const char *function, int type)
{
    if (type != ACL_RT_DEV_RES_CUBE_CORE && type != ACL_RT_DEV_RES_VECTOR_CORE) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid resource type %d", function, type);
    }
    return 0;
}

static int32_t check_cores(const char *function, uint32_t dev, int type, uint32_t value)
{
    int32_t ret = check_type(function, type);
    if (ret == 0 && (value == 0 || value > core_count(dev, type))) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %u cores requested, the device has %u", function, value,
                        core_count(dev, type));
    }
    return ret;
}

static uint32_t device_cores(uint32_t dev, int type)
{
    struct rt_device *device = &snpu_devices[dev];
    pthread_mutex_lock(&snpu_rt_lock);
    uint32_t value = device->res_limit_set[type] ? device->res_limit[type] : 0;
    pthread_mutex_unlock(&snpu_rt_lock);
    return value != 0 ? value : core_count(dev, type);
}

int32_t snpu_res_limit_get(const char *function, int32_t user_dev, int type, uint32_t *value)
{
    uint32_t dev;
    int32_t ret = check_type(function, type);
    if (ret == 0 && (ret = snpu_dev_from_user(function, user_dev, &dev)) == 0 && (ret = snpu_guard(function)) == 0) {
        *value = device_cores(dev, type);
    }
    return ret;
}

int32_t snpu_res_limit_set(const char *function, int32_t user_dev, int type, uint32_t value)
{
    uint32_t dev;
    int32_t ret = snpu_dev_from_user(function, user_dev, &dev);
    if (ret == 0 && (ret = check_cores(function, dev, type, value)) == 0 && (ret = snpu_guard(function)) == 0) {
        pthread_mutex_lock(&snpu_rt_lock);
        snpu_devices[dev].res_limit[type] = value;
        snpu_devices[dev].res_limit_set[type] = true;
        pthread_mutex_unlock(&snpu_rt_lock);
    }
    return ret;
}

int32_t snpu_res_limit_reset(const char *function, int32_t user_dev)
{
    uint32_t dev;
    int32_t ret = snpu_dev_from_user(function, user_dev, &dev);
    if (ret == 0 && (ret = snpu_guard(function)) == 0) {
        pthread_mutex_lock(&snpu_rt_lock);
        snpu_devices[dev].res_limit_set[0] = snpu_devices[dev].res_limit_set[1] = false;
        pthread_mutex_unlock(&snpu_rt_lock);
    }
    return ret;
}

static uint32_t stream_cores(struct snpu_stream *stream, int type)
{
    uint32_t value = __atomic_load_n(&stream->res_limit[type], __ATOMIC_RELAXED);
    return value != 0 ? value : device_cores(stream->dev, type);
}

int32_t snpu_stream_res_limit_get(const char *function, void *handle, int type, uint32_t *value)
{
    struct snpu_stream *stream;
    int32_t ret = check_type(function, type);
    if (ret == 0 && (ret = snpu_stream_resolve(function, handle, &stream)) == 0) {
        *value = stream_cores(stream, type);
    }
    return ret;
}

int32_t snpu_stream_res_limit_set(const char *function, void *handle, int type, uint32_t value)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret == 0 && (ret = check_cores(function, stream->dev, type, value)) == 0) {
        __atomic_store_n(&stream->res_limit[type], value, __ATOMIC_RELAXED);
    }
    return ret;
}

int32_t snpu_stream_res_limit_reset(const char *function, void *handle)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret == 0) {
        __atomic_store_n(&stream->res_limit[0], 0, __ATOMIC_RELAXED);
        __atomic_store_n(&stream->res_limit[1], 0, __ATOMIC_RELAXED);
    }
    return ret;
}

static __thread void *used_stream;

int32_t snpu_thread_res_use(const char *function, void *handle, bool use)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    if (!use && used_stream != stream) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: this thread does not use the limits of stream %u", function,
                         stream->id);
    }
    used_stream = use ? stream : NULL;
    return 0;
}

int32_t snpu_thread_res_get(const char *function, int type, uint32_t *value)
{
    struct snpu_ctx *ctx;
    struct snpu_stream *stream;
    int32_t ret = check_type(function, type);
    if (ret != 0 || (ret = snpu_ctx_need(function, &ctx)) != 0) {
        return ret;
    }
    if (used_stream != NULL && snpu_stream_resolve(function, used_stream, &stream) == 0) {
        *value = stream_cores(stream, type);
    } else {
        used_stream = NULL; /* destroyed meanwhile */
        *value = device_cores(ctx->dev, type);
    }
    return 0;
}

/* ---- sizes of on-device stacks and queues ---- */

static const size_t limit_defaults[] = {
    [ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE] = 1024,
    [ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE] = 1024,
    [ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE] = 32 * 1024,
    [ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE] = 16 * 1024,
    [ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE] = 2 * 1024 * 1024,
};
static size_t limits[MS_COUNT_OF(limit_defaults)]; /* process-wide, for devices set up later; 0: the default */

static int32_t check_limit(const char *function, int limit)
{
    int32_t ret = snpu_guard(function);
    if (ret == 0 && (limit < 0 || limit >= (int)MS_COUNT_OF(limit_defaults))) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown limit %d", function, limit);
    }
    return ret;
}

int32_t snpu_device_limit_set(const char *function, int limit, size_t value)
{
    int32_t ret = check_limit(function, limit);
    if (ret == 0 && (value == 0 || value > UINT32_MAX)) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: limit %d cannot be %zu bytes", function, limit, value);
    }
    if (ret == 0) {
        __atomic_store_n(&limits[limit], value, __ATOMIC_RELAXED);
    }
    return ret;
}

int32_t snpu_device_limit_get(const char *function, int limit, size_t *value)
{
    int32_t ret = check_limit(function, limit);
    if (ret == 0) {
        size_t set = __atomic_load_n(&limits[limit], __ATOMIC_RELAXED);
        *value = set != 0 ? set : limit_defaults[limit];
    }
    return ret;
}

/* ---- peers ---- */

int32_t snpu_peer_set(const char *function, int32_t user_peer, bool on)
{
    struct snpu_ctx *ctx;
    uint32_t peer;
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret != 0 || (ret = snpu_dev_from_user(function, user_peer, &peer)) != 0) {
        return ret;
    }
    ret = on ? snpu_from_drv(halDeviceEnableP2P(ctx->dev, peer, 0), "halDeviceEnableP2P")
             : snpu_from_drv(halDeviceDisableP2P(ctx->dev, peer, 0), "halDeviceDisableP2P");
    if (ret == 0) {
        pthread_mutex_lock(&snpu_rt_lock);
        snpu_devices[ctx->dev].peer[peer] = on;
        pthread_mutex_unlock(&snpu_rt_lock);
    }
    return ret;
}

int32_t snpu_peer_get(const char *function, int32_t user_dev, int32_t user_peer, bool *on)
{
    uint32_t dev, peer;
    int32_t ret = snpu_dev_from_user(function, user_dev, &dev);
    if (ret == 0 && (ret = snpu_dev_from_user(function, user_peer, &peer)) == 0 && (ret = snpu_guard(function)) == 0) {
        pthread_mutex_lock(&snpu_rt_lock);
        *on = snpu_devices[dev].peer[peer];
        pthread_mutex_unlock(&snpu_rt_lock);
    }
    return ret;
}

/* ---- state ---- */

int32_t snpu_device_busy_percent(const char *function, int32_t user_dev, int32_t *percent)
{
    uint32_t dev;
    int32_t ret = snpu_dev_from_user(function, user_dev, &dev);
    if (ret != 0 || (ret = snpu_guard(function)) != 0) {
        return ret;
    }
    struct rt_device *device = &snpu_devices[dev];
    uint64_t busy = __atomic_load_n(&snpu_hal_activity(dev)->busy_ns, __ATOMIC_RELAXED);
    uint64_t now = ms_clock_raw_ns();
    pthread_mutex_lock(&snpu_rt_lock);
    if (device->util_at_ns == 0 || now - device->util_at_ns >= SAMPLE_MIN_NS) {
        uint64_t span = now - device->util_at_ns;
        uint64_t rate = device->util_at_ns == 0 ? (busy > 0) : (busy - device->util_busy_ns) * 100 / span;
        device->util_rate = rate > 100 ? 100 : (uint32_t)rate; /* several streams add up */
        device->util_busy_ns = busy;
        device->util_at_ns = now;
    }
    *percent = (int32_t)device->util_rate;
    pthread_mutex_unlock(&snpu_rt_lock);
    return 0;
}

int32_t snpu_primary_state(const char *function, int32_t user_dev, bool *active)
{
    uint32_t dev;
    int32_t ret = snpu_dev_from_user(function, user_dev, &dev);
    if (ret == 0) {
        *active = __atomic_load_n(&snpu_devices[dev].primary, __ATOMIC_ACQUIRE) != NULL && snpu_guard(function) == 0;
    }
    return ret;
}

int32_t snpu_scratch_address(const char *function, enum snpu_scratch which, void **address)
{
    static const size_t sizes[] = {[SNPU_SCRATCH_OVERFLOW] = 512, [SNPU_SCRATCH_SYNC] = 4096};
    struct snpu_ctx *ctx;
    void *fresh = NULL;
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret != 0) {
        return ret;
    }
    void **place = &ctx->priv->scratch[which];
    pthread_mutex_lock(&snpu_rt_lock);
    void *have = *place;
    pthread_mutex_unlock(&snpu_rt_lock);
    if (have == NULL && (ret = rtMalloc(&fresh, sizes[which], 0, 0)) != 0) {
        return ret;
    }
    if (fresh != NULL) {
        memset(fresh, 0, sizes[which]);
        pthread_mutex_lock(&snpu_rt_lock);
        if (*place == NULL) {
            *place = fresh;
            fresh = NULL;
        }
        have = *place;
        pthread_mutex_unlock(&snpu_rt_lock);
    }
    if (fresh != NULL) {
        rtFree(fresh); /* another thread was faster */
    }
    *address = have;
    return 0;
}
