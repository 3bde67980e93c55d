/* SPDX-License-Identifier: Apache-2.0 */
/* C stacks: the right frames in the right modules, defined once, and again after a module was unloaded. */
#include "agent_fixture.h"

#include "acl/acl.h"
#include "ascend_hal.h"
#include "base/macros.h"
#include "frame_shapes.h"
#include "mstx/ms_tools_ext.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#define OK(call) assert_int_equal((call), 0)
enum { CANARY = 4711 };

static struct process *self;
static struct seen seen[40000];

static int set_up(void **state)
{
    uint32_t devices = 0; /* one function that is not hooked: hooked ones alone would not link the libraries */
    OK(aclInit(NULL));
    OK(aclrtGetDeviceCount(&devices));
    OK(aclrtSetDevice(0));
    self = own_process();
    return 0;
}

static int start(void **state)
{
    self->shm->c_depth = 20;
    skip_records(self);
    errno = CANARY;
    return 0;
}

static __attribute__((noinline)) void *inner(unsigned long long size)
{
    void *p = NULL;
    drvError_t result = halMemAlloc(&p, size, MEM_DEV | MEM_TYPE_HBM);
    __asm__ volatile("" ::"r"(result) : "memory");
    return p;
}

static __attribute__((noinline)) void *outer(unsigned long long size)
{
    void *p = inner(size);
    __asm__ volatile("" ::"r"(p) : "memory");
    return p;
}

static uint32_t c_stack_of(const struct ms_record *r)
{
    if ((r->flags & MS_RECORD_STACKS) == 0) {
        return 0;
    }
    const struct ms_stack_ids *ids = (const void *)((const uint64_t *)(const void *)r + r->words - 1);
    return ids->c;
}

/* Definition of a kind and id, in the only stream of this test. */
static const struct ms_record *definition(enum ms_record_kind kind, uint32_t id, unsigned *times)
{
    const struct ms_record *found = NULL;
    size_t count = records_of(self, seen, MS_COUNT_OF(seen));
    unsigned n = 0;
    for (size_t i = 0; i < count; i++) {
        if (seen[i].record->kind == kind && seen[i].record->arg == id) {
            found = seen[i].record;
            n++;
        }
    }
    if (times != NULL) {
        *times = n;
    }
    assert_non_null(found);
    return found;
}

static uintptr_t address_of(const struct ms_frame *frame)
{
    if (frame->in == 0) {
        return frame->offset;
    }
    const struct ms_p_module *module = (const void *)(definition(MS_R_DEF_MODULE, frame->in, NULL) + 1);
    assert_true(frame->offset < module->size_b);
    return module->base + frame->offset;
}

static void frames_are_right(void **state)
{
    const struct ms_record *r;
    halMemFree(outer(4096));
    assert_int_equal(errno, CANARY);
    const struct ms_p_hal_alloc *a = next_record(self, MS_R_HAL_ALLOC, &r);
    assert_int_equal(a->size_b, 4096);
    uint32_t id = c_stack_of(r);
    assert_true(id != 0);
    const struct ms_p_stack *stack = (const void *)(definition(MS_R_DEF_STACK, id, NULL) + 1);
    const struct ms_frame *frames = (const void *)(stack + 1);
    assert_in_range(stack->frames, 4, 20);
    assert_in_range(address_of(&frames[0]) - (uintptr_t)inner, 1, 200);
    assert_in_range(address_of(&frames[1]) - (uintptr_t)outer, 1, 200);
    assert_in_range(address_of(&frames[2]) - (uintptr_t)frames_are_right, 1, 2000);
    const struct ms_record *module = definition(MS_R_DEF_MODULE, frames[0].in, NULL);
    const struct ms_p_module *m = (const void *)(module + 1);
    assert_non_null(strstr(text_of(self, module, &m->path, 0), "agent_stack_test"));
    assert_true(m->build_id_b == 20);
    next_record(self, MS_R_HAL_FREE, &r);
    assert_true(c_stack_of(r) != 0 && c_stack_of(r) != id);
}

static void a_stack_is_defined_once(void **state)
{
    uint32_t id = 0;
    for (unsigned i = 0; i < 5; i++) {
        const struct ms_record *r;
        void *p = outer(512);
        next_record(self, MS_R_HAL_ALLOC, &r);
        assert_true(id == 0 || id == c_stack_of(r));
        id = c_stack_of(r);
        halMemFree(p);
        next_record(self, MS_R_HAL_FREE, NULL);
    }
    unsigned times;
    definition(MS_R_DEF_STACK, id, &times);
    assert_int_equal(times, 1);
}

static void depth_and_state(void **state)
{
    const struct ms_record *r;
    self->shm->c_depth = 2;
    halMemFree(outer(512));
    next_record(self, MS_R_HAL_ALLOC, &r);
    const struct ms_p_stack *stack = (const void *)(definition(MS_R_DEF_STACK, c_stack_of(r), NULL) + 1);
    assert_int_equal(stack->frames, 2);
    next_record(self, MS_R_HAL_FREE, NULL);
    self->shm->state = MS_STATE_SHADOW;
    halMemFree(outer(512));
    next_record(self, MS_R_HAL_ALLOC, &r);
    assert_int_equal(c_stack_of(r), 0);
    next_record(self, MS_R_HAL_FREE, NULL);
    self->shm->state = MS_STATE_ON;
    self->shm->c_depth = 0;
    halMemFree(outer(512));
    next_record(self, MS_R_HAL_ALLOC, &r);
    assert_int_equal(c_stack_of(r), 0);
    next_record(self, MS_R_HAL_FREE, NULL);
    assert_null(outer(1ull << 40)); /* out of memory: a stack whatever is configured */
    next_record(self, MS_R_OOM, &r);
    stack = (const void *)(definition(MS_R_DEF_STACK, c_stack_of(r), NULL) + 1);
    const struct ms_frame *frames = (const void *)(stack + 1);
    assert_in_range(address_of(&frames[0]) - (uintptr_t)inner, 1, 200);
}

static void marks_have_stacks(void **state)
{
    static const struct {
        const char *text;
        bool stack;
    } cases[] = {{"mine", true},
                 {"memscope-aten-b: name=add", true},
                 {"memscope-aten-ac:ptr=1", false},
                 {"memscope-aten-e: name=add", false}};
    for (unsigned i = 0; i < 4; i++) {
        const struct ms_record *r;
        mstxMarkA(cases[i].text, NULL);
        const struct ms_p_mark *mark = next_record(self, MS_R_MARK, &r);
        assert_string_equal(text_of(self, r, &mark->text, 0), cases[i].text);
        assert_int_equal(c_stack_of(r) != 0, cases[i].stack);
    }
    assert_int_equal(errno, CANARY);
}

static void unloading_invalidates(void **state)
{
    const struct ms_record *r;
    halMemFree(outer(512));
    next_record(self, MS_R_HAL_ALLOC, &r);
    uint32_t before = c_stack_of(r);
    next_record(self, MS_R_HAL_FREE, NULL);
    void *library = dlopen("libm.so.6", RTLD_NOW);
    assert_non_null(library);
    OK(dlclose(library));
    halMemFree(outer(512));
    next_record(self, MS_R_HAL_ALLOC, &r);
    assert_int_not_equal(c_stack_of(r), before);
}

/* ---- recognised stacks are the actual stacks ---- */

static void *there[64]; /* the same stack, according to the C library */
static int there_count;

static __attribute__((noinline)) void bottom(void)
{
    void *p = NULL;
    there_count = backtrace(there, 64);
    halMemAlloc(&p, 512, MEM_DEV | MEM_TYPE_HBM);
    halMemFree(p);
}

/* Two stacks that start and end at the same places; the second has space that is never written to where the first had
 * its return addresses, which are still there. Only the frame pointer differs. */
static void stale_return_addresses(void **state)
{
    static const uint64_t first = 0x10d, second = 0xd81;
    self->shm->c_depth = 30;
    uint32_t ids[8];
    for (unsigned i = 0; i < MS_COUNT_OF(ids); i++) { /* nothing in between, it would overwrite the addresses */
        uint64_t plan = i % 4 < 3 ? first : second;
        __asm__ volatile("" : "+r"(plan)); /* one call for both */
        descend(plan, 3);
    }
    for (unsigned i = 0; i < MS_COUNT_OF(ids); i++) {
        const struct ms_record *r;
        next_record(self, MS_R_HAL_ALLOC, &r);
        ids[i] = c_stack_of(r);
        next_record(self, MS_R_HAL_FREE, NULL);
    }
    assert_int_equal(ids[0], ids[2]);
    assert_int_not_equal(ids[2], ids[3]);
    assert_int_equal(ids[3], ids[7]);
}

static void recognised_stacks(void **state)
{
    enum { ROUNDS = 1200, PLANS = 24, DEPTH = 5 };
    uint64_t plans[PLANS];
    uint32_t random = 17;
    self->shm->c_depth = 30;
    for (unsigned i = 0; i < PLANS; i++) {
        random = random * 1664525 + 1013904223;
        plans[i] = random >> 8;
    }
    static uint32_t checked[1 << 14];
    for (unsigned round = 0; round < ROUNDS; round++) {
        random = random * 1664525 + 1013904223;
        /* Most recur, some are new: there are more than can be cached. */
        uint64_t plan = (random >> 20) % 4 != 0 ? plans[(random >> 10) % PLANS] : random >> 8;
        descend(plan, DEPTH);
        const struct ms_record *r;
        next_record(self, MS_R_HAL_ALLOC, &r);
        uint32_t id = c_stack_of(r);
        next_record(self, MS_R_HAL_FREE, NULL);
        assert_true(id != 0 && id < MS_COUNT_OF(checked));
        uint32_t print = 1; /* frames of an id never change: check its definition when its stack differs */
        for (int i = 1; i < there_count; i++) {
            print = print * 31 + (uint32_t)(uintptr_t)there[i];
        }
        if (checked[id] == print) {
            continue;
        }
        assert_int_equal(checked[id], 0); /* one id for two stacks */
        checked[id] = print;
        const struct ms_p_stack *stack = (const void *)(definition(MS_R_DEF_STACK, id, NULL) + 1);
        const struct ms_frame *frames = (const void *)(stack + 1);
        int more = there_count - (int)stack->frames; /* a sanitizer's own backtrace() is one */
        assert_in_range(more, 0, 1);
        for (uint32_t i = 1; i < stack->frames; i++) {
            assert_int_equal(address_of(&frames[i]), (uintptr_t)there[(int)i + more]);
        }
    }
}

/* The last recorded stack is the one that the C library saw. */
static void is_there(void)
{
    const struct ms_record *r;
    next_record(self, MS_R_HAL_ALLOC, &r);
    const struct ms_p_stack *stack = (const void *)(definition(MS_R_DEF_STACK, c_stack_of(r), NULL) + 1);
    const struct ms_frame *frames = (const void *)(stack + 1);
    int more = there_count - (int)stack->frames;
    assert_in_range(more, 0, 1);
    for (uint32_t i = 1; i < stack->frames; i++) {
        assert_int_equal(address_of(&frames[i]), (uintptr_t)there[(int)i + more]);
    }
    next_record(self, MS_R_HAL_FREE, NULL);
}

static void on_signal(int number)
{
    descend(0x21, 2);
}

static void through_a_signal(void **state)
{
    self->shm->c_depth = 30;
    struct sigaction action = {.sa_handler = on_signal}, before;
    OK(sigaction(SIGUSR1, &action, &before));
    for (unsigned i = 0; i < 3; i++) { /* walked, walked and entered, recognised */
        raise(SIGUSR1);
        is_there();
    }
    OK(sigaction(SIGUSR1, &before, NULL));
}

static void *on_a_thread(void *unused)
{
    for (volatile unsigned i = 0; i < 2; i++) {
        descend(0x3210, 4);
    }
    return NULL;
}

static void to_the_end_of_a_thread(void **state)
{
    self->shm->c_depth = 30;
    pthread_t thread;
    OK(pthread_create(&thread, NULL, on_a_thread, NULL));
    OK(pthread_join(thread, NULL));
    is_there();
    is_there();
}

static void configure(struct ms_session *session)
{
    session->c_depth = 20;
}

int main(int argc, char **argv)
{
    session_begin(argv, configure);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(frames_are_right, start),       cmocka_unit_test_setup(a_stack_is_defined_once, start),
        cmocka_unit_test_setup(depth_and_state, start),        cmocka_unit_test_setup(marks_have_stacks, start),
        cmocka_unit_test_setup(unloading_invalidates, start),  cmocka_unit_test_setup(stale_return_addresses, start),
        cmocka_unit_test_setup(recognised_stacks, start),      cmocka_unit_test_setup(through_a_signal, start),
        cmocka_unit_test_setup(to_the_end_of_a_thread, start),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
