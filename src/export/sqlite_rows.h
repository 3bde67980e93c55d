/* Rows on their way into a database, as a table that SQLite reads them from.
 *
 * INSERT ... SELECT from here moves many rows with one statement, whose cursors stay where the last row went: a third
 * less work per row than a statement for each. The table is seen by this connection alone and stands in no file. */
#ifndef MS_EXPORT_SQLITE_ROWS_H
#define MS_EXPORT_SQLITE_ROWS_H

#include "base/buffer.h"
#include "model/columns.h"

#include <sqlite3.h>

#define MS_ROWS_TABLE "arriving_rows"

enum { MS_ROWS_MAX = 128, MS_ROWS_TEXT_B = 256 * 1024 };

struct ms_rows {
    struct ms_buffer texts; /* of all cells, one after the other */
    uint32_t count;
    int64_t rowid[MS_ROWS_MAX];
    struct ms_rows_cell {
        int64_t number;    /* of a text: where it begins */
        uint32_t length_b; /* of a text */
        bool is_text;
    } cells[MS_ROWS_MAX][MS_DUMP_COLUMN_COUNT];
};

/* Makes the table in a connection; rows must outlive it. An SQLite result. */
int ms__rows_register(struct ms_rows *rows, sqlite3 *db);

static inline bool ms__rows_full(const struct ms_rows *rows)
{
    return rows->count == MS_ROWS_MAX || rows->texts.used >= MS_ROWS_TEXT_B;
}

#endif
