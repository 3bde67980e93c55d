/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent records from mstx: marks, ranges, and the pools of PyTorch, ATB and MindSpore as they report. */
#include "agent_fixture.h"

#include "acl/acl.h"
#include "mstx/ms_tools_ext.h"
#include "trace/definitions.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
#include <string.h>

#define OK(call) assert_int_equal((call), 0)
enum { CANARY = 4711 };

static struct process *self;

static int set_up(void **state)
{
    OK(aclInit(NULL));
    self = own_process();
    return 0;
}

static int start(void **state)
{
    self->shm->state = MS_STATE_ON;
    self->shm->event_mask = MS_WANT_ALLOC | MS_WANT_FREE;
    skip_records(self);
    errno = CANARY;
    return 0;
}

static void tool_id(void **state)
{
    uint64_t id = 0;
    mstxGetToolId(&id);
    assert_int_equal(id, 0x1003);
}

static void expect_mark(const char *text, uint32_t device, int64_t stream_id)
{
    const struct ms_record *r;
    const struct ms_p_mark *mark = next_record(self, MS_R_MARK, &r);
    assert_string_equal(text_of(self, r, &mark->text, 0), text);
    assert_int_equal(r->arg, device);
    assert_int_equal(mark->stream_id, stream_id);
}

static void marks(void **state)
{
    mstxMarkA("no device yet", NULL);
    expect_mark("no device yet", MS_DEV_UNKNOWN, -1);
    OK(aclrtSetDevice(1));
    skip_records(self);

    aclrtStream stream;
    int32_t id = -1;
    OK(aclrtCreateStream(&stream));
    OK(aclrtStreamGetId(stream, &id));
    skip_records(self);
    mstxMarkA("on a stream", stream);
    expect_mark("on a stream", 1, id);
    OK(aclrtDestroyStream(stream));
    skip_records(self);

    errno = CANARY;
    for (unsigned i = 0; i < 3; i++) { /* the second time it becomes a definition */
        mstxMarkA("memscope-aten-b: name=aten.add", NULL);
        expect_mark("memscope-aten-b: name=aten.add", 1, -1);
    }
    mstxMarkA("", NULL);
    expect_mark("", 1, -1);
    mstxMarkA(NULL, NULL);
    expect_mark("", 1, -1);
    assert_int_equal(errno, CANARY);
    no_more_records(self);
}

static void long_text_is_truncated(void **state)
{
    static char text[20000];
    const struct ms_record *r;
    memset(text, 'x', sizeof(text) - 1);
    mstxMarkA(text, NULL);
    const struct ms_p_mark *mark = next_record(self, MS_R_MARK, &r);
    assert_int_equal(r->flags, MS_RECORD_CUT);
    size_t length = strlen(text_of(self, r, &mark->text, 0));
    assert_true(length > MS_TEXT_MAX_B / 2 && length <= MS_TEXT_MAX_B);
}

static void ranges(void **state)
{
    const struct ms_record *r;
    uint64_t first = mstxRangeStartA("step start", NULL);
    uint64_t second = mstxRangeStartA("inner", NULL);
    assert_int_equal(first, 1);
    assert_int_equal(second, 2);
    const struct ms_p_range_start *s = next_record(self, MS_R_RANGE_START, &r);
    assert_int_equal(s->range_id, 1);
    assert_int_equal(r->arg, 1);
    assert_string_equal(text_of(self, r, &s->text, 0), "step start");
    next_record(self, MS_R_RANGE_START, NULL);
    mstxRangeEnd(first);
    assert_int_equal(((const struct ms_p_range_end *)next_record(self, MS_R_RANGE_END, &r))->range_id, 1);
    assert_int_equal(r->arg, 1);
    mstxRangeEnd(0);
    no_more_records(self);
    self->shm->state = MS_STATE_SHADOW;
    assert_int_equal(mstxRangeStartA("unheard", NULL), 0);
    mstxMarkA("unheard", NULL);
    mstxRangeEnd(second);
    no_more_records(self);
}

static void domains(void **state)
{
    assert_non_null(mstxDomainCreateA("ptaCaching"));
    assert_ptr_equal(mstxDomainCreateA("ptaCaching"), mstxDomainCreateA("msleaks"));
    assert_non_null(mstxDomainCreateA("ptaWorkspace"));
    assert_ptr_not_equal(mstxDomainCreateA("ptaCaching"), mstxDomainCreateA("ptaWorkspace"));
    static const char *const others[] = {"", "p", "pta", "ptaCachingX", "communication", "default", "at", "atbX", "ms"};
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_null(mstxDomainCreateA(others[i]));
    }
    assert_null(mstxDomainCreateA(NULL));
}

/* Members that PyTorch and MindSpore leave uninitialised. */
#define OPEN_USAGE   ((mstxMemHeapUsageType)-160789168)
#define OPEN_TYPE    ((mstxMemType)32767)
#define OPEN_HEAP    ((mstxMemHeapHandle_t)0xa5a5a5a5a5a5a5a5)
#define OPEN_HANDLES ((mstxMemRegionHandle_t *)0x5a5a5a5a5a5a5a5a)

static mstxMemRegionsRegisterBatch_t batch_of(const mstxMemVirtualRangeDesc_t *regions, size_t count)
{
    return (mstxMemRegionsRegisterBatch_t){.heap = OPEN_HEAP,
                                           .regionType = OPEN_TYPE,
                                           .regionCount = count,
                                           .regionDescArray = regions,
                                           .regionHandleArrayOut = OPEN_HANDLES};
}

static mstxMemHeapHandle_t heap(mstxDomainHandle_t domain, uint32_t device, uintptr_t addr, uint64_t size)
{
    mstxMemVirtualRangeDesc_t range = {device, (void *)addr, size};
    mstxMemHeapDesc_t desc = {OPEN_USAGE, OPEN_TYPE, &range};
    return mstxMemHeapRegister(domain, &desc);
}

static void expect_total(enum ms_pool pool, uint32_t device, uint64_t total)
{
    const struct ms_record *r;
    const struct ms_p_pool_total *p = next_record(self, MS_R_POOL_TOTAL, &r);
    assert_int_equal(p->total_b, total);
    assert_int_equal(r->arg, MS_POOL_ARG(pool, device));
}

static void expect_alloc(enum ms_pool pool, uint32_t device, uintptr_t addr, uint64_t size)
{
    const struct ms_record *r;
    const struct ms_p_pool_alloc *p = next_record(self, MS_R_POOL_ALLOC, &r);
    assert_int_equal(p->addr, addr);
    assert_int_equal(p->size_b, size);
    assert_int_equal(r->arg, MS_POOL_ARG(pool, device));
}

static void expect_free(enum ms_pool pool, uintptr_t addr)
{
    const struct ms_record *r;
    assert_int_equal(((const struct ms_p_pool_free *)next_record(self, MS_R_POOL_FREE, &r))->addr, addr);
    assert_int_equal(r->arg, MS_POOL_ARG(pool, MS_DEV_UNKNOWN));
}

/* Levels, no handles. */
static void caching_pool(void **state)
{
    mstxDomainHandle_t domain = mstxDomainCreateA("ptaCaching");
    assert_null(heap(domain, 1, 0x1000, 4096));
    expect_total(MS_POOL_PTA, 1, 4096);
    assert_null(heap(domain, 1, 0x1000, 4096));
    no_more_records(self); /* an unchanged level is not recorded */
    assert_null(heap(domain, 0, 0x1000, 4096));
    expect_total(MS_POOL_PTA, 0, 4096);
    assert_null(heap(domain, 1, 0x1000, 0));
    expect_total(MS_POOL_PTA, 1, 0);

    mstxMemVirtualRangeDesc_t regions[2] = {{1, (void *)0x2000, 512}, {0, (void *)0x3000, 1024}};
    mstxMemRegionsRegisterBatch_t batch = batch_of(regions, 2);
    mstxMemRegionsRegister(domain, &batch);
    expect_alloc(MS_POOL_PTA, 1, 0x2000, 512);
    expect_alloc(MS_POOL_PTA, 0, 0x3000, 1024);
    mstxMemRegionRef_t refs[2] = {{.refType = MSTX_MEM_REGION_REF_TYPE_POINTER, .pointer = (void *)0x2000},
                                  {.refType = MSTX_MEM_REGION_REF_TYPE_POINTER, .pointer = (void *)0x3000}};
    mstxMemRegionsUnregisterBatch_t gone = {.refCount = 2, .refArray = refs};
    mstxMemRegionsUnregister(domain, &gone);
    expect_free(MS_POOL_PTA, 0x2000);
    expect_free(MS_POOL_PTA, 0x3000);
    mstxMemHeapUnregister(domain, (void *)1);
    assert_int_equal(errno, CANARY);
    no_more_records(self);

    self->shm->state = MS_STATE_SHADOW;
    const struct ms_record *r;
    mstxMemRegionsRegister(domain, &batch);
    next_record(self, MS_R_POOL_ALLOC, &r);
    assert_int_equal(r->flags, MS_RECORD_SHADOW);
    next_record(self, MS_R_POOL_ALLOC, NULL);
    self->shm->state = MS_STATE_OFF;
    mstxMemRegionsUnregister(domain, &gone);
    assert_null(heap(domain, 1, 0x1000, 77));
    no_more_records(self);
}

static void workspace_pool(void **state)
{
    mstxDomainHandle_t domain = mstxDomainCreateA("ptaWorkspace");
    assert_null(heap(domain, 0, 0, 1 << 20));
    expect_total(MS_POOL_PTA_WORKSPACE, 0, 1 << 20);
    mstxMemVirtualRangeDesc_t region = {0, (void *)0x5000, 1 << 20};
    mstxMemRegionsRegisterBatch_t batch = batch_of(&region, 1);
    mstxMemRegionsRegister(domain, &batch);
    expect_alloc(MS_POOL_PTA_WORKSPACE, 0, 0x5000, 1 << 20);
    no_more_records(self);
}

static void atb_pool(void **state)
{
    const struct ms_record *r;
    mstxDomainHandle_t domain = mstxDomainCreateA("atb");
    assert_non_null(domain);
    assert_null(mstxDomainCreateA("atb")); /* only the first creation returns it */
    mstxMemHeapHandle_t handle = heap(domain, 1, 0x7000, 4096);
    assert_non_null(handle);
    const struct ms_p_heap *added = next_record(self, MS_R_HEAP_ADD, &r);
    assert_true(added->addr == 0x7000 && added->size_b == 4096);
    assert_int_equal(r->arg, MS_POOL_ARG(MS_POOL_ATB, 1));
    assert_non_null(heap(domain, 1, 0, 16)); /* NULL would make ATB switch its reports off */
    next_record(self, MS_R_HEAP_ADD, NULL);

    mstxMemVirtualRangeDesc_t regions[2] = {{1, (void *)0x7100, 512}, {1, NULL, 0}};
    mstxMemRegionHandle_t handles[2] = {NULL, NULL};
    mstxMemRegionsRegisterBatch_t batch = batch_of(regions, 2);
    batch.heap = handle;
    batch.regionHandleArrayOut = handles;
    mstxMemRegionsRegister(domain, &batch);
    expect_alloc(MS_POOL_ATB, 1, 0x7100, 512);
    assert_non_null(handles[0]);
    assert_non_null(handles[1]);
    mstxMemRegionRef_t refs[2] = {{.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE, .handle = handles[0]},
                                  {.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE, .handle = handles[1]}};
    mstxMemRegionsUnregisterBatch_t gone = {.refCount = 2, .refArray = refs};
    mstxMemRegionsUnregister(domain, &gone);
    expect_free(MS_POOL_ATB, 0x7100);
    mstxMemHeapUnregister(domain, handle);
    const struct ms_p_heap *gone_heap = next_record(self, MS_R_HEAP_SUB, NULL);
    assert_true(gone_heap->addr == 0x7000);
    no_more_records(self);
}

static void mindspore_pool(void **state)
{
    mstxDomainHandle_t domain = mstxDomainCreateA("mindsporeMemPool");
    assert_non_null(domain);
    assert_null(mstxDomainCreateA("mindsporeMemPool"));
    mstxMemVirtualRangeDesc_t region = {0, (void *)0x9000, 64};
    mstxMemRegionsRegisterBatch_t batch = batch_of(&region, 1);
    mstxMemRegionsRegister(domain, &batch);
    assert_null(heap(domain, 0, 0, 128));
    expect_alloc(MS_POOL_MINDSPORE, 0, 0x9000, 64);
    expect_total(MS_POOL_MINDSPORE, 0, 128);
    no_more_records(self);
}

/* Its trace is a separate one, without any levels yet. */
static void forked_child_reports_the_level_again(void **state)
{
    enum { LEVEL = 0x77000 }; /* not used by any other test */
    mstxDomainHandle_t domain = mstxDomainCreateA("ptaCaching");
    heap(domain, 0, 0, LEVEL);
    expect_total(MS_POOL_PTA, 0, LEVEL);
    pid_t pid = fork();
    if (pid == 0) {
        heap(domain, 0, 0, LEVEL);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    struct process *child = session_wait();
    assert_int_equal(child->hello.pid, pid);
    const struct ms_p_pool_total *p = next_record(child, MS_R_POOL_TOTAL, NULL);
    assert_int_equal(p->total_b, LEVEL);
    heap(domain, 0, 0, LEVEL);
    no_more_records(self);
}

static void invalid_arguments(void **state)
{
    mstxDomainHandle_t domain = mstxDomainCreateA("ptaCaching");
    mstxMemHeapDesc_t desc = {0, (mstxMemType)7, NULL};
    mstxMemRegionsRegisterBatch_t batch = {.regionCount = 5};
    mstxMemRegionsUnregisterBatch_t gone = {.refCount = 5};
    mstxDomainHandle_t wrong[] = {domain, NULL, (void *)0x1234, (void *)((char *)domain + 1)};
    for (unsigned i = 0; i < 4; i++) {
        mstxMemHeapRegister(wrong[i], NULL);
        mstxMemHeapRegister(wrong[i], &desc);
        mstxMemHeapUnregister(wrong[i], NULL);
        mstxMemRegionsRegister(wrong[i], NULL);
        mstxMemRegionsRegister(wrong[i], &batch);
        mstxMemRegionsUnregister(wrong[i], NULL);
        mstxMemRegionsUnregister(wrong[i], &gone);
    }
    no_more_records(self);
}

int main(int argc, char **argv)
{
    session_begin(argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tool_id, start),
        cmocka_unit_test_setup(marks, start),
        cmocka_unit_test_setup(long_text_is_truncated, start),
        cmocka_unit_test_setup(ranges, start),
        cmocka_unit_test_setup(domains, start),
        cmocka_unit_test_setup(caching_pool, start),
        cmocka_unit_test_setup(workspace_pool, start),
        cmocka_unit_test_setup(atb_pool, start),
        cmocka_unit_test_setup(mindspore_pool, start),
        cmocka_unit_test_setup(invalid_arguments, start),
        cmocka_unit_test_setup(forked_child_reports_the_level_again, start),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
