/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent records from PyTorch: allocations as libc10 reports them, operators as its observers see them. */
#include "agent_fixture.h"

#include "abi/c10.h"
#include "agent/agent_v1.h"
#include "mstx/ms_tools_ext.h"
#include "torch_fake.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

enum { CANARY = 4711, MEMORY = MS_WANT_ALLOC | MS_WANT_FREE, OPERATORS = MS_WANT_LAUNCH | MS_WANT_OP };

static struct process *self;

static void want(uint32_t mask, uint32_t state)
{
    self->shm->event_mask = mask;
    self->shm->state = state;
    self->shm->config_version++;
}

static int set_up(void **state)
{
    (void)state;
    fake_free(fake_tensor(1)); /* attaches */
    self = own_process();
    return 0;
}

static int start(void **state)
{
    (void)state;
    want(MEMORY | MS_WANT_CPU, MS_STATE_ON);
    fake_profile(0);
    skip_records(self);
    errno = CANARY;
    return 0;
}

static void expect_alloc(uint32_t arg, const void *ptr, uint64_t size_b)
{
    const struct ms_record *r;
    const struct ms_p_pool_alloc *a = next_record(self, MS_R_POOL_ALLOC, &r);
    assert_int_equal(r->arg, arg);
    assert_int_equal(a->addr, (uintptr_t)ptr);
    assert_int_equal(a->size_b, size_b);
}

static void expect_free(uint32_t arg, const void *ptr)
{
    const struct ms_record *r;
    const struct ms_p_pool_free *f = next_record(self, MS_R_POOL_FREE, &r);
    assert_int_equal(r->arg, arg);
    assert_int_equal(f->addr, (uintptr_t)ptr);
}

#define HOST MS_POOL_ARG(MS_POOL_HOST, MS_DEV_CPU)

static void cpu_tensors(void **state)
{
    (void)state;
    unsigned before = fake_calls();
    void *p = fake_tensor(1000);
    expect_alloc(HOST, p, 1000);
    fake_free(p);
    expect_free(HOST, p);
    fake_free(fake_tensor(0)); /* an empty tensor has no memory */
    no_more_records(self);
    assert_int_equal(fake_calls() - before, 4);
    assert_int_equal(errno, CANARY);
}

static void only_if_the_cpu_is_requested(void **state)
{
    (void)state;
    unsigned before = fake_calls();
    want(MEMORY, MS_STATE_ON);
    fake_free(fake_tensor(1000));
    want(MS_WANT_CPU, MS_STATE_ON);
    fake_free(fake_tensor(1000));
    want(MEMORY | MS_WANT_CPU, MS_STATE_OFF);
    fake_free(fake_tensor(1000));
    no_more_records(self);
    assert_int_equal(fake_calls() - before, 6);
    want(MEMORY | MS_WANT_CPU, MS_STATE_SHADOW);
    fake_free(fake_tensor(1000));
    const struct ms_record *r;
    next_record(self, MS_R_POOL_ALLOC, &r);
    assert_int_equal(r->flags & MS_RECORD_SHADOW, MS_RECORD_SHADOW);
}

/* Tensors that PyTorch makes of numbers because operators are observed. */
static void announced_numbers_are_not_recorded(void **state)
{
    (void)state;
    const struct ms_agent_v1 *agent = dlsym(RTLD_DEFAULT, "ms_agent_v1");
    assert_non_null(agent);
    agent->numbers(2);
    void *number = fake_tensor(8), *large = fake_tensor(17), *complex = fake_tensor(16), *third = fake_tensor(8);
    expect_alloc(HOST, large, 17); /* larger than any number */
    expect_alloc(HOST, third, 8);
    fake_free(large);
    expect_free(HOST, large);
    fake_free(complex);
    fake_free(number);
    fake_free(third);
    expect_free(HOST, third);
    agent->numbers(3);
    agent->numbers(0);
    void *later = fake_tensor(8);
    expect_alloc(HOST, later, 8);
    fake_free(later);
    expect_free(HOST, later);
    no_more_records(self);
}

static void once_while_pytorch_profiles(void **state)
{
    (void)state;
    fake_profile(1);
    void *p = fake_tensor(64);
    expect_alloc(HOST, p, 64);
    fake_free(p);
    expect_free(HOST, p);
    no_more_records(self);
}

static char place[64];

static void mapped_files(void **state)
{
    (void)state;
    for (int old = 0; old < 2; old++) {
        fake_report(place, 4096, C10_CPU, -1, old);
        expect_alloc(HOST, place, 4096);
        fake_report(place, -4096, C10_CPU, -1, old);
        expect_free(HOST, place);
        fake_report(NULL, 4096, C10_CPU, -1, old);
        fake_report(place, 0, C10_CPU, -1, old);
    }
    want(MEMORY, MS_STATE_ON);
    fake_report(place, 4096, C10_CPU, -1, 0);
    no_more_records(self);
}

static void other_devices(void **state)
{
    (void)state;
    static const struct {
        int type, index;
        uint32_t arg;
    } cases[] = {
        {C10_PRIVATEUSE1, 1, MS_POOL_ARG(MS_POOL_PTA, 1)},
        {C10_CUDA, 3, MS_POOL_ARG(MS_POOL_PTA, 3)},
        {C10_XPU, -1, MS_POOL_ARG(MS_POOL_PTA, 0)},
    };
    want(MEMORY, MS_STATE_ON);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake_report(place, 512, cases[i].type, cases[i].index, 0);
        expect_alloc(cases[i].arg, place, 512);
        fake_report(place, -512, cases[i].type, cases[i].index, 0);
        expect_free(cases[i].arg, place);
    }
    fake_report(place, 512, 14, 0, 0); /* meta: no memory at all */
    no_more_records(self);
    mstxDomainCreateA("ptaCaching"); /* now the pool reports itself */
    fake_report(place, 512, C10_PRIVATEUSE1, 0, 0);
    no_more_records(self);
    fake_report(place, 512, C10_CUDA, 0, 0);
    expect_alloc(MS_POOL_ARG(MS_POOL_PTA, 0), place, 512);
}

static void expect_mark(uint32_t device, const char *text)
{
    const struct ms_record *r;
    const struct ms_p_mark *mark = next_record(self, MS_R_MARK, &r);
    assert_string_equal(text_of(self, r, &mark->text, 0), text);
    assert_int_equal(r->arg, device);
    assert_int_equal(mark->stream_id, -1);
}

/* turn: 'b' begins, 'e' ends. */
static void expect_turn(char turn, uint32_t device, const char *name)
{
    char text[256];
    snprintf(text, sizeof(text), "memscope-aten-%c: name=%s", turn, name);
    expect_mark(device, text);
}

static void expect_operator(uint32_t device, const char *name)
{
    expect_turn('b', device, name);
    expect_turn('e', device, name);
}

static void operators(void **state)
{
    (void)state;
    assert_int_equal(fake_observers(), 0);
    want(OPERATORS | MS_WANT_CPU, MS_STATE_ON);
    fake_free(fake_tensor(8)); /* an allocation: PyTorch is detected */
    assert_int_equal(fake_observers(), 1);
    for (int i = 0; i < 3; i++) {
        fake_operator("aten::add", "Tensor");
        expect_operator(MS_DEV_CPU, "torch._ops.aten.add.Tensor");
        fake_operator("aten::add", "Scalar");
        expect_operator(MS_DEV_CPU, "torch._ops.aten.add.Scalar");
        fake_operator("aten::_transformer_encoder_layer_fwd", ""); /* not stored inside the string object */
        expect_operator(MS_DEV_CPU, "torch._ops.aten._transformer_encoder_layer_fwd.default");
        fake_operator("mine::fused", "an_overload_of_more_than_15_bytes");
        expect_operator(MS_DEV_CPU, "torch._ops.mine.fused.an_overload_of_more_than_15_bytes");
    }
    static const char *const others[] = {"AddmmBackward0",
                                         "torch::autograd::AccumulateGrad",
                                         "autograd::engine::evaluate_function: AddmmBackward0",
                                         "Optimizer.step#SGD.step",
                                         "::",
                                         "a::",
                                         ""};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        fake_range(others[i]);
    }
    no_more_records(self);
    errno = CANARY;
    fake_operator("aten::add", "Tensor");
    assert_int_equal(errno, CANARY);
    want(OPERATORS, MS_STATE_ON);
    skip_records(self);
    fake_operator("aten::add", "Tensor"); /* on the CPU, which is not recorded */
    no_more_records(self);
}

/* ---- nested operators ---- */

static void observe_operators(void)
{
    want(OPERATORS | MS_WANT_CPU, MS_STATE_ON);
    fake_free(fake_tensor(8));
}

static void stop_observing(void)
{
    want(OPERATORS | MS_WANT_CPU, MS_STATE_OFF);
    fake_free(fake_tensor(8));
}

static void expect_add(void)
{
    fake_operator("aten::add", "Tensor");
    expect_operator(MS_DEV_CPU, "torch._ops.aten.add.Tensor");
    no_more_records(self);
}

static void view(void)
{
    fake_operator("aten::as_strided", "");
}

static void kernel_with_views(void)
{
    fake_beneath_autograd(1);
    fake_operator_that(view, "aten::select", "int");
    fake_range_around(view, "a range of the kernel's");
    fake_operator("aten::resolve_conj", "");
    fake_beneath_autograd(0);
}

static void view_with_autograd(void)
{
    fake_beneath_autograd(0);
    view();
    fake_beneath_autograd(1);
}

static void kernel_with_autograd(void)
{
    fake_beneath_autograd(1);
    fake_operator_that(view_with_autograd, "mine::checkpoint", "");
    fake_beneath_autograd(0);
}

static void composite(void)
{
    fake_operator_that(kernel_with_views, "aten::addmm", "");
}

static void calls_of_a_kernel_are_not_recorded(void **state)
{
    (void)state;
    observe_operators();
    fake_operator_that(composite, "aten::linear", "");
    expect_turn('b', MS_DEV_CPU, "torch._ops.aten.linear.default");
    expect_operator(MS_DEV_CPU, "torch._ops.aten.addmm.default");
    expect_turn('e', MS_DEV_CPU, "torch._ops.aten.linear.default");
    fake_operator_that(kernel_with_autograd, "mine::outer", "");
    expect_operator(MS_DEV_CPU, "torch._ops.mine.outer.default");
    expect_add();
}

static void outermost_operators_in_inference_mode(void **state)
{
    (void)state;
    observe_operators();
    fake_beneath_autograd(1);
    for (int i = 0; i < 2; i++) {
        fake_operator_that(view, "aten::linear", "");
        expect_operator(MS_DEV_CPU, "torch._ops.aten.linear.default");
    }
    fake_range_around(view, "CompiledFunction"); /* not an operator */
    expect_operator(MS_DEV_CPU, "torch._ops.aten.as_strided.default");
    fake_beneath_autograd(0);
    expect_add();
}

static void resume_in_a_kernel(void)
{
    fake_beneath_autograd(1);
    stop_observing();
    observe_operators();
    fake_beneath_autograd(0);
}

static void pause_in_a_kernel(void)
{
    stop_observing();
    view();
}

static void begin_in_a_kernel(void)
{
    self->shm->state = MS_STATE_ON;
}

static void observers_change_inside_an_operator(void **state)
{
    (void)state;
    stop_observing();
    fake_operator_that(observe_operators, "aten::mm", ""); /* an end alone is not recorded */
    expect_add();
    self->shm->state = MS_STATE_OFF; /* nor is it with recording off */
    fake_operator_that(begin_in_a_kernel, "aten::mm", "");
    skip_records(self);
    expect_add();
    fake_operator_that(pause_in_a_kernel, "aten::mm", "");
    skip_records(self);
    observe_operators();
    expect_add();
    fake_operator_that(resume_in_a_kernel, "aten::mm", "");
    skip_records(self);
    expect_add();
    fake_beneath_autograd(1);
    expect_add();
    fake_beneath_autograd(0);
}

static void more_operators_than_the_table_holds(void **state)
{
    (void)state;
    want(OPERATORS | MS_WANT_CPU, MS_STATE_ON);
    fake_free(fake_tensor(8));
    for (int i = 0; i < 6000; i++) {
        char name[64], expected[96];
        snprintf(name, sizeof(name), "mine::operator_%d", i);
        fake_operator(name, "");
        if (i % 1000 == 999) {
            skip_records(self);
            fake_operator(name, "");
            snprintf(expected, sizeof(expected), "torch._ops.mine.operator_%d.default", i);
            expect_operator(MS_DEV_CPU, expected);
        }
    }
}

static void observers_are_removed_when_not_needed(void **state)
{
    (void)state;
    static const struct {
        uint32_t mask, state;
        unsigned observers;
    } cases[] = {{OPERATORS, MS_STATE_ON, 1},
                 {MS_WANT_LAUNCH, MS_STATE_ON, 0},
                 {OPERATORS, MS_STATE_ON, 1},
                 {OPERATORS, MS_STATE_SHADOW, 0},
                 {MEMORY, MS_STATE_ON, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        want(cases[i].mask, cases[i].state);
        fake_free(fake_tensor(8));
        assert_int_equal(fake_observers(), cases[i].observers);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    session_begin(argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(cpu_tensors, start),
        cmocka_unit_test_setup(only_if_the_cpu_is_requested, start),
        cmocka_unit_test_setup(announced_numbers_are_not_recorded, start),
        cmocka_unit_test_setup(once_while_pytorch_profiles, start),
        cmocka_unit_test_setup(mapped_files, start),
        cmocka_unit_test_setup(other_devices, start),
        cmocka_unit_test_setup(operators, start),
        cmocka_unit_test_setup(calls_of_a_kernel_are_not_recorded, start),
        cmocka_unit_test_setup(outermost_operators_in_inference_mode, start),
        cmocka_unit_test_setup(observers_change_inside_an_operator, start),
        cmocka_unit_test_setup(observers_are_removed_when_not_needed, start),
        cmocka_unit_test_setup(more_operators_than_the_table_holds, start),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
