/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of memory, and every copy and fill function. */
#include "check.h"

#define BYTES ((size_t)1 << 20)

static unsigned char host_a[BYTES], host_b[BYTES];

static void expect_bytes(const void *device, int value, size_t count)
{
    memset(host_b, ~value, count);
    OK(aclrtMemcpy(host_b, count, device, count, ACL_MEMCPY_DEVICE_TO_HOST));
    for (size_t i = 0; i < count; i++) {
        EXPECT(host_b[i] == (unsigned char)value);
    }
}

static void allocations(void)
{
    static const aclrtMemMallocPolicy policies[] = {
        ACL_MEM_MALLOC_HUGE_FIRST,     ACL_MEM_MALLOC_HUGE_ONLY,       ACL_MEM_MALLOC_NORMAL_ONLY,
        ACL_MEM_MALLOC_HUGE_FIRST_P2P, ACL_MEM_MALLOC_NORMAL_ONLY_P2P,
    };
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        void *p = NULL;
        OK(aclrtMalloc(&p, BYTES, policies[i]));
        OK(aclrtMemset(p, BYTES, 0x5a, BYTES));
        expect_bytes(p, 0x5a, BYTES);
        aclrtPtrAttributes where;
        OK(aclrtPointerGetAttributes((char *)p + BYTES - 1, &where));
        EXPECT(where.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && where.location.id == 0);
        OK(aclrtFree(p));
    }
    aclrtMallocAttribute attribute = {.attr = ACL_RT_MEM_ATTR_MODULE_ID, .value = {.moduleId = 33}};
    aclrtMallocConfig config = {&attribute, 1};
    void *pinned, *configured, *small, *cached, *both[2];
    OK(aclrtMallocHostWithCfg(&pinned, BYTES, &config));
    OK(aclrtMallocWithCfg(&configured, BYTES, ACL_MEM_MALLOC_NORMAL_ONLY, &config));
    OK(aclrtMallocAlign32(&small, 37, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocCached(&cached, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT((size_t)small % 32 == 0);
    uint32_t all = 0;
    both[0] = configured;
    both[1] = cached;
    OK(aclrtCheckMemType(both, 2, ACL_RT_MEM_TYPE_DEV, &all, 0));
    EXPECT(all == 1);
    both[1] = pinned;
    OK(aclrtCheckMemType(both, 2, ACL_RT_MEM_TYPE_DEV, &all, 0));
    EXPECT(all == 0);
    OK(aclrtMemFlush(cached, BYTES));
    OK(aclrtMemInvalidate(cached, BYTES));
    OK(aclrtFreeHostWithDevSync(pinned));
    OK(aclrtFreeWithDevSync(configured));
    OK(aclrtFree(small));
    OK(aclrtFree(cached));
    FAILS(107000, aclrtFree(cached));
    FAILS(107000, aclrtFree(host_a));
}

static void running_out(void)
{
    size_t free_before = 0, free_after = 0, total = 0;
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
    EXPECT(free_before <= total);
    void *p = NULL, *half = NULL;
    FAILS(207001, aclrtMalloc(&p, total * 2, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&half, free_before / 2, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total));
    EXPECT(free_before - free_after >= free_before / 2);
    FAILS(207001, aclrtMalloc(&p, free_after + (4 << 20), ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtFree(half));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total));
    EXPECT(free_after == free_before);
    FAILS(100000, aclrtMalloc(NULL, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    FAILS(100000, aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST));
}

static void copies(aclrtStream stream)
{
    void *a, *b, *pinned;
    OK(aclrtMalloc(&a, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&b, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost(&pinned, BYTES));
    memset(host_a, 7, BYTES);
    OK(aclrtMemcpy(pinned, BYTES, host_a, BYTES, ACL_MEMCPY_HOST_TO_HOST));
    OK(aclrtMemcpy(a, BYTES, pinned, BYTES, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(b, BYTES, a, BYTES, ACL_MEMCPY_DEVICE_TO_DEVICE));
    expect_bytes(b, 7, BYTES);
    memset(pinned, 8, BYTES);
    OK(aclrtMemcpyAsync(a, BYTES, pinned, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtMemcpyAsync(b, BYTES, a, BYTES, ACL_MEMCPY_DEFAULT, stream));
    OK(aclrtMemcpyAsync(host_b, BYTES, b, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtSynchronizeStream(stream));
    EXPECT(memcmp(host_b, pinned, BYTES) == 0);

    /* 16 rows of 100 bytes with a pitch of 512, there and back. */
    for (int i = 0; i < 1600; i++) {
        host_a[i] = (unsigned char)(i * 3);
    }
    OK(aclrtMemset(a, BYTES, 0, BYTES));
    OK(aclrtMemcpy2d(a, 512, host_a, 100, 100, 16, ACL_MEMCPY_HOST_TO_DEVICE));
    memset(host_b, 0, 1600);
    OK(aclrtMemcpy2dAsync(host_b, 100, a, 512, 100, 16, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    OK(aclrtSynchronizeStream(stream));
    EXPECT(memcmp(host_a, host_b, 1600) == 0);
    FAILS(107000, aclrtMemcpy2d(a, 50, host_a, 100, 100, 16, ACL_MEMCPY_HOST_TO_DEVICE));

    size_t descriptor_b = 0;
    void *descriptor;
    OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &descriptor_b));
    OK(aclrtMalloc(&descriptor, descriptor_b, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(a, BYTES, 9, BYTES));
    OK(aclrtSetMemcpyDesc(descriptor, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, a, b, BYTES, NULL));
    OK(aclrtMemcpyAsyncWithDesc(descriptor, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));
    expect_bytes(b, 9, BYTES);
    OK(aclrtFree(descriptor));

    OK(aclrtMemsetAsync(a, BYTES, 1, BYTES, stream));
    OK(aclrtMemsetD32Async(b, BYTES, 0x02020202, BYTES / 4, stream));
    OK(aclrtSynchronizeStream(stream));
    expect_bytes(a, 1, BYTES);
    expect_bytes(b, 2, BYTES);
    float sum[4] = {1, 2, 3, 4}, other[4] = {10, 20, 30, 40};
    OK(aclrtMemcpy(a, sizeof(sum), sum, sizeof(sum), ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(b, sizeof(other), other, sizeof(other), ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtReduceAsync(a, b, sizeof(sum), ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream, NULL));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(sum, sizeof(sum), a, sizeof(sum), ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT(sum[0] == 11 && sum[3] == 44);

    OK(aclrtMemcpy(a, BYTES, NULL, 0, ACL_MEMCPY_HOST_TO_DEVICE)); /* nothing to copy, nothing to check */
    FAILS(100000, aclrtMemcpy(a, BYTES, NULL, 1, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(107000, aclrtMemcpy(a, 10, host_a, 11, ACL_MEMCPY_HOST_TO_DEVICE));
    FAILS(107000, aclrtMemset(a, 10, 0, 11));
    OK(aclrtFree(a));
    OK(aclrtFree(b));
    OK(aclrtFreeHost(pinned));
}

static void batches(aclrtStream stream)
{
    void *device[3], *in[3], *out[3];
    size_t sizes[3] = {16, 28, 44}, first = 0, failed = 0;
    for (int i = 0; i < 3; i++) {
        OK(aclrtMalloc(&device[i], sizes[i], ACL_MEM_MALLOC_HUGE_FIRST));
        in[i] = host_a + 100 * i;
        out[i] = host_b + 100 * i;
    }
    memset(host_a, 3, 300);
    aclrtMemcpyBatchAttr down = {.dstLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE},
                                 .srcLoc = {0, ACL_MEM_LOCATION_TYPE_HOST}};
    aclrtMemcpyBatchAttr up = {.dstLoc = {0, ACL_MEM_LOCATION_TYPE_HOST}, .srcLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE}};
    OK(aclrtMemcpyBatch(device, sizes, in, sizes, 3, &down, &first, 1, &failed));
    EXPECT(failed == SIZE_MAX);
    OK(aclrtMemcpyBatchAsync(out, sizes, device, sizes, 3, &up, &first, 1, &failed, stream));
    OK(aclrtSynchronizeStream(stream));
    for (int i = 0; i < 3; i++) {
        EXPECT(memcmp(in[i], out[i], sizes[i]) == 0);
        OK(aclrtFree(device[i]));
    }
}

static void host_memory_for_devices(void)
{
    void *seen = NULL, *pinned;
    OK(aclrtHostRegister(host_a, BYTES, ACL_HOST_REGISTER_MAPPED, &seen));
    EXPECT(seen != NULL);
    OK(aclrtHostUnregister(host_a));
    FAILS(107000, aclrtHostUnregister(host_a));
    OK(aclrtMallocHost(&pinned, BYTES));
    OK(aclrtHostRegisterV2(pinned, BYTES, ACL_HOST_REG_MAPPED));
    OK(aclrtHostGetDevicePointer(pinned, &seen, 0));
    memset(pinned, 4, BYTES);
    expect_bytes(seen, 4, BYTES);
    OK(aclrtHostUnregister(pinned));
    OK(aclrtFreeHost(pinned));
    void *managed;
    OK(aclrtMemAllocManaged(&managed, BYTES, ACL_RT_MEM_ATTACH_GLOBAL));
    memset(managed, 6, BYTES); /* host and device */
    expect_bytes(managed, 6, BYTES);
    OK(aclrtFree(managed));
}

static void pools(aclrtStream stream)
{
    aclrtMemPool pool;
    aclrtMemPoolProps props = {.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED,
                               .handleType = ACL_MEM_HANDLE_TYPE_NONE,
                               .location = {0, ACL_MEM_LOCATION_TYPE_DEVICE},
                               .maxSize = 64 << 20};
    uint64_t threshold = 64 << 20, used = 0;
    void *p, *again;
    OK(aclrtMemPoolCreate(&pool, &props));
    OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
    OK(aclrtMemPoolMallocAsync(&p, BYTES, pool, stream));
    OK(aclrtMemsetAsync(p, BYTES, 5, BYTES, stream));
    OK(aclrtSynchronizeStream(stream));
    expect_bytes(p, 5, BYTES);
    OK(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &used));
    EXPECT(used >= BYTES);
    OK(aclrtMemPoolFreeAsync(p, stream));
    OK(aclrtMemPoolMallocAsync(&again, BYTES, pool, stream));
    EXPECT(again == p); /* freed in stream order: later work on it can reuse the memory at once */
    OK(aclrtMemPoolFreeAsync(again, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemPoolTrimTo(pool, 0));
    OK(aclrtMemPoolDestroy(pool));
}

int main(void)
{
    aclrtStream stream;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    allocations();
    running_out();
    copies(stream);
    batches(stream);
    host_memory_for_devices();
    pools(stream);
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    puts("memory: all good");
    return 0;
}
