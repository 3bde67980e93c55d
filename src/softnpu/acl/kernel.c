/* SPDX-License-Identifier: Apache-2.0 */
/* ACL kernel binaries, functions, argument lists and launches. Each launch is one launch of the runtime. Threads: no
 * state here. */
#include "abi/acl_impl.h"
#include "base/slab.h"
#include "softnpu/acl/check.h"
#include "softnpu/runtime/args.h"
#include "softnpu/runtime/kernel.h"
#include "softnpu/runtime/random.h"

#include "runtime/rt.h"

#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(aclrtBinaryLoadOptions) == sizeof(rtLoadBinaryConfig_t) &&
                   sizeof(aclrtBinaryLoadOption) == sizeof(rtLoadBinaryOption_t),
               "options are passed on as they are");
_Static_assert(sizeof(aclrtLaunchKernelCfg) == sizeof(rtKernelLaunchCfg_t) &&
                   sizeof(aclrtLaunchKernelAttr) == sizeof(rtLaunchKernelAttr_t) &&
                   sizeof(aclrtPlaceHolderInfo) == sizeof(rtPlaceHolderInfo_t),
               "configurations are passed on as they are");

/* ---- binaries ---- */
aclError aclrtBinaryLoadFromFileImpl(const char *binPath, aclrtBinaryLoadOptions *options, aclrtBinHandle *binHandle)
{
    SNPU_ACL_NOT_NULL(binPath);
    SNPU_ACL_NOT_NULL(binHandle);
    return rtsBinaryLoadFromFile(binPath, (const rtLoadBinaryConfig_t *)options, binHandle);
}

aclError aclrtBinaryLoadFromDataImpl(const void *data, size_t length, const aclrtBinaryLoadOptions *options,
                                     aclrtBinHandle *binHandle)
{
    SNPU_ACL_NOT_NULL(data);
    SNPU_ACL_NOT_NULL(binHandle);
    SNPU_ACL_REQUIRE(length > 0, "aclrtBinaryLoadFromData: length is 0");
    return rtsBinaryLoadFromData(data, length, (const rtLoadBinaryConfig_t *)options, binHandle);
}

/* A binary that is described first and loaded later; the caller keeps the bytes. */
static struct ms_slab described = MS_SLAB_INIT(rtDevBinary_t, 65536);

aclrtBinary aclrtCreateBinaryImpl(const void *data, size_t dataLen)
{
    if (data == NULL || dataLen == 0) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateBinary: no data (%zu bytes at %p)", dataLen, data);
        return NULL;
    }
    rtDevBinary_t *binary = ms_slab_alloc(&described);
    if (binary == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "aclrtCreateBinary: too many binaries");
        return NULL;
    }
    binary->magic = RT_DEV_BINARY_MAGIC_ELF;
    binary->data = data;
    binary->length = dataLen;
    return binary;
}

aclError aclrtDestroyBinaryImpl(aclrtBinary binary)
{
    SNPU_ACL_NOT_NULL(binary);
    SNPU_ACL_REQUIRE(ms_slab_check(&described, binary), "aclrtDestroyBinary: %p is not a binary", binary);
    ms_slab_free(&described, binary);
    return ACL_SUCCESS;
}

aclError aclrtBinaryLoadImpl(const aclrtBinary binary, aclrtBinHandle *binHandle)
{
    SNPU_ACL_NOT_NULL(binary);
    SNPU_ACL_NOT_NULL(binHandle);
    SNPU_ACL_REQUIRE(ms_slab_check(&described, binary), "aclrtBinaryLoad: %p is not a binary", binary);
    return rtBinaryLoad(binary, binHandle);
}

aclError aclrtBinaryUnLoadImpl(aclrtBinHandle binHandle)
{
    SNPU_ACL_NOT_NULL(binHandle);
    return rtBinaryUnLoad(binHandle);
}

aclError aclrtBinaryGetDevAddressImpl(const aclrtBinHandle binHandle, void **binAddr, size_t *binSize)
{
    SNPU_ACL_NOT_NULL(binHandle);
    SNPU_ACL_NOT_NULL(binAddr);
    SNPU_ACL_NOT_NULL(binSize);
    return snpu_binary_dev_address(binHandle, binAddr, binSize);
}

aclError aclrtBinaryGetGlobalImpl(aclrtBinHandle binHandle, const char *name, void **dptr, size_t *size)
{
    SNPU_ACL_NOT_NULL(binHandle);
    SNPU_ACL_NOT_NULL(name);
    SNPU_ACL_REQUIRE(dptr != NULL || size != NULL, "aclrtBinaryGetGlobal: dptr and size are both NULL");
    return snpu_binary_global(binHandle, name, dptr, size);
}

aclError aclrtBinarySetExceptionCallbackImpl(aclrtBinHandle binHandle, aclrtOpExceptionCallback callback,
                                             void *userData)
{
    SNPU_ACL_NOT_NULL(binHandle);
    return snpu_binary_set_exception_callback(binHandle, callback, userData);
}

/* ---- functions ---- */
aclError aclrtBinaryGetFunctionImpl(const aclrtBinHandle binHandle, const char *kernelName, aclrtFuncHandle *funcHandle)
{
    SNPU_ACL_NOT_NULL(binHandle);
    SNPU_ACL_NOT_NULL(kernelName);
    SNPU_ACL_NOT_NULL(funcHandle);
    return rtsFuncGetByName(binHandle, kernelName, funcHandle);
}

aclError aclrtBinaryGetFunctionByEntryImpl(aclrtBinHandle binHandle, uint64_t funcEntry, aclrtFuncHandle *funcHandle)
{
    SNPU_ACL_NOT_NULL(binHandle);
    SNPU_ACL_NOT_NULL(funcHandle);
    return rtsFuncGetByEntry(binHandle, funcEntry, funcHandle);
}

aclError aclrtRegisterCpuFuncImpl(const aclrtBinHandle handle, const char *funcName, const char *kernelName,
                                  aclrtFuncHandle *funcHandle)
{
    SNPU_ACL_NOT_NULL(handle);
    SNPU_ACL_NOT_NULL(funcName);
    SNPU_ACL_NOT_NULL(kernelName);
    SNPU_ACL_NOT_NULL(funcHandle);
    return snpu_func_register_cpu(handle, funcName, kernelName, funcHandle);
}

aclError aclrtGetFuncBySymbolImpl(const void *symbol, aclrtFuncHandle *funcHandle)
{
    SNPU_ACL_NOT_NULL(symbol);
    SNPU_ACL_NOT_NULL(funcHandle);
    return snpu_func_by_symbol(symbol, funcHandle);
}

aclError aclrtGetFunctionNameImpl(aclrtFuncHandle funcHandle, uint32_t maxLen, char *name)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_NOT_NULL(name);
    return rtsFuncGetName(funcHandle, maxLen, name);
}

aclError aclrtGetFunctionAddrImpl(aclrtFuncHandle funcHandle, void **aicAddr, void **aivAddr)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_NOT_NULL(aicAddr);
    SNPU_ACL_NOT_NULL(aivAddr);
    return rtsFuncGetAddr(funcHandle, aicAddr, aivAddr);
}

aclError aclrtGetFunctionSizeImpl(aclrtFuncHandle funcHandle, size_t *aicSize, size_t *aivSize)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_NOT_NULL(aicSize);
    SNPU_ACL_NOT_NULL(aivSize);
    return snpu_func_size(funcHandle, aicSize, aivSize);
}

aclError aclrtGetFunctionAttributeImpl(aclrtFuncHandle funcHandle, aclrtFuncAttribute attrType, int64_t *attrValue)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_NOT_NULL(attrValue);
    return snpu_func_attribute(funcHandle, (int32_t)attrType, attrValue);
}

aclError aclrtFunctionGetBinaryImpl(const aclrtFuncHandle funcHandle, aclrtBinHandle *binHandle)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_NOT_NULL(binHandle);
    return snpu_func_binary(funcHandle, binHandle);
}

aclError aclrtFunctionGetParamCountImpl(const void *func, size_t *paramCount)
{
    SNPU_ACL_NOT_NULL(func);
    SNPU_ACL_NOT_NULL(paramCount);
    return snpu_func_param_count(func, paramCount);
}

aclError aclrtFunctionGetParamInfoImpl(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    size_t count;
    SNPU_ACL_NOT_NULL(func);
    SNPU_ACL_NOT_NULL(paramOffset);
    SNPU_ACL_NOT_NULL(paramSize);
    aclError code = snpu_func_param_count(func, &count);
    if (code != 0) {
        return code;
    }
    if (paramIndex >= count) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtFunctionGetParamInfo: no parameter %zu, the kernel has %zu",
                         paramIndex, count);
    }
    return snpu_func_param(func, paramIndex, paramOffset, paramSize);
}

/* Kernels here are not SIMT kernels: they have no dynamic local memory. */
aclError aclrtFunctionGetAvailDynUbufPerBlockImpl(void *func, uint32_t flags, size_t *dynamicUbufSize)
{
    void *handle;
    SNPU_ACL_NOT_NULL(func);
    SNPU_ACL_NOT_NULL(dynamicUbufSize);
    SNPU_ACL_REQUIRE(flags == 0, "aclrtFunctionGetAvailDynUbufPerBlock: flags must be 0");
    aclError code = snpu_func_resolve("aclrtFunctionGetAvailDynUbufPerBlock", func, &handle);
    if (code == 0) {
        *dynamicUbufSize = 0;
    }
    return code;
}

/* ---- argument lists ---- */
aclError aclrtKernelArgsInitImpl(aclrtFuncHandle funcHandle, aclrtArgsHandle *argsHandle)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_NOT_NULL(argsHandle);
    return snpu_args_new(funcHandle, argsHandle);
}

aclError aclrtKernelArgsInitByUserMemImpl(aclrtFuncHandle funcHandle, aclrtArgsHandle argsHandle, void *userHostMem,
                                          size_t actualArgsSize)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_NOT_NULL(argsHandle);
    SNPU_ACL_NOT_NULL(userHostMem);
    return snpu_args_in_memory(funcHandle, argsHandle, userHostMem, actualArgsSize);
}

aclError aclrtKernelArgsGetMemSizeImpl(aclrtFuncHandle funcHandle, size_t userArgsSize, size_t *actualArgsSize)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_NOT_NULL(actualArgsSize);
    return snpu_args_sizes(funcHandle, userArgsSize, actualArgsSize, NULL);
}

aclError aclrtKernelArgsGetHandleMemSizeImpl(aclrtFuncHandle funcHandle, size_t *memSize)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_NOT_NULL(memSize);
    return snpu_args_sizes(funcHandle, 0, NULL, memSize);
}

aclError aclrtKernelArgsAppendImpl(aclrtArgsHandle argsHandle, void *param, size_t paramSize,
                                   aclrtParamHandle *paramHandle)
{
    SNPU_ACL_NOT_NULL(argsHandle);
    SNPU_ACL_NOT_NULL(param);
    SNPU_ACL_NOT_NULL(paramHandle);
    return snpu_args_append(argsHandle, param, paramSize, paramHandle);
}

aclError aclrtKernelArgsAppendPlaceHolderImpl(aclrtArgsHandle argsHandle, aclrtParamHandle *paramHandle)
{
    SNPU_ACL_NOT_NULL(argsHandle);
    SNPU_ACL_NOT_NULL(paramHandle);
    return snpu_args_append_placeholder(argsHandle, paramHandle);
}

aclError aclrtKernelArgsGetPlaceHolderBufferImpl(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle,
                                                 size_t dataSize, void **bufferAddr)
{
    SNPU_ACL_NOT_NULL(argsHandle);
    SNPU_ACL_NOT_NULL(paramHandle);
    SNPU_ACL_NOT_NULL(bufferAddr);
    return snpu_args_placeholder_buffer(argsHandle, paramHandle, dataSize, bufferAddr);
}

aclError aclrtKernelArgsParaUpdateImpl(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, void *param,
                                       size_t paramSize)
{
    SNPU_ACL_NOT_NULL(argsHandle);
    SNPU_ACL_NOT_NULL(paramHandle);
    SNPU_ACL_NOT_NULL(param);
    return snpu_args_update(argsHandle, paramHandle, param, paramSize);
}

aclError aclrtKernelArgsFinalizeImpl(aclrtArgsHandle argsHandle)
{
    SNPU_ACL_NOT_NULL(argsHandle);
    return snpu_args_finish(argsHandle);
}

/* ---- launches ---- */
aclError aclrtLaunchKernelImpl(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData, size_t argsSize,
                               aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_REQUIRE(argsSize <= UINT32_MAX, "aclrtLaunchKernel: too many arguments (%zu bytes)", argsSize);
    return rtsLaunchKernelWithDevArgs(funcHandle, numBlocks, stream, NULL, argsData, (uint32_t)argsSize, NULL);
}

aclError aclrtLaunchKernelV2Impl(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData, size_t argsSize,
                                 aclrtLaunchKernelCfg *cfg, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_REQUIRE(argsSize <= UINT32_MAX, "aclrtLaunchKernelV2: too many arguments (%zu bytes)", argsSize);
    return rtsLaunchKernelWithDevArgs(funcHandle, numBlocks, stream, (rtKernelLaunchCfg_t *)cfg, argsData,
                                      (uint32_t)argsSize, NULL);
}

aclError aclrtLaunchKernelWithConfigImpl(aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
                                         aclrtLaunchKernelCfg *cfg, aclrtArgsHandle argsHandle, void *reserve)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_NOT_NULL(argsHandle);
    SNPU_ACL_REQUIRE(reserve == NULL, "aclrtLaunchKernelWithConfig: reserve must be NULL");
    return rtsLaunchKernelWithConfig(funcHandle, numBlocks, stream, (rtKernelLaunchCfg_t *)cfg, argsHandle, reserve);
}

aclError aclrtLaunchKernelWithHostArgsImpl(aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
                                           aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize,
                                           aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum)
{
    SNPU_ACL_NOT_NULL(funcHandle);
    SNPU_ACL_REQUIRE(argsSize <= UINT32_MAX && placeHolderNum <= UINT32_MAX,
                     "aclrtLaunchKernelWithHostArgs: too many arguments (%zu bytes) or placeholders (%zu)", argsSize,
                     placeHolderNum);
    return rtsLaunchKernelWithHostArgs(funcHandle, numBlocks, stream, (rtKernelLaunchCfg_t *)cfg, hostArgs,
                                       (uint32_t)argsSize, (rtPlaceHolderInfo_t *)placeHolderArray,
                                       (uint32_t)placeHolderNum);
}

aclError aclrtLaunchKernelWithArgsArrayImpl(void *func, uint32_t numBlocks, aclrtStream stream,
                                            aclrtLaunchKernelCfg *cfg, void **args)
{
    static const char function[] = "aclrtLaunchKernelWithArgsArray";
    _Alignas(8) char packed[4096];
    size_t count, total_b, none;
    SNPU_ACL_NOT_NULL(func);
    aclError code = snpu_func_param_count(func, &count);
    if (code == 0) {
        code = snpu_func_param(func, count, &total_b, &none);
    }
    if (code != 0) {
        return code;
    }
    SNPU_ACL_REQUIRE(total_b <= sizeof(packed) && (args != NULL || count == 0),
                     "%s: invalid parameters: %zu of %zu bytes at %p", function, count, total_b, (void *)args);
    memset(packed, 0, total_b);
    for (size_t i = 0; i < count && code == 0; i++) {
        size_t offset, size_b;
        SNPU_ACL_REQUIRE(args[i] != NULL, "%s: parameter %zu is NULL", function, i);
        code = snpu_func_param(func, i, &offset, &size_b);
        if (code == 0) {
            memcpy(packed + offset, args[i], size_b);
        }
    }
    void *handle = NULL;
    if (code == 0) {
        code = snpu_func_resolve(function, func, &handle);
    }
    return code != 0 ? code
                     : rtsLaunchKernelWithHostArgs(handle, numBlocks, stream, (rtKernelLaunchCfg_t *)cfg, packed,
                                                   (uint32_t)total_b, NULL, 0);
}

/* ---- built-in tasks ---- */
aclError aclrtRandomNumAsyncImpl(const aclrtRandomNumTaskInfo *taskInfo, const aclrtStream stream, void *reserve)
{
    SNPU_ACL_NOT_NULL(taskInfo);
    SNPU_ACL_REQUIRE(reserve == NULL, "aclrtRandomNumAsync: reserve must be NULL");
    return snpu_random_async(taskInfo, stream);
}
