/* SPDX-License-Identifier: Apache-2.0 */
/* A preloaded library that replaces ATB's probe and the saving, as a tool does. Writes lines to the file
 * $ATB_PRELOAD_LOG: `op NAME DIR stream=OK`, `end`, `save PATH INPUTS OUTPUTS`. Reads objects by offset, which
 * cross-checks the layouts. */
#include "atb.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace
{

#ifdef ATB_PACK_OLDER
constexpr std::size_t CONTEXT_AT = 13816;
#else
constexpr std::size_t CONTEXT_AT = 13832;
#endif

std::FILE *Log()
{
    static std::FILE *file = nullptr;
    if (file == nullptr) {
        const char *path = std::getenv("ATB_PRELOAD_LOG");
        file = path != nullptr ? std::fopen(path, "a") : nullptr;
        if (file == nullptr) {
            std::abort();
        }
        std::setvbuf(file, nullptr, _IOLBF, 0);
    }
    return file;
}

template <typename T> T ReadAt(const void *object, std::size_t offset)
{
    T value;
    std::memcpy(&value, static_cast<const char *>(object) + offset, sizeof(value));
    return value;
}

} // namespace

namespace atb
{

Status Runner::Execute(RunnerVariantPack &pack)
{
    using Function = Status (*)(Runner *, RunnerVariantPack *);
    auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "_ZN3atb6Runner7ExecuteERNS_17RunnerVariantPackE"));
    Context *context = ReadAt<Context *>(&pack, CONTEXT_AT);
    std::fprintf(Log(), "op %s %s inputs=%lu workspace=%lu stream=%d\n", GetOperationName().c_str(),
                 GetSaveTensorDir().c_str(), static_cast<unsigned long>(ReadAt<uint64_t>(&pack, 8)),
                 static_cast<unsigned long>(ReadAt<uint64_t>(&pack, 13792) + ReadAt<uint64_t>(&pack, 13808)),
                 GetExecuteStream(context) != nullptr);
    Status status = real(this, &pack);
    std::fprintf(Log(), "end\n");
    return status;
}

bool Runner::IsSaveTensor() const
{
    return false;
}

bool Probe::IsSaveTensorBefore()
{
    return true;
}

bool Probe::IsSaveTensorAfter()
{
    return true;
}

bool Probe::IsSaveTensorDesc()
{
    return true;
}

bool Probe::IsExecuteCountInRange(const uint64_t)
{
    return true;
}

bool Probe::IsTensorNeedSave(const std::vector<int64_t> &, const std::string &)
{
    return true;
}

void StoreUtil::SaveLaunchParam(aclrtStream, const Mki::LaunchParam &launchParam, const std::string &dirPath)
{
    auto &param = const_cast<Mki::LaunchParam &>(launchParam);
    std::fprintf(Log(), "save %s %lu %lu\n", dirPath.c_str(),
                 static_cast<unsigned long>(ReadAt<uint64_t>(&param.GetInTensors(), 22736)),
                 static_cast<unsigned long>(ReadAt<uint64_t>(&param.GetOutTensors(), 22736)));
}

} // namespace atb
