/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks, in one table. A hook is a symbol of a vendor library, a replacement of the same name, and a pointer to the
 * real function. Bindings make the replacement take effect:
 *
 *     preload      the replacement is exported under the symbol's name
 *     GOT patching for programs started without the agent: ms_hooks[] has the symbols and their replacements
 *     mstx         the front end gets its functions from InitInjectionMstx (hooks/mstx.c), nothing in this table
 *
 *     X(library, result, name, parameters, arguments, result without a real one, other name of the real one)
 *
 * Real functions are found at their first call (resolve.c): the next symbol in the search order, the other name, the
 * symbol in the library itself. */
#ifndef MS_AGENT_HOOKS_H
#define MS_AGENT_HOOKS_H

#include "abi/acl_impl.h"
#include "abi/c10.h"
#include "ascend_hal.h"
#include "runtime/rt.h"
#include "toolchain/prof_api.h"

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>

/* Libraries by role; each lists the file names (SONAMEs) under which releases ship it. A version may follow. */
#define MS_LIBRARIES(X)                                                                                                \
    X(HAL, "libascend_hal.so", NULL)                                                                                   \
    X(ACL, "libascendcl.so", "libacl_rt.so")                                                                           \
    X(ACL_IMPL, "libascendcl_impl.so", "libacl_rt_impl.so")                                                            \
    X(RUNTIME, "libruntime.so", NULL)                                                                                  \
    X(PROFAPI, "libprofapi.so", NULL)                                                                                  \
    X(LIBC, "libc.so.6", "libdl.so.2")                                                                                 \
    X(C10, "libc10.so", NULL)                                                                                          \
    X(TORCH_CPU, "libtorch_cpu.so", NULL)

enum ms_library {
#define X(name, first, second) MS_LIBRARY_##name,
    MS_LIBRARIES(X)
#undef X
        MS_LIBRARY_COUNT
};

enum { MS_ACL_NO_ORIGINAL = 500000, MS_ACL_NO_LAUNCH = 500003, MS_RT_NO_ORIGINAL = 0xffff };

/* Not in any available header. */
rtError_t rtFftsPlusTaskLaunch(void *fftsPlusTaskInfo, rtStream_t stm) MS_EXPORT;
rtError_t rtFftsPlusTaskLaunchWithFlag(void *fftsPlusTaskInfo, rtStream_t stm, uint32_t flag) MS_EXPORT;
/* Members of C++ classes by their mangled names, see abi/c10.h. */
void _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm(void *self, void *ptr, size_t size) MS_EXPORT;
void _ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv(void *self, void *ptr) MS_EXPORT;
void _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void *ptr, int64_t change, int64_t allocated,
                                                           int64_t reserved, struct c10_device device) MS_EXPORT;
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *ptr, int64_t change, size_t allocated, size_t reserved,
                                                           struct c10_device device) MS_EXPORT;
/* From dlfcn.h, made visible. */
int dlclose(void *handle) MS_EXPORT;

/* clang-format off */
#define MS_HOOKS_MEMORY(X)                                                                                             \
    X(HAL, drvError_t, halMemAlloc, (void **pp, unsigned long long size, unsigned long long flag), (pp, size, flag),   \
      DRV_ERROR_NOT_SUPPORT, "halMemAllocInner")                                                                       \
    X(HAL, drvError_t, halMemFree, (void *pp), (pp), DRV_ERROR_NOT_SUPPORT, "halMemFreeInner")                         \
    X(HAL, drvError_t, halMemCreate, (drv_mem_handle_t **handle, size_t size, const struct drv_mem_prop *prop,         \
      uint64_t flag), (handle, size, prop, flag), DRV_ERROR_RESERVED, "halMemCreateInner")                             \
    X(HAL, drvError_t, halMemRelease, (drv_mem_handle_t *handle), (handle), DRV_ERROR_RESERVED, "halMemReleaseInner")  \
    X(HAL, drvError_t, halMemAddressReserve, (void **ptr, size_t size, size_t alignment, void *addr, uint64_t flag),   \
      (ptr, size, alignment, addr, flag), DRV_ERROR_NOT_SUPPORT, NULL)                                                 \
    X(HAL, drvError_t, halMemAddressFree, (void *ptr), (ptr), DRV_ERROR_NOT_SUPPORT, NULL)                             \
    X(HAL, drvError_t, halMemMap, (void *ptr, size_t size, size_t offset, drv_mem_handle_t *handle, uint64_t flag),    \
      (ptr, size, offset, handle, flag), DRV_ERROR_NOT_SUPPORT, NULL)                                                  \
    X(HAL, drvError_t, halMemUnmap, (void *ptr), (ptr), DRV_ERROR_NOT_SUPPORT, NULL)                                   \
    X(ACL, aclError, aclrtHostRegisterV2, (void *ptr, uint64_t size, uint32_t flag), (ptr, size, flag),                \
      MS_ACL_NO_ORIGINAL, NULL)                                                                                        \
    X(ACL, aclError, aclrtHostUnregister, (void *ptr), (ptr), MS_ACL_NO_ORIGINAL, NULL)

#define MS_HOOKS_LIFE(X)                                                                                               \
    X(ACL, aclError, aclInit, (const char *configPath), (configPath), MS_ACL_NO_ORIGINAL, NULL)                        \
    X(ACL, aclError, aclFinalize, (void), (), MS_ACL_NO_ORIGINAL, NULL)                                                \
    X(ACL, aclError, aclrtSetDevice, (int32_t deviceId), (deviceId), MS_ACL_NO_ORIGINAL, NULL)

/* Every function that starts a kernel, in both spellings of ACL: one of them is hit, however a program binds. */
#define MS_RT(X, name, parameters, arguments)                                                                          \
    X(RUNTIME, rtError_t, name, parameters, arguments, MS_RT_NO_ORIGINAL, NULL)
#define MS_TWINS(X, name, parameters, arguments)                                                                       \
    X(ACL, aclError, name, parameters, arguments, MS_ACL_NO_LAUNCH, NULL)                                              \
    X(ACL_IMPL, aclError, name##Impl, parameters, arguments, MS_ACL_NO_LAUNCH, NULL)

#define MS_HOOKS_LAUNCH(X)                                                                                             \
    MS_RT(X, rtKernelLaunch, (const void *stubFunc, uint32_t numBlocks, void *args, uint32_t argsSize,                 \
       rtSmDesc_t *smDesc, rtStream_t stm), (stubFunc, numBlocks, args, argsSize, smDesc, stm))                        \
    MS_RT(X, rtKernelLaunchWithFlag, (const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo,                  \
       rtSmDesc_t *smDesc, rtStream_t stm, uint32_t flags), (stubFunc, numBlocks, argsInfo, smDesc, stm, flags))       \
    MS_RT(X, rtKernelLaunchWithFlagV2, (const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo,                \
       rtSmDesc_t *smDesc, rtStream_t stm, uint32_t flags, const rtTaskCfgInfo_t *cfgInfo), (stubFunc, numBlocks,      \
       argsInfo, smDesc, stm, flags, cfgInfo))                                                                         \
    MS_RT(X, rtVectorCoreKernelLaunch, (const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo,                \
       rtSmDesc_t *smDesc, rtStream_t stm, uint32_t flags, const rtTaskCfgInfo_t *cfgInfo), (stubFunc, numBlocks,      \
       argsInfo, smDesc, stm, flags, cfgInfo))                                                                         \
    MS_RT(X, rtKernelLaunchWithHandle, (void *hdl, const uint64_t tilingKey, uint32_t numBlocks,                       \
       rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm, const void *kernelInfo), (hdl, tilingKey, numBlocks,  \
       argsInfo, smDesc, stm, kernelInfo))                                                                             \
    MS_RT(X, rtKernelLaunchWithHandleV2, (void *hdl, const uint64_t tilingKey, uint32_t numBlocks,                     \
       rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo), (hdl, tilingKey,     \
       numBlocks, argsInfo, smDesc, stm, cfgInfo))                                                                     \
    MS_RT(X, rtVectorCoreKernelLaunchWithHandle, (void *hdl, const uint64_t tilingKey, uint32_t numBlocks,             \
       rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo), (hdl, tilingKey,     \
       numBlocks, argsInfo, smDesc, stm, cfgInfo))                                                                     \
    MS_RT(X, rtLaunchKernelByFuncHandle, (rtFuncHandle funcHandle, uint32_t numBlocks, rtLaunchArgsHandle argsHandle,  \
       rtStream_t stm), (funcHandle, numBlocks, argsHandle, stm))                                                      \
    MS_RT(X, rtLaunchKernelByFuncHandleV2, (rtFuncHandle funcHandle, uint32_t numBlocks,                               \
       rtLaunchArgsHandle argsHandle, rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo), (funcHandle, numBlocks,         \
       argsHandle, stm, cfgInfo))                                                                                      \
    MS_RT(X, rtLaunchKernelByFuncHandleV3, (rtFuncHandle funcHandle, uint32_t numBlocks,                               \
       const rtArgsEx_t *const argsInfo, rtStream_t stm, const rtTaskCfgInfo_t *const cfgInfo), (funcHandle,           \
       numBlocks, argsInfo, stm, cfgInfo))                                                                             \
    MS_RT(X, rtsLaunchKernelWithConfig, (rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,                  \
       rtKernelLaunchCfg_t *cfg, rtArgsHandle argsHandle, void *reserve), (funcHandle, numBlocks, stm, cfg,            \
       argsHandle, reserve))                                                                                           \
    MS_RT(X, rtsLaunchKernelWithDevArgs, (rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,                 \
       rtKernelLaunchCfg_t *cfg, const void *args, uint32_t argsSize, void *reserve), (funcHandle, numBlocks, stm,     \
       cfg, args, argsSize, reserve))                                                                                  \
    MS_RT(X, rtsLaunchKernelWithHostArgs, (rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,                \
       rtKernelLaunchCfg_t *cfg, void *hostArgs, uint32_t argsSize, rtPlaceHolderInfo_t *placeHolderArray,             \
       uint32_t placeHolderNum), (funcHandle, numBlocks, stm, cfg, hostArgs, argsSize, placeHolderArray,               \
       placeHolderNum))                                                                                                \
    MS_RT(X, rtAicpuKernelLaunchExWithArgs, (const uint32_t kernelType, const char_t *const opName,                    \
       const uint32_t numBlocks, const rtAicpuArgsEx_t *argsInfo, rtSmDesc_t *const smDesc, const rtStream_t stm,      \
       const uint32_t flags), (kernelType, opName, numBlocks, argsInfo, smDesc, stm, flags))                           \
    MS_RT(X, rtCpuKernelLaunchWithFlag, (const void *soName, const void *kernelName, uint32_t numBlocks,               \
       const rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm, uint32_t flags), (soName, kernelName,           \
       numBlocks, argsInfo, smDesc, stm, flags))                                                                       \
    MS_RT(X, rtLaunch, (const void *stubFunc), (stubFunc))                                                             \
    MS_RT(X, rtFftsPlusTaskLaunch, (void *fftsPlusTaskInfo, rtStream_t stm), (fftsPlusTaskInfo, stm))                  \
    MS_RT(X, rtFftsPlusTaskLaunchWithFlag, (void *fftsPlusTaskInfo, rtStream_t stm, uint32_t flag),                    \
       (fftsPlusTaskInfo, stm, flag))                                                                                  \
    MS_TWINS(X, aclrtLaunchKernel, (aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData,              \
       size_t argsSize, aclrtStream stream), (funcHandle, numBlocks, argsData, argsSize, stream))                      \
    MS_TWINS(X, aclrtLaunchKernelV2, (aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData,            \
       size_t argsSize, aclrtLaunchKernelCfg *cfg, aclrtStream stream), (funcHandle, numBlocks, argsData, argsSize,    \
       cfg, stream))                                                                                                   \
    MS_TWINS(X, aclrtLaunchKernelWithConfig, (aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,      \
       aclrtLaunchKernelCfg *cfg, aclrtArgsHandle argsHandle, void *reserve), (funcHandle, numBlocks, stream, cfg,     \
       argsHandle, reserve))                                                                                           \
    MS_TWINS(X, aclrtLaunchKernelWithHostArgs, (aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,    \
       aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize, aclrtPlaceHolderInfo *placeHolderArray,             \
       size_t placeHolderNum), (funcHandle, numBlocks, stream, cfg, hostArgs, argsSize, placeHolderArray,              \
       placeHolderNum))                                                                                                \
    MS_TWINS(X, aclrtLaunchKernelWithArgsArray, (void *func, uint32_t numBlocks, aclrtStream stream,                   \
       aclrtLaunchKernelCfg *cfg, void **args), (func, numBlocks, stream, cfg, args))                                  \
    MS_TWINS(X, aclrtLaunchSIMTKernelWithArgsArray, (void *func, dim3 gridDim, dim3 blockDim, size_t dynUbufSize,      \
       aclrtStream stream, aclrtLaunchKernelCfg *cfg, void **args), (func, gridDim, blockDim, dynUbufSize, stream,     \
       cfg, args))                                                                                                     \
    MS_TWINS(X, aclrtLaunchSIMTKernelWithHostArgs, (void *func, dim3 gridDim, dim3 blockDim, size_t dynUbufSize,       \
       aclrtStream stream, aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize,                                 \
       aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum), (func, gridDim, blockDim, dynUbufSize, stream,  \
       cfg, hostArgs, argsSize, placeHolderArray, placeHolderNum))

/* Calls that profilers make, so that another profiler running at the same time loses nothing. */
#define MS_HOOKS_PROF(X)                                                                                               \
    X(PROFAPI, int32_t, MsprofRegisterProfileCallback, (int32_t callbackType, VOID_PTR callback, uint32_t len),        \
      (callbackType, callback, len), -1, NULL)                                                                         \
    X(PROFAPI, int32_t, profSetProfCommand, (VOID_PTR command, uint32_t len), (command, len), -1, NULL)                \
    X(HAL, int, prof_drv_start, (unsigned int device_id, unsigned int channel_id, struct prof_start_para *start_para), \
      (device_id, channel_id, start_para), -1, NULL)                                                                   \
    X(HAL, int, prof_channel_read, (unsigned int device_id, unsigned int channel_id, char *out_buf,                    \
      unsigned int buf_size), (device_id, channel_id, out_buf, buf_size), -1, NULL)                                    \
    X(HAL, int, prof_stop, (unsigned int device_id, unsigned int channel_id), (device_id, channel_id), -1, NULL)

/* Unloading a module invalidates its addresses. */
#define MS_HOOKS_LOADER(X)                                                                                             \
    X(LIBC, int, dlclose, (void *handle), (handle), -1, NULL)

/* Reports of PyTorch's allocators to its profiler. */
#define MS_HOOKS_C10(X)                                                                                                \
    X(C10, void, _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm, (void *self, void *ptr, size_t size), (self, ptr, size),  \
      0, NULL)                                                                                                         \
    X(C10, void, _ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv, (void *self, void *ptr), (self, ptr), 0, NULL)          \
    X(C10, void, _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE, (void *ptr, int64_t change,                    \
      int64_t allocated, int64_t reserved, struct c10_device device), (ptr, change, allocated, reserved, device), 0,   \
      NULL)                                                                                                            \
    X(C10, void, _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE, (void *ptr, int64_t change, size_t allocated,  \
      size_t reserved, struct c10_device device), (ptr, change, allocated, reserved, device), 0, NULL)
/* clang-format on */

#define MS_HOOKS(X)                                                                                                    \
    MS_HOOKS_MEMORY(X)                                                                                                 \
    MS_HOOKS_LIFE(X)                                                                                                   \
    MS_HOOKS_LAUNCH(X)                                                                                                 \
    MS_HOOKS_PROF(X)                                                                                                   \
    MS_HOOKS_LOADER(X)                                                                                                 \
    MS_HOOKS_C10(X)

enum ms_hook_id {
#define X(library, result, name, parameters, arguments, missing, other) MS_HOOK_##name,
    MS_HOOKS(X)
#undef X
        MS_HOOK_COUNT
};

typedef void (*ms_function)(void);

struct ms_hook {
    const char *symbol;
    const char *other; /* alias of the function that is not hooked; NULL: none */
    ms_function replacement;
    ms_function *real;
    enum ms_library library;
};
extern const struct ms_hook ms_hooks[MS_HOOK_COUNT];

/* The real function; its first call looks it up. */
#define X(library, result, name, parameters, arguments, missing, other) extern result(*ms_real_##name) parameters;
MS_HOOKS(X)
#undef X
#define MS_REAL(name) (*__atomic_load_n(&ms_real_##name, __ATOMIC_RELAXED))

/* Finds the real functions of all libraries that are already loaded; for the constructor. late: the agent was loaded
 * after them, so they are not after it in the search order, or not visible to it. */
void ms_resolve_loaded(bool late);

/* A function that is called but not hooked; NULL if not available. Takes the loader's lock: not for hot paths. */
ms_function ms_resolve_symbol(enum ms_library library, const char *symbol);

#endif
