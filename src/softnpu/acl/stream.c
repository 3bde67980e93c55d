/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, their host functions, task timeouts, task ids. Stateless. */
#include "softnpu/acl/impl.h"

#include "softnpu/runtime/callback.h"
#include "softnpu/runtime/context.h"
#include "softnpu/runtime/registry.h"
#include "softnpu/runtime/stream_api.h"
#include "softnpu/runtime/task.h"
#include "softnpu/runtime/timeouts.h"

#include "runtime/rt.h"

#include <string.h>

/* ---- lifetime ---- */

aclError aclrtCreateStreamImpl(aclrtStream *stream)
{
    SNPU_ACL_NOT_NULL(stream);
    return rtStreamCreate(stream, SNPU_PRIORITY_GREATEST);
}

aclError aclrtCreateStreamWithConfigImpl(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(stream);
    SNPU_PROF_RT_CALL(STREAM_CREATE);
    return snpu_stream_create("aclrtCreateStreamWithConfig", priority, flag, stream);
}

aclError aclrtDestroyStreamImpl(aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(stream);
    return rtStreamDestroy(stream);
}

aclError aclrtDestroyStreamForceImpl(aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(stream);
    return snpu_stream_destroy("aclrtDestroyStreamForce", stream, true);
}

aclError aclrtRegStreamStateCallbackImpl(const char *regName, aclrtStreamStateCallback callback, void *args)
{
    SNPU_ACL_NOT_NULL(regName);
    return snpu_registry_set("aclrtRegStreamStateCallback", SNPU_REG_STREAM_STATE, regName, (void (*)(void))callback,
                             args);
}

/* ---- waiting and queries ---- */

aclError aclrtSynchronizeStreamImpl(aclrtStream stream)
{
    return rtStreamSynchronize(stream);
}

aclError aclrtSynchronizeStreamWithTimeoutImpl(aclrtStream stream, int32_t timeout)
{
    return rtStreamSynchronizeWithTimeout(stream, timeout);
}

aclError aclrtStreamQueryImpl(aclrtStream stream, aclrtStreamStatus *status)
{
    SNPU_ACL_NOT_NULL(status);
    aclError ret = rtStreamQuery(stream);
    if (ret == ACL_SUCCESS || ret == ACL_ERROR_RT_STREAM_NOT_COMPLETE) {
        *status = ret == ACL_SUCCESS ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
        ret = ACL_SUCCESS;
    }
    return ret;
}

aclError aclrtStreamGetIdImpl(aclrtStream stream, int32_t *streamId)
{
    SNPU_ACL_NOT_NULL(streamId);
    return rtGetStreamId(stream, streamId);
}

aclError aclrtStreamGetPriorityImpl(aclrtStream stream, uint32_t *priority)
{
    SNPU_ACL_NOT_NULL(priority);
    struct snpu_stream_info info;
    aclError ret = snpu_stream_describe("aclrtStreamGetPriority", stream, &info);
    if (ret == ACL_SUCCESS) {
        *priority = info.priority;
    }
    return ret;
}

aclError aclrtStreamGetFlagsImpl(aclrtStream stream, uint32_t *flags)
{
    SNPU_ACL_NOT_NULL(flags);
    struct snpu_stream_info info;
    aclError ret = snpu_stream_describe("aclrtStreamGetFlags", stream, &info);
    if (ret == ACL_SUCCESS) {
        *flags = info.flags;
    }
    return ret;
}

aclError aclrtGetStreamAvailableNumImpl(uint32_t *streamCount)
{
    SNPU_ACL_NOT_NULL(streamCount);
    return snpu_streams_available("aclrtGetStreamAvailableNum", streamCount);
}

/* ---- attributes ---- */

aclError aclrtSetStreamFailureModeImpl(aclrtStream stream, uint64_t mode)
{
    return snpu_stream_set_attr("aclrtSetStreamFailureMode", stream, ACL_STREAM_ATTR_FAILURE_MODE, mode);
}

aclError aclrtSetStreamAttributeImpl(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value)
{
    SNPU_ACL_NOT_NULL(value);
    uint64_t number = stmAttrType == ACL_STREAM_ATTR_FAILURE_MODE ? value->failureMode : value->overflowSwitch;
    return snpu_stream_set_attr("aclrtSetStreamAttribute", stream, (int)stmAttrType, number);
}

aclError aclrtGetStreamAttributeImpl(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value)
{
    SNPU_ACL_NOT_NULL(value);
    uint64_t number;
    aclError ret = snpu_stream_get_attr("aclrtGetStreamAttribute", stream, (int)stmAttrType, &number);
    if (ret == ACL_SUCCESS) {
        memset(value, 0, sizeof(*value));
        value->failureMode = number; /* little endian: the 32-bit members read the same */
    }
    return ret;
}

aclError aclrtSetStreamOverflowSwitchImpl(aclrtStream stream, uint32_t flag)
{
    return snpu_stream_set_attr("aclrtSetStreamOverflowSwitch", stream, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, flag);
}

aclError aclrtGetStreamOverflowSwitchImpl(aclrtStream stream, uint32_t *flag)
{
    SNPU_ACL_NOT_NULL(flag);
    uint64_t number;
    aclError ret =
        snpu_stream_get_attr("aclrtGetStreamOverflowSwitch", stream, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &number);
    if (ret == ACL_SUCCESS) {
        *flag = (uint32_t)number;
    }
    return ret;
}

/* ---- discarding work ---- */

aclError aclrtStreamAbortImpl(aclrtStream stream)
{
    return snpu_stream_discard("aclrtStreamAbort", stream);
}

aclError aclrtStreamStopImpl(aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(stream);
    return snpu_stream_interrupt("aclrtStreamStop", stream);
}

aclError aclrtPersistentTaskCleanImpl(aclrtStream stream)
{
    struct snpu_stream_info info;
    aclError ret = snpu_stream_describe("aclrtPersistentTaskClean", stream, &info);
    if (ret == ACL_SUCCESS && !(info.flags & ACL_STREAM_PERSISTENT)) {
        ret = snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtPersistentTaskClean: not a persistent stream");
    }
    return ret != ACL_SUCCESS ? ret : snpu_stream_discard("aclrtPersistentTaskClean", stream);
}

/* ---- host functions ---- */

aclError aclrtSubscribeReportImpl(uint64_t threadId, aclrtStream stream)
{
    return rtSubscribeReport(threadId, stream);
}

aclError aclrtUnSubscribeReportImpl(uint64_t threadId, aclrtStream stream)
{
    return rtUnSubscribeReport(threadId, stream);
}

aclError aclrtProcessReportImpl(int32_t timeout)
{
    return rtProcessReport(timeout);
}

aclError aclrtLaunchCallbackImpl(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(fn);
    if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtLaunchCallback: invalid blockType %d", (int)blockType);
    }
    return rtCallbackLaunch(fn, userData, stream, blockType == ACL_CALLBACK_BLOCK);
}

aclError aclrtLaunchHostFuncImpl(aclrtStream stream, aclrtHostFunc fn, void *args)
{
    SNPU_ACL_NOT_NULL(fn);
    SNPU_PROF_RT_CALL(LAUNCH_HOST_FUNC);
    return snpu_host_func_launch("aclrtLaunchHostFunc", fn, args, stream);
}

/* ---- timeouts ---- */

/* The hardware counts execution timeouts in steps of 2^32 ns, in eight bits; other timeouts are rounded up. */
#define INTERVAL_US   4294967u
#define INTERVALS_MAX 254u

static uint64_t set_execute_limit(uint64_t us)
{
    uint64_t steps = us / INTERVAL_US + (us % INTERVAL_US != 0);
    uint64_t actual_us = (steps < INTERVALS_MAX ? steps : INTERVALS_MAX) * INTERVAL_US;
    snpu_set_op_execute_timeout_ms((actual_us + 999) / 1000);
    return actual_us;
}

aclError aclrtSetOpWaitTimeoutImpl(uint32_t timeout)
{
    snpu_set_op_wait_timeout_ms((uint64_t)timeout * 1000);
    return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOutImpl(uint32_t timeout)
{
    set_execute_limit((uint64_t)timeout * 1000000);
    return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOutWithMsImpl(uint32_t timeout)
{
    set_execute_limit((uint64_t)timeout * 1000);
    return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOutV2Impl(uint64_t timeout, uint64_t *actualTimeout)
{
    SNPU_ACL_NOT_NULL(actualTimeout);
    *actualTimeout = set_execute_limit(timeout != 0 ? timeout : UINT64_MAX); /* 0: the longest */
    return ACL_SUCCESS;
}

aclError aclrtGetOpTimeOutIntervalImpl(uint64_t *interval)
{
    SNPU_ACL_NOT_NULL(interval);
    *interval = INTERVAL_US;
    return ACL_SUCCESS;
}

aclError aclrtGetOpExecuteTimeoutImpl(uint32_t *const timeoutMs)
{
    SNPU_ACL_NOT_NULL(timeoutMs);
    uint64_t ms = snpu_op_execute_timeout_ms();
    *timeoutMs = ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
    return ACL_SUCCESS;
}

/* ---- tasks ---- */

struct prof_trace {
    uint64_t index, model;
    uint16_t tag;
} __attribute__((packed));

aclError aclrtProfTraceImpl(void *userdata, int32_t length, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(userdata);
    struct prof_trace trace;
    if (length != (int32_t)sizeof(trace)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtProfTrace: length is %d, must be %zu", length, sizeof(trace));
    }
    memcpy(&trace, userdata, sizeof(trace));
    return rtProfilerTraceEx(trace.index, trace.model, trace.tag, stream);
}

aclError aclrtGetThreadLastTaskIdImpl(uint32_t *taskId)
{
    SNPU_ACL_NOT_NULL(taskId);
    uint32_t stream_id;
    return rtGetTaskIdAndStreamID(taskId, &stream_id);
}

/* Descriptions of operators for dumps, which softnpu does not write: checked and ignored. */
aclError aclrtCacheLastTaskOpInfoImpl(const void *const infoPtr, const size_t infoSize)
{
    SNPU_ACL_NOT_NULL(infoPtr);
    return infoSize > 0 ? ACL_SUCCESS : snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtCacheLastTaskOpInfo: infoSize is 0");
}

aclError aclrtCacheLastTaskExtendInfoImpl(const char *const extendInfoPtr, const size_t infoSize)
{
    SNPU_ACL_NOT_NULL(extendInfoPtr);
    return infoSize > 0 ? ACL_SUCCESS
                        : snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtCacheLastTaskExtendInfo: infoSize is 0");
}
