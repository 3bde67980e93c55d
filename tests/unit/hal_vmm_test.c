/* SPDX-License-Identifier: Apache-2.0 */
#include "hal_test.h"

#include <pthread.h>
#include <sys/resource.h>

#define CAPACITY (256 * MIB)
#define UNIT     (2 * MIB)

static const struct drv_mem_prop huge_on_0 = {.side = MEM_DEV_SIDE, .module_id = 33, .pg_type = MEM_HUGE_PAGE_TYPE};

static drv_mem_handle_t *must_create(uint64_t size_b)
{
    drv_mem_handle_t *h = NULL;
    assert_int_equal(halMemCreate(&h, size_b, &huge_on_0, 0), 0);
    return h;
}

static char *must_reserve(uint64_t size_b)
{
    void *p = NULL;
    assert_int_equal(halMemAddressReserve(&p, size_b, 0, NULL, 0), 0);
    return p;
}

static void only_create_is_charged(void **state)
{
    char *at = must_reserve(64 * MIB);
    assert_int_equal(used_b(0), 0);
    drv_mem_handle_t *h = must_create(4 * MIB);
    assert_int_equal(used_b(0), 4 * MIB);
    assert_int_equal(halMemMap(at, 4 * MIB, 0, h, 0), 0);
    assert_int_equal(halMemMap(at + 8 * MIB, 4 * MIB, 0, h, 0), 0);
    assert_int_equal(used_b(0), 4 * MIB);
    /* Two mappings of the same memory. */
    strcpy(at + MIB, "hello");
    assert_string_equal(at + 9 * MIB, "hello");
    assert_int_equal(halMemRelease(h), 0);
    assert_int_equal(used_b(0), 4 * MIB);
    assert_int_equal(halMemUnmap(at), 0);
    assert_int_equal(used_b(0), 4 * MIB);
    assert_string_equal(at + 9 * MIB, "hello");
    assert_int_equal(halMemUnmap(at + 8 * MIB), 0);
    assert_int_equal(used_b(0), 0);
    assert_int_equal(halMemAddressFree(at), 0);
}

static void references_are_counted(void **state)
{
    char *at = must_reserve(UNIT);
    drv_mem_handle_t *h = must_create(UNIT), *again = NULL;
    assert_int_equal(halMemMap(at, UNIT, 0, h, 0), 0);
    assert_int_equal(halMemRetainAllocationHandle(&again, at + 100), 0);
    assert_ptr_equal(again, h);
    assert_int_equal(halMemRelease(h), 0);
    assert_int_equal(halMemRelease(h), 0);
    assert_int_equal(halMemRelease(h), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemMap(at, UNIT, 0, h, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(used_b(0), UNIT);
    /* The mapping yields the handle again. */
    assert_int_equal(halMemRetainAllocationHandle(&again, at), 0);
    assert_int_equal(halMemRelease(again), 0);
    assert_int_equal(halMemAddressFree(at), DRV_ERROR_BUSY);
    assert_int_equal(halMemUnmap(at), 0);
    assert_int_equal(halMemUnmap(at), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemRelease(h), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemRetainAllocationHandle(&again, at), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(used_b(0), 0);
    assert_int_equal(halMemAddressFree(at), 0);
    assert_int_equal(halMemAddressFree(at), DRV_ERROR_INVALID_VALUE);
}

static void wrong_arguments_are_refused(void **state)
{
    drv_mem_handle_t *h = NULL;
    struct drv_mem_prop prop = huge_on_0;
    void *p;
    assert_int_equal(halMemCreate(NULL, UNIT, &prop, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemCreate(&h, 0, &prop, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemCreate(&h, UNIT + 4096, &prop, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemCreate(&h, UNIT, NULL, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemCreate(&h, UNIT, &prop, 1), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemCreate(&h, CAPACITY + UNIT, &prop, 0), DRV_ERROR_OUT_OF_MEMORY);
    assert_int_equal(halMemCreate(&h, (size_t)-UNIT, &prop, 0), DRV_ERROR_OUT_OF_MEMORY);
    prop.devid = 2;
    assert_int_equal(halMemCreate(&h, UNIT, &prop, 0), DRV_ERROR_INVALID_DEVICE);
    prop.devid = 0, prop.pg_type = 3;
    assert_int_equal(halMemCreate(&h, UNIT, &prop, 0), DRV_ERROR_INVALID_VALUE);
    prop.pg_type = 0, prop.side = 3;
    assert_int_equal(halMemCreate(&h, UNIT, &prop, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemRelease(NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemRelease((drv_mem_handle_t *)&h), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemAddressReserve(NULL, UNIT, 0, NULL, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemAddressReserve(&p, 0, 0, NULL, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemAddressReserve(&p, UNIT, 3, NULL, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemAddressReserve(&p, SIZE_MAX, 0, NULL, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemAddressFree(NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemUnmap(NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemUnmap(&p), DRV_ERROR_INVALID_VALUE);

    char *at = must_reserve(8 * MIB);
    h = must_create(4 * MIB);
    assert_int_equal(halMemAddressFree(at + UNIT), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemMap(at, 6 * MIB, 0, h, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemMap(at + 6 * MIB, 4 * MIB, 0, h, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemMap(at + 4096, UNIT, 0, h, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemMap(at, 4 * MIB, UNIT, h, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemMap(at, 4 * MIB, 0, h, 5), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemMap(&p, UNIT, 0, h, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemMap(at, 4 * MIB, 0, (drv_mem_handle_t *)at, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemMap(at + UNIT, UNIT, UNIT, h, 0), 0);
    assert_int_equal(halMemMap(at, 4 * MIB, 0, h, 0), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemFree(at + UNIT), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemUnmap(at + UNIT + 4096), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemUnmap(at + UNIT), 0);
    assert_int_equal(halMemRelease(h), 0);
    assert_int_equal(halMemAddressFree(at), 0);
    assert_int_equal(used_b(0), 0);
}

static void granularity_and_alignment(void **state)
{
    static const struct {
        struct drv_mem_prop prop;
        drv_mem_granularity_options option;
        uint64_t expected;
    } cases[] = {
        {{.side = MEM_DEV_SIDE, .pg_type = 0}, MEM_ALLOC_GRANULARITY_MINIMUM, UNIT},
        {{.side = MEM_DEV_SIDE, .pg_type = 1}, MEM_ALLOC_GRANULARITY_RECOMMENDED, UNIT},
        {{.side = MEM_DEV_SIDE, .pg_type = 2}, MEM_ALLOC_GRANULARITY_MINIMUM, GIB},
        {{.side = MEM_HOST_SIDE, .pg_type = 0, .module_id = 33}, MEM_ALLOC_GRANULARITY_MINIMUM, UNIT},
        {{.side = MEM_HOST_SIDE, .pg_type = 0, .module_id = 7}, MEM_ALLOC_GRANULARITY_RECOMMENDED, UNIT},
        {{.side = MEM_HOST_SIDE, .pg_type = 0, .module_id = 7}, MEM_ALLOC_GRANULARITY_MINIMUM, 4096},
    };
    size_t g;
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        assert_int_equal(halMemGetAllocationGranularity(&cases[i].prop, cases[i].option, &g), 0);
        assert_int_equal(g, cases[i].expected);
    }
    assert_int_equal(halMemGetAllocationGranularity(&huge_on_0, MEM_ALLOC_GRANULARITY_INVALID, &g),
                     DRV_ERROR_INVALID_VALUE);
    void *p, *q;
    assert_int_equal(halMemAddressReserve(&p, 600 * MIB, 0, NULL, 0), 0);
    assert_int_equal((uintptr_t)p % GIB, 0);
    assert_int_equal(halMemAddressFree(p), 0);
    assert_int_equal(halMemAddressReserve(&q, 600 * MIB, 0, p, 1), 0);
    assert_ptr_equal(p, q); /* the requested address, since it is free */
    assert_int_equal(halMemAddressReserve(&p, UNIT, 0, q, 0), 0);
    assert_ptr_not_equal(p, q); /* another address, since it is not free */
    assert_int_equal(halMemAddressFree(p), 0);
    assert_int_equal(halMemAddressFree(q), 0);
}

static void host_side_handles_take_no_device_memory(void **state)
{
    struct drv_mem_prop prop = {.side = MEM_HOST_SIDE, .module_id = 33}, seen;
    drv_mem_handle_t *h;
    struct snpu_range r;
    char *at = must_reserve(UNIT);
    assert_int_equal(halMemCreate(&h, UNIT, &prop, 0), 0);
    assert_int_equal(used_b(0), 0);
    assert_int_equal(halMemMap(at, UNIT, 0, h, 0), 0);
    at[0] = 1;
    assert_true(snpu_hal_lookup(at, &r));
    assert_true(r.host_side);
    assert_int_equal(halMemGetAllocationPropertiesFromHandle(&seen, h), 0);
    assert_int_equal(seen.side, MEM_HOST_SIDE);
    assert_int_equal(seen.module_id, 33);
    assert_int_equal(halMemGetAllocationPropertiesFromHandle(NULL, h), DRV_ERROR_INVALID_VALUE);
    halMemRelease(h);
    assert_int_equal(halMemGetAllocationPropertiesFromHandle(&seen, h), DRV_ERROR_INVALID_VALUE);
    halMemUnmap(at);
    halMemAddressFree(at);
}

static void lookup_distinguishes_reserved_from_mapped(void **state)
{
    struct snpu_range r;
    DVdeviceptr base;
    size_t size;
    char *at = must_reserve(8 * MIB);
    drv_mem_handle_t *a = must_create(UNIT), *b = must_create(UNIT);
    assert_true(snpu_hal_lookup(at + 5, &r));
    assert_int_equal(r.kind, SNPU_RANGE_RESERVED);
    assert_false(snpu_hal_accessible(at, 1));
    assert_int_equal(halMemMap(at, UNIT, 0, a, 0), 0);
    assert_int_equal(halMemMap(at + UNIT, UNIT, 0, b, 0), 0);
    assert_true(snpu_hal_lookup(at + UNIT + 5, &r));
    assert_int_equal(r.kind, SNPU_RANGE_MAPPED);
    assert_int_equal(r.base, (uintptr_t)at + UNIT);
    assert_true(snpu_hal_accessible(at + 10, 2 * UNIT - 10)); /* across two mappings */
    assert_false(snpu_hal_accessible(at + 10, 2 * UNIT));
    assert_int_equal(halMemGetAddressRange((DVdeviceptr)(uintptr_t)at + UNIT + 9, &base, &size), 0);
    assert_int_equal(base, (uintptr_t)at + UNIT);
    assert_int_equal(size, UNIT);
    assert_int_equal(drvMemcpy((uintptr_t)at + UNIT, UNIT, (uintptr_t)at, UNIT), 0);
    assert_int_equal(drvMemcpy((uintptr_t)at + UNIT, 2 * UNIT, (uintptr_t)at, 2 * UNIT), DRV_ERROR_INVALID_VALUE);
    halMemUnmap(at), halMemUnmap(at + UNIT);
    halMemRelease(a), halMemRelease(b);
    halMemAddressFree(at);
    assert_false(snpu_hal_lookup(at, &r));
}

static sigjmp_buf after_fault;

static void on_fault(int signal)
{
    siglongjmp(after_fault, 1);
}

/* True if the access faults. */
static bool faults(volatile char *at, bool writing)
{
    struct sigaction sa = {.sa_handler = on_fault}, old;
    bool faulted = false;
    sigaction(SIGSEGV, &sa, &old);
    if (sigsetjmp(after_fault, 1) != 0) {
        faulted = true;
    } else if (writing) {
        *at = 1;
    } else {
        (void)*at;
    }
    sigaction(SIGSEGV, &old, NULL);
    return faulted;
}

static void access_is_applied(void **state)
{
    char *at = must_reserve(2 * UNIT);
    drv_mem_handle_t *h = must_create(2 * UNIT);
    struct drv_mem_location here = {.id = 0, .side = MEM_DEV_SIDE}, there = {.id = 1, .side = MEM_DEV_SIDE};
    uint64_t flags;
    assert_int_equal(halMemMap(at, UNIT, 0, h, 0), 0);
    assert_int_equal(halMemMap(at + UNIT, UNIT, UNIT, h, 0), 0);
    assert_int_equal(halMemGetAccess(at, &here, &flags), 0);
    assert_int_equal(flags, MEM_ACCESS_TYPE_READWRITE);
    assert_int_equal(halMemGetAccess(at, &there, &flags), 0);
    assert_int_equal(flags, MEM_ACCESS_TYPE_NONE);
    assert_false(faults(at, true));

    struct drv_mem_access_desc desc = {.type = MEM_ACCESS_TYPE_READ, .location = here};
    assert_int_equal(halMemSetAccess(at, 2 * UNIT, &desc, 1), 0);
    assert_true(faults(at + UNIT, true));
    assert_false(faults(at + UNIT, false));
    assert_true(snpu_hal_accessible(at, 2 * UNIT));
    assert_false(snpu_hal_writable(at, 2 * UNIT));
    assert_int_equal(drvMemsetD8((uintptr_t)at, UNIT, 0, UNIT), DRV_ERROR_INVALID_VALUE);

    desc.type = MEM_ACCESS_TYPE_NONE;
    assert_int_equal(halMemSetAccess(at, UNIT, &desc, 1), 0);
    assert_true(faults(at, false));
    assert_false(faults(at + UNIT, false));
    assert_false(snpu_hal_accessible(at, 1));

    struct drv_mem_access_desc both[] = {{.type = MEM_ACCESS_TYPE_READWRITE, .location = here},
                                         {.type = MEM_ACCESS_TYPE_READWRITE, .location = there}};
    assert_int_equal(halMemSetAccess(at, 2 * UNIT, both, 2), 0);
    assert_false(faults(at, true));
    assert_int_equal(halMemGetAccess(at, &there, &flags), 0);
    assert_int_equal(flags, MEM_ACCESS_TYPE_READWRITE);

    assert_int_equal(halMemSetAccess(at, UNIT + 4096, both, 2), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemSetAccess(at, 3 * UNIT, both, 2), DRV_ERROR_INVALID_VALUE);
    both[1].location.id = 2;
    assert_int_equal(halMemSetAccess(at, UNIT, both, 2), DRV_ERROR_INVALID_DEVICE);
    both[1].location.id = 1, both[1].type = 2;
    assert_int_equal(halMemSetAccess(at, UNIT, both, 2), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemSetAccess(at, UNIT, NULL, 1), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemGetAccess(at, NULL, &flags), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemGetAccess(&flags, &here, &flags), DRV_ERROR_INVALID_VALUE);

    assert_int_equal(halMemUnmap(at), 0);
    assert_true(faults(at, false));
    halMemUnmap(at + UNIT);
    halMemRelease(h);
    halMemAddressFree(at);
}

static void thousands_of_handles_need_no_descriptors(void **state)
{
    struct rlimit limit = {.rlim_cur = 40, .rlim_max = 40}, old;
    getrlimit(RLIMIT_NOFILE, &old);
    limit.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    drv_mem_handle_t *h[CAPACITY / UNIT];
    char *at = must_reserve(CAPACITY);
    for (size_t i = 0; i < MS_COUNT_OF(h); i++) {
        h[i] = must_create(UNIT);
        assert_int_equal(halMemMap(at + i * UNIT, UNIT, 0, h[i], 0), 0);
        at[i * UNIT] = (char)i;
    }
    drv_mem_handle_t *none;
    assert_int_equal(halMemCreate(&none, UNIT, &huge_on_0, 0), DRV_ERROR_OUT_OF_MEMORY);
    for (size_t i = 0; i < MS_COUNT_OF(h); i++) {
        assert_int_equal(at[i * UNIT], (char)i);
        assert_int_equal(halMemUnmap(at + i * UNIT), 0);
        assert_int_equal(halMemRelease(h[i]), 0);
    }
    halMemAddressFree(at);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(used_b(0), 0);
}

static void releasing_the_device_frees_handles_and_mappings(void **state)
{
    char *at = must_reserve(8 * MIB);
    drv_mem_handle_t *a = must_create(UNIT), *b = must_create(UNIT);
    assert_int_equal(halMemMap(at, UNIT, 0, a, 0), 0);
    snpu_hal_release_device(0);
    assert_int_equal(used_b(0), 0);
    assert_int_equal(halMemRelease(a), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemRelease(b), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemUnmap(at), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemAddressFree(at), 0); /* addresses belong to the process */
}

static void module_zero_is_booked_under_ascendcl(void **state)
{
    struct drv_mem_prop prop = {.side = MEM_DEV_SIDE, .devid = 1};
    struct mem_module_usage usage[8];
    size_t n;
    drv_mem_handle_t *h;
    assert_int_equal(halMemCreate(&h, UNIT, &prop, 0), 0);
    assert_int_equal(halGetMemUsageInfo(1, usage, 8, &n), 0);
    assert_int_equal(n, 1);
    assert_string_equal(usage[0].name, "ASCENDCL");
    assert_int_equal(usage[0].cur_mem_size, UNIT);
    halMemRelease(h);
}

/* ---- threads ---- */

static void *grow_and_shrink(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    void *p;
    if (halMemAddressReserve(&p, 16 * UNIT, 0, NULL, 0) != 0) {
        return "reserve";
    }
    char *at = p;
    bool mapped[16] = {false};
    for (int i = 0; i < 1500; i++) {
        unsigned k = (unsigned)rand_r(&seed) % 16;
        drv_mem_handle_t *h;
        struct snpu_range r;
        if (mapped[k]) {
            if (!snpu_hal_lookup(at + k * UNIT + 5, &r) || r.base != (uintptr_t)at + k * UNIT ||
                at[k * UNIT] != (char)(uintptr_t)arg || halMemUnmap(at + k * UNIT) != 0) {
                return "unmap";
            }
            mapped[k] = false;
        } else if (halMemCreate(&h, UNIT, &huge_on_0, 0) == 0) {
            if (halMemMap(at + k * UNIT, UNIT, 0, h, 0) != 0 || halMemRelease(h) != 0) {
                return "map";
            }
            at[k * UNIT] = (char)(uintptr_t)arg;
            mapped[k] = true;
        }
    }
    for (unsigned k = 0; k < 16; k++) {
        if (mapped[k]) {
            halMemUnmap(at + k * UNIT);
        }
    }
    return halMemAddressFree(p) == 0 ? NULL : "free";
}

static void threads_map_concurrently(void **state)
{
    pthread_t t[8];
    for (uintptr_t i = 0; i < MS_COUNT_OF(t); i++) {
        pthread_create(&t[i], NULL, grow_and_shrink, (void *)(i + 1));
    }
    for (size_t i = 0; i < MS_COUNT_OF(t); i++) {
        void *complaint;
        pthread_join(t[i], &complaint);
        assert_null(complaint);
    }
    assert_int_equal(used_b(0), 0);
}

int main(void)
{
    hal_use_machine("2", "256M");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_create_is_charged),
        cmocka_unit_test(references_are_counted),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(granularity_and_alignment),
        cmocka_unit_test(host_side_handles_take_no_device_memory),
        cmocka_unit_test(lookup_distinguishes_reserved_from_mapped),
        cmocka_unit_test(access_is_applied),
        cmocka_unit_test(thousands_of_handles_need_no_descriptors),
        cmocka_unit_test(releasing_the_device_frees_handles_and_mappings),
        cmocka_unit_test(module_zero_is_booked_under_ascendcl),
        cmocka_unit_test(threads_map_concurrently),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
