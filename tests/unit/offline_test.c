/* SPDX-License-Identifier: Apache-2.0 */
/* The functions on dumps as a library: arguments, errors, cancelling, and that a failure leaves the dump untouched.
 * Their results are checked in tests/e2e/test_check.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memscope/analyze/api.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER                                                                                                         \
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"

static char directory[64], path[128], why[MS_ANALYZE_WHY_B];

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/offline_test.XXXXXX");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

static void write_dump(const char *name, const char *rows)
{
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(HEADER, file);
    fputs(rows, file);
    fclose(file);
}

/* A block that is freed long after its last use: one finding. */
static void write_late(const char *name, unsigned fill)
{
    static char rows[8 << 20];
    size_t n = 0;
    unsigned id = 0;
    n += (size_t)snprintf(rows + n, sizeof(rows) - n,
                          "%u,MALLOC,PTA,N/A,1,7,7,0,0x0000000000001000,\"{allocation_id:1,size:512}\",,\n"
                          "%u,ACCESS,READ,op,2,7,7,0,0x0000000000001000,\"{allocation_id:1,size:512,type:PTA}\",,\n"
                          "%u,MALLOC,PTA,N/A,3,7,7,0,0x0000000000002000,\"{allocation_id:2,size:512}\",,\n"
                          "%u,FREE,PTA,N/A,4,7,7,0,0x0000000000001000,\"{allocation_id:1,size:512}\",,\n",
                          id, id + 1, id + 2, id + 3);
    for (id = 4; id < fill; id++) {
        n += (size_t)snprintf(rows + n, sizeof(rows) - n, "%u,MSTX,Mark,\"x\",%u,7,7,0,N/A,,,\n", id, id + 1);
    }
    write_dump(name, rows);
}

static int leaks(const char *mark)
{
    return ms_check_leaks(path, mark, 0, NULL, NULL, why, sizeof(why));
}

static int inefficient(unsigned types, uint64_t idle, struct ms_check_inefficient_result *result)
{
    return ms_check_inefficient(path, 0, types, idle, NULL, result, why, sizeof(why));
}

static void test_arguments(void **state)
{
    (void)state;
    write_late("good.csv", 4);
    assert_int_equal(leaks(NULL), -EINVAL);
    assert_int_equal(leaks(" \t"), -EINVAL);
    assert_int_equal(leaks("x"), 0);
    assert_int_equal(inefficient(0, 3000, NULL), -EINVAL);
    assert_int_equal(inefficient(8, 3000, NULL), -EINVAL);
    assert_int_equal(inefficient(MS_CHECK_ALL, 0, NULL), -EINVAL);
    assert_int_equal(ms_check_leaks(NULL, "x", 0, NULL, NULL, why, sizeof(why)), -EINVAL);
    assert_int_equal(ms_check_leaks("", "x", 0, NULL, NULL, NULL, 0), -EINVAL);
    struct ms_analyze_io other = {.sz = 3};
    assert_int_equal(ms_check_leaks(path, "x", 0, &other, NULL, why, sizeof(why)), -EINVAL);
    char *longer = calloc(1, 5000);
    memset(longer, 'a', 4990);
    assert_int_equal(ms_check_leaks(longer, "x", 0, NULL, NULL, why, sizeof(why)), -ENAMETOOLONG);
    free(longer);
}

static void test_files(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "%s/none.csv", directory);
    assert_int_equal(leaks("x"), -ENOENT);
    snprintf(path, sizeof(path), "%s", directory);
    assert_int_equal(leaks("x"), -ENOENT);
    write_dump("dump.txt", "");
    assert_int_equal(leaks("x"), -EINVAL);
    assert_non_null(strstr(why, ".csv or .db"));
    write_dump("not.db", "");
    assert_int_equal(leaks("x"), -EPROTO);
    assert_non_null(strstr(why, "not a database"));
    write_dump("huge.csv", "");
    assert_int_equal(truncate(path, (8ll << 30) + 1), 0);
    assert_int_equal(leaks("x"), -EFBIG);
    assert_non_null(strstr(why, "Max allowed size is 8.00GB"));
}

static int stop_at_once(void *argument, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    ++*(int *)argument;
    return 1;
}

static bool exists(const char *suffix)
{
    char other[160];
    struct stat st;
    snprintf(other, sizeof(other), "%s%s", path, suffix);
    return stat(other, &st) == 0;
}

static void test_cancelling_writes_nothing(void **state)
{
    (void)state;
    int calls = 0;
    struct ms_analyze_io io = {.sz = sizeof(io), .argument = &calls, .progress = stop_at_once};
    write_late("cancelled.csv", 100000);
    struct stat before, after;
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(ms_check_inefficient(path, 0, MS_CHECK_ALL, 3000, &io, NULL, why, sizeof(why)), -ECANCELED);
    assert_true(calls > 0);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    assert_false(exists(".orig"));
}

static void test_result(void **state)
{
    (void)state;
    struct ms_check_inefficient_result result;
    write_late("late.csv", 10);
    assert_int_equal(inefficient(MS_CHECK_ALL, 3000, &result), 0);
    assert_int_equal(result.blocks[1], 1);
    assert_int_equal(result.bytes[1], 512);
    assert_int_equal(result.rows_changed, 1);
    assert_int_equal(result.rows, 10);
    assert_true(exists(".orig"));
    assert_non_null(strstr(result.kept, "late.csv.orig"));
    assert_int_equal(inefficient(MS_CHECK_ALL, 3000, &result), 0);
    assert_int_equal(result.rows_changed, 0);
    assert_string_equal(result.kept, "");
    assert_int_equal(ms_check_inefficient(path, 513, MS_CHECK_ALL, 3000, NULL, &result, why, sizeof(why)), 0);
    assert_int_equal(result.blocks[1], 0);
}

/* Rows with equal ids in an unsorted dump keep their order. */
static void test_rows_of_one_id(void **state)
{
    (void)state;
    struct ms_check_leaks_result result;
    write_dump("same.csv", "1,MSTX,Mark,\"m\",1,7,7,0,N/A,,,\n"
                           "9,MSTX,Mark,\"m\",9,7,7,0,N/A,,,\n"
                           "2,MALLOC,HAL,N/A,2,7,7,0,0x0000000000001000,\"{size:512}\",,\n"
                           "2,FREE,HAL,N/A,2,7,7,0,0x0000000000001000,\"{}\",,\n"
                           "2,FREE,HAL,N/A,2,7,7,0,0x0000000000002000,\"{}\",,\n"
                           "2,MALLOC,HAL,N/A,2,7,7,0,0x0000000000002000,\"{size:256}\",,\n"
                           "8,MSTX,Mark,\"m\",8,7,7,0,N/A,,,\n");
    assert_int_equal(ms_check_leaks(path, "m", 0, NULL, &result, why, sizeof(why)), 0);
    assert_int_equal(result.leaks, 1);
    assert_int_equal(result.bytes, 256);
}

static void test_the_library(void **state)
{
    (void)state;
    void *library = dlopen(ANALYZE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fail_msg("%s", dlerror());
    }
    uint32_t (*version)(void) = (uint32_t(*)(void))dlsym(library, "ms_analyze_version");
    assert_non_null(version);
    assert_int_equal(version(), MS_ANALYZE_API_VERSION);
    assert_non_null(dlsym(library, "ms_check_leaks"));
    assert_non_null(dlsym(library, "ms_check_inefficient"));
    assert_null(dlsym(library, "ms_offline_read"));
    dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_cancelling_writes_nothing),
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_rows_of_one_id),
        cmocka_unit_test(test_the_library),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
