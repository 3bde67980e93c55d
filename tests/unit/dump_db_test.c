/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in a database: each in its position, with its own cells, whichever code path inserts them. Batches in which pid,
 * device and stacks are constant take a different path than mixed ones, and consecutive rows a different path than rows
 * after a gap in the ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memscope/export/dump.h"

#include <fcntl.h>
#include <glob.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS 2000u

static struct ms_text stack_text(void *self, uint32_t id)
{
    static char texts[4][32];
    (void)self;
    snprintf(texts[id % 4], sizeof(texts[0]), "frame %u\n", id);
    return (struct ms_text){.s = texts[id % 4], .length_b = (uint32_t)strlen(texts[id % 4])};
}

/* Constant for a while, then one row of another kind, then mixed. */
static void make_row(uint32_t i, struct ms_row *row)
{
    bool mixed = i == 700 || i >= 1000;
    *row = (struct ms_row){
        .id = i < 300   ? i
              : i < 600 ? i * 2
                        : i + 5000,
        .time_ns = 1700000000000000000ull + i,
        .pid = mixed && i % 3 == 0 ? 7 : 4711,
        .tid = mixed && i % 5 == 0 ? MS_ID_NONE : i,
        .device = mixed && i % 2 == 0 ? MS_DEV_UNKNOWN : 0,
        .event = i % 2 == 0 ? MS_EV_MALLOC : MS_EV_FREE,
        .type = MS_TYPE_HAL,
        .has_addr = true,
        .addr = i * 4096ull,
        .c_stack = mixed ? i % 4 : 0,
        .python_stack = mixed ? (i / 4) % 4 : 0,
        .attr_count = 1,
    };
    row->attr[0] = (struct ms_attr){.key = MS_ATTR_SIZE, .form = MS_FORM_NUMBER, .number = i * 3ull};
}

static void stack_cell(char *cell, size_t size_b, uint32_t id)
{
    snprintf(cell, size_b, id != 0 ? "\"frame %u\n\"" : "", id);
}

static void check_row(sqlite3_stmt *s, uint32_t i)
{
    struct ms_row row;
    char device[16], ptr[32], attr[64], python[32], c[32];
    make_row(i, &row);
    snprintf(device, sizeof(device), row.device == 0 ? "0" : "N/A");
    snprintf(ptr, sizeof(ptr), "0x%016llx", (unsigned long long)row.addr);
    snprintf(attr, sizeof(attr), "{\"size\":\"%u\"}", i * 3);
    stack_cell(python, sizeof(python), row.python_stack);
    stack_cell(c, sizeof(c), row.c_stack);
    assert_int_equal(sqlite3_column_int64(s, 0), row.id + 1);
    assert_int_equal(sqlite3_column_int64(s, 1), row.id);
    assert_string_equal((const char *)sqlite3_column_text(s, 2), i % 2 == 0 ? "MALLOC" : "FREE");
    assert_string_equal((const char *)sqlite3_column_text(s, 3), "HAL");
    assert_string_equal((const char *)sqlite3_column_text(s, 4), "N/A");
    assert_int_equal(sqlite3_column_int64(s, 5), row.time_ns);
    assert_int_equal(sqlite3_column_int64(s, 6), row.pid);
    if (row.tid == MS_ID_NONE) {
        assert_string_equal((const char *)sqlite3_column_text(s, 7), "N/A");
    } else {
        assert_int_equal(sqlite3_column_int64(s, 7), row.tid);
    }
    assert_string_equal((const char *)sqlite3_column_text(s, 8), device);
    assert_string_equal((const char *)sqlite3_column_text(s, 9), ptr);
    assert_string_equal((const char *)sqlite3_column_text(s, 10), attr);
    assert_string_equal((const char *)sqlite3_column_text(s, 11), python);
    assert_string_equal((const char *)sqlite3_column_text(s, 12), c);
    static const int types[] = {SQLITE_INTEGER, SQLITE_INTEGER, SQLITE_TEXT, SQLITE_TEXT, SQLITE_TEXT,
                                SQLITE_INTEGER, SQLITE_INTEGER, 0,           SQLITE_TEXT, SQLITE_TEXT,
                                SQLITE_TEXT,    SQLITE_TEXT,    SQLITE_TEXT};
    for (int column = 0; column < 13; column++) {
        assert_true(types[column] == 0 || sqlite3_column_type(s, column) == types[column]);
    }
}

/* flush_every: flush after this many rows; 0: never. */
static void write_and_check(uint32_t flush_every)
{
    char dir[] = "/tmp/dump_db_test.XXXXXX";
    assert_non_null(mkdtemp(dir));
    int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct ms_dump_options options = {.dirfd = dirfd,
                                      .dir = dir,
                                      .format = MS_DUMP_DB,
                                      .stacks = {.c_stack = stack_text, .python_stack = stack_text}};
    struct ms_dump *dump;
    assert_int_equal(ms_dump_open(&options, &dump), 0);
    struct ms_consumer consumer = ms_dump_consumer(dump);
    for (uint32_t i = 0; i < ROWS; i++) {
        struct ms_row row;
        make_row(i, &row);
        assert_int_equal(consumer.on_row(consumer.self, &row), 0);
        if (flush_every != 0 && i % flush_every == 0) {
            assert_int_equal(ms_dump_flush(dump), 0);
        }
    }
    assert_int_equal(ms_dump_close(dump), 0);
    close(dirfd);

    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/device_0/dump/memscope_dump_*.db", dir);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    sqlite3 *db;
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_open_v2(found.gl_pathv[0], &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(s, 0), "ok");
    sqlite3_finalize(s);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT rowid, * FROM memscope_dump ORDER BY rowid", -1, &s, NULL),
                     SQLITE_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        assert_int_equal(sqlite3_step(s), SQLITE_ROW);
        check_row(s, i);
    }
    assert_int_equal(sqlite3_step(s), SQLITE_DONE);
    sqlite3_finalize(s);
    sqlite3_close(db);
    globfree(&found);
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

static void test_at_once(void **state)
{
    (void)state;
    write_and_check(0);
}

static void test_with_flushes(void **state)
{
    (void)state;
    write_and_check(37);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_at_once), cmocka_unit_test(test_with_flushes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
