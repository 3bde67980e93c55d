/* SPDX-License-Identifier: Apache-2.0 */
/* Database dumps: files of any content, and valid ones with a few bytes changed. The input starts with up to 16 pairs
 * (offset, byte) that are applied to a dump created here. */
#include "dump_fuzz.h"

#include <sqlite3.h>
#include <string.h>

static unsigned char *good;
static sqlite3_int64 good_b;

static void make_good(void)
{
    sqlite3 *db;
    static const char sql[] =
        "PRAGMA page_size=512; CREATE TABLE memscope_dump (\"ID\" INTEGER, \"Event\" TEXT, \"Event Type\" TEXT, \"Name\" "
        "TEXT, \"Timestamp(ns)\" INTEGER, \"Process Id\" INTEGER, \"Thread Id\" INTEGER, \"Device Id\" TEXT, \"Ptr\" TEXT, "
        "\"Attr\" TEXT, \"Call Stack(Python)\" TEXT, \"Call Stack(C)\" TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO memscope_dump SELECT i, "
        "'MALLOC', 'PTA', 'N/A', i, 7, 7, '0', '0x10', '{\"allocation_id\":\"1\",\"size\":\"8\"}', '', '\"f\"' FROM n;"
        "CREATE TABLE python_trace_7 (\"FuncInfo\" TEXT, \"StartTime(ns)\" TEXT, \"EndTime(ns)\" TEXT, \"Thread Id\" "
        "INTEGER, \"Process Id\" INTEGER); INSERT INTO python_trace_7 VALUES ('f', '1', '2', 7, 7)";
    if (sqlite3_open(":memory:", &db) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        abort();
    }
    good = sqlite3_serialize(db, "main", &good_b, 0);
    sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_b)
{
    if (good == NULL) {
        make_good();
    }
    if (size_b > 64) {
        read_dump("db", data, size_b);
        return 0;
    }
    uint8_t *copy = malloc((size_t)good_b);
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, good, (size_t)good_b);
    for (size_t i = 0; i + 3 <= size_b; i += 3) {
        copy[(data[i] | (size_t)data[i + 1] << 8) % (size_t)good_b] = data[i + 2];
    }
    read_dump("db", copy, size_b % 3 == 0 ? (size_t)good_b : (size_t)good_b * 3 / 4);
    free(copy);
    return 0;
}
