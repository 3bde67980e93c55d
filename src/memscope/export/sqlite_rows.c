/* SPDX-License-Identifier: Apache-2.0 */
/* See sqlite_rows.h. One cursor, forward only, no constraints. Used by the thread that uses the connection. */
#include "memscope/export/sqlite_rows.h"

#include "memscope/export/sqlite_vtab.h"

#include <stdlib.h>

struct batch_table {
    sqlite3_vtab base;
    const struct ms_row_batch *rows;
};

struct batch_cursor {
    sqlite3_vtab_cursor base;
    const struct ms_row_batch *rows;
    uint32_t at;
};

static int connect(sqlite3 *db, void *rows, int argc, const char *const *argv, sqlite3_vtab **out, char **error)
{
    (void)argc;
    (void)argv;
    (void)error;
#define X(name, text, sql) ", \"" text "\""
    static const char declaration[] = "CREATE TABLE rows (at" MS_DUMP_COLUMNS(X) ")";
#undef X
    struct batch_table *table = sqlite3_malloc(sizeof(*table));
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    *table = (struct batch_table){.rows = rows};
    *out = &table->base;
    return sqlite3_declare_vtab(db, declaration);
}

static int disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedRows = MS_BATCH_ROWS_MAX;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    int rc = ms_vtab_open_cursor(sizeof(struct batch_cursor), out);
    if (rc == SQLITE_OK) {
        ((struct batch_cursor *)*out)->rows = ((struct batch_table *)table)->rows;
    }
    return rc;
}

static int begin(sqlite3_vtab_cursor *cursor, int plan, const char *plan_text, int argc, sqlite3_value **argv)
{
    (void)plan;
    (void)plan_text;
    (void)argc;
    (void)argv;
    ((struct batch_cursor *)cursor)->at = 0;
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *cursor)
{
    ((struct batch_cursor *)cursor)->at++;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    const struct batch_cursor *cursor = (const struct batch_cursor *)base;
    return cursor->at >= cursor->rows->count;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const struct batch_cursor *cursor = (const struct batch_cursor *)base;
    *out = cursor->at;
    return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int i)
{
    const struct batch_cursor *cursor = (const struct batch_cursor *)base;
    if (i == 0) {
        int64_t at = cursor->rows->rowid[cursor->at];
        if (at != 0) {
            sqlite3_result_int64(result, at);
        } /* otherwise NULL */
        return SQLITE_OK;
    }
    const struct ms_batch_cell *cell = &cursor->rows->cells[cursor->at][i - 1];
    if (cell->is_text) {
        sqlite3_result_text(result, cursor->rows->texts.s + cell->number, (int)cell->length_b, SQLITE_STATIC);
    } else {
        sqlite3_result_int64(result, cell->number);
    }
    return SQLITE_OK;
}

void ms__batch_bind(const struct ms_row_batch *rows, const struct ms_batch_cell *cell, sqlite3_stmt *statement, int at)
{
    if (cell->is_text) {
        sqlite3_bind_text(statement, at, rows->texts.s + cell->number, (int)cell->length_b, SQLITE_STATIC);
    } else {
        sqlite3_bind_int64(statement, at, cell->number);
    }
}

int ms__batch_prepare(sqlite3 *db, bool steady, sqlite3_stmt **out)
{
    static const char *const names[] = {
#define X(name, text, sql) [MS_COL_##name] = ", \"" text "\"",
        MS_DUMP_COLUMNS(X)
#undef X
    };
    static const bool is_steady[MS_DUMP_COLUMN_COUNT] = {
#define X(name, field) [MS_COL_##name] = true,
        MS_BATCH_STEADY(X)
#undef X
    };
    struct ms_buffer sql = {0};
    MS_BUFFER_TEXT(&sql, "INSERT INTO memscope_dump (rowid");
    for (unsigned i = 0; i < MS_DUMP_COLUMN_COUNT; i++) {
        ms_buffer_add(&sql, names[i], strlen(names[i]));
    }
    MS_BUFFER_TEXT(&sql, ") SELECT at");
    for (unsigned i = 0; i < MS_DUMP_COLUMN_COUNT; i++) {
        const char *source = steady && is_steady[i] ? ", ?" : names[i];
        ms_buffer_add(&sql, source, strlen(source));
    }
    MS_BUFFER_TEXT(&sql, " FROM " MS_BATCH_TABLE);
    int rc =
        sql.failed ? SQLITE_NOMEM : sqlite3_prepare_v3(db, sql.s, (int)sql.used, SQLITE_PREPARE_PERSISTENT, out, NULL);
    ms_buffer_free(&sql);
    return rc;
}

int ms__batch_register(struct ms_row_batch *rows, sqlite3 *db)
{
    static const sqlite3_module module = {
        .xConnect = connect, /* no xCreate: an eponymous table, it exists without being created */
        .xDisconnect = disconnect,
        .xBestIndex = best_index,
        .xOpen = open_cursor,
        .xClose = ms_vtab_close_cursor,
        .xFilter = begin,
        .xNext = next,
        .xEof = at_end,
        .xColumn = column,
        .xRowid = rowid,
    };
    return sqlite3_create_module(db, MS_BATCH_TABLE, &module, rows);
}
