/* SPDX-License-Identifier: Apache-2.0 */
// What every operator sample needs: device and stream, tensors with dense strides, the second phase with its workspace,
// and printing. A call that fails ends the program with its code.
#ifndef SAMPLE_H
#define SAMPLE_H

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        const int code_ = static_cast<int>(call);                                                                      \
        if (code_ != 0) {                                                                                              \
            const char *text_ = aclGetRecentErrMsg();                                                                  \
            printf("%s failed: %d %s\n", #call, code_, text_ == nullptr ? "" : text_);                                 \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

// Both phases of an operator.
#define RUN(name, ...)                                                                                                 \
    do {                                                                                                               \
        uint64_t size_ = 0;                                                                                            \
        aclOpExecutor *executor_ = nullptr;                                                                            \
        CHECK(name##GetWorkspaceSize(__VA_ARGS__, &size_, &executor_));                                                \
        CHECK(name(workspace(size_), size_, executor_, stream));                                                       \
        CHECK(aclrtSynchronizeStream(stream));                                                                         \
    } while (0)

static aclrtStream stream;
static std::vector<void *> blocks;

static inline void *device_block(size_t size)
{
    void *block = nullptr;
    CHECK(aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST));
    blocks.push_back(block);
    return block;
}

static inline void *workspace(uint64_t size)
{
    return size == 0 ? nullptr : device_block(size);
}

static inline void start()
{
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtCreateStream(&stream));
}

static inline int finish()
{
    for (void *block : blocks) {
        CHECK(aclrtFree(block));
    }
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}

template <typename T> struct Tensor {
    Tensor(const std::vector<int64_t> &shape, aclDataType type, std::vector<T> values = {}) : count(1)
    {
        std::vector<int64_t> strides(shape.size(), 1);
        for (size_t i = shape.size(); i-- > 0;) {
            strides[i] = static_cast<int64_t>(count);
            count *= static_cast<size_t>(shape[i]);
        }
        values.resize(count);
        data = device_block(count * sizeof(T));
        CHECK(aclrtMemcpy(data, count * sizeof(T), values.data(), count * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE));
        tensor = aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0, ACL_FORMAT_ND, shape.data(),
                                 shape.size(), data);
    }
    ~Tensor()
    {
        aclDestroyTensor(tensor);
    }
    operator aclTensor *() const
    {
        return tensor;
    }
    void print() const
    {
        std::vector<T> values(count);
        CHECK(aclrtMemcpy(values.data(), count * sizeof(T), data, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST));
        for (size_t i = 0; i < count; i++) {
            printf("result[%zu] is: %f\n", i, static_cast<double>(values[i]));
        }
    }
    size_t count;
    void *data;
    aclTensor *tensor;
};

#endif
