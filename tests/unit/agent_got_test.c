/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is started without the agent and loads it later: its calls are hooked then, those of libraries loaded
 * after that when it attaches again, and everything else stays unchanged. */
#include "agent_fixture.h"

#include "acl/acl.h"
#include "agent/agent_v1.h"
#include "ascend_hal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)      assert_int_equal((call), 0)
#define TEXT(literal) ((struct ms_agent_text){literal, sizeof(literal) - 1})

static char session[MS_SESSION_MAX_B];
static const struct ms_agent_v1 *agent;
static struct process *self;

static void *alloc(unsigned long long size)
{
    void *p = NULL;
    OK(halMemAlloc(&p, size, MEM_DEV | MEM_TYPE_HBM));
    return p;
}

/* Protection of the mapping that contains an address. */
static void protection_of(const void *address, char mode[5])
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    mode[0] = '\0';
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long start, end;
        char found[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, found) == 3 && (uintptr_t)address - start < end - start) {
            strcpy(mode, found);
        }
    }
    fclose(maps);
}

extern const uintptr_t _GLOBAL_OFFSET_TABLE_[] __attribute__((visibility("hidden")));

static void nothing_before(void **state)
{
    halMemFree(alloc(4096));
    assert_null(session_poll());
    void *library = dlopen(build_path("msmemscope/lib64/libascend_kernel_hook.so"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    agent = dlsym(library, "ms_agent_v1");
    assert_non_null(agent);
    assert_true(agent->version == MS_AGENT_V1 && agent->size_b == sizeof(*agent));
    halMemFree(alloc(4096)); /* loaded, but not attached */
    assert_null(session_poll());
    assert_int_equal(agent->attach("nonsense"), -EINVAL);
    assert_int_equal(agent->attach(NULL), -EINVAL);
}

static void calls_are_hooked(void **state)
{
    assert_true(agent->attach(session) > 2);
    void *p = alloc(8192), *q = NULL;
    self = session_wait();
    const struct ms_p_hal_alloc *a = next_record(self, MS_R_HAL_ALLOC, NULL);
    assert_int_equal(a->size_b, 8192);
    assert_int_equal(a->addr, (uintptr_t)p);
    OK(halMemFree(p));
    next_record(self, MS_R_HAL_FREE, NULL);
    assert_int_equal(agent->attach(NULL), 0); /* the second time does nothing */
    assert_int_equal(agent->attach(session), -EALREADY);
    /* In a library: the runtime calls the driver. */
    skip_records(self);
    OK(aclrtMalloc(&q, 1 << 21, ACL_MEM_MALLOC_NORMAL_ONLY));
    assert_true(((const struct ms_p_hal_alloc *)next_record(self, MS_R_HAL_ALLOC, NULL))->size_b >= 1 << 21);
    OK(aclrtFree(q));
    next_record(self, MS_R_HAL_FREE, NULL);
    no_more_records(self);
    char mode[5];
    protection_of(_GLOBAL_OFFSET_TABLE_, mode);
    assert_string_equal(mode, "r--p");
}

static void libraries_loaded_later(void **state)
{
    void *library = dlopen(LATE, RTLD_NOW | RTLD_LOCAL);
    void *(*late)(unsigned long long) =
        library != NULL ? (void *(*)(unsigned long long))dlsym(library, "late_alloc") : NULL;
    assert_non_null(late);
    skip_records(self);
    void *p = late(512);
    no_more_records(self);
    assert_int_equal(agent->attach(NULL), 1);
    void *q = late(1024);
    assert_int_equal(((const struct ms_p_hal_alloc *)next_record(self, MS_R_HAL_ALLOC, NULL))->size_b, 1024);
    halMemFree(p);
    halMemFree(q);
    OK(dlclose(library));
}

static void events_of_the_program(void **state)
{
    const struct ms_record *r;
    skip_records(self);
    agent->mark(TEXT("epoch 1"));
    const struct ms_p_mark *mark = next_record(self, MS_R_MARK, &r);
    assert_string_equal(text_of(self, r, &mark->text, 0), "epoch 1");
    agent->label_push(5, TEXT("encoder"));
    const struct ms_p_label *label = next_record(self, MS_R_LABEL_PUSH, &r);
    assert_int_equal(r->arg, 5);
    assert_string_equal(text_of(self, r, &label->label, 0), "encoder");
    agent->label_pop(5, TEXT("encoder"));
    next_record(self, MS_R_LABEL_POP, &r);
    assert_int_equal(r->arg, 5);
    agent->address_label(2, 0x1234, TEXT("weight"));
    const struct ms_p_addr_label *at = next_record(self, MS_R_ADDR_LABEL, &r);
    assert_int_equal(r->arg, 2);
    assert_int_equal(at->addr, 0x1234);
    assert_string_equal(text_of(self, r, &at->label, 0), "weight");
    self->shm->state = MS_STATE_SHADOW; /* not tracing */
    agent->mark(TEXT("epoch 2"));
    no_more_records(self);
    agent->label_push(5, TEXT("decoder")); /* may outlast the start of tracing */
    next_record(self, MS_R_LABEL_PUSH, &r);
    self->shm->state = MS_STATE_OFF;
    agent->label_push(5, TEXT("decoder"));
    no_more_records(self);
    self->shm->state = MS_STATE_ON;

    struct ms_agent_state now;
    agent->state(&now);
    assert_true(now.recorded && now.state == MS_STATE_ON && now.event_mask == self->shm->event_mask);
    uint64_t begin = agent->stamp();
    agent->slice(begin, agent->stamp(), 2, TEXT("f"));
    const struct ms_p_slice *slice = next_record(self, MS_R_SLICE, &r);
    assert_true(slice->start_stamp == begin && slice->end_stamp >= begin && r->stamp >= slice->end_stamp);
    assert_int_equal(r->arg, 2);
    const uint64_t memory_b[MS_AGENT_MEMORY] = {1, 2, 3, 4, 5, MS_AGENT_UNKNOWN};
    OK(agent->snapshot(7, memory_b, TEXT("now"), NULL, 0));
    const struct ms_p_snapshot *snapshot = next_record(self, MS_R_SNAPSHOT, &r);
    assert_memory_equal(snapshot, memory_b, sizeof(memory_b));
    assert_int_equal(r->arg, 7);
}

static int set_up(void **state)
{
    uint32_t devices;
    OK(aclInit(NULL));
    OK(aclrtGetDeviceCount(&devices));
    OK(aclrtSetDevice(0));
    return 0;
}

int main(int argc, char **argv)
{
    session_begin(argv, NULL);
    snprintf(session, sizeof(session), "%s", session_text());
    unsetenv(MS_SESSION_ENV);            /* without a session in the environment ... */
    setenv("MSMEMSCOPE_SHADOW", "0", 1); /* ... and it must not start on its own */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_before),
        cmocka_unit_test(calls_are_hooked),
        cmocka_unit_test(libraries_loaded_later),
        cmocka_unit_test(events_of_the_program),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
