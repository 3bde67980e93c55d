/* SPDX-License-Identifier: Apache-2.0 */
/* rt functions for events and notifies: the vendor's names for event.c and notify.c. Stateless. */
#include "softnpu/runtime/engine.h"
#include "softnpu/runtime/event.h"
#include "softnpu/runtime/notify.h"
#include "softnpu/runtime/prof.h"

#include "runtime/rt.h"

#define COUNTS_PER_MS 50000.0f /* device counter: 50 MHz */

rtError_t rtEventCreate(rtEvent_t *evt)
{
    SNPU_PROF_RT_CALL(EVENT_CREATE);
    return snpu_event_create("aclrtCreateEvent", SNPU_EVENT_PLAIN, 0, evt);
}

rtError_t rtEventCreateWithFlag(rtEvent_t *evt, uint32_t flag)
{
    SNPU_PROF_RT_CALL(EVENT_CREATE);
    return snpu_event_create("aclrtCreateEventWithFlag", SNPU_EVENT_FLAGGED, flag, evt);
}

rtError_t rtEventCreateExWithFlag(rtEvent_t *evt, uint32_t flag)
{
    SNPU_PROF_RT_CALL(EVENT_CREATE_EX);
    return snpu_event_create("aclrtCreateEventExWithFlag", SNPU_EVENT_EX, flag, evt);
}

rtError_t rtEventDestroy(rtEvent_t evt)
{
    SNPU_PROF_RT_CALL(EVENT_DESTROY);
    return snpu_event_destroy("aclrtDestroyEvent", evt);
}

rtError_t rtEventRecord(rtEvent_t evt, rtStream_t stm)
{
    SNPU_PROF_RT_CALL(EVENT_RECORD);
    return snpu_event_record("aclrtRecordEvent", evt, stm, ACL_EVENT_RECORD_DEFAULT);
}

rtError_t rtEventReset(rtEvent_t evt, rtStream_t stm)
{
    SNPU_PROF_RT_CALL(EVENT_RESET);
    return snpu_event_reset("aclrtResetEvent", evt, stm);
}

rtError_t rtEventQuery(rtEvent_t evt)
{
    struct snpu_event_state state;
    int32_t ret = snpu_event_state("aclrtQueryEvent", evt, &state);
    if (ret == 0 && state.recorded && !state.complete) {
        ret = ACL_ERROR_RT_EVENT_NOT_COMPLETE;
    }
    return ret;
}

rtError_t rtEventQueryStatus(rtEvent_t evt, rtEventStatus_t *status)
{
    struct snpu_event_state state;
    if (status == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtQueryEventStatus: status is NULL");
    }
    int32_t ret = snpu_event_state("aclrtQueryEventStatus", evt, &state);
    if (ret == 0) {
        bool done = state.recorded ? state.complete : state.flavour == SNPU_EVENT_EX;
        *status = done ? RT_EVENT_RECORDED : RT_EVENT_INIT;
    }
    return ret;
}

rtError_t rtEventSynchronize(rtEvent_t evt)
{
    SNPU_PROF_RT_CALL(EVENT_SYNCHRONIZE);
    return snpu_event_synchronize("aclrtSynchronizeEvent", evt, -1);
}

rtError_t rtEventElapsedTime(float32_t *timeInterval, rtEvent_t startEvent, rtEvent_t endEvent)
{
    uint64_t start, end;
    if (timeInterval == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtEventElapsedTime: ms is NULL");
    }
    int32_t ret = snpu_event_counter("aclrtEventElapsedTime", startEvent, &start);
    if (ret != 0 || (ret = snpu_event_counter("aclrtEventElapsedTime", endEvent, &end)) != 0) {
        return ret;
    }
    if (end < start) {
        return snpu_fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
                         "aclrtEventElapsedTime: the end event precedes the start event");
    }
    *timeInterval = (float)(end - start) / COUNTS_PER_MS;
    return 0;
}

rtError_t rtNotifyCreate(int32_t deviceId, rtNotify_t *notify)
{
    SNPU_PROF_RT_CALL(NOTIFY_CREATE);
    if (deviceId < 0) {
        return snpu_fail(ACL_ERROR_RT_INVALID_DEVICEID, "rtNotifyCreate: no device %d", deviceId);
    }
    return snpu_notify_create("rtNotifyCreate", deviceId, 0, notify);
}

rtError_t rtNotifyDestroy(rtNotify_t notify)
{
    SNPU_PROF_RT_CALL(NOTIFY_DESTROY);
    return snpu_notify_destroy("aclrtDestroyNotify", notify);
}

rtError_t rtNotifyRecord(rtNotify_t notify, rtStream_t stm)
{
    SNPU_PROF_RT_CALL(NOTIFY_RECORD);
    return snpu_notify_record("aclrtRecordNotify", notify, stm);
}

rtError_t rtNotifyWait(rtNotify_t notify, rtStream_t stm)
{
    SNPU_PROF_RT_CALL(NOTIFY_WAIT);
    return snpu_notify_wait("aclrtWaitAndResetNotify", notify, stm, 0);
}
