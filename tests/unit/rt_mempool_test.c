/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools with stream-ordered allocation, and framework allocators. */
#include "rt_fixture.h"

#include <pthread.h>

#define UNIT_B ((size_t)2 << 20)

static aclrtMemPool new_pool(size_t max_b, uint64_t threshold_b)
{
    aclrtMemPool pool = NULL;
    aclrtMemPoolProps props;
    memset(&props, 0, sizeof(props));
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = max_b;
    assert_int_equal(aclrtMemPoolCreate(&pool, &props), ACL_SUCCESS);
    assert_int_equal(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold_b), ACL_SUCCESS);
    return pool;
}

static uint64_t figure(aclrtMemPool pool, aclrtMemPoolAttr attr)
{
    uint64_t value = UINT64_MAX;
    assert_int_equal(aclrtMemPoolGetAttr(pool, attr, &value), ACL_SUCCESS);
    return value;
}

static void *take(aclrtMemPool pool, size_t size_b, aclrtStream stream)
{
    void *p = NULL;
    assert_int_equal(aclrtMemPoolMallocAsync(&p, size_b, pool, stream), ACL_SUCCESS);
    return p;
}

static void give(void *p, aclrtStream stream)
{
    assert_int_equal(aclrtMemPoolFreeAsync(p, stream), ACL_SUCCESS);
}

static void life(void **state)
{
    (void)state;
    uint64_t before = used_b(0);
    aclrtMemPool pool = new_pool(0, UINT64_MAX);
    char *a = take(pool, 1000, NULL), *b = take(pool, 3 * UNIT_B, NULL);
    memset(a, 1, 1000);
    memset(b, 2, 3 * UNIT_B);
    assert_int_equal((uintptr_t)a % 512, 0);
    assert_int_equal(figure(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 1024 + 3 * UNIT_B);
    assert_int_equal(figure(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 4 * UNIT_B);
    assert_int_equal(used_b(0) - before, 4 * UNIT_B);
    check_failed(aclrtFree(a), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtFree(b), ACL_ERROR_RT_PARAM_INVALID);
    give(a, NULL);
    check_failed(aclrtMemPoolFreeAsync(a, NULL), ACL_ERROR_RT_PARAM_INVALID);
    give(b, NULL);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(figure(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 0);
    assert_int_equal(figure(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH), 1024 + 3 * UNIT_B);
    assert_int_equal(figure(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 4 * UNIT_B); /* kept */
    char *c = take(pool, 2 * UNIT_B, NULL);
    assert_int_equal(figure(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 4 * UNIT_B); /* reused */
    assert_int_equal(aclrtMemPoolTrimTo(pool, 0), ACL_SUCCESS);
    assert_int_equal(figure(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 3 * UNIT_B);
    give(c, NULL);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(aclrtMemPoolTrimTo(pool, 0), ACL_SUCCESS);
    assert_int_equal(figure(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 0);
    assert_int_equal(used_b(0), before);
    uint64_t zero = 0;
    assert_int_equal(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &zero), ACL_SUCCESS);
    assert_int_equal(figure(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH), 0);
    check_failed(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &zero), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemPoolGetAttr(pool, (aclrtMemPoolAttr)77, &zero), ACL_ERROR_RT_PARAM_INVALID);
    int32_t off = 0, value = 5;
    assert_int_equal(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, &off), ACL_SUCCESS);
    assert_int_equal(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, &value), ACL_SUCCESS);
    assert_int_equal(value, 0);
    assert_int_equal(aclrtMemPoolDestroy(pool), ACL_SUCCESS);
    check_failed(aclrtMemPoolDestroy(pool), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemPoolMallocAsync((void **)&a, 100, pool, NULL), ACL_ERROR_RT_PARAM_INVALID);
}

static void stream_order(void **state)
{
    (void)state;
    struct snpu_ctx *ctx;
    assert_int_equal(snpu_ctx_need("test", &ctx), 0);
    aclrtMemPool pool = new_pool(0, UINT64_MAX);
    aclrtStream other = NULL;
    assert_int_equal(aclrtCreateStream(&other), ACL_SUCCESS);
    char *a = take(pool, UNIT_B, NULL);
    close_gate();
    give(a, NULL); /* not passed yet: the gate precedes it */
    char *b = take(pool, UNIT_B, other);
    assert_true(b != a); /* not available to another stream */
    char *c = take(pool, UNIT_B, NULL);
    assert_ptr_equal(c, a); /* available to the stream that freed it */
    give(c, NULL);
    open_gate();
    assert_int_equal(synchronize(), 0);
    char *d = take(pool, UNIT_B, other);
    assert_ptr_equal(d, a); /* passed: available to all */
    give(b, other);
    give(d, other);
    assert_int_equal(aclrtSynchronizeStream(other), ACL_SUCCESS);
    assert_int_equal(aclrtDestroyStream(other), ACL_SUCCESS);
    assert_int_equal(aclrtMemPoolDestroy(pool), ACL_SUCCESS);
}

static void limits(void **state)
{
    (void)state;
    uint64_t before = used_b(0);
    aclrtMemPool pool = new_pool(4 * UNIT_B, 0);
    void *a = take(pool, 3 * UNIT_B, NULL), *b = NULL;
    check_failed(aclrtMemPoolMallocAsync(&b, 2 * UNIT_B, pool, NULL), ACL_ERROR_RT_MEMORY_ALLOCATION);
    check_failed(aclrtMemPoolMallocAsync(&b, 0, pool, NULL), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemPoolMallocAsync(&b, SIZE_MAX - 5, pool, NULL), ACL_ERROR_RT_PARAM_INVALID);
    give(a, NULL);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(used_b(0), before); /* threshold 0: nothing is kept */
    b = take(pool, 4 * UNIT_B, NULL);
    /* Destroyed with a block in use: the memory is released when the block is freed. */
    assert_int_equal(aclrtMemPoolDestroy(pool), ACL_SUCCESS);
    memset(b, 1, 4 * UNIT_B);
    assert_int_equal(used_b(0) - before, 4 * UNIT_B);
    give(b, NULL);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(used_b(0), before);
    pool = new_pool(0, 0);
    check_failed(aclrtMemPoolMallocAsync(&b, (size_t)1 << 45, pool, NULL), ACL_ERROR_RT_MEMORY_ALLOCATION);
    assert_int_equal(aclrtMemPoolDestroy(pool), ACL_SUCCESS);
    aclrtMemPoolProps props;
    memset(&props, 0, sizeof(props));
    check_failed(aclrtMemPoolCreate(&pool, &props), ACL_ERROR_RT_PARAM_INVALID); /* host location */
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = 12;
    check_failed(aclrtMemPoolCreate(&pool, &props), ACL_ERROR_RT_INVALID_DEVICEID);
    check_failed(aclrtMemPoolCreate(&pool, NULL), ACL_ERROR_INVALID_PARAM);
}

/* Random sizes from several threads and streams; every byte of a block carries the block's mark. */
static aclrtMemPool shared_pool;

static void *churn(void *argument)
{
    enum { SLOTS = 24, ROUNDS = 1500 };
    uint64_t random = 0x9e3779b97f4a7c15u * (1 + (uintptr_t)argument);
    struct {
        unsigned char *p;
        size_t size_b;
    } slots[SLOTS];
    memset(slots, 0, sizeof(slots));
    aclrtStream stream = NULL;
    assert_int_equal(snpu_device_set("test", 0), 0);
    assert_int_equal(aclrtCreateStream(&stream), ACL_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        size_t k = random % SLOTS;
        unsigned char mark = (unsigned char)(1 + k + 32 * (uintptr_t)argument);
        if (slots[k].p == NULL) {
            slots[k].size_b = 1 + (random >> 20) % 200000;
            slots[k].p = take(shared_pool, slots[k].size_b, stream);
            assert_int_equal(aclrtMemsetAsync(slots[k].p, slots[k].size_b, mark, slots[k].size_b, stream), ACL_SUCCESS);
        } else {
            if (random >> 60 == 0) {
                assert_int_equal(aclrtSynchronizeStream(stream), ACL_SUCCESS);
                assert_int_equal(slots[k].p[0], mark);
                assert_int_equal(slots[k].p[slots[k].size_b - 1], mark);
            }
            give(slots[k].p, stream);
            slots[k].p = NULL;
        }
    }
    for (size_t k = 0; k < SLOTS; k++) {
        if (slots[k].p != NULL) {
            give(slots[k].p, stream);
        }
    }
    assert_int_equal(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    assert_int_equal(aclrtDestroyStream(stream), ACL_SUCCESS);
    return NULL;
}

static void many_threads(void **state)
{
    (void)state;
    uint64_t before = used_b(0);
    pthread_t threads[4];
    shared_pool = new_pool(0, 8 * UNIT_B);
    for (uintptr_t i = 0; i < MS_COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    }
    for (size_t i = 0; i < MS_COUNT_OF(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(figure(shared_pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 0);
    assert_true(figure(shared_pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT) <= 8 * UNIT_B);
    assert_int_equal(aclrtMemPoolDestroy(shared_pool), ACL_SUCCESS);
    assert_int_equal(used_b(0), before);
}

/* ---- allocators ---- */
static void *alloc_block(aclrtAllocator allocator, size_t size)
{
    (void)size;
    return allocator;
}

static void free_block(aclrtAllocator allocator, aclrtAllocatorBlock block)
{
    (void)allocator;
    (void)block;
}

static void *block_address(aclrtAllocatorBlock block)
{
    return block;
}

static void allocators(void **state)
{
    (void)state;
    int object;
    aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc(), found = NULL;
    aclrtAllocator who = NULL;
    aclrtAllocatorAllocFunc alloc = NULL;
    aclrtAllocatorFreeFunc release = NULL;
    aclrtAllocatorAllocAdviseFunc advise = NULL;
    aclrtAllocatorGetAddrFromBlockFunc address = NULL;
    assert_non_null(desc);
    check_failed(aclrtAllocatorGetByStream(NULL, &found, &who, &alloc, &release, &advise, &address),
                 ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtAllocatorRegister(NULL, desc), ACL_ERROR_RT_PARAM_INVALID); /* incomplete */
    assert_int_equal(aclrtAllocatorSetObjToDesc(desc, &object), ACL_SUCCESS);
    assert_int_equal(aclrtAllocatorSetAllocFuncToDesc(desc, alloc_block), ACL_SUCCESS);
    assert_int_equal(aclrtAllocatorSetFreeFuncToDesc(desc, free_block), ACL_SUCCESS);
    assert_int_equal(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, block_address), ACL_SUCCESS);
    check_failed(aclrtAllocatorSetAllocAdviseFuncToDesc(desc, NULL), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtAllocatorSetObjToDesc(&object, &object), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtAllocatorRegister(NULL, desc), ACL_SUCCESS);
    assert_int_equal(aclrtAllocatorGetByStream(NULL, &found, &who, &alloc, &release, &advise, &address), ACL_SUCCESS);
    assert_ptr_equal(found, desc);
    assert_ptr_equal(who, &object);
    assert_true(alloc == alloc_block && release == free_block && advise == NULL && address == block_address);
    assert_int_equal(aclrtAllocatorUnregister(NULL), ACL_SUCCESS);
    check_failed(aclrtAllocatorUnregister(NULL), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtAllocatorDestroyDesc(desc), ACL_SUCCESS);
    check_failed(aclrtAllocatorDestroyDesc(desc), ACL_ERROR_RT_PARAM_INVALID);
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
        cmocka_unit_test(life),         cmocka_unit_test(stream_order), cmocka_unit_test(limits),
        cmocka_unit_test(many_threads), cmocka_unit_test(allocators),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
