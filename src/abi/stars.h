/* SPDX-License-Identifier: Apache-2.0 */
/* Records that devices write to the driver's profiling channels, and the configuration of those channels. Two
 * generations: 910B and 910_93 (A2, A3), and the 950 and 960 families (A5, A6; suffix V6). */
#ifndef ABI_STARS_H
#define ABI_STARS_H

#include <stdint.h>

/* 64-bit members are aligned to four bytes. */
#pragma pack(push, 4)

/* ---- channel 50: log of executed tasks ---- */
enum {
    STARS_FUNC_TASK_BEGIN = 0,
    STARS_FUNC_TASK_END = 1,
    STARS_FUNC_SUBTASK_BEGIN = 0x22,
    STARS_FUNC_SUBTASK_END = 0x23,
};

struct StarsSocLog {
    uint16_t funcType : 6;
    uint16_t cnt : 4;
    uint16_t sqeType : 6;
    uint16_t resv0; /* magic */
    uint16_t streamId;
    uint16_t taskId;
    uint64_t timestamp; /* device counter */
    uint16_t resv1;
    uint16_t accId : 6;
    uint16_t acsqId : 10;
    uint32_t resv2[11];
};

/* Sub-tasks of a fused task. */
struct FftsPlusLog {
    uint16_t funcType : 6;
    uint16_t cnt : 4;
    uint16_t sqeType : 6;
    uint16_t resv0;
    uint16_t streamId;
    uint16_t taskId;
    uint64_t timestamp;
    uint16_t resv1;
    uint16_t subTaskId;
    uint16_t resv2;
    uint16_t threadId;
    uint32_t resv5[10];
};

/* No stream: a task is identified by device and task id. */
struct StarsSocLogV6 {
    uint16_t funcType : 6;
    uint16_t cnt : 4;
    uint16_t sqeType : 6;
    uint16_t resv0;
    uint32_t taskId;
    uint64_t timestamp;
    uint16_t resv1;
    uint16_t accId : 6;
    uint16_t acsqId : 10;
    uint32_t resv2[3];
};

/* user_data of prof_drv_start: 1 switches a source on. The last two exist on A5 and A6 only. */
struct StarsSocLogConfig {
    uint32_t acsq_task;
    uint32_t acc_pmu;
    uint32_t cdqm_reg;
    uint32_t dvpp_vpc;
    uint32_t dvpp_jpegd;
    uint32_t dvpp_jpede;
    uint32_t ffts_thread_task;
    uint32_t ffts_block;
    uint32_t sdma_dmu;
};

struct StarsSocLogConfigV6 {
    struct StarsSocLogConfig base;
    uint32_t tag;
    uint32_t block_shrink_flag;
};

/* ---- channel 44: log of the task scheduler's firmware ---- */
enum {
    TS_RPT_STEP_TRACE = 10,
    TS_RPT_MEMCPY = 11,
    TS_RPT_TASK_TYPE = 12,
    TS_RPT_FLIP = 14,
};

enum { TS_TAG_MARKER = 11 };

struct TsTrackHead {
    uint8_t mode;
    uint8_t rptType;
    uint16_t bufSize;
};

struct StepTrace {
    struct TsTrackHead tsTraceHead;
    uint32_t resv;
    uint64_t timestamp;
    uint64_t indexId;
    uint64_t modelId;
    uint16_t streamId;
    uint16_t taskId;
    uint16_t tagId;
    uint16_t resv1;
};

struct StepTraceV6 {
    struct TsTrackHead tsTraceHead;
    uint32_t resv;
    uint64_t timestamp;
    uint64_t indexId;
    uint64_t modelId;
    uint16_t tagId;
    uint16_t streamId;
    uint32_t taskId;
};

struct TsMemCpy {
    struct TsTrackHead tsTraceHead;
    uint32_t resv;
    uint64_t timestamp;
    uint16_t streamId;
    uint16_t taskId;
    uint8_t taskState;
    uint8_t resv1[19];
};

struct TaskType {
    struct TsTrackHead tsTraceHead;
    uint64_t timestamp;
    uint16_t streamId;
    uint16_t taskId;
    uint16_t taskType;
    uint8_t taskState;
    uint8_t resv1[21];
};

#pragma pack(pop)

/* What a program passes to aclrtProfTrace to have a StepTrace written. */
#pragma pack(push, 1)
struct StepTraceRequest {
    uint64_t indexId;
    uint64_t modelId;
    uint16_t tagId;
};
#pragma pack(pop)

#endif
