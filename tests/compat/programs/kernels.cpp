/* SPDX-License-Identifier: Apache-2.0 */
// A kernel from a binary, with every loading and every launching function. argv[1]: the binary.
#include "check.h"
#include "runtime/rt.h"

#include <fstream>
#include <iterator>
#include <vector>

namespace
{
constexpr uint32_t kCount = 1000;
constexpr uint32_t kBlocks = 8;

struct Axpy {
    void *y, *x;
    struct How {
        float a;
        uint32_t n;
    } how;
};

class Vectors
{
  public:
    Vectors()
    {
        OK(aclrtMalloc(&x, kCount * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
        OK(aclrtMalloc(&y, kCount * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
        std::vector<float> host(kCount);
        for (uint32_t i = 0; i < kCount; i++) {
            host[i] = static_cast<float>(i);
        }
        OK(aclrtMemcpy(x, kCount * sizeof(float), host.data(), kCount * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE));
        clear();
    }
    ~Vectors()
    {
        OK(aclrtFree(x));
        OK(aclrtFree(y));
    }
    void clear()
    {
        OK(aclrtMemset(y, kCount * sizeof(float), 0, kCount * sizeof(float)));
    }
    // y must be factor * x; it is 0 afterwards.
    void expect(aclrtStream stream, float factor)
    {
        OK(aclrtSynchronizeStream(stream));
        std::vector<float> host(kCount);
        OK(aclrtMemcpy(host.data(), kCount * sizeof(float), y, kCount * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST));
        for (uint32_t i = 0; i < kCount; i++) {
            EXPECT(host[i] == factor * static_cast<float>(i));
        }
        clear();
    }
    Axpy args(float a) const
    {
        return Axpy{y, x, {a, kCount}};
    }
    void *x = nullptr, *y = nullptr;
};

void launches(aclrtBinHandle binary, aclrtStream stream)
{
    Vectors v;
    aclrtFuncHandle axpy = nullptr, scale = nullptr;
    OK(aclrtBinaryGetFunction(binary, "axpy", &axpy));
    OK(aclrtBinaryGetFunction(binary, "scale", &scale));

    // Arguments in device memory.
    Axpy args = v.args(2);
    void *device_args;
    OK(aclrtMalloc(&device_args, sizeof(args), ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemcpy(device_args, sizeof(args), &args, sizeof(args), ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtLaunchKernel(axpy, kBlocks, device_args, sizeof(args), stream));
    v.expect(stream, 2);
    OK(aclrtLaunchKernelV2(axpy, kBlocks, device_args, sizeof(args), nullptr, stream));
    v.expect(stream, 2);
    OK(aclrtFree(device_args));

    // In host memory, reusable when the call returns.
    args = v.args(3);
    OK(aclrtLaunchKernelWithHostArgs(axpy, kBlocks, stream, nullptr, &args, sizeof(args), nullptr, 0));
    args = {};
    v.expect(stream, 3);

    // One by one.
    Axpy a = v.args(4);
    void *array[] = {&a.y, &a.x, &a.how};
    OK(aclrtLaunchKernelWithArgsArray(axpy, kBlocks, stream, nullptr, array));
    v.expect(stream, 4);

    // An argument list, some of whose arguments are copied host data.
    aclrtArgsHandle list = nullptr;
    aclrtParamHandle param = nullptr, a_param = nullptr, n_param = nullptr;
    void *a_room = nullptr, *n_room = nullptr;
    const float two = 2;
    OK(aclrtLaunchKernelWithArgsArray(axpy, kBlocks, stream, nullptr, array));
    OK(aclrtKernelArgsInit(scale, &list));
    OK(aclrtKernelArgsAppend(list, &v.y, sizeof(v.y), &param));
    OK(aclrtKernelArgsAppendPlaceHolder(list, &a_param));
    OK(aclrtKernelArgsAppendPlaceHolder(list, &n_param));
    OK(aclrtKernelArgsGetPlaceHolderBuffer(list, a_param, sizeof(two), &a_room));
    OK(aclrtKernelArgsGetPlaceHolderBuffer(list, n_param, sizeof(kCount), &n_room));
    memcpy(a_room, &two, sizeof(two));
    memcpy(n_room, &kCount, sizeof(kCount));
    OK(aclrtKernelArgsFinalize(list));
    OK(aclrtLaunchKernelWithConfig(scale, kBlocks, stream, nullptr, list, nullptr));
    v.expect(stream, 8);

    // A list in the program's own memory, changed between launches.
    size_t handle_b = 0, data_b = 0;
    OK(aclrtKernelArgsGetHandleMemSize(axpy, &handle_b));
    OK(aclrtKernelArgsGetMemSize(axpy, 32, &data_b));
    std::vector<char> handle(handle_b), data(data_b);
    OK(aclrtKernelArgsInitByUserMem(axpy, handle.data(), data.data(), data_b));
    OK(aclrtKernelArgsAppend(handle.data(), &v.y, sizeof(v.y), &param));
    OK(aclrtKernelArgsAppend(handle.data(), &v.x, sizeof(v.x), &param));
    Axpy::How how = {5, kCount};
    OK(aclrtKernelArgsAppend(handle.data(), &how, sizeof(how), &param));
    OK(aclrtKernelArgsFinalize(handle.data()));
    OK(aclrtLaunchKernelWithConfig(axpy, kBlocks, stream, nullptr, handle.data(), nullptr));
    v.expect(stream, 5);
    how.a = 6;
    OK(aclrtKernelArgsParaUpdate(handle.data(), param, &how, sizeof(how)));
    OK(aclrtKernelArgsFinalize(handle.data()));
    OK(aclrtLaunchKernelWithConfig(axpy, 1, stream, nullptr, handle.data(), nullptr));
    v.expect(stream, 6);

    FAILS(107000, aclrtLaunchKernelWithHostArgs(axpy, 0, stream, nullptr, &args, sizeof(args), nullptr, 0));
    FAILS(107000, aclrtLaunchKernelWithHostArgs(&args, 1, stream, nullptr, &args, sizeof(args), nullptr, 0));
}

void names(aclrtBinHandle binary, aclrtStream stream)
{
    aclrtFuncHandle by_entry = nullptr, missing = nullptr;
    char name[64] = "";
    OK(aclrtBinaryGetFunctionByEntry(binary, 7, &by_entry));
    OK(aclrtGetFunctionName(by_entry, sizeof(name), name));
    EXPECT(strcmp(name, "sum_table_7") == 0);
    FAILS(507027, aclrtBinaryGetFunction(binary, "no_such_kernel", &missing));
    void *where = nullptr, *out = nullptr;
    size_t size = 0;
    int32_t value = 100, sum = 0;
    OK(aclrtBinaryGetGlobal(binary, "table", &where, &size));
    EXPECT(size == 16);
    OK(aclrtMemcpy(where, size, &value, sizeof(value), ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMalloc(&out, sizeof(sum), ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtLaunchKernelWithHostArgs(by_entry, 1, stream, nullptr, &out, sizeof(out), nullptr, 0));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(&sum, sizeof(sum), out, sizeof(sum), ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT(sum == 109);
    value = 1;
    OK(aclrtMemcpy(where, size, &value, sizeof(value), ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtFree(out));
    OK(aclrtBinaryGetDevAddress(binary, &where, &size));
    EXPECT(where != nullptr && size > 0);
}

void stub()
{
}

// What a compiler generates for kernel<<<blocks, stream>>>(...): registration at start, launches by the stub's
// address.
void registered(const std::vector<char> &bytes, aclrtStream stream)
{
    rtDevBinary_t image = {};
    image.magic = RT_DEV_BINARY_MAGIC_ELF_AIVEC;
    image.data = bytes.data();
    image.length = bytes.size();
    void *handle = nullptr;
    OK(rtDevBinaryRegister(&image, &handle));
    OK(rtFunctionRegister(handle, reinterpret_cast<void *>(stub), "axpy", "axpy", 0));
    Vectors v;
    Axpy args = v.args(7);
    OK(rtKernelLaunch(reinterpret_cast<void *>(stub), kBlocks, &args, sizeof(args), nullptr, stream));
    v.expect(stream, 7);
    aclrtFuncHandle function = nullptr;
    OK(aclrtGetFuncBySymbol(reinterpret_cast<void *>(stub), &function));
    OK(aclrtLaunchKernelWithHostArgs(function, kBlocks, stream, nullptr, &args, sizeof(args), nullptr, 0));
    v.expect(stream, 7);
    OK(rtDevBinaryUnRegister(handle));
}
} // namespace

int main(int, char **argv)
{
    std::ifstream file(argv[1], std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    aclrtStream stream = nullptr;
    aclrtBinHandle binary = nullptr;
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtBinaryLoadFromFile(argv[1], nullptr, &binary));
    launches(binary, stream);
    names(binary, stream);
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtBinaryLoadFromData(bytes.data(), bytes.size(), nullptr, &binary));
    launches(binary, stream);
    OK(aclrtBinaryUnLoad(binary));
    aclrtBinary image = aclrtCreateBinary(bytes.data(), bytes.size());
    EXPECT(image != nullptr);
    OK(aclrtBinaryLoad(image, &binary));
    launches(binary, stream);
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtDestroyBinary(image));
    registered(bytes, stream);
    EXPECT(aclrtBinaryLoadFromFile("no/such/file.o", nullptr, &binary) != ACL_SUCCESS);
    EXPECT(aclrtBinaryLoadFromData("garbage", 7, nullptr, &binary) != ACL_SUCCESS);
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    std::puts("kernels: all good");
    return 0;
}
