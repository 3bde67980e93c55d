/* SPDX-License-Identifier: Apache-2.0 */
/* Databases of rows: memscope_dump (in old data: leaks_dump) and, in the same file, python_trace_<pid>.
 *
 * The file is opened so that nothing is written next to it: a database in WAL mode without a -wal file is read as it
 * is. Rows are read in order of their rowid. If a page is missing or damaged, reading continues after it, at
 * increasingly distant rowids. */
#include "memscope/source/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_KIB     2048
#define SLICE_TABLES  256u
#define PROGRESS_ROWS 8192u

struct db_rows {
    struct ms_row_reader rows;
    sqlite3 *handle;
    sqlite3_stmt *statement; /* at the row */
    char table[32];
    int at[MS_DUMP_COLUMN_COUNT]; /* position in the result; -1: the table has no such column */
    char columns[1024];           /* of the SELECT */
    int64_t rowid;                /* of the last row */
    uint64_t row;
    struct ms_buffer scratch;

    char **slice_tables;
    size_t slice_count, slice_at;
    sqlite3_stmt *slices;
    uint64_t rows_done, rows_reported;
};

/* ---- opening ---- */

static bool has_content(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0;
}

/* Bytes 18 and 19 of the header: 2 means WAL. */
static int look(struct ms_source *source, const char *path, bool *wal)
{
    unsigned char head[100] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof(head)) : -1;
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (n < 0) {
        ms__problem(source, path, 0, 0, true, "%s", strerror(error));
        return -error;
    }
    if (n == 0) {
        ms__problem(source, path, 0, 0, true, "the file is empty");
        return -ENODATA;
    }
    if (n < (ssize_t)sizeof(head) || memcmp(head, "SQLite format 3", 16) != 0) {
        ms__problem(source, path, 0, 0, true, "not a database");
        return -EPROTO;
    }
    *wal = head[18] == 2 || head[19] == 2;
    return 0;
}

/* The path as a URI, with special characters escaped. */
static char *uri_of(const char *path, bool immutable)
{
    struct ms_buffer uri = {0};
    MS_BUFFER_TEXT(&uri, "file:");
    for (; *path != 0; path++) {
        static const char digits[] = "0123456789abcdef";
        if (strchr("?#%", *path) != NULL) {
            ms_buffer_char(&uri, '%');
            ms_buffer_char(&uri, digits[(unsigned char)*path >> 4]);
            ms_buffer_char(&uri, digits[*path & 0xf]);
        } else {
            ms_buffer_char(&uri, *path);
        }
    }
    if (immutable) {
        MS_BUFFER_TEXT(&uri, "?immutable=1");
    }
    ms_buffer_char(&uri, 0);
    if (uri.failed) {
        ms_buffer_free(&uri);
    }
    return uri.s;
}

#define LOOK_AT_SCHEMA "SELECT count(*) FROM sqlite_master"

/* *cut: the file is shorter than its header says. SQLite refuses such files unless its schema checks are disabled. */
static int open_handle(const char *path, bool immutable, sqlite3 **out, bool *cut)
{
    char *uri = uri_of(path, immutable);
    if (uri == NULL) {
        return SQLITE_NOMEM;
    }
    int rc = sqlite3_open_v2(uri, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(uri);
    if (rc == SQLITE_OK) { /* the file is not read before this */
        sqlite3_busy_timeout(*out, 5000);
        char pragma[64];
        snprintf(pragma, sizeof(pragma), "PRAGMA cache_size=-%d; PRAGMA query_only=1", CACHE_KIB);
        rc = sqlite3_exec(*out, pragma, NULL, NULL, NULL);
        rc = rc != SQLITE_OK ? rc : sqlite3_exec(*out, LOOK_AT_SCHEMA, NULL, NULL, NULL);
        if (rc == SQLITE_CORRUPT) {
            rc = sqlite3_exec(*out, "PRAGMA writable_schema=ON; " LOOK_AT_SCHEMA, NULL, NULL, NULL);
            *cut = rc == SQLITE_OK;
        }
    }
    if (rc != SQLITE_OK) {
        sqlite3_close(*out);
        *out = NULL;
    }
    return rc;
}

static int open_file(struct db_rows *r)
{
    const char *path = r->rows.file->path;
    bool wal = false;
    int rc = look(r->rows.source, path, &wal);
    if (rc != 0) {
        return rc;
    }
    char wal_path[4096 + 8];
    snprintf(wal_path, sizeof(wal_path), "%s-wal", path);
    bool immutable = wal && !has_content(wal_path);
    bool cut = false;
    int code = open_handle(path, immutable, &r->handle, &cut);
    if (code != SQLITE_OK && wal && !immutable) {
        ms__problem(r->rows.source, path, 0, 0, true, "the file %s cannot be used (%s): its rows are missing", wal_path,
                    sqlite3_errstr(code));
        code = open_handle(path, true, &r->handle, &cut);
    }
    if (code != SQLITE_OK) {
        ms__problem(r->rows.source, path, 0, 0, true, "%s", sqlite3_errstr(code));
        return code == SQLITE_NOMEM ? -ENOMEM : -EPROTO;
    }
    if (cut && ms__is_new(&r->rows, 0)) {
        ms__problem(r->rows.source, path, 0, 0, true, "the file is truncated");
    }
    return 0;
}

/* ---- tables ---- */

static bool find_table(struct db_rows *r)
{
    sqlite3_stmt *s;
    bool found = false;
    const char *sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('memscope_dump', 'leaks_dump') "
                      "ORDER BY name = 'leaks_dump'";
    if (sqlite3_prepare_v2(r->handle, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
        snprintf(r->table, sizeof(r->table), "%s", (const char *)sqlite3_column_text(s, 0));
        found = true;
    }
    sqlite3_finalize(s);
    return found;
}

static void find_columns(struct db_rows *r)
{
    sqlite3_stmt *s;
    char sql[96];
    size_t used = 0;
    int place = 1; /* 0 is the rowid */
    snprintf(sql, sizeof(sql), "SELECT name FROM pragma_table_info('%s')", r->table);
    memset(r->at, -1, sizeof(r->at));
    if (sqlite3_prepare_v2(r->handle, sql, -1, &s, NULL) == SQLITE_OK) {
        while (sqlite3_step(s) == SQLITE_ROW) {
            const char *name = (const char *)sqlite3_column_text(s, 0);
            int column = name != NULL ? ms__column_of(name, strlen(name)) : -1;
            if (column >= 0 && r->at[column] < 0) {
                used += (size_t)snprintf(r->columns + used, sizeof(r->columns) - used, ", \"%s\"", name);
                r->at[column] = place++;
            }
        }
    }
    sqlite3_finalize(s);
}

static int find_slices(struct db_rows *r)
{
    sqlite3_stmt *s;
    const char *sql =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'python_trace_*' ORDER BY name";
    if (sqlite3_prepare_v2(r->handle, sql, -1, &s, NULL) != SQLITE_OK) {
        return 0;
    }
    r->slice_tables = calloc(SLICE_TABLES, sizeof(*r->slice_tables));
    while (r->slice_tables != NULL && r->slice_count < SLICE_TABLES && sqlite3_step(s) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(s, 0);
        if (name != NULL && strchr(name, '"') == NULL && (r->slice_tables[r->slice_count] = strdup(name)) != NULL) {
            r->slice_count++;
        }
    }
    sqlite3_finalize(s);
    return r->slice_tables != NULL ? 0 : -ENOMEM;
}

/* ---- rows ---- */

static int select_after(struct db_rows *r, int64_t rowid)
{
    char sql[sizeof(r->columns) + 128];
    if (r->statement == NULL) {
        snprintf(sql, sizeof(sql), "SELECT rowid%s FROM %s WHERE rowid > ? ORDER BY rowid", r->columns, r->table);
        int rc = sqlite3_prepare_v2(r->handle, sql, -1, &r->statement, NULL);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    sqlite3_reset(r->statement);
    return sqlite3_bind_int64(r->statement, 1, rowid);
}

/* Rowids increase, except in damaged pages, where reading would start over endlessly. */
static bool goes_on(const struct db_rows *r)
{
    return sqlite3_column_int64(r->statement, 0) > r->rowid;
}

/* Something is damaged after the last row: moves to the next readable one. False: there is none. */
static bool pass_damage(struct db_rows *r, int code)
{
    bool damage = (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_NOTADB;
    uint64_t position = r->rowid > 0 ? (uint64_t)r->rowid : 0;
    if (ms__is_new(&r->rows, position)) {
        ms__problem(r->rows.source, r->rows.file->path, 0, position, true, "rows after this one cannot be read: %s",
                    sqlite3_errstr(code));
    }
    for (unsigned bit = 0; damage && bit < 40; bit++) {
        int64_t from = r->rowid + (1ll << bit);
        if (select_after(r, from) != SQLITE_OK) {
            return false;
        }
        int found = sqlite3_step(r->statement);
        if (found == SQLITE_ROW && goes_on(r)) {
            return true;
        }
        if (found == SQLITE_DONE) {
            return false;
        }
    }
    return false;
}

/* SQLITE_ROW with the statement at the row, or SQLITE_DONE. */
static int step(struct db_rows *r)
{
    if (r->statement == NULL && select_after(r, r->rowid) != SQLITE_OK) {
        ms__problem(r->rows.source, r->rows.file->path, 0, 0, true, "%s", sqlite3_errmsg(r->handle));
        return SQLITE_DONE;
    }
    int code = sqlite3_step(r->statement);
    if (code == SQLITE_ROW && !goes_on(r)) {
        code = SQLITE_CORRUPT;
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        code = pass_damage(r, code) ? SQLITE_ROW : SQLITE_DONE;
    }
    if (code == SQLITE_ROW) {
        r->rowid = sqlite3_column_int64(r->statement, 0);
    }
    return code;
}

static struct ms_text text_at(sqlite3_stmt *s, int place)
{
    const char *text = (const char *)sqlite3_column_text(s, place);
    return (struct ms_text){.s = text != NULL ? text : "",
                            .length_b = text != NULL ? (uint32_t)sqlite3_column_bytes(s, place) : 0};
}

static void report_progress(struct db_rows *r, bool ended)
{
    if (++r->rows_done % PROGRESS_ROWS == 0 || ended) { /* the position is unknown: assume 200 bytes a row */
        ms__progress(r->rows.source, (r->rows_done - r->rows_reported) * 200);
        r->rows_reported = r->rows_done;
    }
}

static int next_row(struct ms_row_reader *rows, struct ms_row *row)
{
    struct db_rows *r = MS_CONTAINER_OF(rows, struct db_rows, rows);
    while (step(r) == SQLITE_ROW) {
        struct ms_cells cells = {.name_quotes = MS_QUOTES_ONE, .wish = rows->source->wish};
        for (int i = 0; i < MS_DUMP_COLUMN_COUNT; i++) {
            if (r->at[i] >= 0) {
                cells.at[i] = text_at(r->statement, r->at[i]);
            }
        }
        if (ms__is_none(cells.at[MS_COL_DEVICE])) {
            cells.name_quotes = MS_QUOTES_ALL;
        }
        enum ms_dump_column column;
        enum ms_parse parsed = ms__parse_row(&rows->source->stacks, &r->scratch, &cells, row, &column);
        report_progress(r, false);
        if (parsed == MS_PARSED) {
            row->id = cells.at[MS_COL_ID].s != NULL ? row->id : r->row;
            r->row++;
            return 1;
        }
        ms__bad_row(rows, parsed, &cells, column, 0, (uint64_t)r->rowid);
    }
    report_progress(r, true);
    return 0;
}

static int rest_in_order(struct ms_row_reader *rows, enum ms_source_order order, uint64_t after, bool *in_order)
{
    struct db_rows *r = MS_CONTAINER_OF(rows, struct db_rows, rows);
    int place = r->at[order == MS_ORDER_TIME ? MS_COL_TIME : MS_COL_ID];
    *in_order = true;
    rows->quiet = true;
    while (place >= 0 && *in_order && step(r) == SQLITE_ROW) {
        uint64_t key = (uint64_t)sqlite3_column_int64(r->statement, place);
        *in_order = key >= after;
        after = key;
    }
    rows->quiet = false;
    r->rowid = INT64_MIN;
    r->row = 0;
    sqlite3_finalize(r->statement);
    r->statement = NULL;
    return 0;
}

/* ---- calls of the Python trace ---- */

static bool open_slices(struct db_rows *r)
{
#define X(name, text, sql) ", \"" text "\""
    static const char columns[] = MS_SLICE_COLUMNS(X);
#undef X
    while (r->slices == NULL && r->slice_at < r->slice_count) {
        char sql[512];
        const char *table = r->slice_tables[r->slice_at++];
        snprintf(sql, sizeof(sql), "SELECT %s FROM \"%s\" ORDER BY rowid", columns + 2, table);
        if (sqlite3_prepare_v2(r->handle, sql, -1, &r->slices, NULL) != SQLITE_OK) {
            ms__problem(r->rows.source, r->rows.file->path, 0, 0, true, "table %s: %s", table,
                        sqlite3_errmsg(r->handle));
            r->slices = NULL;
        }
    }
    return r->slices != NULL;
}

static int next_slice(struct ms_row_reader *rows, struct ms_slice *slice)
{
    struct db_rows *r = MS_CONTAINER_OF(rows, struct db_rows, rows);
    while (open_slices(r)) {
        int code = sqlite3_step(r->slices);
        if (code == SQLITE_ROW) {
            struct ms_text cells[MS_SLICE_COLUMN_COUNT];
            for (int i = 0; i < MS_SLICE_COLUMN_COUNT; i++) {
                cells[i] = text_at(r->slices, i);
            }
            if (ms__parse_slice(cells, slice)) {
                slice->device = rows->file->device;
                return 1;
            }
            rows->source->stats.bad_rows++;
            ms__problem(rows->source, rows->file->path, 0, 0, true, "table %s: unreadable call",
                        r->slice_tables[r->slice_at - 1]);
            continue;
        }
        if (code != SQLITE_DONE) {
            ms__problem(rows->source, rows->file->path, 0, 0, true, "table %s: %s", r->slice_tables[r->slice_at - 1],
                        sqlite3_errstr(code));
        }
        sqlite3_finalize(r->slices);
        r->slices = NULL;
    }
    return 0;
}

/* ---- opening and closing ---- */

static void db_close(struct ms_row_reader *rows)
{
    struct db_rows *r = MS_CONTAINER_OF(rows, struct db_rows, rows);
    sqlite3_finalize(r->statement);
    sqlite3_finalize(r->slices);
    for (size_t i = 0; i < r->slice_count; i++) {
        free(r->slice_tables[i]);
    }
    free(r->slice_tables);
    sqlite3_close(r->handle);
    ms_buffer_free(&r->scratch);
    free(r);
}

static const struct ms_rows_ops ops = {
    .next = next_row, .next_slice = next_slice, .rest_in_order = rest_in_order, .close = db_close};

int ms__db_rows_open(struct ms_source *source, const struct ms_source_file *file, bool quiet,
                     struct ms_row_reader **out)
{
    struct db_rows *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return -ENOMEM;
    }
    r->rows = (struct ms_row_reader){.ops = &ops, .source = source, .file = file, .quiet = quiet};
    r->rowid = INT64_MIN;
    int rc = open_file(r);
    if (rc == 0 && !find_table(r)) {
        ms__problem(source, file->path, 0, 0, true, "no table memscope_dump: not a msmemscope dump");
        rc = -EPROTO;
    }
    if (rc == 0) {
        find_columns(r);
        if (r->at[MS_COL_EVENT] < 0 || r->at[MS_COL_TYPE] < 0 || r->at[MS_COL_TIME] < 0) {
            ms__problem(source, file->path, 0, 0, true, "table %s lacks columns: not a msmemscope dump", r->table);
            rc = -EPROTO;
        }
    }
    rc = rc != 0 ? rc : find_slices(r);
    if (rc != 0) {
        db_close(&r->rows);
        return rc;
    }
    *out = &r->rows;
    return 0;
}
