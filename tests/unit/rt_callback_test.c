/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions in streams, report threads, exceptions, error messages. */
#include "rt_test.h"

#include "softnpu/runtime/exception.h"

/* A thread that processes reports until it is stopped. */
struct reporter {
    pthread_t thread;
    aclrtContext context;
    bool host_funcs;
    int stop;
    int idle;     /* how often it returned without work */
    int failures; /* results that are neither success nor timeout */
};

static void *report_loop(void *arg)
{
    struct reporter *r = arg;
    r->failures += aclrtSetCurrentContext(r->context) != ACL_SUCCESS;
    while (!__atomic_load_n(&r->stop, __ATOMIC_SEQ_CST)) {
        aclError ret = r->host_funcs ? aclrtProcessHostFunc(20) : aclrtProcessReport(20);
        /* Before the subscription and after its end this thread has nothing to process. */
        bool idle = ret == ACL_ERROR_RT_REPORT_TIMEOUT || ret == ACL_ERROR_RT_THREAD_SUBSCRIBE;
        __atomic_fetch_add(idle ? &r->idle : &r->failures, idle || ret != ACL_SUCCESS, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static void reporter_start(struct reporter *r, bool host_funcs)
{
    memset(r, 0, sizeof(*r));
    r->host_funcs = host_funcs;
    OK(aclrtGetCurrentContext(&r->context));
    assert_int_equal(pthread_create(&r->thread, NULL, report_loop, r), 0);
}

static void reporter_stop(struct reporter *r)
{
    __atomic_store_n(&r->stop, 1, __ATOMIC_SEQ_CST);
    pthread_join(r->thread, NULL);
    assert_int_equal(r->failures, 0);
}

struct where {
    pthread_t thread;
    int calls;
    int *after; /* the stream's progress when this ran */
    int seen;
};

static void note_where(void *data)
{
    struct where *w = data;
    w->thread = pthread_self();
    w->seen = w->after != NULL ? count_of(w->after) : 0;
    __atomic_fetch_add(&w->calls, 1, __ATOMIC_SEQ_CST);
}

static void blocking_callbacks_run_in_the_subscribed_thread(void **state)
{
    aclrtStream stream;
    struct reporter r;
    int done = 0;
    struct where w = {.after = &done};
    OK(aclrtCreateStream(&stream));
    FAILS(aclrtLaunchCallback(note_where, &w, ACL_CALLBACK_BLOCK, stream), ACL_ERROR_RT_STREAM_NO_CB_REG);
    reporter_start(&r, false);
    OK(aclrtSubscribeReport((uint64_t)r.thread, stream));
    FAILS(aclrtSubscribeReport((uint64_t)r.thread, stream), ACL_ERROR_RT_STREAM_SUBSCRIBE);
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    OK(aclrtLaunchCallback(note_where, &w, ACL_CALLBACK_BLOCK, stream));
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    OK(aclrtSynchronizeStream(stream));
    assert_int_equal(w.calls, 1);
    assert_true(pthread_equal(w.thread, r.thread));
    assert_int_equal(w.seen, 1); /* in stream order: between the two */
    assert_int_equal(count_of(&done), 2);
    EVENTUALLY(count_of(&r.idle) > 1); /* timeouts are reported as such */
    FAILS(aclrtUnSubscribeReport((uint64_t)pthread_self(), stream), ACL_ERROR_RT_THREAD_SUBSCRIBE);
    OK(aclrtUnSubscribeReport((uint64_t)r.thread, stream));
    FAILS(aclrtUnSubscribeReport((uint64_t)r.thread, stream), ACL_ERROR_RT_STREAM_SUBSCRIBE);
    reporter_stop(&r);
    FAILS(aclrtLaunchCallback(note_where, &w, (aclrtCallbackBlockType)5, stream), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtProcessReport(10), ACL_ERROR_RT_THREAD_SUBSCRIBE);
    FAILS(aclrtProcessReport(-2), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtDestroyStream(stream));
}

static void other_callbacks_do_not_block_the_stream(void **state)
{
    aclrtStream stream;
    struct where w = {0};
    int done = 0;
    OK(aclrtCreateStream(&stream));
    OK(aclrtSubscribeReport((uint64_t)pthread_self(), stream)); /* this thread, which does not process yet */
    OK(aclrtLaunchCallback(note_where, &w, ACL_CALLBACK_NO_BLOCK, stream));
    OK(aclrtLaunchCallback(note_where, &w, ACL_CALLBACK_NO_BLOCK, stream));
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    OK(aclrtSynchronizeStream(stream));
    assert_int_equal(count_of(&done), 1);
    assert_int_equal(w.calls, 0);
    OK(aclrtProcessReport(1000));
    assert_int_equal(w.calls, 2);
    FAILS(aclrtProcessReport(5), ACL_ERROR_RT_REPORT_TIMEOUT);
    OK(aclrtUnSubscribeReport((uint64_t)pthread_self(), stream));
    OK(aclrtDestroyStream(stream));
}

static void ending_a_subscription_frees_the_stream(void **state)
{
    aclrtStream stream;
    struct where w = {0};
    int done = 0;
    OK(aclrtCreateStream(&stream));
    OK(aclrtSubscribeReport((uint64_t)pthread_self(), stream));
    OK(aclrtLaunchCallback(note_where, &w, ACL_CALLBACK_BLOCK, stream)); /* never processed */
    OK(aclrtLaunchHostFunc(stream, count_up, &done));
    FAILS(aclrtSynchronizeStreamWithTimeout(stream, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    OK(aclrtUnSubscribeReport((uint64_t)pthread_self(), stream));
    OK(aclrtSynchronizeStream(stream));
    assert_int_equal(count_of(&done), 1);
    assert_int_equal(w.calls, 0);
    OK(aclrtSubscribeReport((uint64_t)pthread_self(), stream));
    OK(aclrtLaunchCallback(note_where, &w, ACL_CALLBACK_BLOCK, stream));
    OK(aclrtStreamAbort(stream)); /* so does an abort */
    OK(aclrtLaunchCallback(note_where, &w, ACL_CALLBACK_BLOCK, stream));
    OK(aclrtDestroyStreamForce(stream)); /* and a forced destruction */
    assert_int_equal(w.calls, 0);
}

static void host_functions_run_on_the_stream_or_where_subscribed(void **state)
{
    aclrtStream stream;
    struct reporter r;
    struct where own = {0}, elsewhere = {0};
    OK(aclrtCreateStream(&stream));
    OK(aclrtLaunchHostFunc(stream, note_where, &own));
    OK(aclrtSynchronizeStream(stream));
    assert_false(pthread_equal(own.thread, pthread_self()));
    reporter_start(&r, true);
    OK(aclrtSubscribeHostFunc((uint64_t)r.thread, stream));
    OK(aclrtLaunchHostFunc(stream, note_where, &elsewhere));
    OK(aclrtSynchronizeStream(stream));
    assert_true(pthread_equal(elsewhere.thread, r.thread));
    OK(aclrtUnSubscribeHostFunc((uint64_t)r.thread, stream));
    OK(aclrtLaunchHostFunc(stream, note_where, &elsewhere));
    OK(aclrtSynchronizeStream(stream));
    assert_true(pthread_equal(elsewhere.thread, own.thread));
    reporter_stop(&r);
    OK(aclrtDestroyStream(stream));
}

static void query_inside(void *data)
{
    int32_t *answers = data;
    answers[0] = aclrtGetDevice(&answers[1]);
}

static void host_functions_have_the_context_of_their_stream(void **state)
{
    int32_t answers[2] = {-1, -1};
    OK(aclrtLaunchHostFunc(NULL, query_inside, answers));
    OK(aclrtSynchronizeStream(NULL));
    assert_int_equal(answers[0], 0);
    assert_int_equal(answers[1], 0);
}

static aclrtStream victim;

static void destroy_own_stream(void *data)
{
    aclError answer = aclrtDestroyStreamForce(victim);
    __atomic_store_n((aclError *)data, answer, __ATOMIC_SEQ_CST);
}

static void a_callback_may_destroy_its_stream(void **state)
{
    aclError answer = -1;
    OK(aclrtCreateStream(&victim));
    OK(aclrtLaunchHostFunc(victim, destroy_own_stream, &answer));
    EVENTUALLY(__atomic_load_n(&answer, __ATOMIC_SEQ_CST) == ACL_SUCCESS);
    FAILS(aclrtSynchronizeStream(victim), ACL_ERROR_RT_PARAM_INVALID);
}

/* ---- exceptions ---- */

static int32_t fail_run(struct snpu_task *task)
{
    return ACL_ERROR_RT_AICORE_EXCEPTION;
}

static void describe(const void *payload, void **args, uint32_t *args_b, void **func)
{
    *args = (void *)(uintptr_t)0x1000;
    *args_b = 24;
    *func = (void *)(uintptr_t)0x2000;
}

static const struct snpu_task_kind fail_kind = {
    .name = "KERNEL_AICORE", .ri_type = ACL_MODEL_RI_TASK_KERNEL, .run = fail_run, .describe = describe};

static struct {
    int calls;
    uint32_t task, stream, thread, device, code, args_b;
    void *args, *func;
} reported;

static void on_exception(aclrtExceptionInfo *info)
{
    reported.calls++;
    reported.task = aclrtGetTaskIdFromExceptionInfo(info);
    reported.stream = aclrtGetStreamIdFromExceptionInfo(info);
    reported.thread = aclrtGetThreadIdFromExceptionInfo(info);
    reported.device = aclrtGetDeviceIdFromExceptionInfo(info);
    reported.code = aclrtGetErrorCodeFromExceptionInfo(info);
    aclrtGetArgsFromExceptionInfo(info, &reported.args, &reported.args_b);
    aclrtGetFuncHandleFromExceptionInfo(info, &reported.func);
}

static int also_reported;

static void on_exception_too(aclrtExceptionInfo *info)
{
    also_reported++;
}

static void a_failed_kernel_is_reported(void **state)
{
    aclrtStream stream;
    uint32_t task = 0;
    int32_t stream_id = -1;
    OK(aclrtSetExceptionInfoCallback(on_exception));
    OK(aclrtExceptionInfoCallbackRegister(on_exception_too));
    OK(aclrtCreateStream(&stream));
    OK(aclrtStreamGetId(stream, &stream_id));
    OK(snpu_stream_submit(stream, &fail_kind, NULL, 0, NULL, 0, NULL));
    OK(snpu_stream_submit(stream, &fail_kind, NULL, 0, NULL, 0, &task));
    FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(reported.calls, 2); /* before the failure is visible */
    assert_int_equal(also_reported, 2);
    assert_int_equal(reported.task, task);
    assert_int_equal(reported.stream, stream_id);
    assert_int_equal(reported.thread, gettid());
    assert_int_equal(reported.device, 0);
    assert_int_equal(reported.code, ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal((uintptr_t)reported.args, 0x1000);
    assert_int_equal(reported.args_b, 24);
    assert_int_equal((uintptr_t)reported.func, 0x2000);
    OK(aclrtSetExceptionInfoCallback(NULL));
    OK(aclrtExceptionInfoCallbackUnregister(on_exception_too));
    FAILS(aclrtExceptionInfoCallbackUnregister(on_exception_too), ACL_ERROR_RT_PARAM_INVALID);
    OK(snpu_stream_submit(stream, &fail_kind, NULL, 0, NULL, 0, NULL));
    FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(reported.calls, 2);
    assert_int_equal(aclrtGetTaskIdFromExceptionInfo(NULL), UINT32_MAX);
    OK(aclrtDestroyStream(stream));
}

/* ---- error messages ---- */

static void codes_have_names_and_messages(void **state)
{
    assert_string_equal(snpu_code_name(107000), "ACL_ERROR_RT_PARAM_INVALID");
    assert_string_equal(snpu_code_name(507903), "ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED");
    assert_string_equal(snpu_code_name(100037), "ACL_ERROR_REPEAT_FINALIZE");
    assert_string_equal(snpu_code_name(107032), "ACL_ERROR_STREAM_CAPTURE_CONFLICT");
    assert_string_equal(snpu_code_name(161001), "ACLNN_ERR_PARAM_NULLPTR");
    assert_string_equal(snpu_code_name(561103), "ACLNN_ERR_INNER_NULLPTR");
    assert_string_equal(snpu_code_name(12345), "unknown");
    assert_int_equal(snpu_from_drv(0, "x"), 0);
    assert_int_equal(snpu_from_drv(6, "halMemAlloc"), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_non_null(strstr(aclGetRecentErrMsg(), "halMemAlloc: driver error 6 (OUT_OF_MEMORY)"));
    assert_int_equal(snpu_from_drv(0xfffe, "x"), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    assert_int_equal(snpu_from_drv(77, "x"), ACL_ERROR_RT_DRV_INTERNAL_ERROR);
    char longer[2000];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    snpu_fail(107000, "%s", longer); /* truncated, no overrun */
    assert_true(strlen(aclGetRecentErrMsg()) < 600);
}

int main(void)
{
    own_machine();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocking_callbacks_run_in_the_subscribed_thread),
        cmocka_unit_test(other_callbacks_do_not_block_the_stream),
        cmocka_unit_test(ending_a_subscription_frees_the_stream),
        cmocka_unit_test(host_functions_run_on_the_stream_or_where_subscribed),
        cmocka_unit_test(host_functions_have_the_context_of_their_stream),
        cmocka_unit_test(a_callback_may_destroy_its_stream),
        cmocka_unit_test(a_failed_kernel_is_reported),
        cmocka_unit_test(codes_have_names_and_messages),
    };
    return cmocka_run_group_tests(tests, on_device, off_device);
}
