/* SPDX-License-Identifier: Apache-2.0 */
/* Writes results into a database: keeps a copy, then changes all rows in one transaction. The copy is made by SQLite,
 * so it includes the write-ahead log. Failure policy: the transaction is rolled back; the copy of an unchanged database
 * is removed. */
#include "memscope/analyze/offline/offline.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_AT_ONCE 4096

struct row_change {
    int64_t rowid;
    char *attr;
};

struct writer {
    struct ms_offline *offline;
    const struct ms_offline_results *results;
    sqlite3 *db;
    const char *table;
    sqlite3_stmt *select, *update;
    struct row_change changes[ROWS_AT_ONCE];
    size_t count;
    int64_t rowid; /* last row read */
    bool ended;
};

static int fail(const struct writer *w, int code)
{
    int rc = code == SQLITE_NOMEM                             ? -ENOMEM
             : code == SQLITE_FULL                            ? -ENOSPC
             : code == SQLITE_BUSY                            ? -EBUSY
             : code == SQLITE_READONLY || code == SQLITE_PERM ? -EACCES
                                                              : -EIO;
    return ms_offline_fail(w->offline, rc, "cannot write '%s': %s", w->offline->path,
                           w->db != NULL ? sqlite3_errmsg(w->db) : sqlite3_errstr(code));
}

/* ---- the copy ---- */

static int keep_copy(struct writer *w, char *kept, size_t kept_b)
{
    sqlite3 *copy = NULL, *source = NULL; /* a connection with an open write transaction cannot be copied from */
    if (!ms_offline_kept_name(w->offline->path, kept, kept_b)) {
        return ms_offline_fail(w->offline, -EEXIST, "%s: no free name for the backup", w->offline->path);
    }
    int code = sqlite3_open_v2(kept, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    code = code == SQLITE_OK ? sqlite3_open_v2(w->offline->path, &source, SQLITE_OPEN_READWRITE, NULL) : code;
    sqlite3_backup *backup = code == SQLITE_OK ? sqlite3_backup_init(copy, "main", source, "main") : NULL;
    if (backup != NULL) {
        code = sqlite3_backup_step(backup, -1);
        sqlite3_backup_finish(backup);
        code = code == SQLITE_DONE ? SQLITE_OK : code;
    } else if (code == SQLITE_OK) {
        code = sqlite3_errcode(copy);
    }
    sqlite3_close(source);
    int closed = sqlite3_close(copy);
    code = code == SQLITE_OK ? closed : code;
    if (code == SQLITE_OK) {
        return 0;
    }
    unlink(kept);
    ms_offline_fail(w->offline, -EIO, "cannot write '%s': %s", kept, sqlite3_errstr(code));
    kept[0] = '\0';
    return code == SQLITE_FULL ? -ENOSPC : -EIO;
}

/* ---- rows ---- */

static bool has_table(struct writer *w, const char *name)
{
    sqlite3_stmt *s = NULL;
    bool found = sqlite3_prepare_v2(w->db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", -1, &s,
                                    NULL) == SQLITE_OK &&
                 sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW;
    sqlite3_finalize(s);
    return found;
}

static int prepare(struct writer *w)
{
    char sql[256];
    w->table = has_table(w, "memscope_dump") ? "memscope_dump" : "leaks_dump";
    snprintf(sql, sizeof(sql),
             "SELECT rowid, \"ID\", \"Process Id\", \"Attr\" FROM %s WHERE rowid > ? AND \"Event\" = 'MALLOC' "
             "ORDER BY rowid",
             w->table);
    int code = sqlite3_prepare_v2(w->db, sql, -1, &w->select, NULL);
    if (code == SQLITE_OK) {
        snprintf(sql, sizeof(sql), "UPDATE %s SET \"Attr\" = ? WHERE rowid = ?", w->table);
        code = sqlite3_prepare_v2(w->db, sql, -1, &w->update, NULL);
    }
    return code;
}

static void forget(struct writer *w)
{
    for (size_t i = 0; i < w->count; i++) {
        free(w->changes[i].attr);
    }
    w->count = 0;
}

/* Reads the next rows that change. */
static int collect(struct writer *w)
{
    struct ms_buffer text = {0};
    forget(w);
    sqlite3_reset(w->select);
    int code = sqlite3_bind_int64(w->select, 1, w->rowid);
    while (code == SQLITE_OK && w->count < ROWS_AT_ONCE) {
        code = sqlite3_step(w->select);
        if (code != SQLITE_ROW) {
            w->ended = true;
            code = code == SQLITE_DONE ? SQLITE_OK : code;
            break;
        }
        code = SQLITE_OK;
        w->rowid = sqlite3_column_int64(w->select, 0);
        uint8_t found = ms_offline_found(w->results, (uint32_t)sqlite3_column_int64(w->select, 2),
                                         (uint64_t)sqlite3_column_int64(w->select, 1));
        const char *attr = found != 0 ? (const char *)sqlite3_column_text(w->select, 3) : NULL;
        if (attr != NULL && ms_offline_attr(&text, attr, strlen(attr), found)) {
            struct row_change *change = &w->changes[w->count];
            change->rowid = w->rowid;
            change->attr = strndup(text.s, text.used);
            code = change->attr != NULL ? SQLITE_OK : SQLITE_NOMEM;
            w->count += change->attr != NULL;
        }
    }
    sqlite3_reset(w->select);
    code = code == SQLITE_OK && text.failed ? SQLITE_NOMEM : code;
    ms_buffer_free(&text);
    return code;
}

static int update(struct writer *w)
{
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < w->count; i++) {
        sqlite3_bind_text(w->update, 1, w->changes[i].attr, -1, SQLITE_STATIC);
        sqlite3_bind_int64(w->update, 2, w->changes[i].rowid);
        code = sqlite3_step(w->update);
        code = code == SQLITE_DONE ? sqlite3_reset(w->update) : code;
    }
    return code;
}

/* Runs within the transaction, so no other process changes the database. The copy is made before the first change. */
static int change_rows(struct writer *w, uint64_t *changed, char *kept, size_t kept_b)
{
    int code = prepare(w);
    w->rowid = INT64_MIN;
    while (code == SQLITE_OK && !w->ended) {
        code = collect(w);
        if (code == SQLITE_OK && w->count != 0 && kept[0] == '\0') {
            int rc = keep_copy(w, kept, kept_b);
            if (rc != 0) {
                return rc;
            }
        }
        code = code == SQLITE_OK ? update(w) : code;
        *changed += w->count;
    }
    return code == SQLITE_OK ? 0 : fail(w, code);
}

int ms_offline_write_db(struct ms_offline *offline, const struct ms_offline_results *results, uint64_t *changed,
                        char *kept, size_t kept_b)
{
    struct writer *w = calloc(1, sizeof(*w));
    kept[0] = '\0';
    *changed = 0;
    if (w == NULL) {
        return ms_offline_fail(offline, -ENOMEM, "%s", strerror(ENOMEM));
    }
    w->offline = offline;
    w->results = results;
    ms_offline_close(offline); /* close the reader before writing */
    int code = sqlite3_open_v2(offline->path, &w->db, SQLITE_OPEN_READWRITE, NULL);
    if (code == SQLITE_OK) {
        sqlite3_busy_timeout(w->db, 5000);
        code = sqlite3_exec(w->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    }
    int rc = code == SQLITE_OK ? change_rows(w, changed, kept, kept_b) : fail(w, code);
    forget(w);
    sqlite3_finalize(w->select);
    sqlite3_finalize(w->update);
    if (code == SQLITE_OK) {
        code = sqlite3_exec(w->db, rc == 0 ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
        rc = rc == 0 && code != SQLITE_OK ? fail(w, code) : rc;
    }
    sqlite3_close(w->db);
    free(w);
    if (rc != 0 && kept[0] != '\0') {
        unlink(kept);
        kept[0] = '\0';
    }
    return rc;
}
