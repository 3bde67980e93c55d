/* SPDX-License-Identifier: Apache-2.0 */
/* Mki as far as ATB exposes it: tensors, and the parameters of a kernel launch. The layouts are those that tools
 * compiled against the real library expect. */
#ifndef TESTS_ATB_MKI_H
#define TESTS_ATB_MKI_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace Mki
{

constexpr std::size_t MAX_SVECTOR_SIZE = 48;

/* Elements inline; one more than the largest number of elements. */
template <typename T> class SVector
{
  public:
    std::size_t size() const
    {
        return size_;
    }
    bool push_back(const T &value)
    {
        if (size_ >= MAX_SVECTOR_SIZE) {
            return false;
        }
        storage_[size_++] = value;
        return true;
    }
    T &at(std::size_t i)
    {
        return storage_[i];
    }
    const T &at(std::size_t i) const
    {
        return storage_[i];
    }

  private:
    T storage_[MAX_SVECTOR_SIZE + 1] = {};
    std::size_t size_ = 0;
};

enum TensorDType : int { TENSOR_DTYPE_FLOAT = 0 };
enum TensorFormat : int { TENSOR_FORMAT_ND = 2 };

struct TensorDesc {
    TensorDType dtype = TENSOR_DTYPE_FLOAT;
    TensorFormat format = TENSOR_FORMAT_ND;
    SVector<int64_t> dims;
    std::vector<int64_t> strides;
    int64_t offset = 0;
};

struct Tensor {
    TensorDesc desc;
    void *data = nullptr;
    std::size_t dataSize = 0;
    void *hostData = nullptr;
};

static_assert(sizeof(SVector<int64_t>) == 400, "dimensions of a Mki tensor");
static_assert(sizeof(Tensor) == 464 && offsetof(Tensor, data) == 440, "Mki tensor");
static_assert(sizeof(SVector<Tensor>) == 22744, "list of Mki tensors");

class __attribute__((visibility("default"))) LaunchParam
{
  public:
    SVector<Tensor> &GetInTensors();
    SVector<Tensor> &GetOutTensors();
    void AddInTensor(const Tensor &tensor);
    void AddOutTensor(const Tensor &tensor);

  private:
    SVector<Tensor> inTensors_;
    SVector<Tensor> outTensors_;
};

} // namespace Mki
#endif
