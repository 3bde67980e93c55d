/* SPDX-License-Identifier: Apache-2.0 */
#include "npupool_fixture.h"

#include "ascend_hal.h"
#include "own_machine.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fixture_environment(char **argv, const char *const *variables)
{
    static const char done[] = "NPUPOOL_TEST_READY";
    if (getenv(done) != NULL) {
        own_machine_keep();
        return;
    }
    own_machine_name("2", "1G");
    setenv(done, "1", 1);
    /* A preloaded library precedes the sanitizer's, which would otherwise refuse to run. */
    char asan[512];
    const char *before = getenv("ASAN_OPTIONS");
    snprintf(asan, sizeof(asan), "%s:verify_asan_link_order=0", before != NULL ? before : "");
    setenv("ASAN_OPTIONS", asan, 1);
    unsetenv("PYTORCH_NPU_ALLOC_CONF");
    unsetenv("PYTORCH_ALLOC_CONF");
    unsetenv("PYTORCH_NO_NPU_MEMORY_CACHING");
    for (; variables != NULL && *variables != NULL; variables++) {
        putenv((char *)(uintptr_t)*variables);
    }
    execv("/proc/self/exe", argv);
    perror("execv");
    exit(1);
}

/* ---- the driver */

struct fixture_calls fixture_calls;
bool fixture_fail;

void fixture_reset(void)
{
    fixture_calls = (struct fixture_calls){0};
    fixture_fail = false;
}

#define REAL(name)                                                                                                     \
    static __typeof__(&name) found;                                                                                    \
    __typeof__(&name) real = __atomic_load_n(&found, __ATOMIC_RELAXED);                                                \
    if (real == NULL) {                                                                                                \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                                     \
        __atomic_store_n(&found, real, __ATOMIC_RELAXED);                                                              \
    }

#define COUNT(member)       __atomic_add_fetch(&fixture_calls.member, 1, __ATOMIC_RELAXED)
#define NOTE(member, value) __atomic_store_n(&fixture_calls.member, value, __ATOMIC_RELAXED)

drvError_t halMemAlloc(void **pp, unsigned long long size, unsigned long long flag)
{
    REAL(halMemAlloc)
    COUNT(allocs);
    NOTE(last_size, size);
    NOTE(last_flag, flag);
    drvError_t ret = fixture_fail ? DRV_ERROR_OUT_OF_MEMORY : real(pp, size, flag);
    if (ret != DRV_ERROR_NONE) {
        COUNT(failed_allocs);
    }
    return ret;
}

drvError_t halMemFree(void *pp)
{
    REAL(halMemFree)
    COUNT(frees);
    return real(pp);
}

drvError_t halMemCreate(drv_mem_handle_t **handle, size_t size, const struct drv_mem_prop *prop, uint64_t flag)
{
    REAL(halMemCreate)
    COUNT(creates);
    NOTE(last_create_size, size);
    drvError_t ret = fixture_fail ? DRV_ERROR_OUT_OF_MEMORY : real(handle, size, prop, flag);
    if (ret != DRV_ERROR_NONE) {
        COUNT(failed_creates);
    }
    return ret;
}

/* ---- a device */

aclrtStream fixture_stream, fixture_other_stream;

int fixture_setup(void **state)
{
    (void)state;
    assert_int_equal(aclInit(NULL), 0);
    assert_int_equal(aclrtSetDevice(0), 0);
    assert_int_equal(aclrtCreateStream(&fixture_stream), 0);
    assert_int_equal(aclrtCreateStream(&fixture_other_stream), 0);
    fixture_reset();
    return 0;
}

int fixture_teardown(void **state)
{
    (void)state;
    assert_int_equal(aclrtDestroyStream(fixture_stream), 0);
    assert_int_equal(aclrtDestroyStream(fixture_other_stream), 0);
    assert_int_equal(aclrtResetDevice(0), 0);
    assert_int_equal(aclFinalize(), 0);
    return 0;
}

static sem_t gate;

static void wait_at_gate(void *arg)
{
    (void)arg;
    while (sem_wait(&gate) != 0) {
    }
}

void fixture_block(aclrtStream stream)
{
    sem_init(&gate, 0, 0);
    assert_int_equal(aclrtLaunchHostFunc(stream, wait_at_gate, NULL), 0);
}

void fixture_release(void)
{
    sem_post(&gate);
}

/* ---- pools */

npool_caching *fixture_pool(const char *options)
{
    struct npool_config config;
    npool_config_default(&config);
    if (options != NULL) {
        assert_int_equal(npool_config_parse(&config, options), 0);
    }
    npool_caching *pool = npool_caching_create(&config);
    assert_non_null(pool);
    return pool;
}

struct npool_stats fixture_stats(npool_caching *pool)
{
    struct npool_stats stats;
    assert_int_equal(npool_get_stats(pool, 0, &stats), 0);
    return stats;
}

void *fixture_malloc(npool_caching *pool, size_t size_b)
{
    void *ptr = NULL;
    aclError ret = npool_malloc(pool, &ptr, size_b, fixture_stream);
    if (ret != 0) {
        fail_msg("npool_malloc(%zu): %d %s", size_b, ret, npool_last_error());
    }
    return ptr;
}

void fixture_free(npool_caching *pool, void *ptr)
{
    assert_int_equal(npool_free(pool, ptr), 0);
}
