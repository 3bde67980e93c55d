/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and contexts: reference counts, current contexts, numbering, life cycle, what a fork leaves. */
#include "rt_test.h"

#include "runtime/dev.h"

#include <sys/wait.h>

/* Runs a check in a child process, because it needs another environment or a fresh library. */
#define IN_CHILD(...)                                                                                                  \
    do {                                                                                                               \
        pid_t child_ = fork();                                                                                         \
        if (child_ == 0) {                                                                                             \
            alarm(20);                                                                                                 \
            int bad_ = 0;                                                                                              \
            __VA_ARGS__                                                                                                \
            _exit(bad_);                                                                                               \
        }                                                                                                              \
        int status_ = -1;                                                                                              \
        assert_int_equal(waitpid(child_, &status_, 0), child_);                                                        \
        assert_int_equal(status_, 0);                                                                                  \
    } while (0)

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, aclGetRecentErrMsg());                         \
            bad_ = 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* The parent must not use the runtime before these tests. */
static void visible_devices_renumber(void **state)
{
    IN_CHILD({
        setenv("SOFTNPU_DEVICES", "4", 1);
        setenv("ASCEND_RT_VISIBLE_DEVICES", " 3, 1", 1);
        uint32_t count = 0;
        int32_t id = -1;
        EXPECT(aclrtGetDeviceCount(&count) == 0 && count == 2);
        EXPECT(aclrtGetLogicDevIdByUserDevId(0, &id) == 0 && id == 3);
        EXPECT(aclrtGetPhyDevIdByUserDevId(1, &id) == 0 && id == 1);
        EXPECT(aclrtGetUserDevIdByLogicDevId(3, &id) == 0 && id == 0);
        EXPECT(aclrtGetUserDevIdByPhyDevId(0, &id) == ACL_ERROR_RT_INVALID_DEVICEID);
        EXPECT(aclrtGetLogicDevIdByUserDevId(2, &id) == ACL_ERROR_RT_INVALID_DEVICEID);
        EXPECT(aclrtGetLogicDevIdByPhyDevId(2, &id) == 0 && id == 2);
        EXPECT(aclrtSetDevice(2) == ACL_ERROR_RT_INVALID_DEVICEID);
        EXPECT(aclrtSetDevice(0) == 0);
        EXPECT(aclrtGetDevice(&id) == 0 && id == 0);
    });
}

static void a_bad_visible_list_ends_at_the_mistake(void **state)
{
    static const struct {
        const char *list;
        uint32_t count;
    } cases[] = {{"", 0},   {"x", 0},   {"1,x,0", 1}, {"0,9,1", 1}, {"0,0,1", 1},
                 {"-1", 0}, {"1,0", 2}, {"0,1,", 2},  {"0 1", 0},   {"99999999999999999999", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        IN_CHILD({
            setenv("ASCEND_RT_VISIBLE_DEVICES", cases[i].list, 1);
            uint32_t count = 99;
            EXPECT(aclrtGetDeviceCount(&count) == 0);
            EXPECT(count == cases[i].count);
        });
    }
}

static void nothing_works_without_a_context(void **state)
{
    IN_CHILD({
        int32_t id;
        aclrtStream stream;
        aclrtEvent event;
        aclrtContext context;
        EXPECT(aclrtGetDevice(&id) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(strstr(aclGetRecentErrMsg(), "aclrtGetDevice") != NULL);
        EXPECT(aclrtCreateStream(&stream) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtCreateEvent(&event) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtSynchronizeDevice() == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtSynchronizeStream(NULL) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtGetCurrentContext(&context) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtResetDevice(0) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtSetDevice(-1) == ACL_ERROR_RT_INVALID_DEVICEID);
        EXPECT(aclrtSetDevice(2) == ACL_ERROR_RT_INVALID_DEVICEID);
    });
}

static void init_and_finalize_count(void **state)
{
    IN_CHILD({
        uint64_t count = 77;
        EXPECT(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
        EXPECT(aclFinalizeReference(&count) == ACL_ERROR_REPEAT_FINALIZE);
        EXPECT(aclInit("/nonexistent/acl.json") == ACL_ERROR_INVALID_FILE);
        EXPECT(aclInit(NULL) == 0);
        EXPECT(aclInit(NULL) == ACL_ERROR_REPEAT_INITIALIZE);
        EXPECT(aclInit(NULL) == ACL_ERROR_REPEAT_INITIALIZE);
        EXPECT(aclFinalizeReference(&count) == 0 && count == 2);
        EXPECT(aclFinalizeReference(NULL) == 0);
        EXPECT(aclFinalizeReference(&count) == 0 && count == 0);
        EXPECT(aclFinalizeReference(&count) == ACL_ERROR_REPEAT_FINALIZE);
        EXPECT(aclInit(NULL) == 0);
        EXPECT(aclInit(NULL) == ACL_ERROR_REPEAT_INITIALIZE);
        EXPECT(aclFinalize() == 0); /* whatever the count */
        EXPECT(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
    });
}

static int init_calls, finalize_calls;

static aclError on_init(const char *config, size_t len, void *data)
{
    init_calls += strlen(config) == len && data == &init_calls;
    return ACL_SUCCESS;
}

static aclError on_finalize(void *data)
{
    finalize_calls += data == &init_calls;
    return ACL_SUCCESS;
}

static aclError write_config(const char *text)
{
    char path[] = "/tmp/acl-json-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        return -1;
    }
    close(fd);
    aclError ret = aclInit(path);
    unlink(path);
    return ret;
}

static void init_callbacks_and_configuration(void **state)
{
    IN_CHILD({
        EXPECT(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_init, &init_calls) == 0);
        EXPECT(aclFinalizeCallbackRegister(ACL_REG_TYPE_ACL_MODEL, on_finalize, &init_calls) == 0);
        EXPECT(aclInitCallbackRegister((aclRegisterCallbackType)99, on_init, NULL) == ACL_ERROR_INVALID_PARAM);
        EXPECT(write_config("{\"dump\": {\"dump_list\": [], \"x\": -1.5e3, \"y\": \"\\u00e9\\n\"}}") == 0);
        EXPECT(init_calls == 1);
        EXPECT(aclFinalize() == 0 && finalize_calls == 1);
        EXPECT(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, on_init) == 0);
        EXPECT(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, on_init) == ACL_ERROR_INVALID_PARAM);
        static const char *const bad[] = {"{", "{]", "[1,]", "{\"a\"}", "tru", "\"\\x\"", "01", "{} x", "-", "[1 2]"};
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            EXPECT(write_config(bad[i]) == ACL_ERROR_PARSE_FILE);
        }
        EXPECT(write_config("") == 0);
        EXPECT(init_calls == 1);
    });
}

static void wait_forever(void *data)
{
    for (;;) {
        pause();
    }
}

static void use_device_at_exit(void)
{
    int done = 0;
    int32_t id = -1;
    /* Exit handlers that run after main may still use the device. */
    if (aclrtGetDevice(&id) != ACL_SUCCESS || aclrtLaunchHostFunc(NULL, count_up, &done) != ACL_SUCCESS ||
        aclrtSynchronizeStream(NULL) != ACL_SUCCESS || done != 1) {
        _exit(7);
    }
}

static void exiting_with_busy_streams_does_not_hang(void **state)
{
    IN_CHILD({
        aclrtStream stuck = NULL;
        aclrtStream waiting = NULL;
        aclrtEvent never = NULL;
        EXPECT(atexit(use_device_at_exit) == 0);
        EXPECT(aclInit(NULL) == 0 && aclrtSetDevice(0) == 0);
        EXPECT(aclrtCreateStream(&stuck) == 0 && aclrtCreateStream(&waiting) == 0);
        EXPECT(aclrtCreateEventWithFlag(&never, ACL_EVENT_SYNC) == 0);
        EXPECT(aclrtLaunchHostFunc(stuck, wait_forever, NULL) == 0);
        EXPECT(aclrtStreamWaitEvent(waiting, never) == 0);
        exit(bad_);
    });
}

/* ---- from here on the parent itself uses device 0 ---- */

static void set_and_reset_count(void **state)
{
    aclrtStream stream;
    int32_t active = -1, id = -1;
    OK(aclrtGetPrimaryCtxState(1, NULL, &active));
    assert_int_equal(active, 0);
    OK(aclrtSetDevice(1));
    OK(aclrtSetDevice(1));
    OK(aclrtCreateStream(&stream));
    OK(aclrtResetDevice(1));
    OK(aclrtGetDevice(&id)); /* one reference left */
    assert_int_equal(id, 1);
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtGetPrimaryCtxState(1, NULL, &active));
    assert_int_equal(active, 1);
    OK(aclrtResetDevice(1));
    FAILS(aclrtGetDevice(&id), ACL_ERROR_RT_CONTEXT_NULL);
    FAILS(aclrtResetDevice(1), ACL_ERROR_RT_CONTEXT_NULL);
    OK(aclrtSetDevice(1));
    OK(aclrtSetDevice(1));
    OK(aclrtResetDeviceForce(1)); /* whatever the count */
    FAILS(aclrtResetDevice(1), ACL_ERROR_RT_CONTEXT_NULL);
    OK(aclrtSetDevice(0));
    OK(aclrtResetDevice(0));
}

static void *device_of_thread(void *arg)
{
    int32_t *ids = arg;
    ids[0] = aclrtGetDevice(&ids[1]);
    ids[2] = aclrtSetDevice(1);
    ids[3] = aclrtGetDevice(&ids[4]);
    return NULL;
}

static void the_current_context_is_per_thread(void **state)
{
    int32_t ids[5] = {0}, id = -1;
    pthread_t thread;
    pthread_create(&thread, NULL, device_of_thread, ids);
    pthread_join(thread, NULL);
    assert_int_equal(ids[0], ACL_ERROR_RT_CONTEXT_NULL);
    assert_int_equal(ids[2], 0);
    assert_int_equal(ids[4], 1);
    OK(aclrtGetDevice(&id));
    assert_int_equal(id, 0);
    OK(aclrtResetDevice(1));
    OK(aclrtGetDevice(&id));
    assert_int_equal(id, 0);
}

static void *use_context(void *arg)
{
    void **args = arg;
    args[1] = (void *)(intptr_t)aclrtSetCurrentContext(args[0]);
    pthread_barrier_wait(args[3]);
    pthread_barrier_wait(args[3]); /* destroyed meanwhile */
    args[2] = (void *)(intptr_t)aclrtSynchronizeStream(NULL);
    return NULL;
}

static void threads_of_a_destroyed_context_get_errors(void **state)
{
    aclrtContext mine, other, now;
    int32_t id = -1;
    OK(aclrtGetCurrentContext(&mine));
    OK(aclrtCreateContext(&other, 1));
    OK(aclrtGetDevice(&id));
    assert_int_equal(id, 1);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    void *args[] = {other, NULL, NULL, &barrier};
    pthread_t thread;
    pthread_create(&thread, NULL, use_context, args);
    pthread_barrier_wait(&barrier);
    OK(aclrtDestroyContext(other));
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    assert_int_equal((intptr_t)args[1], 0);
    assert_int_equal((intptr_t)args[2], ACL_ERROR_RT_CONTEXT_NULL);
    FAILS(aclrtGetCurrentContext(&now), ACL_ERROR_RT_CONTEXT_NULL);
    FAILS(aclrtSetCurrentContext(other), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtDestroyContext(other), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtSetCurrentContext(mine));
    FAILS(aclrtDestroyContext(mine), ACL_ERROR_RT_PARAM_INVALID); /* the primary context */
    FAILS(aclrtSetCurrentContext(&id), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtCreateContext(&other, 5), ACL_ERROR_RT_INVALID_DEVICEID);
    FAILS(aclrtCreateContext(NULL, 0), ACL_ERROR_INVALID_PARAM);
}

static int device_states[4];

static void on_device_state(int32_t device, aclrtDeviceState what, void *args)
{
    if (device == 1 && args == device_states) {
        device_states[what]++;
    }
}

static void device_state_callbacks_are_called(void **state)
{
    OK(aclrtRegDeviceStateCallback("test", on_device_state, device_states));
    OK(aclrtSetDevice(1));
    OK(aclrtSetDevice(1));
    OK(aclrtResetDevice(1));
    OK(aclrtResetDevice(1));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(device_states[i], 1);
    }
    OK(aclrtRegDeviceStateCallback("test", NULL, NULL));
    OK(aclrtSetDevice(1));
    OK(aclrtResetDevice(1));
    assert_int_equal(device_states[0], 1);
    OK(aclrtSetDevice(0));
    OK(aclrtResetDevice(0));
}

static void a_forked_child_gets_errors(void **state)
{
    aclrtStream stream;
    aclrtEvent event;
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEvent(&event));
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        int bad_ = 0, done = 0;
        int32_t id;
        aclrtEventStatus status;
        aclrtStream fresh;
        EXPECT(aclrtGetDevice(&id) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtSetDevice(0) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtLaunchHostFunc(stream, count_up, &done) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtDestroyStream(stream) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtQueryEvent(event, &status) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtDestroyEvent(event) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtCreateStream(&fresh) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtResetDeviceForce(0) == ACL_ERROR_RT_CONTEXT_NULL);
        EXPECT(aclrtProcessReport(1) == ACL_ERROR_RT_CONTEXT_NULL);
        _exit(bad_);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    int done = 0;
    OK(aclrtLaunchHostFunc(stream, count_up, &done)); /* the parent is unaffected */
    OK(aclrtSynchronizeStream(stream));
    assert_int_equal(count_of(&done), 1);
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(stream));
}

static void control_area_needs_a_context(void **state)
{
    uint64_t address = 1;
    uint32_t length = 1;
    assert_int_equal(rtGetC2cCtrlAddr(NULL, &length), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(rtGetC2cCtrlAddr(&address, NULL), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtSetDevice(0), 0);
    assert_int_equal(rtGetC2cCtrlAddr(&address, &length), 0);
    assert_true(address == 0 && length == 0);
    assert_int_equal(aclrtResetDevice(0), 0);
}

static void device_properties(void **state)
{
    int64_t value = 0;
    int32_t number = -1, major, minor, patch, least, greatest;
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, &value));
    assert_in_range(value, 20, 25);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_VECTOR_CORE_NUM, &value));
    assert_in_range(value, 40, 50);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
    assert_int_equal(value, 64ll << 30);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_L2_CACHE_SIZE, &value));
    assert_true(value >= 32 << 20);
    FAILS(aclrtGetDeviceInfo(0, (aclrtDevAttr)9999, &value), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_WARP_SIZE, &value), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    FAILS(aclrtGetDeviceInfo(9, ACL_DEV_ATTR_AICORE_CORE_NUM, &value), ACL_ERROR_RT_INVALID_DEVICEID);
    OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &value));
    assert_in_range(value, 20, 25);
    OK(aclrtGetVersion(&major, &minor, &patch));
    assert_int_equal(major * 10000 + minor * 100 + patch, 11700);
    assert_string_equal(aclrtGetSocName(), "Ascend910B3");
    OK(aclrtCheckArchCompatibility("Ascend910B1", &number));
    assert_int_equal(number, 1);
    OK(aclrtCheckArchCompatibility("Ascend310P3", &number));
    assert_int_equal(number, 0);
    OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
    assert_int_equal(least, 7);
    assert_int_equal(greatest, 0);
    aclrtRunMode mode;
    OK(aclrtGetRunMode(&mode));
    assert_int_equal(mode, ACL_HOST);
    aclrtUuid one, two, again;
    OK(aclrtDeviceGetUuid(0, &one));
    OK(aclrtDeviceGetUuid(1, &two));
    OK(aclrtDeviceGetUuid(0, &again));
    assert_memory_not_equal(&one, &two, sizeof(one));
    assert_memory_equal(&one, &again, sizeof(one));
    char bus[32];
    OK(aclrtDeviceGetPCIBusId(1, bus, sizeof(bus)));
    OK(aclrtDeviceGetByPCIBusId(bus, &number));
    assert_int_equal(number, 1);
    FAILS(aclrtDeviceGetPCIBusId(1, bus, 5), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtDeviceGetByPCIBusId("0000:00:00.0", &number), ACL_ERROR_INVALID_PARAM);
    aclCANNPackageVersion version;
    char text[128];
    OK(aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, &version));
    assert_string_equal(version.majorVersion, "9");
    OK(aclsysGetVersionStr((char *)"runtime", text));
    assert_string_equal(text, version.version);
    OK(aclsysGetVersionNum((char *)"runtime", &number));
    assert_int_equal(number, 90100000);
    FAILS(aclsysGetVersionStr((char *)"nothing", text), ACL_ERROR_INVALID_PARAM);
    const aclCannAttr *attributes;
    size_t count = 0;
    OK(aclGetCannAttributeList(&attributes, &count));
    assert_true(count > 0);
    OK(aclGetCannAttribute(attributes[0], &number));
    FAILS(aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &number), ACL_ERROR_INVALID_PARAM);
}

static void settings_are_kept(void **state)
{
    int64_t value = -1;
    uint32_t cores = 0, all = 0;
    size_t size = 0;
    aclrtFloatOverflowMode mode;
    FAILS(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
    OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    assert_int_equal(value, 1);
    OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value)); /* the process has defaults, a context has none */
    assert_int_equal(value, 0);
    OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 2));
    OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    assert_int_equal(value, 2);
    OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0));
    FAILS(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 0));
    OK(aclrtGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value));
    assert_int_equal(value, 0);
    FAILS(aclrtSetSysParamOpt((aclSysParamOpt)50, 0), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtGetDeviceSatMode(&mode));
    assert_int_equal(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
    OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
    OK(aclrtGetDeviceSatMode(&mode));
    assert_int_equal(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
    FAILS(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_RT_PARAM_INVALID);

    aclrtStream stream;
    OK(aclrtCreateStream(&stream));
    OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &all));
    OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 8));
    OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &cores));
    assert_int_equal(cores, 8);
    OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 4));
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &cores));
    assert_int_equal(cores, 8);
    OK(aclrtUseStreamResInCurrentThread(stream));
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &cores));
    assert_int_equal(cores, 4);
    OK(aclrtUnuseStreamResInCurrentThread(stream));
    OK(aclrtResetStreamResLimit(stream));
    OK(aclrtResetDeviceResLimit(0));
    OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &cores));
    assert_int_equal(cores, all);
    FAILS(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, all + 1), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtSetStreamResLimit(stream, (aclrtDevResLimitType)7, 1), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtDestroyStream(stream));

    OK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 65536));
    OK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, &size));
    assert_int_equal(size, 65536);
    FAILS(aclrtDeviceGetLimit((aclrtDeviceLimit)9, &size), ACL_ERROR_RT_PARAM_INVALID);
}

static void peers_are_enabled_one_by_one(void **state)
{
    int32_t can = -1, on = -1;
    uint64_t topo = 0;
    OK(aclrtDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    OK(aclrtDevicePeerAccessStatus(0, 1, &on));
    assert_int_equal(on, 0);
    OK(aclrtDeviceEnablePeerAccess(1, 0));
    OK(aclrtDevicePeerAccessStatus(0, 1, &on));
    assert_int_equal(on, 1);
    OK(aclrtDeviceDisablePeerAccess(1));
    OK(aclrtDevicePeerAccessStatus(0, 1, &on));
    assert_int_equal(on, 0);
    FAILS(aclrtDeviceEnablePeerAccess(7, 0), ACL_ERROR_RT_INVALID_DEVICEID);
    FAILS(aclrtDeviceEnablePeerAccess(1, 3), ACL_ERROR_INVALID_PARAM);
    OK(aclrtGetDevicesTopo(0, 1, &topo));
    assert_int_equal(topo, ACL_RT_DEVS_TOPOLOGY_HCCS);
}

static void *set_and_reset(void *arg)
{
    int *failures = arg;
    for (int i = 0; i < 60; i++) {
        int done = 0;
        *failures += aclrtSetDevice(1) != ACL_SUCCESS;
        *failures += aclrtLaunchHostFunc(NULL, count_up, &done) != ACL_SUCCESS;
        *failures += aclrtSynchronizeStream(NULL) != ACL_SUCCESS;
        *failures += count_of(&done) != 1;
        *failures += aclrtResetDevice(1) != ACL_SUCCESS;
    }
    return NULL;
}

static void threads_may_set_and_reset_concurrently(void **state)
{
    int failures[3] = {0};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, set_and_reset, &failures[i]);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failures[i], 0);
    }
}

int main(void)
{
    own_machine();
    const struct CMUnitTest fresh[] = {
        cmocka_unit_test(visible_devices_renumber),         cmocka_unit_test(a_bad_visible_list_ends_at_the_mistake),
        cmocka_unit_test(nothing_works_without_a_context),  cmocka_unit_test(init_and_finalize_count),
        cmocka_unit_test(init_callbacks_and_configuration), cmocka_unit_test(exiting_with_busy_streams_does_not_hang),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_and_reset_count),
        cmocka_unit_test(the_current_context_is_per_thread),
        cmocka_unit_test(threads_of_a_destroyed_context_get_errors),
        cmocka_unit_test(device_state_callbacks_are_called),
        cmocka_unit_test(a_forked_child_gets_errors),
        cmocka_unit_test(control_area_needs_a_context),
        cmocka_unit_test(device_properties),
        cmocka_unit_test(settings_are_kept),
        cmocka_unit_test(peers_are_enabled_one_by_one),
        cmocka_unit_test(threads_may_set_and_reset_concurrently),
    };
    int failed = cmocka_run_group_tests(fresh, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, on_device, off_device);
}
