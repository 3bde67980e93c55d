/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_EVENT_H
#define RUNTIME_EVENT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum rtEventStatus {
    RT_EVENT_INIT,
    RT_EVENT_RECORDED,
} rtEventStatus_t;

rtError_t rtEventCreate(rtEvent_t *evt);
rtError_t rtEventCreateWithFlag(rtEvent_t *evt, uint32_t flag);
rtError_t rtEventCreateExWithFlag(rtEvent_t *evt, uint32_t flag);
rtError_t rtEventDestroy(rtEvent_t evt);
rtError_t rtEventRecord(rtEvent_t evt, rtStream_t stm);
rtError_t rtEventReset(rtEvent_t evt, rtStream_t stm);
/** @brief 0 if complete, otherwise ACL_ERROR_RT_EVENT_NOT_COMPLETE. */
rtError_t rtEventQuery(rtEvent_t evt);
rtError_t rtEventQueryStatus(rtEvent_t evt, rtEventStatus_t *status);
rtError_t rtEventSynchronize(rtEvent_t evt);
rtError_t rtEventElapsedTime(float32_t *timeInterval, rtEvent_t startEvent, rtEvent_t endEvent);

rtError_t rtNotifyCreate(int32_t deviceId, rtNotify_t *notify);
rtError_t rtNotifyDestroy(rtNotify_t notify);
rtError_t rtNotifyRecord(rtNotify_t notify, rtStream_t stm);
rtError_t rtNotifyWait(rtNotify_t notify, rtStream_t stm);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
