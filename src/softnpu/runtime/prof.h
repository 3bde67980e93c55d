/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime and the libraries above it report to profilers.
 *
 * Three channels, as on the real stack:
 *   - host records (MsprofReportApi, MsprofReportCompactInfo): reported at once, on the calling thread;
 *   - the task log (driver channel 50, STARS): begin and end of each task, on the stream's thread, device counter time;
 *   - step traces (driver channel 44, TSFW): marks that a program put into a stream.
 * A profiler joins host and device records by (device, stream id, low 16 bits of the task id), and nests host records
 * of one thread by time: node launch > collective task > task track.
 *
 * `dev` is always the driver's device number. Functions that report host records may be called from any thread and call
 * back into tools: do not hold a lock while calling them. Everything is cheap when no profiler is active: the inline
 * functions cost one load and one branch. */
#ifndef SOFTNPU_RUNTIME_PROF_H
#define SOFTNPU_RUNTIME_PROF_H

#include "base/macros.h"
#include "softnpu/hal/hal_ext.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Registers the runtime with libprofapi and announces the names of task types and runtime calls. Call it before the
 * first task; further calls do nothing. */
MS_EXPORT void snpu_prof_init(void);

/* ---- switches ---- */
enum {
    SNPU_PROF_ACL_API = 0x1,
    SNPU_PROF_TASK_TIME = 0x2,
    SNPU_PROF_HCCL_TRACE = 0x20,
    SNPU_PROF_TX = 0x80,
    SNPU_PROF_RUNTIME_API = 0x100,
    SNPU_PROF_TASK_TIME_L0 = 0x800,
    SNPU_PROF_RUNTIME_TRACE = 0x4000000,

    /* Which switches enable which records. */
    SNPU_PROF_TRACKS = SNPU_PROF_TASK_TIME | SNPU_PROF_TASK_TIME_L0 | SNPU_PROF_RUNTIME_TRACE,
    SNPU_PROF_RT_CALLS = SNPU_PROF_RUNTIME_API | SNPU_PROF_RUNTIME_TRACE,
    SNPU_PROF_NODES = SNPU_PROF_ACL_API | SNPU_PROF_TASK_TIME | SNPU_PROF_TASK_TIME_L0,
    SNPU_PROF_COLLECTIVES = SNPU_PROF_NODES | SNPU_PROF_HCCL_TRACE,
};

/* Written by the command handler only. The last entry is the union of all devices, for calls without a device. */
MS_EXPORT extern uint64_t snpu_prof_switches[SNPU_MAX_DEVICES + 1];

static inline bool snpu_prof_on(uint32_t dev, uint64_t which)
{
    uint64_t on =
        __atomic_load_n(&snpu_prof_switches[dev < SNPU_MAX_DEVICES ? dev : SNPU_MAX_DEVICES], __ATOMIC_RELAXED);
    return MS_UNLIKELY((on & which) != 0);
}

static inline bool snpu_prof_host_on(uint64_t which)
{
    return MS_UNLIKELY((__atomic_load_n(&snpu_prof_switches[SNPU_MAX_DEVICES], __ATOMIC_RELAXED) & which) != 0);
}

static inline bool snpu_prof_tracks_on(uint32_t dev)
{
    return snpu_prof_on(dev, SNPU_PROF_TRACKS);
}

/* Host time in the unit of all host records (MsprofSysCycleTime); never 0. */
MS_EXPORT uint64_t snpu_prof_now(void);

/* ---- tasks ---- */
/* Numbers of task types (struct snpu_task_kind.prof_type). snpu_prof_init announces the names from the same table. */
#define SNPU_PROF_TASK_TYPES(X)                                                                                        \
    X(KERNEL_AICORE, 0, "KERNEL_AICORE")                                                                               \
    X(KERNEL_AICPU, 1, "KERNEL_AICPU")                                                                                 \
    X(EVENT_RECORD, 2, "EVENT_RECORD")                                                                                 \
    X(EVENT_WAIT, 3, "EVENT_WAIT")                                                                                     \
    X(MEMCPY_ASYNC, 5, "MEMCPY_ASYNC")                                                                                 \
    X(MAINTENANCE, 6, "MAINTENANCE")                                                                                   \
    X(CREATE_STREAM, 7, "CREATE_STREAM")                                                                               \
    X(MODEL_MAINTAINCE, 12, "MODEL_MAINTAINCE")                                                                        \
    X(MODEL_EXECUTE, 13, "MODEL_EXECUTE")                                                                              \
    X(NOTIFY_WAIT, 14, "NOTIFY_WAIT")                                                                                  \
    X(NOTIFY_RECORD, 15, "NOTIFY_RECORD")                                                                              \
    X(RDMA_SEND, 16, "RDMA_SEND")                                                                                      \
    X(STREAM_SWITCH, 18, "STREAM_SWITCH")                                                                              \
    X(STREAM_ACTIVE, 19, "STREAM_ACTIVE")                                                                              \
    X(LABEL_SET, 20, "LABEL_SET")                                                                                      \
    X(LABEL_SWITCH, 21, "LABEL_SWITCH")                                                                                \
    X(LABEL_GOTO, 22, "LABEL_GOTO")                                                                                    \
    X(PROFILER_TRACE, 23, "PROFILER_TRACE")                                                                            \
    X(EVENT_RESET, 24, "EVENT_RESET")                                                                                  \
    X(PROFILER_TRACE_EX, 26, "PROFILER_TRACE_EX")                                                                      \
    X(STARS_COMMON, 50, "STARS_COMMON")                                                                                \
    X(FFTS_PLUS, 52, "FFTS_PLUS")                                                                                      \
    X(CMO, 53, "CMO")                                                                                                  \
    X(BARRIER, 54, "BARRIER")                                                                                          \
    X(WRITE_VALUE, 55, "WriteValueTask")                                                                               \
    X(KERNEL_AIVEC, 66, "KERNEL_AIVEC")                                                                                \
    X(HOSTFUNC_CALLBACK, 72, "HOSTFUNC_CALLBACK")                                                                      \
    X(REDUCE_ASYNC_V2, 92, "REDUCE_ASYNC_V2")                                                                          \
    X(FLIP, 98, "FLIP_TASK")                                                                                           \
    X(KERNEL_FUSION, 107, "KERNEL_FUSION")                                                                             \
    X(KERNEL_MIX_AIC, 108, "KERNEL_MIX_AIC")                                                                           \
    X(KERNEL_MIX_AIV, 109, "KERNEL_MIX_AIV")                                                                           \
    X(MEM_WRITE_VALUE, 113, "MEM_WRITE_VALUE")                                                                         \
    X(MEM_WAIT_VALUE, 114, "MEM_WAIT_VALUE")                                                                           \
    X(CAPTURE_RECORD, 126, "CAPTURE_RECORD")                                                                           \
    X(CAPTURE_WAIT, 127, "CAPTURE_WAIT")                                                                               \
    X(IPC_EVENT_RECORD, 129, "IPC_EVENT_RECORD")                                                                       \
    X(IPC_EVENT_WAIT, 130, "IPC_EVENT_WAIT")

enum snpu_prof_task_type {
#define X(id, number, name) SNPU_TASK_##id = number,
    SNPU_PROF_TASK_TYPES(X)
#undef X
};

/* Task track (type 802), inside the launching call and before the task can run; call it if snpu_prof_tracks_on. The
 * name is hashed once per pointer and collection, so it must stay valid and unchanged until the process ends, as names
 * of kinds and of registered kernels do. When the 16-bit id has wrapped (task_id & 0xffff is 0 and task_id is not), a
 * flip record precedes it. */
MS_EXPORT void snpu_prof_task_track(uint32_t dev, uint32_t stream_id, uint32_t task_id, uint32_t task_type,
                                    const char *kernel_name, uint16_t blocks, uint16_t args_b);
/* The same for a task recorded into a model: profilers keep it for every replay. */
MS_EXPORT void snpu_prof_task_track_captured(uint32_t dev, uint32_t stream_id, uint32_t task_id, uint32_t task_type,
                                             const char *kernel_name, uint16_t blocks, uint16_t args_b);

/* Task log, on the stream's thread, directly around the execution. One branch when the channel is off. */
MS_EXPORT void snpu_prof_task_begin(uint32_t dev, uint32_t stream_id, uint32_t task_id, uint32_t task_type);
MS_EXPORT void snpu_prof_task_end(uint32_t dev, uint32_t stream_id, uint32_t task_id, uint32_t task_type);

/* Step trace, when a PROFILER_TRACE_EX task executes (aclrtProfTrace, rtProfilerTraceEx). */
MS_EXPORT void snpu_prof_step_trace(uint32_t dev, uint32_t stream_id, uint32_t task_id, uint64_t index_id,
                                    uint64_t model_id, uint16_t tag_id);

/* ---- memory ---- */
#define SNPU_PROF_NO_STREAM 0xffffffffu /* synchronous calls */

enum snpu_prof_memory {
    SNPU_PROF_MEM_UNKNOWN = 0,
    SNPU_PROF_MEM_HOST = 1,
    SNPU_PROF_MEM_DEVICE = 2,
    SNPU_PROF_MEM_MANAGED = 3
};
enum snpu_prof_mem_op { SNPU_PROF_MALLOC = 0, SNPU_PROF_FREE = 1 };

/* Each checks the switches itself. kind is an aclrtMemcpyKind. Asynchronous copies: call after the track. */
MS_EXPORT void snpu_prof_memcpy(uint32_t dev, uint32_t stream_id, uint64_t size_b, uint16_t kind);
MS_EXPORT void snpu_prof_memset(uint32_t dev, uint32_t stream_id, uint64_t size_b, uint32_t value);
MS_EXPORT void snpu_prof_mem_mng(uint32_t dev, uint32_t stream_id, uint64_t address, uint64_t size_b,
                                 enum snpu_prof_memory memory, enum snpu_prof_mem_op op);

/* ---- streams and devices ---- */
MS_EXPORT void snpu_prof_stream(uint32_t dev, uint32_t stream_id, bool created);
/* First use and last reset of a device in this process. Tools may start a collection inside this call. */
MS_EXPORT void snpu_prof_device(uint32_t dev, bool open);

/* ---- runtime calls (level 5000) ---- */
#define SNPU_PROF_RT_APIS(X)                                                                                           \
    X(DEV_BINARY_REGISTER, 0, "DevBinaryRegister")                                                                     \
    X(DEV_BINARY_UNREGISTER, 1, "DevBinaryUnRegister")                                                                 \
    X(FUNCTION_REGISTER, 2, "FunctionRegister")                                                                        \
    X(KERNEL_LAUNCH, 3, "KernelLaunch")                                                                                \
    X(STREAM_CREATE, 6, "StreamCreate")                                                                                \
    X(STREAM_DESTROY, 7, "StreamDestroy")                                                                              \
    X(STREAM_WAIT_EVENT, 8, "StreamWaitEvent")                                                                         \
    X(STREAM_SYNCHRONIZE, 9, "StreamSynchronize")                                                                      \
    X(EVENT_CREATE, 10, "EventCreate")                                                                                 \
    X(EVENT_DESTROY, 11, "EventDestroy")                                                                               \
    X(EVENT_RECORD, 12, "EventRecord")                                                                                 \
    X(EVENT_SYNCHRONIZE, 13, "EventSynchronize")                                                                       \
    X(DEV_MALLOC, 14, "DevMalloc")                                                                                     \
    X(DEV_FREE, 15, "DevFree")                                                                                         \
    X(HOST_MALLOC, 16, "HostMalloc")                                                                                   \
    X(HOST_FREE, 17, "HostFree")                                                                                       \
    X(MANAGED_MEM_ALLOC, 18, "ManagedMemAlloc")                                                                        \
    X(MANAGED_MEM_FREE, 19, "ManagedMemFree")                                                                          \
    X(MEM_COPY_SYNC, 20, "MemCopySync")                                                                                \
    X(SET_DEVICE, 22, "SetDevice")                                                                                     \
    X(DEVICE_RESET, 23, "DeviceReset")                                                                                 \
    X(DEVICE_SYNCHRONIZE, 24, "DeviceSynchronize")                                                                     \
    X(CONTEXT_CREATE, 25, "ContextCreate")                                                                             \
    X(CONTEXT_DESTROY, 26, "ContextDestroy")                                                                           \
    X(CONTEXT_SET_CURRENT, 27, "ContextSetCurrent")                                                                    \
    X(CONTEXT_SYNCHRONIZE, 28, "ContextSynchronize")                                                                   \
    X(MODEL_CREATE, 35, "ModelCreate")                                                                                 \
    X(MODEL_BIND_STREAM, 36, "ModelBindStream")                                                                        \
    X(GET_FUNCTION_BY_NAME, 37, "GetFunctionByName")                                                                   \
    X(MODEL_EXECUTE, 39, "ModelExecute")                                                                               \
    X(MODEL_UNBIND_STREAM, 40, "ModelUnbindStream")                                                                    \
    X(MODEL_DESTROY, 41, "ModelDestroy")                                                                               \
    X(NOTIFY_CREATE, 43, "NotifyCreate")                                                                               \
    X(NOTIFY_DESTROY, 44, "NotifyDestroy")                                                                             \
    X(NOTIFY_RECORD, 45, "NotifyRecord")                                                                               \
    X(NOTIFY_WAIT, 46, "NotifyWait")                                                                                   \
    X(IPC_OPEN_NOTIFY, 47, "IpcOpenNotify")                                                                            \
    X(SUBSCRIBE_REPORT, 50, "SubscribeReport")                                                                         \
    X(CALLBACK_LAUNCH, 51, "CallbackLaunch")                                                                           \
    X(PROCESS_REPORT, 52, "ProcessReport")                                                                             \
    X(UNSUBSCRIBE_REPORT, 53, "UnSubscribeReport")                                                                     \
    X(GET_RUN_MODE, 54, "GetRunMode")                                                                                  \
    X(GET_EVENT_ID, 55, "GetEventID")                                                                                  \
    X(DEV_MALLOC_CACHED, 61, "DevMallocCached")                                                                        \
    X(REGISTER_ALL_KERNEL, 62, "RegisterAllKernel")                                                                    \
    X(KERNEL_LAUNCH_WITH_HANDLE, 63, "KernelLaunchWithHandle")                                                         \
    X(MEMSET, 71, "Memset")                                                                                            \
    X(CPU_KERNEL_LAUNCH, 72, "CpuKernelLaunch")                                                                        \
    X(MEMSET_ASYNC, 73, "MemsetAsync")                                                                                 \
    X(REDUCE_ASYNC, 74, "ReduceAsync")                                                                                 \
    X(EVENT_RESET, 75, "EventReset")                                                                                   \
    X(MEM_COPY_2D_SYNC, 76, "MemCopy2DSync")                                                                           \
    X(MEM_COPY_2D_ASYNC, 77, "MemCopy2DAsync")                                                                         \
    X(MEMCPY_HOST_TASK, 80, "MemcpyHostTask")                                                                          \
    X(SET_STREAM_MODE, 82, "SetStreamMode")                                                                            \
    X(GET_STREAM_MODE, 85, "GetStreamMode")                                                                            \
    X(QUERY_FUNCTION_REGISTERED, 86, "QueryFunctionRegistered")                                                        \
    X(CPU_KERNEL_LAUNCH_EX_WITH_ARGS, 95, "CpuKernelLaunchExWithArgs")                                                 \
    X(MEM_ADVISE, 101, "MemAdvise")                                                                                    \
    X(MEMCPY_ASYNC_HUGE, 102, "MemcpyAsync_Huge")                                                                      \
    X(MEMCPY_ASYNC, 103, "MemcpyAsync")                                                                                \
    X(CONTEXT_GET_CURRENT, 106, "ContextGetCurrent")                                                                   \
    X(GET_NOTIFY_ADDRESS, 114, "GetNotifyAddress")                                                                     \
    X(BINARY_LOAD, 116, "BinaryLoad")                                                                                  \
    X(BINARY_GET_FUNCTION, 117, "BinaryGetFunction")                                                                   \
    X(BINARY_UNLOAD, 118, "BinaryUnLoad")                                                                              \
    X(LAUNCH_KERNEL, 119, "LaunchKernel")                                                                              \
    X(CTX_SET_SYS_PARAM_OPT, 120, "CtxSetSysParamOpt")                                                                 \
    X(CTX_GET_SYS_PARAM_OPT, 121, "CtxGetSysParamOpt")                                                                 \
    X(BINARY_GET_FUNCTION_BY_NAME, 130, "BinaryGetFunctionByName")                                                     \
    X(BINARY_LOAD_WITHOUT_TILING_KEY, 131, "BinaryLoadWithoutTilingKey")                                               \
    X(EVENT_CREATE_EX, 133, "EventCreateEx")                                                                           \
    X(STREAM_CLEAR, 136, "StreamClear")                                                                                \
    X(NOTIFY_RESET, 137, "NotifyReset")                                                                                \
    X(DEVICE_RESET_FORCE, 143, "DeviceResetForce")                                                                     \
    X(BINARY_LOAD_FROM_FILE, 147, "BinaryLoadFromFile")                                                                \
    X(BINARY_LOAD_FROM_DATA, 148, "BinaryLoadFromData")                                                                \
    X(FUNC_GET_ADDR, 149, "FuncGetAddr")                                                                               \
    X(LAUNCH_KERNEL_V2, 160, "LaunchKernelV2")                                                                         \
    X(BINARY_GET_FUNCTION_BY_ENTRY, 161, "BinaryGetFunctionByEntry")                                                   \
    X(CNT_NOTIFY_CREATE, 162, "CntNotifyCreate")                                                                       \
    X(CNT_NOTIFY_DESTROY, 163, "CntNotifyDestroy")                                                                     \
    X(CNT_NOTIFY_RECORD, 164, "CntNotifyRecord")                                                                       \
    X(CNT_NOTIFY_WAIT, 165, "CntNotifyWaitWithTimeout")                                                                \
    X(MEMCPY_BATCH, 173, "MemcpyBatch")                                                                                \
    X(MODEL_EXECUTE_SYNC, 176, "ModelExecuteSync")                                                                     \
    X(MODEL_EXECUTE_ASYNC, 177, "ModelExecuteASync")                                                                   \
    X(MEM_WRITE_VALUE, 178, "MemWriteValue")                                                                           \
    X(MEM_WAIT_VALUE, 179, "MemWaitValue")                                                                             \
    X(MEMCPY_BATCH_ASYNC, 181, "MemcpyBatchAsync")                                                                     \
    X(LAUNCH_HOST_FUNC, 182, "LaunchHostFunc")                                                                         \
    X(IPC_GET_EVENT_HANDLE, 184, "IpcGetEventHandle")                                                                  \
    X(IPC_OPEN_EVENT_HANDLE, 185, "IpcOpenEventHandle")

enum snpu_prof_rt_api {
#define X(id, number, name) SNPU_RT_##id = number,
    SNPU_PROF_RT_APIS(X)
#undef X
};

struct snpu_prof_scope {
    uint64_t begin;   /* 0: not being recorded */
    uint32_t api;     /* level 5000 */
    const char *name; /* level 20000 */
};

MS_EXPORT void snpu_prof_rt_report(const struct snpu_prof_scope *scope);
MS_EXPORT void snpu_prof_acl_report(const struct snpu_prof_scope *scope);

static inline struct snpu_prof_scope snpu_prof_rt_enter(enum snpu_prof_rt_api api)
{
    struct snpu_prof_scope scope = {0, api, (const char *)0};
    if (snpu_prof_host_on(SNPU_PROF_RT_CALLS)) {
        scope.begin = snpu_prof_now();
    }
    return scope;
}

static inline void snpu_prof_rt_leave(const struct snpu_prof_scope *scope)
{
    if (MS_UNLIKELY(scope->begin != 0)) {
        snpu_prof_rt_report(scope);
    }
}

/* At the top of a function: reports the call when the function returns, whichever way it returns.
 *     SNPU_PROF_RT_CALL(DEV_MALLOC); */
#define SNPU_PROF_RT_CALL(api)                                                                                         \
    __attribute__((cleanup(snpu_prof_rt_leave), unused)) const struct snpu_prof_scope snpu_prof_rt_scope =             \
        snpu_prof_rt_enter(SNPU_RT_##api)

/* ---- ACL calls (level 20000) ---- */
static inline struct snpu_prof_scope snpu_prof_acl_enter(const char *name)
{
    struct snpu_prof_scope scope = {0, 0, name};
    if (snpu_prof_host_on(SNPU_PROF_ACL_API)) {
        scope.begin = snpu_prof_now();
    }
    return scope;
}

static inline void snpu_prof_acl_leave(const struct snpu_prof_scope *scope)
{
    if (MS_UNLIKELY(scope->begin != 0)) {
        snpu_prof_acl_report(scope);
    }
}

/* The same for the ACL layer and the operator libraries; name is a string literal: "aclrtMalloc", "aclnnAdd". Type
 * numbers are allocated and announced by name on first use. */
#define SNPU_PROF_ACL_CALL(name)                                                                                       \
    __attribute__((cleanup(snpu_prof_acl_leave), unused)) const struct snpu_prof_scope snpu_prof_acl_scope =           \
        snpu_prof_acl_enter(name)

/* ---- operators (level 10000) ----
 *     uint64_t begin = snpu_prof_node_begin();        0 when no profiler is active
 *     ... launch the operator's kernels ...
 *     snpu_prof_node_end(begin, "aclnnAdd_AxpyAiCore_Axpy", "Axpy", SNPU_TASK_KERNEL_AIVEC, blocks);
 * reports the node basic info (type 0) and the launch record (type 5). */
static inline uint64_t snpu_prof_node_begin(void)
{
    return snpu_prof_host_on(SNPU_PROF_NODES) ? snpu_prof_now() : 0;
}
MS_EXPORT void snpu_prof_node_end(uint64_t begin, const char *op_name, const char *op_type, uint32_t task_type,
                                  uint32_t blocks);

/* ---- collectives ----
 *     uint64_t begin = snpu_prof_hccl_begin();
 *     for each task:
 *         uint64_t t = snpu_prof_hccl_begin();
 *         ... submit the task (reports the track) ...
 *         snpu_prof_hccl_task(t, "Memcpy", true);
 *     snpu_prof_hccl_op(begin, &op);
 * All on one thread. Nothing is reported when begin is 0. */
struct snpu_prof_hccl_op {
    const char *name;  /* node name: "hcom_allReduce_" */
    const char *group; /* communicator */
    const char *alg;   /* "MESH-RING" or empty */
    uint64_t count;    /* elements */
    uint8_t data_type; /* HcclDataType */
};
static inline uint64_t snpu_prof_hccl_begin(void)
{
    return snpu_prof_host_on(SNPU_PROF_COLLECTIVES) ? snpu_prof_now() : 0;
}
/* One task of the collective (level 5500): on the caller's stream (master) or on one of the library's own. */
MS_EXPORT void snpu_prof_hccl_task(uint64_t begin, const char *name, bool master);
/* The collective as a whole: op info (type 10), then the node launch (type 5). */
MS_EXPORT void snpu_prof_hccl_op(uint64_t begin, const struct snpu_prof_hccl_op *op);

#ifdef __cplusplus
}
#endif

#endif
