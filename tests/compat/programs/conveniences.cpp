/* SPDX-License-Identifier: Apache-2.0 */
// The overloads and templates of acl/acl_rt_api.h.
#include "acl/acl_rt_api.h"
#include "check.h"

int32_t g_levels[4] = {1, 2, 3, 4}; // exported (-rdynamic): a variable shared by kernels and the host by name

int main()
{
    aclrtStream stream, other;
    aclrtEvent event;
    uint64_t actual = 0;
    OK(aclInit(nullptr));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateStream(&other, 0, ACL_STREAM_FAST_LAUNCH));
    OK(aclrtCreateEvent(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
    OK(aclrtSetOpExecuteTimeOut(uint64_t{1}, &actual));
    EXPECT(actual > 0);
    OK(aclrtSetOpExecuteTimeOut(0));

    float *device = nullptr, *pinned = nullptr, *managed = nullptr;
    double host[4] = {1, 2, 3, 4}, back[4] = {};
    OK(aclrtMalloc(&device, sizeof(host)));
    OK(aclrtFree(device));
    OK(aclrtMalloc(&device, sizeof(host), ACL_MEM_MALLOC_NORMAL_ONLY));
    OK(aclrtMallocHost(&pinned, sizeof(host)));
    OK(aclrtMemAllocManaged(&managed, sizeof(host)));
    OK(aclrtMemcpy(device, sizeof(host), host, sizeof(host), ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpyAsync(pinned, sizeof(host), device, sizeof(host), ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtStreamWaitEvent(other, event, 5));
    OK(aclrtMemcpy2dAsync(back, 8, device, 8, 8, 4, ACL_MEMCPY_DEVICE_TO_HOST, other));
    OK(aclrtSynchronizeEvent(event, 1000));
    OK(aclrtSynchronizeStream(other, 1000));
    OK(aclrtSynchronizeDevice(1000));
    EXPECT(memcmp(pinned, host, sizeof(host)) == 0 && memcmp(back, host, sizeof(host)) == 0);

    float *to[1] = {device};
    double *from[1] = {host};
    size_t sizes[1] = {sizeof(host)}, failed = 0;
    aclrtMemcpyBatchAttr down = {};
    down.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    down.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
    OK(aclrtMemcpyBatch(to, sizes, from, sizes, 1, down));
    OK(aclrtMemcpyBatch(to, sizes, from, sizes, 1, down, &failed));
    EXPECT(failed == SIZE_MAX);
    OK(aclrtMemcpyBatchAsync(to, sizes, from, sizes, 1, down, stream));
    OK(aclrtMemcpyBatchAsync(to, sizes, from, sizes, 1, down, &failed, stream));
    OK(aclrtSynchronizeStream(stream));

    aclrtPtrAttributes where;
    OK(aclrtPointerGetAttributes(device, &where));
    EXPECT(where.location.type == ACL_MEM_LOCATION_TYPE_DEVICE);
    float *seen = nullptr;
    OK(aclrtHostRegister(pinned, sizeof(host), ACL_HOST_REG_MAPPED));
    OK(aclrtHostGetDevicePointer(pinned, &seen, 0));
    EXPECT(seen != nullptr);
    OK(aclrtHostUnregister(pinned));

    void *address = nullptr;
    size_t size = 0;
    int32_t levels[4] = {};
    OK(aclrtGetSymbolAddress(g_levels, &address));
    OK(aclrtGetSymbolSize(g_levels, &size));
    EXPECT(address != nullptr && size == sizeof(g_levels));
    OK(aclrtMemcpyFromSymbol(levels, sizeof(levels), g_levels, sizeof(levels), 0, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT(levels[3] == 4);
    const int32_t nine = 9;
    OK(aclrtMemcpyToSymbolAsync(g_levels, &nine, sizeof(nine), 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemcpyFromSymbolAsync(levels, sizeof(levels), g_levels, sizeof(levels), 0, ACL_MEMCPY_DEVICE_TO_HOST,
                                  stream));
    OK(aclrtSynchronizeStream(stream));
    EXPECT(levels[1] == 9);

    OK(aclrtFree(device));
    OK(aclrtFree(managed));
    OK(aclrtFreeHost(pinned));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(stream));
    OK(aclrtDestroyStream(other));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    puts("conveniences: all good");
    return 0;
}
