/* SPDX-License-Identifier: Apache-2.0 */
// Two-phase operators on float and half tensors, contiguous and strided.
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_layer_norm.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_normal.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_uniform.h"
#include "check.h"

#include <cmath>
#include <memory>
#include <vector>

namespace
{
aclrtStream stream;
using Floats = std::vector<float>;
using Shape = std::vector<int64_t>;

class Tensor
{
  public:
    Tensor(const Shape &shape, const Floats &values) : count_(values.size())
    {
        OK(aclrtMalloc(&data, bytes(), ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtMemcpy(data, bytes(), values.data(), bytes(), ACL_MEMCPY_HOST_TO_DEVICE));
        Shape strides(shape.size(), 1);
        for (size_t i = shape.size(); i-- > 1;) {
            strides[i - 1] = strides[i] * shape[i];
        }
        make(shape, strides, shape);
    }
    Tensor(const Tensor &other, const Shape &shape, const Shape &strides) : data(other.data), count_(0), view_(true)
    {
        make(shape, strides, Shape{static_cast<int64_t>(other.count_)});
    }
    ~Tensor()
    {
        OK(aclDestroyTensor(tensor));
        if (!view_) {
            OK(aclrtFree(data));
        }
    }
    operator aclTensor *() const
    {
        return tensor;
    }
    bool is(const Floats &expected) const
    {
        Floats have(expected.size());
        OK(aclrtMemcpy(have.data(), have.size() * 4, data, have.size() * 4, ACL_MEMCPY_DEVICE_TO_HOST));
        for (size_t i = 0; i < have.size(); i++) {
            if (!(std::fabs(have[i] - expected[i]) <= 1e-4f)) {
                fprintf(stderr, "element %zu is %g, not %g\n", i, have[i], expected[i]);
                return false;
            }
        }
        return true;
    }
    void *data = nullptr;
    aclTensor *tensor = nullptr;

  private:
    size_t bytes() const
    {
        return count_ * sizeof(float);
    }
    void make(const Shape &shape, const Shape &strides, const Shape &storage)
    {
        tensor = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), 0, ACL_FORMAT_ND,
                                 storage.data(), storage.size(), data);
        EXPECT(tensor != nullptr);
    }
    size_t count_;
    bool view_ = false;
};

// First phase, workspace, second phase.
#define RUN(op, ...)                                                                                                   \
    do {                                                                                                               \
        uint64_t workspace_b = 0;                                                                                      \
        aclOpExecutor *executor = nullptr;                                                                             \
        OK(op##GetWorkspaceSize(__VA_ARGS__, &workspace_b, &executor));                                                \
        void *workspace = nullptr;                                                                                     \
        if (workspace_b > 0) {                                                                                         \
            OK(aclrtMalloc(&workspace, workspace_b, ACL_MEM_MALLOC_HUGE_FIRST));                                       \
        }                                                                                                              \
        std::unique_ptr<void, aclError (*)(void *)> owner(workspace, aclrtFree);                                       \
        OK(op(workspace, workspace_b, executor, stream));                                                              \
        OK(aclrtSynchronizeStream(stream));                                                                            \
    } while (0)

void elementwise()
{
    Tensor a({2, 3}, {1, 2, 3, 4, 5, 6}), row({3}, {10, 20, 30}), out({2, 3}, Floats(6));
    Tensor turned(a, {3, 2}, {1, 3}), turned_out({3, 2}, Floats(6));
    float value = 2;
    aclScalar *two = aclCreateScalar(&value, ACL_FLOAT);
    RUN(aclnnAdd, a, row, two, out);
    EXPECT(out.is({21, 42, 63, 24, 45, 66}));
    RUN(aclnnMul, a, row, out);
    EXPECT(out.is({10, 40, 90, 40, 100, 180}));
    RUN(aclnnMul, turned, turned, turned_out);
    EXPECT(turned_out.is({1, 16, 4, 25, 9, 36}));
    RUN(aclnnInplaceFillScalar, out, two);
    EXPECT(out.is(Floats(6, 2)));
    RUN(aclnnInplaceCopy, turned_out, turned);
    EXPECT(turned_out.is({1, 4, 2, 5, 3, 6}));
    OK(aclDestroyScalar(two));
}

void reductions()
{
    Tensor a({2, 3}, {1, 2, 3, 4, 5, 6}), out({2, 3}, Floats(6)), rows({2}, Floats(2)), mean({2, 1}, Floats(2)),
        rstd({2, 1}, Floats(2));
    const int64_t dim = 1, size = 3;
    aclIntArray *dims = aclCreateIntArray(&dim, 1), *shape = aclCreateIntArray(&size, 1);
    RUN(aclnnReduceSum, a, dims, false, ACL_FLOAT, rows);
    EXPECT(rows.is({6, 15}));
    RUN(aclnnSoftmax, a, 1, out);
    const float e = std::exp(1.0f), all = 1 + e + e * e;
    EXPECT(out.is({1 / all, e / all, e * e / all, 1 / all, e / all, e * e / all}));
    RUN(aclnnLayerNorm, a, shape, nullptr, nullptr, 1e-5, out, mean, rstd);
    EXPECT(mean.is({2, 5}));
    const float s = 1 / std::sqrt(2.0f / 3 + 1e-5f);
    EXPECT(out.is({-s, 0, s, -s, 0, s}));
    Tensor left({2, 3}, {1, 2, 3, 4, 5, 6}), right({3, 2}, {1, 0, 0, 1, 1, 1}), product({2, 2}, Floats(4));
    RUN(aclnnMatmul, left, right, product, 1);
    EXPECT(product.is({4, 5, 10, 11}));
    OK(aclDestroyIntArray(dims));
    OK(aclDestroyIntArray(shape));
}

void random_numbers()
{
    Tensor a({1000}, Floats(1000)), b({1000}, Floats(1000));
    Floats x(1000), y(1000);
    RUN(aclnnInplaceUniform, a, 2.0, 3.0, 42, 0);
    RUN(aclnnInplaceUniform, b, 2.0, 3.0, 42, 0);
    OK(aclrtMemcpy(x.data(), 4000, a.data, 4000, ACL_MEMCPY_DEVICE_TO_HOST));
    OK(aclrtMemcpy(y.data(), 4000, b.data, 4000, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT(x == y); // the same seed
    for (float v : x) {
        EXPECT(v >= 2 && v < 3);
    }
    RUN(aclnnInplaceNormal, a, 5.0f, 1.0f, 7, 0);
    OK(aclrtMemcpy(x.data(), 4000, a.data, 4000, ACL_MEMCPY_DEVICE_TO_HOST));
    float sum = 0;
    for (float v : x) {
        sum += v;
    }
    EXPECT(std::fabs(sum / 1000 - 5) < 0.3f);
}

void halves_and_repeats()
{
    Tensor a({4}, {0.5f, -1, 2, 1000}), back({4}, Floats(4));
    void *half;
    const int64_t dims[] = {4}, strides[] = {1};
    OK(aclrtMalloc(&half, 8, ACL_MEM_MALLOC_HUGE_FIRST));
    aclTensor *h = aclCreateTensor(dims, 1, ACL_FLOAT16, strides, 0, ACL_FORMAT_ND, dims, 1, half);
    RUN(aclnnCast, a, ACL_FLOAT16, h);
    uint16_t bits[4];
    OK(aclrtMemcpy(bits, 8, half, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT(bits[0] == 0x3800 && bits[1] == 0xbc00 && aclFloat16ToFloat(bits[3]) == 1000);
    RUN(aclnnCast, h, ACL_FLOAT, back);
    EXPECT(back.is({0.5f, -1, 2, 1000}));

    float one = 1;
    aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);
    uint64_t workspace_b = 0;
    aclOpExecutor *executor = nullptr;
    OK(aclnnInplaceAddGetWorkspaceSize(back, a, alpha, &workspace_b, &executor));
    OK(aclSetAclOpExecutorRepeatable(executor));
    for (int i = 0; i < 3; i++) {
        OK(aclnnInplaceAdd(nullptr, workspace_b, executor, stream));
    }
    OK(aclrtSynchronizeStream(stream));
    EXPECT(back.is({2, -4, 8, 4000}));
    OK(aclDestroyAclOpExecutor(executor));
    EXPECT(aclnnAddGetWorkspaceSize(nullptr, a, alpha, back, &workspace_b, &executor) != 0);
    Tensor wrong({5}, Floats(5));
    EXPECT(aclnnAddGetWorkspaceSize(a, wrong, alpha, back, &workspace_b, &executor) != 0);
    EXPECT(aclGetRecentErrMsg() != nullptr);
    OK(aclDestroyScalar(alpha));
    OK(aclDestroyTensor(h));
    OK(aclrtFree(half));
}
} // namespace

int main()
{
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    elementwise();
    reductions();
    random_numbers();
    halves_and_repeats();
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    puts("aclnn: all good");
    return 0;
}
