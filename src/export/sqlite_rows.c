/* See sqlite_rows.h. One cursor, forwards only, no conditions. Used by the thread of its connection. */
#include "export/sqlite_rows.h"

#include <stdlib.h>

struct table {
    sqlite3_vtab base;
    const struct ms_rows *rows;
};

struct cursor {
    sqlite3_vtab_cursor base;
    const struct ms_rows *rows;
    uint32_t at;
};

static int connect(sqlite3 *db, void *rows, int argc, const char *const *argv, sqlite3_vtab **out, char **error)
{
    (void)argc;
    (void)argv;
    (void)error;
#define X(name, text, sql) ", \"" text "\""
    static const char declaration[] = "CREATE TABLE rows (" MS_DUMP_COLUMNS(X) ")";
#undef X
    char sql[sizeof(declaration)];
    memcpy(sql, declaration, sizeof(sql));
    *strchr(sql, ',') = ' '; /* the list begins with one comma too many */
    struct table *table = sqlite3_malloc(sizeof(*table));
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    *table = (struct table){.rows = rows};
    *out = &table->base;
    return sqlite3_declare_vtab(db, sql);
}

static int disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->estimatedRows = MS_ROWS_MAX;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    struct cursor *cursor = sqlite3_malloc(sizeof(*cursor));
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *cursor = (struct cursor){.rows = ((struct table *)table)->rows};
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int begin(sqlite3_vtab_cursor *cursor, int plan, const char *plan_text, int argc, sqlite3_value **argv)
{
    (void)plan;
    (void)plan_text;
    (void)argc;
    (void)argv;
    ((struct cursor *)cursor)->at = 0;
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *cursor)
{
    ((struct cursor *)cursor)->at++;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    const struct cursor *cursor = (const struct cursor *)base;
    return cursor->at >= cursor->rows->count;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    const struct cursor *cursor = (const struct cursor *)base;
    *out = cursor->rows->rowid[cursor->at];
    return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int i)
{
    const struct cursor *cursor = (const struct cursor *)base;
    const struct ms_rows_cell *cell = &cursor->rows->cells[cursor->at][i];
    if (cell->is_text) {
        sqlite3_result_text(result, cursor->rows->texts.s + cell->number, (int)cell->length_b, SQLITE_STATIC);
    } else {
        sqlite3_result_int64(result, cell->number);
    }
    return SQLITE_OK;
}

int ms__rows_register(struct ms_rows *rows, sqlite3 *db)
{
    static const sqlite3_module module = {
        .xConnect = connect, /* and no xCreate: the table is there without being created */
        .xDisconnect = disconnect,
        .xBestIndex = best_index,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = begin,
        .xNext = next,
        .xEof = at_end,
        .xColumn = column,
        .xRowid = rowid,
    };
    return sqlite3_create_module(db, MS_ROWS_TABLE, &module, rows);
}
