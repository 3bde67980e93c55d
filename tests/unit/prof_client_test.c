/* SPDX-License-Identifier: Apache-2.0 */
/* A profiler on the whole stack: does what msPTI does, while a program does what programs do. Every task that the
 * program queues must be announced, and appear in the device's log with the same key, in order, within the time the
 * program ran; marks put into a stream must come out of the firmware's channel. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "own_machine.h"

#include "abi/stars.h"
#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "ascend_hal.h"
#include "base/clock.h"
#include "base/macros.h"
#include "toolchain/prof_api.h"
#include "transformer_kernels.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_SEEN = 4096, COPIES = 20 };

/* ---- the profiler ---- */

static struct MsprofRuntimeTrack tracks[MAX_SEEN];
static uint64_t track_time[MAX_SEEN];
static uint32_t track_thread[MAX_SEEN];
static int track_count, copies_reported, stream_records;
static struct MsprofApi apis[MAX_SEEN];
static int api_count;
static struct StarsSocLog task_log[MAX_SEEN];
static int log_count;
static char type_names[2001][64];
static char acl_names[0x2000][64];
static uint64_t switches = PROF_ACL_API | PROF_TASK_TIME | PROF_RUNTIME_TRACE | PROF_RUNTIME_API;

static int32_t on_compact(uint32_t aging, const void *data, uint32_t len)
{
    const struct MsprofCompactInfo *info = data;
    if (info->level != 5000) {
        return 0;
    }
    if (info->type == 802 && track_count < MAX_SEEN) {
        track_thread[track_count] = info->threadId;
        track_time[track_count] = info->timeStamp;
        tracks[track_count++] = info->data.runtimeTrack;
    }
    copies_reported += info->type == 801;
    stream_records += info->type == 807;
    return 0;
}

static int32_t on_api(uint32_t aging, const struct MsprofApi *api)
{
    if (api_count < MAX_SEEN) {
        apis[api_count++] = *api;
    }
    return 0;
}

static int32_t on_type(uint16_t level, uint32_t type, const char *name, size_t len)
{
    if (level == 5000 && type <= 2000) {
        snprintf(type_names[type], sizeof(type_names[type]), "%s", name);
    } else if (level == 20000 && (type & 0xffff) < MS_COUNT_OF(acl_names)) {
        snprintf(acl_names[type & 0xffff], sizeof(acl_names[0]), "%s", name);
    }
    return 0;
}

static int opens;

static int32_t on_device(void *para, uint32_t len)
{
    const struct ProfSetDevPara *p = para;
    if (!p->isOpen) {
        return 0;
    }
    opens++;
    struct MsprofCommandHandle command;
    memset(&command, 0, sizeof(command));
    command.profSwitch = switches;
    command.devNums = 1;
    command.devIdList[0] = p->deviceId;
    command.modelId = 0xffffffff;
    command.type = PROF_COMMANDHANDLE_TYPE_START;
    profSetProfCommand(&command, sizeof(command));
    struct StarsSocLogConfig config = {.acsq_task = 1};
    struct prof_start_para start = {
        .sample_period = 20, .real_time = 1, .user_data = &config, .user_data_size = sizeof(config)};
    uint32_t tsfw[2] = {1, 1};
    struct prof_start_para marks = {
        .sample_period = 20, .real_time = 1, .user_data = tsfw, .user_data_size = sizeof(tsfw)};
    prof_drv_start(p->deviceId, 50, &start);
    prof_drv_start(p->deviceId, 44, &marks);
    return 0;
}

static char kernel_text[64];
static uint64_t kernel_id;

/* The real hash function, so ids mean the same to all tools; stores the id of this test's kernel. */
static uint64_t on_hash(const char *text, size_t len)
{
    uint64_t id = MsprofStr2Id(text, len);
    if (len == 4 && memcmp(text, "fill", 4) == 0) {
        snprintf(kernel_text, sizeof(kernel_text), "%.*s", (int)len, text);
        kernel_id = id;
    }
    return id;
}

static void subscribe(void)
{
    MsprofRegisterProfileCallback(PROFILE_REPORT_GET_HASH_ID_C_CALLBACK, (void *)on_hash, 8);
    MsprofRegisterProfileCallback(PROFILE_REPORT_COMPACT_CALLBACK, (void *)on_compact, 8);
    MsprofRegisterProfileCallback(PROFILE_REPORT_API_C_CALLBACK, (void *)on_api, 8);
    MsprofRegisterProfileCallback(PROFILE_REPORT_REG_TYPE_INFO_C_CALLBACK, (void *)on_type, 8);
    MsprofRegisterProfileCallback(PROFILE_DEVICE_STATE_C_CALLBACK, (void *)on_device, 8);
}

static void unsubscribe(void)
{
    static const int types[] = {PROFILE_REPORT_GET_HASH_ID_C_CALLBACK, PROFILE_REPORT_COMPACT_CALLBACK,
                                PROFILE_REPORT_API_C_CALLBACK, PROFILE_REPORT_REG_TYPE_INFO_C_CALLBACK,
                                PROFILE_DEVICE_STATE_C_CALLBACK};
    struct MsprofCommandHandle command = {.type = PROF_COMMANDHANDLE_TYPE_FINALIZE};
    profSetProfCommand(&command, sizeof(command));
    for (size_t i = 0; i < MS_COUNT_OF(types); i++) {
        MsprofRegisterProfileCallback(types[i], NULL, 8);
    }
    prof_stop(0, 50);
    prof_stop(0, 44);
}

static void read_log(void)
{
    static char buf[1 << 16];
    int n;
    while ((n = prof_channel_read(0, 50, buf, sizeof(buf))) > 0) {
        assert_int_equal(n % 64, 0);
        assert_true(log_count + n / 64 <= MAX_SEEN);
        memcpy(&task_log[log_count], buf, (size_t)n);
        log_count += n / 64;
    }
}

static const char *kind_of(const struct MsprofRuntimeTrack *t)
{
    return t->taskType <= 2000 ? type_names[t->taskType] : "";
}

static bool acl_called(const char *name)
{
    for (int i = 0; i < api_count; i++) {
        if (apis[i].level == 20000 && strcmp(acl_names[apis[i].type & 0xffff], name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the program ---- */

static aclrtStream stream;
static aclrtEvent event;
static int32_t stream_id;

static void begin(void)
{
    assert_int_equal(aclInit(NULL), 0);
    assert_int_equal(aclrtSetDevice(0), 0);
    assert_int_equal(aclrtCreateStream(&stream), 0);
    assert_int_equal(aclrtCreateEvent(&event), 0);
    assert_int_equal(aclrtStreamGetId(stream, &stream_id), 0);
}

/* Copies, one kernel, an event. */
static void work(void)
{
    static char host[4096];
    char path[4096];
    void *device_memory = NULL;
    aclrtBinHandle binary = NULL;
    aclrtFuncHandle fill = NULL;
    assert_int_equal(aclrtMalloc(&device_memory, sizeof(host), ACL_MEM_MALLOC_HUGE_FIRST), 0);
    for (int i = 0; i < COPIES; i++) {
        assert_int_equal(
            aclrtMemcpyAsync(device_memory, sizeof(host), host, sizeof(host), ACL_MEMCPY_HOST_TO_DEVICE, stream), 0);
    }
    snprintf(path, sizeof(path), "%s/built-in/op_impl/ai_core/tbe/kernel/transformer_kernels.so",
             getenv("ASCEND_OPP_PATH"));
    assert_int_equal(aclrtBinaryLoadFromFile(path, NULL, &binary), 0);
    assert_int_equal(aclrtBinaryGetFunction(binary, "fill", &fill), 0);
    struct tk_fill_args args = {.dst = device_memory, .count = sizeof(host), .element_b = 1, .pattern = 7};
    assert_int_equal(aclrtLaunchKernel(fill, 3, &args, sizeof(args), stream), 0);
    assert_int_equal(aclrtRecordEvent(event, stream), 0);
    assert_int_equal(aclrtSynchronizeStream(stream), 0);
    aclrtBinaryUnLoad(binary);
    aclrtFree(device_memory);
}

static void end(void)
{
    aclrtDestroyEvent(event);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    aclFinalize();
}

/* ---- tests ---- */

static void every_task_is_seen(void **state)
{
    subscribe();
    uint64_t before = ms_clock_raw_ns() / 20;
    uint64_t host_before = MsprofSysCycleTime();
    begin();
    assert_int_equal(opens, 1);
    assert_string_equal(type_names[TS_TASK_TYPE_KERNEL_MIX_AIC], "KERNEL_MIX_AIC");
    work();
    struct StepTraceRequest mark = {.indexId = 4711, .modelId = 8, .tagId = TS_TAG_MARKER};
    assert_int_equal(aclrtProfTrace(&mark, sizeof(mark), stream), 0);
    assert_int_equal(aclrtSynchronizeStream(stream), 0);
    uint64_t after = ms_clock_raw_ns() / 20;

    read_log();
    int copies = 0, kernels = 0, matched = 0;
    uint64_t last_end = 0;
    for (int i = 0; i < track_count; i++) {
        const struct MsprofRuntimeTrack *t = &tracks[i];
        if (t->streamId != stream_id) {
            continue;
        }
        assert_int_equal(t->deviceId, 0);
        assert_int_equal(track_thread[i], syscall(SYS_gettid));
        assert_true(host_before <= track_time[i] && track_time[i] <= MsprofSysCycleTime());
        copies += strcmp(kind_of(t), "MEMCPY_ASYNC") == 0;
        if (strncmp(kind_of(t), "KERNEL", 6) == 0) {
            kernels++;
            assert_int_equal(t->kernelName, kernel_id);
            assert_int_equal(t->extInfo.kernelInfo.numBlocks, 3);
        }
        uint64_t start = 0, stop = 0;
        for (int j = 0; j < log_count; j++) {
            if (task_log[j].streamId == stream_id && task_log[j].taskId == (uint16_t)t->taskId) {
                *(task_log[j].funcType == STARS_FUNC_TASK_BEGIN ? &start : &stop) = task_log[j].timestamp;
            }
        }
        assert_true(before <= start && start <= stop && stop <= after);
        assert_true(last_end <= start); /* one after the other */
        last_end = stop;
        matched++;
    }
    assert_int_equal(copies, COPIES);
    assert_int_equal(kernels, 1);
    assert_string_equal(kernel_text, "fill");
    assert_true(matched >= COPIES + 3); /* the event and the mark are tasks too */
    assert_int_equal(stream_records, 1);
    assert_true(copies_reported >= COPIES);
    assert_true(acl_called("aclrtMemcpyAsync"));
    assert_true(acl_called("aclrtMalloc"));

    struct StepTrace trace;
    assert_int_equal(prof_channel_read(0, 44, (char *)&trace, sizeof(trace)), sizeof(trace));
    assert_int_equal(trace.tsTraceHead.rptType, TS_RPT_STEP_TRACE);
    assert_int_equal(trace.indexId, 4711);
    assert_int_equal(trace.modelId, 8);
    assert_int_equal(trace.tagId, TS_TAG_MARKER);
    assert_int_equal(trace.streamId, stream_id);
    assert_true(before <= trace.timestamp && trace.timestamp <= after);

    end();
    unsubscribe();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static void aclprof_writes_every_task(void **state)
{
    char folder[] = "/tmp/prof_client_test.XXXXXX", path[2048], line[512];
    uint32_t device = 0;
    assert_non_null(mkdtemp(folder));
    begin();
    assert_int_equal(aclprofInit(folder, strlen(folder)), 0);
    aclprofConfig *config =
        aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, ACL_PROF_TASK_TIME | ACL_PROF_ACL_API);
    assert_non_null(config);
    assert_int_equal(aclprofStart(config), 0);
    snprintf(path, sizeof(path), "%s/device_0/task.csv", MsprofGetPath());
    work();
    assert_int_equal(aclprofStop(config), 0);
    assert_int_equal(aclprofDestroyConfig(config), 0);
    assert_int_equal(aclprofFinalize(), 0);
    end();

    FILE *f = fopen(path, "r");
    assert_non_null(f);
    int copies = 0, kernels = 0;
    assert_non_null(fgets(line, sizeof(line), f));
    while (fgets(line, sizeof(line), f) != NULL) {
        char type[64], name[64];
        unsigned int on_stream, task;
        unsigned long long launch, start, stop;
        assert_int_equal(
            sscanf(line, "%u,%u,%63[^,],%63[^,],%llu,%llu,%llu", &on_stream, &task, type, name, &launch, &start, &stop),
            7); /* every task has its times */
        assert_true(start <= stop);
        copies += strcmp(type, "MEMCPY_ASYNC") == 0;
        kernels += strncmp(type, "KERNEL", 6) == 0 && strcmp(name, "fill") == 0;
    }
    fclose(f);
    assert_true(copies == COPIES && kernels == 1);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    own_machine_use("1", NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_task_is_seen),
                                       cmocka_unit_test(aclprof_writes_every_task)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed;
}
