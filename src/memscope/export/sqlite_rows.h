/* SPDX-License-Identifier: Apache-2.0 */
/* Rows to be inserted into a database, as a virtual table that SQLite reads them from.
 *
 * INSERT ... SELECT from it inserts many rows with one statement, whose cursors stay at the last row: half the work per
 * row of one statement each. The table is visible to this connection only and is not stored in any file. */
#ifndef MS_EXPORT_SQLITE_ROWS_H
#define MS_EXPORT_SQLITE_ROWS_H

#include "base/buffer.h"
#include "memscope/model/columns.h"

#include <sqlite3.h>

#define MS_BATCH_TABLE "arriving_rows"

enum { MS_BATCH_ROWS_MAX = 128, MS_BATCH_TEXT_B = 256 * 1024 };

struct ms_row_batch {
    struct ms_buffer texts; /* of all cells, concatenated */
    uint32_t count;
    bool varied;                         /* a steady cell differs from that in the first row */
    uint32_t sign[MS_DUMP_COLUMN_COUNT]; /* signatures of the steady cells of the last row */
    int64_t rowid[MS_BATCH_ROWS_MAX];    /* 0: one more than the previous row, which SQLite handles faster itself */
    struct ms_batch_cell {
        int64_t number;    /* of a text: its offset */
        uint32_t length_b; /* of a text */
        bool is_text;
    } cells[MS_BATCH_ROWS_MAX][MS_DUMP_COLUMN_COUNT];
};

/* Columns that are the same in most rows of a file. If they are constant over a batch, they are bound as parameters
 * instead of read row by row. With the row field that identifies the value. */
#define MS_BATCH_STEADY(X)                                                                                             \
    X(PID, pid)                                                                                                        \
    X(DEVICE, device)                                                                                                  \
    X(PYTHON_STACK, python_stack)                                                                                      \
    X(C_STACK, c_stack)

/* The statement that inserts the rows into memscope_dump; steady: with parameters, in the order above. An SQLite result
 * code. */
int ms__batch_prepare(sqlite3 *db, bool steady, sqlite3_stmt **out);

/* Binds a cell to a parameter of a statement. */
void ms__batch_bind(const struct ms_row_batch *rows, const struct ms_batch_cell *cell, sqlite3_stmt *statement, int at);

/* Creates the table in a connection; rows must outlive it. An SQLite result code. */
int ms__batch_register(struct ms_row_batch *rows, sqlite3 *db);

static inline bool ms__batch_full(const struct ms_row_batch *rows)
{
    return rows->count == MS_BATCH_ROWS_MAX || rows->texts.used >= MS_BATCH_TEXT_B;
}

#endif
