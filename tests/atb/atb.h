/* SPDX-License-Identifier: Apache-2.0 */
/* A test library with ATB's interface: the names that tools interpose or call, with their mangling in both ABIs of
 * std::string, and the object layouts of both known generations (ATB_PACK_OLDER selects the older one).
 *
 * An operation is a runner; executing it launches real kernels on the context's stream. Around each kernel the runner
 * queries the probe whether to save tensors, and has them saved: the queries and the saving are ordinary calls to
 * exported functions, so that a preloaded library can replace them. */
#ifndef TESTS_ATB_ATB_H
#define TESTS_ATB_ATB_H

#include "mki.h"

#include "acl/acl.h"
#include "npupool/npupool.h"

#include <memory>
#include <string>

#define ATB_API __attribute__((visibility("default")))

namespace atb
{

using Status = int;

constexpr std::size_t MAX_DIM = 8;
constexpr std::size_t DEFAULT_SVECTOR_SIZE = 64;

struct Dims {
    int64_t dims[MAX_DIM];
    uint64_t dimNum;
};

struct TensorDesc {
    aclDataType dtype;
    aclFormat format;
    Dims shape;
};

struct Tensor {
    TensorDesc desc;
    void *deviceData;
    void *hostData;
    uint64_t dataSize;
};

/* Elements inline up to 64, then on the heap. */
template <typename T> class SVector
{
  public:
    SVector() = default;
    SVector(const SVector &) = delete;
    SVector &operator=(const SVector &) = delete;
    ~SVector()
    {
        delete[] heap_;
    }
    std::size_t size() const
    {
        return size_;
    }
    void reserve(std::size_t count)
    {
        if (count > capacity_) {
            T *more = new T[count];
            for (std::size_t i = 0; i < size_; i++) {
                more[i] = at(i);
            }
            delete[] heap_;
            heap_ = more;
            capacity_ = count;
        }
    }
    void push_back(const T &value)
    {
        if (size_ == capacity_) {
            reserve(2 * capacity_);
        }
        size_++;
        at(size_ - 1) = value;
    }
    T &at(std::size_t i)
    {
        return heap_ != nullptr ? heap_[i] : storage_[i];
    }
    const T &at(std::size_t i) const
    {
        return heap_ != nullptr ? heap_[i] : storage_[i];
    }

  private:
    std::size_t capacity_ = DEFAULT_SVECTOR_SIZE;
    std::size_t size_ = 0;
    T storage_[DEFAULT_SVECTOR_SIZE + 1] = {};
    T *heap_ = nullptr;
};

class Context;

struct RunnerVariantPack {
    SVector<Tensor> inTensors;
    SVector<Tensor> outTensors;
    SVector<bool> isInTensorCanFree;
    SVector<bool> isOutTensorNeedMalloc;
    uint8_t *hostTilingBuffer = nullptr;
    uint8_t *tilingBuffer = nullptr;
    uint64_t tilingBufferSize = 0;
    uint8_t *workspaceBuffer = nullptr;
    uint64_t workspaceBufferSize = 0;
    uint8_t *intermediateBuffer = nullptr;
    uint64_t intermediateBufferSize = 0;
#ifndef ATB_PACK_OLDER
    uint8_t *argsDeviceBuffer = nullptr;
    uint8_t *argsHostBuffer = nullptr;
#endif
    Context *context = nullptr;
#ifndef ATB_PACK_OLDER
    void *mstxMemRegister = nullptr;
#endif
};

static_assert(sizeof(Tensor) == 104 && offsetof(Tensor, dataSize) == 96, "ATB tensor");
static_assert(sizeof(SVector<Tensor>) == 6784, "list of ATB tensors");
static_assert(sizeof(SVector<bool>) == 96, "list of flags");
static_assert(offsetof(RunnerVariantPack, outTensors) == 6784 &&
                  offsetof(RunnerVariantPack, hostTilingBuffer) == 13760 &&
                  offsetof(RunnerVariantPack, workspaceBuffer) == 13784 &&
                  offsetof(RunnerVariantPack, intermediateBufferSize) == 13808,
              "common part of the pack");
#ifdef ATB_PACK_OLDER
static_assert(sizeof(RunnerVariantPack) == 13824 && offsetof(RunnerVariantPack, context) == 13816, "older pack");
#else
static_assert(sizeof(RunnerVariantPack) == 13848 && offsetof(RunnerVariantPack, context) == 13832, "current pack");
#endif

/* What an execution runs in: a stream, and the reports of its memory. */
class ATB_API Context
{
  public:
    explicit Context(aclrtStream stream);
    ~Context();
    aclrtStream GetExecuteStream() const;
    npool_atb *Buffers() const;

  private:
    aclrtStream stream_;
    npool_atb *buffers_;
};

/* One kernel of an operation; the runner determines which tensors it reads and writes. */
struct Node {
    std::string kernelName;   /* as ATB calls it */
    std::string functionName; /* in the operator binary */
};

class ATB_API Runner
{
  public:
    Runner(const std::string &operationName, uint64_t operationId);
    virtual ~Runner();

    Status Execute(RunnerVariantPack &pack);
    bool IsSaveTensor() const;
    std::string GetOperationName() const;
    /* <device>_<pid>/<execution>/<operation id>_<operation name> */
    std::string GetSaveTensorDir() const;
    aclrtStream GetExecuteStream(Context *context) const;
    uint64_t GetExecuteCount() const;

  protected:
    virtual Status ExecuteImpl(RunnerVariantPack &pack) = 0;
    /* Runs one kernel with everything around it: probe, saving, reports. */
    Status RunNode(RunnerVariantPack &pack, uint64_t nodeId, const Node &node, Mki::LaunchParam &param,
                   aclrtFuncHandle function, const void *args, std::size_t argsSize, const npool_atb_region *regions,
                   std::size_t regionCount);

  private:
    std::string name_;
    uint64_t id_;
    uint64_t executeCount_ = 0;
};

/* Controlled by the environment: ATB_SAVE_TENSOR=1 saves everything, ATB_SAVE_TENSOR_DESC only descriptions. */
class ATB_API Probe
{
  public:
    static bool IsSaveTensorBefore();
    static bool IsSaveTensorAfter();
    static bool IsSaveTensorDesc();
    static bool IsExecuteCountInRange(const uint64_t executeCount);
    static bool IsTensorNeedSave(const std::vector<int64_t> &ids, const std::string &opType);
    static bool IsSaveTensorInSpecificDir(const std::string &dir);
};

class ATB_API StoreUtil
{
  public:
    /* Writes the tensors to $ATB_SAVE_TENSOR_PATH (default atb_temp/tensors), as raw bytes. */
    static void SaveLaunchParam(aclrtStream stream, const Mki::LaunchParam &launchParam, const std::string &dirPath);
};

/* out = gelu(in0 * in1 + in2): three kernels, two intermediate tensors. */
ATB_API std::unique_ptr<Runner> CreateLinearGeluRunner(const std::string &kernelBinary, uint64_t operationId);
/* Bytes that the runner needs for intermediates of this pack. */
ATB_API uint64_t LinearGeluIntermediateSize(const RunnerVariantPack &pack);
ATB_API std::size_t GetVariantPackSize();

} // namespace atb
#endif
