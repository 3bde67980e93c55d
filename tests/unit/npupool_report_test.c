/* SPDX-License-Identifier: Apache-2.0 */
/* What the pools report through mstx, call by call, as seen by an injected tool. */
#include "npupool_fixture.h"
#include "pool_recorder.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct pool_recorder *recorder;

/* The recorder is loaded by the first mstx call of the process. */
static void find_recorder(void)
{
    void *handle = dlopen(getenv("MSTX_INJECTION_PATH"), RTLD_LAZY | RTLD_NOLOAD);
    assert_non_null(handle);
    recorder = dlsym(handle, "pool_recorder");
    assert_non_null(recorder);
}

static int next_event;

static const struct pool_event *expect(enum pool_event_kind kind, const char *domain)
{
    if (next_event >= recorder->count) {
        fail_msg("an announcement of kind %d in %s is missing", kind, domain);
    }
    const struct pool_event *event = &recorder->events[next_event++];
    if (event->kind != kind || strcmp(event->domain, domain) != 0) {
        fail_msg("announcement %d is of kind %d in '%s', not %d in '%s'", next_event - 1, event->kind, event->domain,
                 kind, domain);
    }
    return event;
}

static void expect_range(enum pool_event_kind kind, const char *domain, const void *ptr, uint64_t size)
{
    const struct pool_event *event = expect(kind, domain);
    assert_ptr_equal(event->ptr, ptr);
    assert_int_equal(event->size, size);
    assert_int_equal(event->device, 0);
}

static void expect_gone(const char *domain, const void *ptr)
{
    const struct pool_event *event = expect(POOL_REGION_GONE, domain);
    assert_int_equal(event->ref_type, 0);
    assert_ptr_equal(event->ptr, ptr);
}

static void expect_nothing(void)
{
    assert_int_equal(recorder->count, next_event);
}

static void forget(void)
{
    recorder->count = next_event = 0;
}

static int setup(void **state)
{
    int ret = fixture_setup(state);
    if (recorder == NULL) {
        npool_caching *pool = fixture_pool(NULL);
        fixture_free(pool, fixture_malloc(pool, 1));
        npool_caching_destroy(pool);
        find_recorder();
    }
    forget();
    return ret;
}

static void caching(void **state)
{
    assert_true(npool_reporting());
    npool_caching *pool = fixture_pool(NULL);
    void *a = fixture_malloc(pool, 1000);
    expect(POOL_DOMAIN, "ptaCaching");
    expect_range(POOL_HEAP, "ptaCaching", a, 2 * MIB);
    expect_range(POOL_REGION, "ptaCaching", a, 1536);
    void *b = fixture_malloc(pool, 3 * MIB);
    expect(POOL_DOMAIN, "ptaCaching");
    expect_range(POOL_HEAP, "ptaCaching", b, 22 * MIB);
    expect_range(POOL_REGION, "ptaCaching", b, 3 * MIB + 512);
    fixture_free(pool, a);
    expect(POOL_DOMAIN, "ptaCaching");
    expect_range(POOL_HEAP, "ptaCaching", a, 22 * MIB);
    expect_gone("ptaCaching", a);
    expect_nothing();
    /* Released segments and failures are visible only in the driver. */
    assert_int_equal(npool_empty_cache(pool), 0);
    void *ptr = NULL;
    assert_int_not_equal(npool_malloc(pool, &ptr, 2 * GIB, fixture_stream), 0);
    expect_nothing();
    fixture_free(pool, b);
    expect(POOL_DOMAIN, "ptaCaching");
    expect_range(POOL_HEAP, "ptaCaching", b, 20 * MIB);
    expect_gone("ptaCaching", b);
    npool_caching_destroy(pool);
    expect_nothing();
}

static void a_block_that_waits_for_a_stream_is_gone_at_once(void **state)
{
    npool_caching *pool = fixture_pool(NULL);
    void *a = fixture_malloc(pool, 1000);
    assert_int_equal(npool_record_stream(pool, a, fixture_other_stream), 0);
    fixture_block(fixture_other_stream);
    forget();
    fixture_free(pool, a);
    expect(POOL_DOMAIN, "ptaCaching");
    expect_range(POOL_HEAP, "ptaCaching", a, 2 * MIB);
    expect_gone("ptaCaching", a);
    fixture_release();
    npool_caching_destroy(pool);
    expect_nothing();
}

static void uncached_memory_is_not_announced(void **state)
{
    struct npool_config config;
    npool_config_default(&config);
    config.no_caching = true;
    npool_caching *pool = npool_caching_create(&config);
    fixture_free(pool, fixture_malloc(pool, 1000));
    npool_caching_destroy(pool);
    expect_nothing();
}

static void workspace(void **state)
{
    npool_workspace *workspace = npool_workspace_create();
    void *a = NULL, *b = NULL;
    assert_int_equal(npool_workspace_get(workspace, &a, 1000, fixture_stream), 0);
    assert_int_equal(fixture_calls.last_size, 2 * MIB);
    assert_true(fixture_calls.last_flag == 0x2100000000924400ull);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_range(POOL_HEAP, "ptaWorkspace", a, 2 * MIB);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_range(POOL_REGION, "ptaWorkspace", a, 2 * MIB);
    assert_int_equal(npool_workspace_put(workspace), 0);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_gone("ptaWorkspace", a);
    /* Large enough: only a region. */
    assert_int_equal(npool_workspace_get(workspace, &b, 2 * MIB - 32, fixture_stream), 0);
    assert_ptr_equal(a, b);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_range(POOL_REGION, "ptaWorkspace", a, 2 * MIB);
    assert_int_equal(npool_workspace_put(workspace), 0);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_gone("ptaWorkspace", a);
    /* Too small: freed, then allocated again. */
    assert_int_equal(npool_workspace_get(workspace, &b, 2 * MIB, fixture_stream), 0);
    assert_int_equal(fixture_calls.frees, 1);
    assert_int_equal(fixture_calls.last_size, 4 * MIB);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_range(POOL_HEAP, "ptaWorkspace", a, 0);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_range(POOL_HEAP, "ptaWorkspace", b, 4 * MIB);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_range(POOL_REGION, "ptaWorkspace", b, 4 * MIB);
    /* Another stream has its own block; "allocated" is the sum. */
    assert_int_equal(npool_workspace_get(workspace, &a, 1, fixture_other_stream), 0);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_range(POOL_HEAP, "ptaWorkspace", a, 6 * MIB);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_range(POOL_REGION, "ptaWorkspace", a, 6 * MIB);
    assert_int_equal(npool_workspace_put(workspace), 0);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_gone("ptaWorkspace", a);
    assert_int_equal(npool_workspace_put(workspace), 0);
    expect(POOL_DOMAIN, "ptaWorkspace");
    expect_gone("ptaWorkspace", b);
    assert_int_equal(npool_workspace_put(workspace), ACL_ERROR_INVALID_PARAM);
    expect_nothing();
    npool_workspace_destroy(workspace);
}

static void mindspore(void **state)
{
    npool_mindspore *pool = npool_mindspore_create(
        &(struct npool_mindspore_options){.sz = sizeof(struct npool_mindspore_options), .init_size_b = 64 * MIB});
    assert_non_null(pool);
    void *a = NULL;
    assert_int_equal(npool_mindspore_malloc(pool, &a, 1000), 0);
    if (recorder->events[0].kind == POOL_DOMAIN) { /* once for the process */
        expect(POOL_DOMAIN, "mindsporeMemPool");
    }
    expect_range(POOL_REGION, "mindsporeMemPool", a, 1024);
    expect_range(POOL_HEAP, "mindsporeMemPool", a, 64 * MIB);
    assert_int_equal(npool_mindspore_free(pool, a), 0);
    expect_gone("mindsporeMemPool", a);
    expect_range(POOL_HEAP, "mindsporeMemPool", a, 64 * MIB);
    expect_nothing();
    npool_mindspore_destroy(pool);
    expect_nothing();
}

static void atb(void **state)
{
    npool_atb *buffers = npool_atb_create();
    void *workspace = NULL;
    assert_int_equal(npool_atb_begin(buffers, 100000, fixture_stream, &workspace), 0);
    if (recorder->events[0].kind == POOL_DOMAIN) {
        expect(POOL_DOMAIN, "atb");
    }
    const struct pool_event *heap = expect(POOL_HEAP, "atb");
    assert_ptr_equal(heap->ptr, workspace);
    assert_int_equal(heap->size, 100000);
    assert_non_null(heap->heap);
    const struct npool_atb_region regions[] = {{workspace, 1000}, {(char *)workspace + 1024, 512}};
    assert_int_equal(npool_atb_kernel_begin(buffers, regions, 2), 0);
    for (size_t i = 0; i < 2; i++) {
        const struct pool_event *region = expect(POOL_REGION, "atb");
        assert_ptr_equal(region->ptr, regions[i].ptr);
        assert_int_equal(region->size, i == 0 ? 1024 : 512);
        assert_ptr_equal(region->heap, heap->heap);
        assert_int_equal(region->batch, 2);
    }
    assert_int_equal(npool_atb_kernel_end(buffers), 0);
    const struct pool_event *first = expect(POOL_REGION_GONE, "atb"), *second = expect(POOL_REGION_GONE, "atb");
    assert_int_equal(first->ref_type, 1);
    assert_ptr_not_equal(first->ptr, second->ptr);
    assert_int_equal(npool_atb_end(buffers), 0);
    assert_ptr_equal(expect(POOL_HEAP_GONE, "atb")->heap, heap->heap);
    expect_nothing();

    /* Out of order. */
    assert_int_equal(npool_atb_end(buffers), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_atb_kernel_begin(buffers, regions, 2), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(npool_atb_kernel_end(buffers), ACL_ERROR_INVALID_PARAM);
    expect_nothing();

    /* One missing handle stops reporting permanently. */
    recorder->refuse_heaps = 1;
    assert_int_equal(npool_atb_begin(buffers, 10, fixture_stream, &workspace), 0);
    expect(POOL_HEAP, "atb");
    assert_false(npool_atb_reporting(buffers));
    recorder->refuse_heaps = 0;
    assert_int_equal(npool_atb_kernel_begin(buffers, regions, 2), 0);
    assert_int_equal(npool_atb_kernel_end(buffers), 0);
    assert_int_equal(npool_atb_end(buffers), 0);
    assert_int_equal(npool_atb_begin(buffers, 10, fixture_stream, &workspace), 0);
    assert_int_equal(npool_atb_end(buffers), 0);
    expect_nothing();
    npool_atb_destroy(buffers);
}

/* ---- conditions for reporting */

static bool reports_with(const char *preload, const char *home)
{
    pid_t pid = fork();
    if (pid == 0) {
        preload != NULL ? setenv("LD_PRELOAD", preload, 1) : unsetenv("LD_PRELOAD");
        home != NULL ? setenv("ASCEND_HOME_PATH", home, 1) : unsetenv("ASCEND_HOME_PATH");
        execl("/proc/self/exe", "npupool_report_test", "--reporting", NULL);
        _exit(99);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
    return WEXITSTATUS(status) == 1;
}

static void activation(void **state)
{
    const char *hook = getenv("POOL_TEST_HOOK"), *home = getenv("ASCEND_HOME_PATH"),
               *other = getenv("MSTX_INJECTION_PATH");
    char text[2048], folder[] = "/tmp/npupool-test-XXXXXX";
    assert_true(reports_with(hook, home));
    assert_false(reports_with(NULL, home));
    assert_false(reports_with(other, home));
    assert_false(reports_with(hook, NULL));
    snprintf(text, sizeof(text), "%s:%s", other, hook);
    assert_true(reports_with(text, home));
    /* The name of the real file matters, not the name of a link to it. */
    assert_non_null(mkdtemp(folder));
    snprintf(text, sizeof(text), "%s/libascend_kernel_hook.so", folder);
    assert_int_equal(symlink(other, text), 0);
    assert_false(reports_with(text, home));
    assert_int_equal(unlink(text), 0);
    snprintf(text, sizeof(text), "%s/liblink.so", folder);
    assert_int_equal(symlink(hook, text), 0);
    assert_true(reports_with(text, home));
    assert_int_equal(unlink(text), 0);
    /* The library must exist. */
    assert_false(reports_with(hook, folder));
    assert_int_equal(rmdir(folder), 0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--reporting") == 0) {
        return npool_reporting();
    }
    const char *build = getenv("NPUSCOPE_BUILD");
    char hook[1024], preload[1100], recorder_path[1100];
    snprintf(hook, sizeof(hook), "POOL_TEST_HOOK=%s/tests/unit/libascend_kernel_hook.so", build);
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", hook + strlen("POOL_TEST_HOOK="));
    snprintf(recorder_path, sizeof(recorder_path), "MSTX_INJECTION_PATH=%s/tests/unit/libpool_recorder.so", build);
    fixture_environment(argv, (const char *const[]){hook, preload, recorder_path, NULL});
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(caching),
        TEST(a_block_that_waits_for_a_stream_is_gone_at_once),
        TEST(uncached_memory_is_not_announced),
        TEST(workspace),
        TEST(mindspore),
        TEST(atb),
        cmocka_unit_test(activation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
