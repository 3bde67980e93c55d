/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_STREAM_H
#define RUNTIME_STREAM_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define RT_STREAM_DEFAULT          0x00U
#define RT_STREAM_PERSISTENT       0x01U
#define RT_STREAM_HUGE             0x04U
#define RT_STREAM_CPU_SCHEDULE     0x08U

#define RT_STREAM_PRIORITY_DEFAULT 0U

typedef void (*rtCallback_t)(void *fnData);

rtError_t rtStreamCreate(rtStream_t *stm, int32_t priority);
rtError_t rtStreamCreateWithFlags(rtStream_t *stm, int32_t priority, uint32_t flags);
rtError_t rtStreamDestroy(rtStream_t stm);
rtError_t rtStreamSynchronize(rtStream_t stm);
/** @brief Timeout in milliseconds; -1 waits forever. */
rtError_t rtStreamSynchronizeWithTimeout(rtStream_t stm, int32_t timeout);
/** @brief 0 if idle, ACL_ERROR_RT_STREAM_NOT_COMPLETE while work is queued. */
rtError_t rtStreamQuery(rtStream_t stm);
rtError_t rtStreamWaitEvent(rtStream_t stm, rtEvent_t evt);
rtError_t rtGetStreamId(rtStream_t stm, int32_t *streamId);
rtError_t rtGetMaxStreamAndTask(uint32_t streamType, uint32_t *maxStrCount, uint32_t *maxTaskCount);

/* ---- host functions in stream order ---- */
rtError_t rtCallbackLaunch(rtCallback_t callBackFunc, void *fnData, rtStream_t stm, bool isBlock);
rtError_t rtSubscribeReport(uint64_t threadId, rtStream_t stm);
rtError_t rtUnSubscribeReport(uint64_t threadId, rtStream_t stm);
rtError_t rtProcessReport(int32_t timeout);

/* ---- marks in the device's log ---- */
rtError_t rtProfilerTrace(uint64_t id, bool notify, uint32_t flags, rtStream_t stm);
rtError_t rtProfilerTraceEx(uint64_t id, uint64_t modelId, uint16_t tagId, rtStream_t stm);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
