/* SPDX-License-Identifier: Apache-2.0 */
/* All launch functions of the runtime: each finds the function and the arguments in its own way, then launches.
 *
 * By stub address, by binary and tiling key, by function handle, by name for the AI CPU, and in three steps (configure,
 * set up arguments, launch) that keep their state per thread. No locks. Failure: nothing is queued unless 0 is
 * returned. */
#include "softnpu/runtime/args.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/launch.h"
#include "softnpu/runtime/prof.h"

#include "acl/acl.h"
#include "runtime/rt.h"

#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(struct snpu_patch) == sizeof(rtHostInputInfo_t) &&
                   offsetof(struct snpu_patch, data_off) == offsetof(rtHostInputInfo_t, dataOffset) &&
                   offsetof(struct snpu_patch, data_off) == offsetof(rtPlaceHolderInfo_t, dataOffset),
               "vendor structures are used as patches");

/* ---- arguments ---- */
static int32_t take_args(struct snpu_launch *l, const rtArgsEx_t *args)
{
    if (args == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the arguments are missing", l->function);
    }
    l->args = args->args;
    l->args_b = args->argsSize;
    if (args->isNoNeedH2DCopy) { /* already on the device, addresses included */
        return 0;
    }
    l->patches = (const struct snpu_patch *)args->hostInputInfoPtr;
    l->patch_count = args->hostInputInfoNum;
    l->has_tiling = args->hasTiling != 0;
    l->tiling = (struct snpu_patch){args->tilingAddrOffset, args->tilingDataOffset};
    return 0;
}

static int32_t launch_with(struct snpu_launch *l, const rtArgsEx_t *args)
{
    int32_t code = take_args(l, args);
    return code != 0 ? code : snpu__launch(l);
}

/* ---- by stub ---- */
static int32_t need_stub(struct snpu_launch *l, const void *stub)
{
    l->func = snpu__stub_find(stub);
    return l->func != NULL
               ? 0
               : snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a registered kernel", l->function, stub);
}

static int32_t launch_stub(const char *function, const void *stub, uint32_t blocks, const rtArgsEx_t *args,
                           void *stream, bool vector)
{
    struct snpu_launch l = {.function = function, .blocks = blocks, .stream = stream, .vector = vector};
    int32_t code = need_stub(&l, stub);
    return code != 0 ? code : launch_with(&l, args);
}

rtError_t rtKernelLaunch(const void *stubFunc, uint32_t numBlocks, void *args, uint32_t argsSize, rtSmDesc_t *smDesc,
                         rtStream_t stm)
{
    (void)smDesc;
    SNPU_PROF_RT_CALL(KERNEL_LAUNCH);
    struct snpu_launch l = {
        .function = "rtKernelLaunch", .blocks = numBlocks, .stream = stm, .args = args, .args_b = argsSize};
    int32_t code = need_stub(&l, stubFunc);
    return code != 0 ? code : snpu__launch(&l);
}

rtError_t rtKernelLaunchWithFlag(const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc,
                                 rtStream_t stm, uint32_t flags)
{
    (void)smDesc;
    (void)flags;
    SNPU_PROF_RT_CALL(KERNEL_LAUNCH);
    return launch_stub("rtKernelLaunchWithFlag", stubFunc, numBlocks, argsInfo, stm, false);
}

rtError_t rtKernelLaunchWithFlagV2(const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc,
                                   rtStream_t stm, uint32_t flags, const rtTaskCfgInfo_t *cfgInfo)
{
    (void)smDesc;
    (void)flags;
    (void)cfgInfo;
    SNPU_PROF_RT_CALL(KERNEL_LAUNCH);
    return launch_stub("rtKernelLaunchWithFlagV2", stubFunc, numBlocks, argsInfo, stm, false);
}

rtError_t rtVectorCoreKernelLaunch(const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc,
                                   rtStream_t stm, uint32_t flags, const rtTaskCfgInfo_t *cfgInfo)
{
    (void)smDesc;
    (void)flags;
    (void)cfgInfo;
    SNPU_PROF_RT_CALL(KERNEL_LAUNCH);
    return launch_stub("rtVectorCoreKernelLaunch", stubFunc, numBlocks, argsInfo, stm, true);
}

/* ---- by binary and tiling key ---- */
static int32_t launch_entry(const char *function, void *handle, uint64_t key, uint32_t blocks, const rtArgsEx_t *args,
                            void *stream, bool vector)
{
    struct snpu_launch l = {.function = function, .blocks = blocks, .stream = stream, .vector = vector};
    struct snpu_binary *binary = snpu__binary_of(function, handle);
    if (binary == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    int32_t code = snpu__func_by_entry(function, binary, key, &l.func);
    return code != 0 ? code : launch_with(&l, args);
}

rtError_t rtKernelLaunchWithHandle(void *hdl, const uint64_t tilingKey, uint32_t numBlocks, rtArgsEx_t *argsInfo,
                                   rtSmDesc_t *smDesc, rtStream_t stm, const void *kernelInfo)
{
    (void)smDesc;
    (void)kernelInfo;
    SNPU_PROF_RT_CALL(KERNEL_LAUNCH_WITH_HANDLE);
    return launch_entry("rtKernelLaunchWithHandle", hdl, tilingKey, numBlocks, argsInfo, stm, false);
}

rtError_t rtKernelLaunchWithHandleV2(void *hdl, const uint64_t tilingKey, uint32_t numBlocks, rtArgsEx_t *argsInfo,
                                     rtSmDesc_t *smDesc, rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo)
{
    (void)smDesc;
    (void)cfgInfo;
    SNPU_PROF_RT_CALL(KERNEL_LAUNCH_WITH_HANDLE);
    return launch_entry("rtKernelLaunchWithHandleV2", hdl, tilingKey, numBlocks, argsInfo, stm, false);
}

rtError_t rtVectorCoreKernelLaunchWithHandle(void *hdl, const uint64_t tilingKey, uint32_t numBlocks,
                                             rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm,
                                             const rtTaskCfgInfo_t *cfgInfo)
{
    (void)smDesc;
    (void)cfgInfo;
    SNPU_PROF_RT_CALL(KERNEL_LAUNCH_WITH_HANDLE);
    return launch_entry("rtVectorCoreKernelLaunchWithHandle", hdl, tilingKey, numBlocks, argsInfo, stm, true);
}

/* ---- by function ---- */
static int32_t need_func(struct snpu_launch *l, const void *handle)
{
    l->func = snpu__func_of(l->function, handle);
    return l->func != NULL ? 0 : ACL_ERROR_RT_PARAM_INVALID;
}

static int32_t launch_list(struct snpu_launch *l, const void *func, void *list)
{
    struct snpu_patch patches[SNPU_MAX_PARAMS];
    int32_t code = need_func(l, func);
    if (code == 0) {
        code = snpu__args_for_launch(l->function, list, l, patches);
    }
    return code != 0 ? code : snpu__launch(l);
}

rtError_t rtLaunchKernelByFuncHandle(rtFuncHandle funcHandle, uint32_t numBlocks, rtLaunchArgsHandle argsHandle,
                                     rtStream_t stm)
{
    SNPU_PROF_RT_CALL(LAUNCH_KERNEL);
    struct snpu_launch l = {.function = "rtLaunchKernelByFuncHandle", .blocks = numBlocks, .stream = stm};
    return launch_list(&l, funcHandle, argsHandle);
}

rtError_t rtLaunchKernelByFuncHandleV2(rtFuncHandle funcHandle, uint32_t numBlocks, rtLaunchArgsHandle argsHandle,
                                       rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo)
{
    (void)cfgInfo;
    SNPU_PROF_RT_CALL(LAUNCH_KERNEL);
    struct snpu_launch l = {.function = "rtLaunchKernelByFuncHandleV2", .blocks = numBlocks, .stream = stm};
    return launch_list(&l, funcHandle, argsHandle);
}

rtError_t rtLaunchKernelByFuncHandleV3(rtFuncHandle funcHandle, uint32_t numBlocks, const rtArgsEx_t *const argsInfo,
                                       rtStream_t stm, const rtTaskCfgInfo_t *const cfgInfo)
{
    (void)cfgInfo;
    SNPU_PROF_RT_CALL(LAUNCH_KERNEL);
    struct snpu_launch l = {.function = "rtLaunchKernelByFuncHandleV3", .blocks = numBlocks, .stream = stm};
    int32_t code = need_func(&l, funcHandle);
    return code != 0 ? code : launch_with(&l, argsInfo);
}

/* The relevant parts of a configuration: where to run, and the timeout. */
static int32_t take_config(struct snpu_launch *l, const rtKernelLaunchCfg_t *cfg)
{
    if (cfg == NULL) {
        return 0;
    }
    if (cfg->attrs == NULL && cfg->numAttrs > 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: configuration without attributes", l->function);
    }
    for (size_t i = 0; i < cfg->numAttrs; i++) {
        const rtLaunchKernelAttr_t *attr = &cfg->attrs[i];
        switch (attr->id) {
        case ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE:
            l->vector = attr->value.engineType == ACL_RT_ENGINE_TYPE_AIV;
            break;
        case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT:
            l->timeout_us = attr->value.timeout * UINT64_C(1000000);
            break;
        case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US:
            l->timeout_us = (uint64_t)attr->value.timeoutUs.timeoutHigh << 32 | attr->value.timeoutUs.timeoutLow;
            break;
        case ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE:
        case ACL_RT_LAUNCH_KERNEL_ATTR_LOCAL_MEMORY_SIZE:
        case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET:
        case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH:
        case ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP:
        case ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING:
            break;
        default:
            return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown attribute %u", l->function, attr->id);
        }
    }
    return 0;
}

rtError_t rtsLaunchKernelWithConfig(rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,
                                    rtKernelLaunchCfg_t *cfg, rtArgsHandle argsHandle, void *reserve)
{
    (void)reserve;
    SNPU_PROF_RT_CALL(LAUNCH_KERNEL_V2);
    struct snpu_launch l = {.function = "rtsLaunchKernelWithConfig", .blocks = numBlocks, .stream = stm};
    int32_t code = take_config(&l, cfg);
    return code != 0 ? code : launch_list(&l, funcHandle, argsHandle);
}

rtError_t rtsLaunchKernelWithDevArgs(rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,
                                     rtKernelLaunchCfg_t *cfg, const void *args, uint32_t argsSize, void *reserve)
{
    (void)reserve;
    SNPU_PROF_RT_CALL(LAUNCH_KERNEL_V2);
    struct snpu_launch l = {
        .function = "rtsLaunchKernelWithDevArgs", .blocks = numBlocks, .stream = stm, .args = args, .args_b = argsSize};
    int32_t code = need_func(&l, funcHandle);
    if (code == 0) {
        code = take_config(&l, cfg);
    }
    return code != 0 ? code : snpu__launch(&l);
}

rtError_t rtsLaunchKernelWithHostArgs(rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,
                                      rtKernelLaunchCfg_t *cfg, void *hostArgs, uint32_t argsSize,
                                      rtPlaceHolderInfo_t *placeHolderArray, uint32_t placeHolderNum)
{
    SNPU_PROF_RT_CALL(LAUNCH_KERNEL_V2);
    struct snpu_launch l = {
        .function = "rtsLaunchKernelWithHostArgs",
        .blocks = numBlocks,
        .stream = stm,
        .args = hostArgs,
        .args_b = argsSize,
        .patches = (const struct snpu_patch *)placeHolderArray,
        .patch_count = placeHolderNum,
    };
    int32_t code = need_func(&l, funcHandle);
    if (code == 0) {
        code = take_config(&l, cfg);
    }
    return code != 0 ? code : snpu__launch(&l);
}

/* ---- AI CPU, by name ---- */
rtError_t rtCpuKernelLaunchWithFlag(const void *soName, const void *kernelName, uint32_t numBlocks,
                                    const rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm, uint32_t flags)
{
    (void)smDesc;
    (void)flags;
    SNPU_PROF_RT_CALL(CPU_KERNEL_LAUNCH);
    struct snpu_launch l = {.function = "rtCpuKernelLaunchWithFlag", .blocks = numBlocks, .stream = stm};
    if (kernelName == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the kernel name is missing", l.function);
    }
    int32_t code = snpu__aicpu_func(l.function, soName, kernelName, &l.func);
    return code != 0 ? code : launch_with(&l, argsInfo);
}

/* A string inside the arguments; NULL if it is not terminated there. */
static const char *text_in(const void *args, uint32_t args_b, uint32_t off)
{
    const char *text = (const char *)args + off;
    return off < args_b && memchr(text, '\0', args_b - off) != NULL && text[0] != '\0' ? text : NULL;
}

rtError_t rtAicpuKernelLaunchExWithArgs(const uint32_t kernelType, const char_t *const opName, const uint32_t numBlocks,
                                        const rtAicpuArgsEx_t *argsInfo, rtSmDesc_t *const smDesc, const rtStream_t stm,
                                        const uint32_t flags)
{
    (void)kernelType;
    (void)smDesc;
    (void)flags;
    SNPU_PROF_RT_CALL(CPU_KERNEL_LAUNCH_EX_WITH_ARGS);
    struct snpu_launch l = {.function = "rtAicpuKernelLaunchExWithArgs", .blocks = numBlocks, .stream = stm};
    if (argsInfo == NULL || (argsInfo->args == NULL && argsInfo->argsSize > 0)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the arguments are missing", l.function);
    }
    l.args = argsInfo->args;
    l.args_b = argsInfo->argsSize;
    if (!argsInfo->isNoNeedH2DCopy) {
        l.patches = (const struct snpu_patch *)argsInfo->hostInputInfoPtr;
        l.patch_count = argsInfo->hostInputInfoNum;
    }
    l.timeout_us = argsInfo->timeout * UINT64_C(1000000);
    const char *name = opName;
    const char *library = NULL;
    if (name == NULL || name[0] == '\0') { /* the names are in the arguments */
        name = text_in(l.args, argsInfo->argsSize, argsInfo->kernelNameAddrOffset);
        library = text_in(l.args, argsInfo->argsSize, argsInfo->soNameAddrOffset);
    }
    if (name == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the kernel name is missing", l.function);
    }
    int32_t code = snpu__aicpu_func(l.function, library, name, &l.func);
    return code != 0 ? code : snpu__launch(&l);
}

/* ---- in three steps ---- */
#define STEP_ARGS_B 4096u

static __thread struct {
    bool configured;
    uint32_t blocks;
    void *stream;
    uint32_t args_b;
    char args[STEP_ARGS_B];
} steps;

rtError_t rtConfigureCall(uint32_t numBlocks, rtSmDesc_t *smDesc, rtStream_t stm)
{
    (void)smDesc;
    steps.configured = true;
    steps.blocks = numBlocks;
    steps.stream = stm;
    steps.args_b = 0;
    return 0;
}

rtError_t rtSetupArgument(const void *args, uint32_t size, uint32_t offset)
{
    if (!steps.configured || args == NULL || offset > STEP_ARGS_B || size > STEP_ARGS_B - offset) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtSetupArgument: %s: %u bytes at offset %u",
                         steps.configured ? "invalid argument" : "rtConfigureCall was not called", size, offset);
    }
    if (offset > steps.args_b) {
        memset(steps.args + steps.args_b, 0, offset - steps.args_b);
    }
    memcpy(steps.args + offset, args, size);
    steps.args_b = offset + size > steps.args_b ? offset + size : steps.args_b;
    return 0;
}

rtError_t rtLaunch(const void *stubFunc)
{
    SNPU_PROF_RT_CALL(KERNEL_LAUNCH);
    struct snpu_launch l = {.function = "rtLaunch",
                            .blocks = steps.blocks,
                            .stream = steps.stream,
                            .args = steps.args,
                            .args_b = steps.args_b};
    if (!steps.configured) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtLaunch: rtConfigureCall was not called");
    }
    steps.configured = false;
    int32_t code = need_stub(&l, stubFunc);
    return code != 0 ? code : snpu__launch(&l);
}
