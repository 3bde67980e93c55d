/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: order, waiting, limits, failures, discarding work. */
#include "rt_test.h"

#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/timeouts.h"

/* ---- order and waiting ---- */

struct trail {
    int next;
    int seen[3000];
};

struct step {
    struct trail *trail;
    int number;
};

static void take_step(void *data)
{
    struct step *step = data;
    step->trail->seen[step->trail->next++] = step->number;
}

static void tasks_run_in_order(void **state)
{
    static struct trail trail;
    static struct step steps[3000];
    aclrtStream stream;
    OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 3000; i++) {
        steps[i] = (struct step){&trail, i};
        OK(aclrtLaunchHostFunc(stream, take_step, &steps[i]));
    }
    OK(aclrtSynchronizeStream(stream));
    assert_int_equal(trail.next, 3000);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(trail.seen[i], i);
    }
    OK(aclrtDestroyStream(stream));
}

static void query_and_timeouts_see_unfinished_work(void **state)
{
    aclrtStream stream;
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    struct gate gate;
    OK(aclrtCreateStream(&stream));
    OK(aclrtStreamQuery(stream, &status));
    assert_int_equal(status, ACL_STREAM_STATUS_COMPLETE);
    gate_close(&gate, stream);
    OK(aclrtStreamQuery(stream, &status));
    assert_int_equal(status, ACL_STREAM_STATUS_NOT_READY);
    double start = now_ms();
    FAILS(aclrtSynchronizeStreamWithTimeout(stream, 30), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    assert_true(now_ms() - start >= 29);
    assert_non_null(strstr(aclGetRecentErrMsg(), "STREAM_SYNC_TIMEOUT"));
    assert_null(aclGetRecentErrMsg());
    FAILS(aclrtSynchronizeDeviceWithTimeout(10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    FAILS(aclrtSynchronizeStreamWithTimeout(stream, -2), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtSynchronizeDeviceWithTimeout(-2), ACL_ERROR_RT_PARAM_INVALID);
    gate_open(&gate);
    OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
    OK(aclrtStreamQuery(stream, &status));
    assert_int_equal(status, ACL_STREAM_STATUS_COMPLETE);
    OK(aclrtDestroyStream(stream));
}

static void destroying_waits_for_queued_work(void **state)
{
    aclrtStream stream;
    int done = 0;
    OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 100; i++) {
        OK(aclrtLaunchHostFunc(stream, count_up, &done));
    }
    OK(aclrtDestroyStream(stream));
    assert_int_equal(count_of(&done), 100);
}

static void *submit_many(void *arg)
{
    void **args = arg;
    if (aclrtSetDevice(0) != ACL_SUCCESS) {
        return (void *)1;
    }
    for (int i = 0; i < 2000; i++) {
        if (aclrtLaunchHostFunc(args[0], count_up, args[1]) != ACL_SUCCESS) {
            return (void *)2;
        }
    }
    return (void *)(intptr_t)aclrtResetDevice(0);
}

static void threads_may_share_a_stream(void **state)
{
    aclrtStream stream;
    int done = 0;
    OK(aclrtCreateStream(&stream));
    void *args[] = {stream, &done};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, args), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    OK(aclrtSynchronizeStream(stream));
    assert_int_equal(count_of(&done), 8000);
    OK(aclrtDestroyStream(stream));
}

static void a_full_queue_makes_the_submitter_wait(void **state)
{
    aclrtStream stream;
    struct gate gate;
    int done = 0;
    OK(aclrtCreateStream(&stream));
    void *args[] = {stream, &done};
    gate_close(&gate, stream);
    pthread_t thread;
    pthread_t second;
    assert_int_equal(pthread_create(&thread, NULL, submit_many, args), 0);
    assert_int_equal(pthread_create(&second, NULL, submit_many, args), 0); /* 4000 in total: more than fit */
    assert_int_equal(count_of(&done), 0);
    gate_open(&gate);
    void *result;
    pthread_join(thread, &result);
    assert_null(result);
    pthread_join(second, &result);
    assert_null(result);
    OK(aclrtSynchronizeStream(stream));
    assert_int_equal(count_of(&done), 4000);
    OK(aclrtDestroyStream(stream));
}

static void the_default_stream_is_null(void **state)
{
    aclrtStream named;
    int done = 0;
    int32_t id = -1, same = -2;
    OK(aclrtCtxGetCurrentDefaultStream(&named));
    OK(aclrtLaunchHostFunc(NULL, count_up, &done));
    OK(aclrtLaunchHostFunc(named, count_up, &done));
    OK(aclrtSynchronizeStream(NULL));
    assert_int_equal(count_of(&done), 2);
    OK(aclrtStreamGetId(NULL, &id));
    OK(aclrtStreamGetId(named, &same));
    assert_int_equal(id, same);
    FAILS(aclrtDestroyStream(named), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtDestroyStream(NULL), ACL_ERROR_INVALID_PARAM);
}

/* ---- limits and errors ---- */

static void streams_run_out_at_1984(void **state)
{
    uint32_t left = 0, after = 0;
    OK(aclrtGetStreamAvailableNum(&left));
    assert_int_equal(left, 1984 - 1); /* the default stream */
    aclrtStream *streams = calloc(left, sizeof(*streams));
    bool *used = calloc(2048, sizeof(*used));
    for (uint32_t i = 0; i < left; i++) {
        int32_t id = -1;
        OK(aclrtCreateStream(&streams[i]));
        OK(aclrtStreamGetId(streams[i], &id));
        assert_in_range(id, 0, 2047);
        assert_false(used[id]);
        used[id] = true;
    }
    aclrtStream extra = NULL;
    FAILS(aclrtCreateStream(&extra), ACL_ERROR_RT_NO_STREAM_RESOURCE);
    assert_null(extra);
    for (uint32_t i = 0; i < left; i++) {
        OK(aclrtDestroyStream(streams[i]));
    }
    OK(aclrtGetStreamAvailableNum(&after));
    assert_int_equal(after, left);
    free(streams);
    free(used);
}

static void wrong_handles_are_refused(void **state)
{
    aclrtStream stream;
    int32_t id;
    int local = 0;
    OK(aclrtCreateStream(&stream));
    FAILS(aclrtSynchronizeStream(&local), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtSynchronizeStream((aclrtStream)(uintptr_t)0x1234), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtSynchronizeStream((char *)stream + 8), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtLaunchHostFunc((char *)stream + 64, count_up, &local), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtDestroyStream(stream));
    FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtDestroyStream(stream), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtStreamGetId(stream, &id), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtCreateStream(NULL), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtCreateStreamWithConfig(&stream, 8, 0), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtCreateStreamWithConfig(&stream, 0, 0x1000), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtLaunchHostFunc(NULL, NULL, NULL), ACL_ERROR_INVALID_PARAM);
}

static void a_stream_belongs_to_its_context(void **state)
{
    aclrtStream stream;
    aclrtContext mine, other;
    int local = 0;
    OK(aclrtGetCurrentContext(&mine));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateContext(&other, 0));
    FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT);
    FAILS(aclrtLaunchHostFunc(stream, count_up, &local), ACL_ERROR_RT_STREAM_CONTEXT);
    OK(aclrtSetCurrentContext(mine));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtDestroyContext(other));
    OK(aclrtDestroyStream(stream));
}

static void attributes_are_kept(void **state)
{
    aclrtStream stream;
    uint32_t priority = 0, flags = 0, overflow = 7;
    aclrtStreamAttrValue value = {.userCustomTag = 0xabcd};
    OK(aclrtCreateStreamWithConfig(&stream, 3, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
    OK(aclrtStreamGetPriority(stream, &priority));
    OK(aclrtStreamGetFlags(stream, &flags));
    assert_int_equal(priority, 3);
    assert_int_equal(flags, 3);
    OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    memset(&value, 0, sizeof(value));
    OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    assert_int_equal(value.userCustomTag, 0xabcd);
    OK(aclrtSetStreamOverflowSwitch(stream, 1));
    OK(aclrtGetStreamOverflowSwitch(stream, &overflow));
    assert_int_equal(overflow, 1);
    FAILS(aclrtSetStreamOverflowSwitch(stream, 2), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtSetStreamAttribute(stream, (aclrtStreamAttr)99, &value), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtSetStreamFailureMode(stream, 2), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtDestroyStream(stream));
}

/* ---- failures ---- */

static int32_t fail_run(struct snpu_task *task)
{
    int32_t code;
    memcpy(&code, task->payload, sizeof(code));
    return code;
}

static int32_t lost_run(struct snpu_task *task)
{
    return snpu_task_lose(task);
}

static int released;

static void count_release(void *payload)
{
    __atomic_fetch_add(&released, 1, __ATOMIC_SEQ_CST);
}

static const struct snpu_task_kind fail_kind = {
    .name = "FAIL", .ri_type = ACL_MODEL_RI_TASK_KERNEL, .run = fail_run, .release = count_release};
static const struct snpu_task_kind lost_kind = {.name = "LOST", .run = lost_run, .release = count_release};

static void submit_failure(aclrtStream stream, int32_t code)
{
    OK(snpu_stream_submit(stream, &fail_kind, &code, sizeof(code), NULL, 0, NULL));
}

static void by_default_a_failure_does_not_stop_the_stream(void **state)
{
    aclrtStream stream;
    int done = 0;
    OK(aclrtCreateStream(&stream));
    submit_failure(stream, ACL_ERROR_RT_AICORE_EXCEPTION);
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(count_of(&done), 1);
    assert_int_equal(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
    aclrtErrorInfo info;
    OK(aclrtGetErrorVerbose(0, &info));
    assert_int_equal(info.errorType, ACL_RT_ERROR_AICORE);
    OK(aclrtSynchronizeStream(stream)); /* reported once */
    OK(aclrtDestroyStream(stream));
}

static void stop_on_failure_stops_the_context(void **state)
{
    aclrtContext mine, other;
    aclrtStream stream, neighbour;
    int done = 0;
    OK(aclrtGetCurrentContext(&mine));
    OK(aclrtCreateContext(&other, 0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&neighbour));
    OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    submit_failure(stream, ACL_ERROR_RT_AICORE_EXCEPTION);
    FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
    FAILS(aclrtLaunchHostFunc(stream, count_up, &done), ACL_ERROR_RT_AICORE_EXCEPTION);
    FAILS(aclrtLaunchHostFunc(neighbour, count_up, &done), ACL_ERROR_RT_AICORE_EXCEPTION);
    FAILS(aclrtSynchronizeStream(neighbour), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(count_of(&done), 0);
    OK(aclrtSetCurrentContext(mine));
    OK(aclrtLaunchHostFunc(NULL, count_up, &done)); /* other contexts continue */
    OK(aclrtSynchronizeStream(NULL));
    assert_int_equal(count_of(&done), 1);
    OK(aclrtDestroyContext(other));
}

static void *sync_in_thread(void *arg)
{
    void **args = arg;
    if (aclrtSetCurrentContext(args[1]) != ACL_SUCCESS) {
        return (void *)(intptr_t)-1;
    }
    thread_announce(args[2]);
    return (void *)(intptr_t)aclrtSynchronizeStream(args[0]);
}

static void abort_discards_everything_and_fails_waiters(void **state)
{
    aclrtStream stream;
    aclrtContext context;
    int done = 0, before = __atomic_load_n(&released, __ATOMIC_SEQ_CST);
    OK(aclrtCreateStream(&stream));
    OK(aclrtGetCurrentContext(&context));
    OK(snpu_stream_submit(stream, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(snpu_stream_submit(stream, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    pid_t tid = 0;
    void *args[] = {stream, context, &tid};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, sync_in_thread, args), 0);
    EVENTUALLY(thread_sleeps(&tid));
    OK(aclrtStreamAbort(stream));
    void *result;
    pthread_join(thread, &result);
    assert_int_equal((intptr_t)result, ACL_ERROR_RT_STREAM_ABORT);
    assert_int_equal(count_of(&done), 0);
    assert_int_equal(__atomic_load_n(&released, __ATOMIC_SEQ_CST) - before, 2);
    OK(aclrtLaunchHostFunc(stream, count_up, &done)); /* usable again */
    OK(aclrtSynchronizeStream(stream));
    assert_int_equal(count_of(&done), 1);
    OK(aclrtDestroyStream(stream));
}

static void stop_interrupts_the_running_task_only(void **state)
{
    aclrtStream stream;
    int done = 0;
    OK(aclrtCreateStream(&stream));
    OK(snpu_stream_submit(stream, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    OK(aclrtStreamStop(stream));
    aclrtSynchronizeStream(stream); /* the interrupted task counts as failed */
    assert_int_equal(count_of(&done), 1);
    OK(aclrtStreamStop(stream)); /* idle: nothing to stop */
    OK(aclrtSynchronizeStream(stream));
    FAILS(aclrtStreamStop(NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclrtDestroyStream(stream));
}

static void a_lost_task_ends_with_its_stream(void **state)
{
    aclrtStream stream;
    int before = __atomic_load_n(&released, __ATOMIC_SEQ_CST);
    OK(aclrtCreateStream(&stream));
    OK(snpu_stream_submit(stream, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(aclrtDestroyStream(stream));
    OK(aclrtCreateStream(&stream));
    OK(snpu_stream_submit(stream, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(aclrtDestroyStreamForce(stream));
    assert_int_equal(__atomic_load_n(&released, __ATOMIC_SEQ_CST) - before, 2);
}

static void execution_limits_are_multiples_of_the_interval(void **state)
{
    uint32_t ms = 0;
    uint64_t interval = 0, actual = 0;
    OK(aclrtGetOpTimeOutInterval(&interval));
    OK(aclrtSetOpExecuteTimeOutV2(interval * 3 + 1, &actual));
    assert_int_equal(actual, interval * 4);
    OK(aclrtSetOpExecuteTimeOutV2(interval * 300, &actual));
    assert_int_equal(actual, interval * 254);
    OK(aclrtSetOpExecuteTimeOutV2(0, &actual));
    assert_int_equal(actual, interval * 254);
    OK(aclrtSetOpExecuteTimeOutWithMs(25));
    OK(aclrtGetOpExecuteTimeout(&ms));
    assert_int_equal(ms, (interval + 999) / 1000);
    OK(aclrtSetOpExecuteTimeOut(0));
    OK(aclrtGetOpExecuteTimeout(&ms));
    assert_int_equal(ms, 0);
}

static void a_lost_task_ends_with_the_execution_timeout(void **state)
{
    aclrtStream stream;
    snpu_set_op_execute_timeout_ms(25); /* shorter than programs can request */
    OK(aclrtCreateStream(&stream));
    OK(snpu_stream_submit(stream, &lost_kind, NULL, 0, NULL, 0, NULL));
    FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_TIMEOUT);
    OK(aclrtSetOpExecuteTimeOut(0));
    OK(aclrtDestroyStream(stream));
}

static int abort_stages[2];

static int32_t on_abort(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void *args)
{
    abort_stages[stage]++;
    return device == 0 && args == abort_stages && timeout == 5000 ? 0 : 1;
}

static void device_task_abort_clears_all_streams(void **state)
{
    aclrtStream a, b;
    int done = 0;
    OK(aclrtCreateStream(&a));
    OK(aclrtCreateStream(&b));
    OK(aclrtSetDeviceTaskAbortCallback("test", on_abort, abort_stages));
    OK(snpu_stream_submit(a, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(snpu_stream_submit(b, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(aclrtLaunchHostFunc(a, count_up, &done));
    OK(aclrtDeviceTaskAbort(0, 5000));
    assert_int_equal(abort_stages[0], 1);
    assert_int_equal(abort_stages[1], 1);
    OK(aclrtSynchronizeStream(a));
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 0);
    FAILS(aclrtDeviceTaskAbort(0, 1), ACL_ERROR_RT_DEVICE_TASK_ABORT); /* the callback refuses */
    OK(aclrtSetDeviceTaskAbortCallback("test", NULL, NULL));
    FAILS(aclrtDeviceTaskAbort(77, 1), ACL_ERROR_RT_INVALID_DEVICEID);
    OK(aclrtDestroyStream(a));
    OK(aclrtDestroyStream(b));
}

static void a_lost_device_fails_until_it_is_reset(void **state)
{
    aclrtStream stream;
    aclrtDeviceStatus status;
    int done = 0;
    OK(aclrtSetDevice(1));
    OK(aclrtCreateStream(&stream));
    OK(snpu_stream_submit(stream, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    snpu_dev_lose(1);
    FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_LOST_HEARTBEAT);
    FAILS(aclrtLaunchHostFunc(stream, count_up, &done), ACL_ERROR_RT_LOST_HEARTBEAT);
    FAILS(aclrtCreateStream(&stream), ACL_ERROR_RT_LOST_HEARTBEAT);
    OK(aclrtQueryDeviceStatus(1, &status));
    assert_int_equal(status, ACL_RT_DEVICE_STATUS_ABNORMAL);
    OK(aclrtResetDeviceForce(1));
    OK(aclrtQueryDeviceStatus(1, &status));
    assert_int_equal(status, ACL_RT_DEVICE_STATUS_NORMAL);
    OK(aclrtSetDevice(1));
    OK(aclrtLaunchHostFunc(NULL, count_up, &done));
    OK(aclrtSynchronizeStream(NULL));
    assert_int_equal(count_of(&done), 1);
    OK(aclrtResetDevice(1));
    OK(aclrtSetDevice(0));
    OK(aclrtResetDevice(0));
}

static void resetting_a_device_does_not_wait_for_blocked_work(void **state)
{
    aclrtStream stream;
    OK(aclrtSetDevice(1));
    OK(aclrtCreateStream(&stream));
    OK(snpu_stream_submit(stream, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(snpu_stream_submit(stream, &lost_kind, NULL, 0, NULL, 0, NULL));
    double start = now_ms();
    OK(aclrtResetDevice(1));
    assert_true(now_ms() - start < 1500);
    OK(aclrtSetDevice(0));
    FAILS(aclrtDestroyStream(stream), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtResetDevice(0));
}

static void pause_a_little(void *data)
{
    struct timespec ts = {0, 2000000};
    nanosleep(&ts, NULL);
    count_up(data);
}

static void resetting_a_device_lets_running_work_finish(void **state)
{
    aclrtStream stream;
    int done = 0;
    OK(aclrtSetDevice(1));
    OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 20; i++) {
        OK(aclrtLaunchHostFunc(stream, pause_a_little, &done));
    }
    OK(aclrtResetDevice(1));
    assert_int_equal(count_of(&done), 20);
    OK(aclrtSetDevice(1));
    OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 20; i++) {
        OK(aclrtLaunchHostFunc(stream, pause_a_little, &done));
    }
    OK(aclrtResetDeviceForce(1)); /* unless it is forced */
    assert_true(count_of(&done) < 40);
    OK(aclrtSetDevice(0));
    OK(aclrtResetDevice(0));
}

static double cpu_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static double cpu_during_ms(long ns)
{
    struct timespec ts = {0, ns};
    double before = cpu_ms();
    nanosleep(&ts, NULL);
    return cpu_ms() - before;
}

static void idle_streams_use_no_cpu(void **state)
{
    aclrtStream streams[32];
    int done = 0;
    for (int i = 0; i < 32; i++) {
        OK(aclrtCreateStream(&streams[i]));
        OK(aclrtLaunchHostFunc(streams[i], count_up, &done));
    }
    OK(aclrtSynchronizeDevice());
    /* Once it sleeps, a tenth of a second costs less than the clock can show. */
    EVENTUALLY(cpu_during_ms(100000000) < 0.5);
    for (int i = 0; i < 32; i++) {
        OK(aclrtDestroyStream(streams[i]));
    }
}

static void synchronise_self(void *data)
{
    int32_t *result = data;
    *result = aclrtSynchronizeStream(NULL);
}

static void a_callback_cannot_wait_for_its_own_stream(void **state)
{
    int32_t result = 0;
    OK(aclrtLaunchHostFunc(NULL, synchronise_self, &result));
    OK(aclrtSynchronizeStream(NULL));
    assert_int_equal(result, ACL_ERROR_RT_PARAM_INVALID);
}

/* ---- task ids, activity ---- */

static void task_ids_count_up_per_stream(void **state)
{
    aclrtStream stream;
    uint32_t first = 0, second = 0;
    int done = 0;
    OK(aclrtCreateStream(&stream));
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    OK(aclrtGetThreadLastTaskId(&first));
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    OK(aclrtGetThreadLastTaskId(&second));
    assert_int_equal(second, first + 1);
    OK(aclrtDestroyStream(stream));
}

static void stay_busy(void *data)
{
    double end = now_ms() + 30;
    while (now_ms() < end) {
    }
}

static void utilisation_follows_the_work(void **state)
{
    aclrtUtilizationInfo info = {0};
    OK(aclrtGetDeviceUtilizationRate(0, &info));
    OK(aclrtLaunchHostFunc(NULL, stay_busy, NULL));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtGetDeviceUtilizationRate(0, &info));
    assert_in_range(info.cubeUtilization, 20, 100);
    FAILS(aclrtGetDeviceUtilizationRate(9, &info), ACL_ERROR_RT_INVALID_DEVICEID);
}

static int stream_states[3];

static void on_stream_state(aclrtStream stream, aclrtStreamState what, void *args)
{
    stream_states[what]++;
}

static void stream_state_callbacks_are_called(void **state)
{
    aclrtStream stream;
    OK(aclrtRegStreamStateCallback("test", on_stream_state, NULL));
    OK(aclrtCreateStream(&stream));
    OK(aclrtDestroyStream(stream));
    assert_int_equal(stream_states[ACL_RT_STREAM_STATE_CREATE_POST], 1);
    assert_int_equal(stream_states[ACL_RT_STREAM_STATE_DESTROY_PRE], 1);
    OK(aclrtRegStreamStateCallback("test", NULL, NULL));
    OK(aclrtCreateStream(&stream));
    OK(aclrtDestroyStream(stream));
    assert_int_equal(stream_states[ACL_RT_STREAM_STATE_CREATE_POST], 1);
    FAILS(aclrtRegStreamStateCallback(NULL, on_stream_state, NULL), ACL_ERROR_INVALID_PARAM);
}

int main(void)
{
    own_machine();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_run_in_order),
        cmocka_unit_test(query_and_timeouts_see_unfinished_work),
        cmocka_unit_test(destroying_waits_for_queued_work),
        cmocka_unit_test(threads_may_share_a_stream),
        cmocka_unit_test(a_full_queue_makes_the_submitter_wait),
        cmocka_unit_test(the_default_stream_is_null),
        cmocka_unit_test(streams_run_out_at_1984),
        cmocka_unit_test(wrong_handles_are_refused),
        cmocka_unit_test(a_stream_belongs_to_its_context),
        cmocka_unit_test(attributes_are_kept),
        cmocka_unit_test(by_default_a_failure_does_not_stop_the_stream),
        cmocka_unit_test(stop_on_failure_stops_the_context),
        cmocka_unit_test(abort_discards_everything_and_fails_waiters),
        cmocka_unit_test(stop_interrupts_the_running_task_only),
        cmocka_unit_test(a_lost_task_ends_with_its_stream),
        cmocka_unit_test(execution_limits_are_multiples_of_the_interval),
        cmocka_unit_test(a_lost_task_ends_with_the_execution_timeout),
        cmocka_unit_test(device_task_abort_clears_all_streams),
        cmocka_unit_test(a_lost_device_fails_until_it_is_reset),
        cmocka_unit_test(resetting_a_device_does_not_wait_for_blocked_work),
        cmocka_unit_test(resetting_a_device_lets_running_work_finish),
        cmocka_unit_test(idle_streams_use_no_cpu),
        cmocka_unit_test(a_callback_cannot_wait_for_its_own_stream),
        cmocka_unit_test(task_ids_count_up_per_stream),
        cmocka_unit_test(utilisation_follows_the_work),
        cmocka_unit_test(stream_state_callbacks_are_called),
    };
    return cmocka_run_group_tests(tests, on_device, off_device);
}
