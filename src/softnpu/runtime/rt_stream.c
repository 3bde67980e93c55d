/* SPDX-License-Identifier: Apache-2.0 */
/* rt functions for streams, host functions and marks in the device's log. Stateless except for the next task's tag. */
#include "softnpu/runtime/callback.h"
#include "softnpu/runtime/engine.h"
#include "softnpu/runtime/event.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/stream_api.h"

#include "runtime/rt.h"

#include <string.h>

#define TAG_MAX_B 128

rtError_t rtStreamCreate(rtStream_t *stm, int32_t priority)
{
    SNPU_PROF_RT_CALL(STREAM_CREATE);
    return snpu_stream_create("aclrtCreateStream", (uint32_t)priority, 0, stm);
}

/* The runtime and ACL use different bits for the same flags. */
static uint32_t acl_flags(uint32_t rt_flags)
{
    uint32_t flags = 0;
    flags |= rt_flags & RT_STREAM_PERSISTENT ? ACL_STREAM_PERSISTENT : 0;
    flags |= rt_flags & RT_STREAM_HUGE ? ACL_STREAM_HUGE : 0;
    flags |= rt_flags & RT_STREAM_CPU_SCHEDULE ? ACL_STREAM_CPU_SCHEDULE : 0;
    return flags;
}

rtError_t rtStreamCreateWithFlags(rtStream_t *stm, int32_t priority, uint32_t flags)
{
    SNPU_PROF_RT_CALL(STREAM_CREATE);
    return snpu_stream_create("rtStreamCreateWithFlags", (uint32_t)priority, acl_flags(flags), stm);
}

rtError_t rtStreamDestroy(rtStream_t stm)
{
    SNPU_PROF_RT_CALL(STREAM_DESTROY);
    return snpu_stream_destroy("aclrtDestroyStream", stm, false);
}

rtError_t rtStreamSynchronize(rtStream_t stm)
{
    SNPU_PROF_RT_CALL(STREAM_SYNCHRONIZE);
    return snpu_stream_wait_empty("aclrtSynchronizeStream", stm, -1);
}

rtError_t rtStreamSynchronizeWithTimeout(rtStream_t stm, int32_t timeout)
{
    SNPU_PROF_RT_CALL(STREAM_SYNCHRONIZE);
    return snpu_stream_wait_empty("aclrtSynchronizeStreamWithTimeout", stm, timeout);
}

rtError_t rtStreamQuery(rtStream_t stm)
{
    bool busy = false;
    int32_t ret = snpu_stream_busy("aclrtStreamQuery", stm, &busy);
    return ret == 0 && busy ? ACL_ERROR_RT_STREAM_NOT_COMPLETE : ret;
}

rtError_t rtStreamWaitEvent(rtStream_t stm, rtEvent_t evt)
{
    SNPU_PROF_RT_CALL(STREAM_WAIT_EVENT);
    return snpu_event_wait("aclrtStreamWaitEvent", stm, evt, 0, ACL_EVENT_WAIT_DEFAULT);
}

rtError_t rtGetStreamId(rtStream_t stm, int32_t *streamId)
{
    struct snpu_stream_info info;
    if (streamId == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtStreamGetId: streamId is NULL");
    }
    int32_t ret = snpu_stream_describe("aclrtStreamGetId", stm, &info);
    if (ret == 0) {
        *streamId = (int32_t)info.id;
    }
    return ret;
}

rtError_t rtGetMaxStreamAndTask(uint32_t streamType, uint32_t *maxStrCount, uint32_t *maxTaskCount)
{
    (void)streamType;
    if (maxStrCount == NULL || maxTaskCount == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtGetMaxStreamAndTask: NULL argument");
    }
    *maxStrCount = SNPU_STREAMS_PER_DEVICE;
    *maxTaskCount = SNPU_STREAM_DEPTH;
    return 0;
}

/* ---- host functions ---- */

rtError_t rtCallbackLaunch(rtCallback_t callBackFunc, void *fnData, rtStream_t stm, bool isBlock)
{
    return snpu_callback_launch("aclrtLaunchCallback", callBackFunc, fnData, isBlock, stm);
}

rtError_t rtSubscribeReport(uint64_t threadId, rtStream_t stm)
{
    return snpu_report_subscribe("aclrtSubscribeReport", SNPU_REPORT_CALLBACK, threadId, stm);
}

rtError_t rtUnSubscribeReport(uint64_t threadId, rtStream_t stm)
{
    return snpu_report_unsubscribe("aclrtUnSubscribeReport", SNPU_REPORT_CALLBACK, threadId, stm);
}

rtError_t rtProcessReport(int32_t timeout)
{
    return snpu_report_process("aclrtProcessReport", SNPU_REPORT_CALLBACK, timeout);
}

/* ---- marks ---- */

struct trace_task {
    uint64_t index, model;
    uint16_t tag;
};

static int32_t trace_run(struct snpu_task *task)
{
    struct trace_task *t = (struct trace_task *)task->payload;
    snpu_prof_step_trace(task->stream->dev, task->stream->id, task->id, t->index, t->model, t->tag);
    return 0;
}

static const struct snpu_task_kind trace_kind = {
    .name = "PROFILER_TRACE_EX",
    .prof_type = SNPU_TASK_PROFILER_TRACE_EX,
    .captures = true,
    .run = trace_run,
};

rtError_t rtProfilerTraceEx(uint64_t id, uint64_t modelId, uint16_t tagId, rtStream_t stm)
{
    struct snpu_stream *stream;
    struct trace_task t = {id, modelId, tagId};
    int32_t ret = snpu_stream_resolve("aclrtProfTrace", stm, &stream);
    return ret != 0 ? ret : snpu_stream_submit(stream, &trace_kind, &t, sizeof(t), NULL, 0, NULL);
}

rtError_t rtProfilerTrace(uint64_t id, bool notify, uint32_t flags, rtStream_t stm)
{
    (void)notify;
    return rtProfilerTraceEx(id, 0, (uint16_t)flags, stm);
}

rtError_t rtGetTaskIdAndStreamID(uint32_t *taskId, uint32_t *streamId)
{
    struct snpu_ctx *ctx;
    int32_t ret = snpu_ctx_need("rtGetTaskIdAndStreamID", &ctx);
    if (ret == 0 && (taskId == NULL || streamId == NULL)) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtGetTaskIdAndStreamID: NULL argument");
    }
    if (ret == 0) {
        snpu_last_task(taskId, streamId);
    }
    return ret;
}

rtError_t rtSetTaskTag(const char_t *taskTag)
{
    static __thread char tag[TAG_MAX_B]; /* for dumps of the next task, which do not exist here */
    if (taskTag == NULL || strlen(taskTag) >= sizeof(tag)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtSetTaskTag: the tag must be shorter than %d characters",
                         TAG_MAX_B);
    }
    strcpy(tag, taskTag);
    return 0;
}
