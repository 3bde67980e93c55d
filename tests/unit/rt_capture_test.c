/* SPDX-License-Identifier: Apache-2.0 */
/* Models: capture, replay, edges between streams, errors, destruction. */
#include "rt_models.h"

static aclmdlRICaptureStatus capture_status(aclrtStream stream)
{
    aclmdlRICaptureStatus status = (aclmdlRICaptureStatus)9;
    OK(aclmdlRICaptureGetInfo(stream, &status, NULL));
    return status;
}

/* ---- one stream ---- */

static void captured_tasks_run_at_replay_only(void **state)
{
    aclmdlRI model = NULL, seen = NULL;
    aclmdlRICaptureStatus status;
    int done = 0;
    uint32_t streams = 0;
    assert_int_equal(capture_status(a), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 10; i++) {
        OK(aclrtLaunchHostFunc(a, count_up, &done));
    }
    OK(aclmdlRICaptureGetInfo(a, &status, &seen));
    assert_int_equal(status, ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
    OK(aclmdlRICaptureEnd(a, &model));
    assert_ptr_equal(model, seen);
    assert_int_equal(capture_status(a), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    OK(aclrtSynchronizeStream(a));
    assert_int_equal(count_of(&done), 0);
    OK(aclmdlRIExecuteAsync(model, b));
    OK(aclmdlRIExecuteAsync(model, b));
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 20);
    OK(aclmdlRIExecute(model, -1));
    assert_int_equal(count_of(&done), 30);
    OK(aclmdlRIGetStreams(model, NULL, &streams));
    assert_int_equal(streams, 1);
    OK(aclmdlRIDestroy(model));
    FAILS(aclmdlRIDestroy(model), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclmdlRIExecuteAsync(model, b), ACL_ERROR_RT_PARAM_INVALID);
}

static void a_replay_keeps_its_place_in_the_stream(void **state)
{
    aclmdlRI model;
    struct gate gate;
    int done = 0, after = 0;
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtLaunchHostFunc(a, count_up, &done));
    OK(aclmdlRICaptureEnd(a, &model));
    gate_close(&gate, b);
    OK(aclmdlRIExecuteAsync(model, b));
    OK(aclrtLaunchHostFunc(b, count_up, &after));
    FAILS(aclmdlRIDestroy(model), ACL_ERROR_RT_MODEL_RUNNING);
    FAILS(aclmdlRIUpdate(model), ACL_ERROR_RT_MODEL_RUNNING);
    assert_int_equal(count_of(&done), 0);
    gate_open(&gate);
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 1);
    assert_int_equal(count_of(&after), 1);
    OK(aclmdlRIDestroy(model));
}

/* ---- several streams ---- */

static int position(const struct trail *trail, int number)
{
    for (int i = 0; i < trail->next; i++) {
        if (trail->seen[i] == number) {
            return i;
        }
    }
    return -1;
}

static void events_join_streams_and_keep_their_order(void **state)
{
    aclrtEvent fork, join;
    aclmdlRI model;
    struct trail trail = {0};
    struct step steps[] = {{&trail, 0}, {&trail, 1}, {&trail, 2}, {&trail, 3}};
    uint32_t streams = 0;
    OK(aclrtCreateEvent(&fork));
    OK(aclrtCreateEventExWithFlag(&join, ACL_EVENT_SYNC));
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtLaunchHostFunc(a, take_step, &steps[0]));
    OK(aclrtRecordEvent(fork, a));
    OK(aclrtStreamWaitEvent(b, fork)); /* b joins */
    assert_int_equal(capture_status(b), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
    OK(aclrtLaunchHostFunc(b, take_step, &steps[1]));
    OK(aclrtLaunchHostFunc(a, take_step, &steps[2]));
    OK(aclrtRecordEvent(join, b));
    OK(aclrtStreamWaitEvent(a, join));
    OK(aclrtLaunchHostFunc(a, take_step, &steps[3]));
    FAILS(aclmdlRICaptureEnd(b, &model), ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED);
    OK(aclmdlRICaptureEnd(a, &model));
    assert_int_equal(capture_status(b), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    OK(aclmdlRIGetStreams(model, NULL, &streams));
    assert_int_equal(streams, 2);
    for (int round = 0; round < 20; round++) {
        trail.next = 0;
        OK(aclmdlRIExecuteAsync(model, c));
        OK(aclrtSynchronizeStream(c));
        assert_int_equal(trail.next, 4);
        assert_int_equal(position(&trail, 0), 0);
        assert_int_equal(position(&trail, 3), 3);
    }
    aclrtEventStatus status;
    FAILS(aclrtQueryEvent(fork, &status), ACL_ERROR_RT_EVENT_CAPTURED);
    FAILS(aclrtSynchronizeEvent(fork), ACL_ERROR_RT_EVENT_CAPTURED);
    FAILS(aclrtStreamWaitEvent(c, fork), ACL_ERROR_RT_EVENT_CAPTURED);
    OK(aclrtRecordEvent(fork, c)); /* usable again */
    OK(aclrtSynchronizeEvent(fork));
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(fork));
    OK(aclrtDestroyEvent(join));
}

static void pass_the_ball(void *data)
{
    /* Two lanes that need each other at the same time: they must really run concurrently. */
    sem_t *balls = data;
    sem_post(&balls[0]);
    while (sem_wait(&balls[1]) != 0) {
    }
}

static void pass_it_back(void *data)
{
    sem_t *balls = data;
    while (sem_wait(&balls[0]) != 0) {
    }
    sem_post(&balls[1]);
}

static void lanes_run_concurrently(void **state)
{
    aclrtEvent fork, join;
    aclmdlRI model;
    sem_t balls[2];
    sem_init(&balls[0], 0, 0);
    sem_init(&balls[1], 0, 0);
    OK(aclrtCreateEvent(&fork));
    OK(aclrtCreateEvent(&join));
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtRecordEvent(fork, a));
    OK(aclrtStreamWaitEvent(b, fork));
    OK(aclrtLaunchHostFunc(a, pass_the_ball, balls));
    OK(aclrtLaunchHostFunc(b, pass_it_back, balls));
    OK(aclrtRecordEvent(join, b));
    OK(aclrtStreamWaitEvent(a, join));
    OK(aclmdlRICaptureEnd(a, &model));
    OK(aclmdlRIExecute(model, 10000));
    OK(aclmdlRIExecute(model, 10000));
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(fork));
    OK(aclrtDestroyEvent(join));
}

static void a_stream_that_is_not_joined_back_is_refused(void **state)
{
    aclrtEvent fork;
    aclmdlRI model = &fork;
    int done = 0;
    OK(aclrtCreateEvent(&fork));
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtRecordEvent(fork, a));
    OK(aclrtStreamWaitEvent(b, fork));
    OK(aclrtLaunchHostFunc(b, count_up, &done));
    FAILS(aclmdlRICaptureEnd(a, &model), ACL_ERROR_RT_STREAM_UNJOINED);
    assert_null(model);
    OK(aclrtLaunchHostFunc(b, count_up, &done)); /* both streams are free again */
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 1);
    OK(aclrtDestroyEvent(fork));
}

static void external_events_are_real_at_every_replay(void **state)
{
    aclrtEvent go, done_event;
    aclmdlRI model;
    struct gate gate;
    int done = 0;
    aclrtEventStatus status;
    OK(aclrtCreateEventExWithFlag(&go, ACL_EVENT_EXTERNAL));
    OK(aclrtCreateEventExWithFlag(&done_event, ACL_EVENT_EXTERNAL));
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtStreamWaitEvent(a, go));
    OK(aclrtLaunchHostFunc(a, count_up, &done));
    OK(aclrtRecordEvent(done_event, a));
    OK(aclmdlRICaptureEnd(a, &model));
    for (int round = 1; round <= 2; round++) {
        gate_close(&gate, b);
        OK(aclrtRecordEvent(go, b));
        OK(aclmdlRIExecuteAsync(model, c));
        FAILS(aclrtSynchronizeStreamWithTimeout(c, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
        assert_int_equal(count_of(&done), round - 1);
        gate_open(&gate);
        OK(aclrtSynchronizeStream(c));
        assert_int_equal(count_of(&done), round);
        OK(aclrtQueryEvent(done_event, &status));
        assert_int_equal(status, ACL_EVENT_STATUS_COMPLETE);
    }
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(go));
    OK(aclrtDestroyEvent(done_event));
}

/* ---- errors ---- */

static void waiting_for_a_captured_stream_makes_the_capture_invalid(void **state)
{
    aclmdlRI model;
    int done = 0;
    aclrtStreamStatus status;
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    FAILS(aclrtSynchronizeStream(a), ACL_ERROR_RT_STREAM_CAPTURED);
    assert_int_equal(capture_status(a), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
    FAILS(aclrtLaunchHostFunc(a, count_up, &done), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    FAILS(aclmdlRICaptureEnd(a, &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    FAILS(aclrtStreamQuery(a, &status), ACL_ERROR_RT_STREAM_CAPTURED);
    FAILS(aclmdlRICaptureEnd(a, &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    FAILS(aclrtSynchronizeDevice(), ACL_ERROR_RT_STREAM_CAPTURED);
    FAILS(aclmdlRICaptureEnd(a, &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    OK(aclrtLaunchHostFunc(a, count_up, &done));
    OK(aclrtSynchronizeStream(a));
}

static void *end_elsewhere(void *arg)
{
    void **args = arg;
    aclmdlRI model;
    aclrtSetCurrentContext(args[0]);
    return (void *)(intptr_t)aclmdlRICaptureEnd(a, &model);
}

static void wrong_calls_are_refused(void **state)
{
    aclmdlRI model, other;
    aclrtContext context;
    aclrtEvent outside, inside;
    int done = 0;
    FAILS(aclmdlRICaptureEnd(a, &model), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
    FAILS(aclmdlRICaptureBegin(NULL, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
    FAILS(aclmdlRICaptureBegin(a, (aclmdlRICaptureMode)7), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclmdlRICaptureBegin(&done, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    FAILS(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_ERROR_RT_STREAM_CAPTURED);
    FAILS(aclrtDestroyStream(a), ACL_ERROR_RT_STREAM_CAPTURED);
    OK(aclmdlRICaptureGetInfo(a, &(aclmdlRICaptureStatus){0}, &model));
    FAILS(aclmdlRIExecuteAsync(model, b), ACL_ERROR_RT_MODEL_CAPTURED);
    FAILS(aclmdlRIDestroy(model), ACL_ERROR_RT_MODEL_CAPTURED);
    OK(aclrtGetCurrentContext(&context));
    pthread_t thread;
    void *result, *args[] = {context};
    pthread_create(&thread, NULL, end_elsewhere, args);
    pthread_join(thread, &result);
    assert_int_equal((intptr_t)result, ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD);
    OK(aclmdlRICaptureEnd(a, &model));
    OK(aclmdlRIDestroy(model));

    OK(aclrtCreateEvent(&outside));
    OK(aclrtCreateEvent(&inside));
    OK(aclrtRecordEvent(outside, b));
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    FAILS(aclrtStreamWaitEvent(a, outside), ACL_ERROR_RT_CAPTURE_DEPENDENCY);
    FAILS(aclmdlRICaptureEnd(a, &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);

    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureBegin(b, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtRecordEvent(inside, a));
    FAILS(aclrtStreamWaitEvent(b, inside), ACL_ERROR_STREAM_CAPTURE_CONFLICT);
    FAILS(aclmdlRICaptureEnd(a, &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    FAILS(aclmdlRICaptureEnd(b, &other), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    OK(aclrtDestroyEvent(outside));
    OK(aclrtDestroyEvent(inside));
}

static void *copy_elsewhere(void *arg)
{
    void **args = arg;
    char from[8] = "abcdefg", to[8];
    aclrtSetCurrentContext(args[0]);
    if (args[1] != NULL) {
        aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
        aclmdlRICaptureThreadExchangeMode(&mode);
    }
    return (void *)(intptr_t)aclrtMemcpy(to, sizeof(to), from, sizeof(from), ACL_MEMCPY_HOST_TO_HOST);
}

static intptr_t copy_in_thread(bool exchange)
{
    aclrtContext context;
    OK(aclrtGetCurrentContext(&context));
    void *args[] = {context, exchange ? context : NULL}, *result;
    pthread_t thread;
    pthread_create(&thread, NULL, copy_elsewhere, args);
    pthread_join(thread, &result);
    return (intptr_t)result;
}

static void unsafe_calls_follow_the_mode(void **state)
{
    aclmdlRI model;
    char from[8] = "1234567", to[8];
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtMemcpy(to, sizeof(to), from, sizeof(from), ACL_MEMCPY_HOST_TO_HOST));
    OK(aclmdlRICaptureEnd(a, &model));
    OK(aclmdlRIDestroy(model));

    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    assert_int_equal(copy_in_thread(false), ACL_SUCCESS);
    OK(aclmdlRICaptureThreadExchangeMode(&mode));
    assert_int_equal(mode, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    OK(aclrtMemcpy(to, sizeof(to), from, sizeof(from), ACL_MEMCPY_HOST_TO_HOST));
    OK(aclmdlRICaptureThreadExchangeMode(&mode));
    FAILS(aclrtMemcpy(to, sizeof(to), from, sizeof(from), ACL_MEMCPY_HOST_TO_HOST),
          ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    FAILS(aclmdlRICaptureEnd(a, &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);

    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    assert_int_equal(copy_in_thread(true), ACL_SUCCESS);
    assert_int_equal(copy_in_thread(false), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    FAILS(aclmdlRICaptureEnd(a, &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    mode = (aclmdlRICaptureMode)5;
    FAILS(aclmdlRICaptureThreadExchangeMode(&mode), ACL_ERROR_RT_PARAM_INVALID);
}

static int32_t fail_run(struct snpu_task *task)
{
    return ACL_ERROR_RT_AICORE_EXCEPTION;
}

static int32_t lost_run(struct snpu_task *task)
{
    return snpu_task_lose(task);
}

static const struct snpu_task_kind fail_kind = {.name = "FAIL", .captures = true, .run = fail_run};
static const struct snpu_task_kind lost_kind = {.name = "LOST", .captures = true, .run = lost_run};
static const struct snpu_task_kind never_kind = {.name = "NEVER", .run = fail_run};

static void failures_and_aborts_end_a_run(void **state)
{
    aclmdlRI model;
    int done = 0;
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    FAILS(snpu_stream_submit(a, &never_kind, NULL, 0, NULL, 0, NULL), ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
    FAILS(aclmdlRICaptureEnd(a, &model), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);

    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(snpu_stream_submit(a, &fail_kind, NULL, 0, NULL, 0, NULL));
    OK(aclrtLaunchHostFunc(a, count_up, &done));
    OK(aclmdlRICaptureEnd(a, &model));
    FAILS(aclmdlRIExecute(model, -1), ACL_ERROR_RT_AICORE_EXCEPTION);
    OK(aclmdlRIExecuteAsync(model, b));
    FAILS(aclrtSynchronizeStream(b), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(count_of(&done), 2);
    OK(aclmdlRIDestroy(model));

    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    aclrtEvent fork, join;
    OK(aclrtCreateEvent(&fork));
    OK(aclrtCreateEvent(&join));
    OK(aclrtRecordEvent(fork, a));
    OK(aclrtStreamWaitEvent(b, fork));
    OK(snpu_stream_submit(b, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(aclrtRecordEvent(join, b));
    OK(aclrtStreamWaitEvent(a, join));
    OK(aclrtLaunchHostFunc(a, count_up, &done));
    OK(aclmdlRICaptureEnd(a, &model));
    OK(aclmdlRIExecuteAsync(model, c));
    FAILS(aclrtSynchronizeStreamWithTimeout(c, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    OK(aclrtStreamAbort(c));
    OK(aclmdlRIExecuteAsync(model, c));
    FAILS(aclrtSynchronizeStreamWithTimeout(c, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    OK(aclmdlRIAbort(model));
    FAILS(aclrtSynchronizeStream(c), ACL_ERROR_RT_MODEL_ABORT_NORMAL);
    assert_int_equal(count_of(&done), 2);
    FAILS(aclmdlRIExecute(model, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    OK(aclmdlRIAbort(model));
    EVENTUALLY(aclmdlRIDestroy(model) == ACL_SUCCESS);
    OK(aclrtDestroyEvent(fork));
    OK(aclrtDestroyEvent(join));
}

/* ---- destruction ---- */

static void models_of_a_reset_device_refuse_to_run(void **state)
{
    aclmdlRI model, capturing;
    aclrtStream stream, other;
    int done = 0;
    OK(aclrtSetDevice(1));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&other));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(snpu_stream_submit(stream, &lost_kind, NULL, 0, NULL, 0, NULL));
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    OK(aclmdlRICaptureEnd(stream, &model));
    OK(aclmdlRIExecuteAsync(model, other));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureGetInfo(stream, &(aclmdlRICaptureStatus){0}, &capturing));
    double start = now_ms();
    OK(aclrtResetDeviceForce(1)); /* with a run blocked and a capture open */
    assert_true(now_ms() - start < 1500);
    OK(aclrtSetDevice(0));
    FAILS(aclmdlRIExecute(model, -1), ACL_ERROR_RT_MODEL_CONTEXT);
    OK(aclmdlRIDestroy(model));
    assert_int_equal(count_of(&done), 0);
    OK(aclrtResetDevice(0));
}

static void *replay_many(void *arg)
{
    void **args = arg;
    aclrtSetCurrentContext(args[0]);
    for (int i = 0; i < 50; i++) {
        if (aclmdlRIExecuteAsync(args[1], args[2]) != ACL_SUCCESS) {
            return (void *)1;
        }
    }
    return (void *)(intptr_t)aclrtSynchronizeStream(args[2]);
}

static void runs_of_one_model_take_turns(void **state)
{
    aclmdlRI model;
    aclrtContext context;
    aclrtEvent fork, join;
    int done = 0;
    OK(aclrtGetCurrentContext(&context));
    OK(aclrtCreateEvent(&fork));
    OK(aclrtCreateEvent(&join));
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtRecordEvent(fork, a));
    OK(aclrtStreamWaitEvent(b, fork));
    OK(aclrtLaunchHostFunc(b, count_up, &done));
    OK(aclrtRecordEvent(join, b));
    OK(aclrtStreamWaitEvent(a, join));
    OK(aclrtLaunchHostFunc(a, count_up, &done));
    OK(aclmdlRICaptureEnd(a, &model));
    void *args[3][3] = {{context, model, a}, {context, model, b}, {context, model, c}};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, replay_many, args[i]);
    }
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    assert_int_equal(count_of(&done), 300);
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(fork));
    OK(aclrtDestroyEvent(join));
}

int main(void)
{
    own_machine();
    const struct CMUnitTest tests[] = {
        WITH_STREAMS(captured_tasks_run_at_replay_only),
        WITH_STREAMS(a_replay_keeps_its_place_in_the_stream),
        WITH_STREAMS(events_join_streams_and_keep_their_order),
        WITH_STREAMS(lanes_run_concurrently),
        WITH_STREAMS(a_stream_that_is_not_joined_back_is_refused),
        WITH_STREAMS(external_events_are_real_at_every_replay),
        WITH_STREAMS(waiting_for_a_captured_stream_makes_the_capture_invalid),
        WITH_STREAMS(wrong_calls_are_refused),
        WITH_STREAMS(unsafe_calls_follow_the_mode),
        WITH_STREAMS(failures_and_aborts_end_a_run),
        WITH_STREAMS(models_of_a_reset_device_refuse_to_run),
        WITH_STREAMS(runs_of_one_model_take_turns),
    };
    return cmocka_run_group_tests(tests, on_device, off_device);
}
