/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps as SQLite databases for MindStudio Insight.
 *
 * The row of event ID n has rowid n + 1. Attributes are one compact JSON object with string values. The database can be
 * rebuilt from the trace at any time, so it is written without a journal and without fsync, in large transactions;
 * between them (after ms_dump_flush) other programs can read it. In the end it is a single file. Times are indexed
 * while rows are inserted, which happens in time order. No other column has an index (docs/design/09-database.md).
 *
 * python_trace_<pid> is created with the first call whose times are both known: Insight refuses a file that has such a
 * table but no such row. Calls without a start or an end wait for that. */
#include "memscope/export/cells.h"
#include "memscope/export/sqlite_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS    65536u
#define CACHE_KIB     8192
#define HELD_SLICES_B (1u << 20)

struct db {
    sqlite3 *handle;
    sqlite3_stmt *insert, *insert_steady, *insert_slice, *update;
    bool in_batch;
    uint32_t batch_rows;
    uint32_t slice_pid;       /* process that has a table; 0: none */
    int64_t last_rowid;       /* 0: none yet */
    struct ms_row_batch rows; /* not inserted yet */
    struct ms_buffer attr, slice_texts, held_slices;
};

/* ---- errors ---- */

static int error_of(const struct db *db, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW) {
        return 0;
    }
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return -EACCES;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    default: {
        int system = db->handle != NULL ? sqlite3_system_errno(db->handle) : 0;
        return system != 0 ? -system : -EIO;
    }
    }
}

static int run(struct db *db, const char *sql)
{
    return error_of(db, sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

static int prepare(struct db *db, const char *sql, sqlite3_stmt **out)
{
    return error_of(db, sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL));
}

/* ---- the file ---- */

static int begin_batch(struct db *db)
{
    if (db->in_batch) {
        return 0;
    }
    int rc = run(db, "BEGIN IMMEDIATE");
    db->in_batch = rc == 0;
    return rc;
}

static int end_batch(struct db *db)
{
    if (!db->in_batch) {
        return 0;
    }
    db->in_batch = false;
    db->batch_rows = 0;
    return run(db, "COMMIT");
}

#define COLUMN_AND_TYPE(name, text, sql) ", \"" text "\" " sql
#define PARAMETER(name, text, sql)       ", ?"

static int make_table(struct db *db)
{
    static const char table[] = "CREATE TABLE IF NOT EXISTS memscope_dump (" MS_DUMP_COLUMNS(COLUMN_AND_TYPE) ")";
    char create[sizeof(table)];
    memcpy(create, table, sizeof(table));
    *strchr(create, ',') = ' '; /* the list begins with a superfluous comma */
    int rc = run(db, create);
    rc = rc != 0
             ? rc
             : run(db, "CREATE INDEX IF NOT EXISTS idx_memscope_dump_timestamp ON memscope_dump (\"Timestamp(ns)\")");
    rc = rc != 0 ? rc : error_of(db, ms__batch_register(&db->rows, db->handle));
    rc = rc != 0 ? rc : error_of(db, ms__batch_prepare(db->handle, false, &db->insert));
    return rc != 0 ? rc : error_of(db, ms__batch_prepare(db->handle, true, &db->insert_steady));
}

static int db_open(struct ms_dump_file *file)
{
    struct db *db = calloc(1, sizeof(*db));
    if (db == NULL) {
        return -ENOMEM;
    }
    file->state = db;
    char path[4096 + 256];
    ms__dump_real_path(file, path, sizeof(path));
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    int rc = error_of(db, sqlite3_open_v2(path, &db->handle, flags, NULL));
    if (rc != 0) {
        return rc;
    }
    sqlite3_busy_timeout(db->handle, 5000);
    char pragmas[256];
    snprintf(
        pragmas, sizeof(pragmas),
        "PRAGMA page_size=32768; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA secure_delete=OFF; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-%d",
        CACHE_KIB);
    rc = run(db, pragmas);
    rc = rc != 0 ? rc : make_table(db);
    if (rc == 0) {
        ms__dump_created(file->dump, file->final_path[0] != 0 ? file->final_path : file->path, "memscope_dump");
    }
    return rc;
}

/* ---- rows ---- */

static void bind_text(sqlite3_stmt *statement, int at, const char *s, size_t length_b)
{
    sqlite3_bind_text(statement, at, s, (int)length_b, SQLITE_STATIC);
}

static void add_text(struct ms_buffer *buffer, const char *s, size_t length_b)
{
    ms_buffer_add(buffer, s, length_b);
}

static void add_quoted(struct ms_buffer *buffer, const char *s, size_t length_b)
{
    ms_buffer_char(buffer, '"');
    ms_buffer_add(buffer, s, length_b);
    ms_buffer_char(buffer, '"');
}

static const struct ms_cell_style style = {
    .plain = add_text,
    .quoted = add_quoted,
    .inside = ms_buffer_json,
#define X(name, text) [MS_ATTR_##name] = MS_CELL_WORD(",\"" text "\":\""),
    .key = {MS_ATTR_KEYS(X)},
#undef X
    .other_begin = MS_CELL_WORD(",\""),
    .other_end = MS_CELL_WORD("\":\""),
    .value_end = MS_CELL_WORD("\""),
    .attrs_end = MS_CELL_WORD("}"),
    .no_attrs = MS_CELL_WORD("{}"),
};

/* Inserts the buffered rows. */
static int write_rows(struct db *db)
{
    struct ms_row_batch *rows = &db->rows;
    if (rows->count == 0) {
        return 0;
    }
    sqlite3_stmt *insert = rows->varied ? db->insert : db->insert_steady;
    if (!rows->varied) {
        int at = 0;
#define X(name, field) ms__batch_bind(rows, &rows->cells[0][MS_COL_##name], insert, ++at);
        MS_BATCH_STEADY(X)
#undef X
    }
    int rc = begin_batch(db);
    if (rc == 0) {
        rc = error_of(db, sqlite3_step(insert));
        sqlite3_reset(insert);
    }
    db->batch_rows += rows->count;
    rows->count = 0;
    rows->varied = false;
    rows->texts.used = 0;
    return rc == 0 && db->batch_rows >= BATCH_ROWS ? end_batch(db) : rc;
}

/* A signature that is equal if two rows have the same cell in a steady column. False: not a steady column. */
MS_CELL_INLINE bool cell_sign(const struct ms_row *row, enum ms_dump_column column, uint32_t *sign)
{
    switch (column) {
#define X(name, field)                                                                                                 \
    case MS_COL_##name:                                                                                                \
        *sign = row->field;                                                                                            \
        return true;
        MS_BATCH_STEADY(X)
#undef X
    default:
        return false;
    }
}

MS_CELL_INLINE void put_cell(struct ms_row_batch *rows, const struct ms_dump *dump, const struct ms_row *row,
                             enum ms_dump_column column)
{
    struct ms_batch_cell *cell = &rows->cells[rows->count][column];
    uint64_t number;
    uint32_t sign;
    if (cell_sign(row, column, &sign)) {
        if (rows->count != 0 && rows->sign[column] == sign) {
            *cell = rows->cells[rows->count - 1][column];
            return;
        }
        rows->sign[column] = sign;
        rows->varied |= rows->count != 0;
    }
    if (ms__cell_number(row, column, &number)) {
        *cell = (struct ms_batch_cell){.number = (int64_t)number};
        return;
    }
    size_t begin = rows->texts.used;
    ms__cell_text(&rows->texts, dump, row, column, &style);
    *cell = (struct ms_batch_cell){
        .is_text = true, .number = (int64_t)begin, .length_b = (uint32_t)(rows->texts.used - begin)};
}

static int db_row(struct ms_dump_file *file, const struct ms_row *row)
{
    struct db *db = file->state;
    struct ms_row_batch *rows = &db->rows;
    int64_t rowid = (int64_t)row->id + 1;
    rows->rowid[rows->count] = db->last_rowid != 0 && rowid == db->last_rowid + 1 ? 0 : rowid;
    db->last_rowid = rowid;
#define X(name, text, sql) put_cell(rows, file->dump, row, MS_COL_##name);
    MS_DUMP_COLUMNS(X)
#undef X
    if (rows->texts.failed) {
        return -ENOMEM;
    }
    rows->count++;
    return ms__batch_full(rows) ? write_rows(db) : 0;
}

static int db_patch(struct ms_dump_file *file, const struct ms_row *row)
{
    struct db *db = file->state;
    int rc = write_rows(db); /* the row may be among the buffered ones */
    rc = rc != 0 ? rc : begin_batch(db);
    if (rc == 0 && db->update == NULL) {
        rc = prepare(db, "UPDATE memscope_dump SET \"Attr\" = ? WHERE rowid = ?", &db->update);
    }
    if (rc != 0) {
        return rc;
    }
    db->attr.used = 0;
    ms__cell_attrs(&db->attr, row, &style);
    if (db->attr.failed) {
        return -ENOMEM;
    }
    bind_text(db->update, 1, db->attr.s, db->attr.used);
    sqlite3_bind_int64(db->update, 2, (int64_t)row->id + 1);
    rc = error_of(db, sqlite3_step(db->update));
    sqlite3_reset(db->update);
    return rc;
}

/* ---- Python calls ---- */

static int insert_slice(struct db *db, const struct ms_slice *slice)
{
    struct ms_buffer *texts = &db->slice_texts;
    size_t begin[MS_SLICE_COLUMN_COUNT + 1] = {0};
    uint64_t number;
    texts->used = 0;
#define X(name, text, sql)                                                                                             \
    if (!ms__cell_slice_number(slice, MS_SLICE_COL_##name, &number)) {                                                 \
        ms__cell_slice_text(texts, slice, MS_SLICE_COL_##name, &style);                                                \
    }                                                                                                                  \
    begin[MS_SLICE_COL_##name + 1] = texts->used;
    MS_SLICE_COLUMNS(X)
#undef X
    if (texts->failed) {
        return -ENOMEM;
    }
    for (int i = 0; i < MS_SLICE_COLUMN_COUNT; i++) { /* the buffer does not move from here on */
        if (ms__cell_slice_number(slice, (enum ms_slice_column)i, &number)) {
            sqlite3_bind_int64(db->insert_slice, i + 1, (int64_t)number);
        } else {
            bind_text(db->insert_slice, i + 1, texts->s + begin[i], begin[i + 1] - begin[i]);
        }
    }
    int rc = error_of(db, sqlite3_step(db->insert_slice));
    sqlite3_reset(db->insert_slice);
    return rc;
}

static int make_slice_table(struct ms_dump_file *file, uint32_t pid)
{
    struct db *db = file->state;
    char sql[512], table[32];
    snprintf(table, sizeof(table), "python_trace_%u", pid);
    static const char columns[] = MS_SLICE_COLUMNS(COLUMN_AND_TYPE);
    static const char parameters[] = MS_SLICE_COLUMNS(PARAMETER);
    snprintf(sql, sizeof(sql), "CREATE TABLE IF NOT EXISTS %s (%s)", table, columns + 2);
    int rc = run(db, sql);
    if (rc == 0) {
        snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (%s)", table, parameters + 2);
        rc = prepare(db, sql, &db->insert_slice);
    }
    if (rc == 0) {
        db->slice_pid = pid;
        ms__dump_created(file->dump, file->final_path[0] != 0 ? file->final_path : file->path, table);
    }
    size_t at = 0;
    while (rc == 0 && at < db->held_slices.used) {
        struct ms_slice slice;
        memcpy(&slice, db->held_slices.s + at, sizeof(slice));
        slice.function.s = db->held_slices.s + at + sizeof(slice);
        at += sizeof(slice) + slice.function.length_b;
        rc = insert_slice(db, &slice);
    }
    ms_buffer_free(&db->held_slices);
    return rc;
}

static int db_slice(struct ms_dump_file *file, const struct ms_slice *slice)
{
    struct db *db = file->state;
    if (db->slice_pid == 0 && (slice->start_ns == 0 || slice->end_ns == 0)) {
        if (db->held_slices.used < HELD_SLICES_B) {
            ms_buffer_add(&db->held_slices, (const char *)slice, sizeof(*slice));
            ms_buffer_add(&db->held_slices, slice->function.s, slice->function.length_b);
        }
        return 0;
    }
    int rc = begin_batch(db);
    if (rc == 0 && db->slice_pid == 0) {
        rc = make_slice_table(file, slice->pid);
    }
    return rc != 0 ? rc : insert_slice(db, slice);
}

/* ---- interface ---- */

static int db_flush(struct ms_dump_file *file)
{
    struct db *db = file->state;
    int rc = write_rows(db);
    int end_rc = end_batch(db);
    return rc != 0 ? rc : end_rc;
}

static int db_close(struct ms_dump_file *file)
{
    struct db *db = file->state;
    if (db == NULL) {
        return 0;
    }
    int rc = file->failed ? end_batch(db) : db_flush(file);
    sqlite3_finalize(db->insert);
    sqlite3_finalize(db->insert_steady);
    sqlite3_finalize(db->insert_slice);
    sqlite3_finalize(db->update);
    int close_rc = error_of(db, sqlite3_close(db->handle));
    ms_buffer_free(&db->rows.texts);
    ms_buffer_free(&db->attr);
    ms_buffer_free(&db->slice_texts);
    ms_buffer_free(&db->held_slices);
    free(db);
    file->state = NULL;
    return rc != 0 ? rc : close_rc;
}

const struct ms_dump_ops ms__sqlite_ops = {
    .suffix = "db",
    .open = db_open,
    .row = db_row,
    .slice = db_slice,
    .patch = db_patch,
    .flush = db_flush,
    .close = db_close,
};
