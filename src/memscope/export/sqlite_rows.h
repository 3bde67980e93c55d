/* SPDX-License-Identifier: Apache-2.0 */
/* Rows on their way into a database, as a table that SQLite reads them from.
 *
 * INSERT ... SELECT from here moves many rows with one statement, whose cursors stay where the last row went: half the
 * work per row of a statement for each. The table is seen by this connection alone and stands in no file. */
#ifndef MS_EXPORT_SQLITE_ROWS_H
#define MS_EXPORT_SQLITE_ROWS_H

#include "base/buffer.h"
#include "memscope/model/columns.h"

#include <sqlite3.h>

#define MS_ROWS_TABLE "arriving_rows"

enum { MS_ROWS_MAX = 128, MS_ROWS_TEXT_B = 256 * 1024 };

struct ms_rows {
    struct ms_buffer texts; /* of all cells, one after the other */
    uint32_t count;
    bool varied;                         /* a steady cell is not what it is in the first row */
    uint32_t sign[MS_DUMP_COLUMN_COUNT]; /* of the steady cells of the last row */
    int64_t rowid[MS_ROWS_MAX]; /* 0: the number after that of the row before, which SQLite finds faster itself */
    struct ms_rows_cell {
        int64_t number;    /* of a text: where it begins */
        uint32_t length_b; /* of a text */
        bool is_text;
    } cells[MS_ROWS_MAX][MS_DUMP_COLUMN_COUNT];
};

/* Columns that are the same in most rows of a file. If they are so in all rows of a batch they are not asked for row by
 * row: parameters stand for them. With the field of the row that tells them apart. */
#define MS_ROWS_STEADY(X)                                                                                              \
    X(PID, pid)                                                                                                        \
    X(DEVICE, device)                                                                                                  \
    X(PYTHON_STACK, python_stack)                                                                                      \
    X(C_STACK, c_stack)

/* The statement that moves the rows into memscope_dump; steady: with parameters, in the order above. An SQLite
 * result. */
int ms__rows_prepare(sqlite3 *db, bool steady, sqlite3_stmt **out);

/* A cell as a parameter of a statement. */
void ms__rows_bind(const struct ms_rows *rows, const struct ms_rows_cell *cell, sqlite3_stmt *statement, int at);

/* Makes the table in a connection; rows must outlive it. An SQLite result. */
int ms__rows_register(struct ms_rows *rows, sqlite3 *db);

static inline bool ms__rows_full(const struct ms_rows *rows)
{
    return rows->count == MS_ROWS_MAX || rows->texts.used >= MS_ROWS_TEXT_B;
}

#endif
