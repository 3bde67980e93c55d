/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting profiling data from within a program (libmsprofiler.so). */
#ifndef ACL_ACL_PROF_H
#define ACL_ACL_PROF_H

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- collections ---- */
#define ACL_PROF_ACL_API         1
#define ACL_PROF_TASK_TIME       2
#define ACL_PROF_AICORE_METRICS  4
#define ACL_PROF_AICPU           8
#define ACL_PROF_L2CACHE         0x10
#define ACL_PROF_HCCL_TRACE      0x20
#define ACL_PROF_TRAINING_TRACE  0x40
#define ACL_PROF_MSPROFTX        0x80
#define ACL_PROF_RUNTIME_API     0x100
#define ACL_PROF_GE_API_L0       0x200
#define ACL_PROF_TASK_TIME_L0    0x800
#define ACL_PROF_TASK_MEMORY     0x1000
#define ACL_PROF_TASK_TIME_L2    0x2000
#define ACL_PROF_OP_ATTR         0x4000
#define ACL_PROF_TASK_TIME_L3    0x8000
#define ACL_PROF_GE_API_L1       0x1000000
#define ACL_PROF_API_STATS       0x400000000
#define ACL_PROF_AICORE_SHAPE    0x800000000

#define ACL_PROF_MAX_OP_NAME_LEN 257
#define ACL_PROF_MAX_OP_TYPE_LEN 65

typedef enum {
    ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
    ACL_AICORE_PIPE_UTILIZATION = 1,
    ACL_AICORE_MEMORY_BANDWIDTH = 2,
    ACL_AICORE_L0B_AND_WIDTH = 3,
    ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
    ACL_AICORE_MEMORY_UB = 5,
    ACL_AICORE_L2_CACHE = 6,
    ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
    ACL_AICORE_MEMORY_ACCESS = 8,
    ACL_AICORE_NONE = 255,
} aclprofAicoreMetrics;

typedef enum {
    ACL_PROF_ARGS_MIN = 0,
    ACL_PROF_STORAGE_LIMIT = 1,
    ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3,
    ACL_PROF_LLC_MODE = 4,
    ACL_PROF_SYS_IO_FREQ = 5,
    ACL_PROF_SYS_INTERCONNECTION_FREQ = 6,
    ACL_PROF_DVPP_FREQ = 7,
    ACL_PROF_HOST_SYS = 8,
    ACL_PROF_HOST_SYS_USAGE = 9,
    ACL_PROF_HOST_SYS_USAGE_FREQ = 10,
    ACL_PROF_LOW_POWER_FREQ = 11,
    ACL_PROF_SYS_MEM_SERVICEFLOW = 12,
    ACL_PROF_SYS_CPU_FREQ = 13,
    ACL_PROF_OPTYPE = 14,
    ACL_PROF_NTS_METRICS = 15,
    ACL_PROF_PATH = 16,
    ACL_PROF_ARGS_MAX = 17,
} aclprofConfigType;

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofStopConfig aclprofStopConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;

aclError aclprofInit(const char *profilerResultPath, size_t length);
aclError aclprofFinalize(void);
aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents *aicoreEvents, uint64_t dataTypeConfig);
aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig);
aclError aclprofSetConfig(aclprofConfigType configType, const char *config, size_t configLength);
aclError aclprofStart(const aclprofConfig *profilerConfig);
aclError aclprofStop(const aclprofConfig *profilerConfig);
int aclprofWarmup(const aclprofConfig *profilerConfig);
int32_t aclprofGetSupportedFeatures(size_t *featuresSize, void **featuresData);
int32_t aclprofGetSupportedFeaturesV2(size_t *featuresSize, void **featuresData);
int aclprofRegisterDeviceCallback(void);

/* ---- operators of a model, as they finish ---- */
typedef enum {
    ACL_SUBSCRIBE_OP = 0,
    ACL_SUBSCRIBE_SUBGRAPH = 1,
    ACL_SUBSCRIBE_OP_THREAD = 2,
    ACL_SUBSCRIBE_NONE = 255,
} aclprofSubscribeOpFlag;

typedef enum {
    ACL_SUBSCRIBE_ATTRI_THREADID = 0,
    ACL_SUBSCRIBE_ATTRI_NONE = 1,
} aclprofSubscribeOpAttri;

typedef struct aclprofSubscribeConfig aclprofSubscribeConfig;

aclprofSubscribeConfig *aclprofCreateSubscribeConfig(int8_t timeInfoSwitch, aclprofAicoreMetrics aicoreMetrics,
                                                     void *fd);
aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig *profSubscribeConfig);
aclError aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig *profSubscribeConfig);
aclError aclprofModelUnSubscribe(uint32_t modelId);
aclError aclprofGetOpDescSize(size_t *opDescSize);
aclError aclprofGetOpNum(const void *opInfo, size_t opInfoLen, uint32_t *opNumber);
aclError aclprofGetOpTypeLen(const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opTypeLen);
aclError aclprofGetOpType(const void *opInfo, size_t opInfoLen, uint32_t index, char *opType, size_t opTypeLen);
aclError aclprofGetOpNameLen(const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opNameLen);
aclError aclprofGetOpName(const void *opInfo, size_t opInfoLen, uint32_t index, char *opName, size_t opNameLen);
uint64_t aclprofGetOpStart(const void *opInfo, size_t opInfoLen, uint32_t index);
uint64_t aclprofGetOpEnd(const void *opInfo, size_t opInfoLen, uint32_t index);
uint64_t aclprofGetOpDuration(const void *opInfo, size_t opInfoLen, uint32_t index);
size_t aclprofGetModelId(const void *opInfo, size_t opInfoLen, uint32_t index);
aclprofSubscribeOpFlag aclprofGetOpFlag(const void *opInfo, size_t opInfoLen, uint32_t index);
const char *aclprofGetOpAttriValue(const void *opInfo, size_t opInfoLen, uint32_t index, aclprofSubscribeOpAttri attri);

/* ---- steps ---- */
typedef enum {
    ACL_STEP_START = 0,
    ACL_STEP_END = 1,
} aclprofStepTag;

typedef struct aclprofStepInfo aclprofStepInfo;

aclprofStepInfo *aclprofCreateStepInfo(void);
aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag, aclrtStream stream);
void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo);

/* ---- marks and ranges ---- */
#define ACL_PROF_TENSOR_DATA_SHAPE_LEN 8
#define ACL_PROF_EVENT_ATTR_VERSION    1

typedef enum {
    ACL_PROF_MESSAGE_TYPE_TENSOR_INFO = 0,
} aclprofMessageType;

typedef struct aclprofTensor {
    uint32_t type;
    uint32_t format;
    uint32_t dataType;
    uint32_t shapeDim;
    uint32_t shape[ACL_PROF_TENSOR_DATA_SHAPE_LEN];
} aclprofTensor;

typedef struct aclprofTensorInfo {
    uint64_t opNameId;
    uint64_t opTypeId;
    uint32_t resv;
    uint32_t tensorNum;
    uint32_t kernelType;
    uint32_t blockNums;
    aclrtStream stream;
    aclprofTensor *tensors;
} aclprofTensorInfo;

typedef struct aclprofEventAttributes {
    uint16_t version;
    uint16_t size;
    uint32_t messageType;
    union {
        aclprofTensorInfo *tensorInfo;
    } message;
} aclprofEventAttributes;

void *aclprofCreateStamp(void);
void aclprofDestroyStamp(void *stamp);
aclError aclprofSetStampTraceMessage(void *stamp, const char *msg, uint32_t msgLen);
aclError aclprofPush(void *stamp);
aclError aclprofPop(void);
aclError aclprofRangeStart(void *stamp, uint32_t *rangeId);
aclError aclprofRangeStop(uint32_t rangeId);
aclError aclprofMark(void *stamp);
aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream);
uint64_t aclprofStr2Id(const char *message);
aclError aclprofRangePushEx(aclprofEventAttributes *attr);
aclError aclprofRangePop(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
