/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of hosts: valid patterns, and patterns that must be refused before they cost anything. */
#include "cli/dyno/hosts.h"

#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* Formats the hosts of a pattern as "name:port name ...". */
static void show(const struct dyno_hosts *hosts, char *out, size_t out_b)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < hosts->count; i++) {
        n += (size_t)snprintf(out + n, out_b - n, "%s%s", i > 0 ? " " : "", hosts->list[i].name);
        if (hosts->list[i].port != 0) {
            n += (size_t)snprintf(out + n, out_b - n, "/%u", hosts->list[i].port);
        }
    }
}

static void test_patterns(void **state)
{
    static const struct {
        const char *pattern, *hosts;
    } cases[] = {
        {"a", "a"},
        {"a,b", "a b"},
        {" a , b ", "a b"},
        {"n[1-3]", "n1 n2 n3"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"n[001-3]", "n001 n002 n003"},
        {"n[1,3,5-6]x", "n1x n3x n5x n6x"},
        {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
        {"a,n[1-2],b", "a n1 n2 b"},
        {"a:1779,b", "a/1779 b"},
        {"n[1-2]:1779", "n1/1779 n2/1779"},
        {"::1", "::1"},
        {"[::1]:1779", "::1/1779"},
        {"[fe80::1%eth0]", "fe80::1%eth0"},
        {"127.0.0.[1-2]", "127.0.0.1 127.0.0.2"},
        {"[1-3]", "1 2 3"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dyno_hosts hosts = {0};
        char why[DYNO_WHY_B] = "", shown[256];
        assert_int_equal(dyno_hosts_expand(&hosts, cases[i].pattern, why), 0);
        show(&hosts, shown, sizeof(shown));
        assert_string_equal(shown, cases[i].hosts);
        dyno_hosts_free(&hosts);
    }
}

static void test_refused(void **state)
{
    static const char *const patterns[] = {
        "",        ",",     "a,",     "n[",       "n[1",   "n[]",           "n[a]",
        "n[3-1]",  "n[1-]", "n[-1]",  "n[1-2-3]", "n[1,]", "n[9999999999]", "a:0",
        "a:65536", "a:x",   "[::1]x", "a b",      "a;rm",  "$(x)",          "-oProxy",
    };
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        struct dyno_hosts hosts = {0};
        char why[DYNO_WHY_B] = "";
        if (dyno_hosts_expand(&hosts, patterns[i], why) != -EINVAL) {
            fail_msg("accepted: %s", patterns[i]);
        }
        assert_true(why[0] != '\0');
        dyno_hosts_free(&hosts);
    }
    char longest[400];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    struct dyno_hosts hosts = {0};
    char why[DYNO_WHY_B];
    assert_int_equal(dyno_hosts_expand(&hosts, longest, why), -EINVAL);
    assert_int_equal(dyno_hosts_expand(&hosts, "n[1-999999999]", why), -E2BIG);
    assert_int_equal(hosts.count, DYNO_HOSTS_MAX);
    dyno_hosts_free(&hosts);
    assert_int_equal(dyno_hosts_expand(&hosts, "a[1-999]b[1-999]c[1-999]", why), -E2BIG);
    dyno_hosts_free(&hosts);
}

static void test_unique(void **state)
{
    struct dyno_hosts hosts = {0};
    char why[DYNO_WHY_B], shown[256];
    assert_int_equal(dyno_hosts_expand(&hosts, "b,a,b,a:7,n[1-2],n1,a", why), 0);
    dyno_hosts_unique(&hosts);
    show(&hosts, shown, sizeof(shown));
    assert_string_equal(shown, "b a a/7 n1 n2");
    dyno_hosts_free(&hosts);
    dyno_hosts_unique(&hosts);
    assert_int_equal(hosts.count, 0);
}

static void test_file(void **state)
{
    char path[] = "/tmp/dyno_hosts_XXXXXX", why[DYNO_WHY_B], shown[256];
    static const char text[] = "# nodes\nn[1-2] slots=8\n\n  m1:1779   # the last\r\nm2";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    struct dyno_hosts hosts = {0};
    assert_int_equal(dyno_hosts_file(&hosts, path, why), 0);
    show(&hosts, shown, sizeof(shown));
    assert_string_equal(shown, "n1 n2 m1/1779 m2");
    dyno_hosts_free(&hosts);
    assert_int_equal(pwrite(fd, "n[", 2, 0), 2);
    assert_int_equal(dyno_hosts_file(&hosts, path, why), -EINVAL);
    assert_non_null(strstr(why, "line 1"));
    close(fd);
    unlink(path);
    dyno_hosts_free(&hosts);
    assert_int_equal(dyno_hosts_file(&hosts, path, why), -ENOENT);
    assert_int_equal(dyno_hosts_slurm(&hosts, "1;reboot", why), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_unique),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
