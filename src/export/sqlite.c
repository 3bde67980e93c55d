/* Dumps as SQLite databases, as MindStudio Insight opens them.
 *
 * The row of event ID n has rowid n + 1. Attributes are one compact JSON object with string values. The database can be
 * made again from the trace at any time, so it is written without journal and without waiting for the disk, in large
 * transactions; between them (after ms_dump_flush) other programs can read it. It ends as one file.
 *
 * python_trace_<pid> is made with the first call whose times are both known: Insight refuses a file with such a table
 * and no such row. Calls without a start or an end wait for that. */
#include "export/dump_internal.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS    65536u
#define CACHE_KIB     8192
#define HELD_SLICES_B (1u << 20)

struct db {
    sqlite3 *handle;
    sqlite3_stmt *insert, *insert_slice, *update;
    bool in_batch;
    uint32_t batch_rows;
    uint32_t slice_pid; /* whose table there is; 0: none */
    struct ms_buffer attr, ptr, name, stacks[2], held_slices;
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
    db->in_batch = true;
    return run(db, "BEGIN IMMEDIATE");
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
#define COLUMN(name, text, sql)          ", \"" text "\""
#define PARAMETER(name, text, sql)       ", ?"

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
        "PRAGMA page_size=16384; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-%d",
        CACHE_KIB);
    rc = run(db, pragmas);
    static const char table[] = "CREATE TABLE IF NOT EXISTS memscope_dump (" MS_DUMP_COLUMNS(COLUMN_AND_TYPE) ")";
    static const char insert[] =
        "INSERT INTO memscope_dump (rowid" MS_DUMP_COLUMNS(COLUMN) ") VALUES (?" MS_DUMP_COLUMNS(PARAMETER) ")";
    char create[sizeof(table)];
    memcpy(create, table, sizeof(table));
    char *comma = strstr(create, "(,"); /* the list begins with one comma too many */
    memmove(comma + 1, comma + 3, strlen(comma + 3) + 1);
    rc = rc != 0 ? rc : run(db, create);
    rc = rc != 0 ? rc : prepare(db, insert, &db->insert);
    if (rc == 0) {
        ms__dump_created(file->dump, file->final_path[0] != 0 ? file->final_path : file->path, "memscope_dump");
    }
    return rc;
}

static int db_flush(struct ms_dump_file *file)
{
    return end_batch(file->state);
}

static int db_close(struct ms_dump_file *file)
{
    struct db *db = file->state;
    if (db == NULL) {
        return 0;
    }
    int rc = end_batch(db);
    static const char indexes[] =
        "CREATE INDEX IF NOT EXISTS idx_memscope_dump_timestamp ON memscope_dump (\"Timestamp(ns)\");"
        "CREATE INDEX IF NOT EXISTS idx_memscope_dump_event ON memscope_dump (\"Event\");"
        "CREATE INDEX IF NOT EXISTS idx_memscope_dump_device ON memscope_dump (\"Device Id\")";
    if (rc == 0 && db->insert != NULL && !file->failed) {
        rc = run(db, indexes);
    }
    sqlite3_finalize(db->insert);
    sqlite3_finalize(db->insert_slice);
    sqlite3_finalize(db->update);
    int close_rc = error_of(db, sqlite3_close(db->handle));
    ms_buffer_free(&db->attr);
    ms_buffer_free(&db->ptr);
    ms_buffer_free(&db->name);
    ms_buffer_free(&db->stacks[0]);
    ms_buffer_free(&db->stacks[1]);
    ms_buffer_free(&db->held_slices);
    free(db);
    file->state = NULL;
    return rc != 0 ? rc : close_rc;
}

/* ---- rows ---- */

static void bind_text(sqlite3_stmt *statement, int at, const char *s, size_t length_b)
{
    sqlite3_bind_text(statement, at, s, (int)length_b, SQLITE_STATIC);
}

static void bind_literal(sqlite3_stmt *statement, int at, const char *s)
{
    bind_text(statement, at, s, strlen(s));
}

static void add_attrs(struct ms_buffer *buffer, const struct ms_row *row)
{
    static const struct {
        const char *s;
        size_t length_b;
    } keys[] = {
#define X(name, text) {"\"" text "\":\"", sizeof(text) + 3},
        MS_ATTR_KEYS(X)
#undef X
    };
    buffer->used = 0;
    ms_buffer_char(buffer, '{');
    for (uint32_t i = 0; i < row->attr_count; i++) {
        const struct ms_attr *attr = &row->attr[i];
        if (i != 0) {
            ms_buffer_char(buffer, ',');
        }
        if (attr->key < MS_ATTR_KEY_COUNT) {
            ms_buffer_add(buffer, keys[attr->key].s, keys[attr->key].length_b);
        } else {
            ms_buffer_char(buffer, '"');
            ms_buffer_json(buffer, attr->other_key, attr->other_key_b);
            MS_BUFFER_TEXT(buffer, "\":\"");
        }
        switch (attr->form) {
        case MS_FORM_NUMBER:
            ms_buffer_u64(buffer, attr->number);
            break;
        case MS_FORM_ADDR:
            ms_buffer_hex16(buffer, attr->number);
            break;
        case MS_FORM_PTR:
            if (attr->number != 0) {
                ms_buffer_hex(buffer, attr->number);
            } else {
                MS_BUFFER_TEXT(buffer, "(nil)");
            }
            break;
        case MS_FORM_RATE:
            ms_buffer_fixed(buffer, attr->rate, 6);
            break;
        default:
            ms_buffer_json(buffer, attr->text.s, attr->text.length_b);
            break;
        }
        ms_buffer_char(buffer, '"');
    }
    ms_buffer_char(buffer, '}');
}

static void bind_id(sqlite3_stmt *statement, int at, uint32_t id)
{
    if (id == MS_ID_NONE) {
        bind_literal(statement, at, "N/A");
    } else {
        sqlite3_bind_int64(statement, at, id);
    }
}

static void bind_device(sqlite3_stmt *statement, int at, uint32_t device, char text[16])
{
    if (device == MS_DEV_UNKNOWN) {
        bind_literal(statement, at, "N/A");
    } else if (device == MS_DEV_CPU) {
        bind_literal(statement, at, "cpu");
    } else if (device < 10) {
        text[0] = (char)('0' + device);
        bind_text(statement, at, text, 1);
    } else {
        bind_text(statement, at, text, (size_t)snprintf(text, 16, "%u", device));
    }
}

/* Stacks have the quotes here that they have in CSV files: the original writes them so, and readers take them off. */
static void bind_stack(sqlite3_stmt *statement, int at, const struct ms_dump *dump, bool python, uint32_t id,
                       struct ms_buffer *buffer)
{
    if (id == 0) {
        bind_literal(statement, at, "");
        return;
    }
    struct ms_text text = {.s = "NA", .length_b = 2};
    if (!python || id != MS_STACK_NO_GIL) {
        text = ms__dump_stack(dump, python, id);
    }
    buffer->used = 0;
    if (text.length_b != 0) {
        ms_buffer_char(buffer, '"');
        ms_buffer_add(buffer, text.s, text.length_b);
        ms_buffer_char(buffer, '"');
    }
    bind_text(statement, at, buffer->used != 0 ? buffer->s : "", buffer->used);
}

static int db_row(struct ms_dump_file *file, const struct ms_row *row)
{
    struct db *db = file->state;
    int rc = begin_batch(db);
    if (rc != 0) {
        return rc;
    }
    enum { ROWID = 1, FIRST = 2 };
    sqlite3_stmt *s = db->insert;
    char device[16];
    sqlite3_bind_int64(s, ROWID, (int64_t)row->id + 1);
    sqlite3_bind_int64(s, FIRST + MS_COL_ID, (int64_t)row->id);
    bind_literal(s, FIRST + MS_COL_EVENT, ms_event_name(row->event));
    bind_literal(s, FIRST + MS_COL_TYPE, ms_type_name(row->type));
    if (row->event == MS_EV_MSTX) { /* keeps its quotes */
        db->name.used = 0;
        ms_buffer_char(&db->name, '"');
        ms_buffer_add(&db->name, row->name.s, row->name.length_b);
        ms_buffer_char(&db->name, '"');
        bind_text(s, FIRST + MS_COL_NAME, db->name.s, db->name.used);
    } else if (row->name.length_b == 0) {
        bind_literal(s, FIRST + MS_COL_NAME, "N/A");
    } else {
        bind_text(s, FIRST + MS_COL_NAME, row->name.s, row->name.length_b);
    }
    sqlite3_bind_int64(s, FIRST + MS_COL_TIME, (int64_t)row->time_ns);
    bind_id(s, FIRST + MS_COL_PID, row->pid);
    bind_id(s, FIRST + MS_COL_TID, row->tid);
    bind_device(s, FIRST + MS_COL_DEVICE, row->device, device);
    if (row->has_addr) {
        db->ptr.used = 0;
        ms_buffer_hex16(&db->ptr, row->addr);
        bind_text(s, FIRST + MS_COL_PTR, db->ptr.s, db->ptr.used);
    } else {
        bind_literal(s, FIRST + MS_COL_PTR, "N/A");
    }
    add_attrs(&db->attr, row);
    bind_text(s, FIRST + MS_COL_ATTR, db->attr.s, db->attr.used);
    bind_stack(s, FIRST + MS_COL_PYTHON_STACK, file->dump, true, row->python_stack, &db->stacks[0]);
    bind_stack(s, FIRST + MS_COL_C_STACK, file->dump, false, row->c_stack, &db->stacks[1]);
    if (db->attr.failed || db->ptr.failed || db->name.failed || db->stacks[0].failed || db->stacks[1].failed) {
        return -ENOMEM;
    }
    rc = error_of(db, sqlite3_step(s));
    sqlite3_reset(s);
    if (rc == 0 && ++db->batch_rows >= BATCH_ROWS) {
        rc = end_batch(db);
    }
    return rc;
}

static int db_patch(struct ms_dump_file *file, const struct ms_row *row)
{
    struct db *db = file->state;
    int rc = begin_batch(db);
    if (rc == 0 && db->update == NULL) {
        rc = prepare(db, "UPDATE memscope_dump SET \"Attr\" = ? WHERE rowid = ?", &db->update);
    }
    if (rc != 0) {
        return rc;
    }
    add_attrs(&db->attr, row);
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

static void bind_time(sqlite3_stmt *statement, int at, uint64_t time_ns, char text[24])
{
    if (time_ns == 0) {
        bind_literal(statement, at, "N/A");
    } else {
        bind_text(statement, at, text, (size_t)snprintf(text, 24, "%llu", (unsigned long long)time_ns));
    }
}

static int insert_slice(struct db *db, const struct ms_slice *slice)
{
    char start[24], end[24];
    sqlite3_stmt *s = db->insert_slice;
    bind_text(s, 1, slice->function.s, slice->function.length_b);
    bind_time(s, 2, slice->start_ns, start);
    bind_time(s, 3, slice->end_ns, end);
    sqlite3_bind_int64(s, 4, slice->tid);
    sqlite3_bind_int64(s, 5, slice->pid);
    int rc = error_of(db, sqlite3_step(s));
    sqlite3_reset(s);
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

const struct ms_dump_ops ms__sqlite_ops = {
    .suffix = "db",
    .open = db_open,
    .row = db_row,
    .slice = db_slice,
    .patch = db_patch,
    .flush = db_flush,
    .close = db_close,
};
