/* SPDX-License-Identifier: Apache-2.0 */
/* Events, notifies and values in memory. Stateless. */
#include "softnpu/acl/impl.h"

#include "softnpu/runtime/event.h"
#include "softnpu/runtime/notify.h"
#include "softnpu/runtime/value.h"

#include "runtime/rt.h"

#define COUNTS_PER_US 50 /* device counter: 50 MHz */

aclError aclrtCreateEventImpl(aclrtEvent *event)
{
    SNPU_ACL_NOT_NULL(event);
    return rtEventCreate(event);
}

aclError aclrtCreateEventWithFlagImpl(aclrtEvent *event, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(event);
    return rtEventCreateWithFlag(event, flag);
}

aclError aclrtCreateEventExWithFlagImpl(aclrtEvent *event, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(event);
    return rtEventCreateExWithFlag(event, flag);
}

aclError aclrtDestroyEventImpl(aclrtEvent event)
{
    SNPU_ACL_NOT_NULL(event);
    return rtEventDestroy(event);
}

aclError aclrtRecordEventImpl(aclrtEvent event, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(event);
    return rtEventRecord(event, stream);
}

aclError aclrtRecordEventWithFlagImpl(aclrtEvent event, aclrtStream stream, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(event);
    SNPU_PROF_RT_CALL(EVENT_RECORD);
    return snpu_event_record("aclrtRecordEventWithFlag", event, stream, flag);
}

aclError aclrtResetEventImpl(aclrtEvent event, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(event);
    return rtEventReset(event, stream);
}

aclError aclrtStreamWaitEventImpl(aclrtStream stream, aclrtEvent event)
{
    SNPU_ACL_NOT_NULL(event);
    return rtStreamWaitEvent(stream, event);
}

/* Timeouts of tasks are in seconds (those of waiting threads in milliseconds); 0: none. */
static int64_t wait_limit_ms(uint32_t timeout_s)
{
    return timeout_s == 0 ? -1 : (int64_t)timeout_s * 1000;
}

aclError aclrtStreamWaitEventWithTimeoutImpl(aclrtStream stream, aclrtEvent event, int32_t timeout)
{
    SNPU_ACL_NOT_NULL(event);
    if (timeout < 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamWaitEventWithTimeout: invalid timeout %d", timeout);
    }
    SNPU_PROF_RT_CALL(STREAM_WAIT_EVENT);
    return snpu_event_wait("aclrtStreamWaitEventWithTimeout", stream, event, wait_limit_ms((uint32_t)timeout),
                           ACL_EVENT_WAIT_DEFAULT);
}

aclError aclrtStreamWaitEventWithFlagImpl(aclrtStream stream, aclrtEvent event, uint32_t timeout, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(event);
    SNPU_PROF_RT_CALL(STREAM_WAIT_EVENT);
    return snpu_event_wait("aclrtStreamWaitEventWithFlag", stream, event, wait_limit_ms(timeout), flag);
}

aclError aclrtQueryEventImpl(aclrtEvent event, aclrtEventStatus *status)
{
    SNPU_ACL_NOT_NULL(event);
    SNPU_ACL_NOT_NULL(status);
    aclError ret = rtEventQuery(event);
    if (ret == ACL_SUCCESS || ret == ACL_ERROR_RT_EVENT_NOT_COMPLETE) {
        *status = ret == ACL_SUCCESS ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
        ret = ACL_SUCCESS;
    }
    return ret;
}

aclError aclrtQueryEventStatusImpl(aclrtEvent event, aclrtEventRecordedStatus *status)
{
    SNPU_ACL_NOT_NULL(event);
    SNPU_ACL_NOT_NULL(status);
    rtEventStatus_t recorded;
    aclError ret = rtEventQueryStatus(event, &recorded);
    if (ret == ACL_SUCCESS) {
        *status =
            recorded == RT_EVENT_RECORDED ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    }
    return ret;
}

aclError aclrtQueryEventWaitStatusImpl(aclrtEvent event, aclrtEventWaitStatus *status)
{
    SNPU_ACL_NOT_NULL(event);
    SNPU_ACL_NOT_NULL(status);
    struct snpu_event_state state;
    aclError ret = snpu_event_state("aclrtQueryEventWaitStatus", event, &state);
    if (ret == ACL_SUCCESS) {
        *status = state.open_waits == 0 ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    }
    return ret;
}

aclError aclrtSynchronizeEventImpl(aclrtEvent event)
{
    SNPU_ACL_NOT_NULL(event);
    return rtEventSynchronize(event);
}

aclError aclrtSynchronizeEventWithTimeoutImpl(aclrtEvent event, int32_t timeout)
{
    SNPU_ACL_NOT_NULL(event);
    if (timeout < -1) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSynchronizeEventWithTimeout: invalid timeout %d", timeout);
    }
    SNPU_PROF_RT_CALL(EVENT_SYNCHRONIZE);
    return snpu_event_synchronize("aclrtSynchronizeEventWithTimeout", event, timeout);
}

aclError aclrtEventElapsedTimeImpl(float *ms, aclrtEvent startEvent, aclrtEvent endEvent)
{
    SNPU_ACL_NOT_NULL(ms);
    SNPU_ACL_NOT_NULL(startEvent);
    SNPU_ACL_NOT_NULL(endEvent);
    return rtEventElapsedTime(ms, startEvent, endEvent);
}

aclError aclrtEventGetTimestampImpl(aclrtEvent event, uint64_t *timestamp)
{
    SNPU_ACL_NOT_NULL(event);
    SNPU_ACL_NOT_NULL(timestamp);
    uint64_t counter;
    aclError ret = snpu_event_counter("aclrtEventGetTimestamp", event, &counter);
    if (ret == ACL_SUCCESS) {
        *timestamp = counter / COUNTS_PER_US;
    }
    return ret;
}

aclError aclrtGetEventIdImpl(aclrtEvent event, uint32_t *eventId)
{
    SNPU_ACL_NOT_NULL(event);
    SNPU_ACL_NOT_NULL(eventId);
    return snpu_event_id("aclrtGetEventId", event, eventId);
}

aclError aclrtGetEventAvailNumImpl(uint32_t *eventCount)
{
    SNPU_ACL_NOT_NULL(eventCount);
    return snpu_events_available("aclrtGetEventAvailNum", eventCount);
}

aclError aclrtIpcGetEventHandleImpl(aclrtEvent event, aclrtIpcEventHandle *handle)
{
    SNPU_ACL_NOT_NULL(event);
    SNPU_ACL_NOT_NULL(handle);
    return snpu_event_export("aclrtIpcGetEventHandle", event, handle);
}

aclError aclrtIpcOpenEventHandleImpl(aclrtIpcEventHandle handle, aclrtEvent *event)
{
    SNPU_ACL_NOT_NULL(event);
    return snpu_event_import("aclrtIpcOpenEventHandle", &handle, event);
}

/* ---- values in memory ---- */

aclError aclrtValueWriteImpl(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(devAddr);
    SNPU_PROF_RT_CALL(MEM_WRITE_VALUE);
    return snpu_value_write("aclrtValueWrite", devAddr, value, flag, stream);
}

aclError aclrtValueWaitImpl(void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(devAddr);
    SNPU_PROF_RT_CALL(MEM_WAIT_VALUE);
    return snpu_value_wait("aclrtValueWait", devAddr, value, flag, stream);
}
