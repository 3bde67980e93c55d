/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. */
#include "memscope/query/explain.h"

#include "memscope/query/schema.h"

#include <ctype.h>
#include <string.h>

static void add(struct ms_buffer *out, const char *s)
{
    ms_buffer_add(out, s, strlen(s));
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does the statement contain the name as a word? */
static bool mentions(const char *sql, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = sql; *at != '\0'; at++) {
        if (strncasecmp(at, name, length) == 0 && !is_word(at[length]) && (at == sql || !is_word(at[-1]))) {
            return true;
        }
    }
    return false;
}

/* The line of the statement, with a marker below the position. */
static void add_place(struct ms_buffer *out, const char *sql, int offset)
{
    if (offset < 0 || (size_t)offset > strlen(sql)) {
        return;
    }
    const char *start = sql + offset;
    while (start > sql && start[-1] != '\n') {
        start--;
    }
    add(out, "\n  ");
    ms_buffer_add(out, start, strcspn(start, "\n"));
    add(out, "\n  ");
    for (const char *at = start; at < sql + offset; at++) {
        if (((unsigned char)*at & 0xc0) != 0x80) {
            ms_buffer_char(out, *at == '\t' ? '\t' : ' ');
        }
    }
    ms_buffer_char(out, '^');
}

static void add_columns(struct ms_buffer *out, const struct ms_query_schema *schema)
{
    add(out, "\n");
    add(out, schema->name);
    add(out, " has ");
    for (size_t i = 0; i < schema->column_count; i++) {
        add(out, i == 0 ? "" : ", ");
        add(out, schema->columns[i].name);
    }
}

/* Columns of a view, as SQLite sees them. */
static void add_view_columns(sqlite3 *db, struct ms_buffer *out, const struct ms_query_view *view)
{
    sqlite3_stmt *statement;
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", view->name);
    if (sql != NULL && sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK) {
        add(out, "\n");
        add(out, view->name);
        add(out, " has ");
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            add(out, i == 0 ? "" : ", ");
            add(out, sqlite3_column_name(statement, i));
        }
        sqlite3_finalize(statement);
    }
    sqlite3_free(sql);
}

static void explain_column(sqlite3 *db, const char *sql, struct ms_buffer *out)
{
    for (size_t i = 0; i < MS_TABLE_COUNT; i++) {
        if (mentions(sql, ms_query_schemas[i].name)) {
            add_columns(out, &ms_query_schemas[i]);
        }
    }
    for (const struct ms_query_view *view = ms_query_views; view->name != NULL; view++) {
        if (mentions(sql, view->name)) {
            add_view_columns(db, out, view);
        }
    }
    add(out, "\nmsmemscope query --schema explains them. Texts need single quotes: 'PTA'.");
}

static void explain_table(struct ms_buffer *out)
{
    add(out, "\ntables: ");
    for (size_t i = 0; i < MS_TABLE_COUNT; i++) {
        add(out, i == 0 ? "" : ", ");
        add(out, ms_query_schemas[i].name);
    }
    add(out, "\nviews: ");
    for (const struct ms_query_view *view = ms_query_views; view->name != NULL; view++) {
        add(out, view == ms_query_views ? "" : ", ");
        add(out, view->name);
    }
}

void ms_query_explain(sqlite3 *db, const char *sql, int code, struct ms_buffer *out)
{
    int offset = -1;
#if SQLITE_VERSION_NUMBER >= 3038000
    offset = sqlite3_error_offset(db);
#endif
    char message[512];
    snprintf(message, sizeof(message), "%s", sqlite3_errmsg(db));
    if ((code & 0xff) == SQLITE_AUTH || strstr(message, "not authorized") != NULL ||
        strstr(message, "may not be modified") != NULL) {
        add(out, "only SELECT is allowed: recordings are read-only, and no other files are opened");
    } else if ((code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_IOERR) {
        add(out, message);
        add(out, ": sorting needs temporary space; set SQLITE_TMPDIR to a directory with free space");
    } else {
        add(out, message);
        add_place(out, sql, offset);
        if (strstr(message, "no such column") != NULL) {
            explain_column(db, sql, out);
        } else if (strstr(message, "no such table") != NULL) {
            explain_table(out);
        }
    }
    ms_buffer_char(out, '\0');
}
