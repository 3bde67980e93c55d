/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills: kinds, ranges, order in a stream, staging, rows, batches, operands in memory, reductions. */
#include "rt_fixture.h"

#include "base/half.h"
#include "runtime/rt.h"

#include <sys/mman.h>

/* ---- flat copies ---- */
static void kinds(void **state)
{
    (void)state;
    char host[64] = "from the host", back[64] = "";
    char *a = dev_memory(64), *b = dev_memory(64);
    assert_int_equal(aclrtMemcpy(a, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpy(b, 64, a, 64, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpy(back, 64, b, 64, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    assert_string_equal(back, host);
    for (int kind = ACL_MEMCPY_HOST_TO_HOST; kind <= ACL_MEMCPY_INTER_DEVICE_TO_DEVICE; kind++) {
        memset(b, 0, 64);
        assert_int_equal(aclrtMemcpy(b, 64, a, 64, (aclrtMemcpyKind)kind), ACL_SUCCESS);
        assert_string_equal(b, host);
        memset(b, 0, 64);
        assert_int_equal(aclrtMemcpyAsync(b, 64, a, 64, (aclrtMemcpyKind)kind, NULL), ACL_SUCCESS);
        assert_int_equal(synchronize(), 0);
        assert_string_equal(b, host);
    }
    must_free(a);
    must_free(b);
}

static void wrong_copies(void **state)
{
    (void)state;
    char host[64] = "x", *dev = dev_memory(1 << 20), *gone = dev_memory(4096), *hole;
    must_free(gone);
    hole = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(munmap(hole, 4096), 0);
    assert_int_equal(aclrtMemcpy(NULL, 0, NULL, 0, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpyAsync(NULL, 0, NULL, 0, ACL_MEMCPY_HOST_TO_DEVICE, NULL), ACL_SUCCESS);
    check_failed(aclrtMemcpy(NULL, 8, host, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMemcpy(dev, 8, NULL, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMemcpy(dev, 8, host, 9, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemcpy(dev, 8, host, 8, (aclrtMemcpyKind)8), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMemcpy(dev, 8, host, 8, (aclrtMemcpyKind)-1), ACL_ERROR_INVALID_PARAM);
    /* Invalid addresses: an error code, no crash. */
    static const struct {
        uintptr_t addr;
    } wild[] = {{8}, {0x1000}, {UINTPTR_MAX - 4}, {(uintptr_t)1 << 62}};
    for (size_t i = 0; i < MS_COUNT_OF(wild); i++) {
        void *p = (void *)wild[i].addr;
        check_failed(aclrtMemcpy(p, 64, host, 8, ACL_MEMCPY_DEFAULT), ACL_ERROR_RT_PARAM_INVALID);
        check_failed(aclrtMemcpy(dev, 64, p, 8, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
        check_failed(aclrtMemcpyAsync(dev, 64, p, 8, ACL_MEMCPY_HOST_TO_DEVICE, NULL), ACL_ERROR_RT_PARAM_INVALID);
        check_failed(aclrtMemset(p, 64, 0, 8), ACL_ERROR_RT_PARAM_INVALID);
    }
    check_failed(aclrtMemcpy(gone, 64, host, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemcpy(hole, 64, dev, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemcpy(dev, (size_t)1 << 40, host, (size_t)1 << 40, ACL_MEMCPY_HOST_TO_DEVICE),
                 ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemcpy(dev, (size_t)3 << 20, dev, (size_t)3 << 20, ACL_MEMCPY_DEVICE_TO_DEVICE),
                 ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemcpyAsync(dev, 64, host, 8, ACL_MEMCPY_HOST_TO_DEVICE, (void *)64), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(rtMemcpy(dev, 64, host, 8, RT_MEMCPY_ADDR_DEVICE_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    /* Freed between the call and the copy. */
    char *soon_gone = dev_memory(4096);
    close_gate();
    assert_int_equal(aclrtMemcpyAsync(soon_gone, 64, dev, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, NULL), ACL_SUCCESS);
    must_free(soon_gone);
    open_gate();
    assert_int_equal(synchronize(), ACL_ERROR_RT_SYS_DMA);
    must_free(dev);
}

static void staging(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 100, 2048, 2049, 100000, 3 << 20};
    for (size_t i = 0; i < MS_COUNT_OF(sizes); i++) {
        size_t size = sizes[i];
        char *host = malloc(size), *pinned = NULL, *a = dev_memory(size), *b = dev_memory(size);
        assert_int_equal(aclrtMallocHost((void **)&pinned, size), ACL_SUCCESS);
        memset(host, 1, size);
        memset(pinned, 1, size);
        close_gate();
        assert_int_equal(aclrtMemcpyAsync(a, size, host, size, ACL_MEMCPY_HOST_TO_DEVICE, NULL), ACL_SUCCESS);
        assert_int_equal(aclrtMemcpyAsync(b, size, pinned, size, ACL_MEMCPY_HOST_TO_DEVICE, NULL), ACL_SUCCESS);
        memset(host, 2, size);
        memset(pinned, 2, size);
        open_gate();
        assert_int_equal(synchronize(), 0);
        assert_int_equal(a[0], 1); /* pageable: read in the call */
        assert_int_equal(a[size - 1], 1);
        assert_int_equal(b[0], 2); /* pinned: read when the copy runs */
        assert_int_equal(b[size - 1], 2);
        free(host);
        assert_int_equal(aclrtFreeHost(pinned), ACL_SUCCESS);
        must_free(a);
        must_free(b);
    }
}

static void order(void **state)
{
    (void)state;
    enum { ROUNDS = 3000 };
    uint32_t *a = dev_memory(64), *b = dev_memory(64);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        assert_int_equal(aclrtMemcpyAsync(a, 4, &i, 4, ACL_MEMCPY_HOST_TO_DEVICE, NULL), ACL_SUCCESS);
        assert_int_equal(aclrtMemcpyAsync(b, 4, a, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, NULL), ACL_SUCCESS);
    }
    assert_int_equal(synchronize(), 0);
    assert_int_equal(*b, ROUNDS - 1);
    must_free(a);
    must_free(b);
}

static void conditional(void **state)
{
    (void)state;
    uint64_t value = 77, back = 0, *dev = dev_memory(64);
    assert_int_equal(aclrtMemcpyAsyncWithCondition(dev, 8, &value, 8, ACL_MEMCPY_HOST_TO_DEVICE, NULL), ACL_SUCCESS);
    assert_int_equal(*dev, 77); /* done on return: pageable memory is involved */
    assert_int_equal(aclrtMemcpyAsyncWithCondition(&back, 8, dev, 8, ACL_MEMCPY_DEVICE_TO_HOST, NULL), ACL_SUCCESS);
    assert_int_equal(back, 77);
    check_failed(aclrtMemcpyAsyncWithCondition(dev, 4, &value, 8, ACL_MEMCPY_HOST_TO_DEVICE, NULL),
                 ACL_ERROR_RT_PARAM_INVALID);
    must_free(dev);
}

/* ---- rows ---- */
static void rows(void **state)
{
    (void)state;
    char host[10 * 8], *dev = dev_memory(4096), back[5 * 8];
    for (size_t i = 0; i < sizeof(host); i++) {
        host[i] = (char)i;
    }
    assert_int_equal(aclrtMemcpy2d(dev, 100, host, 10, 5, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    assert_int_equal(dev[0], 0);
    assert_int_equal(dev[4], 4);
    assert_int_equal(dev[5], 0);
    assert_int_equal(dev[704], 74);
    memset(dev, 0, 4096);
    close_gate();
    assert_int_equal(aclrtMemcpy2dAsync(dev, 100, host, 10, 5, 8, ACL_MEMCPY_HOST_TO_DEVICE, NULL), ACL_SUCCESS);
    memset(host, 0, sizeof(host));
    assert_int_equal(aclrtMemcpy2dAsync(back, 5, dev, 100, 5, 8, ACL_MEMCPY_DEVICE_TO_HOST, NULL), ACL_SUCCESS);
    open_gate();
    assert_int_equal(synchronize(), 0);
    assert_int_equal(back[4], 4);
    assert_int_equal(back[39], 74);
    check_failed(aclrtMemcpy2d(dev, 4, host, 10, 5, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemcpy2d(dev, SIZE_MAX / 2, host, 10, 5, 8, ACL_MEMCPY_HOST_TO_DEVICE),
                 ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemcpy2d(dev, 1 << 20, host, 10, 5, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtMemcpy2d(dev, 5, host, 10, 5, 0, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    must_free(dev);
}

/* ---- batches ---- */
static void batches(void **state)
{
    (void)state;
    int a = 1, b = 2, back[2] = {0, 0};
    int *dev = dev_memory(64);
    void *dsts[] = {dev, dev + 1, &back[0]}, *srcs[] = {&a, &b, dev};
    size_t max[] = {4, 4, 8}, sizes[] = {4, 4, 8}, failed = 5, indexes[] = {0, 2};
    aclrtMemcpyBatchAttr attrs[2];
    memset(attrs, 0, sizeof(attrs));
    assert_int_equal(aclrtMemcpyBatch(dsts, max, srcs, sizes, 3, attrs, indexes, 2, &failed), ACL_SUCCESS);
    assert_int_equal(failed, SIZE_MAX);
    assert_int_equal(back[0] + 10 * back[1], 21);
    memset(back, 0, sizeof(back));
    assert_int_equal(aclrtMemcpyBatchAsync(dsts, max, srcs, sizes, 3, attrs, indexes, 2, &failed, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(back[0] + 10 * back[1], 21);
    assert_int_equal(aclrtMemcpyBatchV2(dsts, max, srcs, sizes, 3, attrs, indexes, 2), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpyBatchAsyncV2(dsts, max, srcs, sizes, 3, NULL, NULL, 0, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    sizes[1] = 5;
    dev[0] = 0;
    check_failed(aclrtMemcpyBatch(dsts, max, srcs, sizes, 3, attrs, indexes, 2, &failed), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(failed, 1);
    assert_int_equal(dev[0], 0); /* nothing was copied */
    sizes[1] = 4;
    srcs[2] = (void *)16;
    check_failed(aclrtMemcpyBatch(dsts, max, srcs, sizes, 3, attrs, indexes, 2, &failed), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(failed, 2);
    indexes[1] = 0;
    check_failed(aclrtMemcpyBatch(dsts, max, srcs, sizes, 3, attrs, indexes, 2, &failed), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMemcpyBatch(dsts, max, srcs, sizes, 0, attrs, indexes, 0, &failed), ACL_ERROR_INVALID_PARAM);
    must_free(dev);
}

/* ---- operands in memory ---- */
static void operands_in_memory(void **state)
{
    (void)state;
    char *a = dev_memory(256), *b = dev_memory(256), **cells = dev_memory(64);
    strcpy(a + 10, "indirect");
    close_gate();
    assert_int_equal(aclrtMemcpyAsyncWithOffset((void **)&cells[0], 256, 20, (const void **)&cells[1], 9, 10,
                                                ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL),
                     ACL_SUCCESS);
    cells[0] = b; /* read when the copy runs */
    cells[1] = a;
    open_gate();
    assert_int_equal(synchronize(), 0);
    assert_string_equal(b + 20, "indirect");
    check_failed(aclrtMemcpyAsyncWithOffset((void **)&cells[0], 256, 250, (const void **)&cells[1], 9, 10,
                                            ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL),
                 ACL_ERROR_RT_PARAM_INVALID);
    cells[1] = (char *)64;
    assert_int_equal(aclrtMemcpyAsyncWithOffset((void **)&cells[0], 256, 20, (const void **)&cells[1], 9, 10,
                                                ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL),
                     ACL_SUCCESS);
    assert_int_equal(synchronize(), ACL_ERROR_RT_SYS_DMA);

    size_t desc_b = 0;
    assert_int_equal(aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &desc_b), ACL_SUCCESS);
    void *desc = dev_memory(desc_b);
    memset(b, 0, 256);
    assert_int_equal(aclrtSetMemcpyDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, a, b, 64, NULL), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_string_equal(b + 10, "indirect");
    memset(desc, 0, desc_b);
    assert_int_equal(aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), ACL_ERROR_RT_SYS_DMA);
    check_failed(aclrtGetMemcpyDescSize(ACL_MEMCPY_HOST_TO_DEVICE, &desc_b), ACL_ERROR_INVALID_PARAM);
    must_free(desc);
    must_free(a);
    must_free(b);
    must_free(cells);
}

/* ---- fills ---- */
static void fills(void **state)
{
    (void)state;
    unsigned char *p = dev_memory(100);
    assert_int_equal(aclrtMemset(p, 100, 0x1ab, 50), ACL_SUCCESS);
    assert_int_equal(p[49], 0xab);
    assert_int_equal(p[50], 0);
    assert_int_equal(aclrtMemsetAsync(p, 100, 7, 100, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(p[99], 7);
    assert_int_equal(aclrtMemset(NULL, 0, 0, 0), ACL_SUCCESS);
    check_failed(aclrtMemset(NULL, 100, 0, 100), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtMemset(p, 100, 0, 101), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemsetAsync(p, 100, 0, 101, NULL), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtMemsetD32(p, 100, 0x04030201, 25), ACL_SUCCESS);
    assert_int_equal(p[98], 3);
    assert_int_equal(aclrtMemsetD32Async(p + 1, 99, 0x04030201, 2, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(p[8], 4);
    check_failed(aclrtMemsetD32(p, 100, 0, 26), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemsetD32(p, 100, 0, SIZE_MAX / 2), ACL_ERROR_RT_PARAM_INVALID);
    must_free(p);
}

/* ---- reductions ---- */
static void reductions(void **state)
{
    (void)state;
    float *f = dev_memory(64), *g = dev_memory(64);
    f[0] = 1.5f, f[1] = -2, g[0] = 3, g[1] = -7;
    assert_int_equal(aclrtReduceAsync(f, g, 8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_true(f[0] == 4.5f && f[1] == -9.0f);
    assert_int_equal(aclrtReduceAsync(f, g, 8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, ACL_FLOAT, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_true(f[0] == 4.5f && f[1] == -7.0f);

    int8_t *c = (int8_t *)f, *d = (int8_t *)g;
    c[0] = 120, d[0] = 10, c[1] = -3, d[1] = 3;
    assert_int_equal(aclrtReduceAsync(c, d, 2, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT8, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(c[0], -126);
    assert_int_equal(c[1], 0);
    int32_t *i = (int32_t *)f, *k = (int32_t *)g;
    i[0] = -5, k[0] = 3;
    assert_int_equal(aclrtReduceAsync(i, k, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN, ACL_INT32, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(i[0], -5);
    uint16_t *h = (uint16_t *)f, *m = (uint16_t *)g;
    h[0] = ms_float_to_half(1.25f), m[0] = ms_float_to_half(2.5f);
    assert_int_equal(aclrtReduceAsync(h, m, 2, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT16, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_true(ms_half_to_float(h[0]) == 3.75f);
    h[0] = ms_float_to_bf16(1), m[0] = ms_float_to_bf16(-2);
    assert_int_equal(aclrtReduceAsync(h, m, 2, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN, ACL_BF16, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_true(ms_bf16_to_float(h[0]) == -2.0f);
    check_failed(aclrtReduceAsync(f, g, 7, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL),
                 ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtReduceAsync(f, g, 8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_DOUBLE, NULL, NULL),
                 ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtReduceAsync(f, (void *)8, 8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, NULL, NULL),
                 ACL_ERROR_RT_PARAM_INVALID);
    must_free(f);
    must_free(g);
}

static void cache_maintenance(void **state)
{
    (void)state;
    char *p = dev_memory(4096);
    size_t desc_b = 0;
    assert_int_equal(aclrtCmoAsync(p, 4096, ACL_RT_CMO_TYPE_PREFETCH, NULL), ACL_SUCCESS);
    assert_int_equal(aclrtCmoAsyncWithBarrier(p, 4096, ACL_RT_CMO_TYPE_FLUSH, 1, NULL), ACL_SUCCESS);
    aclrtBarrierTaskInfo barrier;
    memset(&barrier, 0, sizeof(barrier));
    barrier.barrierNum = 1;
    assert_int_equal(aclrtCmoWaitBarrier(&barrier, NULL, 0), ACL_SUCCESS);
    assert_int_equal(aclrtCmoGetDescSize(&desc_b), ACL_SUCCESS);
    void *desc = dev_memory(desc_b);
    assert_int_equal(aclrtCmoSetDesc(desc, p, 4096), ACL_SUCCESS);
    assert_int_equal(aclrtCmoAsyncWithDesc(desc, ACL_RT_CMO_TYPE_WRITEBACK, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    check_failed(aclrtCmoAsync(p, (size_t)1 << 40, ACL_RT_CMO_TYPE_PREFETCH, NULL), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtCmoAsync(p, 4096, (aclrtCmoType)4, NULL), ACL_ERROR_INVALID_PARAM);
    barrier.barrierNum = 7;
    check_failed(aclrtCmoWaitBarrier(&barrier, NULL, 0), ACL_ERROR_INVALID_PARAM);
    must_free(desc);
    must_free(p);
}

static int set_up(void **state)
{
    (void)state;
    return snpu_device_set("test", 0);
}

int main(void)
{
    hal_use_machine("1", "1G");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),      cmocka_unit_test(wrong_copies),       cmocka_unit_test(staging),
        cmocka_unit_test(order),      cmocka_unit_test(conditional),        cmocka_unit_test(rows),
        cmocka_unit_test(batches),    cmocka_unit_test(operands_in_memory), cmocka_unit_test(fills),
        cmocka_unit_test(reductions), cmocka_unit_test(cache_maintenance),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
