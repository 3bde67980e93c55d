/* SPDX-License-Identifier: Apache-2.0 */
/* Models beyond capture and replay: queries, changes, kernels in them, building by hand, branches, bodies. */
#include "rt_models.h"

/* ---- queries and changes ---- */

static int destroyed;

static void on_destroy(void *data)
{
    destroyed += *(int *)data;
}

static void models_can_be_queried(void **state)
{
    aclmdlRI model;
    aclrtStream streams[2];
    aclmdlRITask tasks[4];
    aclmdlRITaskType type;
    aclmdlRITaskParams params;
    uint32_t count = 1, id = 99, seq = 99, seq2 = 99;
    uint64_t *word;
    char name[16] = "";
    int three = 3, done = 0;
    OK(aclrtMalloc((void **)&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    word[0] = word[1] = 0;
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtValueWrite(word, 5, 0, a));
    OK(aclrtValueWait(word, 5, ACL_STREAM_WAIT_VALUE_GEQ, a));
    OK(aclrtLaunchHostFunc(a, count_up, &done));
    OK(aclmdlRICaptureEnd(a, &model));
    OK(aclmdlRISetName(model, "step"));
    OK(aclmdlRIGetName(model, sizeof(name), name));
    assert_string_equal(name, "step");
    FAILS(aclmdlRIGetName(model, 4, name), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclmdlRIGetId(model, &id));
    count = 0;
    FAILS(aclmdlRIGetStreams(model, streams, &count), ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY);
    assert_int_equal(count, 1);
    OK(aclmdlRIGetStreams(model, streams, &count));
    FAILS(aclmdlRIGetTasksByStream(a, NULL, &count), ACL_ERROR_RT_STREAM_MODEL);
    count = 4;
    OK(aclmdlRIGetTasksByStream(streams[0], tasks, &count));
    assert_int_equal(count, 3);
    OK(aclmdlRITaskGetSeqId(tasks[0], &seq));
    OK(aclmdlRITaskGetSeqId(tasks[1], &seq2));
    assert_int_equal(seq2, seq + 1);
    OK(aclmdlRITaskGetType(tasks[0], &type));
    assert_int_equal(type, ACL_MODEL_RI_TASK_VALUE_WRITE);
    OK(aclmdlRITaskGetType(tasks[2], &type));
    assert_int_equal(type, ACL_MODEL_RI_TASK_DEFAULT);
    OK(aclmdlRITaskGetParams(tasks[1], &params));
    assert_int_equal(params.type, ACL_MODEL_RI_TASK_VALUE_WAIT);
    assert_ptr_equal(params.valueWaitTaskParams.devAddr, word);
    FAILS(aclmdlRITaskGetType(&count, &type), ACL_ERROR_RT_PARAM_INVALID);

    /* New parameters take effect at aclmdlRIUpdate. */
    OK(aclmdlRITaskGetParams(tasks[0], &params));
    assert_int_equal(params.valueWriteTaskParams.value, 5);
    params.valueWriteTaskParams.value = 7;
    OK(aclmdlRITaskSetParams(tasks[0], &params));
    OK(aclmdlRIExecute(model, -1));
    assert_int_equal(word[0], 5);
    OK(aclmdlRIUpdate(model));
    OK(aclmdlRIExecute(model, -1));
    assert_int_equal(word[0], 7);
    params.type = ACL_MODEL_RI_TASK_KERNEL;
    FAILS(aclmdlRITaskSetParams(tasks[0], &params), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclmdlRITaskGetParams(tasks[2], &params));
    FAILS(aclmdlRITaskSetParams(tasks[2], &params), ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP);
    OK(aclmdlRITaskDisable(tasks[2]));
    assert_int_equal(count_of(&done), 2);
    OK(aclmdlRIExecute(model, -1));
    assert_int_equal(count_of(&done), 2);

    char path[] = "/tmp/model-json-XXXXXX", text[2048] = "";
    int fd = mkstemp(path);
    OK(aclmdlRIDebugJsonPrint(model, path, ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE));
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    unlink(path);
    assert_non_null(strstr(text, "\"name\": \"step\""));
    assert_non_null(strstr(text, "\"type\": \"VALUE_WRITE\""));
    assert_non_null(strstr(text, "\"disabled\": true"));
    FAILS(aclmdlRIDebugJsonPrint(model, "/nonexistent/x.json", 0), ACL_ERROR_RT_FILE_OPEN);
    FAILS(aclmdlRIDebugJsonPrint(model, path, 9), ACL_ERROR_INVALID_PARAM);
    OK(aclmdlRIDebugPrint(model));

    OK(aclmdlRIDestroyRegisterCallback(model, on_destroy, &three));
    OK(aclmdlRIDestroyRegisterCallback(model, on_destroy, &three));
    OK(aclmdlRIDestroyUnregisterCallback(model, on_destroy));
    OK(aclmdlRIDestroy(model));
    assert_int_equal(destroyed, 3);
    FAILS(aclmdlRITaskGetType(tasks[0], &type), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtFree(word));
}

static void groups_are_updated(void **state)
{
    aclmdlRI model;
    aclrtTaskGrp group;
    uint64_t *word;
    OK(aclrtMalloc((void **)&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(word, 0, 64);
    FAILS(aclmdlRICaptureTaskGrpBegin(a), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    FAILS(aclmdlRICaptureTaskGrpEnd(a, &group), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    OK(aclmdlRICaptureTaskGrpBegin(a));
    FAILS(aclmdlRICaptureTaskGrpBegin(a), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    OK(aclrtValueWrite(&word[0], 1, 0, a));
    OK(aclrtValueWrite(&word[1], 2, 0, a));
    OK(aclmdlRICaptureTaskGrpEnd(a, &group));
    OK(aclrtValueWrite(&word[2], 3, 0, a));
    OK(aclmdlRICaptureEnd(a, &model));
    OK(aclmdlRIExecute(model, -1));
    assert_int_equal(word[0] * 100 + word[1] * 10 + word[2], 123);

    OK(aclmdlRICaptureTaskUpdateBegin(b, group));
    FAILS(aclmdlRICaptureTaskUpdateBegin(b, group), ACL_ERROR_RT_STREAM_CAPTURED);
    OK(aclrtValueWrite(&word[0], 4, 0, b));
    OK(aclrtValueWrite(&word[1], 5, 0, b));
    OK(aclmdlRICaptureTaskUpdateEnd(b));
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(word[0], 1); /* submitting them did not run them */
    OK(aclmdlRIExecute(model, -1));
    assert_int_equal(word[0] * 100 + word[1] * 10 + word[2], 453);

    OK(aclmdlRICaptureTaskUpdateBegin(b, group)); /* too few */
    OK(aclrtValueWrite(&word[0], 8, 0, b));
    FAILS(aclmdlRICaptureTaskUpdateEnd(b), ACL_ERROR_RT_MODEL_UPDATE_FAILED);
    OK(aclmdlRICaptureTaskUpdateBegin(b, group)); /* another kind */
    FAILS(aclrtValueWait(&word[0], 0, 0, b), ACL_ERROR_RT_MODEL_UPDATE_FAILED);
    FAILS(aclmdlRICaptureTaskUpdateEnd(b), ACL_ERROR_RT_MODEL_UPDATE_FAILED);
    FAILS(aclmdlRICaptureTaskUpdateEnd(b), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
    OK(aclmdlRIExecute(model, -1));
    assert_int_equal(word[0], 4);
    FAILS(aclmdlRICaptureTaskUpdateBegin(b, word), ACL_ERROR_RT_PARAM_INVALID);

    OK(aclmdlRICaptureBegin(c, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclmdlRICaptureTaskGrpBegin(c));
    aclmdlRI other;
    FAILS(aclmdlRICaptureEnd(c, &other), ACL_ERROR_STREAM_TASK_GROUP_INTR);
    OK(aclmdlRIDestroy(model));
    OK(aclrtFree(word));
}

/* ---- kernels and copies ---- */

static aclrtTaskGrp fill_group;

/* Captures: copy in, kernel on it (as a group), copy out. */
static aclmdlRI capture_kernel(aclrtFuncHandle fill, uint32_t *dev, uint32_t *host, uint32_t add)
{
    aclmdlRI model;
    struct {
        uint32_t *out;
        uint32_t add;
    } args = {dev, add};
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtMemsetAsync(dev, 64, 0xff, 64, a));
    OK(aclmdlRICaptureTaskGrpBegin(a));
    OK(aclrtLaunchKernel(fill, 4, &args, sizeof(args), a));
    OK(aclmdlRICaptureTaskGrpEnd(a, &fill_group));
    OK(aclrtMemcpyAsync(host, 64, dev, 64, ACL_MEMCPY_DEVICE_TO_HOST, a));
    OK(aclmdlRICaptureEnd(a, &model));
    return model;
}

static void kernels_are_replayed_and_changed(void **state)
{
    char path[1024];
    aclrtBinHandle binary;
    aclrtFuncHandle fill;
    uint32_t *dev, *host, count = 8;
    snprintf(path, sizeof(path), "%s/tests/unit/rt_kernels.so", getenv("NPUSCOPE_BUILD"));
    OK(aclrtBinaryLoadFromFile(path, NULL, &binary));
    OK(aclrtBinaryGetFunction(binary, "fill_index", &fill));
    OK(aclrtMalloc((void **)&dev, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost((void **)&host, 64));
    aclmdlRI model = capture_kernel(fill, dev, host, 7);
    for (int round = 0; round < 3; round++) {
        memset(host, 0, 64);
        OK(aclmdlRIExecuteAsync(model, b));
        OK(aclrtSynchronizeStream(b));
        assert_int_equal(host[3], 3 + 7 + 4000);
        assert_int_equal(host[4], UINT32_MAX);
    }
    /* One task by its parameters: fewer blocks. */
    aclrtStream lane;
    aclmdlRITask tasks[8];
    aclmdlRITaskParams params;
    OK(aclmdlRIGetStreams(model, &lane, &(uint32_t){1}));
    OK(aclmdlRIGetTasksByStream(lane, tasks, &count));
    assert_int_equal(count, 3);
    OK(aclmdlRITaskGetParams(tasks[1], &params));
    assert_int_equal(params.type, ACL_MODEL_RI_TASK_KERNEL);
    assert_ptr_equal(params.taskGrp, fill_group);
    assert_ptr_equal(params.kernelTaskParams.funcHandle, fill);
    assert_int_equal(params.kernelTaskParams.numBlocks, 4);
    params.kernelTaskParams.numBlocks = 2;
    OK(aclmdlRITaskSetParams(tasks[1], &params));
    OK(aclmdlRIUpdate(model));
    OK(aclmdlRIExecute(model, -1));
    assert_int_equal(host[1], 1 + 7 + 2000);
    assert_int_equal(host[2], UINT32_MAX);
    /* The group again, with other arguments. */
    struct {
        uint32_t *out;
        uint32_t add;
    } args = {dev, 50};
    OK(aclmdlRICaptureTaskUpdateBegin(c, fill_group));
    OK(aclrtLaunchKernel(fill, 3, &args, sizeof(args), c));
    OK(aclmdlRICaptureTaskUpdateEnd(c));
    OK(aclrtSynchronizeStream(c));
    OK(aclmdlRIExecute(model, -1));
    assert_int_equal(host[2], 2 + 50 + 3000);
    OK(aclrtBinaryUnLoad(binary)); /* the model holds what it needs */
    OK(aclmdlRIExecute(model, -1));
    assert_int_equal(host[2], 2 + 50 + 3000);
    OK(aclmdlRIDestroy(model));
    OK(aclrtFree(dev));
    OK(aclrtFreeHost(host));
}

/* ---- building by hand ---- */

static void bound_streams_build_a_model(void **state)
{
    aclmdlRI model;
    aclrtEvent event;
    struct trail trail = {0};
    struct step steps[] = {{&trail, 0}, {&trail, 1}};
    int done = 0;
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, a, 0));
    OK(aclmdlRIBindStream(model, b, 0));
    FAILS(aclmdlRIBindStream(model, b, 0), ACL_ERROR_RT_STREAM_MODEL);
    FAILS(aclmdlRIBindStream(model, c, 77), ACL_ERROR_INVALID_PARAM);
    /* The wait comes first: a semaphore. */
    OK(aclrtStreamWaitEvent(b, event));
    OK(aclrtResetEvent(event, b));
    OK(aclrtLaunchHostFunc(b, take_step, &steps[1]));
    OK(aclrtLaunchHostFunc(a, take_step, &steps[0]));
    OK(aclrtRecordEvent(event, a));
    FAILS(aclmdlRIExecute(model, -1), ACL_ERROR_RT_MODEL_CAPTURED);
    OK(aclmdlRIEndTask(model, a));
    FAILS(aclrtLaunchHostFunc(a, count_up, &done), ACL_ERROR_RT_STREAM_MODEL);
    OK(aclmdlRIBuildEnd(model, NULL));
    FAILS(aclrtLaunchHostFunc(b, count_up, &done), ACL_ERROR_RT_STREAM_MODEL);
    for (int round = 0; round < 5; round++) {
        trail.next = 0;
        OK(aclmdlRIExecute(model, 10000));
        assert_int_equal(trail.next, 2);
        assert_int_equal(trail.seen[0], 0);
    }
    OK(aclmdlRIUnbindStream(model, a));
    OK(aclrtLaunchHostFunc(a, count_up, &done)); /* an ordinary stream again */
    OK(aclrtSynchronizeStream(a));
    assert_int_equal(count_of(&done), 1);
    FAILS(aclmdlRIUnbindStream(model, a), ACL_ERROR_RT_STREAM_MODEL);
    OK(aclmdlRIExecuteAsync(model, c));
    OK(aclrtSynchronizeStream(c));
    OK(aclmdlRIDestroy(model)); /* with b still bound */
    OK(aclrtLaunchHostFunc(b, count_up, &done));
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 2);
    OK(aclrtDestroyEvent(event));
}

static void add_one(void *data)
{
    ++*(int64_t *)data;
}

static void built_models_branch(void **state)
{
    aclmdlRI model;
    int64_t *value;
    uint32_t *index;
    int yes = 0, no = 0, loops = 0;
    aclrtStream d;
    aclrtLabel labels[2];
    aclrtLabelList list;
    OK(aclrtMalloc((void **)&value, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    index = (uint32_t *)&value[4];
    OK(aclrtCreateStream(&d));
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, a, 0));
    OK(aclmdlRIBindStream(model, b, 0x7fffffff));
    OK(aclmdlRIBindStream(model, c, 0x7fffffff));
    FAILS(aclrtActiveStream(d, a), ACL_ERROR_RT_STREAM_MODEL);
    FAILS(aclrtSwitchStream(value, (aclrtCondition)9, &value[1], ACL_RT_SWITCH_INT64, b, c, a),
          ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtSwitchStream(&value[0], ACL_RT_GREATER, &value[1], ACL_RT_SWITCH_INT64, b, c, a));
    OK(aclrtLaunchHostFunc(b, count_up, &yes));
    OK(aclrtLaunchHostFunc(c, count_up, &no));
    OK(aclmdlRIBuildEnd(model, NULL));
    value[0] = 2;
    value[1] = 1;
    OK(aclmdlRIExecute(model, 10000));
    value[0] = 0;
    OK(aclmdlRIExecute(model, 10000));
    OK(aclmdlRIExecute(model, 10000));
    assert_int_equal(count_of(&yes), 1);
    assert_int_equal(count_of(&no), 2);
    OK(aclmdlRIDestroy(model));

    /* Activation, and a loop over labels: 0 jumps back, 1 continues. */
    OK(aclrtCreateLabel(&labels[0]));
    OK(aclrtCreateLabel(&labels[1]));
    OK(aclrtCreateLabelList(labels, 2, &list));
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, a, 0));
    OK(aclmdlRIBindStream(model, b, 0x7fffffff));
    OK(aclrtSetLabel(labels[0], a));
    OK(aclrtLaunchHostFunc(a, count_up, &loops));
    OK(aclrtLaunchHostFunc(a, add_one, &value[0]));
    OK(aclrtSwitchLabelByIndex(index, 2, list, a));
    OK(aclrtSetLabel(labels[1], a));
    OK(aclrtActiveStream(b, a));
    OK(aclrtLaunchHostFunc(b, count_up, &yes));
    FAILS(aclrtSwitchLabelByIndex(index, 3, list, a), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclmdlRIBuildEnd(model, NULL));
    *index = 1;
    OK(aclmdlRIExecute(model, 10000));
    assert_int_equal(count_of(&loops), 1);
    assert_int_equal(count_of(&yes), 2);
    *index = 0; /* endless until changed */
    OK(aclmdlRIExecuteAsync(model, d));
    EVENTUALLY(count_of(&loops) > 10);
    __atomic_store_n(index, 1, __ATOMIC_SEQ_CST);
    OK(aclrtSynchronizeStream(d));
    assert_int_equal(count_of(&yes), 3);
    *index = 0;
    OK(aclmdlRIExecuteAsync(model, d));
    OK(aclrtStreamAbort(d)); /* an endless loop can be aborted */
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyLabelList(list));
    OK(aclrtDestroyLabel(labels[0]));
    OK(aclrtDestroyLabel(labels[1]));
    FAILS(aclrtDestroyLabel(labels[1]), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtDestroyStream(d));
    OK(aclrtFree(value));
}

/* ---- conditional bodies ---- */

static void count_down(void *data)
{
    uint64_t *value = data;
    __atomic_fetch_sub(value, 1, __ATOMIC_SEQ_CST);
}

static void conditions_choose_bodies(void **state)
{
    aclmdlRI model, body, then_else[2], cases[3], out;
    aclmdlRICondHandle loop, branch, chooser;
    uint64_t *loop_value, *branch_value, *choice;
    int rounds = 0, yes = 0, no = 0, chosen[3] = {0};
    OK(aclmdlRICaptureBegin(a, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureGetInfo(a, &(aclmdlRICaptureStatus){0}, &model));
    OK(aclmdlRICondHandleCreate(model, 4, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &loop));
    OK(aclmdlRICondHandleCreate(model, 0, (aclmdlRICondHandleFlag)0, &branch));
    OK(aclmdlRICondHandleCreate(model, 0, (aclmdlRICondHandleFlag)0, &chooser));
    OK(aclmdlRICondHandleGetCondPtr(loop, &loop_value));
    OK(aclmdlRICondHandleGetCondPtr(branch, &branch_value));
    OK(aclmdlRICondHandleGetCondPtr(chooser, &choice));
    OK(aclmdlRIAddCondTask((aclmdlRICondTaskParams){loop, ACL_MODEL_RI_COND_TYPE_WHILE, 1, &body}, a, 0));
    OK(aclmdlRIAddCondTask((aclmdlRICondTaskParams){branch, ACL_MODEL_RI_COND_TYPE_IF, 2, then_else}, a, 0));
    OK(aclmdlRIAddCondTask((aclmdlRICondTaskParams){chooser, ACL_MODEL_RI_COND_TYPE_SWITCH, 3, cases}, a, 0));
    FAILS(aclmdlRIAddCondTask((aclmdlRICondTaskParams){loop, ACL_MODEL_RI_COND_TYPE_WHILE, 2, cases}, a, 0),
          ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclmdlRIAddCondTask((aclmdlRICondTaskParams){loop, ACL_MODEL_RI_COND_TYPE_IF, 1, cases}, b, 0),
          ACL_ERROR_RT_STREAM_NOT_CAPTURED);

    OK(aclmdlRICaptureToModelRIBegin(b, body, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    FAILS(aclmdlRICaptureEnd(a, &out), ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING);
    OK(aclrtLaunchHostFunc(b, count_up, &rounds));
    OK(aclrtLaunchHostFunc(b, count_down, loop_value));
    OK(aclmdlRICaptureEnd(b, &out));
    assert_ptr_equal(out, body);
    FAILS(aclmdlRICaptureToModelRIBegin(b, body, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_ERROR_RT_MODEL_CAPTURED);
    OK(aclmdlRICaptureToModelRIBegin(b, then_else[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtLaunchHostFunc(b, count_up, &yes));
    OK(aclmdlRICaptureEnd(b, &out));
    OK(aclmdlRICaptureToModelRIBegin(b, then_else[1], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtLaunchHostFunc(b, count_up, &no));
    OK(aclmdlRICaptureEnd(b, &out));
    for (int i = 0; i < 3; i++) {
        OK(aclmdlRICaptureToModelRIBegin(b, cases[i], ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
        OK(aclrtLaunchHostFunc(b, count_up, &chosen[i]));
        OK(aclmdlRICaptureEnd(b, &out));
    }
    OK(aclmdlRICaptureEnd(a, &model));

    *branch_value = 1;
    *choice = 2;
    OK(aclmdlRIExecute(model, 10000));
    *branch_value = 0;
    *choice = 9; /* none */
    OK(aclmdlRIExecute(model, 10000));
    assert_int_equal(count_of(&rounds), 8); /* four each: the default is assigned at each start */
    assert_int_equal(count_of(&yes), 1);
    assert_int_equal(count_of(&no), 1);
    assert_int_equal(chosen[0] + chosen[1], 0);
    assert_int_equal(chosen[2], 1);
    FAILS(aclmdlRIExecute(body, -1), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclmdlRIDestroy(body), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclmdlRIDestroy(model));
    FAILS(aclmdlRICondHandleGetCondPtr(loop, &loop_value), ACL_ERROR_RT_PARAM_INVALID);
}

int main(void)
{
    own_machine();
    const struct CMUnitTest tests[] = {
        WITH_STREAMS(models_can_be_queried),
        WITH_STREAMS(groups_are_updated),
        WITH_STREAMS(kernels_are_replayed_and_changed),
        WITH_STREAMS(bound_streams_build_a_model),
        WITH_STREAMS(built_models_branch),
        WITH_STREAMS(conditions_choose_bodies),
    };
    return cmocka_run_group_tests(tests, on_device, off_device);
}
