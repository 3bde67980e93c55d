/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an operation of the test ATB a few times and checks its result on the host.
 * usage: atb_run KERNEL_BINARY [TIMES] */
#include "atb.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace
{

constexpr int64_t ROWS = 24, DEPTH = 40, COLS = 56;
constexpr uint64_t WORKSPACE = 4096;

bool Check(aclError ret, const char *what)
{
    if (ret != ACL_SUCCESS) {
        const char *why = aclGetRecentErrMsg();
        std::fprintf(stderr, "atb_run: %s failed: %d %s\n", what, ret, why != nullptr ? why : "");
    }
    return ret == ACL_SUCCESS;
}

atb::Tensor MakeTensor(std::vector<int64_t> dims, const std::vector<float> *values)
{
    atb::Tensor tensor = {};
    tensor.desc.dtype = ACL_FLOAT;
    tensor.desc.format = ACL_FORMAT_ND;
    tensor.desc.shape.dimNum = dims.size();
    tensor.dataSize = sizeof(float);
    for (std::size_t i = 0; i < dims.size(); i++) {
        tensor.desc.shape.dims[i] = dims[i];
        tensor.dataSize *= static_cast<uint64_t>(dims[i]);
    }
    if (!Check(aclrtMalloc(&tensor.deviceData, tensor.dataSize, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc")) {
        std::exit(1);
    }
    if (values != nullptr) {
        Check(
            aclrtMemcpy(tensor.deviceData, tensor.dataSize, values->data(), tensor.dataSize, ACL_MEMCPY_HOST_TO_DEVICE),
            "aclrtMemcpy");
    }
    return tensor;
}

std::vector<float> Values(int64_t count, unsigned seed)
{
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float &value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 8) / 16777216.0f - 0.5f;
    }
    return values;
}

double LargestError(const std::vector<float> &x, const std::vector<float> &w, const std::vector<float> &b,
                    const std::vector<float> &out)
{
    double worst = 0;
    for (int64_t r = 0; r < ROWS; r++) {
        for (int64_t c = 0; c < COLS; c++) {
            double v = b[c];
            for (int64_t k = 0; k < DEPTH; k++) {
                v += static_cast<double>(x[r * DEPTH + k]) * w[k * COLS + c];
            }
            v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
            worst = std::fmax(worst, std::fabs(v - out[r * COLS + c]));
        }
    }
    return worst;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: atb_run KERNEL_BINARY [TIMES]\n");
        return 2;
    }
    const int times = argc > 2 ? std::atoi(argv[2]) : 1;
    aclrtStream stream = nullptr;
    if (!Check(aclInit(nullptr), "aclInit") || !Check(aclrtSetDevice(0), "aclrtSetDevice") ||
        !Check(aclrtCreateStream(&stream), "aclrtCreateStream")) {
        return 1;
    }
    const std::vector<float> x = Values(ROWS * DEPTH, 1), w = Values(DEPTH * COLS, 2), b = Values(COLS, 3);
    std::vector<float> out(ROWS * COLS);
    int status = 0;
    {
        atb::Context context(stream);
        auto runner = atb::CreateLinearGeluRunner(argv[1], 0);
        auto pack = std::make_unique<atb::RunnerVariantPack>();
        pack->inTensors.push_back(MakeTensor({ROWS, DEPTH}, &x));
        pack->inTensors.push_back(MakeTensor({DEPTH, COLS}, &w));
        pack->inTensors.push_back(MakeTensor({COLS}, &b));
        pack->outTensors.push_back(MakeTensor({ROWS, COLS}, nullptr));
        pack->context = &context;
        pack->workspaceBufferSize = WORKSPACE;
        pack->intermediateBufferSize = atb::LinearGeluIntermediateSize(*pack);
        void *buffer = nullptr;
        if (!Check(aclrtMalloc(&buffer, WORKSPACE + pack->intermediateBufferSize, ACL_MEM_MALLOC_HUGE_FIRST),
                   "workspace")) {
            return 1;
        }
        pack->workspaceBuffer = static_cast<uint8_t *>(buffer);
        pack->intermediateBuffer = pack->workspaceBuffer + WORKSPACE;
        for (int i = 0; i < times && status == 0; i++) {
            status = runner->Execute(*pack);
        }
        if (status == 0 && Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream")) {
            const atb::Tensor &result = pack->outTensors.at(0);
            Check(
                aclrtMemcpy(out.data(), result.dataSize, result.deviceData, result.dataSize, ACL_MEMCPY_DEVICE_TO_HOST),
                "aclrtMemcpy");
        }
        for (std::size_t i = 0; i < pack->inTensors.size(); i++) {
            aclrtFree(pack->inTensors.at(i).deviceData);
        }
        aclrtFree(pack->outTensors.at(0).deviceData);
        aclrtFree(buffer);
        std::printf("pack %zu, %s executed %lu times, reporting %d\n", atb::GetVariantPackSize(),
                    runner->GetOperationName().c_str(), static_cast<unsigned long>(runner->GetExecuteCount()),
                    npool_atb_reporting(context.Buffers()));
    }
    const double error = LargestError(x, w, b, out);
    std::printf("largest error %g\n", error);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    aclFinalize();
    return status == 0 && error < 1e-4 ? 0 : 1;
}
