/* SPDX-License-Identifier: Apache-2.0 */
/* Rank tables: accepted ones, refused ones with the place of the error, and arbitrary text. */
#include "softnpu/hccl/ranktable.h"

#include "base/macros.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char two_servers[] =
    "{\n"
    " \"status\": \"completed\", \"version\": \"1.0\", \"server_count\": \"2\",\n"
    " \"server_list\": [\n"
    "  {\"server_id\": \"node_0\", \"host_ip\": \"172.16.0.100\", \"device\": [\n"
    "   {\"device_id\": \"0\", \"device_ip\": \"192.168.1.8\", \"rank_id\": \"0\"},\n"
    "   {\"device_id\": \"1\", \"device_ip\": \"192.168.1.9\", \"rank_id\": \"1\"}]},\n"
    "  {\"device\": [\n"
    "   {\"rank_id\": 3, \"device_id\": 0, \"more\": [1, -2.5e3, true, null, {\"a\": []}]},\n"
    "   {\"rank_id\": 2, \"device_id\": 5}], \"server_id\": \"no\\u0064e\\\"1\"}\n"
    " ]\n"
    "}\n";

static void a_good_table(void **state)
{
    struct hccl_ranktable t;
    char why[HCCL_WHY_B] = "";
    assert_int_equal(hccl_ranktable_parse(two_servers, strlen(two_servers), &t, why), HCCL_SUCCESS);
    assert_int_equal(t.n, 4);
    const uint32_t devices[] = {0, 1, 5, 0};
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(t.rank[r].device, devices[r]);
    }
    assert_true(t.rank[0].server_hash == t.rank[1].server_hash);
    assert_true(t.rank[2].server_hash == t.rank[3].server_hash);
    assert_true(t.rank[0].server_hash != t.rank[3].server_hash);
}

#define HEAD   "{\"status\":\"completed\",\"version\":\"1.0\",\"server_list\":"
#define SERVER "{\"server_id\":\"a\",\"device\":["

static const struct {
    const char *text, *why;
} bad[] = {
    {"", "'{' expected"},
    {"[]", "'{' expected"},
    {"{", "string expected"},
    {"{}", "no server_list"},
    {"{\"a\":1,}", "string expected"},
    {"{\"a\" 1}", "':' expected"},
    {"{\"a\":01}", "number"},
    {"{\"a\":1.}", "number"},
    {"{\"a\":-}", "number"},
    {"{\"a\":tru}", "value expected"},
    {"{\"a\":\"\\x\"}", "escape"},
    {"{\"a\":\"\\u12g4\"}", "hexadecimal"},
    {"{\"a\":\"b", "unterminated"},
    {"{\"a\":\"b\nc\"}", "unterminated"},
    {HEAD "[]}", "no device"},
    {HEAD "[]} x", "after the table"},
    {HEAD "[" SERVER "]}]}", "no device"},
    {HEAD "[" SERVER "{\"device_id\":\"0\"}]}]}", "needs device_id and rank_id"},
    {HEAD "[" SERVER "{\"device_id\":\"x\",\"rank_id\":\"0\"}]}]}", "number expected"},
    {HEAD "[" SERVER "{\"device_id\":\"-1\",\"rank_id\":\"0\"}]}]}", "number expected"},
    {HEAD "[" SERVER "{\"device_id\":0,\"rank_id\":99999}]}]}", "too large"},
    {HEAD "[" SERVER "{\"device_id\":0,\"rank_id\":99999999999999999999}]}]}", "out of range"},
    {HEAD "[" SERVER "{\"device_id\":0,\"rank_id\":1}]}]}", "gaps"},
    {HEAD "[" SERVER "{\"device_id\":0,\"rank_id\":0},{\"device_id\":1,\"rank_id\":0}]}]}", "duplicate"},
    {HEAD "[" SERVER "{\"device_id\":0,\"rank_id\":0},{\"device_id\":0,\"rank_id\":1}]}]}", "same device"},
    {HEAD "[{\"device\":[{\"device_id\":0,\"rank_id\":0}]}]}", "needs server_id"},
    {HEAD "[" SERVER "{\"device_id\":0,\"rank_id\":0}]}],\"server_list\":[]}", "duplicate"},
    {HEAD "[" SERVER "{\"device_id\":0,\"rank_id\":0}]}],\"server_count\":\"2\"}", "server_count"},
    {"{\"status\":\"initializing\",\"version\":\"1.0\",\"server_list\":[" SERVER "{\"device_id\":0,\"rank_id\":0}]}]}",
     "not completed"},
    {"{\"status\":\"completed\",\"version\":\"7\",\"server_list\":[" SERVER "{\"device_id\":0,\"rank_id\":0}]}]}",
     "version"},
};

static void bad_tables_are_explained(void **state)
{
    for (size_t i = 0; i < MS_COUNT_OF(bad); i++) {
        struct hccl_ranktable t;
        char why[HCCL_WHY_B] = "";
        HcclResult result = hccl_ranktable_parse(bad[i].text, strlen(bad[i].text), &t, why);
        if (result != HCCL_E_PARA || strstr(why, bad[i].why) == NULL) {
            fail_msg("%s: result %d, \"%s\" instead of \"%s\"", bad[i].text, result, why, bad[i].why);
        }
    }
    struct hccl_ranktable t;
    char why[HCCL_WHY_B];
    char deep[4000];
    memset(deep, '[', sizeof(deep));
    memcpy(deep, "{\"a\":", 5);
    assert_int_equal(hccl_ranktable_parse(deep, sizeof(deep), &t, why), HCCL_E_PARA);
    assert_non_null(strstr(why, "deep"));
    const char *third_line = strstr(two_servers, "[\n");
    assert_int_equal(hccl_ranktable_parse(two_servers, (size_t)(third_line - two_servers), &t, why), HCCL_E_PARA);
    assert_non_null(strstr(why, "line 3"));
}

/* Mutations of a good table, in a block that ends where the text does (an overrun is seen by the sanitizer). */
static void arbitrary_text_does_no_harm(void **state)
{
    size_t n = strlen(two_servers);
    unsigned seed = 12345;
    unsigned good = 0;
    for (int round = 0; round < 30000; round++) {
        size_t size = n;
        char *text = malloc(n + 8);
        memcpy(text, two_servers, n);
        int changes = 1 + rand_r(&seed) % 4;
        for (int c = 0; c < changes; c++) {
            size_t at = (size_t)rand_r(&seed) % size;
            switch (rand_r(&seed) % 4) {
            case 0:
                text[at] = (char)rand_r(&seed);
                break;
            case 1:
                text[at] = "{}[]\",:\\0-"[rand_r(&seed) % 10];
                break;
            case 2:
                memmove(text + at, text + at + 1, size - at - 1);
                size -= size > 1;
                break;
            default:
                size = at + 1;
                break;
            }
        }
        char *exact = malloc(size);
        memcpy(exact, text, size);
        struct hccl_ranktable t;
        char why[HCCL_WHY_B] = "";
        HcclResult result = hccl_ranktable_parse(exact, size, &t, why);
        assert_true(result == HCCL_SUCCESS || (result == HCCL_E_PARA && why[0] != '\0'));
        if (result == HCCL_SUCCESS) {
            good++;
            assert_true(t.n >= 1 && t.n <= HCCL_MAX_RANKS);
        }
        free(exact);
        free(text);
    }
    assert_true(good > 100); /* the mutations are not all trivially refused */
}

static void files(void **state)
{
    struct hccl_ranktable t;
    char why[HCCL_WHY_B], path[] = "/tmp/hccl-ranktable-XXXXXX";
    assert_int_equal(hccl_ranktable_load("/no/such/file", &t, why), HCCL_E_OPEN_FILE_FAILURE);
    assert_int_equal(hccl_ranktable_load("/tmp", &t, why), HCCL_E_OPEN_FILE_FAILURE);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(hccl_ranktable_load(path, &t, why), HCCL_E_PARA);
    assert_non_null(strstr(why, path));
    assert_int_equal(write(fd, two_servers, strlen(two_servers)), (ssize_t)strlen(two_servers));
    assert_int_equal(hccl_ranktable_load(path, &t, why), HCCL_SUCCESS);
    assert_int_equal(ftruncate(fd, 5 << 20), 0);
    assert_int_equal(hccl_ranktable_load(path, &t, why), HCCL_E_PARA);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_table),
        cmocka_unit_test(bad_tables_are_explained),
        cmocka_unit_test(arbitrary_text_does_no_harm),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
