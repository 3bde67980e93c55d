/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by columns: SQLite gets the same order from the table as it produces itself, and sorting can be stopped. */
#include "memscope/model/model.h"
#include "memscope/query/order.h"
#include "memscope/query/vtab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 700u

static struct ms_store store;
static sqlite3 *db;

static unsigned random_below(unsigned limit)
{
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33) % limit;
}

static uint32_t random_text(void)
{
    static const char *const texts[] = {"", "b", "a", "ab", "B", "\xc3\xa4", "a b", "aten.mm", "aten.mm.default"};
    const char *text = texts[random_below(sizeof(texts) / sizeof(texts[0]))];
    return ms_intern(&store.texts, text, strlen(text));
}

static int fill(void **state)
{
    (void)state;
    static const uint32_t devices[] = {0, 1, 20000, 2, MS_DEV_CPU, MS_DEV_UNKNOWN};
    for (unsigned i = 0; i < 5; i++) {
        struct ms_stack_record *stack = ms_store_add(&store, MS_TABLE_STACKS);
        stack->site = random_text();
    }
    for (unsigned i = 0; i < RECORDS; i++) {
        struct ms_event_record *event = ms_store_add(&store, MS_TABLE_EVENTS);
        *event = (struct ms_event_record){.id = i,
                                          .name = random_text(),
                                          .tid = random_below(4) != 0 ? random_below(5) * 1000 : MS_ID_NONE,
                                          .device = devices[random_below(6)],
                                          .step = random_below(4),
                                          .stack = random_below(3),
                                          .event = (uint8_t)random_below(MS_EV_COUNT + 2),
                                          .type = (uint8_t)random_below(MS_TYPE_COUNT + 2)};
        struct ms_block_record *block = ms_store_add(&store, MS_TABLE_BLOCKS);
        *block = (struct ms_block_record){.allocation_id = i,
                                          .op = random_text(),
                                          .owner = random_text(),
                                          .stack = random_below(6),
                                          .pool = (uint8_t)random_below(MS_TYPE_COUNT),
                                          .at_peak = (uint8_t)random_below(3)};
    }
    return sqlite3_open(":memory:", &db) == SQLITE_OK && ms_vtab_register(db, &store) == SQLITE_OK ? 0 : -1;
}

static int empty(void **state)
{
    (void)state;
    sqlite3_close(db);
    ms_store_free(&store);
    return 0;
}

/* All values of the statement, one line per row. */
static char *answer(const char *sql)
{
    sqlite3_stmt *statement;
    char *text = NULL;
    size_t text_b;
    FILE *file = open_memstream(&text, &text_b);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const unsigned char *value = sqlite3_column_text(statement, i);
            fprintf(file, "%s,", value != NULL ? (const char *)value : "NULL");
        }
        fputc('\n', file);
    }
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    fclose(file);
    return text;
}

/* SQLite sorts itself if a plus turns the column into an expression. */
static void expect_same(const char *format, const char *table, const char *const columns[3], const char *const ends[3])
{
    char ours[128], theirs[128], sql[512];
    snprintf(ours, sizeof(ours), "%s %s, %s %s, %s %s", columns[0], ends[0], columns[1], ends[1], columns[2], ends[2]);
    snprintf(theirs, sizeof(theirs), "+%s %s, +%s %s, +%s %s", columns[0], ends[0], columns[1], ends[1], columns[2],
             ends[2]);
    snprintf(sql, sizeof(sql), format, table, ours);
    char *a = answer(sql);
    snprintf(sql, sizeof(sql), format, table, theirs);
    char *b = answer(sql);
    assert_string_equal(a, b);
    assert_true(strlen(a) > 10);
    free(a);
    free(b);
}

static void test_same_order_as_sqlite(void **state)
{
    (void)state;
    static const struct {
        const char *table, *columns[8];
    } tables[] = {{"events", {"event", "type", "name", "tid", "device", "step", "stack", "process"}},
                  {"blocks", {"pool", "operator", "owner", "site", "at_peak", "stack", "end", "process"}}};
    static const char *const none[3] = {"", "", ""};
    for (unsigned round = 0; round < 60; round++) {
        unsigned which = round % 2;
        const char *columns[3], *directions[3];
        for (unsigned i = 0; i < 3; i++) {
            columns[i] = tables[which].columns[random_below(8)];
            directions[i] = random_below(2) != 0 ? "DESC" : "";
        }
        expect_same("SELECT * FROM %s ORDER BY %s", tables[which].table, columns, directions);
        expect_same("SELECT count(*), group_concat(process) FROM %s GROUP BY %s", tables[which].table, columns, none);
    }
}

/* The table sorts, not SQLite. */
static void test_sqlite_does_not_sort(void **state)
{
    (void)state;
    static const char *const statements[] = {"SELECT count(*) FROM events GROUP BY event, type",
                                             "SELECT * FROM blocks ORDER BY owner DESC, site"};
    for (size_t i = 0; i < 2; i++) {
        char sql[128];
        snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", statements[i]);
        char *plan = answer(sql);
        assert_null(strstr(plan, "TEMP B-TREE"));
        free(plan);
    }
}

static int stop(void *argument)
{
    (void)argument;
    return 1;
}

static void test_stopping(void **state)
{
    (void)state;
    struct ms_store stopped = store;
    struct ms_records places = {0};
    static const char columns[] = {MS_ORDER_COLUMN(3, 0), MS_ORDER_COLUMN(4, 0), 0};
    stopped.stopped = stop;
    assert_false(ms_order_make(&stopped, MS_TABLE_EVENTS, columns, &places));
    assert_int_equal(errno, EINTR);
    assert_null(places.base);
    assert_true(ms_order_make(&store, MS_TABLE_EVENTS, columns, &places));
    assert_int_equal(places.used_b, RECORDS * sizeof(uint32_t));
    ms_records_free(&places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_order_as_sqlite),
        cmocka_unit_test(test_sqlite_does_not_sort),
        cmocka_unit_test(test_stopping),
    };
    return cmocka_run_group_tests(tests, fill, empty);
}
