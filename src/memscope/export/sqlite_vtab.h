/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors of SQLite virtual tables: a table's cursor starts with sqlite3_vtab_cursor and owns no other memory. */
#ifndef MS_EXPORT_SQLITE_VTAB_H
#define MS_EXPORT_SQLITE_VTAB_H

#include <sqlite3.h>
#include <string.h>

/* For xOpen: allocates a zeroed cursor of cursor_b bytes. */
static inline int ms_vtab_open_cursor(size_t cursor_b, sqlite3_vtab_cursor **out)
{
    sqlite3_vtab_cursor *cursor = sqlite3_malloc64(cursor_b);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, cursor_b);
    *out = cursor;
    return SQLITE_OK;
}

/* xClose. */
static inline int ms_vtab_close_cursor(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

#endif
