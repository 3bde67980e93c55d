/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the public ACL runtime interface, once.
 *
 *     ACL_FN(status, result, name, (parameters), (arguments))
 *
 * status IMPLEMENTED: libascendcl_impl.so defines nameImpl; UNSUPPORTED: the row generates a nameImpl that returns
 * "not supported". A wrong status does not link. ACL_FN rows are the set that every program may rely on,
 * ACL_FN_EXTRA rows the others; ACL_FN_FRONT rows have no Impl function: the front libraries define them. Define
 * ACL_FN before including this file; the other two default to it. All three are undefined at the end. */
#ifndef ACL_FN_EXTRA
#define ACL_FN_EXTRA ACL_FN
#endif
#ifndef ACL_FN_FRONT
#define ACL_FN_FRONT ACL_FN
#endif

/* clang-format off */

/* ==== System ==== */
/* versions */
ACL_FN(IMPLEMENTED, aclError, aclrtGetVersion, (int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion),
       (majorVersion, minorVersion, patchVersion))
ACL_FN(IMPLEMENTED, aclError, aclsysGetCANNVersion, (aclCANNPackageName name, aclCANNPackageVersion *version), (name,
       version))
ACL_FN(IMPLEMENTED, aclError, aclsysGetVersionStr, (char *pkgName, char *versionStr), (pkgName, versionStr))
ACL_FN(IMPLEMENTED, aclError, aclsysGetVersionNum, (char *pkgName, int32_t *versionNum), (pkgName, versionNum))
ACL_FN(IMPLEMENTED, const char *, aclrtGetSocName, (void), ())
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCheckArchCompatibility, (const char *socVersion, int32_t *canCompatible),
             (socVersion, canCompatible))
/* life cycle */
ACL_FN(IMPLEMENTED, aclError, aclInit, (const char *configPath), (configPath))
ACL_FN(IMPLEMENTED, aclError, aclFinalize, (void), ())
ACL_FN(IMPLEMENTED, aclError, aclFinalizeReference, (uint64_t *refCount), (refCount))
ACL_FN(IMPLEMENTED, aclError, aclInitCallbackRegister, (aclRegisterCallbackType type, aclInitCallbackFunc cbFunc,
       void *userData), (type, cbFunc, userData))
ACL_FN(IMPLEMENTED, aclError, aclInitCallbackUnRegister, (aclRegisterCallbackType type, aclInitCallbackFunc cbFunc),
       (type, cbFunc))
ACL_FN(IMPLEMENTED, aclError, aclFinalizeCallbackRegister, (aclRegisterCallbackType type,
       aclFinalizeCallbackFunc cbFunc, void *userData), (type, cbFunc, userData))
ACL_FN(IMPLEMENTED, aclError, aclFinalizeCallbackUnRegister, (aclRegisterCallbackType type,
       aclFinalizeCallbackFunc cbFunc), (type, cbFunc))
/* attributes and options */
ACL_FN(IMPLEMENTED, aclError, aclGetCannAttribute, (aclCannAttr cannAttr, int32_t *value), (cannAttr, value))
ACL_FN(IMPLEMENTED, aclError, aclGetCannAttributeList, (const aclCannAttr **cannAttrList, size_t *num), (cannAttrList,
       num))
ACL_FN(IMPLEMENTED, aclError, aclGetDeviceCapability, (uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value),
       (deviceId, deviceInfo, value))
ACL_FN(IMPLEMENTED, aclError, aclrtGetSysParamOpt, (aclSysParamOpt opt, int64_t *value), (opt, value))
ACL_FN(IMPLEMENTED, aclError, aclrtSetSysParamOpt, (aclSysParamOpt opt, int64_t value), (opt, value))
ACL_FN(IMPLEMENTED, aclError, aclrtCtxGetSysParamOpt, (aclSysParamOpt opt, int64_t *value), (opt, value))
ACL_FN(IMPLEMENTED, aclError, aclrtCtxSetSysParamOpt, (aclSysParamOpt opt, int64_t value), (opt, value))
/* error state */
ACL_FN(IMPLEMENTED, const char *, aclGetRecentErrMsg, (void), ())
ACL_FN(IMPLEMENTED, aclError, aclrtGetLastError, (aclrtLastErrLevel level), (level))
ACL_FN(IMPLEMENTED, aclError, aclrtPeekAtLastError, (aclrtLastErrLevel level), (level))
ACL_FN(IMPLEMENTED, aclError, aclrtGetErrorVerbose, (int32_t deviceId, aclrtErrorInfo *errorInfo), (deviceId,
       errorInfo))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtRepairError, (int32_t deviceId, const aclrtErrorInfo *errorInfo), (deviceId,
             errorInfo))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetMemUceInfo, (int32_t deviceId, aclrtMemUceInfo *memUceInfoArray,
             size_t arraySize, size_t *retSize), (deviceId, memUceInfoArray, arraySize, retSize))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemUceRepair, (int32_t deviceId, aclrtMemUceInfo *memUceInfoArray,
             size_t arraySize), (deviceId, memUceInfoArray, arraySize))
/* task exceptions */
ACL_FN(IMPLEMENTED, aclError, aclrtSetExceptionInfoCallback, (aclrtExceptionInfoCallback callback), (callback))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtExceptionInfoCallbackRegister, (aclrtExceptionInfoCallback callback),
             (callback))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtExceptionInfoCallbackUnregister, (aclrtExceptionInfoCallback callback),
             (callback))
ACL_FN(IMPLEMENTED, uint32_t, aclrtGetTaskIdFromExceptionInfo, (const aclrtExceptionInfo *info), (info))
ACL_FN(IMPLEMENTED, uint32_t, aclrtGetStreamIdFromExceptionInfo, (const aclrtExceptionInfo *info), (info))
ACL_FN(IMPLEMENTED, uint32_t, aclrtGetThreadIdFromExceptionInfo, (const aclrtExceptionInfo *info), (info))
ACL_FN(IMPLEMENTED, uint32_t, aclrtGetDeviceIdFromExceptionInfo, (const aclrtExceptionInfo *info), (info))
ACL_FN(IMPLEMENTED, uint32_t, aclrtGetErrorCodeFromExceptionInfo, (const aclrtExceptionInfo *info), (info))
ACL_FN(IMPLEMENTED, aclError, aclrtGetArgsFromExceptionInfo, (const aclrtExceptionInfo *info, void **devArgsPtr,
       uint32_t *devArgsLen), (info, devArgsPtr, devArgsLen))
/* process snapshots */
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtSnapShotProcessLock, (int pid, void *reserve), (pid, reserve))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtSnapShotProcessUnlock, (int pid, void *reserve), (pid, reserve))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtSnapShotProcessBackup, (int pid, aclrtSnapShotBackupArgs *args), (pid, args))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtSnapShotProcessRestore, (int pid, aclrtSnapShotRestoreArgs *args), (pid, args))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtSnapShotCallbackRegister, (aclrtSnapShotStage stage,
             aclrtSnapShotCallBack callback, void *args), (stage, callback, args))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtSnapShotCallbackUnregister, (aclrtSnapShotStage stage,
             aclrtSnapShotCallBack callback), (stage, callback))

/* ==== Devices and contexts ==== */
/* device selection */
ACL_FN(IMPLEMENTED, aclError, aclrtGetDeviceCount, (uint32_t *count), (count))
ACL_FN(IMPLEMENTED, aclError, aclrtSetDevice, (int32_t deviceId), (deviceId))
ACL_FN(IMPLEMENTED, aclError, aclrtGetDevice, (int32_t *deviceId), (deviceId))
ACL_FN(IMPLEMENTED, aclError, aclrtResetDevice, (int32_t deviceId), (deviceId))
ACL_FN(IMPLEMENTED, aclError, aclrtResetDeviceForce, (int32_t deviceId), (deviceId))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSetDeviceWithoutTsdVXX, (int32_t deviceId), (deviceId))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtResetDeviceWithoutTsdVXX, (int32_t deviceId), (deviceId))
ACL_FN(IMPLEMENTED, aclError, aclrtGetRunMode, (aclrtRunMode *runMode), (runMode))
ACL_FN(IMPLEMENTED, aclError, aclrtSetTsDevice, (aclrtTsId tsId), (tsId))
ACL_FN(IMPLEMENTED, aclError, aclrtSynchronizeDevice, (void), ())
ACL_FN(IMPLEMENTED, aclError, aclrtSynchronizeDeviceWithTimeout, (int32_t timeout), (timeout))
/* attributes and state */
ACL_FN(IMPLEMENTED, aclError, aclrtGetDeviceInfo, (uint32_t deviceId, aclrtDevAttr attr, int64_t *value), (deviceId,
       attr, value))
ACL_FN(IMPLEMENTED, aclError, aclrtGetDeviceCapability, (int32_t deviceId, aclrtDevFeatureType devFeatureType,
       int32_t *value), (deviceId, devFeatureType, value))
ACL_FN(IMPLEMENTED, aclError, aclrtQueryDeviceStatus, (int32_t deviceId, aclrtDeviceStatus *deviceStatus), (deviceId,
       deviceStatus))
ACL_FN(IMPLEMENTED, aclError, aclrtGetDeviceUtilizationRate, (int32_t deviceId, aclrtUtilizationInfo *utilizationInfo),
       (deviceId, utilizationInfo))
ACL_FN(IMPLEMENTED, aclError, aclrtDeviceGetUuid, (int32_t deviceId, aclrtUuid *uuid), (deviceId, uuid))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDeviceGetPCIBusId, (int32_t deviceId, char *pciBusId, int32_t len), (deviceId,
             pciBusId, len))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDeviceGetByPCIBusId, (const char *pciBusId, int32_t *deviceId), (pciBusId,
             deviceId))
ACL_FN(IMPLEMENTED, aclError, aclrtDeviceGetBareTgid, (int32_t *pid), (pid))
ACL_FN(IMPLEMENTED, aclError, aclrtDeviceGetStreamPriorityRange, (int32_t *leastPriority, int32_t *greatestPriority),
       (leastPriority, greatestPriority))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDeviceL2CacheFlush, (void *rsv), (rsv))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetHardwareSyncAddr, (void **addr), (addr))
ACL_FN(IMPLEMENTED, aclError, aclrtRegDeviceStateCallback, (const char *regName, aclrtDeviceStateCallback callback,
       void *args), (regName, callback, args))
ACL_FN(IMPLEMENTED, aclError, aclrtSetDeviceSatMode, (aclrtFloatOverflowMode mode), (mode))
ACL_FN(IMPLEMENTED, aclError, aclrtGetDeviceSatMode, (aclrtFloatOverflowMode *mode), (mode))
/* numbering */
ACL_FN(IMPLEMENTED, aclError, aclrtGetLogicDevIdByUserDevId, (const int32_t userDevid, int32_t *const logicDevId),
       (userDevid, logicDevId))
ACL_FN(IMPLEMENTED, aclError, aclrtGetUserDevIdByLogicDevId, (const int32_t logicDevId, int32_t *const userDevid),
       (logicDevId, userDevid))
ACL_FN(IMPLEMENTED, aclError, aclrtGetLogicDevIdByPhyDevId, (const int32_t phyDevId, int32_t *const logicDevId),
       (phyDevId, logicDevId))
ACL_FN(IMPLEMENTED, aclError, aclrtGetPhyDevIdByLogicDevId, (const int32_t logicDevId, int32_t *const phyDevId),
       (logicDevId, phyDevId))
ACL_FN(IMPLEMENTED, aclError, aclrtGetUserDevIdByPhyDevId, (const int32_t phyDevId, int32_t *const userDevId),
       (phyDevId, userDevId))
ACL_FN(IMPLEMENTED, aclError, aclrtGetPhyDevIdByUserDevId, (const int32_t userDevId, int32_t *const phyDevId),
       (userDevId, phyDevId))
/* peers */
ACL_FN(IMPLEMENTED, aclError, aclrtDeviceCanAccessPeer, (int32_t *canAccessPeer, int32_t deviceId,
       int32_t peerDeviceId), (canAccessPeer, deviceId, peerDeviceId))
ACL_FN(IMPLEMENTED, aclError, aclrtDeviceEnablePeerAccess, (int32_t peerDeviceId, uint32_t flags), (peerDeviceId,
       flags))
ACL_FN(IMPLEMENTED, aclError, aclrtDeviceDisablePeerAccess, (int32_t peerDeviceId), (peerDeviceId))
ACL_FN(IMPLEMENTED, aclError, aclrtDevicePeerAccessStatus, (int32_t deviceId, int32_t peerDeviceId, int32_t *status),
       (deviceId, peerDeviceId, status))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetDevicesTopo, (uint32_t deviceId, uint32_t otherDeviceId, uint64_t *value),
             (deviceId, otherDeviceId, value))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDeviceGetHostAtomicCapabilities, (uint32_t *capabilities,
             const aclrtAtomicOperation *operations, const uint32_t count, int32_t deviceId), (capabilities, operations,
             count, deviceId))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDeviceGetP2PAtomicCapabilities, (uint32_t *capabilities,
             const aclrtAtomicOperation *operations, const uint32_t count, int32_t srcDeviceId, int32_t dstDeviceId),
             (capabilities, operations, count, srcDeviceId, dstDeviceId))
/* aborting all work of a device */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDeviceTaskAbort, (int32_t deviceId, uint32_t timeout), (deviceId, timeout))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSetDeviceTaskAbortCallback, (const char *regName,
             aclrtDeviceTaskAbortCallback callback, void *args), (regName, callback, args))
/* limits */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetDeviceResLimit, (int32_t deviceId, aclrtDevResLimitType type,
             uint32_t *value), (deviceId, type, value))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSetDeviceResLimit, (int32_t deviceId, aclrtDevResLimitType type,
             uint32_t value), (deviceId, type, value))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtResetDeviceResLimit, (int32_t deviceId), (deviceId))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetStreamResLimit, (aclrtStream stream, aclrtDevResLimitType type,
             uint32_t *value), (stream, type, value))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSetStreamResLimit, (aclrtStream stream, aclrtDevResLimitType type,
             uint32_t value), (stream, type, value))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtResetStreamResLimit, (aclrtStream stream), (stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtUseStreamResInCurrentThread, (aclrtStream stream), (stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtUnuseStreamResInCurrentThread, (aclrtStream stream), (stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetResInCurrentThread, (aclrtDevResLimitType type, uint32_t *value), (type,
             value))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDeviceSetLimit, (aclrtDeviceLimit limit, size_t value), (limit, value))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDeviceGetLimit, (aclrtDeviceLimit limit, size_t *value), (limit, value))
/* contexts */
ACL_FN(IMPLEMENTED, aclError, aclrtCreateContext, (aclrtContext *context, int32_t deviceId), (context, deviceId))
ACL_FN(IMPLEMENTED, aclError, aclrtDestroyContext, (aclrtContext context), (context))
ACL_FN(IMPLEMENTED, aclError, aclrtSetCurrentContext, (aclrtContext context), (context))
ACL_FN(IMPLEMENTED, aclError, aclrtGetCurrentContext, (aclrtContext *context), (context))
ACL_FN(IMPLEMENTED, aclError, aclrtGetPrimaryCtxState, (int32_t deviceId, uint32_t *flags, int32_t *active), (deviceId,
       flags, active))
ACL_FN(IMPLEMENTED, aclError, aclrtCtxGetCurrentDefaultStream, (aclrtStream *stream), (stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCtxGetFloatOverflowAddr, (void **overflowAddr), (overflowAddr))
/* groups of compute units */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSetGroup, (int32_t groupId), (groupId))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetGroupCount, (uint32_t *count), (count))
ACL_FN_EXTRA(IMPLEMENTED, aclrtGroupInfo *, aclrtCreateGroupInfo, (void), ())
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDestroyGroupInfo, (aclrtGroupInfo *groupInfo), (groupInfo))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetAllGroupInfo, (aclrtGroupInfo *groupInfo), (groupInfo))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetGroupInfoDetail, (const aclrtGroupInfo *groupInfo, int32_t groupIndex,
             aclrtGroupAttr attr, void *attrValue, size_t valueLen, size_t *paramRetSize), (groupInfo, groupIndex, attr,
             attrValue, valueLen, paramRetSize))

/* ==== Memory ==== */
/* allocation */
ACL_FN(IMPLEMENTED, aclError, aclrtMalloc, (void **devPtr, size_t size, aclrtMemMallocPolicy policy), (devPtr, size,
       policy))
ACL_FN(IMPLEMENTED, aclError, aclrtMallocAlign32, (void **devPtr, size_t size, aclrtMemMallocPolicy policy), (devPtr,
       size, policy))
ACL_FN(IMPLEMENTED, aclError, aclrtMallocCached, (void **devPtr, size_t size, aclrtMemMallocPolicy policy), (devPtr,
       size, policy))
ACL_FN(IMPLEMENTED, aclError, aclrtMallocWithCfg, (void **devPtr, size_t size, aclrtMemMallocPolicy policy,
       aclrtMallocConfig *cfg), (devPtr, size, policy, cfg))
ACL_FN(IMPLEMENTED, aclError, aclrtMallocForTaskScheduler, (void **devPtr, size_t size, aclrtMemMallocPolicy policy,
       aclrtMallocConfig *cfg), (devPtr, size, policy, cfg))
ACL_FN(IMPLEMENTED, aclError, aclrtFree, (void *devPtr), (devPtr))
ACL_FN(IMPLEMENTED, aclError, aclrtFreeWithDevSync, (void *devPtr), (devPtr))
/* pinned and registered host memory */
ACL_FN(IMPLEMENTED, aclError, aclrtMallocHost, (void **hostPtr, size_t size), (hostPtr, size))
ACL_FN(IMPLEMENTED, aclError, aclrtMallocHostWithCfg, (void **ptr, uint64_t size, aclrtMallocConfig *cfg), (ptr, size,
       cfg))
ACL_FN(IMPLEMENTED, aclError, aclrtFreeHost, (void *hostPtr), (hostPtr))
ACL_FN(IMPLEMENTED, aclError, aclrtFreeHostWithDevSync, (void *hostPtr), (hostPtr))
ACL_FN(IMPLEMENTED, aclError, aclrtHostRegister, (void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr),
       (ptr, size, type, devPtr))
ACL_FN(IMPLEMENTED, aclError, aclrtHostRegisterV2, (void *ptr, uint64_t size, uint32_t flag), (ptr, size, flag))
ACL_FN(IMPLEMENTED, aclError, aclrtHostUnregister, (void *ptr), (ptr))
ACL_FN(IMPLEMENTED, aclError, aclrtHostGetDevicePointer, (void *pHost, void **pDevice, uint32_t flag), (pHost, pDevice,
       flag))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtHostMemMapCapabilities, (uint32_t deviceId, aclrtHacType hacType,
             aclrtHostMemMapCapability *capabilities), (deviceId, hacType, capabilities))
/* pointer attributes */
ACL_FN(IMPLEMENTED, aclError, aclrtPointerGetAttributes, (const void *ptr, aclrtPtrAttributes *attributes), (ptr,
       attributes))
ACL_FN(IMPLEMENTED, aclError, aclrtCheckMemType, (void **addrList, uint32_t size, uint32_t memType,
       uint32_t *checkResult, uint32_t reserve), (addrList, size, memType, checkResult, reserve))
/* capacity and use */
ACL_FN(IMPLEMENTED, aclError, aclrtGetMemInfo, (aclrtMemAttr attr, size_t *free, size_t *total), (attr, free, total))
ACL_FN(IMPLEMENTED, aclError, aclrtGetMemUsageInfo, (int32_t deviceId, aclrtMemUsageInfo *memUsageInfo, size_t inputNum,
       size_t *outputNum), (deviceId, memUsageInfo, inputNum, outputNum))
/* fill */
ACL_FN(IMPLEMENTED, aclError, aclrtMemset, (void *devPtr, size_t maxCount, int32_t value, size_t count), (devPtr,
       maxCount, value, count))
ACL_FN(IMPLEMENTED, aclError, aclrtMemsetAsync, (void *devPtr, size_t maxCount, int32_t value, size_t count,
       aclrtStream stream), (devPtr, maxCount, value, count, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtMemsetD32, (void *ptr, size_t memSize, uint32_t value, size_t N), (ptr, memSize,
       value, N))
ACL_FN(IMPLEMENTED, aclError, aclrtMemsetD32Async, (void *ptr, size_t memSize, uint32_t value, size_t N,
       aclrtStream stream), (ptr, memSize, value, N, stream))
/* copy */
ACL_FN(IMPLEMENTED, aclError, aclrtMemcpy, (void *dst, size_t destMax, const void *src, size_t count,
       aclrtMemcpyKind kind), (dst, destMax, src, count, kind))
ACL_FN(IMPLEMENTED, aclError, aclrtMemcpyAsync, (void *dst, size_t destMax, const void *src, size_t count,
       aclrtMemcpyKind kind, aclrtStream stream), (dst, destMax, src, count, kind, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtMemcpyAsyncWithCondition, (void *dst, size_t destMax, const void *src, size_t count,
       aclrtMemcpyKind kind, aclrtStream stream), (dst, destMax, src, count, kind, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtMemcpy2d, (void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
       size_t height, aclrtMemcpyKind kind), (dst, dpitch, src, spitch, width, height, kind))
ACL_FN(IMPLEMENTED, aclError, aclrtMemcpy2dAsync, (void *dst, size_t dpitch, const void *src, size_t spitch,
       size_t width, size_t height, aclrtMemcpyKind kind, aclrtStream stream), (dst, dpitch, src, spitch, width, height,
       kind, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtMemcpyBatch, (void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
       size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex), (dsts,
       destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex))
ACL_FN(IMPLEMENTED, aclError, aclrtMemcpyBatchAsync, (void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
       size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex,
       aclrtStream stream), (dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, failIndex, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemcpyBatchV2, (void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
             size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs), (dsts, destMaxs,
             srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemcpyBatchAsyncV2, (void **dsts, size_t *destMaxs, void **srcs, size_t *sizes,
             size_t numBatches, aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, aclrtStream stream),
             (dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetMemcpyDescSize, (aclrtMemcpyKind kind, size_t *descSize), (kind, descSize))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSetMemcpyDesc, (void *desc, aclrtMemcpyKind kind, void *srcAddr, void *dstAddr,
             size_t count, void *config), (desc, kind, srcAddr, dstAddr, count, config))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemcpyAsyncWithDesc, (void *desc, aclrtMemcpyKind kind, aclrtStream stream),
             (desc, kind, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemcpyAsyncWithOffset, (void **dst, size_t destMax, size_t dstDataOffset,
             const void **src, size_t count, size_t srcDataOffset, aclrtMemcpyKind kind, aclrtStream stream), (dst,
             destMax, dstDataOffset, src, count, srcDataOffset, kind, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetSymbolAddress, (const void *symbol, void **devPtr), (symbol, devPtr))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetSymbolSize, (const void *symbol, size_t *size), (symbol, size))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemcpyFromSymbol, (void *dst, size_t dstMax, const void *symbol, size_t count,
             size_t offset, aclrtMemcpyKind kind), (dst, dstMax, symbol, count, offset, kind))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemcpyFromSymbolAsync, (void *dst, size_t dstMax, const void *symbol,
             size_t count, size_t offset, aclrtMemcpyKind kind, aclrtStream stream), (dst, dstMax, symbol, count,
             offset, kind, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemcpyToSymbol, (const void *symbol, const void *src, size_t count,
             size_t offset, aclrtMemcpyKind kind), (symbol, src, count, offset, kind))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemcpyToSymbolAsync, (const void *symbol, const void *src, size_t count,
             size_t offset, aclrtMemcpyKind kind, aclrtStream stream), (symbol, src, count, offset, kind, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtReduceAsync, (void *dst, const void *src, uint64_t count, aclrtReduceKind kind,
       aclDataType type, aclrtStream stream, void *reserve), (dst, src, count, kind, type, stream, reserve))
/* caches */
ACL_FN(IMPLEMENTED, aclError, aclrtMemFlush, (void *devPtr, size_t size), (devPtr, size))
ACL_FN(IMPLEMENTED, aclError, aclrtMemInvalidate, (void *devPtr, size_t size), (devPtr, size))
ACL_FN(IMPLEMENTED, aclError, aclrtCmoAsync, (void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream), (src,
       size, cmoType, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCmoAsyncWithBarrier, (void *src, size_t size, aclrtCmoType cmoType,
             uint32_t barrierId, aclrtStream stream), (src, size, cmoType, barrierId, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCmoWaitBarrier, (aclrtBarrierTaskInfo *taskInfo, aclrtStream stream,
             uint32_t flag), (taskInfo, stream, flag))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCmoGetDescSize, (size_t *size), (size))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCmoSetDesc, (void *cmoDesc, void *src, size_t size), (cmoDesc, src, size))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCmoAsyncWithDesc, (void *cmoDesc, aclrtCmoType cmoType, aclrtStream stream,
             const void *reserve), (cmoDesc, cmoType, stream, reserve))
/* managed memory */
ACL_FN(IMPLEMENTED, aclError, aclrtMemAllocManaged, (void **ptr, uint64_t size, uint32_t flag), (ptr, size, flag))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemManagedGetAttr, (aclrtMemManagedRangeAttribute attribute, const void *ptr,
             size_t size, void *data, size_t dataSize), (attribute, ptr, size, data, dataSize))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemManagedGetAttrs, (aclrtMemManagedRangeAttribute *attributes,
             size_t numAttributes, const void *ptr, size_t size, void **data, size_t *dataSizes), (attributes,
             numAttributes, ptr, size, data, dataSizes))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemManagedAdvise, (const void *const ptr, uint64_t size,
             aclrtMemManagedAdviseType advise, aclrtMemManagedLocation location), (ptr, size, advise, location))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemManagedPrefetchAsync, (const void *ptr, size_t size,
             aclrtMemManagedLocation location, uint32_t flags, aclrtStream stream), (ptr, size, location, flags,
             stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemManagedPrefetchBatchAsync, (const void **ptrs, size_t *sizes, size_t count,
             aclrtMemManagedLocation *prefetchLocs, size_t *prefetchLocIdxs, size_t numPrefetchLocs, uint64_t flags,
             aclrtStream stream), (ptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream))

/* ==== Virtual memory, sharing, pools ==== */
/* virtual addresses and physical memory */
ACL_FN(IMPLEMENTED, aclError, aclrtReserveMemAddress, (void **virPtr, size_t size, size_t alignment, void *expectPtr,
       uint64_t flags), (virPtr, size, alignment, expectPtr, flags))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtReserveMemAddressNoUCMemory, (void **virPtr, size_t size, size_t alignment,
             void *expectPtr, uint64_t flags), (virPtr, size, alignment, expectPtr, flags))
ACL_FN(IMPLEMENTED, aclError, aclrtReleaseMemAddress, (void *virPtr), (virPtr))
ACL_FN(IMPLEMENTED, aclError, aclrtMallocPhysical, (aclrtDrvMemHandle *handle, size_t size,
       const aclrtPhysicalMemProp *prop, uint64_t flags), (handle, size, prop, flags))
ACL_FN(IMPLEMENTED, aclError, aclrtFreePhysical, (aclrtDrvMemHandle handle), (handle))
ACL_FN(IMPLEMENTED, aclError, aclrtMapMem, (void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
       uint64_t flags), (virPtr, size, offset, handle, flags))
ACL_FN(IMPLEMENTED, aclError, aclrtUnmapMem, (void *virPtr), (virPtr))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemMapNoAccess, (void *virPtr, size_t size, size_t offset,
             aclrtDrvMemHandle handle, uint64_t flags), (virPtr, size, offset, handle, flags))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtMemMapSelectedLink, (void *virPtrDst, size_t size, void *virPtrSrc,
             uint32_t linkIdx), (virPtrDst, size, virPtrSrc, linkIdx))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtMemMapSetLink, (aclrtDrvMemHandle handle, aclrtMemLinkType adviceLink),
             (handle, adviceLink))
ACL_FN(IMPLEMENTED, aclError, aclrtMemSetAccess, (void *virPtr, size_t size, aclrtMemAccessDesc *desc, size_t count),
       (virPtr, size, desc, count))
ACL_FN(IMPLEMENTED, aclError, aclrtMemGetAccess, (void *virPtr, aclrtMemLocation *location, uint64_t *flag), (virPtr,
       location, flag))
ACL_FN(IMPLEMENTED, aclError, aclrtMemGetAllocationGranularity, (aclrtPhysicalMemProp *prop,
       aclrtMemGranularityOptions option, size_t *granularity), (prop, option, granularity))
ACL_FN(IMPLEMENTED, aclError, aclrtMemGetAddressRange, (void *ptr, void **pbase, size_t *psize), (ptr, pbase, psize))
ACL_FN(IMPLEMENTED, aclError, aclrtMemRetainAllocationHandle, (void *virPtr, aclrtDrvMemHandle *handle), (virPtr,
       handle))
ACL_FN(IMPLEMENTED, aclError, aclrtMemGetAllocationPropertiesFromHandle, (aclrtDrvMemHandle handle,
       aclrtPhysicalMemProp *prop), (handle, prop))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemP2PMap, (void *devPtr, size_t size, int32_t dstDevId, uint64_t flags),
             (devPtr, size, dstDevId, flags))
/* physical memory shared between processes */
ACL_FN(IMPLEMENTED, aclError, aclrtMemExportToShareableHandle, (aclrtDrvMemHandle handle, aclrtMemHandleType handleType,
       uint64_t flags, uint64_t *shareableHandle), (handle, handleType, flags, shareableHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtMemExportToShareableHandleV2, (aclrtDrvMemHandle handle, uint64_t flags,
       aclrtMemSharedHandleType shareType, void *shareableHandle), (handle, flags, shareType, shareableHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtMemImportFromShareableHandle, (uint64_t shareableHandle, int32_t deviceId,
       aclrtDrvMemHandle *handle), (shareableHandle, deviceId, handle))
ACL_FN(IMPLEMENTED, aclError, aclrtMemImportFromShareableHandleV2, (void *shareableHandle,
       aclrtMemSharedHandleType shareType, uint64_t flags, aclrtDrvMemHandle *handle), (shareableHandle, shareType,
       flags, handle))
ACL_FN(IMPLEMENTED, aclError, aclrtMemSetPidToShareableHandle, (uint64_t shareableHandle, int32_t *pid, size_t pidNum),
       (shareableHandle, pid, pidNum))
ACL_FN(IMPLEMENTED, aclError, aclrtMemSetPidToShareableHandleV2, (void *shareableHandle,
       aclrtMemSharedHandleType shareType, int32_t *pid, size_t pidNum), (shareableHandle, shareType, pid, pidNum))
/* allocations shared between processes by name */
ACL_FN(IMPLEMENTED, aclError, aclrtIpcMemGetExportKey, (void *devPtr, size_t size, char *key, size_t len,
       uint64_t flags), (devPtr, size, key, len, flags))
ACL_FN(IMPLEMENTED, aclError, aclrtIpcMemImportByKey, (void **devPtr, const char *key, uint64_t flags), (devPtr, key,
       flags))
ACL_FN(IMPLEMENTED, aclError, aclrtIpcMemSetImportPid, (const char *key, int32_t *pid, size_t num), (key, pid, num))
ACL_FN(IMPLEMENTED, aclError, aclrtIpcMemClose, (const char *key), (key))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtIpcMemSetAttr, (const char *key, aclrtIpcMemAttrType type, uint64_t attr),
             (key, type, attr))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtIpcMemImportPidInterServer, (const char *key, aclrtServerPid *serverPids,
             size_t num), (key, serverPids, num))
/* pools with stream-ordered allocation */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemPoolCreate, (aclrtMemPool *memPool, const aclrtMemPoolProps *poolProps),
             (memPool, poolProps))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemPoolDestroy, (const aclrtMemPool memPool), (memPool))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemPoolSetAttr, (aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value),
             (memPool, attr, value))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemPoolGetAttr, (aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value),
             (memPool, attr, value))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemPoolMallocAsync, (void **devPtr, size_t size, aclrtMemPool memPool,
             aclrtStream stream), (devPtr, size, memPool, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemPoolFreeAsync, (void *ptr, aclrtStream stream), (ptr, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtMemPoolTrimTo, (aclrtMemPool memPool, size_t minBytesToKeep), (memPool,
             minBytesToKeep))

/* ==== Streams ==== */
/* streams */
ACL_FN(IMPLEMENTED, aclError, aclrtCreateStream, (aclrtStream *stream), (stream))
ACL_FN(IMPLEMENTED, aclError, aclrtCreateStreamWithConfig, (aclrtStream *stream, uint32_t priority, uint32_t flag),
       (stream, priority, flag))
ACL_FN(IMPLEMENTED, aclError, aclrtDestroyStream, (aclrtStream stream), (stream))
ACL_FN(IMPLEMENTED, aclError, aclrtDestroyStreamForce, (aclrtStream stream), (stream))
ACL_FN(IMPLEMENTED, aclError, aclrtSynchronizeStream, (aclrtStream stream), (stream))
ACL_FN(IMPLEMENTED, aclError, aclrtSynchronizeStreamWithTimeout, (aclrtStream stream, int32_t timeout), (stream,
       timeout))
ACL_FN(IMPLEMENTED, aclError, aclrtStreamQuery, (aclrtStream stream, aclrtStreamStatus *status), (stream, status))
ACL_FN(IMPLEMENTED, aclError, aclrtStreamGetId, (aclrtStream stream, int32_t *streamId), (stream, streamId))
ACL_FN(IMPLEMENTED, aclError, aclrtStreamGetPriority, (aclrtStream stream, uint32_t *priority), (stream, priority))
ACL_FN(IMPLEMENTED, aclError, aclrtStreamGetFlags, (aclrtStream stream, uint32_t *flags), (stream, flags))
ACL_FN(IMPLEMENTED, aclError, aclrtSetStreamFailureMode, (aclrtStream stream, uint64_t mode), (stream, mode))
ACL_FN(IMPLEMENTED, aclError, aclrtSetStreamAttribute, (aclrtStream stream, aclrtStreamAttr stmAttrType,
       aclrtStreamAttrValue *value), (stream, stmAttrType, value))
ACL_FN(IMPLEMENTED, aclError, aclrtGetStreamAttribute, (aclrtStream stream, aclrtStreamAttr stmAttrType,
       aclrtStreamAttrValue *value), (stream, stmAttrType, value))
ACL_FN(IMPLEMENTED, aclError, aclrtStreamAbort, (aclrtStream stream), (stream))
ACL_FN(IMPLEMENTED, aclError, aclrtStreamStop, (aclrtStream stream), (stream))
ACL_FN(IMPLEMENTED, aclError, aclrtGetStreamAvailableNum, (uint32_t *streamCount), (streamCount))
ACL_FN(IMPLEMENTED, aclError, aclrtActiveStream, (aclrtStream activeStream, aclrtStream stream), (activeStream, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtPersistentTaskClean, (aclrtStream stream), (stream))
ACL_FN_FRONT(IMPLEMENTED, aclrtStreamConfigHandle *, aclrtCreateStreamConfigHandle, (void), ())
ACL_FN_FRONT(IMPLEMENTED, aclError, aclrtDestroyStreamConfigHandle, (aclrtStreamConfigHandle *handle), (handle))
ACL_FN_FRONT(IMPLEMENTED, aclError, aclrtSetStreamConfigOpt, (aclrtStreamConfigHandle *handle,
             aclrtStreamConfigAttr attr, const void *attrValue, size_t valueSize), (handle, attr, attrValue, valueSize))
ACL_FN_FRONT(IMPLEMENTED, aclError, aclrtCreateStreamV2, (aclrtStream *stream, const aclrtStreamConfigHandle *handle),
             (stream, handle))
ACL_FN(IMPLEMENTED, aclError, aclrtRegStreamStateCallback, (const char *regName, aclrtStreamStateCallback callback,
       void *args), (regName, callback, args))
/* host functions in stream order */
ACL_FN(IMPLEMENTED, aclError, aclrtSubscribeReport, (uint64_t threadId, aclrtStream stream), (threadId, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtUnSubscribeReport, (uint64_t threadId, aclrtStream stream), (threadId, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtProcessReport, (int32_t timeout), (timeout))
ACL_FN(IMPLEMENTED, aclError, aclrtLaunchCallback, (aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType,
       aclrtStream stream), (fn, userData, blockType, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtLaunchHostFunc, (aclrtStream stream, aclrtHostFunc fn, void *args), (stream, fn,
       args))
ACL_FN_FRONT(IMPLEMENTED, aclError, aclrtSubscribeHostFunc, (uint64_t hostFuncThreadId, aclrtStream exeStream),
             (hostFuncThreadId, exeStream))
ACL_FN_FRONT(IMPLEMENTED, aclError, aclrtProcessHostFunc, (int32_t timeout), (timeout))
ACL_FN_FRONT(IMPLEMENTED, aclError, aclrtUnSubscribeHostFunc, (uint64_t hostFuncThreadId, aclrtStream exeStream),
             (hostFuncThreadId, exeStream))
/* branches inside streams */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCreateLabel, (aclrtLabel *label), (label))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSetLabel, (aclrtLabel label, aclrtStream stream), (label, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDestroyLabel, (aclrtLabel label), (label))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCreateLabelList, (aclrtLabel *labels, size_t num, aclrtLabelList *labelList),
             (labels, num, labelList))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtDestroyLabelList, (aclrtLabelList labelList), (labelList))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSwitchLabelByIndex, (void *ptr, uint32_t maxValue, aclrtLabelList labelList,
             aclrtStream stream), (ptr, maxValue, labelList, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSwitchStream, (void *leftValue, aclrtCondition cond, void *rightValue,
             aclrtCompareDataType dataType, aclrtStream trueStream, aclrtStream falseStream, aclrtStream stream),
             (leftValue, cond, rightValue, dataType, trueStream, falseStream, stream))
/* floating point overflow */
ACL_FN(IMPLEMENTED, aclError, aclrtSetStreamOverflowSwitch, (aclrtStream stream, uint32_t flag), (stream, flag))
ACL_FN(IMPLEMENTED, aclError, aclrtGetStreamOverflowSwitch, (aclrtStream stream, uint32_t *flag), (stream, flag))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetOverflowStatus, (void *outputAddr, size_t outputSize, aclrtStream stream),
             (outputAddr, outputSize, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtResetOverflowStatus, (aclrtStream stream), (stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetFloatOverflowStatus, (void *outputAddr, uint64_t outputSize,
             aclrtStream stream), (outputAddr, outputSize, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtResetFloatOverflowStatus, (aclrtStream stream), (stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtNpuGetFloatOverFlowStatus, (void *outputAddr, uint64_t outputSize,
             uint32_t checkMode, aclrtStream stream), (outputAddr, outputSize, checkMode, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtNpuClearFloatOverFlowStatus, (uint32_t checkMode, aclrtStream stream),
             (checkMode, stream))
/* task timeouts */
ACL_FN(IMPLEMENTED, aclError, aclrtSetOpWaitTimeout, (uint32_t timeout), (timeout))
ACL_FN(IMPLEMENTED, aclError, aclrtSetOpExecuteTimeOut, (uint32_t timeout), (timeout))
ACL_FN(IMPLEMENTED, aclError, aclrtSetOpExecuteTimeOutWithMs, (uint32_t timeout), (timeout))
ACL_FN(IMPLEMENTED, aclError, aclrtSetOpExecuteTimeOutV2, (uint64_t timeout, uint64_t *actualTimeout), (timeout,
       actualTimeout))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetOpTimeOutInterval, (uint64_t *interval), (interval))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetOpExecuteTimeout, (uint32_t *const timeoutMs), (timeoutMs))

/* ==== Events ==== */
/* events */
ACL_FN(IMPLEMENTED, aclError, aclrtCreateEvent, (aclrtEvent *event), (event))
ACL_FN(IMPLEMENTED, aclError, aclrtCreateEventWithFlag, (aclrtEvent *event, uint32_t flag), (event, flag))
ACL_FN(IMPLEMENTED, aclError, aclrtCreateEventExWithFlag, (aclrtEvent *event, uint32_t flag), (event, flag))
ACL_FN(IMPLEMENTED, aclError, aclrtDestroyEvent, (aclrtEvent event), (event))
ACL_FN(IMPLEMENTED, aclError, aclrtRecordEvent, (aclrtEvent event, aclrtStream stream), (event, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtRecordEventWithFlag, (aclrtEvent event, aclrtStream stream, uint32_t flag), (event,
       stream, flag))
ACL_FN(IMPLEMENTED, aclError, aclrtResetEvent, (aclrtEvent event, aclrtStream stream), (event, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtStreamWaitEvent, (aclrtStream stream, aclrtEvent event), (stream, event))
ACL_FN(IMPLEMENTED, aclError, aclrtStreamWaitEventWithTimeout, (aclrtStream stream, aclrtEvent event, int32_t timeout),
       (stream, event, timeout))
ACL_FN(IMPLEMENTED, aclError, aclrtStreamWaitEventWithFlag, (aclrtStream stream, aclrtEvent event, uint32_t timeout,
       uint32_t flag), (stream, event, timeout, flag))
ACL_FN(IMPLEMENTED, aclError, aclrtQueryEvent, (aclrtEvent event, aclrtEventStatus *status), (event, status))
ACL_FN(IMPLEMENTED, aclError, aclrtQueryEventStatus, (aclrtEvent event, aclrtEventRecordedStatus *status), (event,
       status))
ACL_FN(IMPLEMENTED, aclError, aclrtQueryEventWaitStatus, (aclrtEvent event, aclrtEventWaitStatus *status), (event,
       status))
ACL_FN(IMPLEMENTED, aclError, aclrtSynchronizeEvent, (aclrtEvent event), (event))
ACL_FN(IMPLEMENTED, aclError, aclrtSynchronizeEventWithTimeout, (aclrtEvent event, int32_t timeout), (event, timeout))
ACL_FN(IMPLEMENTED, aclError, aclrtEventElapsedTime, (float *ms, aclrtEvent startEvent, aclrtEvent endEvent), (ms,
       startEvent, endEvent))
ACL_FN(IMPLEMENTED, aclError, aclrtEventGetTimestamp, (aclrtEvent event, uint64_t *timestamp), (event, timestamp))
ACL_FN(IMPLEMENTED, aclError, aclrtGetEventId, (aclrtEvent event, uint32_t *eventId), (event, eventId))
ACL_FN(IMPLEMENTED, aclError, aclrtGetEventAvailNum, (uint32_t *eventCount), (eventCount))
ACL_FN(IMPLEMENTED, aclError, aclrtIpcGetEventHandle, (aclrtEvent event, aclrtIpcEventHandle *handle), (event, handle))
ACL_FN(IMPLEMENTED, aclError, aclrtIpcOpenEventHandle, (aclrtIpcEventHandle handle, aclrtEvent *event), (handle, event))
/* notifies */
ACL_FN(IMPLEMENTED, aclError, aclrtCreateNotify, (aclrtNotify *notify, uint64_t flag), (notify, flag))
ACL_FN(IMPLEMENTED, aclError, aclrtDestroyNotify, (aclrtNotify notify), (notify))
ACL_FN(IMPLEMENTED, aclError, aclrtRecordNotify, (aclrtNotify notify, aclrtStream stream), (notify, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtWaitAndResetNotify, (aclrtNotify notify, aclrtStream stream, uint32_t timeout),
       (notify, stream, timeout))
ACL_FN(IMPLEMENTED, aclError, aclrtGetNotifyId, (aclrtNotify notify, uint32_t *notifyId), (notify, notifyId))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtNotifyBatchReset, (aclrtNotify *notifies, size_t num), (notifies, num))
ACL_FN(IMPLEMENTED, aclError, aclrtNotifyGetExportKey, (aclrtNotify notify, char *key, size_t len, uint64_t flags),
       (notify, key, len, flags))
ACL_FN(IMPLEMENTED, aclError, aclrtNotifyImportByKey, (aclrtNotify *notify, const char *key, uint64_t flags), (notify,
       key, flags))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtNotifySetImportPid, (aclrtNotify notify, int32_t *pid, size_t num), (notify,
             pid, num))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtNotifySetImportPidInterServer, (aclrtNotify notify, aclrtServerPid *serverPids,
             size_t num), (notify, serverPids, num))
/* counting notifies */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCntNotifyCreate, (aclrtCntNotify *notify, uint64_t flag), (notify, flag))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCntNotifyDestroy, (aclrtCntNotify notify), (notify))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCntNotifyRecord, (aclrtCntNotify cntNotify, aclrtStream stream,
             aclrtCntNotifyRecordInfo *info), (cntNotify, stream, info))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCntNotifyWaitWithTimeout, (aclrtCntNotify cntNotify, aclrtStream stream,
             aclrtCntNotifyWaitInfo *info), (cntNotify, stream, info))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCntNotifyReset, (aclrtCntNotify cntNotify, aclrtStream stream), (cntNotify,
             stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCntNotifyGetId, (aclrtCntNotify cntNotify, uint32_t *notifyId), (cntNotify,
             notifyId))
/* values in memory */
ACL_FN(IMPLEMENTED, aclError, aclrtValueWrite, (void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream),
       (devAddr, value, flag, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtValueWait, (void *devAddr, uint64_t value, uint32_t flag, aclrtStream stream),
       (devAddr, value, flag, stream))

/* ==== Kernels ==== */
/* binaries */
ACL_FN(IMPLEMENTED, aclError, aclrtBinaryLoadFromFile, (const char *binPath, aclrtBinaryLoadOptions *options,
       aclrtBinHandle *binHandle), (binPath, options, binHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtBinaryLoadFromData, (const void *data, size_t length,
       const aclrtBinaryLoadOptions *options, aclrtBinHandle *binHandle), (data, length, options, binHandle))
ACL_FN(IMPLEMENTED, aclrtBinary, aclrtCreateBinary, (const void *data, size_t dataLen), (data, dataLen))
ACL_FN(IMPLEMENTED, aclError, aclrtBinaryLoad, (const aclrtBinary binary, aclrtBinHandle *binHandle), (binary,
       binHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtDestroyBinary, (aclrtBinary binary), (binary))
ACL_FN(IMPLEMENTED, aclError, aclrtBinaryUnLoad, (aclrtBinHandle binHandle), (binHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtBinaryGetDevAddress, (const aclrtBinHandle binHandle, void **binAddr,
       size_t *binSize), (binHandle, binAddr, binSize))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtBinaryGetGlobal, (aclrtBinHandle binHandle, const char *name, void **dptr,
             size_t *size), (binHandle, name, dptr, size))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtBinarySetExceptionCallback, (aclrtBinHandle binHandle,
             aclrtOpExceptionCallback callback, void *userData), (binHandle, callback, userData))
/* functions */
ACL_FN(IMPLEMENTED, aclError, aclrtBinaryGetFunction, (const aclrtBinHandle binHandle, const char *kernelName,
       aclrtFuncHandle *funcHandle), (binHandle, kernelName, funcHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtBinaryGetFunctionByEntry, (aclrtBinHandle binHandle, uint64_t funcEntry,
       aclrtFuncHandle *funcHandle), (binHandle, funcEntry, funcHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtRegisterCpuFunc, (const aclrtBinHandle handle, const char *funcName,
       const char *kernelName, aclrtFuncHandle *funcHandle), (handle, funcName, kernelName, funcHandle))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetFuncBySymbol, (const void *symbol, aclrtFuncHandle *funcHandle), (symbol,
             funcHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtGetFunctionName, (aclrtFuncHandle funcHandle, uint32_t maxLen, char *name),
       (funcHandle, maxLen, name))
ACL_FN(IMPLEMENTED, aclError, aclrtGetFunctionAddr, (aclrtFuncHandle funcHandle, void **aicAddr, void **aivAddr),
       (funcHandle, aicAddr, aivAddr))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetFunctionSize, (aclrtFuncHandle funcHandle, size_t *aicSize,
             size_t *aivSize), (funcHandle, aicSize, aivSize))
ACL_FN(IMPLEMENTED, aclError, aclrtGetFunctionAttribute, (aclrtFuncHandle funcHandle, aclrtFuncAttribute attrType,
       int64_t *attrValue), (funcHandle, attrType, attrValue))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtFunctionGetBinary, (const aclrtFuncHandle funcHandle,
             aclrtBinHandle *binHandle), (funcHandle, binHandle))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtFunctionGetParamCount, (const void *func, size_t *paramCount), (func,
             paramCount))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtFunctionGetParamInfo, (const void *func, size_t paramIndex,
             size_t *paramOffset, size_t *paramSize), (func, paramIndex, paramOffset, paramSize))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtFunctionGetAvailDynUbufPerBlock, (void *func, uint32_t flags,
             size_t *dynamicUbufSize), (func, flags, dynamicUbufSize))
ACL_FN(IMPLEMENTED, aclError, aclrtGetFuncHandleFromExceptionInfo, (const aclrtExceptionInfo *info,
       aclrtFuncHandle *func), (info, func))
/* argument lists */
ACL_FN(IMPLEMENTED, aclError, aclrtKernelArgsInit, (aclrtFuncHandle funcHandle, aclrtArgsHandle *argsHandle),
       (funcHandle, argsHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtKernelArgsInitByUserMem, (aclrtFuncHandle funcHandle, aclrtArgsHandle argsHandle,
       void *userHostMem, size_t actualArgsSize), (funcHandle, argsHandle, userHostMem, actualArgsSize))
ACL_FN(IMPLEMENTED, aclError, aclrtKernelArgsAppend, (aclrtArgsHandle argsHandle, void *param, size_t paramSize,
       aclrtParamHandle *paramHandle), (argsHandle, param, paramSize, paramHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtKernelArgsAppendPlaceHolder, (aclrtArgsHandle argsHandle,
       aclrtParamHandle *paramHandle), (argsHandle, paramHandle))
ACL_FN(IMPLEMENTED, aclError, aclrtKernelArgsGetPlaceHolderBuffer, (aclrtArgsHandle argsHandle,
       aclrtParamHandle paramHandle, size_t dataSize, void **bufferAddr), (argsHandle, paramHandle, dataSize,
       bufferAddr))
ACL_FN(IMPLEMENTED, aclError, aclrtKernelArgsParaUpdate, (aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle,
       void *param, size_t paramSize), (argsHandle, paramHandle, param, paramSize))
ACL_FN(IMPLEMENTED, aclError, aclrtKernelArgsGetMemSize, (aclrtFuncHandle funcHandle, size_t userArgsSize,
       size_t *actualArgsSize), (funcHandle, userArgsSize, actualArgsSize))
ACL_FN(IMPLEMENTED, aclError, aclrtKernelArgsGetHandleMemSize, (aclrtFuncHandle funcHandle, size_t *memSize),
       (funcHandle, memSize))
ACL_FN(IMPLEMENTED, aclError, aclrtKernelArgsFinalize, (aclrtArgsHandle argsHandle), (argsHandle))
/* launches */
ACL_FN(IMPLEMENTED, aclError, aclrtLaunchKernel, (aclrtFuncHandle funcHandle, uint32_t numBlocks, const void *argsData,
       size_t argsSize, aclrtStream stream), (funcHandle, numBlocks, argsData, argsSize, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtLaunchKernelV2, (aclrtFuncHandle funcHandle, uint32_t numBlocks,
       const void *argsData, size_t argsSize, aclrtLaunchKernelCfg *cfg, aclrtStream stream), (funcHandle, numBlocks,
       argsData, argsSize, cfg, stream))
ACL_FN(IMPLEMENTED, aclError, aclrtLaunchKernelWithConfig, (aclrtFuncHandle funcHandle, uint32_t numBlocks,
       aclrtStream stream, aclrtLaunchKernelCfg *cfg, aclrtArgsHandle argsHandle, void *reserve), (funcHandle,
       numBlocks, stream, cfg, argsHandle, reserve))
ACL_FN(IMPLEMENTED, aclError, aclrtLaunchKernelWithHostArgs, (aclrtFuncHandle funcHandle, uint32_t numBlocks,
       aclrtStream stream, aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize,
       aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum), (funcHandle, numBlocks, stream, cfg, hostArgs,
       argsSize, placeHolderArray, placeHolderNum))
ACL_FN(IMPLEMENTED, aclError, aclrtLaunchKernelWithArgsArray, (void *func, uint32_t numBlocks, aclrtStream stream,
       aclrtLaunchKernelCfg *cfg, void **args), (func, numBlocks, stream, cfg, args))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtLaunchSIMTKernelWithArgsArray, (void *func, dim3 gridDim, dim3 blockDim,
             size_t dynUbufSize, aclrtStream stream, aclrtLaunchKernelCfg *cfg, void **args), (func, gridDim, blockDim,
             dynUbufSize, stream, cfg, args))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtLaunchSIMTKernelWithHostArgs, (void *func, dim3 gridDim, dim3 blockDim,
             size_t dynUbufSize, aclrtStream stream, aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize,
             aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum), (func, gridDim, blockDim, dynUbufSize,
             stream, cfg, hostArgs, argsSize, placeHolderArray, placeHolderNum))
/* information on launched tasks */
ACL_FN(IMPLEMENTED, aclError, aclrtProfTrace, (void *userdata, int32_t length, aclrtStream stream), (userdata, length,
       stream))
ACL_FN(IMPLEMENTED, aclError, aclrtGetThreadLastTaskId, (uint32_t *taskId), (taskId))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCacheLastTaskOpInfo, (const void *const infoPtr, const size_t infoSize),
             (infoPtr, infoSize))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCacheLastTaskExtendInfo, (const char *const extendInfoPtr,
             const size_t infoSize), (extendInfoPtr, infoSize))
/* random numbers */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtRandomNumAsync, (const aclrtRandomNumTaskInfo *taskInfo,
             const aclrtStream stream, void *reserve), (taskInfo, stream, reserve))
/* updating tasks that are already queued */
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclrtTaskUpdateAsync, (aclrtStream taskStream, uint32_t taskId,
             aclrtTaskUpdateInfo *info, aclrtStream execStream), (taskStream, taskId, info, execStream))

/* ==== Models ==== */
/* capture */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICaptureBegin, (aclrtStream stream, aclmdlRICaptureMode mode), (stream,
             mode))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICaptureToModelRIBegin, (aclrtStream stream, aclmdlRI modelRI,
             aclmdlRICaptureMode mode), (stream, modelRI, mode))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICaptureGetInfo, (aclrtStream stream, aclmdlRICaptureStatus *status,
             aclmdlRI *modelRI), (stream, status, modelRI))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICaptureEnd, (aclrtStream stream, aclmdlRI *modelRI), (stream, modelRI))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICaptureThreadExchangeMode, (aclmdlRICaptureMode *mode), (mode))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICaptureTaskGrpBegin, (aclrtStream stream), (stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICaptureTaskGrpEnd, (aclrtStream stream, aclrtTaskGrp *handle), (stream,
             handle))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICaptureTaskUpdateBegin, (aclrtStream stream, aclrtTaskGrp handle), (stream,
             handle))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICaptureTaskUpdateEnd, (aclrtStream stream), (stream))
/* manually built models */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIBuildBegin, (aclmdlRI *modelRI, uint32_t flag), (modelRI, flag))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIBindStream, (aclmdlRI modelRI, aclrtStream stream, uint32_t flag), (modelRI,
             stream, flag))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIEndTask, (aclmdlRI modelRI, aclrtStream stream), (modelRI, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIBuildEnd, (aclmdlRI modelRI, void *reserve), (modelRI, reserve))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIUnbindStream, (aclmdlRI modelRI, aclrtStream stream), (modelRI, stream))
/* execution and lifetime */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIExecute, (aclmdlRI modelRI, int32_t timeout), (modelRI, timeout))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIExecuteAsync, (aclmdlRI modelRI, aclrtStream stream), (modelRI, stream))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIAbort, (aclmdlRI modelRI), (modelRI))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIUpdate, (aclmdlRI modelRI), (modelRI))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIDestroy, (aclmdlRI modelRI), (modelRI))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIDestroyRegisterCallback, (aclmdlRI modelRI, aclrtCallback func,
             void *userData), (modelRI, func, userData))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIDestroyUnregisterCallback, (aclmdlRI modelRI, aclrtCallback func), (modelRI,
             func))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRISetName, (aclmdlRI modelRI, const char *name), (modelRI, name))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIGetName, (aclmdlRI modelRI, uint32_t maxLen, char *name), (modelRI, maxLen,
             name))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIGetId, (aclmdlRI modelRI, uint32_t *modelRIId), (modelRI, modelRIId))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIDebugPrint, (aclmdlRI modelRI), (modelRI))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIDebugJsonPrint, (aclmdlRI modelRI, const char *path, uint32_t flags),
             (modelRI, path, flags))
/* tasks of a model */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIGetStreams, (aclmdlRI modelRI, aclrtStream *streams, uint32_t *numStreams),
             (modelRI, streams, numStreams))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIGetTasksByStream, (aclrtStream stream, aclmdlRITask *tasks,
             uint32_t *numTasks), (stream, tasks, numTasks))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRITaskGetSeqId, (aclmdlRITask task, uint32_t *id), (task, id))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRITaskGetType, (aclmdlRITask task, aclmdlRITaskType *type), (task, type))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRITaskGetParams, (aclmdlRITask task, aclmdlRITaskParams *params), (task,
             params))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRITaskSetParams, (aclmdlRITask task, aclmdlRITaskParams *params), (task,
             params))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIKernelTaskGetAttribute, (aclmdlRITask task, aclrtLaunchKernelAttrId attrId,
             aclrtLaunchKernelAttrValue *attrValue), (task, attrId, attrValue))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRITaskDisable, (aclmdlRITask task), (task))
/* conditional bodies */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICondHandleCreate, (aclmdlRI modelRI, uint32_t defaultLaunchValue,
             aclmdlRICondHandleFlag flag, aclmdlRICondHandle *handle), (modelRI, defaultLaunchValue, flag, handle))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRICondHandleGetCondPtr, (aclmdlRICondHandle handle, uint64_t **ptr), (handle,
             ptr))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclmdlRIAddCondTask, (aclmdlRICondTaskParams params, aclrtStream stream,
             uint32_t flags), (params, stream, flags))

/* ==== Message buffers ==== */
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAllocBuf, (aclrtMbuf *buf, size_t size), (buf, size))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtFreeBuf, (aclrtMbuf buf), (buf))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetBufData, (const aclrtMbuf buf, void **dataPtr, size_t *size), (buf, dataPtr,
             size))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetBufDataLen, (aclrtMbuf buf, size_t *len), (buf, len))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSetBufDataLen, (aclrtMbuf buf, size_t len), (buf, len))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetBufUserData, (const aclrtMbuf buf, void *dataPtr, size_t size,
             size_t offset), (buf, dataPtr, size, offset))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtSetBufUserData, (aclrtMbuf buf, const void *dataPtr, size_t size,
             size_t offset), (buf, dataPtr, size, offset))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtCopyBufRef, (const aclrtMbuf buf, aclrtMbuf *newBuf), (buf, newBuf))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAppendBufChain, (aclrtMbuf headBuf, aclrtMbuf buf), (headBuf, buf))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetBufChainNum, (aclrtMbuf headBuf, uint32_t *num), (headBuf, num))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtGetBufFromChain, (aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf), (headBuf,
             index, buf))

/* ==== Stream allocators ==== */
ACL_FN_EXTRA(IMPLEMENTED, aclrtAllocatorDesc, aclrtAllocatorCreateDesc, (void), ())
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAllocatorDestroyDesc, (aclrtAllocatorDesc allocatorDesc), (allocatorDesc))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAllocatorSetObjToDesc, (aclrtAllocatorDesc allocatorDesc,
             aclrtAllocator allocator), (allocatorDesc, allocator))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAllocatorSetAllocFuncToDesc, (aclrtAllocatorDesc allocatorDesc,
             aclrtAllocatorAllocFunc func), (allocatorDesc, func))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAllocatorSetFreeFuncToDesc, (aclrtAllocatorDesc allocatorDesc,
             aclrtAllocatorFreeFunc func), (allocatorDesc, func))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAllocatorSetAllocAdviseFuncToDesc, (aclrtAllocatorDesc allocatorDesc,
             aclrtAllocatorAllocAdviseFunc func), (allocatorDesc, func))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAllocatorSetGetAddrFromBlockFuncToDesc, (aclrtAllocatorDesc allocatorDesc,
             aclrtAllocatorGetAddrFromBlockFunc func), (allocatorDesc, func))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAllocatorRegister, (aclrtStream stream, aclrtAllocatorDesc allocatorDesc),
             (stream, allocatorDesc))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAllocatorGetByStream, (aclrtStream stream, aclrtAllocatorDesc *allocatorDesc,
             aclrtAllocator *allocator, aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
             aclrtAllocatorAllocAdviseFunc *allocAdviseFunc, aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc),
             (stream, allocatorDesc, allocator, allocFunc, freeFunc, allocAdviseFunc, getAddrFromBlockFunc))
ACL_FN_EXTRA(IMPLEMENTED, aclError, aclrtAllocatorUnregister, (aclrtStream stream), (stream))

/* ==== Dump ==== */
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclmdlInitDump, (void), ())
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclmdlSetDump, (const char *dumpCfgPath), (dumpCfgPath))
ACL_FN_EXTRA(UNSUPPORTED, aclError, aclmdlFinalizeDump, (void), ())

/* ==== Data ==== */
ACL_FN(IMPLEMENTED, size_t, aclDataTypeSize, (aclDataType dataType), (dataType))
/* half precision on the host */
ACL_FN(IMPLEMENTED, float, aclFloat16ToFloat, (aclFloat16 value), (value))
ACL_FN(IMPLEMENTED, aclFloat16, aclFloatToFloat16, (float value), (value))
/* data buffers */
ACL_FN(IMPLEMENTED, aclDataBuffer *, aclCreateDataBuffer, (void *data, size_t size), (data, size))
ACL_FN(IMPLEMENTED, aclError, aclDestroyDataBuffer, (const aclDataBuffer *dataBuffer), (dataBuffer))
ACL_FN(IMPLEMENTED, aclError, aclUpdateDataBuffer, (aclDataBuffer *dataBuffer, void *data, size_t size), (dataBuffer,
       data, size))
ACL_FN(IMPLEMENTED, void *, aclGetDataBufferAddr, (const aclDataBuffer *dataBuffer), (dataBuffer))
ACL_FN(IMPLEMENTED, uint32_t, aclGetDataBufferSize, (const aclDataBuffer *dataBuffer), (dataBuffer))
ACL_FN(IMPLEMENTED, size_t, aclGetDataBufferSizeV2, (const aclDataBuffer *dataBuffer), (dataBuffer))

/* clang-format on */

#undef ACL_FN
#undef ACL_FN_EXTRA
#undef ACL_FN_FRONT
