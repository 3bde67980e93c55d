/* SPDX-License-Identifier: Apache-2.0 */
/* C++ exceptions pass through hooks and leave no state behind that would confuse the next launch. */
#include "agent_fixture.h"

#include "agent/kernel.h"

int throwing_runtime(void);
int caught_launch(int depth);

static void configure(struct ms_session *session)
{
    session->event_mask = MS_WANT_LAUNCH | MS_WANT_KERNEL;
}

static void exceptions_pass(void **state)
{
    assert_true(ms_kernel_wanted());
    uintptr_t left = 0;
    for (int depth = 10; depth-- > 0;) { /* each from further up: replaces what the previous one left */
        assert_int_equal(caught_launch(depth), throwing_runtime());
        assert_true(ms_self.launch_frame > left); /* the stack grows down */
        left = ms_self.launch_frame;
    }
    assert_int_equal(ms_self.suppressed, 0);
}

int main(int argc, char **argv)
{
    session_begin(argv, configure);
    const struct CMUnitTest tests[] = {cmocka_unit_test(exceptions_pass)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
