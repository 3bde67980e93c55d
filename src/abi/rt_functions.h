/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libruntime.so that other libraries call by name.
 *     RT_FN(status, result, name, (parameters))        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
RT_FN(IMPLEMENTED, rtError_t, rtSetDevice, (int32_t devId))
RT_FN(IMPLEMENTED, rtError_t, rtDeviceReset, (int32_t devId))
RT_FN(IMPLEMENTED, rtError_t, rtGetDevice, (int32_t *devId))
RT_FN(IMPLEMENTED, rtError_t, rtGetDeviceCount, (int32_t *cnt))
RT_FN(IMPLEMENTED, rtError_t, rtDeviceSynchronize, (void))
RT_FN(IMPLEMENTED, rtError_t, rtDeviceSynchronizeWithTimeout, (int32_t timeout))
RT_FN(IMPLEMENTED, rtError_t, rtGetRunMode, (rtRunMode *runMode))
RT_FN(IMPLEMENTED, rtError_t, rtGetSocVersion, (char_t *ver, const uint32_t maxLen))
RT_FN(IMPLEMENTED, rtError_t, rtGetSocSpec, (const char *label, const char *key, char *val, const uint32_t maxLen))
RT_FN(IMPLEMENTED, rtError_t, rtGetDeviceInfo, (uint32_t deviceId, int32_t moduleType, int32_t infoType, int64_t *val))
RT_FN(IMPLEMENTED, rtError_t, rtGetDevicePhyIdByIndex, (uint32_t devIndex, uint32_t *phyId))
RT_FN(IMPLEMENTED, rtError_t, rtGetVisibleDeviceIdByLogicDeviceId, (const int32_t logicDeviceId,
      int32_t *const visibleDeviceId))
RT_FN(IMPLEMENTED, rtError_t, rtGetC2cCtrlAddr, (uint64_t *addr, uint32_t *len))
RT_FN(IMPLEMENTED, rtError_t, rtCtxCreateEx, (rtContext_t *createCtx, uint32_t flags, int32_t devId))
RT_FN(IMPLEMENTED, rtError_t, rtCtxDestroyEx, (rtContext_t destroyCtx))
RT_FN(IMPLEMENTED, rtError_t, rtCtxSetCurrent, (rtContext_t currentCtx))
RT_FN(IMPLEMENTED, rtError_t, rtCtxGetCurrent, (rtContext_t *currentCtx))
RT_FN(IMPLEMENTED, rtError_t, rtCtxGetDevice, (int32_t *devId))

/* allocation */
RT_FN(IMPLEMENTED, rtError_t, rtMalloc, (void **devPtr, uint64_t size, rtMemType_t type, const uint16_t moduleId))
RT_FN(IMPLEMENTED, rtError_t, rtMallocCached, (void **devPtr, uint64_t size, rtMemType_t type, const uint16_t moduleId))
RT_FN(IMPLEMENTED, rtError_t, rtFree, (void *devPtr))
RT_FN(IMPLEMENTED, rtError_t, rtMallocHost, (void **hostPtr, uint64_t size, const uint16_t moduleId))
RT_FN(IMPLEMENTED, rtError_t, rtFreeHost, (void *hostPtr))
RT_FN(IMPLEMENTED, rtError_t, rtsMalloc, (void **devPtr, uint64_t size, rtMallocPolicy policy, rtMallocAdvise advise,
      rtMallocConfig_t *cfg))
RT_FN(IMPLEMENTED, rtError_t, rtsMallocHost, (void **hostPtr, uint64_t size, const rtMallocConfig_t *cfg))

/* registered host memory */
RT_FN(IMPLEMENTED, rtError_t, rtsHostRegister, (void *ptr, uint64_t size, rtHostRegisterType type, void **devPtr))
RT_FN(IMPLEMENTED, rtError_t, rtsHostUnregister, (void *ptr))

/* copy and fill */
RT_FN(IMPLEMENTED, rtError_t, rtMemcpy, (void *dst, uint64_t destMax, const void *src, uint64_t cnt,
      rtMemcpyKind_t kind))
RT_FN(IMPLEMENTED, rtError_t, rtMemcpyAsync, (void *dst, uint64_t destMax, const void *src, uint64_t cnt,
      rtMemcpyKind_t kind, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtMemset, (void *devPtr, uint64_t destMax, uint32_t val, uint64_t cnt))
RT_FN(IMPLEMENTED, rtError_t, rtMemsetAsync, (void *ptr, uint64_t destMax, uint32_t val, uint64_t cnt, rtStream_t stm))

/* information */
RT_FN(IMPLEMENTED, rtError_t, rtMemGetInfoEx, (rtMemInfoType_t memInfoType, size_t *freeSize, size_t *totalSize))
RT_FN(IMPLEMENTED, rtError_t, rtPointerGetAttributes, (rtPointerAttributes_t *attributes, const void *ptr))

/* virtual addresses and physical memory */
RT_FN(IMPLEMENTED, rtError_t, rtReserveMemAddress, (void **devPtr, size_t size, size_t alignment, void *devAddr,
      uint64_t flags))
RT_FN(IMPLEMENTED, rtError_t, rtReleaseMemAddress, (void *devPtr))
RT_FN(IMPLEMENTED, rtError_t, rtMallocPhysical, (rtDrvMemHandle *handle, size_t size, rtDrvMemProp_t *prop,
      uint64_t flags))
RT_FN(IMPLEMENTED, rtError_t, rtFreePhysical, (rtDrvMemHandle handle))
RT_FN(IMPLEMENTED, rtError_t, rtMapMem, (void *devPtr, size_t size, size_t offset, rtDrvMemHandle handle,
      uint64_t flags))
RT_FN(IMPLEMENTED, rtError_t, rtUnmapMem, (void *devPtr))
RT_FN(IMPLEMENTED, rtError_t, rtStreamCreate, (rtStream_t *stm, int32_t priority))
RT_FN(IMPLEMENTED, rtError_t, rtStreamCreateWithFlags, (rtStream_t *stm, int32_t priority, uint32_t flags))
RT_FN(IMPLEMENTED, rtError_t, rtStreamDestroy, (rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtStreamSynchronize, (rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtStreamSynchronizeWithTimeout, (rtStream_t stm, int32_t timeout))
RT_FN(IMPLEMENTED, rtError_t, rtStreamQuery, (rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtStreamWaitEvent, (rtStream_t stm, rtEvent_t evt))
RT_FN(IMPLEMENTED, rtError_t, rtGetStreamId, (rtStream_t stm, int32_t *streamId))
RT_FN(IMPLEMENTED, rtError_t, rtGetMaxStreamAndTask, (uint32_t streamType, uint32_t *maxStrCount,
      uint32_t *maxTaskCount))

/* host functions in stream order */
RT_FN(IMPLEMENTED, rtError_t, rtCallbackLaunch, (rtCallback_t callBackFunc, void *fnData, rtStream_t stm, bool isBlock))
RT_FN(IMPLEMENTED, rtError_t, rtSubscribeReport, (uint64_t threadId, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtUnSubscribeReport, (uint64_t threadId, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtProcessReport, (int32_t timeout))

/* marks in the device's log */
RT_FN(IMPLEMENTED, rtError_t, rtProfilerTrace, (uint64_t id, bool notify, uint32_t flags, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtProfilerTraceEx, (uint64_t id, uint64_t modelId, uint16_t tagId, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtEventCreate, (rtEvent_t *evt))
RT_FN(IMPLEMENTED, rtError_t, rtEventCreateWithFlag, (rtEvent_t *evt, uint32_t flag))
RT_FN(IMPLEMENTED, rtError_t, rtEventCreateExWithFlag, (rtEvent_t *evt, uint32_t flag))
RT_FN(IMPLEMENTED, rtError_t, rtEventDestroy, (rtEvent_t evt))
RT_FN(IMPLEMENTED, rtError_t, rtEventRecord, (rtEvent_t evt, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtEventReset, (rtEvent_t evt, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtEventQuery, (rtEvent_t evt))
RT_FN(IMPLEMENTED, rtError_t, rtEventQueryStatus, (rtEvent_t evt, rtEventStatus_t *status))
RT_FN(IMPLEMENTED, rtError_t, rtEventSynchronize, (rtEvent_t evt))
RT_FN(IMPLEMENTED, rtError_t, rtEventElapsedTime, (float32_t *timeInterval, rtEvent_t startEvent, rtEvent_t endEvent))
RT_FN(IMPLEMENTED, rtError_t, rtNotifyCreate, (int32_t deviceId, rtNotify_t *notify))
RT_FN(IMPLEMENTED, rtError_t, rtNotifyDestroy, (rtNotify_t notify))
RT_FN(IMPLEMENTED, rtError_t, rtNotifyRecord, (rtNotify_t notify, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtNotifyWait, (rtNotify_t notify, rtStream_t stm))

/* binaries and functions */
RT_FN(IMPLEMENTED, rtError_t, rtDevBinaryRegister, (const rtDevBinary_t *bin, void **hdl))
RT_FN(IMPLEMENTED, rtError_t, rtRegisterAllKernel, (const rtDevBinary_t *bin, void **hdl))
RT_FN(IMPLEMENTED, rtError_t, rtDevBinaryUnRegister, (void *hdl))
RT_FN(IMPLEMENTED, rtError_t, rtFunctionRegister, (void *binHandle, const void *stubFunc, const char_t *stubName,
      const void *kernelInfoExt, uint32_t funcMode))
RT_FN(IMPLEMENTED, rtError_t, rtGetFunctionByName, (const char_t *stubName, void **stubFunc))
RT_FN(IMPLEMENTED, rtError_t, rtQueryFunctionRegistered, (const char_t *stubName))
RT_FN(IMPLEMENTED, rtError_t, rtBinaryLoad, (const rtDevBinary_t *bin, rtBinHandle *binHandle))
RT_FN(IMPLEMENTED, rtError_t, rtBinaryUnLoad, (rtBinHandle binHandle))
RT_FN(IMPLEMENTED, rtError_t, rtBinaryGetFunction, (const rtBinHandle binHandle, const uint64_t tilingKey,
      rtFuncHandle *funcHandle))
RT_FN(IMPLEMENTED, rtError_t, rtBinaryGetFunctionByName, (const rtBinHandle binHandle, const char *kernelName,
      rtFuncHandle *funcHandle))
RT_FN(IMPLEMENTED, rtError_t, rtsBinaryLoadFromFile, (const char_t *const binPath,
      const rtLoadBinaryConfig_t *const optionalCfg, rtBinHandle *handle))
RT_FN(IMPLEMENTED, rtError_t, rtsBinaryLoadFromData, (const void *const data, const uint64_t length,
      const rtLoadBinaryConfig_t *const optionalCfg, rtBinHandle *handle))
RT_FN(IMPLEMENTED, rtError_t, rtsFuncGetByName, (const rtBinHandle binHandle, const char_t *kernelName,
      rtFuncHandle *funcHandle))
RT_FN(IMPLEMENTED, rtError_t, rtsFuncGetByEntry, (const rtBinHandle binHandle, const uint64_t funcEntry,
      rtFuncHandle *funcHandle))
RT_FN(IMPLEMENTED, rtError_t, rtsFuncGetName, (const rtFuncHandle funcHandle, const uint32_t maxLen,
      char_t *const name))
RT_FN(IMPLEMENTED, rtError_t, rtsFuncGetAddr, (const rtFuncHandle funcHandle, void **aicAddr, void **aivAddr))

/* launches by stub, by binary and tiling key, by function */
RT_FN(IMPLEMENTED, rtError_t, rtKernelLaunch, (const void *stubFunc, uint32_t numBlocks, void *args, uint32_t argsSize,
      rtSmDesc_t *smDesc, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtKernelLaunchWithFlag, (const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo,
      rtSmDesc_t *smDesc, rtStream_t stm, uint32_t flags))
RT_FN(IMPLEMENTED, rtError_t, rtKernelLaunchWithFlagV2, (const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo,
      rtSmDesc_t *smDesc, rtStream_t stm, uint32_t flags, const rtTaskCfgInfo_t *cfgInfo))
RT_FN(IMPLEMENTED, rtError_t, rtVectorCoreKernelLaunch, (const void *stubFunc, uint32_t numBlocks, rtArgsEx_t *argsInfo,
      rtSmDesc_t *smDesc, rtStream_t stm, uint32_t flags, const rtTaskCfgInfo_t *cfgInfo))
RT_FN(IMPLEMENTED, rtError_t, rtKernelLaunchWithHandle, (void *hdl, const uint64_t tilingKey, uint32_t numBlocks,
      rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm, const void *kernelInfo))
RT_FN(IMPLEMENTED, rtError_t, rtKernelLaunchWithHandleV2, (void *hdl, const uint64_t tilingKey, uint32_t numBlocks,
      rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo))
RT_FN(IMPLEMENTED, rtError_t, rtVectorCoreKernelLaunchWithHandle, (void *hdl, const uint64_t tilingKey,
      uint32_t numBlocks, rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo))
RT_FN(IMPLEMENTED, rtError_t, rtLaunchKernelByFuncHandle, (rtFuncHandle funcHandle, uint32_t numBlocks,
      rtLaunchArgsHandle argsHandle, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtLaunchKernelByFuncHandleV2, (rtFuncHandle funcHandle, uint32_t numBlocks,
      rtLaunchArgsHandle argsHandle, rtStream_t stm, const rtTaskCfgInfo_t *cfgInfo))
RT_FN(IMPLEMENTED, rtError_t, rtLaunchKernelByFuncHandleV3, (rtFuncHandle funcHandle, uint32_t numBlocks,
      const rtArgsEx_t *const argsInfo, rtStream_t stm, const rtTaskCfgInfo_t *const cfgInfo))
RT_FN(IMPLEMENTED, rtError_t, rtsLaunchKernelWithConfig, (rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,
      rtKernelLaunchCfg_t *cfg, rtArgsHandle argsHandle, void *reserve))
RT_FN(IMPLEMENTED, rtError_t, rtsLaunchKernelWithDevArgs, (rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,
      rtKernelLaunchCfg_t *cfg, const void *args, uint32_t argsSize, void *reserve))
RT_FN(IMPLEMENTED, rtError_t, rtsLaunchKernelWithHostArgs, (rtFuncHandle funcHandle, uint32_t numBlocks, rtStream_t stm,
      rtKernelLaunchCfg_t *cfg, void *hostArgs, uint32_t argsSize, rtPlaceHolderInfo_t *placeHolderArray,
      uint32_t placeHolderNum))
RT_FN(IMPLEMENTED, rtError_t, rtAicpuKernelLaunchExWithArgs, (const uint32_t kernelType, const char_t *const opName,
      const uint32_t numBlocks, const rtAicpuArgsEx_t *argsInfo, rtSmDesc_t *const smDesc, const rtStream_t stm,
      const uint32_t flags))
RT_FN(IMPLEMENTED, rtError_t, rtCpuKernelLaunchWithFlag, (const void *soName, const void *kernelName,
      uint32_t numBlocks, const rtArgsEx_t *argsInfo, rtSmDesc_t *smDesc, rtStream_t stm, uint32_t flags))

/* launch in three steps */
RT_FN(IMPLEMENTED, rtError_t, rtConfigureCall, (uint32_t numBlocks, rtSmDesc_t *smDesc, rtStream_t stm))
RT_FN(IMPLEMENTED, rtError_t, rtSetupArgument, (const void *args, uint32_t size, uint32_t offset))
RT_FN(IMPLEMENTED, rtError_t, rtLaunch, (const void *stubFunc))

/* information on launched tasks */
RT_FN(IMPLEMENTED, rtError_t, rtSetTaskTag, (const char_t *taskTag))
RT_FN(IMPLEMENTED, rtError_t, rtGetTaskIdAndStreamID, (uint32_t *taskId, uint32_t *streamId))

/* clang-format on */

#undef RT_FN
