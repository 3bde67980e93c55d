/* SPDX-License-Identifier: Apache-2.0 */
/* Injected faults as programs experience them: a failing kernel, a task that never ends, a lost device, a slow device,
 * out of memory. Each runs in its own process, because faults are read once. */
#include "hal_test.h"

#include "acl/acl.h"

static char kernels_path[512];

/* A role returns 0, or the line of the first check that failed. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            return __LINE__ % 250 + 1;                                                                                 \
        }                                                                                                              \
    } while (0)

static aclrtBinHandle bin;

static aclrtFuncHandle function(const char *name)
{
    aclrtFuncHandle f = NULL;
    return aclrtBinaryGetFunction(bin, name, &f) == 0 ? f : NULL;
}

static int start(void)
{
    snprintf(kernels_path, sizeof(kernels_path), "%s/tests/unit/rt_kernels.so", getenv("NPUSCOPE_BUILD"));
    return aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtBinaryLoadFromFile(kernels_path, NULL, &bin) != 0;
}

static int finish(void)
{
    return aclrtBinaryUnLoad(bin) != 0 || aclrtResetDevice(0) != 0 || aclFinalize() != 0;
}

/* ---- kernel error ---- */
static struct {
    int calls, of_binary;
    uint32_t code, device, args_b;
    void *func, *data;
    uint64_t first_arg;
} seen;

static void on_exception(aclrtExceptionInfo *info)
{
    void *args = NULL;
    seen.calls++;
    seen.code = aclrtGetErrorCodeFromExceptionInfo(info);
    seen.device = aclrtGetDeviceIdFromExceptionInfo(info);
    aclrtGetArgsFromExceptionInfo(info, &args, &seen.args_b);
    aclrtGetFuncHandleFromExceptionInfo(info, &seen.func);
    memcpy(&seen.first_arg, args, sizeof(seen.first_arg));
}

static void on_binary_exception(aclrtExceptionInfo *info, void *data)
{
    seen.of_binary += aclrtGetErrorCodeFromExceptionInfo(info) == ACL_ERROR_RT_AICORE_EXCEPTION;
    seen.data = data;
}

static int role_kernel_error(void)
{
    uint64_t args[2] = {0x1234567890, 5};
    aclrtStream stream;
    CHECK(start() == 0);
    CHECK(aclrtCreateStream(&stream) == 0);
    CHECK(aclrtSetExceptionInfoCallback(on_exception) == 0);
    CHECK(aclrtBinarySetExceptionCallback(bin, on_binary_exception, &seen) == 0);
    CHECK(aclrtLaunchKernel(function("nothing"), 1, args, sizeof(args), stream) == 0);
    CHECK(aclrtSynchronizeStream(stream) == 0);
    CHECK(aclrtLaunchKernel(function("nothing"), 1, args, sizeof(args), stream) == 0); /* the second launch of this
                                                                                        * name */
    CHECK(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_AICORE_EXCEPTION);
    CHECK(seen.calls == 1 && seen.of_binary == 1 && seen.data == &seen);
    CHECK(seen.code == ACL_ERROR_RT_AICORE_EXCEPTION && seen.device == 0 && seen.args_b == sizeof(args));
    CHECK(seen.func == function("nothing") && seen.first_arg == args[0]);
    CHECK(aclrtLaunchKernel(function("nothing"), 1, args, sizeof(args), stream) == 0);
    CHECK(aclrtSynchronizeStream(stream) == 0);
    return finish();
}

/* ---- lost task ---- */
static int role_lost_task(void)
{
    aclrtStream stream;
    CHECK(start() == 0);
    CHECK(aclrtCreateStream(&stream) == 0);
    CHECK(aclrtLaunchKernel(function("nothing"), 1, NULL, 0, stream) == 0);
    CHECK(aclrtSynchronizeStreamWithTimeout(stream, 50) == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK(aclrtStreamAbort(stream) == 0);
    CHECK(aclrtDestroyStreamForce(stream) == 0);
    CHECK(aclrtCreateStream(&stream) == 0);
    CHECK(aclrtLaunchKernel(function("nothing"), 1, NULL, 0, stream) == 0);
    CHECK(aclrtSynchronizeStream(stream) == 0);
    return finish();
}

/* ---- lost device ---- */
static int role_reset(void)
{
    void *p = NULL;
    CHECK(start() == 0);
    CHECK(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    CHECK(aclrtLaunchKernel(function("nothing"), 1, NULL, 0, NULL) == 0);
    CHECK(aclrtSynchronizeStream(NULL) == ACL_ERROR_RT_LOST_HEARTBEAT);
    CHECK(aclrtLaunchKernel(function("nothing"), 1, NULL, 0, NULL) == ACL_ERROR_RT_LOST_HEARTBEAT);
    CHECK(aclrtResetDeviceForce(0) == 0);
    CHECK(aclrtSetDevice(0) == 0);
    CHECK(aclrtFree(p) == ACL_ERROR_RT_PARAM_INVALID); /* freed with the device */
    CHECK(aclrtLaunchKernel(function("nothing"), 1, NULL, 0, NULL) == 0);
    CHECK(aclrtSynchronizeStream(NULL) == 0);
    return finish();
}

/* ---- slow device ---- */
static int role_slow(void)
{
    uint32_t ms = 10;
    CHECK(start() == 0);
    uint64_t begin = ms_clock_raw_ns();
    CHECK(aclrtLaunchKernel(function("spin_ms"), 1, &ms, sizeof(ms), NULL) == 0);
    CHECK(aclrtSynchronizeStream(NULL) == 0);
    CHECK(ms_clock_raw_ns() - begin >= 60 * 1000000);
    return finish();
}

/* ---- out of memory ---- */
static int role_oom(void)
{
    void *p = NULL;
    aclrtMemPool pool = NULL;
    aclrtMemPoolProps props;
    memset(&props, 0, sizeof(props));
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    CHECK(start() == 0);
    CHECK(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == 0);
    CHECK(aclrtFree(p) == 0);
    CHECK(aclrtMalloc(&p, 32 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK(strstr(aclGetRecentErrMsg(), "out of memory") != NULL);
    CHECK(aclrtMemPoolCreate(&pool, &props) == 0);
    CHECK(aclrtMemPoolMallocAsync(&p, 32 << 20, pool, NULL) == ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK(aclrtMemPoolMallocAsync(&p, 1 << 20, pool, NULL) == 0);
    CHECK(aclrtMemPoolFreeAsync(p, NULL) == 0);
    CHECK(aclrtMemPoolDestroy(pool) == 0);
    CHECK(aclrtSynchronizeStream(NULL) == 0);
    return finish();
}

/* ---- what survives a device reset ---- */
static int role_after_reset(void)
{
    uint64_t threshold_b = UINT64_MAX, reserved_b = 1;
    aclrtMemPool pool = NULL;
    aclrtMemPoolProps props;
    void *p = NULL, *q = NULL;
    memset(&props, 0, sizeof(props));
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    CHECK(start() == 0);
    CHECK(aclrtMemPoolCreate(&pool, &props) == 0);
    CHECK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold_b) == 0);
    CHECK(aclrtMemPoolMallocAsync(&p, 1 << 20, pool, NULL) == 0);
    CHECK(aclrtMemPoolFreeAsync(p, NULL) == 0);
    CHECK(aclrtMemPoolMallocAsync(&p, 1 << 20, pool, NULL) == 0);
    CHECK(aclrtResetDevice(0) == 0);
    CHECK(aclrtSetDevice(0) == 0);
    CHECK(used_b(0) == 0);
    CHECK(aclrtMalloc(&q, 1 << 20, ACL_MEM_MALLOC_HUGE_ONLY) == 0); /* possibly where the pool's segment was */
    memset(q, 5, 1 << 20);
    CHECK(aclrtMemPoolTrimTo(pool, 0) == 0);
    CHECK(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &reserved_b) == 0 && reserved_b == 0);
    CHECK(((char *)q)[(1 << 20) - 1] == 5); /* still ours */
    CHECK(aclrtMemPoolFreeAsync(p, NULL) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtMemPoolMallocAsync(&p, 1 << 20, pool, NULL) == 0);
    memset(p, 6, 1 << 20);
    CHECK(aclrtMemPoolFreeAsync(p, NULL) == 0);
    CHECK(aclrtSynchronizeStream(NULL) == 0);
    CHECK(aclrtMemPoolDestroy(pool) == 0);
    CHECK(aclrtFree(q) == 0);
    CHECK(used_b(0) == 0);
    return finish();
}

static const struct {
    const char *name, *fault;
    int (*run)(void);
} roles[] = {
    {"kernel-error", "kernel-error@launch=2,name=nothing", role_kernel_error},
    {"lost-task", "lost-task@launch=1", role_lost_task},
    {"reset", "reset@launch=1", role_reset},
    {"slow", "slow=6", role_slow},
    {"oom", "oom@above=16M", role_oom},
    {"after-reset", "", role_after_reset},
};

static void faults_in_a_child(void **state)
{
    const char *role = *state;
    for (size_t i = 0; i < MS_COUNT_OF(roles); i++) {
        if (strcmp(roles[i].name, role) == 0) {
            setenv("SOFTNPU_FAULT", roles[i].fault, 1);
        }
    }
    struct hal_child c = hal_spawn(role, "");
    assert_int_equal(hal_end(&c), 0);
    unsetenv("SOFTNPU_FAULT");
}

int main(int argc, char **argv)
{
    hal_use_machine("1", "1G");
    for (size_t i = 0; argc == 3 && i < MS_COUNT_OF(roles); i++) {
        if (strcmp(roles[i].name, argv[1]) == 0) {
            return roles[i].run();
        }
    }
    struct CMUnitTest tests[MS_COUNT_OF(roles)];
    for (size_t i = 0; i < MS_COUNT_OF(roles); i++) {
        tests[i] = (struct CMUnitTest){roles[i].name, faults_in_a_child, NULL, NULL, (void *)(uintptr_t)roles[i].name};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
