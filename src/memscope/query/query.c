/* SPDX-License-Identifier: Apache-2.0 */
/* See query.h. The connection has an in-memory database that contains only views; the data is in the store, behind
 * virtual tables. Once the views exist, the authorizer decides what a statement may do. */
#include "memscope/query/query.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/parse.h"
#include "memscope/query/explain.h"
#include "memscope/query/gather.h"
#include "memscope/query/print.h"
#include "memscope/query/vtab.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_OPS 100000 /* between two clock checks: well under 0.1 s */
#define CACHE_KIB    65536  /* SQLite's own cache (sorting); more goes to files */

struct ms_query {
    sqlite3 *db;
    sqlite3_stmt *statement;
    char *sql;
    struct ms_store store;
    struct ms_buffer error;
    volatile sig_atomic_t stop;
    double limit_s;
    uint64_t deadline_ns; /* 0: none */
    bool timed_out;
};

/* ---- authorizer ---- */

static int authorize(void *argument, int action, const char *a, const char *b, const char *database, const char *view)
{
    (void)argument;
    (void)a;
    (void)database;
    (void)view;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION: /* b: its name */
        return b != NULL && strcmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static void human(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) {
        return;
    }
    sqlite3_int64 bytes = sqlite3_value_int64(argv[0]);
    char text[20] = "-";
    ms_format_size(bytes < 0 ? (uint64_t)-bytes : (uint64_t)bytes, text + (bytes < 0));
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static int progress(void *argument)
{
    struct ms_query *query = argument;
    if (query->deadline_ns != 0 && ms_clock_raw_ns() > query->deadline_ns) {
        query->timed_out = true;
    }
    return query->stop != 0 || query->timed_out;
}

static int add_views(sqlite3 *db)
{
    int rc = SQLITE_OK;
    for (const struct ms_query_view *view = ms_query_views; view->name != NULL && rc == SQLITE_OK; view++) {
        char *sql = sqlite3_mprintf("CREATE VIEW \"%w\" AS %s", view->name, view->sql);
        rc = sql != NULL ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
        sqlite3_free(sql);
    }
    return rc;
}

/* A table is created when it is first named, which the authorizer would refuse. */
static int connect_tables(struct ms_query *query)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; i < MS_TABLE_COUNT && rc == SQLITE_OK; i++) {
        char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\"", ms_query_schemas[i].name);
        rc = sql != NULL ? sqlite3_exec(query->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
        sqlite3_free(sql);
    }
    query->store.wanted = query->store.needs = 0;
    return rc;
}

static int open_database(struct ms_query *query)
{
    int rc = sqlite3_open_v2(":memory:", &query->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK) {
        return rc;
    }
    sqlite3 *db = query->db;
    char pragma[64];
    snprintf(pragma, sizeof(pragma), "PRAGMA cache_size=-%d; PRAGMA temp_store=FILE", CACHE_KIB);
    sqlite3_exec(db, pragma, NULL, NULL, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 256 << 20);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
    rc = ms_vtab_register(db, &query->store);
    rc = rc != SQLITE_OK ? rc : connect_tables(query);
    rc = rc != SQLITE_OK ? rc : add_views(db);
    rc = rc != SQLITE_OK
             ? rc
             : sqlite3_create_function(db, "human", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, human, NULL, NULL);
    sqlite3_progress_handler(db, PROGRESS_OPS, progress, query);
    query->store.stopped = progress;
    query->store.argument = query;
    sqlite3_set_authorizer(db, authorize, query);
    return rc;
}

/* ---- interface ---- */

int ms_query_new(struct ms_query **out)
{
    struct ms_query *query = calloc(1, sizeof(*query));
    if (query == NULL || open_database(query) != SQLITE_OK) {
        if (query != NULL) {
            ms_query_free(query);
        }
        return -ENOMEM;
    }
    *out = query;
    return 0;
}

void ms_query_free(struct ms_query *query)
{
    sqlite3_finalize(query->statement);
    sqlite3_close(query->db);
    ms_store_free(&query->store);
    ms_buffer_free(&query->error);
    free(query->sql);
    free(query);
}

const char *ms_query_error(const struct ms_query *query)
{
    return query->error.used != 0 && !query->error.failed ? query->error.s : "";
}

void ms_query_limit(struct ms_query *query, double seconds)
{
    query->limit_s = seconds;
}

void ms_query_stop(struct ms_query *query)
{
    query->stop = 1;
}

/* ---- statements ---- */

static int refuse(struct ms_query *query, const char *why)
{
    query->error.used = 0;
    ms_buffer_add(&query->error, why, strlen(why) + 1);
    return -EINVAL;
}

static int plan(struct ms_query *query)
{
    const char *rest;
    sqlite3_finalize(query->statement);
    query->statement = NULL;
    int rc = sqlite3_prepare_v2(query->db, query->sql, -1, &query->statement, &rest);
    if (rc != SQLITE_OK) {
        query->error.used = 0;
        ms_query_explain(query->db, query->sql, rc, &query->error);
        return -EINVAL;
    }
    if (query->statement == NULL) {
        return refuse(query, "empty statement; try: SELECT * FROM devices");
    }
    if (rest[strspn(rest, " \t\r\n;")] != '\0' && strncmp(rest + strspn(rest, " \t\r\n;"), "--", 2) != 0) {
        return refuse(query, "only one statement at a time: unexpected text after the first ';'");
    }
    if (!sqlite3_stmt_readonly(query->statement) || sqlite3_column_count(query->statement) == 0) {
        return refuse(query, "only SELECT is allowed: recordings are read-only");
    }
    return 0;
}

int ms_query_prepare(struct ms_query *query, const char *sql)
{
    free(query->sql);
    query->sql = strdup(sql);
    return query->sql != NULL ? plan(query) : -ENOMEM;
}

int ms_query_read(struct ms_query *query, struct ms_source *source)
{
    return ms_gather(&query->store, source, &query->stop);
}

int ms_query_run(struct ms_query *query, enum ms_query_output output, FILE *file)
{
    int rc = plan(query); /* plan again, now that the table sizes are known */
    struct ms_print *print = rc == 0 ? ms_print_begin(output, query->statement, file) : NULL;
    if (print == NULL) {
        return rc != 0 ? rc : -ENOMEM;
    }
    query->deadline_ns = query->limit_s > 0 ? ms_clock_raw_ns() + (uint64_t)(query->limit_s * 1e9) : 0;
    int step = SQLITE_ROW;
    while (rc == 0 && (step = sqlite3_step(query->statement)) == SQLITE_ROW) {
        rc = ms_print_row(print);
    }
    int end_rc = ms_print_end(print);
    rc = rc != 0 ? rc : end_rc;
    if (rc == 0 && step == SQLITE_INTERRUPT) {
        rc = query->timed_out ? -ETIME : -EINTR;
    } else if (rc == 0 && step != SQLITE_DONE) {
        query->error.used = 0;
        ms_query_explain(query->db, query->sql, step, &query->error);
        rc = -EINVAL;
    }
    return rc;
}
