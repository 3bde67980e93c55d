/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and their attributes; pointers; copies; registration of host memory. */
#include "hal_test.h"

#include <sys/mman.h>

static void devices_have_numbers(void **state)
{
    uint32_t n = 0, ids[4] = {9, 9, 9, 9}, id;
    int count;
    assert_int_equal(drvGetDevNum(&n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(drvGetDevIDs(ids, 4), 0);
    assert_int_equal(ids[2], 2);
    assert_int_equal(ids[3], 9);
    assert_int_equal(drvDeviceGetPhyIdByIndex(2, &id), 0);
    assert_int_equal(id, 2);
    assert_int_equal(drvDeviceGetIndexByPhyId(3, &id), DRV_ERROR_INVALID_DEVICE);
    assert_int_equal(drvGetDevIDByLocalDevID(1, &id), 0);
    assert_int_equal(drvGetLocalDevIDByHostDevID(1, NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halGetDeviceCountFromChip(0, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(halGetDeviceCountFromChip(-1, &count), DRV_ERROR_INVALID_DEVICE);
    assert_int_equal(drvGetDevNum(NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvGetDevIDs(NULL, 1), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvDeviceGetBareTgid(), getpid());
    assert_int_equal(drvGetPlatformInfo(&id), 0);
    assert_int_equal(id, 1);
}

static int64_t info_of(int32_t module, int32_t info)
{
    int64_t value = -1;
    assert_int_equal(halGetDeviceInfo(0, module, info, &value), 0);
    return value;
}

static void information_is_that_of_the_chip(void **state)
{
    int64_t value;
    int version;
    halChipInfo chip;
    char soc[32];
    assert_int_equal(info_of(MODULE_TYPE_SYSTEM, INFO_TYPE_VERSION) >> 8 & 0xff, 5);
    assert_int_equal(info_of(MODULE_TYPE_AICORE, INFO_TYPE_CORE_NUM), 20);
    assert_int_equal(info_of(MODULE_TYPE_VECTOR_CORE, INFO_TYPE_CORE_NUM), 40);
    assert_int_equal(info_of(MODULE_TYPE_AICPU, INFO_TYPE_CORE_NUM), 6);
    assert_int_equal(info_of(MODULE_TYPE_SYSTEM, INFO_TYPE_DEV_OSC_FREQUE), 50000);
    assert_true(info_of(MODULE_TYPE_SYSTEM, INFO_TYPE_HOST_OSC_FREQUE) > 0);
    /* The counter and the host's clock show the same time. */
    int64_t ns = info_of(MODULE_TYPE_SYSTEM, INFO_TYPE_MONOTONIC_RAW);
    int64_t ticks = info_of(MODULE_TYPE_SYSTEM, INFO_TYPE_SYS_COUNT);
    assert_in_range(ticks * 20 + 20 - ns, 0, 1000000000);
    assert_int_equal(halGetDeviceInfo(0, 99, 0, &value), DRV_ERROR_NOT_SUPPORT);
    assert_int_equal(halGetDeviceInfo(3, 0, 1, &value), DRV_ERROR_INVALID_DEVICE);
    assert_int_equal(halGetDeviceInfo(0, 0, 1, NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halGetPhyDeviceInfo(2, 0, INFO_TYPE_SDID, &value), 0);
    assert_int_equal(value, 2);
    int32_t size = 4;
    assert_int_equal(halGetDeviceInfoByBuff(1, 0, INFO_TYPE_SDID, &value, &size), DRV_ERROR_INVALID_VALUE);
    size = 8;
    assert_int_equal(halGetDeviceInfoByBuff(1, 0, INFO_TYPE_SDID, &value, &size), 0);
    assert_int_equal(value, 1);
    assert_int_equal(halGetAPIVersion(&version), 0);
    assert_true(version >= 0x071905);
    assert_int_equal(halGetChipInfo(0, &chip), 0);
    assert_string_equal((char *)chip.type, "Ascend");
    assert_string_equal((char *)chip.name, "910B3");
    assert_int_equal(halGetChipInfo(0, NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halGetSocVersion(0, soc, sizeof(soc)), 0);
    assert_string_equal(soc, "Ascend910B3");
    assert_int_equal(halGetSocVersion(0, soc, 5), DRV_ERROR_INVALID_VALUE);
}

static void state_and_peers(void **state)
{
    drvStatus_t status;
    int can;
    assert_int_equal(drvDeviceStatus(0, &status), 0);
    assert_int_equal(status, DRV_STATUS_WORK);
    snpu_hal_set_lost(0, true);
    assert_int_equal(drvDeviceStatus(0, &status), 0);
    assert_int_equal(status, DRV_STATUS_EXCEPTION);
    assert_false(snpu_hal_lost(1));
    snpu_hal_set_lost(0, false);
    assert_false(snpu_hal_lost(0));
    assert_int_equal(drvDeviceStatus(7, &status), DRV_ERROR_INVALID_DEVICE);
    assert_int_equal(halDeviceCanAccessPeer(&can, 0, 1), 0);
    assert_int_equal(can, 1);
    assert_int_equal(halDeviceCanAccessPeer(&can, 1, 1), 0);
    assert_int_equal(can, 0);
    assert_int_equal(halDeviceCanAccessPeer(&can, 0, 5), DRV_ERROR_INVALID_DEVICE);
    assert_int_equal(halDeviceEnableP2P(0, 1, 0), 0);
    assert_int_equal(halDeviceEnableP2P(0, 0, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halDeviceDisableP2P(0, 9, 0), DRV_ERROR_INVALID_DEVICE);
    void *info;
    assert_int_equal(drvDeviceOpen(&info, 0), 0);
    void *p = must_alloc(4096, DEV_FLAGS);
    assert_int_equal(drvDeviceClose(0), 0);
    assert_int_equal(halMemFree(p), DRV_ERROR_INVALID_VALUE); /* closing the device freed it */
    assert_int_equal(drvDeviceOpen(&info, 3), DRV_ERROR_INVALID_DEVICE);
}

static void pointers_have_attributes(void **state)
{
    struct DVattribute a;
    void *d = must_alloc(3 * MIB, DEV_FLAGS | MEM_PAGE_HUGE | 2), *h = must_alloc(4096, MEM_HOST),
         *v = must_alloc(4096, MEM_DVPP | 1);
    assert_int_equal(drvMemGetAttribute((uintptr_t)d + 5, &a), 0);
    assert_int_equal(a.memType, DV_MEM_LOCK_DEV);
    assert_int_equal(a.devId, 2);
    assert_int_equal(a.pageSize, 2 * MIB);
    assert_int_equal(drvMemGetAttribute((uintptr_t)h, &a), 0);
    assert_int_equal(a.memType, DV_MEM_LOCK_HOST);
    assert_int_equal(drvMemGetAttribute((uintptr_t)v, &a), 0);
    assert_int_equal(a.memType, DV_MEM_LOCK_DEV_DVPP);
    assert_int_equal(drvMemGetAttribute((uintptr_t)&a, &a), 0);
    assert_int_equal(a.memType, DV_MEM_USER_MALLOC);
    assert_int_equal(drvMemGetAttribute(0, &a), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemGetAttribute((uintptr_t)d, NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemGetAttribute((uintptr_t)d + 64 * MIB, &a), DRV_ERROR_INVALID_VALUE);

    struct MemInfo info;
    DVdeviceptr *list[] = {d, v};
    memset(&info, 0, sizeof(info));
    info.addr_info.addr = list;
    info.addr_info.cnt = 1;
    info.addr_info.mem_type = 2;
    assert_int_equal(halMemGetInfo(0, MEM_INFO_TYPE_ADDR_CHECK, &info), 0);
    assert_int_equal(info.addr_info.flag, 1);
    info.addr_info.cnt = 2;
    assert_int_equal(halMemGetInfo(0, MEM_INFO_TYPE_ADDR_CHECK, &info), 0);
    assert_int_equal(info.addr_info.flag, 0);
    info.addr_info.mem_type = 2 | 8;
    assert_int_equal(halMemGetInfo(0, MEM_INFO_TYPE_ADDR_CHECK, &info), 0);
    assert_int_equal(info.addr_info.flag, 1);
    assert_int_equal(halMemGetInfo(0, 0, &info), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemGetInfo(0, 12, &info), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemGetInfo(0, 6, &info), DRV_ERROR_NOT_SUPPORT);
    assert_int_equal(halMemGetInfo(0, 2, NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemGetInfo(3, 2, &info), DRV_ERROR_INVALID_DEVICE);
    halMemFree(d), halMemFree(h), halMemFree(v);
}

static void copies_and_fills_check_their_addresses(void **state)
{
    char host[256] = "hello", back[256] = "";
    struct memcpy_info how = {.dir = DRV_MEMCPY_HOST_TO_DEVICE};
    uint64_t ticket;
    void *a = must_alloc(4096, DEV_FLAGS), *b = must_alloc(4096, DEV_FLAGS | 1);
    DVdeviceptr da = (uintptr_t)a, db = (uintptr_t)b, dh = (uintptr_t)host, dk = (uintptr_t)back;
    assert_int_equal(halMemcpy(a, 4096, host, sizeof(host), &how), 0);
    assert_int_equal(drvMemcpy(db, 4096, da, 256), 0);
    assert_int_equal(halMemCpyAsync(dk, 256, db, 256, &ticket), 0);
    assert_int_equal(halMemCpyAsyncWaitFinish(ticket), 0);
    assert_string_equal(back, "hello");
    assert_int_equal(drvMemsetD8(da, 4096, 'x', 3), 0);
    assert_memory_equal(a, "xxxlo", 6);

    char *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(gone, 8192);
    assert_int_equal(drvMemcpy(da, 4096, (uintptr_t)gone, 4096), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemcpy((uintptr_t)gone, 4096, da, 4096), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemsetD8((uintptr_t)gone, 4096, 0, 4096), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemcpy(da, 100, dh, 101), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemcpy(da, 8192, db, 8192), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemcpy(da, SIZE_MAX, db, SIZE_MAX), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemcpy(0, 4096, db, 1), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemcpy(da, 4096, 0x10, 1), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemcpy(da, 4096, 0xdead000000000000, 1), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemsetD8(da, 10, 0, 11), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemcpy(a, 4096, host, 1, NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemCpyAsync(dk, 256, db, 256, NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemCpyAsyncWaitFinish(0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemCpyAsyncWaitFinish(UINT64_MAX), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemAdvise(da, 4096, 1, 0), 0);
    assert_int_equal(halMemAdvise(da, 8192, 1, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(drvMemPrefetchToDevice(db, 4096, 1), 0);
    assert_int_equal(drvMemPrefetchToDevice(db, 4096, 3), DRV_ERROR_INVALID_DEVICE);
    assert_int_equal(drvMemPrefetchToDevice(dh, 1, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemCtl(0, NULL, 0, NULL, NULL), DRV_ERROR_NOT_SUPPORT);
    halMemFree(a);
    assert_int_equal(drvMemcpy(da, 4096, db, 1), DRV_ERROR_INVALID_VALUE);
    halMemFree(b);
}

static void host_memory_is_registered_per_device(void **state)
{
    struct snpu_range r;
    struct DVattribute a;
    uint32_t cap = 0;
    void *dst = NULL;
    char *p = malloc(100000), *d = must_alloc(4096, DEV_FLAGS);
    assert_int_equal(halHostRegister(p, 100000, 0, 0, &dst), 0);
    assert_ptr_equal(dst, p);
    assert_true(snpu_hal_lookup(p + 99999, &r));
    assert_int_equal(r.kind, SNPU_RANGE_REGISTERED);
    assert_true(r.host_side);
    assert_int_equal(drvMemGetAttribute((uintptr_t)p, &a), 0);
    assert_int_equal(a.memType, DV_MEM_USER_REGISTER);
    assert_int_equal(halHostRegister(p, 100000, 0, 0, &dst), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegister(p + 50, 100, 0, 1, &dst), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegister(p, 100000, 0, 1, &dst), 0);
    assert_int_equal(halHostUnregister(p, 0), 0);
    assert_int_equal(halHostUnregister(p, 0), DRV_ERROR_INVALID_VALUE);
    assert_true(snpu_hal_lookup(p, &r));
    assert_int_equal(r.dev, 1);
    assert_int_equal(halHostUnregister(p + 1, 1), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostUnregisterEx(p, 1, 0), 0);
    assert_false(snpu_hal_lookup(p, &r));
    assert_int_equal(halHostRegister(NULL, 10, 0, 0, &dst), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegister(p, 0, 0, 0, &dst), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegister(p, UINT64_MAX, 0, 0, &dst), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegister(p, 10, 0, 7, &dst), DRV_ERROR_INVALID_DEVICE);
    assert_int_equal(halHostRegister(p, 10, 0, 0, NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegister(d, 4096, 0, 0, &dst), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegister((void *)0x10000000, 4096, 0, 0, &dst), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegisterCapabilities(0, 0, &cap), 0);
    assert_int_equal(cap, 1);
    assert_int_equal(halHostRegister(p, 100, 0, 2, &dst), 0);
    snpu_hal_release_device(2);
    assert_false(snpu_hal_lookup(p, &r));
    halMemFree(d);
    free(p);
}

static void pinned_memory_is_registered_as_well(void **state)
{
    struct snpu_range r;
    void *dst = NULL;
    char *p = must_alloc(100000, MEM_HOST);
    assert_int_equal(halHostRegister(p, 100000, 0, 0, &dst), 0);
    assert_ptr_equal(dst, p);
    assert_true(snpu_hal_lookup(p, &r));
    assert_int_equal(r.kind, SNPU_RANGE_HOST);
    assert_int_equal(halHostRegister(p, 100000, 0, 0, &dst), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegister(p, 1 << 30, 0, 1, &dst), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegister(p + 4096, 100, 0, 1, &dst), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halHostRegister(p, 4096, 0, 1, &dst), 0);
    assert_int_equal(halHostUnregister(p, 0), 0);
    assert_int_equal(halHostUnregister(p, 0), DRV_ERROR_INVALID_VALUE);
    halMemFree(p); /* ends the other registration */
    assert_int_equal(halHostUnregister(p, 1), DRV_ERROR_INVALID_VALUE);
}

int main(void)
{
    hal_use_machine("3", "256M");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_have_numbers),
        cmocka_unit_test(information_is_that_of_the_chip),
        cmocka_unit_test(state_and_peers),
        cmocka_unit_test(pointers_have_attributes),
        cmocka_unit_test(copies_and_fills_check_their_addresses),
        cmocka_unit_test(host_memory_is_registered_per_device),
        cmocka_unit_test(pinned_memory_is_registered_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
