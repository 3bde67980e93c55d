/* SPDX-License-Identifier: Apache-2.0 */
/* The report inside the page: whatever names it contains, they cannot end its element. */
#include "memscope/render/html.h"

#include "memscope/render/html_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

static struct ms_buffer page_of(const char *json, size_t json_b)
{
    struct ms_buffer page = {0};
    ms_html_page(json, json_b, &page);
    assert_false(page.failed);
    return page;
}

/* Expects this text between head and tail. */
static void expect_inside(const char *json, const char *inside)
{
    struct ms_buffer page = page_of(json, strlen(json));
    assert_int_equal(page.used, ms_html_head_b + strlen(inside) + ms_html_tail_b);
    assert_memory_equal(page.s, ms_html_head, ms_html_head_b);
    assert_memory_equal(page.s + ms_html_head_b, inside, strlen(inside));
    assert_memory_equal(page.s + page.used - ms_html_tail_b, ms_html_tail, ms_html_tail_b);
    ms_buffer_free(&page);
}

static void test_escapes(void **state)
{
    (void)state;
    expect_inside("{}", "{}");
    expect_inside("", "");
    expect_inside("{\"a\":\"</script><img src=x>\"}", "{\"a\":\"\\u003c/script>\\u003cimg src=x>\"}");
    expect_inside("<<", "\\u003c\\u003c");
    expect_inside("<!--<script>", "\\u003c!--\\u003cscript>");
    expect_inside("\"a\xe2\x80\xa8z\xe2\x80\xa9\"", "\"a\\u2028z\\u2029\"");
    expect_inside("\"\xe2\x80\xaa \xe2\x80\xa6 \xe2\x82\xac\"", "\"\xe2\x80\xaa \xe2\x80\xa6 \xe2\x82\xac\"");
}

static void test_cut_characters(void **state)
{
    (void)state;
    const char *cut[] = {"\xe2", "\xe2\x80", "x\xe2\x80"};
    for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
        expect_inside(cut[i], cut[i]);
    }
}

/* The page has one place for the report, and a policy that allows no other scripts. */
static void test_the_page(void **state)
{
    (void)state;
    if (!ms_html_available()) {
        assert_int_equal(ms_html_tail_b, 0);
        return;
    }
    assert_non_null(strstr(ms_html_head, "default-src 'none'; script-src 'sha256-"));
    assert_null(strstr(ms_html_head, "unsafe"));
    assert_null(strstr(ms_html_head, "src="));
    assert_null(strstr(ms_html_tail, "src="));
    const char *opening = "<script type=\"application/json\" id=\"report\">";
    assert_string_equal(ms_html_head + ms_html_head_b - strlen(opening), opening);
    assert_memory_equal(ms_html_tail, "</script>", strlen("</script>"));
    assert_int_equal(strlen(ms_html_head), ms_html_head_b);
    assert_int_equal(strlen(ms_html_tail), ms_html_tail_b);
    assert_true(ms_html_head_b + ms_html_tail_b <= 150000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_cut_characters),
        cmocka_unit_test(test_the_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
