/* SPDX-License-Identifier: Apache-2.0 */
/* The ACL front: unsupported names return "not supported", calls are reported to a profiler that requests them, and
 * the functions defined in the front itself. */
#include "abi/coverage.h"

#include "acl/acl.h"
#include "base/dlog_pub.h"
#include "toolchain/prof_api.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "own_machine.h"

/* ---- not supported ---- */
/* All arguments are zero: the functions use none of them. */
typedef intptr_t (*any_function)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);

static void unsupported_names_say_so(void **state)
{
    size_t count;
    const struct abi_library *acl = abi_coverage(&count);
    (void)state;
    assert_string_equal(acl->key, "acl");
    for (size_t i = 0; i < acl->count; i++) {
        const struct abi_name *entry = &acl->names[i];
        if (entry->status != ABI_UNSUPPORTED) {
            continue;
        }
        union {
            void *object;
            any_function call;
        } function = {.object = dlsym(RTLD_DEFAULT, entry->name)};
        assert_non_null(function.object);
        aclGetRecentErrMsg();
        int result = (int)function.call(0, 0, 0, 0, 0, 0, 0, 0);
        if (result != 0) { /* functions that return a pointer or a count return 0 */
            assert_int_equal(result, ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
        }
        const char *message = aclGetRecentErrMsg();
        assert_non_null(message);
        assert_non_null(strstr(message, entry->name));
    }
}

/* ---- reports ---- */
static struct {
    struct MsprofApi last;
    int apis;
    uint32_t named_type;
} seen;

static int32_t on_api(uint32_t aging, const struct MsprofApi *api)
{
    (void)aging;
    if (api->level == MSPROF_REPORT_ACL_LEVEL) {
        seen.last = *api;
        seen.apis++;
    }
    return 0;
}

static int32_t on_type(uint16_t level, uint32_t type, const char *name, size_t length)
{
    (void)length;
    if (level == MSPROF_REPORT_ACL_LEVEL && strcmp(name, "aclrtGetDeviceCount") == 0) {
        seen.named_type = type;
    }
    return 0;
}

static void switch_profiling(uint32_t type)
{
    struct MsprofCommandHandle command = {
        .profSwitch = PROF_ACL_API, .devNums = 1, .modelId = PROF_INVALID_MODE_ID, .type = type};
    assert_int_equal(profSetProfCommand(&command, sizeof(command)), 0);
}

static void calls_are_reported_while_requested(void **state)
{
    uint32_t devices;
    (void)state;
    assert_int_equal(MsprofRegisterProfileCallback(PROFILE_REPORT_API_C_CALLBACK, (VOID_PTR)on_api, sizeof(void *)), 0);
    assert_int_equal(
        MsprofRegisterProfileCallback(PROFILE_REPORT_REG_TYPE_INFO_C_CALLBACK, (VOID_PTR)on_type, sizeof(void *)), 0);
    assert_int_equal(aclInit(NULL), 0);

    assert_int_equal(aclrtGetDeviceCount(&devices), 0);
    assert_int_equal(seen.apis, 0);

    switch_profiling(PROF_COMMANDHANDLE_TYPE_START);
    uint64_t before = MsprofSysCycleTime();
    assert_int_equal(aclrtGetDeviceCount(&devices), 0);
    uint64_t after = MsprofSysCycleTime();
    assert_int_equal(seen.apis, 1);
    assert_int_equal(seen.last.magicNumber, MSPROF_REPORT_DATA_MAGIC_NUM);
    assert_int_equal(seen.last.threadId, (uint32_t)syscall(SYS_gettid));
    assert_true(before <= seen.last.beginTime && seen.last.beginTime <= seen.last.endTime &&
                seen.last.endTime <= after);
    assert_int_not_equal(seen.named_type, 0);
    assert_int_equal(seen.last.type, seen.named_type);

    switch_profiling(PROF_COMMANDHANDLE_TYPE_STOP);
    assert_int_equal(aclrtGetDeviceCount(&devices), 0);
    assert_int_equal(seen.apis, 1);
    assert_int_equal(aclFinalize(), 0);
}

/* ---- stream configurations ---- */
static void stream_configurations(void **state)
{
    uint32_t priority = 3, flag32 = ACL_STREAM_FAST_LAUNCH;
    size_t flag = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC, huge = (size_t)1 << 40;
    void *work = &priority;
    aclrtStreamConfigHandle *handle = aclrtCreateStreamConfigHandle();
    (void)state;
    assert_non_null(handle);
    assert_int_equal(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_PRIORITY, &priority, sizeof(priority)), 0);
    assert_int_equal(handle->priority, 3);
    assert_int_equal(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &flag, sizeof(flag)), 0);
    assert_int_equal(handle->flag, 3);
    assert_int_equal(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &flag32, sizeof(flag32)), 0);
    assert_int_equal(handle->flag, 1);
    assert_int_equal(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_WORK_ADDR_PTR, &work, sizeof(work)), 0);
    assert_ptr_equal(handle->workptr, work);
    assert_int_equal(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_WORK_SIZE, &huge, sizeof(huge)), 0);
    assert_int_equal(handle->workSize, huge);

    assert_int_equal(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &huge, sizeof(huge)), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, &flag, 3), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_WORK_ADDR_PTR, &work, 4), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtSetStreamConfigOpt(handle, (aclrtStreamConfigAttr)9, &flag, 8), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtSetStreamConfigOpt(handle, ACL_RT_STREAM_FLAG, NULL, 8), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtSetStreamConfigOpt(NULL, ACL_RT_STREAM_FLAG, &flag, 8), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(handle->flag, 1);

    aclrtStream stream = NULL;
    uint32_t seen_flags = 99, seen_priority = 99;
    assert_int_equal(aclrtCreateStreamV2(&stream, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtCreateStreamV2(NULL, handle), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclInit(NULL), 0);
    assert_int_equal(aclrtSetDevice(0), 0);
    assert_int_equal(aclrtCreateStreamV2(&stream, handle), 0);
    assert_int_equal(aclrtStreamGetFlags(stream, &seen_flags), 0);
    assert_int_equal(seen_flags, 1);
    assert_int_equal(aclrtStreamGetPriority(stream, &seen_priority), 0);
    assert_int_equal(seen_priority, 3);
    assert_int_equal(aclrtDestroyStream(stream), 0);
    assert_int_equal(aclrtResetDevice(0), 0);
    assert_int_equal(aclFinalize(), 0);

    assert_int_equal(aclrtDestroyStreamConfigHandle(handle), 0);
    assert_int_equal(aclrtDestroyStreamConfigHandle(NULL), ACL_ERROR_INVALID_PARAM);
}

/* ---- default device ---- */
static const char *config_file(const char *text)
{
    static char path[64];
    snprintf(path, sizeof(path), "/tmp/acl_front_test.%d.json", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void *memory_of_a_new_thread(void *result)
{
    size_t free_b = 0, total_b = 0;
    int32_t device = -1;
    *(aclError *)result = aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b);
    if (*(aclError *)result == ACL_SUCCESS && (aclrtGetDevice(&device) != ACL_SUCCESS || device != 1)) {
        *(aclError *)result = -1;
    }
    return NULL;
}

static void threads_without_a_device_use_the_default_device(void **state)
{
    static const char *const bad[] = {
        "{\"defaultDevice\":{\"default_device\":\"two\"}}",
        "{\"defaultDevice\":{\"default_device\":[0]}}",
        "{\"defaultDevice\":{\"default_device\":\"-1\"}}",
    };
    (void)state;
    int32_t device;
    size_t free_b, total_b;
    aclError result;
    pthread_t thread;
    assert_int_equal(aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b), ACL_ERROR_RT_CONTEXT_NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(aclInit(config_file(bad[i])), ACL_ERROR_INVALID_PARAM);
    }
    assert_int_equal(aclInit(config_file("{\"defaultDevice\":{\"default_device\":\"99\"}}")),
                     ACL_ERROR_RT_INVALID_DEVICEID);
    assert_int_equal(
        aclInit(config_file("{\"dump\":{\"x\":[1,{}]}, \"defaultDevice\" : {\"a\":{}, \"default_device\":\"1\"}}")), 0);
    /* A question about the device does not set it; work does, in each thread. */
    assert_int_equal(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    assert_int_equal(pthread_create(&thread, NULL, memory_of_a_new_thread, &result), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(result, ACL_SUCCESS);
    assert_int_equal(aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b), 0);
    assert_int_equal(aclrtGetDevice(&device), 0);
    assert_int_equal(device, 1);
    assert_int_equal(aclrtResetDeviceForce(1), 0);
    assert_int_equal(aclFinalize(), 0);
    assert_int_equal(aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b), ACL_ERROR_RT_CONTEXT_NULL);
    assert_int_equal(unlink(config_file("")), 0);
}

/* ---- host function threads ---- */
static struct {
    pthread_t server, ran_on;
    int stop, ran;
} host;

static void *serve(void *unused)
{
    while (!__atomic_load_n(&host.stop, __ATOMIC_ACQUIRE)) {
        aclrtProcessHostFunc(20);
    }
    return unused;
}

static void note_run(void *count)
{
    host.ran_on = pthread_self();
    *(int *)count += 1;
}

static void host_functions_run_on_the_subscribed_thread(void **state)
{
    aclrtStream stream;
    (void)state;
    assert_int_equal(aclInit(NULL), 0);
    assert_int_equal(aclrtSetDevice(0), 0);
    assert_int_equal(aclrtCreateStream(&stream), 0);
    assert_int_equal(pthread_create(&host.server, NULL, serve, NULL), 0);
    assert_int_equal(aclrtSubscribeHostFunc((uint64_t)host.server, stream), 0);
    assert_int_equal(aclrtLaunchHostFunc(stream, note_run, &host.ran), 0);
    assert_int_equal(aclrtSynchronizeStream(stream), 0);
    assert_int_equal(host.ran, 1);
    assert_true(pthread_equal(host.ran_on, host.server));
    assert_int_equal(aclrtUnSubscribeHostFunc((uint64_t)host.server, stream), 0);
    __atomic_store_n(&host.stop, 1, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(host.server, NULL), 0);
    assert_int_equal(aclrtDestroyStream(stream), 0);
    assert_int_equal(aclrtResetDevice(0), 0);
    assert_int_equal(aclFinalize(), 0);
}

/* ---- application log ---- */
static char log_folder[] = "/tmp/acl_front_test.XXXXXX";

static void application_log_reaches_the_file(void **state)
{
    char pattern[256], text[4096] = "";
    glob_t found;
    (void)state;
    aclAppLog(ACL_ERROR, "compute", "model.c", 42, "step %d of %s", 7, "training");
    aclAppLog(ACL_DEBUG, "compute", "model.c", 43, "not at this level");
    aclAppLog((aclLogLevel)17, "compute", "model.c", 44, "no such level");
    aclAppLog(ACL_ERROR, NULL, NULL, 45, NULL);
    aclAppLog(ACL_ERROR, NULL, NULL, 46, "no names");
    DlogFlushForC();
    snprintf(pattern, sizeof(pattern), "%s/debug/plog/plog-*.log", log_folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    FILE *file = fopen(found.gl_pathv[0], "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = 0;
    globfree(&found);
    assert_non_null(strstr(text, "[model.c:42][compute] step 7 of training"));
    assert_non_null(strstr(text, "[?:46][?] no names"));
    assert_null(strstr(text, "not at this level"));
    assert_null(strstr(text, "no such level"));
}

int main(void)
{
    own_machine_use("2", NULL);
    if (!mkdtemp(log_folder)) {
        return 1;
    }
    setenv("ASCEND_PROCESS_LOG_PATH", log_folder, 1);
    unsetenv("ASCEND_SLOG_PRINT_TO_STDOUT");
    unsetenv("ASCEND_GLOBAL_LOG_LEVEL");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsupported_names_say_so),
        cmocka_unit_test(calls_are_reported_while_requested),
        cmocka_unit_test(threads_without_a_device_use_the_default_device),
        cmocka_unit_test(stream_configurations),
        cmocka_unit_test(host_functions_run_on_the_subscribed_thread),
        cmocka_unit_test(application_log_reaches_the_file),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", log_folder);
    return system(command) != 0 || failed;
}
