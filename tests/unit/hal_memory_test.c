/* SPDX-License-Identifier: Apache-2.0 */
#include "hal_test.h"

#include <pthread.h>
#include <sys/stat.h>

#define CAPACITY (256 * MIB)

static void pages_are_accounted_by_their_size(void **state)
{
    void *a = must_alloc(1, DEV_FLAGS);
    assert_int_equal(used_b(0), 4 * KIB);
    void *b = must_alloc(4097, DEV_FLAGS | 1);
    assert_int_equal(used_b(0), 4 * KIB);
    assert_int_equal(used_b(1), 8 * KIB);
    void *c = must_alloc(1, DEV_FLAGS | MEM_PAGE_HUGE);
    assert_int_equal(used_b(0), 4 * KIB + 2 * MIB);
    void *s = must_alloc(5000, MEM_SVM | APP);
    assert_int_equal(used_b(0), 12 * KIB + 2 * MIB);
    void *h = must_alloc(100 * MIB, MEM_HOST | APP);
    assert_int_equal(used_b(0), 12 * KIB + 2 * MIB);
    assert_int_equal((uintptr_t)c % (2 * MIB), 0);
    memset(a, 1, 1);
    memset(b, 1, 4097);
    memset(c, 1, 2 * MIB);
    memset(h, 1, MIB);
    void *all[] = {a, b, c, s, h};
    for (size_t i = 0; i < MS_COUNT_OF(all); i++) {
        assert_int_equal(halMemFree(all[i]), DRV_ERROR_NONE);
    }
    assert_int_equal(used_b(0), 0);
    assert_int_equal(used_b(1), 0);
}

static void pools_add_up(void **state)
{
    struct MemInfo info;
    struct MemPhyInfo *p = &info.phy_info;
    assert_int_equal(halMemGetInfo(0, MEM_INFO_TYPE_HBM_SIZE, &info), 0);
    assert_int_equal(p->total + p->huge_total, CAPACITY);
    assert_int_equal(p->free, p->total);
    assert_int_equal(p->huge_free, p->huge_total);
    assert_true(p->huge_total > p->total * 10);
    /* More normal pages than their pool has: the rest comes from the huge pool. */
    uint64_t more_b = p->total + 10 * MIB;
    void *n = must_alloc(more_b, DEV_FLAGS);
    assert_int_equal(halMemGetInfo(0, MEM_INFO_TYPE_HBM_SIZE, &info), 0);
    assert_int_equal(p->free, 0);
    assert_int_equal(p->huge_free, CAPACITY - more_b);
    halMemFree(n);
    n = must_alloc(CAPACITY, DEV_FLAGS | MEM_PAGE_HUGE);
    assert_int_equal(halMemGetInfo(0, MEM_INFO_TYPE_HBM_SIZE, &info), 0);
    assert_int_equal(p->free, 0);
    assert_int_equal(p->huge_free, 0);
    halMemFree(n);
    assert_int_equal(halMemGetInfo(0, MEM_INFO_TYPE_DDR_SIZE, &info), 0);
    assert_int_equal(p->total + p->huge_total, 0);
}

static void out_of_memory_is_exact(void **state)
{
    void *blocks[CAPACITY / (2 * MIB)];
    for (size_t i = 0; i < MS_COUNT_OF(blocks); i++) {
        blocks[i] = must_alloc(2 * MIB, DEV_FLAGS | MEM_PAGE_HUGE);
    }
    void *p = (void *)1;
    assert_int_equal(halMemAlloc(&p, 1, DEV_FLAGS), DRV_ERROR_OUT_OF_MEMORY);
    assert_ptr_equal(p, (void *)1);
    assert_int_equal(halMemAlloc(&p, 1, DEV_FLAGS | MEM_PAGE_HUGE), DRV_ERROR_OUT_OF_MEMORY);
    assert_int_equal(halMemFree(blocks[3]), 0);
    p = must_alloc(2 * MIB - 4 * KIB, DEV_FLAGS);
    void *last = must_alloc(4 * KIB, DEV_FLAGS);
    void *none;
    assert_int_equal(halMemAlloc(&none, 1, DEV_FLAGS), DRV_ERROR_OUT_OF_MEMORY);
    halMemFree(p);
    halMemFree(last);
    blocks[3] = must_alloc(2 * MIB, DEV_FLAGS | MEM_PAGE_HUGE);
    for (size_t i = 0; i < MS_COUNT_OF(blocks); i++) {
        assert_int_equal(halMemFree(blocks[i]), 0);
    }
    assert_int_equal(used_b(0), 0);
    assert_int_equal(halMemAlloc(&none, CAPACITY + 1, DEV_FLAGS), DRV_ERROR_OUT_OF_MEMORY);
    assert_int_equal(halMemAlloc(&none, UINT64_MAX, DEV_FLAGS), DRV_ERROR_OUT_OF_MEMORY);
    assert_int_equal(halMemAlloc(&none, UINT64_MAX, MEM_HOST), DRV_ERROR_OUT_OF_MEMORY);
    assert_int_equal(halMemAlloc(&none, 1, DEV_FLAGS | MEM_PAGE_GIANT), DRV_ERROR_OUT_OF_MEMORY);
}

static void wrong_flags_are_refused(void **state)
{
    static const struct {
        unsigned long long flag;
        drvError_t error;
    } cases[] = {
        {MEM_HOST | MEM_PAGE_HUGE, DRV_ERROR_NOT_SUPPORT},
        {MEM_HOST | MEM_PAGE_GIANT, DRV_ERROR_NOT_SUPPORT},
        {MEM_DEV | MEM_PAGE_HUGE | MEM_PAGE_GIANT, DRV_ERROR_INVALID_VALUE},
        {MEM_DEV | MEM_PAGE_HUGE | MEM_CONTIGUOUS_PHY, DRV_ERROR_NOT_SUPPORT},
        {MEM_DEV | 2ULL << MEM_PAGE_BIT, DRV_ERROR_INVALID_VALUE},
        {MEM_HOST_AGENT, DRV_ERROR_NOT_SUPPORT},
        {MEM_RESERVE, DRV_ERROR_NOT_SUPPORT},
        {9ULL << MEM_VIRT_BIT, DRV_ERROR_INVALID_VALUE},
        {MEM_DEV | 2, DRV_ERROR_INVALID_DEVICE},
        {MEM_DEV | 0x3ff, DRV_ERROR_INVALID_DEVICE},
    };
    void *p;
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        assert_int_equal(halMemAlloc(&p, 4096, cases[i].flag), cases[i].error);
    }
    assert_int_equal(halMemAlloc(NULL, 4096, DEV_FLAGS), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemAlloc(&p, 0, DEV_FLAGS), DRV_ERROR_INVALID_VALUE);
    /* Flags that the runtime produces. */
    static const unsigned long long real[] = {0x2100000000924400, 0x2100000000904400, 0x2100000000900800,
                                              0x2100000002924400};
    for (size_t i = 0; i < MS_COUNT_OF(real); i++) {
        halMemFree(must_alloc(MIB, real[i]));
    }
    assert_int_equal(used_b(0), 0);
}

static void alignment_of_the_flag_word_is_respected(void **state)
{
    void *p[20];
    for (unsigned log = 12; log < 31; log++) {
        p[log - 12] = must_alloc(4096, DEV_FLAGS | MEM_SET_ALIGN_SIZE(log));
        assert_int_equal((uintptr_t)p[log - 12] % ((uint64_t)1 << log), 0);
    }
    for (unsigned log = 12; log < 31; log++) {
        halMemFree(p[log - 12]);
    }
}

static void wrong_frees_are_refused(void **state)
{
    char local;
    void *p = must_alloc(3 * MIB, DEV_FLAGS);
    assert_int_equal(halMemFree(NULL), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemFree(&local), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemFree((void *)-1), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemFree((char *)p + 1), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemFree((char *)p + MIB), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemFree((char *)p + GIB), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemFree(p), DRV_ERROR_NONE);
    assert_int_equal(halMemFree(p), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(used_b(0), 0);
}

static void lookup_finds_blocks_from_inside(void **state)
{
    struct snpu_range r;
    void *p = must_alloc(3 * MIB, DEV_FLAGS | 1), *h = must_alloc(100, MEM_HOST | APP), *s = must_alloc(1, MEM_SVM);
    assert_true(snpu_hal_lookup((char *)p + 2 * MIB + 7, &r));
    assert_int_equal(r.kind, SNPU_RANGE_DEVICE);
    assert_int_equal(r.dev, 1);
    assert_int_equal(r.base, (uintptr_t)p);
    assert_int_equal(r.size_b, 3 * MIB);
    assert_int_equal(r.page_b, 4096);
    assert_true(snpu_hal_lookup((char *)h + 99, &r));
    assert_int_equal(r.kind, SNPU_RANGE_HOST);
    assert_true(r.host_side);
    assert_true(snpu_hal_lookup(s, &r));
    assert_int_equal(r.kind, SNPU_RANGE_MANAGED);
    assert_false(snpu_hal_lookup(&r, &r));
    assert_int_equal(r.kind, SNPU_RANGE_NONE);
    assert_true(snpu_hal_accessible(p, 3 * MIB));
    assert_false(snpu_hal_accessible(p, 3 * MIB + 1));
    assert_true(snpu_hal_accessible(&r, sizeof(r)));
    assert_false(snpu_hal_accessible(NULL, 1));
    assert_false(snpu_hal_accessible((void *)8, 1));
    assert_false(snpu_hal_accessible(p, UINT64_MAX));
    halMemFree(p);
    assert_false(snpu_hal_lookup(p, &r));
    assert_false(snpu_hal_accessible(p, 1));
    halMemFree(h);
    halMemFree(s);
}

static void fresh_memory_reads_zero(void **state)
{
    /* Larger than the cache, so the pages have been returned in between. */
    for (int round = 0; round < 2; round++) {
        unsigned char *p = must_alloc(80 * MIB, DEV_FLAGS | MEM_PAGE_HUGE);
        for (uint64_t at = 0; at < 80 * MIB; at += 4096) {
            assert_int_equal(p[at], 0);
        }
        memset(p, 0xab, 80 * MIB);
        assert_int_equal(halMemFree(p), 0);
    }
}

/* Bytes of memory backing the window of device 0. */
static uint64_t backed_b(void)
{
    for (int fd = 0; fd < 100; fd++) {
        char link[64], target[128];
        struct stat st;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strstr(target, "memfd:softnpu-hbm-0") != NULL && fstat(fd, &st) == 0) {
            return (uint64_t)st.st_blocks * 512;
        }
    }
    fail();
    return 0;
}

static void freed_pages_are_returned_except_the_cache(void **state)
{
    char *p[12];
    snpu_hal_release_device(0);
    assert_int_equal(backed_b(), 0);
    for (size_t i = 0; i < MS_COUNT_OF(p); i++) {
        p[i] = must_alloc(16 * MIB, DEV_FLAGS);
        assert_true(backed_b() <= i * 16 * MIB); /* nothing before it is touched */
        memset(p[i], 1, 16 * MIB);
    }
    for (size_t i = 0; i < MS_COUNT_OF(p); i++) {
        halMemFree(p[i]);
    }
    assert_in_range(backed_b(), 16 * MIB, 64 * MIB);
    snpu_hal_release_device(0);
    assert_int_equal(backed_b(), 0);
}

static void modules_have_current_and_peak(void **state)
{
    struct mem_module_usage usage[SNPU_MAX_DEVICES];
    size_t n;
    void *p = must_alloc(8 * MIB, MEM_DEV | MEM_PAGE_HUGE | 3ULL << MEM_MODULE_ID_BIT);
    void *q = must_alloc(2 * MIB, MEM_DEV | MEM_PAGE_HUGE | 3ULL << MEM_MODULE_ID_BIT);
    halMemFree(p);
    assert_int_equal(halGetMemUsageInfo(0, usage, MS_COUNT_OF(usage), &n), 0);
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(usage[i].name, "HCCL") == 0) {
            assert_int_equal(usage[i].cur_mem_size, 2 * MIB);
            assert_int_equal(usage[i].mem_peak_size, 10 * MIB);
            found = true;
        }
    }
    assert_true(found);
    halMemFree(q);
    assert_string_equal(halGetMemModuleName(0), "UNKNOWN");
    assert_string_equal(halGetMemModuleName(33), "APP");
    assert_string_equal(halGetMemModuleName(76), "CUSTOM_SCHEDULE");
    assert_string_equal(halGetMemModuleName(77), "Reserved");
    assert_int_equal(halGetMemUsageInfo(9, usage, 1, &n), DRV_ERROR_INVALID_DEVICE);
    assert_int_equal(halGetMemUsageInfo(0, NULL, 1, &n), DRV_ERROR_INVALID_VALUE);
}

static void releasing_a_device_frees_all_its_memory(void **state)
{
    void *keep = must_alloc(MIB, DEV_FLAGS | 1);
    for (int i = 0; i < 700; i++) {
        must_alloc(4096, DEV_FLAGS);
    }
    void *p = must_alloc(20 * MIB, DEV_FLAGS | MEM_PAGE_HUGE);
    snpu_hal_release_device(0);
    assert_int_equal(used_b(0), 0);
    assert_int_equal(used_b(1), MIB);
    assert_int_equal(halMemFree(p), DRV_ERROR_INVALID_VALUE);
    assert_int_equal(halMemFree(keep), 0);
    halMemFree(must_alloc(CAPACITY, DEV_FLAGS));
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 4000 };
static uint64_t successes;

static void *churn(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    unsigned char *held[16] = {0};
    uint64_t sizes[16] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        unsigned k = (unsigned)rand_r(&seed) % 16;
        if (held[k] != NULL) {
            if (held[k][0] != (unsigned char)k || held[k][sizes[k] - 1] != (unsigned char)(uintptr_t)arg ||
                halMemFree(held[k]) != 0) {
                return "another thread wrote to the block";
            }
            held[k] = NULL;
            continue;
        }
        bool huge = rand_r(&seed) % 16 == 0;
        sizes[k] = 2 + (uint64_t)rand_r(&seed) % (huge ? 3 * MIB : 64 * KIB);
        void *p;
        if (halMemAlloc(&p, sizes[k], DEV_FLAGS | (huge ? MEM_PAGE_HUGE : 0)) == 0) {
            held[k] = p;
            held[k][0] = (unsigned char)k;
            held[k][sizes[k] - 1] = (unsigned char)(uintptr_t)arg;
            struct snpu_range r;
            if (!snpu_hal_lookup(held[k] + sizes[k] / 2, &r) || r.base != (uintptr_t)p) {
                return "lookup failed";
            }
        }
    }
    for (int k = 0; k < 16; k++) {
        if (held[k] != NULL) {
            halMemFree(held[k]);
        }
    }
    return NULL;
}

static void *grab(void *arg)
{
    void **mine = arg;
    for (int i = 0; i < 64; i++) {
        if (halMemAlloc(&mine[i], 2 * MIB, DEV_FLAGS | MEM_PAGE_HUGE) != 0) {
            mine[i] = NULL;
            break;
        }
        __atomic_fetch_add(&successes, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void threads_share_a_device(void **state)
{
    pthread_t t[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, churn, (void *)(i + 1));
    }
    for (int i = 0; i < THREADS; i++) {
        void *complaint;
        pthread_join(t[i], &complaint);
        assert_null(complaint);
    }
    assert_int_equal(used_b(0), 0);
}

static void threads_at_the_limit_get_exactly_the_capacity(void **state)
{
    static void *blocks[THREADS][64];
    for (int round = 0; round < 20; round++) {
        pthread_t t[THREADS];
        successes = 0;
        memset(blocks, 0, sizeof(blocks));
        for (int i = 0; i < THREADS; i++) {
            pthread_create(&t[i], NULL, grab, blocks[i]);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(t[i], NULL);
        }
        assert_int_equal(successes, CAPACITY / (2 * MIB));
        for (int i = 0; i < THREADS * 64; i++) {
            void *block = blocks[i / 64][i % 64];
            assert_true(block == NULL || halMemFree(block) == 0);
        }
        assert_int_equal(used_b(0), 0);
    }
}

int main(void)
{
    hal_use_machine("2", "256M");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_accounted_by_their_size),
        cmocka_unit_test(pools_add_up),
        cmocka_unit_test(out_of_memory_is_exact),
        cmocka_unit_test(wrong_flags_are_refused),
        cmocka_unit_test(alignment_of_the_flag_word_is_respected),
        cmocka_unit_test(wrong_frees_are_refused),
        cmocka_unit_test(lookup_finds_blocks_from_inside),
        cmocka_unit_test(fresh_memory_reads_zero),
        cmocka_unit_test(freed_pages_are_returned_except_the_cache),
        cmocka_unit_test(modules_have_current_and_peak),
        cmocka_unit_test(releasing_a_device_frees_all_its_memory),
        cmocka_unit_test(threads_share_a_device),
        cmocka_unit_test(threads_at_the_limit_get_exactly_the_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
