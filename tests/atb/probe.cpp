/* SPDX-License-Identifier: Apache-2.0 */
/* The probe and the saving of tensors, as in ATB without a tool. */
#include "atb.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace atb
{

static bool SavingIsOn()
{
    const char *text = std::getenv("ATB_SAVE_TENSOR");
    return text != nullptr && std::strcmp(text, "1") == 0;
}

bool Probe::IsSaveTensorBefore()
{
    return SavingIsOn();
}

bool Probe::IsSaveTensorAfter()
{
    return SavingIsOn();
}

bool Probe::IsSaveTensorDesc()
{
    return std::getenv("ATB_SAVE_TENSOR_DESC") != nullptr;
}

bool Probe::IsExecuteCountInRange(const uint64_t)
{
    return SavingIsOn();
}

bool Probe::IsTensorNeedSave(const std::vector<int64_t> &, const std::string &)
{
    return SavingIsOn();
}

bool Probe::IsSaveTensorInSpecificDir(const std::string &)
{
    return true;
}

static void SaveDesc(const Mki::Tensor &tensor, const std::filesystem::path &file)
{
    if (std::FILE *out = std::fopen(file.c_str(), "w")) {
        std::fprintf(out, "dtype=%d\nformat=%d\ndims=", tensor.desc.dtype, tensor.desc.format);
        for (std::size_t i = 0; i < tensor.desc.dims.size(); i++) {
            std::fprintf(out, "%s%ld", i > 0 ? "," : "", static_cast<long>(tensor.desc.dims.at(i)));
        }
        std::fprintf(out, "\n");
        std::fclose(out);
    }
}

static void SaveTensor(const Mki::Tensor &tensor, const std::filesystem::path &file)
{
    if (Probe::IsSaveTensorDesc()) {
        SaveDesc(tensor, file);
        return;
    }
    std::vector<char> bytes(tensor.dataSize);
    if (aclrtMemcpy(bytes.data(), bytes.size(), tensor.data, bytes.size(), ACL_MEMCPY_DEVICE_TO_HOST) != ACL_SUCCESS) {
        return;
    }
    if (std::FILE *out = std::fopen(file.c_str(), "wb")) {
        std::fwrite(bytes.data(), 1, bytes.size(), out);
        std::fclose(out);
    }
}

void StoreUtil::SaveLaunchParam(aclrtStream stream, const Mki::LaunchParam &launchParam, const std::string &dirPath)
{
    const char *root = std::getenv("ATB_SAVE_TENSOR_PATH");
    std::filesystem::path folder = std::filesystem::path(root != nullptr ? root : "atb_temp/tensors") / dirPath;
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed || aclrtSynchronizeStream(stream) != ACL_SUCCESS) {
        return;
    }
    auto &param = const_cast<Mki::LaunchParam &>(launchParam); /* its accessors are not const */
    for (std::size_t i = 0; i < param.GetInTensors().size(); i++) {
        SaveTensor(param.GetInTensors().at(i), folder / ("intensor" + std::to_string(i) + ".bin"));
    }
    for (std::size_t i = 0; i < param.GetOutTensors().size(); i++) {
        SaveTensor(param.GetOutTensors().at(i), folder / ("outtensor" + std::to_string(i) + ".bin"));
    }
}

} // namespace atb
