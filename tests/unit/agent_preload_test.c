/* SPDX-License-Identifier: Apache-2.0 */
/* The installed libraries as they are used: preloaded by any of their names, in any order, into unsuspecting programs;
 * and that they do not affect programs that have nothing to record. */
#include "agent_fixture.h"

static void every_name_in_any_order(void **state)
{
    static const char *const lists[] = {
        "ascend_kernel_hook",
        "leaks_ascend_hal_hook",
        "ascend_mstx_hook",
        "ascend_leaks",
        "leaks_ascend_hal_hook ascend_mstx_hook ascend_kernel_hook",
        "ascend_kernel_hook ascend_mstx_hook leaks_ascend_hal_hook",
        "ascend_kernel_hook ascend_kernel_hook",
        "ascend_leaks ascend_mstx_hook leaks_ascend_hal_hook",
    };
    static struct seen seen[10000];
    size_t expected = 0;
    for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        char *argv[] = {build_path("home/bin/acl-hello"), NULL};
        assert_int_equal(run_program(preload_list(lists[i]), session_text(), argv, NULL, 0), 0);
        struct process *process = session_wait();
        size_t count = records_of(process, seen, 10000), allocs = 0, frees = 0, inits = 0;
        for (size_t k = 0; k < count; k++) {
            allocs += seen[k].record->kind == MS_R_HAL_ALLOC;
            frees += seen[k].record->kind == MS_R_HAL_FREE;
            inits += seen[k].record->kind == MS_R_ACL_INIT;
        }
        assert_true(allocs > 0 && frees > 0);
        assert_int_equal(inits, 1);
        expected = i == 0 ? count : expected;
        assert_int_equal(count, expected); /* once each, whatever else is preloaded */
        assert_null(session_poll());
    }
}

/* Programs without a driver neither register nor behave differently. */
static void others_are_left_alone(void **state)
{
    char output[256];
    char *argv[] = {"/bin/echo", "hello", NULL};
    assert_int_equal(run_program(preload_list("ascend_kernel_hook"), session_text(), argv, output, sizeof(output)), 0);
    assert_string_equal(output, "hello\n");
    assert_null(session_poll());
}

static void without_a_session_nothing_happens(void **state)
{
    static const char *const sessions[] = {NULL, "", "1", "99;s=0", "nonsense", "1;t=2;s=zz"};
    for (unsigned i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
        char *argv[] = {build_path("home/bin/acl-hello"), NULL};
        assert_int_equal(run_program(preload_list("ascend_kernel_hook"), sessions[i], argv, NULL, 0), 0);
    }
    assert_null(session_poll());
}

/* The collector is gone: the program runs unrecorded. */
static void unreachable_collector(void **state)
{
    struct ms_session session;
    char text[MS_SESSION_MAX_B];
    ms_session_init(&session);
    ms_session_new_socket(&session);
    ms_session_format(&session, text, sizeof(text));
    char *argv[] = {build_path("home/bin/acl-hello"), NULL};
    assert_int_equal(run_program(preload_list("ascend_kernel_hook"), text, argv, NULL, 0), 0);
    assert_null(session_poll());
}

int main(int argc, char **argv)
{
    session_begin(argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_in_any_order),
        cmocka_unit_test(others_are_left_alone),
        cmocka_unit_test(without_a_session_nothing_happens),
        cmocka_unit_test(unreachable_collector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
