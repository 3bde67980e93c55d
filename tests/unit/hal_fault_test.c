/* SPDX-License-Identifier: Apache-2.0 */
/* Injected faults: the grammar in this process, the effects in children whose environment has the plan. */
#include "hal_test.h"

#include "softnpu/hal/fault_plan.h"

/* Makes one allocation per letter ("D" 4 KiB on device 0, "E" on device 1, "B" 64 MiB on device 0, "H" host memory,
 * "C" a handle), and prints "." or the error for each. */
static int role_allocate(const char *letters)
{
    char line[64] = "";
    for (size_t i = 0; letters[i] != '\0'; i++) {
        static const struct drv_mem_prop prop = {.side = MEM_DEV_SIDE};
        drv_mem_handle_t *h;
        void *p;
        int rc = letters[i] == 'C'   ? halMemCreate(&h, 2 * MIB, &prop, 0)
                 : letters[i] == 'H' ? halMemAlloc(&p, 4096, MEM_HOST)
                 : letters[i] == 'B' ? halMemAlloc(&p, 64 * MIB, DEV_FLAGS)
                                     : halMemAlloc(&p, 4096, DEV_FLAGS | (letters[i] == 'E'));
        snprintf(line + i, sizeof(line) - i, "%c", rc == 0 ? '.' : '0' + rc);
    }
    child_say(line);
    return 0;
}

/* Runs kernels "a" or "b" on device 0, or "A" on device 1. */
static int role_launch(const char *letters)
{
    char line[64] = "";
    for (size_t i = 0; letters[i] != '\0'; i++) {
        const char name[] = {letters[i] == 'A' ? 'a' : letters[i], '\0'};
        snprintf(line + i, sizeof(line) - i, "%d", snpu_fault_on_kernel(letters[i] == 'A', name));
    }
    child_say(line);
    return 0;
}

static int role_slow(const char *argument)
{
    char line[64];
    snprintf(line, sizeof(line), "%g %g", snpu_fault_slow_factor(0), snpu_fault_slow_factor(1));
    child_say(line);
    return 0;
}

static int role_message(const char *argument)
{
    char line[128];
    snprintf(line, sizeof(line), "%.100s", snpu_hal_message() != NULL ? snpu_hal_message() : "fine");
    if (strchr(line, '\n') != NULL) {
        *strchr(line, '\n') = ' ';
    }
    child_say(line);
    return 0;
}

static const char *with_plan(const char *plan, const char *role, const char *argument)
{
    static char line[128];
    setenv("SOFTNPU_FAULT", plan, 1);
    struct hal_child c = hal_spawn(role, argument);
    unsetenv("SOFTNPU_FAULT");
    snprintf(line, sizeof(line), "%.127s", hal_hear(&c));
    assert_int_equal(hal_end(&c), 0);
    return line;
}

static void allocations_fail_as_planned(void **state)
{
    assert_string_equal(with_plan("", "allocate", "DDDD"), "....");
    assert_string_equal(with_plan("oom@call=2", "allocate", "DDDD"), ".6..");
    assert_string_equal(with_plan("oom@call=2+", "allocate", "DCHD"), ".6.6");
    assert_string_equal(with_plan("oom@call=2,dev=1", "allocate", "DDEDEHE"), "....6..");
    assert_string_equal(with_plan("oom@call=2", "allocate", "DHHDD"), "...6."); /* host memory does not count */
    assert_string_equal(with_plan("oom@above=1M", "allocate", "DBD"), ".6.");
    assert_string_equal(with_plan("oom@above=1M,dev=1", "allocate", "DBD"), "...");
    assert_string_equal(with_plan("oom@call=1;oom@call=3", "allocate", "DDDD"), "6.6.");
}

static void kernels_fail_as_planned(void **state)
{
    assert_string_equal(with_plan("", "launch", "aaa"), "000");
    assert_string_equal(with_plan("kernel-error@launch=2", "launch", "abab"), "0100");
    assert_string_equal(with_plan("kernel-error@launch=2,name=b", "launch", "abab"), "0001");
    assert_string_equal(with_plan("kernel-error@launch=2+", "launch", "abab"), "0111");
    assert_string_equal(with_plan("lost-task@launch=1,dev=1", "launch", "abAA"), "0020");
    assert_string_equal(with_plan("kernel-error@launch=3; reset@launch=3", "launch", "aaaa"), "0030");
    assert_string_equal(with_plan("slow=2.5,dev=1", "slow", ""), "1 2.5");
    assert_string_equal(with_plan("slow=4", "slow", ""), "4 4");
}

static void a_bad_plan_is_ignored_with_a_message(void **state)
{
    assert_string_equal(with_plan("oom@call=2", "message", ""), "fine");
    assert_non_null(strstr(with_plan("oom@call=zwei", "message", ""), "SOFTNPU_FAULT ignored"));
    assert_string_equal(with_plan("oom@call=zwei", "allocate", "DDD"), "...");
}

static void the_grammar_is_strict(void **state)
{
    static const struct {
        const char *text;
        int rules; /* -1: refused */
    } cases[] = {
        {NULL, 0},
        {"", 0},
        {"oom@call=1", 1},
        {"oom@call=1+;oom@above=16M,dev=3;slow=2;reset@launch=9", 4},
        {"kernel-error@launch=5,name=MatMul,dev=1", 1},
        {"oom@call=0", -1},
        {"oom@call=", -1},
        {"oom@call=-1", -1},
        {"oom@call=1++", -1},
        {"oom@call=1,dev=64", -1},
        {"oom@call=1,name=x", -1},
        {"oom@above=", -1},
        {"oom@above=big", -1},
        {"oom@launch=1", -1},
        {"slow=0.5", -1},
        {"slow=nan", -1},
        {"slow=inf", -1},
        {"slow=2x", -1},
        {"kernel-error@launch=1,name=", -1},
        {"kernel-error@launch=1,color=red", -1},
        {"fire", -1},
        {"oom@call=1;fire", -1},
    };
    struct snpu_fault_plan plan;
    char why[128];
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        why[0] = '\0';
        int rc = snpu_fault_parse(cases[i].text, &plan, why, sizeof(why));
        assert_int_equal(rc, cases[i].rules < 0 ? -EINVAL : 0);
        assert_int_equal(plan.count, cases[i].rules < 0 ? 0 : cases[i].rules);
        assert_int_equal(why[0] != '\0', cases[i].rules < 0);
    }
    char many[400] = "slow=1";
    for (int i = 1; i < SNPU_FAULT_RULES; i++) {
        strcat(many, ";slow=1");
    }
    assert_int_equal(snpu_fault_parse(many, &plan, why, sizeof(why)), 0);
    strcat(many, ";slow=1");
    assert_int_equal(snpu_fault_parse(many, &plan, why, sizeof(why)), -EINVAL);
    assert_int_equal(snpu_fault_parse("kernel-error@launch=7,name=MatMul", &plan, why, sizeof(why)), 0);
    assert_int_equal(plan.rules[0].nth, 7);
    assert_int_equal(plan.rules[0].dev, -1);
    assert_string_equal(plan.rules[0].name, "MatMul");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(const char *argument);
    } roles[] = {{"allocate", role_allocate}, {"launch", role_launch}, {"slow", role_slow}, {"message", role_message}};
    hal_use_machine("2", "256M");
    for (size_t i = 0; argc > 2 && i < MS_COUNT_OF(roles); i++) {
        if (strcmp(argv[1], roles[i].name) == 0) {
            return roles[i].run(argv[2]);
        }
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_fail_as_planned),
        cmocka_unit_test(kernels_fail_as_planned),
        cmocka_unit_test(a_bad_plan_is_ignored_with_a_message),
        cmocka_unit_test(the_grammar_is_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
