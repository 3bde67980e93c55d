/* SPDX-License-Identifier: Apache-2.0 */
/* Records of CSV files: correct and stray quotes and commas, broken lines, long ones, and every possible end of a
 * buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memscope/source/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int file_of(const char *text, size_t text_b)
{
    int fd = memfd_create("csv_test", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, text_b), text_b);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* Cells of a text, each in <>, records one per line; errors in []. */
static const char *cells_of(const char *text, unsigned columns)
{
    static char out[4096];
    size_t used = 0;
    struct ms_csv csv;
    assert_int_equal(ms_csv_open(&csv, file_of(text, strlen(text))), 0);
    int rc;
    while ((rc = ms_csv_next(&csv, columns, 1)) > 0) {
        if (rc != MS_CSV_RECORD) {
            static const char *const words[] = {
                [MS_CSV_CUT] = "cut", [MS_CSV_LONG] = "long", [MS_CSV_UNEVEN] = "uneven"};
            used += (size_t)snprintf(out + used, sizeof(out) - used, "[%s %llu]\n", words[rc],
                                     (unsigned long long)csv.line);
            ms_csv_skip(&csv, false);
            continue;
        }
        for (unsigned i = 0; i < csv.count; i++) {
            used +=
                (size_t)snprintf(out + used, sizeof(out) - used, "<%.*s>", (int)csv.cells[i].length_b, csv.cells[i].s);
        }
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%llu\n", (unsigned long long)csv.line);
    }
    assert_int_equal(rc, 0);
    out[used] = 0;
    ms_csv_close(&csv);
    return out;
}

static void test_cells(void **state)
{
    (void)state;
    assert_string_equal(cells_of("a,b,c\n1,,3\n", 3), "<a><b><c>1\n<1><><3>2\n");
    assert_string_equal(cells_of("\xef\xbb\xbf"
                                 "a,b\r\n\r\n\"x\r\ny\",2\r\n3,4",
                                 2),
                        "<a><b>1\n<x\r\ny><2>3\n<3><4>5\n");
    assert_string_equal(cells_of("1,\"a \"\"b\"\", c\",3\n", 3), "<1><a \"b\", c><3>1\n");
    assert_string_equal(cells_of("1,\"\",3\n", 3), "<1><><3>1\n");
    /* stray quotes: inside, at the end, several around */
    assert_string_equal(cells_of("1,\"a \"b\" c\",3\n", 3), "<1><a \"b\" c><3>1\n");
    assert_string_equal(cells_of("1,\"ends \"b\"\",3\n4,5,6\n", 3), "<1><ends \"b\"><3>1\n<4><5><6>2\n");
    assert_string_equal(cells_of("1,\"\"step start\"\",3\n", 3), "<1><\"step start\"><3>1\n");
    /* stray commas go to the cell of names */
    assert_string_equal(cells_of("1,f<a,b,c>,3\n", 3), "<1><f<a,b,c>><3>1\n");
    assert_string_equal(cells_of("1,\"say \"hi\", bob\",3\n", 3), "<1><say \"hi\", bob><3>1\n");
    /* a broken record costs only itself */
    assert_string_equal(cells_of("1,2,3\n4,5\n6,7,8\n", 3), "<1><2><3>1\n[uneven 2]\n<6><7><8>3\n");
    assert_string_equal(cells_of("1,2,3\n4,5", 3), "<1><2><3>1\n[cut 2]\n");
    assert_string_equal(cells_of("1,2,3\n4,5,\"6", 3), "<1><2><3>1\n[cut 2]\n");
    assert_string_equal(cells_of("", 3), "");
}

static void test_long_records(void **state)
{
    (void)state;
    size_t size = 3u << 20;
    char *text = malloc(size + 64);
    assert_non_null(text);
    memset(text, 'x', size);
    memcpy(text, "1,\"", 3);
    memcpy(text + size, "\",3\n4,5,6\n", 11);
    struct ms_csv csv;
    assert_int_equal(ms_csv_open(&csv, file_of(text, size + 10)), 0);
    assert_int_equal(ms_csv_next(&csv, 3, 1), MS_CSV_RECORD);
    assert_int_equal(csv.cells[1].length_b, size - 3);
    assert_int_equal(ms_csv_next(&csv, 3, 1), MS_CSV_RECORD);
    assert_int_equal(csv.line, 2);
    assert_int_equal(ms_csv_next(&csv, 3, 1), MS_CSV_END);
    ms_csv_close(&csv);
    free(text);
}

/* The reader's buffer of 256 KiB ends anywhere: in a cell, a line end, a quote or after it. */
static void test_ends_of_the_buffer(void **state)
{
    (void)state;
    static const char rest[] = "12345678,\"a\"\"b\r\n,\",\r\n1,2,3\r\n";
    enum { END = 256 * 1024, REST = sizeof(rest) - 1 };
    char *text = malloc(END + REST);
    assert_non_null(text);
    for (size_t cut = 0; cut <= REST; cut++) {
        size_t before = END - cut;
        memset(text, 'x', before);
        memcpy(text, "1,", 2);
        memcpy(text + before - 3, ",3\n", 3);
        memcpy(text + before, rest, REST);
        struct ms_csv csv;
        assert_int_equal(ms_csv_open(&csv, file_of(text, before + REST)), 0);
        assert_int_equal(ms_csv_next(&csv, 3, 1), MS_CSV_RECORD);
        assert_int_equal(csv.cells[1].length_b, before - 5);
        assert_int_equal(ms_csv_next(&csv, 3, 1), MS_CSV_RECORD);
        assert_memory_equal(csv.cells[0].s, "12345678", 8);
        assert_int_equal(csv.cells[1].length_b, 6);
        assert_memory_equal(csv.cells[1].s, "a\"b\r\n,", 6);
        assert_int_equal(csv.cells[2].length_b, 0);
        assert_int_equal(ms_csv_next(&csv, 3, 1), MS_CSV_RECORD);
        assert_int_equal(csv.line, 4);
        assert_int_equal(csv.cells[2].length_b, 1);
        assert_int_equal(ms_csv_next(&csv, 3, 1), MS_CSV_END);
        ms_csv_close(&csv);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_long_records),
        cmocka_unit_test(test_ends_of_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
