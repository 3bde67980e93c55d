/* SPDX-License-Identifier: Apache-2.0 */
/* Reporting records to the profiling library (libprofapi.so), and receiving them. */
#ifndef TOOLCHAIN_PROF_API_H
#define TOOLCHAIN_PROF_API_H

#include <stddef.h>
#include <stdint.h>

#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef void *VOID_PTR;

/* ---- numbers in records ---- */
#define MSPROF_REPORT_DATA_MAGIC_NUM 0x5A5AU
#define MSPROF_EVENT_FLAG            0xFFFFFFFFFFFFFFFFULL

/* Levels: the layer that reports. */
#define MSPROF_REPORT_TX_LEVEL        20500U
#define MSPROF_REPORT_ACL_LEVEL       20000U
#define MSPROF_REPORT_MODEL_LEVEL     15000U
#define MSPROF_REPORT_NODE_LEVEL      10000U
#define MSPROF_REPORT_HCCL_NODE_LEVEL 5500U
#define MSPROF_REPORT_RUNTIME_LEVEL   5000U

/* Types of the ACL level start here, by kind of function. */
#define MSPROF_REPORT_ACL_OP_BASE_TYPE      0x010000U
#define MSPROF_REPORT_ACL_MODEL_BASE_TYPE   0x020000U
#define MSPROF_REPORT_ACL_RUNTIME_BASE_TYPE 0x030000U
#define MSPROF_REPORT_ACL_OTHERS_BASE_TYPE  0x040000U

/* Types of the node level. */
#define MSPROF_REPORT_NODE_BASIC_INFO_TYPE   0U
#define MSPROF_REPORT_NODE_LAUNCH_TYPE       5U
#define MSPROF_REPORT_NODE_HCCL_OP_INFO_TYPE 10U

/* Types of the runtime level. */
enum rtProfileDataType {
    RT_PROFILE_TYPE_MEMCPY_INFO = 801,
    RT_PROFILE_TYPE_TASK_TRACK = 802,
    RT_PROFILE_TYPE_CAPTURE_STREAM_INFO = 803,
    RT_PROFILE_TYPE_STREAM_EXPANSION = 804,
    RT_PROFILE_TYPE_SHAPE_INFO = 805,
    RT_PROFILE_TYPE_DPU_TRACK = 806,
    RT_PROFILE_TYPE_STREAM_SQ_INFO = 807,
    RT_PROFILE_TYPE_TASK_TRACK_V2 = 808,
    RT_PROFILE_TYPE_CAPTURE_STREAM_INFO_V2 = 809,
    RT_PROFILE_TYPE_MEMCPY_INFO_EX = 810,
    RT_PROFILE_TYPE_MEMSET_INFO = 811,
    RT_PROFILE_TYPE_MEM_MNG_INFO = 812,
    RT_PROFILE_TYPE_API_BEGIN = 1000,
    RT_PROFILE_TYPE_API_END = 2000,
};

/* Task types in task tracks. */
enum tsTaskType {
    TS_TASK_TYPE_KERNEL_AICORE = 0,
    TS_TASK_TYPE_KERNEL_AICPU = 1,
    TS_TASK_TYPE_KERNEL_AIVEC = 66,
    TS_TASK_TYPE_FLIP = 98,
    TS_TASK_TYPE_KERNEL_MIX_AIC = 108,
    TS_TASK_TYPE_KERNEL_MIX_AIV = 109,
};

/* ---- records ---- */
struct MsprofApi {
    uint16_t magicNumber;
    uint16_t level;
    uint32_t type;
    uint32_t threadId;
    uint32_t reserve;
    uint64_t beginTime;
    uint64_t endTime;
    uint64_t itemId;
};

struct MsprofEvent {
    uint16_t magicNumber;
    uint16_t level;
    uint32_t type;
    uint32_t threadId;
    uint32_t requestId;
    uint64_t timeStamp;
    uint64_t eventFlag;
    uint64_t itemId;
};

struct MsprofKernelInfo {
    uint16_t numBlocks;
    uint16_t argsSize;
    uint8_t flags;
    uint8_t reserved[11];
};

/* One task submitted to a stream; the low 16 bits of taskId are the id in the device's log. */
struct MsprofRuntimeTrack {
    uint16_t deviceId;
    uint16_t streamId;
    uint32_t taskId;
    uint64_t taskType;
    uint64_t kernelName; /* hash id */
    union {
        struct MsprofKernelInfo kernelInfo;
        uint8_t bytes[16];
    } extInfo;
};

struct MsprofRuntimeTrackV2 {
    uint16_t deviceId;
    uint16_t rsv;
    uint32_t streamId;
    uint32_t taskId;
    uint32_t taskType;
    uint64_t kernelName; /* hash id */
    union {
        struct MsprofKernelInfo kernelInfo;
        uint8_t bytes[16];
    } extInfo;
};

struct MsprofMemcpyInfo {
    uint64_t bytes;
    uint16_t copyKind;
    uint16_t deviceId;
    uint32_t streamId;
};

struct MsprofMemsetInfo {
    uint64_t bytes;
    uint32_t value;
    uint32_t streamId;
    uint16_t deviceId;
};

struct MsprofMemMngInfo {
    uint64_t address;
    uint64_t size;
    uint32_t memoryType;
    uint16_t memMngType;
    uint16_t deviceId;
    uint32_t streamId;
};

struct MsprofStreamExpandSpecInfo {
    uint8_t expandStatus;
    uint16_t reserve;
};

struct MsprofStreamSqInfo {
    uint16_t streamStatus;
    uint32_t streamId;
    uint16_t rtsqId;
    uint16_t deviceId;
    uint16_t tsId;
};

#pragma pack(push, 1)
struct MsprofNodeBasicInfo {
    uint64_t opName; /* hash id */
    uint32_t taskType;
    uint64_t opType; /* hash id */
    uint32_t blockDim;
    uint32_t opFlag;
};

struct MsprofHCCLOPInfo {
    uint8_t flags;
    uint8_t dataType;
    uint64_t algType; /* hash id */
    uint64_t count;
    uint64_t groupName; /* hash id */
};
#pragma pack(pop)

#define MSPROF_COMPACT_INFO_DATA_LENGTH 40

struct MsprofCompactInfo {
    uint16_t magicNumber;
    uint16_t level;
    uint32_t type;
    uint32_t threadId;
    uint32_t dataLen;
    uint64_t timeStamp;
    union {
        uint8_t info[MSPROF_COMPACT_INFO_DATA_LENGTH];
        struct MsprofRuntimeTrack runtimeTrack;
        struct MsprofRuntimeTrackV2 runtimeTrackV2;
        struct MsprofNodeBasicInfo nodeBasicInfo;
        struct MsprofHCCLOPInfo hcclopInfo;
        struct MsprofMemcpyInfo memcpyInfo;
        struct MsprofMemsetInfo memsetInfo;
        struct MsprofMemMngInfo memMngInfo;
        struct MsprofStreamExpandSpecInfo streamExpandInfo;
        struct MsprofStreamSqInfo streamSqInfo;
    } data;
};

#define MSPROF_ADDTIONAL_INFO_DATA_LENGTH 232

struct MsprofAdditionalInfo {
    uint16_t magicNumber;
    uint16_t level;
    uint32_t type;
    uint32_t threadId;
    uint32_t dataLen;
    uint64_t timeStamp;
    uint8_t data[MSPROF_ADDTIONAL_INFO_DATA_LENGTH];
};

/* ---- switching: what a module's handler receives ---- */
#define PROF_ACL_API         0x1ULL
#define PROF_TASK_TIME_L1    0x2ULL
#define PROF_HCCL_TRACE      0x20ULL
#define PROF_MSPROFTX        0x80ULL
#define PROF_RUNTIME_API     0x100ULL
#define PROF_TASK_TIME       0x800ULL
#define PROF_RUNTIME_TRACE   0x4000000ULL

#define PROF_INVALID_MODE_ID 0xFFFFFFFFU

#define MSPROF_MAX_DEV_NUM   64
#define PATH_LEN_MAX         1023
#define PARAM_LEN_MAX        4095

enum MsprofCommandHandleType {
    PROF_COMMANDHANDLE_TYPE_INIT = 0,
    PROF_COMMANDHANDLE_TYPE_START = 1,
    PROF_COMMANDHANDLE_TYPE_STOP = 2,
    PROF_COMMANDHANDLE_TYPE_FINALIZE = 3,
};

struct MsprofCommandHandleParams {
    uint32_t pathLen;
    uint32_t storageLimit; /* MiB */
    uint32_t profDataLen;
    char path[PATH_LEN_MAX + 1];
    char profData[PARAM_LEN_MAX + 1];
};

struct MsprofCommandHandle {
    uint64_t profSwitch;
    uint64_t profSwitchHi;
    uint32_t devNums;
    uint32_t devIdList[MSPROF_MAX_DEV_NUM];
    uint32_t modelId;
    uint32_t type; /* enum MsprofCommandHandleType */
    uint32_t cacheFlag;
    struct MsprofCommandHandleParams params;
};

/* First argument of a handler: the type of data. */
enum ProfCtrlType {
    PROF_CTRL_INVALID = 0,
    PROF_CTRL_SWITCH = 1, /* struct MsprofCommandHandle */
    PROF_CTRL_REPORTER = 2,
    PROF_CTRL_STEPINFO = 3,
};

typedef int32_t (*ProfCommandHandle)(uint32_t type, VOID_PTR data, uint32_t len);

int32_t MsprofInit(uint32_t dataType, void *data, uint32_t dataLen);
int32_t MsprofStart(uint32_t dataType, const void *data, uint32_t length);
int32_t MsprofStop(uint32_t dataType, const void *data, uint32_t length);
int32_t MsprofFinalize(void);
int32_t MsprofSetConfig(uint32_t configType, const char *config, size_t configLength);
/** @brief The handler is called now if collection is already on, and at every switch. */
int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle);
/** @brief command is a struct MsprofCommandHandle; it goes to the handlers of all modules. */
int32_t profSetProfCommand(VOID_PTR command, uint32_t len);
int32_t profSetStepInfo(const uint64_t indexId, const uint16_t tagId, void *const stream);
int32_t MsprofNotifySetDevice(uint32_t chipId, uint32_t deviceId, bool isOpen);
int32_t MsprofSetDeviceIdByGeModelIdx(const uint32_t geModelIdx, const uint32_t deviceId);
int32_t MsprofUnsetDeviceIdByGeModelIdx(const uint32_t geModelIdx, const uint32_t deviceId);
bool MsprofCheckOpSwitch(uint32_t type, const char *op, size_t len);
char *MsprofGetPath(void);

/* ---- reporting ---- */
int32_t MsprofReportApi(uint32_t nonPersistantFlag, const struct MsprofApi *api);
int32_t MsprofReportEvent(uint32_t nonPersistantFlag, const struct MsprofEvent *event);
int32_t MsprofReportCompactInfo(uint32_t nonPersistantFlag, const VOID_PTR data, uint32_t length);
int32_t MsprofReportAdditionalInfo(uint32_t nonPersistantFlag, const VOID_PTR data, uint32_t length);
int32_t MsprofReportBatchAdditionalInfo(uint32_t nonPersistantFlag, const VOID_PTR data, uint32_t length);
size_t MsprofGetBatchReportMaxSize(uint32_t type);
int32_t MsprofReportData(uint32_t moduleId, uint32_t type, VOID_PTR data, uint32_t len);
int32_t MsprofRegTypeInfo(uint16_t level, uint32_t typeId, const char *typeName);
int32_t MsprofRegDataFormat(uint16_t level, uint32_t typeId, const char *dataFormat);
uint64_t MsprofGetHashId(const char *hashInfo, size_t length);
uint64_t MsprofStr2Id(const char *hashInfo, size_t length);
char *MsprofId2Str(const uint64_t Id);
uint64_t MsprofSysCycleTime(void);

/* ---- callbacks: one slot per type, the last registration wins ---- */
enum ProfileCallbackType {
    PROFILE_CTRL_CALLBACK = 0,
    PROFILE_DEVICE_STATE_CALLBACK = 1,
    PROFILE_REPORT_API_CALLBACK = 2,
    PROFILE_REPORT_EVENT_CALLBACK = 3,
    PROFILE_REPORT_COMPACT_CALLBACK = 4,
    PROFILE_REPORT_ADDITIONAL_CALLBACK = 5,
    PROFILE_REPORT_REG_TYPE_INFO_CALLBACK = 6,
    PROFILE_REPORT_GET_HASH_ID_CALLBACK = 7,
    PROFILE_HOST_FREQ_IS_ENABLE_CALLBACK = 8,
    PROFILE_REPORT_API_C_CALLBACK = 9,
    PROFILE_REPORT_EVENT_C_CALLBACK = 10,
    PROFILE_REPORT_REG_TYPE_INFO_C_CALLBACK = 11,
    PROFILE_REPORT_GET_HASH_ID_C_CALLBACK = 12,
    PROFILE_HOST_FREQ_IS_ENABLE_C_CALLBACK = 13,
    PROFILE_REPORT_REG_DATA_FORMAT_CALLBACK = 14,
    PROFILE_REPORT_REG_DATA_FORMAT_C_CALLBACK = 15,
    PROFILE_DEVICE_STATE_C_CALLBACK = 16,
};

/* Argument of the device state callback. */
struct ProfSetDevPara {
    uint32_t chipId;
    uint32_t deviceId;
    bool isOpen;
};

/** @brief callback NULL empties the slot; len is sizeof(void *). */
int32_t MsprofRegisterProfileCallback(int32_t callbackType, VOID_PTR callback, uint32_t len);
int32_t profRegDeviceStateCallback(int32_t (*handle)(void *para, uint32_t len));

/* ---- mstx functions shared by two tools ---- */
typedef void (*mstxFuncPointer)(void);
typedef mstxFuncPointer **mstxFuncTable;
typedef int (*mstxGetModuleFuncTableFunc)(int module, mstxFuncTable *outTable, unsigned int *outSize);

enum ProfModule {
    PROF_MODULE_MSPROF = 1,
    PROF_MODULE_MSPTI = 2,
};

int InitInjectionMstx(mstxGetModuleFuncTableFunc getModuleFuncTable);
void ProfRegisterMstxFunc(int (*init)(mstxGetModuleFuncTableFunc), int module);
void ProfEnableMstxFunc(int module);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
