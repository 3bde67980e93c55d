/* SPDX-License-Identifier: Apache-2.0 */
/* Runners: what every operation does around its kernels, and one operation. */
#include "atb.h"

#include "transformer_kernels.h"

#include <unistd.h>

namespace atb
{

constexpr Status ERROR_INVALID_PARAM = 1;
constexpr Status ERROR_RT_FAIL = 14;
constexpr uint64_t BUFFER_ALIGN = 512;

static uint64_t Align(uint64_t size)
{
    return (size + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
}

Context::Context(aclrtStream stream) : stream_(stream), buffers_(npool_atb_create())
{
}

Context::~Context()
{
    npool_atb_destroy(buffers_);
}

aclrtStream Context::GetExecuteStream() const
{
    return stream_;
}

npool_atb *Context::Buffers() const
{
    return buffers_;
}

Runner::Runner(const std::string &operationName, uint64_t operationId) : name_(operationName), id_(operationId)
{
}

Runner::~Runner() = default;

/* Saves the tensors of a whole operation, in addition to those of its kernels. */
bool Runner::IsSaveTensor() const
{
    return Probe::IsExecuteCountInRange(executeCount_);
}

std::string Runner::GetOperationName() const
{
    return name_;
}

std::string Runner::GetSaveTensorDir() const
{
    int32_t device = 0;
    (void)aclrtGetDevice(&device);
    return std::to_string(device) + "_" + std::to_string(getpid()) + "/" + std::to_string(executeCount_) + "/" +
           std::to_string(id_) + "_" + name_;
}

aclrtStream Runner::GetExecuteStream(Context *context) const
{
    return context != nullptr ? context->GetExecuteStream() : nullptr;
}

uint64_t Runner::GetExecuteCount() const
{
    return executeCount_;
}

static Mki::Tensor ToMki(const Tensor &tensor)
{
    Mki::Tensor result;
    for (uint64_t i = 0; i < tensor.desc.shape.dimNum && i < MAX_DIM; i++) {
        result.desc.dims.push_back(tensor.desc.shape.dims[i]);
    }
    result.data = tensor.deviceData;
    result.dataSize = tensor.dataSize;
    return result;
}

static void SaveOperation(const RunnerVariantPack &pack, aclrtStream stream, const std::string &dir)
{
    auto param = std::make_unique<Mki::LaunchParam>();
    for (std::size_t i = 0; i < pack.inTensors.size(); i++) {
        param->AddInTensor(ToMki(pack.inTensors.at(i)));
    }
    for (std::size_t i = 0; i < pack.outTensors.size(); i++) {
        param->AddOutTensor(ToMki(pack.outTensors.at(i)));
    }
    StoreUtil::SaveLaunchParam(stream, *param, dir);
}

Status Runner::Execute(RunnerVariantPack &pack)
{
    if (pack.context == nullptr || pack.context->Buffers() == nullptr) {
        return ERROR_INVALID_PARAM;
    }
    npool_atb *buffers = pack.context->Buffers();
    if (npool_atb_begin_external(buffers, pack.workspaceBuffer,
                                 pack.workspaceBufferSize + pack.intermediateBufferSize) != ACL_SUCCESS) {
        return ERROR_INVALID_PARAM;
    }
    const bool save = IsSaveTensor();
    if (save && Probe::IsSaveTensorBefore()) {
        SaveOperation(pack, GetExecuteStream(pack.context), GetSaveTensorDir() + "/before");
    }
    Status status = ExecuteImpl(pack);
    if (save && Probe::IsSaveTensorAfter()) {
        SaveOperation(pack, GetExecuteStream(pack.context), GetSaveTensorDir() + "/after");
    }
    (void)npool_atb_end(buffers);
    executeCount_++;
    return status;
}

Status Runner::RunNode(RunnerVariantPack &pack, uint64_t nodeId, const Node &node, Mki::LaunchParam &param,
                       aclrtFuncHandle function, const void *args, std::size_t argsSize,
                       const npool_atb_region *regions, std::size_t regionCount)
{
    aclrtStream stream = GetExecuteStream(pack.context);
    const std::string dir = GetSaveTensorDir() + "/" + std::to_string(nodeId) + "_" + node.kernelName;
    const std::vector<int64_t> ids = {static_cast<int64_t>(id_), static_cast<int64_t>(nodeId)};
    const bool save = Probe::IsExecuteCountInRange(executeCount_) && Probe::IsTensorNeedSave(ids, node.kernelName) &&
                      Probe::IsSaveTensorInSpecificDir(dir);
    if (save && Probe::IsSaveTensorBefore()) {
        StoreUtil::SaveLaunchParam(stream, param, dir + "/before");
    }
    (void)npool_atb_kernel_begin(pack.context->Buffers(), regions, regionCount);
    aclError ret = aclrtLaunchKernel(function, 2, args, argsSize, stream);
    (void)npool_atb_kernel_end(pack.context->Buffers());
    if (save && Probe::IsSaveTensorAfter()) {
        StoreUtil::SaveLaunchParam(stream, param, dir + "/after");
    }
    return ret == ACL_SUCCESS ? 0 : ERROR_RT_FAIL;
}

/* ---- out = gelu(in0 * in1 + in2) */

static uint64_t ElementsOf(const Tensor &tensor)
{
    uint64_t count = 1;
    for (uint64_t i = 0; i < tensor.desc.shape.dimNum && i < MAX_DIM; i++) {
        count *= static_cast<uint64_t>(tensor.desc.shape.dims[i]);
    }
    return count;
}

namespace
{

class LinearGeluRunner : public Runner
{
  public:
    LinearGeluRunner(const std::string &kernelBinary, uint64_t operationId)
        : Runner("LinearGeluOperation", operationId), path_(kernelBinary)
    {
    }
    ~LinearGeluRunner() override
    {
        if (binary_ != nullptr) {
            (void)aclrtBinaryUnLoad(binary_);
        }
    }

  protected:
    Status ExecuteImpl(RunnerVariantPack &pack) override
    {
        if (pack.inTensors.size() != 3 || pack.outTensors.size() != 1 ||
            pack.intermediateBufferSize < LinearGeluIntermediateSize(pack) || !Load()) {
            return ERROR_INVALID_PARAM;
        }
        const Tensor &x = pack.inTensors.at(0), &weight = pack.inTensors.at(1), &bias = pack.inTensors.at(2);
        const Tensor &out = pack.outTensors.at(0);
        Tensor product = out, sum = out;
        product.deviceData = pack.intermediateBuffer;
        sum.deviceData = pack.intermediateBuffer + Align(out.dataSize);
        const uint64_t rows = static_cast<uint64_t>(x.desc.shape.dims[0]);
        const uint64_t depth = static_cast<uint64_t>(x.desc.shape.dims[1]);
        const uint64_t cols = static_cast<uint64_t>(weight.desc.shape.dims[1]);

        tk_matmul_args multiply = {};
        multiply.a = static_cast<const float *>(x.deviceData);
        multiply.b = static_cast<const float *>(weight.deviceData);
        multiply.c = static_cast<float *>(product.deviceData);
        multiply.m = rows;
        multiply.n = cols;
        multiply.k = depth;
        multiply.lda = static_cast<int64_t>(depth);
        multiply.ldb = multiply.ldc = static_cast<int64_t>(cols);
        multiply.batch = multiply.heads = 1;
        multiply.alpha = 1.0;
        const tk_bias_add_args add = {multiply.c, static_cast<const float *>(bias.deviceData),
                                      static_cast<float *>(sum.deviceData), rows, cols};
        const tk_gelu_args gelu = {add.y, static_cast<float *>(out.deviceData), ElementsOf(out)};

        Status status = Step(pack, 0, {x, weight}, product, &multiply, sizeof(multiply));
        if (status == 0) {
            status = Step(pack, 1, {product, bias}, sum, &add, sizeof(add));
        }
        if (status == 0) {
            status = Step(pack, 2, {sum}, out, &gelu, sizeof(gelu));
        }
        return status;
    }

  private:
    static constexpr std::size_t NODES = 3;

    bool Load()
    {
        if (binary_ == nullptr && aclrtBinaryLoadFromFile(path_.c_str(), nullptr, &binary_) != ACL_SUCCESS) {
            binary_ = nullptr;
            return false;
        }
        for (std::size_t i = 0; i < NODES; i++) {
            if (functions_[i] == nullptr &&
                aclrtBinaryGetFunction(binary_, nodes_[i].functionName.c_str(), &functions_[i]) != ACL_SUCCESS) {
                return false;
            }
        }
        return true;
    }

    Status Step(RunnerVariantPack &pack, std::size_t i, const std::vector<Tensor> &in, const Tensor &out,
                const void *args, std::size_t argsSize)
    {
        auto param = std::make_unique<Mki::LaunchParam>();
        std::vector<npool_atb_region> regions = {{pack.workspaceBuffer, pack.workspaceBufferSize}};
        for (const Tensor &tensor : in) {
            param->AddInTensor(ToMki(tensor));
            AddIntermediate(pack, tensor, regions);
        }
        param->AddOutTensor(ToMki(out));
        AddIntermediate(pack, out, regions);
        return RunNode(pack, i, nodes_[i], *param, functions_[i], args, argsSize, regions.data(), regions.size());
    }

    static void AddIntermediate(const RunnerVariantPack &pack, const Tensor &tensor,
                                std::vector<npool_atb_region> &regions)
    {
        const uint8_t *data = static_cast<const uint8_t *>(tensor.deviceData);
        if (data >= pack.intermediateBuffer && data < pack.intermediateBuffer + pack.intermediateBufferSize) {
            regions.push_back({tensor.deviceData, tensor.dataSize});
        }
    }

    std::string path_;
    aclrtBinHandle binary_ = nullptr;
    aclrtFuncHandle functions_[NODES] = {};
    const Node nodes_[NODES] = {
        {"MatMulF32Kernel", "matmul"}, {"BiasAddF32Kernel", "bias_add"}, {"GeluF32Kernel", "gelu"}};
};

} // namespace

std::unique_ptr<Runner> CreateLinearGeluRunner(const std::string &kernelBinary, uint64_t operationId)
{
    return std::make_unique<LinearGeluRunner>(kernelBinary, operationId);
}

uint64_t LinearGeluIntermediateSize(const RunnerVariantPack &pack)
{
    return pack.outTensors.size() == 1 ? 2 * Align(pack.outTensors.at(0).dataSize) : 0;
}

std::size_t GetVariantPackSize()
{
    return sizeof(RunnerVariantPack);
}

} // namespace atb
