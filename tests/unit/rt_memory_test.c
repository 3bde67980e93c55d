/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory through ACL: what reaches the driver, sizes, policies, out of memory, freeing, pointers, information,
 * registered and managed memory. The test program defines halMemAlloc and halMemFree itself, as a preloaded tool does,
 * and so sees every call the runtime makes. */
#include "rt_fixture.h"

#include "runtime/rt.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

/* ---- a tool's view of the driver ---- */
static struct {
    unsigned long long size_b, flag;
} calls[16];
static unsigned call_count, free_count;

drvError_t halMemAlloc(void **pp, unsigned long long size, unsigned long long flag)
{
    if (call_count < MS_COUNT_OF(calls)) {
        calls[call_count].size_b = size;
        calls[call_count].flag = flag;
    }
    call_count++;
    return halMemAllocInner(pp, size, flag);
}

drvError_t halMemFree(void *pp)
{
    free_count++;
    return halMemFreeInner(pp);
}

static int forget(void **state)
{
    (void)state;
    call_count = free_count = 0;
    snpu_take_message();
    return 0;
}

/* ---- flags and sizes ---- */
static void flags_are_the_vendors(void **state)
{
    (void)state;
    static const struct {
        aclrtMemMallocPolicy policy;
        size_t size_b;
        unsigned long long flag, driver_b;
    } cases[] = {
        {ACL_MEM_MALLOC_HUGE_FIRST, 4 << 20, 0x2100000000924400, (4 << 20) + 32},
        {ACL_MEM_MALLOC_HUGE_FIRST, 1000, 0x2100000000904400, 1024 + 32},
        {ACL_MEM_MALLOC_HUGE_FIRST, (1 << 20) - 32, 0x2100000000904400, 1 << 20},
        {ACL_MEM_MALLOC_HUGE_FIRST, (1 << 20) - 31, 0x2100000000924400, (1 << 20) + 32},
        {ACL_MEM_MALLOC_HUGE_ONLY, 100, 0x2100000000924400, 128 + 32},
        {ACL_MEM_MALLOC_NORMAL_ONLY, 4 << 20, 0x2100000000904400, (4 << 20) + 32},
        {ACL_MEM_MALLOC_HUGE_FIRST_P2P, 4 << 20, 0x2100000002924400, (4 << 20) + 32},
        {ACL_MEM_MALLOC_HUGE_ONLY_P2P, 1, 0x2100000002924400, 64},
        {ACL_MEM_MALLOC_NORMAL_ONLY_P2P, 4 << 20, 0x2100000002904400, (4 << 20) + 32},
        {ACL_MEM_MALLOC_HUGE1G_ONLY, 33, 0x2100000080004400, 64},
        {ACL_MEM_MALLOC_HUGE1G_ONLY_P2P, 33, 0x2100000082004400, 64},
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        void *p = NULL;
        forget(NULL);
        assert_int_equal(aclrtMalloc(&p, cases[i].size_b, cases[i].policy), ACL_SUCCESS);
        assert_int_equal(call_count, 1);
        assert_int_equal(calls[0].flag, cases[i].flag);
        assert_int_equal(calls[0].size_b, cases[i].driver_b);
        must_free(p);
        assert_int_equal(free_count, 1);
    }
}

static void other_entries(void **state)
{
    (void)state;
    void *p = NULL;
    assert_int_equal(aclrtMallocAlign32(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    assert_int_equal(calls[0].size_b, 128);
    must_free(p);
    forget(NULL);
    assert_int_equal(aclrtMallocWithCfg(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST, NULL), ACL_SUCCESS);
    assert_int_equal(calls[0].size_b, 100);
    assert_int_equal(calls[0].flag, 0x2100000000904400);
    must_free(p);
    forget(NULL);
    aclrtMallocAttribute attrs[2];
    memset(attrs, 0, sizeof(attrs));
    attrs[0].attr = ACL_RT_MEM_ATTR_MODULE_ID;
    attrs[0].value.moduleId = 48;
    attrs[1].attr = ACL_RT_MEM_ATTR_DEVICE_ID;
    attrs[1].value.deviceId = 1;
    aclrtMallocConfig cfg = {attrs, 2};
    assert_int_equal(aclrtMallocWithCfg(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST, &cfg), ACL_SUCCESS);
    assert_int_equal(calls[0].flag, 0x3000000000904401);
    must_free(p);
    attrs[1].value.deviceId = 77;
    check_failed(aclrtMallocWithCfg(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST, &cfg), ACL_ERROR_RT_INVALID_DEVICEID);
    attrs[1].attr = (aclrtMallocAttrType)99;
    check_failed(aclrtMallocWithCfg(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST, &cfg), ACL_ERROR_RT_PARAM_INVALID);
    forget(NULL);
    assert_int_equal(aclrtMallocForTaskScheduler(&p, 100, ACL_MEM_MALLOC_NORMAL_ONLY, NULL), ACL_SUCCESS);
    assert_int_equal(calls[0].flag, 0x2100000000904400 | MEM_ADVISE_TS);
    must_free(p);
    forget(NULL);
    assert_int_equal(aclrtMallocHost(&p, 100), ACL_SUCCESS);
    assert_int_equal(calls[0].flag, 0x2100000000900800);
    assert_int_equal(calls[0].size_b, 100);
    memset(p, 1, 100);
    assert_int_equal(aclrtFreeHost(p), ACL_SUCCESS);
    forget(NULL);
    assert_int_equal(rtMalloc(&p, 3 << 20, RT_MEMORY_HBM, 7), 0);
    assert_int_equal(calls[0].flag, 0x0700000000924400);
    assert_int_equal(rtFree(p), 0);
}

static void wrong_arguments(void **state)
{
    (void)state;
    void *p = NULL;
    check_failed(aclrtMalloc(NULL, 10, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMalloc(&p, SIZE_MAX - 40, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMalloc(&p, 10, (aclrtMemMallocPolicy)8), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMallocHost(NULL, 10), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMallocHost(&p, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(call_count, 0);
    assert_null(p);
}

static void out_of_memory(void **state)
{
    (void)state;
    void *p = (void *)1;
    check_failed(aclrtMalloc(&p, (size_t)1 << 50, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(call_count, 2); /* huge pages, then normal ones */
    assert_int_equal(calls[0].flag, 0x2100000000924400);
    assert_int_equal(calls[1].flag, 0x2100000000904400);
    assert_ptr_equal(p, (void *)1);
    forget(NULL);
    check_failed(aclrtMalloc(&p, (size_t)1 << 50, ACL_MEM_MALLOC_HUGE_ONLY), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(call_count, 1);

    size_t free_b, total_b;
    assert_int_equal(aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b), ACL_SUCCESS);
    void *half = NULL;
    assert_int_equal(aclrtMalloc(&half, total_b / 2, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    check_failed(aclrtMalloc(&p, total_b / 2, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    must_free(half);
    assert_int_equal(aclrtMalloc(&p, total_b / 2, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    must_free(p);
}

/* ---- freeing ---- */
static void freeing(void **state)
{
    (void)state;
    char *p = NULL, local;
    assert_int_equal(aclrtMalloc((void **)&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    memset(p, 7, 4096);
    check_failed(aclrtFree(NULL), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtFree(&local), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtFree((void *)16), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtFree(p + 512), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(free_count, 0);
    must_free(p);
    check_failed(aclrtFree(p), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtMalloc((void **)&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    assert_int_equal(aclrtFreeWithDevSync(p), ACL_SUCCESS);
    assert_int_equal(aclrtMallocHost((void **)&p, 4096), ACL_SUCCESS);
    assert_int_equal(aclrtFreeHostWithDevSync(p), ACL_SUCCESS);
    check_failed(aclrtFreeHost(p), ACL_ERROR_RT_PARAM_INVALID);
}

static void *without_context(void *unused)
{
    void *p = NULL;
    check_failed(aclrtMalloc(&p, 10, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    check_failed(aclrtMallocHost(&p, 10), ACL_ERROR_RT_CONTEXT_NULL);
    size_t a, b;
    check_failed(aclrtGetMemInfo(ACL_HBM_MEM, &a, &b), ACL_ERROR_RT_CONTEXT_NULL);
    char x[4] = "abc", y[4];
    check_failed(aclrtMemcpy(y, 4, x, 4, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_RT_CONTEXT_NULL);
    return unused;
}

static void needs_a_context(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, without_context, NULL), 0);
    pthread_join(thread, NULL);
}

/* ---- information ---- */
static void memory_information(void **state)
{
    (void)state;
    size_t before, after, total, huge_free, huge_total, normal_free, normal_total;
    void *p = NULL;
    assert_int_equal(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
    assert_true(total > 0 && before <= total);
    assert_int_equal(aclrtMalloc(&p, 10 << 20, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    assert_int_equal(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
    assert_int_equal(before - after, 12 << 20); /* 10 MiB + 32 bytes in pages of 2 MiB */
    assert_int_equal(aclrtGetMemInfo(ACL_HBM_MEM_HUGE, &huge_free, &huge_total), ACL_SUCCESS);
    assert_int_equal(aclrtGetMemInfo(ACL_HBM_MEM_NORMAL, &normal_free, &normal_total), ACL_SUCCESS);
    assert_int_equal(huge_total + normal_total, total);
    assert_int_equal(huge_free + normal_free, after);
    check_failed(aclrtGetMemInfo((aclrtMemAttr)99, &after, &total), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtGetMemInfo(ACL_HBM_MEM, NULL, &total), ACL_ERROR_INVALID_PARAM);

    aclrtMemUsageInfo usage[128];
    size_t count = 0;
    bool found = false;
    assert_int_equal(aclrtGetMemUsageInfo(0, usage, MS_COUNT_OF(usage), &count), ACL_SUCCESS);
    for (size_t i = 0; i < count; i++) {
        found = found || (strcmp(usage[i].name, "APP") == 0 && usage[i].curMemSize >= 10 << 20);
    }
    assert_true(found);
    check_failed(aclrtGetMemUsageInfo(55, usage, MS_COUNT_OF(usage), &count), ACL_ERROR_RT_INVALID_DEVICEID);
    must_free(p);
}

static void pointer_attributes(void **state)
{
    (void)state;
    aclrtPtrAttributes a;
    void *dev = NULL, *host = NULL, *managed = NULL;
    int local;
    assert_int_equal(aclrtMalloc(&dev, 4 << 20, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    assert_int_equal(aclrtMallocHost(&host, 4096), ACL_SUCCESS);
    assert_int_equal(aclrtMemAllocManaged(&managed, 4096, ACL_RT_MEM_ATTACH_GLOBAL), ACL_SUCCESS);
    assert_int_equal(aclrtPointerGetAttributes((char *)dev + 100, &a), ACL_SUCCESS);
    assert_int_equal(a.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
    assert_int_equal(a.location.id, 0);
    assert_int_equal(a.pageSize, 2 << 20);
    assert_int_equal(aclrtPointerGetAttributes(host, &a), ACL_SUCCESS);
    assert_int_equal(a.location.type, ACL_MEM_LOCATION_TYPE_HOST);
    assert_int_equal(aclrtPointerGetAttributes(managed, &a), ACL_SUCCESS);
    assert_int_equal(a.location.type, ACL_MEM_LOCATION_TYPE_MANAGED);
    assert_int_equal(aclrtPointerGetAttributes(&local, &a), ACL_SUCCESS);
    assert_int_equal(a.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    check_failed(aclrtPointerGetAttributes(NULL, &a), ACL_ERROR_INVALID_PARAM);

    uint32_t result = 7;
    void *list[] = {dev, (char *)dev + 4096};
    assert_int_equal(aclrtCheckMemType(list, 2, ACL_RT_MEM_TYPE_DEV, &result, 0), ACL_SUCCESS);
    assert_int_equal(result, 1);
    list[1] = host;
    assert_int_equal(aclrtCheckMemType(list, 2, ACL_RT_MEM_TYPE_DEV, &result, 0), ACL_SUCCESS);
    assert_int_equal(result, 0);
    check_failed(aclrtCheckMemType(list, 0, ACL_RT_MEM_TYPE_DEV, &result, 0), ACL_ERROR_INVALID_PARAM);

    assert_int_equal(aclrtMemFlush(dev, 4096), ACL_SUCCESS);
    assert_int_equal(aclrtMemInvalidate(dev, 4096), ACL_SUCCESS);
    check_failed(aclrtMemFlush(dev, (size_t)1 << 40), ACL_ERROR_RT_PARAM_INVALID);
    must_free(dev);
    must_free(managed);
    assert_int_equal(aclrtFreeHost(host), ACL_SUCCESS);
    check_failed(aclrtMemFlush(dev, 4096), ACL_ERROR_RT_PARAM_INVALID);
}

/* ---- registered and managed memory ---- */
static void registered_memory(void **state)
{
    (void)state;
    char *mine = memalign(4096, 16384);
    void *seen = NULL;
    aclrtPtrAttributes a;
    memset(mine, 1, 16384);
    assert_int_equal(aclrtHostRegister(mine, 16384, ACL_HOST_REGISTER_MAPPED, &seen), ACL_SUCCESS);
    assert_ptr_equal(seen, mine);
    assert_int_equal(aclrtPointerGetAttributes(mine + 5000, &a), ACL_SUCCESS);
    assert_int_equal(a.location.type, ACL_MEM_LOCATION_TYPE_HOST);
    seen = NULL;
    assert_int_equal(aclrtHostGetDevicePointer(mine, &seen, 0), ACL_SUCCESS);
    assert_ptr_equal(seen, mine);
    check_failed(aclrtHostRegister(mine, 16384, ACL_HOST_REGISTER_MAPPED, &seen), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtHostUnregister(mine + 4096), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtHostUnregister(mine), ACL_SUCCESS);
    check_failed(aclrtHostUnregister(mine), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtHostGetDevicePointer(mine, &seen, 0), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtHostRegisterV2(mine, 16384, ACL_HOST_REG_PINNED | ACL_HOST_REG_MAPPED), ACL_SUCCESS);
    assert_int_equal(aclrtHostUnregister(mine), ACL_SUCCESS);
    check_failed(aclrtHostRegisterV2(mine, 16384, 0x40), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtHostRegisterV2((void *)4096, 4096, ACL_HOST_REG_PINNED), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtHostRegisterV2(NULL, 4096, ACL_HOST_REG_PINNED), ACL_ERROR_INVALID_PARAM);
    free(mine);
}

static int32_t managed_number(aclrtMemManagedRangeAttribute attribute, const void *p)
{
    int32_t value = -77;
    assert_int_equal(aclrtMemManagedGetAttr(attribute, p, 4096, &value, sizeof(value)), ACL_SUCCESS);
    return value;
}

static void managed_memory(void **state)
{
    (void)state;
    char *p = NULL;
    aclrtMemManagedLocation dev1 = {ACL_MEM_LOCATIONTYPE_DEVICE, 1}, host = {ACL_MEM_LOCATIONTYPE_HOST, 0},
                            none = {ACL_MEM_LOCATIONTYPE_DEVICE, 40};
    assert_int_equal(aclrtMemAllocManaged((void **)&p, 8192, ACL_RT_MEM_ATTACH_GLOBAL), ACL_SUCCESS);
    assert_int_equal(calls[0].flag & 0x3c00, MEM_SVM);
    memset(p, 3, 8192);
    assert_int_equal(managed_number(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p), 0);
    assert_int_equal(aclrtMemManagedAdvise(p, 8192, ACL_MEM_ADVISE_SET_READ_MOSTLY, host), ACL_SUCCESS);
    assert_int_equal(managed_number(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p + 4096), 1);
    assert_int_equal(managed_number(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p), -2);
    assert_int_equal(aclrtMemManagedAdvise(p, 8192, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, dev1), ACL_SUCCESS);
    assert_int_equal(managed_number(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p), 1);
    check_failed(aclrtMemManagedAdvise(p, 8192, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, none),
                 ACL_ERROR_RT_INVALID_DEVICEID);
    assert_int_equal(aclrtMemManagedAdvise(p, 8192, ACL_MEM_ADVISE_SET_ACCESSED_BY, dev1), ACL_SUCCESS);
    int32_t by[2] = {9, 9};
    assert_int_equal(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 8192, by, sizeof(by)), ACL_SUCCESS);
    assert_int_equal(by[0], 1);
    assert_int_equal(by[1], -2);
    assert_int_equal(aclrtMemManagedPrefetchAsync(p, 8192, dev1, 0, NULL), ACL_SUCCESS);
    assert_int_equal(aclrtMemManagedPrefetchAsync(p, 8192, host, 0, NULL), ACL_SUCCESS);
    assert_int_equal(snpu_dev_synchronize(0, -1), 0);
    assert_int_equal(managed_number(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p), -1);
    check_failed(aclrtMemManagedAdvise(p, 1 << 20, ACL_MEM_ADVISE_SET_READ_MOSTLY, host), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemManagedAdvise(&host, 8, ACL_MEM_ADVISE_SET_READ_MOSTLY, host), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemAllocManaged((void **)&p, 8192, 0), ACL_ERROR_INVALID_PARAM);
    must_free(p);
    check_failed(aclrtMemManagedAdvise(p, 8192, ACL_MEM_ADVISE_SET_READ_MOSTLY, host), ACL_ERROR_RT_PARAM_INVALID);
}

static int set_up(void **state)
{
    (void)state;
    return snpu_device_set("test", 0);
}

int main(void)
{
    hal_use_machine("2", "1G");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(flags_are_the_vendors, forget),
        cmocka_unit_test_setup(other_entries, forget),
        cmocka_unit_test_setup(wrong_arguments, forget),
        cmocka_unit_test_setup(out_of_memory, forget),
        cmocka_unit_test_setup(freeing, forget),
        cmocka_unit_test_setup(needs_a_context, forget),
        cmocka_unit_test_setup(memory_information, forget),
        cmocka_unit_test_setup(pointer_attributes, forget),
        cmocka_unit_test_setup(registered_memory, forget),
        cmocka_unit_test_setup(managed_memory, forget),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
