/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual addresses, physical memory, access, sharing between processes by handle and by key, through ACL. */
#include "rt_fixture.h"

#include "runtime/rt.h"

#define PAGE_B ((size_t)2 << 20)

/* Last arguments seen by the driver. */
static struct drv_mem_prop last_prop;
static size_t last_size_b;
static uint64_t last_flag;

drvError_t halMemCreate(drv_mem_handle_t **handle, size_t size, const struct drv_mem_prop *prop, uint64_t flag)
{
    last_prop = *prop;
    last_size_b = size;
    last_flag = flag;
    return halMemCreateInner(handle, size, prop, flag);
}

static aclrtPhysicalMemProp on_device(uint32_t dev, aclrtMemAttr attr)
{
    aclrtPhysicalMemProp prop;
    memset(&prop, 0, sizeof(prop));
    prop.memAttr = attr;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = dev;
    return prop;
}

static void properties(void **state)
{
    (void)state;
    static const struct {
        aclrtMemAttr attr;
        uint32_t pages, memory;
        size_t size_b;
    } cases[] = {
        {ACL_HBM_MEM_HUGE, MEM_HUGE_PAGE_TYPE, MEM_HBM_TYPE, 4 << 20},
        {ACL_HBM_MEM_NORMAL, MEM_NORMAL_PAGE_TYPE, MEM_HBM_TYPE, 2 << 20},
        {ACL_HBM_MEM_P2P_HUGE, MEM_HUGE_PAGE_TYPE, MEM_P2P_HBM_TYPE, 2 << 20},
        {ACL_HBM_MEM_P2P_NORMAL, MEM_NORMAL_PAGE_TYPE, MEM_P2P_HBM_TYPE, 2 << 20},
        {ACL_HBM_MEM_HUGE1G, MEM_GIANT_PAGE_TYPE, MEM_HBM_TYPE, 1 << 30},
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        aclrtPhysicalMemProp prop = on_device(1, cases[i].attr), back;
        aclrtDrvMemHandle h = NULL;
        size_t unit = 0;
        assert_int_equal(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &unit),
                         ACL_SUCCESS);
        assert_int_equal(unit, cases[i].attr == ACL_HBM_MEM_HUGE1G ? 1 << 30 : 2 << 20);
        assert_int_equal(aclrtMallocPhysical(&h, cases[i].size_b, &prop, 0), ACL_SUCCESS);
        assert_int_equal(last_prop.side, MEM_DEV_SIDE);
        assert_int_equal(last_prop.devid, 1);
        assert_int_equal(last_prop.module_id, 33);
        assert_int_equal(last_prop.pg_type, cases[i].pages);
        assert_int_equal(last_prop.mem_type, cases[i].memory);
        assert_int_equal(last_size_b, cases[i].size_b);
        assert_int_equal(last_flag, 0);
        assert_int_equal(aclrtMemGetAllocationPropertiesFromHandle(h, &back), ACL_SUCCESS);
        assert_int_equal(back.memAttr, cases[i].attr);
        assert_int_equal(back.location.id, 1);
        assert_int_equal(back.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
        assert_int_equal(aclrtFreePhysical(h), ACL_SUCCESS);
        check_failed(aclrtFreePhysical(h), ACL_ERROR_RT_PARAM_INVALID);
    }
}

static void refused(void **state)
{
    (void)state;
    aclrtDrvMemHandle h = NULL;
    void *p = NULL;
    size_t unit;
    aclrtPhysicalMemProp prop = on_device(0, ACL_HBM_MEM_HUGE);
    check_failed(aclrtMallocPhysical(NULL, PAGE_B, &prop, 0), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMallocPhysical(&h, PAGE_B, NULL, 0), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMallocPhysical(&h, 0, &prop, 0), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMallocPhysical(&h, PAGE_B, &prop, 1), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMallocPhysical(&h, 4096, &prop, 0), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMallocPhysical(&h, (size_t)1 << 45, &prop, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
    prop.location.id = 9;
    check_failed(aclrtMallocPhysical(&h, PAGE_B, &prop, 0), ACL_ERROR_RT_INVALID_DEVICEID);
    prop = on_device(0, (aclrtMemAttr)99);
    check_failed(aclrtMallocPhysical(&h, PAGE_B, &prop, 0), ACL_ERROR_RT_PARAM_INVALID);
    prop = on_device(0, ACL_HBM_MEM_HUGE);
    prop.handleType = (aclrtMemHandleType)1;
    check_failed(aclrtMallocPhysical(&h, PAGE_B, &prop, 0), ACL_ERROR_RT_PARAM_INVALID);
    prop = on_device(0, ACL_HBM_MEM_HUGE);
    prop.location.type = ACL_MEM_LOCATION_TYPE_MANAGED;
    check_failed(aclrtMallocPhysical(&h, PAGE_B, &prop, 0), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemGetAllocationGranularity(NULL, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &unit),
                 ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtReserveMemAddress(NULL, PAGE_B, 0, NULL, 0), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtReserveMemAddress(&p, 0, 0, NULL, 0), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtReserveMemAddress(&p, PAGE_B, 0, NULL, 2), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtReleaseMemAddress(&p), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtUnmapMem(&p), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtFreePhysical(&p), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMapMem(&p, PAGE_B, 0, &p, 0), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemRetainAllocationHandle(&p, &h), ACL_ERROR_RT_PARAM_INVALID);
}

/* Reserve once, map piece by piece, copy across the boundary: what an expandable segment does. */
static void reserve_map_use(void **state)
{
    (void)state;
    char *p = NULL, host[64] = "across two handles", back[64];
    aclrtDrvMemHandle h[2], again = NULL;
    aclrtPhysicalMemProp prop = on_device(0, ACL_HBM_MEM_HUGE);
    aclrtPtrAttributes a;
    assert_int_equal(aclrtReserveMemAddress((void **)&p, 16 * PAGE_B, 0, NULL, 1), ACL_SUCCESS);
    check_failed(aclrtMemcpy(p, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(aclrtMallocPhysical(&h[i], PAGE_B, &prop, 0), ACL_SUCCESS);
        assert_int_equal(aclrtMapMem(p + (size_t)i * PAGE_B, PAGE_B, 0, h[i], 0), ACL_SUCCESS);
    }
    assert_int_equal(aclrtPointerGetAttributes(p + 100, &a), ACL_SUCCESS);
    assert_int_equal(a.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
    assert_int_equal(aclrtMemcpy(p + PAGE_B - 10, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpy(back, 64, p + PAGE_B - 10, 64, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    assert_string_equal(back, host);
    check_failed(aclrtMemset(p, 3 * PAGE_B, 0, 3 * PAGE_B), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMapMem(p, PAGE_B, 0, h[1], 0), ACL_ERROR_RT_PARAM_INVALID); /* already mapped */
    check_failed(aclrtMapMem(p + 4 * PAGE_B, PAGE_B, 0, h[1], 1), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtFree(p), ACL_ERROR_RT_PARAM_INVALID);

    assert_int_equal(aclrtMemRetainAllocationHandle(p, &again), ACL_SUCCESS);
    assert_int_equal(aclrtFreePhysical(again), ACL_SUCCESS);
    void *base = NULL;
    size_t size_b = 0;
    assert_int_equal(aclrtMemGetAddressRange(p + PAGE_B + 5, &base, &size_b), ACL_SUCCESS);
    assert_non_null(base);
    assert_true(size_b >= PAGE_B);

    assert_int_equal(aclrtUnmapMem(p + PAGE_B), ACL_SUCCESS);
    check_failed(aclrtMemcpy(p + PAGE_B, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtUnmapMem(p), ACL_SUCCESS);
    assert_int_equal(aclrtFreePhysical(h[0]), ACL_SUCCESS);
    assert_int_equal(aclrtFreePhysical(h[1]), ACL_SUCCESS);
    assert_int_equal(aclrtReleaseMemAddress(p), ACL_SUCCESS);
    check_failed(aclrtReleaseMemAddress(p), ACL_ERROR_RT_PARAM_INVALID);
}

static void access_rights(void **state)
{
    (void)state;
    char *p = NULL, host[8] = "rights";
    uint64_t flags = 99;
    aclrtDrvMemHandle h;
    aclrtPhysicalMemProp prop = on_device(0, ACL_HBM_MEM_HUGE);
    aclrtMemLocation dev1 = {1, ACL_MEM_LOCATION_TYPE_DEVICE}, nowhere = {0, ACL_MEM_LOCATION_TYPE_MANAGED},
                     none = {33, ACL_MEM_LOCATION_TYPE_DEVICE};
    aclrtMemAccessDesc desc;
    assert_int_equal(aclrtReserveMemAddress((void **)&p, PAGE_B, 0, NULL, 0), ACL_SUCCESS);
    assert_int_equal(aclrtMallocPhysical(&h, PAGE_B, &prop, 0), ACL_SUCCESS);
    assert_int_equal(aclrtMapMem(p, PAGE_B, 0, h, 0), ACL_SUCCESS);
    memset(&desc, 0, sizeof(desc));
    desc.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
    desc.location = dev1;
    assert_int_equal(aclrtMemSetAccess(p, PAGE_B, &desc, 1), ACL_SUCCESS);
    assert_int_equal(aclrtMemGetAccess(p, &dev1, &flags), ACL_SUCCESS);
    assert_int_equal(flags, ACL_RT_MEM_ACCESS_FLAGS_READWRITE);
    desc.location = nowhere;
    check_failed(aclrtMemSetAccess(p, PAGE_B, &desc, 1), ACL_ERROR_RT_PARAM_INVALID);
    desc.location = none;
    check_failed(aclrtMemSetAccess(p, PAGE_B, &desc, 1), ACL_ERROR_RT_INVALID_DEVICEID);
    check_failed(aclrtMemSetAccess(p, PAGE_B, &desc, 0), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMemSetAccess(p, PAGE_B, NULL, 1), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclrtUnmapMem(p), ACL_SUCCESS);
    /* Mapped without access: inaccessible until access is granted. */
    assert_int_equal(aclrtMemMapNoAccess(p, PAGE_B, 0, h, 0), ACL_SUCCESS);
    check_failed(aclrtMemcpy(p, 8, host, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    desc.location = (aclrtMemLocation){0, ACL_MEM_LOCATION_TYPE_DEVICE};
    assert_int_equal(aclrtMemSetAccess(p, PAGE_B, &desc, 1), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpy(p, 8, host, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    desc.flags = ACL_RT_MEM_ACCESS_FLAGS_READ; /* readable, not writable */
    assert_int_equal(aclrtMemSetAccess(p, PAGE_B, &desc, 1), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpy(host, 8, p, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    check_failed(aclrtMemcpy(p, 8, host, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemset(p, 8, 0, 8), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtUnmapMem(p), ACL_SUCCESS);
    assert_int_equal(aclrtFreePhysical(h), ACL_SUCCESS);
    assert_int_equal(aclrtReleaseMemAddress(p), ACL_SUCCESS);
}

/* ---- other processes ---- */
static void share_by_handle(void **state)
{
    (void)state;
    char *p = NULL, argument[64];
    uint64_t shared = 0;
    aclrtDrvMemHandle h;
    aclrtPhysicalMemProp prop = on_device(0, ACL_HBM_MEM_HUGE);
    assert_int_equal(aclrtMallocPhysical(&h, PAGE_B, &prop, 0), ACL_SUCCESS);
    assert_int_equal(aclrtReserveMemAddress((void **)&p, PAGE_B, 0, NULL, 0), ACL_SUCCESS);
    assert_int_equal(aclrtMapMem(p, PAGE_B, 0, h, 0), ACL_SUCCESS);
    strcpy(p, "written by the parent");
    check_failed(aclrtMemExportToShareableHandle(h, ACL_MEM_HANDLE_TYPE_NONE, 2, &shared), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtMemExportToShareableHandle(h, ACL_MEM_HANDLE_TYPE_NONE, 0, &shared), ACL_SUCCESS);
    snprintf(argument, sizeof(argument), "%llu", (unsigned long long)shared);
    struct hal_child c = hal_spawn("import", argument);
    assert_string_equal(hal_hear(&c), "ready");
    hal_tell(&c, "try");
    assert_string_equal(hal_hear(&c), "refused"); /* not yet allowed */
    int32_t pid = c.pid;
    assert_int_equal(aclrtMemSetPidToShareableHandle(shared, &pid, 1), ACL_SUCCESS);
    hal_tell(&c, "try");
    assert_string_equal(hal_hear(&c), "written by the parent");
    assert_string_equal(p, "written by the child");
    assert_int_equal(hal_end(&c), 0);

    aclrtMemFabricHandle fabric;
    memset(&fabric, 0, sizeof(fabric));
    assert_int_equal(aclrtMemExportToShareableHandleV2(h, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                                       ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric),
                     ACL_SUCCESS);
    aclrtDrvMemHandle own = NULL;
    assert_int_equal(aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &own),
                     ACL_SUCCESS);
    assert_int_equal(aclrtFreePhysical(own), ACL_SUCCESS);
    assert_int_equal(aclrtMemSetPidToShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &pid, 1),
                     ACL_SUCCESS);
    memset(&fabric, 0, sizeof(fabric));
    check_failed(aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &own),
                 ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtMemExportToShareableHandleV2(h, 1, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &shared), ACL_SUCCESS);
    assert_int_equal(aclrtMemImportFromShareableHandleV2(&shared, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0, &own),
                     ACL_SUCCESS);
    assert_int_equal(aclrtFreePhysical(own), ACL_SUCCESS);
    check_failed(aclrtMemExportToShareableHandleV2(h, 0, (aclrtMemSharedHandleType)7, &shared),
                 ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemImportFromShareableHandle(12345, 0, &own), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtUnmapMem(p), ACL_SUCCESS);
    assert_int_equal(aclrtFreePhysical(h), ACL_SUCCESS);
    assert_int_equal(aclrtReleaseMemAddress(p), ACL_SUCCESS);
}

static int child_import(const char *argument)
{
    if (snpu_device_set("child", 0) != 0) {
        return 2;
    }
    uint64_t shared = strtoull(argument, NULL, 10);
    child_say("ready");
    child_listen();
    aclrtDrvMemHandle h = NULL;
    child_say(aclrtMemImportFromShareableHandle(shared, 0, &h) != 0 ? "refused" : "imported");
    child_listen();
    char *p = NULL;
    if (aclrtMemImportFromShareableHandle(shared, 0, &h) != 0 ||
        aclrtReserveMemAddress((void **)&p, PAGE_B, 0, NULL, 0) != 0 || aclrtMapMem(p, PAGE_B, 0, h, 0) != 0) {
        return 3;
    }
    char text[64];
    memcpy(text, p, sizeof(text));
    strcpy(p, "written by the child");
    child_say(text);
    return aclrtUnmapMem(p) != 0 || aclrtFreePhysical(h) != 0 || aclrtReleaseMemAddress(p) != 0;
}

static void share_by_key(void **state)
{
    (void)state;
    char *p = NULL, key[65], small[64];
    assert_int_equal(aclrtMalloc((void **)&p, 4 << 20, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    strcpy(p + 4096, "parent");
    check_failed(aclrtIpcMemGetExportKey(p, 4 << 20, small, sizeof(small), 0), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtIpcMemGetExportKey(NULL, 4 << 20, key, sizeof(key), 0), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtIpcMemGetExportKey(small, 64, key, sizeof(key), 0), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtIpcMemGetExportKey(p, 4 << 20, key, sizeof(key), 0), ACL_SUCCESS);
    assert_true(strlen(key) > 0 && strlen(key) <= 64);
    struct hal_child c = hal_spawn("open", key);
    assert_string_equal(hal_hear(&c), "ready");
    int32_t pid = c.pid;
    assert_int_equal(aclrtIpcMemSetImportPid(key, &pid, 1), ACL_SUCCESS);
    hal_tell(&c, "go");
    assert_string_equal(hal_hear(&c), "parent");
    assert_string_equal(p + 4096, "child");
    assert_int_equal(hal_end(&c), 0);
    assert_int_equal(aclrtIpcMemClose(key), ACL_SUCCESS);
    check_failed(aclrtIpcMemClose(key), ACL_ERROR_RT_PARAM_INVALID);
    /* Open to every process. */
    assert_int_equal(
        aclrtIpcMemGetExportKey(p, 4 << 20, key, sizeof(key), ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION),
        ACL_SUCCESS);
    strcpy(p + 4096, "parent");
    c = hal_spawn("open", key);
    assert_string_equal(hal_hear(&c), "ready");
    hal_tell(&c, "go");
    assert_string_equal(hal_hear(&c), "parent");
    assert_int_equal(hal_end(&c), 0);
    void *q = NULL;
    check_failed(aclrtIpcMemImportByKey(&q, "no such key", 0), ACL_ERROR_RT_PARAM_INVALID);
    char endless[200];
    memset(endless, 'x', sizeof(endless));
    check_failed(aclrtIpcMemImportByKey(&q, endless, 0), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtIpcMemClose(key), ACL_SUCCESS);
    assert_int_equal(aclrtFree(p), ACL_SUCCESS);
}

static int child_open(const char *key)
{
    char *p = NULL, text[64];
    if (snpu_device_set("child", 0) != 0) {
        return 2;
    }
    child_say("ready");
    child_listen();
    if (aclrtIpcMemImportByKey((void **)&p, key, 0) != 0) {
        child_say("refused");
        return 3;
    }
    /* For copies it is device memory like any other. */
    if (aclrtMemcpy(text, sizeof(text), p + 4096, sizeof(text), ACL_MEMCPY_DEVICE_TO_HOST) != 0 ||
        aclrtMemcpy(p + 4096, 6, "child", 6, ACL_MEMCPY_HOST_TO_DEVICE) != 0 || aclrtFree(p) == 0) {
        return 4;
    }
    child_say(text);
    return aclrtIpcMemClose(key);
}

static int set_up(void **state)
{
    (void)state;
    return snpu_device_set("test", 0);
}

int main(int argc, char **argv)
{
    hal_use_machine("2", "2G");
    if (argc == 3) {
        return strcmp(argv[1], "import") == 0 ? child_import(argv[2]) : child_open(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties),    cmocka_unit_test(refused),         cmocka_unit_test(reserve_map_use),
        cmocka_unit_test(access_rights), cmocka_unit_test(share_by_handle), cmocka_unit_test(share_by_key),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
