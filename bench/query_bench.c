/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of exports and queries: events per second for each single-file format, and statements on dumps, at 1 M and
 * 10 M events (the time must grow tenfold, not more). Also compares where rows are kept for SQLite: in arrays behind
 * virtual tables, or in a database with indexes (docs/design/15-query.md). */
#include "bench_child.h"
#include "dump.h"

#include "base/buffer.h"
#include "memscope/export/exporter.h"
#include "memscope/query/gather.h"
#include "memscope/query/query.h"
#include "memscope/query/vtab.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW  4096u /* live blocks */
#define MILLION 1000000u

static char path[64];

/* ---- exports ---- */

struct export
{
    const struct ms_exporter *format; /* NULL: the model alone */
    uint32_t events;
};

/* A pool that allocates and frees in nearly stack order, in operators of a training step. */
static struct ms_event make_event(uint32_t i)
{
    static const char *const names[] = {"torch._ops.aten.mm.default", "torch._ops.aten.add.Tensor"};
    uint32_t at = i / 4, slot = at % WINDOW;
    struct ms_event e = {.index = i,
                         .time_ns = 1700000000000000000ull + i * 700ull,
                         .pid = 4711,
                         .tid = 4711,
                         .stream = 4711,
                         .device = 0,
                         .pool = MS_POOL_PTA,
                         .text.s = "",
                         .text2.s = ""};
    switch (i % 4) {
    case 0:
    case 3:
        e.kind = i % 4 == 0 ? MS_R_OP_START : MS_R_OP_END;
        e.text = (struct ms_text){.s = names[at % 2], .length_b = (uint32_t)strlen(names[at % 2])};
        break;
    case 1:
        e.kind = at < WINDOW ? MS_R_POOL_TOTAL : MS_R_POOL_FREE;
        e.addr = 0x124000000000ull + (uint64_t)slot * 0x400000;
        e.size_b = 1ull << 30;
        e.device = at < WINDOW ? 0 : MS_DEV_UNKNOWN;
        break;
    default:
        e.kind = MS_R_POOL_ALLOC;
        e.addr = 0x124000000000ull + (uint64_t)slot * 0x400000;
        e.size_b = 512u << slot % 12;
        break;
    }
    return e;
}

static void export_events(const void *argument)
{
    const struct export *export = argument;
    struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
    struct ms_model *model;
    struct ms_export *running = NULL;
    if (ms_model_new(&options, &model) != 0) {
        exit(1);
    }
    if (export->format != NULL) {
        struct ms_export_target target = {
            .fd = open("/dev/null", O_WRONLY | O_CLOEXEC), .pid = 4711, .process = "bench", .model = model};
        if (ms_export_open(export->format, &target, &running) != 0 ||
            ms_model_add(model, ms_export_consumer(running)) != 0) {
            exit(1);
        }
    }
    for (uint32_t i = 0; i < export->events; i++) {
        struct ms_event e = make_event(i);
        if (ms_model_feed(model, &e) != 0) {
            exit(1);
        }
    }
    if (ms_model_end(model) != 0 || (running != NULL && ms_export_close(running) != 0)) {
        exit(1);
    }
    ms_model_free(model);
}

static void measure_exports(void)
{
    struct export alone = {NULL, MILLION};
    double model_s = bench_in_child(export_events, &alone).cpu_s;
    for (const struct ms_exporter *format = ms_exporters; format->name != NULL; format++) {
        if (format->stem == NULL) {
            continue; /* measured by model_bench */
        }
        char figure[96];
        struct export one = {format, MILLION}, ten = {format, 10 * MILLION};
        double one_s = bench_in_child(export_events, &one).cpu_s;
        snprintf(figure, sizeof(figure), "export to %s, 1 M events", format->name);
        bench_figure(figure, one_s * 1e3, "ns/event", "model alone", one_s / model_s, NULL);
        struct bench_cost cost = bench_in_child(export_events, &ten);
        double ten_s = cost.cpu_s;
        snprintf(figure, sizeof(figure), "export to %s, 10 M events", format->name);
        bench_figure(figure, ten_s * 1e2, "ns/event", "1 M events", ten_s / one_s, "<= 12");
        bench_figure("... memory", cost.memory_mib, "MiB", NULL, 0, NULL);
    }
}

/* ---- queries ---- */

static void make_dump(uint32_t rows)
{
    static const char header[] = BENCH_DUMP_HEADER;
    struct ms_buffer out = {0};
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ms_buffer_add(&out, header, sizeof(header) - 1);
    for (uint32_t i = 0; i < rows; i++) {
        char row[512];
        uint32_t at = i / 4, slot = at % WINDOW;
        unsigned long long time_ns = 1700000000000000000ull + i * 700ull, addr = 0x124000000000ull + slot * 0x400000ull;
        int length;
        if (i % 4 == 0 || i % 4 == 3) {
            length = snprintf(row, sizeof(row), "%u,OP_LAUNCH,%s,torch._ops.aten.op%u.default,%llu,1,1,0,N/A,,,\n", i,
                              i % 4 == 0 ? "ATEN_START" : "ATEN_END", at % 50, time_ns);
        } else if (i % 4 == 1 && at < WINDOW) {
            length = snprintf(row, sizeof(row), "%u,MSTX,Mark,\"mark\",%llu,1,1,0,N/A,,,\n", i, time_ns);
        } else {
            length = snprintf(row, sizeof(row),
                              "%u,%s,PTA,N/A,%llu,1,1,0,0x%016llx,\"{allocation_id:%u,addr:0x%016llx,size:%u,"
                              "total:1073741824,used:512}\",,\n",
                              i, i % 4 == 2 ? "MALLOC" : "FREE", time_ns, addr, i % 4 == 2 ? at + 1 : at + 1 - WINDOW,
                              addr, 512u << slot % 12);
        }
        ms_buffer_add(&out, row, (size_t)length);
        if (out.used > MILLION && ms_buffer_write(&out, fd) != 0) {
            exit(1);
        }
    }
    if (fd < 0 || ms_buffer_write(&out, fd) != 0 || close(fd) != 0) {
        exit(1);
    }
    ms_buffer_free(&out);
}

static const char by_operator[] =
    "SELECT operator, count(*), sum(size), sum(size * at_peak) FROM blocks GROUP BY operator ORDER BY 3 DESC";
static const char by_event[] = "SELECT event, type, count(*), sum(size) FROM events GROUP BY event, type";

static void ask(const void *argument)
{
    struct ms_query *query;
    struct ms_source *source;
    FILE *file = fopen("/dev/null", "we");
    if (file == NULL || ms_query_new(&query) != 0 || ms_query_prepare(query, argument) != 0 ||
        ms_source_open(path, NULL, &source) != 0 || ms_query_read(query, source) != 0 ||
        ms_query_run(query, MS_QUERY_TABLE, file) != 0) {
        exit(1);
    }
    ms_source_close(source);
    ms_query_free(query);
    fclose(file);
}

static int ignore_row(void *self, const struct ms_row *row)
{
    (void)self;
    (void)row;
    return 0;
}

static int add_ignoring(void *argument, uint32_t pid, struct ms_model *model)
{
    (void)argument;
    (void)pid;
    struct ms_consumer consumer = {.on_row = ignore_row};
    return ms_model_add(model, &consumer);
}

static void only_read(const void *argument)
{
    (void)argument;
    struct ms_source *source;
    struct ms_source_listener listener = {.begin = add_ignoring};
    struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
    if (ms_source_open(path, NULL, &source) != 0 || ms_source_feed(source, 0, &options, &listener) != 0) {
        exit(1);
    }
    ms_source_close(source);
}

/* ---- where rows are kept ---- */

static double run_sql(sqlite3 *db, const char *sql)
{
    uint64_t start = ms_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    char *error = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) {
        fprintf(stderr, "query_bench: %s: %s\n", sql, error);
        exit(1);
    }
    return (double)(ms_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e9;
}

static void compare_places(void)
{
    static const char copy[] = "CREATE TABLE b AS SELECT * FROM blocks";
    static const char index[] = "CREATE INDEX i ON b (malloc_ns, free_ns); CREATE INDEX j ON b (operator, size)";
    static const char scan[] = "SELECT operator, count(*), sum(size) FROM %s GROUP BY operator";
    static const char at_time[] = "SELECT owner, sum(size) FROM %s WHERE malloc_ns <= 1700000000350000000 AND "
                                  "(free_ns IS NULL OR free_ns > 1700000000350000000) GROUP BY owner";
    static struct ms_store store = {.wanted = 1u << MS_TABLE_BLOCKS};
    static const volatile sig_atomic_t stop;
    sqlite3 *db;
    struct ms_source *source;
    uint64_t start = ms_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (ms_source_open(path, NULL, &source) != 0 || ms_gather(&store, source, &stop) != 0 ||
        sqlite3_open("", &db) != SQLITE_OK || ms_vtab_register(db, &store) != SQLITE_OK) {
        exit(1);
    }
    double gather_s = (double)(ms_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e9;
    double blocks = (double)ms_store_count(&store, MS_TABLE_BLOCKS);
    run_sql(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
    double copy_s = run_sql(db, copy), index_s = run_sql(db, index);
    bench_figure("query: reading 1 M rows into arrays", gather_s, "s", NULL, 0, NULL);
    bench_figure("query: the blocks from there into a database", copy_s / blocks * 1e9, "ns/block",
                 "reading, per block", copy_s / gather_s, NULL);
    bench_figure("query: two indexes on them", index_s / blocks * 1e9, "ns/block", "reading, per block",
                 index_s / gather_s, NULL);
    for (size_t i = 0; i < 2; i++) {
        char array[512], table[512];
        snprintf(array, sizeof(array), i == 0 ? scan : at_time, "blocks");
        snprintf(table, sizeof(table), i == 0 ? scan : at_time, "b");
        double array_s = run_sql(db, array), table_s = run_sql(db, table);
        bench_figure(i == 0 ? "query: blocks by operator, arrays" : "query: blocks live at a time, arrays",
                     array_s * 1e3, "ms", "database with indexes", array_s / table_s, NULL);
    }
    ms_source_close(source);
    sqlite3_close(db);
    ms_store_free(&store);
}

static void measure_questions(void)
{
    double first[3] = {0};
    const struct {
        const char *what;
        void (*fn)(const void *argument);
        const void *argument;
    } questions[] = {{"replay alone", only_read, NULL},
                     {"question about blocks", ask, by_operator},
                     {"question about events", ask, by_event}};
    for (uint32_t millions = 1; millions <= 10; millions *= 10) {
        double replay_s = 0;
        make_dump(millions * MILLION);
        if (millions == 1) {
            compare_places();
        }
        for (size_t i = 0; i < 3; i++) {
            char figure[96];
            struct bench_cost cost = bench_in_child(questions[i].fn, questions[i].argument);
            double s = cost.cpu_s;
            replay_s = i == 0 ? s : replay_s;
            first[i] = millions == 1 ? s : first[i];
            snprintf(figure, sizeof(figure), "query: %s, CSV dump of %u M rows", questions[i].what, millions);
            bench_figure(figure, s, "s", i == 0 ? NULL : "replay alone", s / replay_s, NULL);
            bench_figure("... memory", cost.memory_mib, "MiB", NULL, 0, NULL);
            if (millions == 10) {
                bench_figure("... growth of time", s / first[i], "x", "1 M rows", s / first[i], "<= 12");
            }
        }
    }
    unlink(path);
}

int main(void)
{
    snprintf(path, sizeof(path), "/tmp/query_bench.%d.csv", (int)getpid());
    measure_exports();
    measure_questions();
    return 0;
}
