/* SPDX-License-Identifier: Apache-2.0 */
/* libmsprofiler.so: argument checks, the commands it sends, and the result folder of a collection. The functions
 * below stand in for the driver and for the parts of the runtime that the library looks up by name. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "abi/stars.h"
#include "acl/acl_prof.h"
#include "ascend_hal.h"
#include "base/clock.h"
#include "base/macros.h"
#include "toolchain/prof_api.h"

#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the driver: a log that the test writes ---- */

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct StarsSocLog task_log[8];
static unsigned int log_count, log_read;
static bool log_busy;
static int logs_open;
static uint32_t log_config[9];

MS_EXPORT int prof_drv_start(unsigned int dev, unsigned int channel, struct prof_start_para *para)
{
    assert_true(channel == 50 && para->user_data_size == sizeof(log_config));
    memcpy(log_config, para->user_data, sizeof(log_config));
    assert_false(log_busy); /* it would have disturbed the other tool */
    logs_open++;
    return 0;
}

MS_EXPORT bool snpu_hal_prof_on(uint32_t dev, uint32_t channel);
MS_EXPORT bool snpu_hal_prof_on(uint32_t dev, uint32_t channel)
{
    return log_busy;
}

MS_EXPORT int prof_stop(unsigned int dev, unsigned int channel)
{
    logs_open--;
    return 0;
}

MS_EXPORT int prof_channel_read(unsigned int dev, unsigned int channel, char *buf, unsigned int size)
{
    int n = 0;
    pthread_mutex_lock(&log_lock);
    while (dev == 2 && log_read < log_count && (n + 1) * sizeof(task_log[0]) <= size) {
        memcpy(buf + (unsigned)n++ * sizeof(task_log[0]), &task_log[log_read++], sizeof(task_log[0]));
    }
    pthread_mutex_unlock(&log_lock);
    return n * (int)sizeof(task_log[0]);
}

MS_EXPORT int halProfDataFlush(unsigned int dev, unsigned int channel, unsigned int *len)
{
    *len = 0;
    return 0;
}

MS_EXPORT drvError_t halGetDeviceInfo(uint32_t dev, int32_t module, int32_t info, int64_t *value)
{
    *value = info == 25 ? 50000 : (int64_t)(ms_clock_raw_ns() / 20);
    return 0;
}

static void log_task(unsigned func, uint16_t stream, uint16_t task, uint64_t counter)
{
    pthread_mutex_lock(&log_lock);
    task_log[log_count] = (struct StarsSocLog){.streamId = stream, .taskId = task, .timestamp = counter};
    task_log[log_count++].funcType = func & 0x3f;
    pthread_mutex_unlock(&log_lock);
}

/* ---- the runtime ---- */

static char message[256];

MS_EXPORT int32_t snpu_fail(int32_t code, const char *format, ...);
MS_EXPORT int32_t snpu_fail(int32_t code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return code;
}

MS_EXPORT int32_t snpu_dev_from_user(const char *function, int32_t user_dev, uint32_t *dev);
MS_EXPORT int32_t snpu_dev_from_user(const char *function, int32_t user_dev, uint32_t *dev)
{
    *dev = (uint32_t)user_dev + 2; /* as under ASCEND_RT_VISIBLE_DEVICES=2,3 */
    return user_dev >= 0 && user_dev < 2 ? 0 : 107001;
}

static struct {
    int count;
    uint64_t index;
    uint16_t tag;
    void *stream;
} trace;

MS_EXPORT int32_t rtProfilerTraceEx(uint64_t id, uint64_t model_id, uint16_t tag, void *stream);
MS_EXPORT int32_t rtProfilerTraceEx(uint64_t id, uint64_t model_id, uint16_t tag, void *stream)
{
    trace.count++;
    trace.index = id;
    trace.tag = tag;
    trace.stream = stream;
    return 0;
}

static struct MsprofCommandHandle last_command;
static int commands;

static int32_t on_command(uint32_t type, void *data, uint32_t len)
{
    commands++;
    memcpy(&last_command, data, sizeof(last_command));
    return 0;
}

/* ---- helpers ---- */

static char folder[64];
static uint32_t both[2] = {0, 1};

static aclprofConfig *config_for(uint64_t switches)
{
    aclprofConfig *config = aclprofCreateConfig(both, 2, ACL_AICORE_NONE, NULL, switches);
    assert_non_null(config);
    return config;
}

static char *content(const char *file)
{
    static char text[8192];
    char path[2048];
    snprintf(path, sizeof(path), "%s/%s", last_command.params.path, file);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        return NULL;
    }
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

/* ---- tests ---- */

static void init_checks(void **state)
{
    char missing[128];
    snprintf(missing, sizeof(missing), "%s/a/b", folder);
    assert_int_equal(aclprofFinalize(), ACL_ERROR_PROF_NOT_RUN);
    assert_int_equal(aclprofInit(NULL, 4), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofInit(folder, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofInit(folder, strlen(folder) + 5), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofInit(missing, strlen(missing)), ACL_ERROR_INVALID_FILE);
    assert_non_null(strstr(message, missing));
    assert_int_equal(aclprofInit(folder, strlen(folder)), ACL_SUCCESS);
    assert_int_equal(aclprofInit(folder, strlen(folder)), ACL_ERROR_REPEAT_INITIALIZE);
    assert_int_equal(aclprofFinalize(), ACL_SUCCESS);
    assert_int_equal(aclprofFinalize(), ACL_ERROR_PROF_NOT_RUN);
}

static void config_checks(void **state)
{
    uint32_t twice[2] = {1, 1}, unknown[1] = {2};
    assert_null(aclprofCreateConfig(NULL, 1, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API));
    assert_null(aclprofCreateConfig(both, 0, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API));
    assert_null(aclprofCreateConfig(both, 65, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API));
    assert_null(aclprofCreateConfig(both, 2, (aclprofAicoreMetrics)9, NULL, ACL_PROF_ACL_API));
    assert_null(aclprofCreateConfig(both, 2, ACL_AICORE_NONE, NULL, 0));
    assert_null(aclprofCreateConfig(both, 2, ACL_AICORE_NONE, NULL, 1ull << 63));
    assert_null(aclprofCreateConfig(twice, 2, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API));
    assert_null(aclprofCreateConfig(unknown, 1, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API));
    aclprofConfig *config = config_for(ACL_PROF_ACL_API);
    assert_int_equal(aclprofStart(config), ACL_ERROR_PROF_NOT_RUN); /* not initialised */
    assert_int_equal(aclprofWarmup(config), ACL_SUCCESS);
    assert_int_equal(aclprofDestroyConfig(config), ACL_SUCCESS);
    assert_int_equal(aclprofDestroyConfig(config), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofDestroyConfig(NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofDestroyConfig((aclprofConfig *)both), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofStart(config), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofStop(NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_not_equal(aclprofWarmup(NULL), ACL_SUCCESS);

    assert_int_equal(aclprofSetConfig(ACL_PROF_ARGS_MIN, "1", 1), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofSetConfig(ACL_PROF_ARGS_MAX, "1", 1), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, NULL, 1), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, "much", 4), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, "200MB", 5), ACL_SUCCESS);
    assert_int_equal(aclprofSetConfig(ACL_PROF_DVPP_FREQ, "50", 2), ACL_SUCCESS);
    size_t size = 1;
    void *data = both;
    assert_int_equal(aclprofGetSupportedFeatures(&size, &data), 0);
    assert_true(size == 0 && data == NULL);
    assert_int_not_equal(aclprofGetSupportedFeaturesV2(NULL, &data), 0);
    assert_int_equal(aclprofRegisterDeviceCallback(), 0);
}

static void start_and_stop(void **state)
{
    assert_int_equal(aclprofInit(folder, strlen(folder)), ACL_SUCCESS);
    aclprofConfig *config = config_for(ACL_PROF_TASK_TIME | ACL_PROF_ACL_API), *other = config_for(ACL_PROF_ACL_API);
    assert_int_equal(aclprofStop(config), ACL_ERROR_PROF_NOT_RUN);
    commands = 0;
    log_busy = true; /* another tool reads the log: tasks have no times, the rest works */
    assert_int_equal(aclprofStart(config), ACL_SUCCESS);
    assert_int_equal(commands, 1);
    assert_int_equal(last_command.type, PROF_COMMANDHANDLE_TYPE_START);
    assert_int_equal(last_command.profSwitch, 0x3);
    assert_int_equal(last_command.devNums, 2);
    assert_true(last_command.devIdList[0] == 2 && last_command.devIdList[1] == 3); /* the driver's numbers */
    assert_int_equal(last_command.modelId, 0xffffffff);
    assert_memory_equal(last_command.params.path, folder, strlen(folder));
    assert_int_equal(last_command.params.pathLen, strlen(last_command.params.path));
    assert_string_equal(MsprofGetPath(), last_command.params.path);
    assert_int_equal(aclprofStart(config), ACL_ERROR_PROF_ALREADY_RUN);
    assert_int_equal(aclprofStart(other), ACL_ERROR_PROF_ALREADY_RUN);
    assert_int_equal(aclprofStop(other), ACL_ERROR_INVALID_PROFILING_CONFIG);
    assert_int_equal(aclprofDestroyConfig(config), ACL_ERROR_PROF_ALREADY_RUN);
    assert_int_equal(aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, "1GB", 3), ACL_ERROR_PROF_ALREADY_RUN);
    assert_int_equal(aclprofStop(config), ACL_SUCCESS);
    assert_int_equal(commands, 2);
    assert_int_equal(last_command.type, PROF_COMMANDHANDLE_TYPE_STOP);
    assert_int_equal(last_command.profSwitch, 0x3);
    assert_string_equal(content("host/api.csv"), "level,name,thread,start_ns,end_ns\n");
    assert_non_null(strstr(content("info.json"), "{\"id\": 2, \"task_log\": false}"));
    log_busy = false;

    assert_int_equal(aclprofStart(other), ACL_SUCCESS);
    assert_int_equal(logs_open, 0);                   /* tasks were not requested */
    assert_int_equal(aclprofFinalize(), ACL_SUCCESS); /* stops the running collection */
    assert_int_equal(last_command.type, PROF_COMMANDHANDLE_TYPE_STOP);
    assert_int_equal(aclprofDestroyConfig(config), ACL_SUCCESS);
    assert_int_equal(aclprofDestroyConfig(other), ACL_SUCCESS);
}

static int tool_calls;

static int32_t tool_api(uint32_t aging, const struct MsprofApi *api)
{
    tool_calls++;
    return 0;
}

static mstxFuncPointer front[3][8];

static int front_tables(int module, mstxFuncTable *out, unsigned int *size)
{
    static mstxFuncPointer *table[3][8];
    if (module < 1 || module > 2) {
        return 1;
    }
    for (int i = 0; i < 8; i++) {
        table[module][i] = &front[module][i];
    }
    *out = table[module];
    *size = module == 1 ? 5 : 6;
    return 0;
}

static void report_track(uint32_t stream, uint32_t task, const char *name)
{
    struct MsprofCompactInfo info;
    memset(&info, 0, sizeof(info));
    info.magicNumber = MSPROF_REPORT_DATA_MAGIC_NUM;
    info.level = MSPROF_REPORT_RUNTIME_LEVEL;
    info.type = RT_PROFILE_TYPE_TASK_TRACK;
    info.timeStamp = MsprofSysCycleTime();
    info.data.runtimeTrack.deviceId = 2;
    info.data.runtimeTrack.streamId = (uint16_t)stream;
    info.data.runtimeTrack.taskId = task;
    info.data.runtimeTrack.taskType = TS_TASK_TYPE_KERNEL_AIVEC;
    info.data.runtimeTrack.kernelName = MsprofGetHashId(name, strlen(name));
    assert_int_equal(MsprofReportCompactInfo(1, &info, sizeof(info)), 0);
}

static void a_collection(void **state)
{
    assert_int_equal(aclprofInit(folder, strlen(folder)), ACL_SUCCESS);
    aclprofConfig *config = config_for(ACL_PROF_TASK_TIME | ACL_PROF_ACL_API | ACL_PROF_MSPROFTX);
    MsprofRegisterProfileCallback(PROFILE_REPORT_API_C_CALLBACK, tool_api, sizeof(void *));
    MsprofRegTypeInfo(MSPROF_REPORT_ACL_LEVEL, 0x030001, "aclrtMalloc");
    MsprofRegTypeInfo(MSPROF_REPORT_RUNTIME_LEVEL, TS_TASK_TYPE_KERNEL_AIVEC, "KERNEL_AIVEC");
    InitInjectionMstx(front_tables);
    log_count = log_read = 0;
    uint64_t before = ms_clock_ns(CLOCK_REALTIME);
    assert_int_equal(aclprofStart(config), ACL_SUCCESS);
    assert_int_equal(log_config[0], 1);
    assert_int_equal(logs_open, 2);

    struct MsprofApi api = {.magicNumber = 0x5a5a, .level = 20000, .type = 0x030001, .threadId = 77};
    api.beginTime = MsprofSysCycleTime();
    api.endTime = api.beginTime + 1000;
    assert_int_equal(MsprofReportApi(1, &api), 0);
    assert_int_equal(tool_calls, 1); /* the tool keeps its slot */
    api.level = 10000;
    api.type = 5;
    api.itemId = MsprofGetHashId("op, \"quoted\"", 12);
    MsprofReportApi(1, &api);

    report_track(5, 0x10007, "Add");
    report_track(5, 0x10008, "NeverRun");
    uint64_t counter = ms_clock_raw_ns() / 20;
    log_task(STARS_FUNC_TASK_BEGIN, 5, 7, counter);
    log_task(STARS_FUNC_TASK_BEGIN, 9, 7, counter);    /* a stream without tracks */
    log_task(STARS_FUNC_TASK_END, 5, 7, counter + 50); /* one microsecond */

    /* marks and ranges from three sources */
    ((void (*)(const char *, void *))front[1][1])("by mstx", (void *)0x5);
    assert_true(trace.count == 1 && trace.tag == 11 && trace.stream == (void *)0x5);
    void *domain = ((void *(*)(const char *))front[2][1])("mine");
    uint64_t range = ((uint64_t(*)(void *, const char *, void *))front[2][4])(domain, "in domain", NULL);
    assert_int_not_equal(range, 0);
    ((void (*)(void *, uint64_t))front[2][5])(domain, range);
    assert_int_equal(aclprofMarkEx("by message", 10, NULL), ACL_SUCCESS);
    void *stamp = aclprofCreateStamp();
    assert_int_equal(aclprofSetStampTraceMessage(stamp, "by stamp", 8), ACL_SUCCESS);
    assert_int_equal(aclprofPush(stamp), ACL_SUCCESS);
    assert_int_equal(aclprofPop(), ACL_SUCCESS);
    aclprofDestroyStamp(stamp);

    assert_int_equal(aclprofStop(config), ACL_SUCCESS);
    uint64_t after = ms_clock_ns(CLOCK_REALTIME);
    assert_int_equal(logs_open, 0);
    MsprofRegisterProfileCallback(PROFILE_REPORT_API_C_CALLBACK, NULL, sizeof(void *));

    unsigned int thread;
    uint64_t start, end, launch;
    char *text = content("host/api.csv");
    char *line = strstr(text, "\nacl,aclrtMalloc,");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "\nacl,aclrtMalloc,%u,%" SCNu64 ",%" SCNu64, &thread, &start, &end), 3);
    assert_int_equal(thread, 77);
    assert_true(before <= start && start < end && end <= after + 1000);
    assert_non_null(strstr(text, "\nnode,\"op, \"\"quoted\"\"\",77,"));

    text = content("device_2/task.csv");
    assert_non_null(text);
    line = strstr(text, "\n5,65543,KERNEL_AIVEC,Add,");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "\n5,65543,KERNEL_AIVEC,Add,%" SCNu64 ",%" SCNu64 ",%" SCNu64, &launch, &start, &end),
                     3);
    assert_true(before <= launch && launch <= after && end - start >= 999 && end - start <= 1001);
    assert_true(before <= start + 1000000 && start <= after + 1000000);
    assert_non_null(strstr(text, "\n5,65544,KERNEL_AIVEC,NeverRun,"));
    assert_string_equal(text + strlen(text) - 3, ",,\n"); /* no times */
    assert_null(content("device_3/task.csv"));

    text = content("host/tx.csv");
    assert_non_null(strstr(text, "\nmark,default,by mstx,"));
    assert_non_null(strstr(text, "\nrange,mine,in domain,"));
    assert_non_null(strstr(text, "\nmark,default,by message,"));
    assert_non_null(strstr(text, "\npush_pop,default,by stamp,"));
    text = content("info.json");
    assert_non_null(strstr(text, "\"dropped\": 0"));
    assert_non_null(strstr(text, "{\"id\": 2, \"task_log\": true}"));

    /* nothing is recorded between collections */
    assert_int_equal(((uint64_t(*)(const char *, void *))front[1][2])("late", NULL), 0);
    assert_int_equal(aclprofMarkEx("late", 4, (aclrtStream)0x5), ACL_SUCCESS);
    assert_int_equal(trace.count, 1);
    assert_int_equal(aclprofFinalize(), ACL_SUCCESS);
    aclprofDestroyConfig(config);
}

static void the_limit_drops_and_counts(void **state)
{
    assert_int_equal(aclprofInit(folder, strlen(folder)), ACL_SUCCESS);
    assert_int_equal(aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, "1K", 2), ACL_SUCCESS);
    aclprofConfig *config = config_for(ACL_PROF_ACL_API);
    assert_int_equal(aclprofStart(config), ACL_SUCCESS);
    struct MsprofApi api = {.level = 20000, .type = 0x030001};
    for (int i = 0; i < 100; i++) {
        MsprofReportApi(1, &api);
    }
    assert_int_equal(aclprofFinalize(), ACL_SUCCESS);
    unsigned int records = 0, dropped = 0;
    char *text = content("info.json");
    assert_int_equal(sscanf(strstr(text, "\"records\""), "\"records\": %u,\n  \"dropped\": %u", &records, &dropped), 2);
    assert_true(records > 0 && records < 20 && records + dropped == 100);
    aclprofDestroyConfig(config);
}

static void stamps_and_ranges(void **state)
{
    char long_text[300];
    memset(long_text, 'x', sizeof(long_text));
    uint32_t id = 0;
    void *stamp = aclprofCreateStamp();
    assert_non_null(stamp);
    assert_int_equal(aclprofSetStampTraceMessage(stamp, NULL, 3), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofSetStampTraceMessage(stamp, long_text, 300), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofSetStampTraceMessage(stamp, long_text, 255), ACL_SUCCESS);
    assert_int_equal(aclprofMark(stamp), ACL_SUCCESS);
    assert_int_equal(aclprofRangeStart(stamp, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofRangeStart(stamp, &id), ACL_SUCCESS);
    assert_int_not_equal(id, 0);
    assert_int_equal(aclprofRangeStop(id), ACL_SUCCESS);
    assert_int_equal(aclprofRangeStop(id), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofRangeStop(0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofRangeStop(0xffffffff), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofPop(), ACL_ERROR_PROFILING_FAILURE);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(aclprofPush(stamp), ACL_SUCCESS);
    }
    assert_int_equal(aclprofPush(stamp), ACL_ERROR_PROFILING_FAILURE);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(aclprofPop(), ACL_SUCCESS);
    }
    aclprofDestroyStamp(stamp);
    aclprofDestroyStamp(stamp);
    aclprofDestroyStamp(NULL);
    assert_int_equal(aclprofPush(stamp), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofMark(&id), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofMarkEx(NULL, 1, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofMarkEx(long_text, 256, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofStr2Id("Add"), 0x0000E141001138D9);
    assert_int_equal(aclprofStr2Id(NULL), 0);

    aclprofTensorInfo tensors = {.opNameId = aclprofStr2Id("Add")};
    aclprofEventAttributes attr = {.version = 1, .size = sizeof(attr), .message.tensorInfo = &tensors};
    assert_int_equal(aclprofRangePushEx(&attr), ACL_SUCCESS);
    assert_int_equal(aclprofRangePop(), ACL_SUCCESS);
    assert_int_equal(aclprofRangePop(), ACL_ERROR_PROFILING_FAILURE);
    attr.version = 2;
    assert_int_equal(aclprofRangePushEx(&attr), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofRangePushEx(NULL), ACL_ERROR_INVALID_PARAM);
}

static void steps(void **state)
{
    aclprofStepInfo *info = aclprofCreateStepInfo();
    assert_non_null(info);
    assert_int_equal(aclprofGetStepTimestamp(info, ACL_STEP_END, (aclrtStream)0x9), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofGetStepTimestamp(info, ACL_STEP_START, (aclrtStream)0x9), ACL_SUCCESS);
    uint64_t index = trace.index;
    assert_true(trace.tag == ACL_STEP_START && trace.stream == (void *)0x9);
    assert_int_equal(aclprofGetStepTimestamp(info, ACL_STEP_START, (aclrtStream)0x9), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofGetStepTimestamp(info, ACL_STEP_END, (aclrtStream)0x9), ACL_SUCCESS);
    assert_true(trace.tag == ACL_STEP_END && trace.index == index);
    aclprofDestroyStepInfo(info);
    aclprofDestroyStepInfo(info);
    assert_int_equal(aclprofGetStepTimestamp(info, ACL_STEP_START, NULL), ACL_ERROR_INVALID_PARAM);
}

static void operator_descriptions(void **state)
{
    size_t size = 0, len = 0;
    uint32_t n = 0;
    char text[300];
    assert_int_equal(aclprofGetOpDescSize(&size), ACL_SUCCESS);
    assert_int_equal(aclprofGetOpDescSize(NULL), ACL_ERROR_INVALID_PARAM);
    char *info = malloc(2 * size + 1);
    assert_non_null(info);
    memset(info, 'x', 2 * size + 1); /* unterminated texts */
    char *odd = info + 1;            /* and not aligned */
    assert_int_equal(aclprofGetOpNum(odd, 2 * size, &n), ACL_SUCCESS);
    assert_int_equal(n, 2);
    assert_int_equal(aclprofGetOpNum(odd, 2 * size - 1, &n), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofGetOpNameLen(odd, 2 * size, 1, &len), ACL_SUCCESS);
    assert_int_equal(len, ACL_PROF_MAX_OP_NAME_LEN);
    assert_int_equal(aclprofGetOpName(odd, 2 * size, 1, text, sizeof(text)), ACL_SUCCESS);
    assert_int_equal(strlen(text), ACL_PROF_MAX_OP_NAME_LEN - 1);
    assert_int_equal(aclprofGetOpName(odd, 2 * size, 1, text, 10), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofGetOpTypeLen(odd, 2 * size, 2, &len), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofGetOpType(NULL, 2 * size, 0, text, sizeof(text)), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofGetOpStart(odd, 2 * size, 0), 0x7878787878787878);
    assert_int_equal(aclprofGetOpEnd(odd, 2 * size, 5), 0);
    assert_int_equal(aclprofGetOpDuration(NULL, 0, 0), 0);
    assert_int_equal(aclprofGetModelId(odd, 2 * size, 0), 0x78787878);
    assert_int_equal(aclprofGetOpFlag(odd, 2 * size, 0), ACL_SUBSCRIBE_NONE);
    assert_string_equal(aclprofGetOpAttriValue(odd, 2 * size, 0, ACL_SUBSCRIBE_ATTRI_THREADID), "2021161080");
    assert_null(aclprofGetOpAttriValue(odd, 2 * size, 0, ACL_SUBSCRIBE_ATTRI_NONE));
    free(info);

    assert_null(aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, NULL));
    int ends[2], file = open(folder, O_RDONLY | O_DIRECTORY);
    char byte;
    assert_int_equal(pipe(ends), 0);
    aclprofSubscribeConfig *config = aclprofCreateSubscribeConfig(1, ACL_AICORE_NONE, &ends[1]);
    assert_non_null(config);
    assert_int_equal(aclprofModelSubscribe(1, config), ACL_ERROR_API_NOT_SUPPORT);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* the reader sees the end */
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(aclprofModelSubscribe(1, config), ACL_ERROR_API_NOT_SUPPORT); /* with a closed descriptor */
    ends[1] = file;
    assert_int_equal(aclprofModelSubscribe(1, config), ACL_ERROR_API_NOT_SUPPORT);
    assert_int_equal(close(file), 0); /* not a pipe: left open */
    assert_int_equal(aclprofModelSubscribe(1, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclprofModelUnSubscribe(1), ACL_ERROR_API_NOT_SUPPORT);
    assert_int_equal(aclprofDestroySubscribeConfig(config), ACL_SUCCESS);
    assert_int_equal(aclprofDestroySubscribeConfig(config), ACL_ERROR_INVALID_PARAM);
}

int main(void)
{
    strcpy(folder, "/tmp/msprofiler_test.XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    MsprofRegisterCallback(7, on_command);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init_checks),
        cmocka_unit_test(config_checks),
        cmocka_unit_test(start_and_stop),
        cmocka_unit_test(a_collection),
        cmocka_unit_test(the_limit_drops_and_counts),
        cmocka_unit_test(stamps_and_ranges),
        cmocka_unit_test(steps),
        cmocka_unit_test(operator_descriptions),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}
