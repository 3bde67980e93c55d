/* SPDX-License-Identifier: Apache-2.0 */
// Models: captured and replayed, updated, with conditions, built manually, synchronised with other streams by
// events.
#include "aclnnop/aclnn_add.h"
#include "check.h"

#include <initializer_list>
#include <vector>

namespace
{
constexpr int64_t kCount = 8;
constexpr size_t kBytes = kCount * sizeof(float);

class Vector
{
  public:
    explicit Vector(float value = 0)
    {
        OK(aclrtMalloc(&data, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
        *this = value;
        const int64_t dims[] = {kCount}, steps[] = {1};
        tensor = aclCreateTensor(dims, 1, ACL_FLOAT, steps, 0, ACL_FORMAT_ND, dims, 1, data);
        EXPECT(tensor != nullptr);
    }
    ~Vector()
    {
        OK(aclDestroyTensor(tensor));
        OK(aclrtFree(data));
    }
    Vector(const Vector &) = delete;
    Vector &operator=(const Vector &) = delete;
    Vector &operator=(float value)
    {
        std::vector<float> host(kCount, value);
        OK(aclrtMemcpy(data, kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
        return *this;
    }
    bool operator==(float value) const
    {
        std::vector<float> host(kCount);
        OK(aclrtMemcpy(host.data(), kBytes, data, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
        for (float x : host) {
            if (x < value - 1e-4f || x > value + 1e-4f) {
                return false;
            }
        }
        return true;
    }
    void *data = nullptr;
    aclTensor *tensor = nullptr;
};

// out = a + factor * b
void add(const Vector &a, const Vector &b, float factor, Vector &out, aclrtStream stream)
{
    aclScalar *alpha = aclCreateScalar(&factor, ACL_FLOAT);
    uint64_t workspace_b = 0;
    aclOpExecutor *executor = nullptr;
    OK(aclnnAddGetWorkspaceSize(a.tensor, b.tensor, alpha, out.tensor, &workspace_b, &executor));
    EXPECT(workspace_b == 0);
    OK(aclnnAdd(nullptr, 0, executor, stream));
    OK(aclDestroyScalar(alpha));
}

void run(aclmdlRI model, aclrtStream stream)
{
    OK(aclmdlRIExecuteAsync(model, stream));
    OK(aclrtSynchronizeStream(stream));
}

void captured(aclrtStream stream)
{
    Vector a(1), b(2), sum, out;
    aclmdlRI model = nullptr, current = nullptr;
    aclmdlRICaptureStatus status;
    aclrtStream side;
    aclrtEvent fork, join;
    OK(aclrtCreateStream(&side));
    OK(aclrtCreateEventExWithFlag(&fork, ACL_EVENT_SYNC));
    OK(aclrtCreateEventExWithFlag(&join, ACL_EVENT_SYNC));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclmdlRICaptureGetInfo(stream, &status, &current));
    EXPECT(status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE && current != nullptr);
    add(a, b, 1, sum, stream);
    OK(aclrtRecordEvent(fork, stream));
    OK(aclrtStreamWaitEvent(side, fork)); // the other stream joins the capture
    add(sum, b, 10, out, side);
    OK(aclrtRecordEvent(join, side));
    OK(aclrtStreamWaitEvent(stream, join));
    // Calls that cannot be captured are allowed in relaxed mode only.
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    OK(aclmdlRICaptureThreadExchangeMode(&mode));
    a = 5;
    OK(aclmdlRICaptureThreadExchangeMode(&mode));
    OK(aclmdlRICaptureEnd(stream, &model));
    EXPECT(sum == 0); // nothing has run
    run(model, stream);
    EXPECT(sum == 7 && out == 27);
    a = 1;
    run(model, stream);
    EXPECT(sum == 3 && out == 23);
    uint32_t streams = 0, tasks = 0;
    OK(aclmdlRIGetStreams(model, nullptr, &streams));
    EXPECT(streams == 2);
    std::vector<aclrtStream> handles(streams);
    OK(aclmdlRIGetStreams(model, handles.data(), &streams));
    OK(aclmdlRIGetTasksByStream(handles[0], nullptr, &tasks));
    EXPECT(tasks > 0);
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(fork));
    OK(aclrtDestroyEvent(join));
    OK(aclrtDestroyStream(side));
}

void updated(aclrtStream stream)
{
    Vector a(1), b(2), out;
    aclmdlRI model;
    aclrtTaskGrp group;
    aclrtStream updates;
    OK(aclrtCreateStream(&updates));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclmdlRICaptureTaskGrpBegin(stream));
    add(a, b, 1, out, stream);
    OK(aclmdlRICaptureTaskGrpEnd(stream, &group));
    OK(aclmdlRICaptureEnd(stream, &model));
    run(model, stream);
    EXPECT(out == 3);
    OK(aclmdlRICaptureTaskUpdateBegin(updates, group));
    add(a, b, 100, out, updates);
    OK(aclmdlRICaptureTaskUpdateEnd(updates));
    OK(aclrtSynchronizeStream(updates));
    run(model, stream);
    EXPECT(out == 201);
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyStream(updates));
}

void conditional(aclrtStream stream)
{
    Vector a(1), b(1), out;
    aclrtStream inner;
    aclmdlRI model;
    aclmdlRICaptureStatus status;
    aclmdlRICondHandle handle;
    aclmdlRI bodies[3] = {};
    aclmdlRICondTaskParams params;
    uint64_t *value = nullptr;
    OK(aclrtCreateStream(&inner));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    OK(aclmdlRICaptureGetInfo(stream, &status, &model));
    OK(aclmdlRICondHandleCreate(model, 0, static_cast<aclmdlRICondHandleFlag>(0), &handle)); // the program sets it
    OK(aclmdlRICondHandleGetCondPtr(handle, &value));
    params.handle = handle;
    params.type = ACL_MODEL_RI_COND_TYPE_SWITCH;
    params.size = 3;
    params.modelRIArray = bodies;
    OK(aclmdlRIAddCondTask(params, stream, 0));
    for (int i = 0; i < 3; i++) {
        OK(aclmdlRICaptureToModelRIBegin(inner, bodies[i], ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
        add(a, b, static_cast<float>(i * 10), out, inner);
        OK(aclmdlRICaptureEnd(inner, &bodies[i]));
    }
    OK(aclmdlRICaptureEnd(stream, &model));
    for (uint64_t i = 0; i < 3; i++) {
        OK(aclrtMemcpy(value, sizeof(i), &i, sizeof(i), ACL_MEMCPY_HOST_TO_DEVICE));
        run(model, stream);
        EXPECT(out == 1 + 10.0f * static_cast<float>(i));
    }
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyStream(inner));
}

void by_hand(aclrtStream stream)
{
    Vector a(1), b(1), small, large;
    int32_t *left, *right;
    aclrtStream head, small_branch, large_branch, end;
    aclmdlRI model;
    OK(aclrtMalloc(reinterpret_cast<void **>(&left), sizeof(*left), ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(reinterpret_cast<void **>(&right), sizeof(*right), ACL_MEM_MALLOC_HUGE_FIRST));
    const int32_t limit = 10;
    OK(aclrtMemcpy(right, sizeof(limit), &limit, sizeof(limit), ACL_MEMCPY_HOST_TO_DEVICE));
    for (aclrtStream *s : {&head, &small_branch, &large_branch, &end}) {
        OK(aclrtCreateStreamWithConfig(s, 0, ACL_STREAM_PERSISTENT));
    }
    OK(aclmdlRIBuildBegin(&model, 0));
    OK(aclmdlRIBindStream(model, head, ACL_MODEL_STREAM_FLAG_HEAD));
    for (aclrtStream s : {small_branch, large_branch, end}) {
        OK(aclmdlRIBindStream(model, s, ACL_MODEL_STREAM_FLAG_DEFAULT));
    }
    OK(aclrtSwitchStream(left, ACL_RT_LESS, right, ACL_RT_SWITCH_INT32, small_branch, nullptr, head));
    OK(aclrtSwitchStream(left, ACL_RT_GREATER_OR_EQUAL, right, ACL_RT_SWITCH_INT32, large_branch, nullptr, head));
    add(a, b, 1, small, small_branch);
    OK(aclrtActiveStream(end, small_branch));
    add(a, b, 100, large, large_branch);
    OK(aclrtActiveStream(end, large_branch));
    OK(aclmdlRIEndTask(model, end));
    OK(aclmdlRIBuildEnd(model, nullptr));
    for (int32_t value : {3, 30}) {
        small = 0;
        large = 0;
        OK(aclrtMemcpy(left, sizeof(value), &value, sizeof(value), ACL_MEMCPY_HOST_TO_DEVICE));
        run(model, stream);
        EXPECT(small == (value < limit ? 2.0f : 0.0f) && large == (value < limit ? 0.0f : 101.0f));
    }
    for (aclrtStream s : {head, small_branch, large_branch, end}) {
        OK(aclmdlRIUnbindStream(model, s));
    }
    OK(aclmdlRIDestroy(model));
    for (aclrtStream s : {head, small_branch, large_branch, end}) {
        OK(aclrtDestroyStream(s));
    }
    OK(aclrtFree(left));
    OK(aclrtFree(right));
}

void joined_to_the_outside(aclrtStream stream)
{
    Vector a(1), b(2), out;
    aclrtEvent event;
    aclrtStream outside;
    aclmdlRI model;
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    OK(aclrtCreateStream(&outside));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    add(a, b, 1, out, stream);
    OK(aclrtRecordEventWithFlag(event, stream, ACL_EVENT_RECORD_EXTERNAL));
    OK(aclmdlRICaptureEnd(stream, &model));
    for (float value : {1.0f, 10.0f, 20.0f}) {
        a = value;
        OK(aclmdlRIExecuteAsync(model, stream));
        OK(aclrtStreamWaitEvent(outside, event)); // waits for the record of this run, even if it comes later
        OK(aclrtSynchronizeStream(outside));
        EXPECT(out == value + 2);
    }
    OK(aclrtSynchronizeStream(stream));
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(outside));
}

void held_up_from_outside(aclrtStream stream)
{
    Vector a(1), b(2), out;
    aclrtEvent event;
    aclrtStream outside;
    aclmdlRI model;
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL));
    OK(aclrtCreateStream(&outside));
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    OK(aclrtStreamWaitEvent(stream, event));
    OK(aclrtResetEvent(event, stream));
    add(a, b, 1, out, stream);
    OK(aclmdlRICaptureEnd(stream, &model));
    for (int i = 0; i < 2; i++) { // each run waits for its own record
        out = 0;
        OK(aclmdlRIExecuteAsync(model, stream));
        FAILS(507046, aclrtSynchronizeStreamWithTimeout(stream, 30));
        EXPECT(out == 0);
        OK(aclrtRecordEvent(event, outside));
        OK(aclrtSynchronizeStream(stream));
        EXPECT(out == 3);
    }
    OK(aclmdlRIDestroy(model));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(outside));
}

void misuse(aclrtStream stream)
{
    aclmdlRI model = nullptr;
    EXPECT(aclmdlRICaptureEnd(stream, &model) == 107029); // is not capturing
    OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    EXPECT(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) != ACL_SUCCESS);
    EXPECT(aclrtSynchronizeStream(stream) != ACL_SUCCESS);     // would wait forever
    EXPECT(aclmdlRICaptureEnd(stream, &model) != ACL_SUCCESS); // and the capture is invalid
    OK(aclrtSynchronizeStream(stream));
    EXPECT(aclmdlRIExecuteAsync(stream, stream) != ACL_SUCCESS);
}
} // namespace

int main()
{
    aclrtStream stream;
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    captured(stream);
    updated(stream);
    conditional(stream);
    by_hand(stream);
    joined_to_the_outside(stream);
    held_up_from_outside(stream);
    misuse(stream);
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    puts("graph: all good");
    return 0;
}
