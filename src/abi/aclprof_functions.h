/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libmsprofiler.so.
 *     ACLPROF_FN(status, result, name, (parameters))        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
/* collections */
ACLPROF_FN(IMPLEMENTED, aclError, aclprofInit, (const char *profilerResultPath, size_t length))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofFinalize, (void))
ACLPROF_FN(IMPLEMENTED, aclprofConfig *, aclprofCreateConfig, (uint32_t *deviceIdList, uint32_t deviceNums,
           aclprofAicoreMetrics aicoreMetrics, const aclprofAicoreEvents *aicoreEvents, uint64_t dataTypeConfig))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofDestroyConfig, (const aclprofConfig *profilerConfig))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofSetConfig, (aclprofConfigType configType, const char *config,
           size_t configLength))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofStart, (const aclprofConfig *profilerConfig))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofStop, (const aclprofConfig *profilerConfig))
ACLPROF_FN(IMPLEMENTED, int, aclprofWarmup, (const aclprofConfig *profilerConfig))
ACLPROF_FN(IMPLEMENTED, int32_t, aclprofGetSupportedFeatures, (size_t *featuresSize, void **featuresData))
ACLPROF_FN(IMPLEMENTED, int32_t, aclprofGetSupportedFeaturesV2, (size_t *featuresSize, void **featuresData))
ACLPROF_FN(IMPLEMENTED, int, aclprofRegisterDeviceCallback, (void))

/* operators of a model, as they finish */
ACLPROF_FN(IMPLEMENTED, aclprofSubscribeConfig *, aclprofCreateSubscribeConfig, (int8_t timeInfoSwitch,
           aclprofAicoreMetrics aicoreMetrics, void *fd))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofDestroySubscribeConfig, (const aclprofSubscribeConfig *profSubscribeConfig))
ACLPROF_FN(UNSUPPORTED, aclError, aclprofModelSubscribe, (uint32_t modelId,
           const aclprofSubscribeConfig *profSubscribeConfig))
ACLPROF_FN(UNSUPPORTED, aclError, aclprofModelUnSubscribe, (uint32_t modelId))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofGetOpDescSize, (size_t *opDescSize))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofGetOpNum, (const void *opInfo, size_t opInfoLen, uint32_t *opNumber))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofGetOpTypeLen, (const void *opInfo, size_t opInfoLen, uint32_t index,
           size_t *opTypeLen))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofGetOpType, (const void *opInfo, size_t opInfoLen, uint32_t index, char *opType,
           size_t opTypeLen))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofGetOpNameLen, (const void *opInfo, size_t opInfoLen, uint32_t index,
           size_t *opNameLen))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofGetOpName, (const void *opInfo, size_t opInfoLen, uint32_t index, char *opName,
           size_t opNameLen))
ACLPROF_FN(IMPLEMENTED, uint64_t, aclprofGetOpStart, (const void *opInfo, size_t opInfoLen, uint32_t index))
ACLPROF_FN(IMPLEMENTED, uint64_t, aclprofGetOpEnd, (const void *opInfo, size_t opInfoLen, uint32_t index))
ACLPROF_FN(IMPLEMENTED, uint64_t, aclprofGetOpDuration, (const void *opInfo, size_t opInfoLen, uint32_t index))
ACLPROF_FN(IMPLEMENTED, size_t, aclprofGetModelId, (const void *opInfo, size_t opInfoLen, uint32_t index))
ACLPROF_FN(IMPLEMENTED, aclprofSubscribeOpFlag, aclprofGetOpFlag, (const void *opInfo, size_t opInfoLen,
           uint32_t index))
ACLPROF_FN(IMPLEMENTED, const char *, aclprofGetOpAttriValue, (const void *opInfo, size_t opInfoLen, uint32_t index,
           aclprofSubscribeOpAttri attri))

/* steps */
ACLPROF_FN(IMPLEMENTED, aclprofStepInfo *, aclprofCreateStepInfo, (void))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofGetStepTimestamp, (aclprofStepInfo *stepInfo, aclprofStepTag tag,
           aclrtStream stream))
ACLPROF_FN(IMPLEMENTED, void, aclprofDestroyStepInfo, (aclprofStepInfo *stepinfo))

/* marks and ranges */
ACLPROF_FN(IMPLEMENTED, void *, aclprofCreateStamp, (void))
ACLPROF_FN(IMPLEMENTED, void, aclprofDestroyStamp, (void *stamp))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofSetStampTraceMessage, (void *stamp, const char *msg, uint32_t msgLen))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofPush, (void *stamp))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofPop, (void))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofRangeStart, (void *stamp, uint32_t *rangeId))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofRangeStop, (uint32_t rangeId))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofMark, (void *stamp))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofMarkEx, (const char *msg, size_t msgLen, aclrtStream stream))
ACLPROF_FN(IMPLEMENTED, uint64_t, aclprofStr2Id, (const char *message))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofRangePushEx, (aclprofEventAttributes *attr))
ACLPROF_FN(IMPLEMENTED, aclError, aclprofRangePop, (void))

/* clang-format on */

#undef ACLPROF_FN
