/* SPDX-License-Identifier: Apache-2.0 */
/* Recording as users do it: `msmemscope PROGRAM` with its collector on the same processors, on a driver whose calls do
 * nothing.
 *
 * The target reports its own time. This program is a subreaper: the collector becomes its child when orphaned, so its
 * processor time and memory are known when it ends. With --export=none it only drains; the extra time with files to
 * write is the export. Figures are of recordings without loss, unless stated otherwise.
 *
 * The machine may be busy with other work for seconds at a time. So the smaller programs are run in rounds, each of
 * them once per round, without the tool, with the drain alone, and with files; the smallest times of each kind of run
 * are taken. The reported loss is that of the worst round. */
#include "bench.h"
#include "target_run.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { ROUNDS = 3, FRAMES = 17, EVENTS = 1600000, STACK_EVENTS = 320000, MANY_EVENTS = 10000000, KILLED_AFTER = 50000 };

struct recording {
    struct target_figures target;
    double collector_ns;   /* processor time */
    double collector_peak; /* KiB */
    double trace_b, rows;
};

static char directory[] = "/tmp/record_bench.XXXXXX";

/* ---- files ---- */

static struct recording *counted;

/* Rows that are events: memory still live at the end also gets a row for its end, which is not an event. */
static double rows_of_csv(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    double rows = 0;
    while (file != NULL && getline(&line, &room, file) >= 0) {
        rows +=
            (strstr(line, ",MALLOC,") != NULL || strstr(line, ",FREE,") != NULL) && strstr(line, "shadow:true") == NULL;
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return rows;
}

static double rows_of_db(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *count = NULL;
    double rows = 0;
    if (sqlite3_open(path, &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db,
                           "SELECT COUNT(*) FROM memscope_dump WHERE \"Event\" IN ('MALLOC', 'FREE') AND "
                           "\"Attr\" NOT LIKE '%\"shadow\":\"true\"%'",
                           -1, &count, NULL) == SQLITE_OK &&
        sqlite3_step(count) == SQLITE_ROW) {
        rows = sqlite3_column_double(count, 0);
    }
    sqlite3_finalize(count);
    sqlite3_close(db);
    return rows;
}

static int look_and_remove(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)ftw;
    if (counted != NULL && type == FTW_F) {
        if (strstr(path, "/trace/") != NULL) {
            counted->trace_b += (double)status->st_size;
        } else if (strstr(path, "/memscope_dump_") != NULL) {
            counted->rows += strstr(path, ".csv") != NULL ? rows_of_csv(path) : rows_of_db(path);
        }
    }
    return remove(path);
}

/* ---- runs ---- */

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* options NULL: without the tool. */
static struct recording record(const char *const options[], char *const program[])
{
    char *argv[32];
    unsigned n = 0;
    char output[64];
    struct recording result = {0};
    snprintf(output, sizeof(output), "--output=%s/out", directory);
    if (options != NULL) {
        argv[n++] = MSMEMSCOPE;
        argv[n++] = "--quiet";
        argv[n++] = output;
        argv[n++] = "--on-full=wait:1000"; /* a program that only allocates must wait for the drain */
        for (unsigned i = 0; options[i] != NULL; i++) {
            argv[n++] = (char *)(uintptr_t)options[i];
        }
        argv[n++] = "--";
    }
    for (unsigned i = 0; program[i] != NULL; i++) {
        argv[n++] = program[i];
    }
    argv[n] = NULL;
    pid_t launcher;
    int out;
    if (!target_start(argv, &launcher, &out)) {
        perror("record_bench: msmemscope");
        exit(1);
    }
    result.target = target_read(out);
    struct rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, NULL, 0, &usage)) > 0 || errno == EINTR) {
        if (pid > 0 && pid != launcher) {
            result.collector_ns += 1e9 * (seconds(usage.ru_utime) + seconds(usage.ru_stime));
            result.collector_peak = usage.ru_maxrss > result.collector_peak ? usage.ru_maxrss : result.collector_peak;
        }
    }
    char path[sizeof(directory) + 8];
    snprintf(path, sizeof(path), "%s/out", directory);
    counted = &result;
    nftw(path, look_and_remove, 16, FTW_DEPTH | FTW_PHYS);
    counted = NULL;
    return result;
}

struct program {
    char *kind;
    unsigned threads, events;
    bool python;
};

/* Total number of events, including the first lap. */
static double events_in_all(const struct program *program)
{
    unsigned turns = program->events / 2 / program->threads;
    return 2.0 * program->threads * (turns + turns / 16);
}

static struct recording record_program(const char *const options[], const struct program *program)
{
    char threads[16], turns[16], frames[16];
    snprintf(threads, sizeof(threads), "%u", program->threads);
    snprintf(turns, sizeof(turns), "%u", program->events / 2 / program->threads);
    snprintf(frames, sizeof(frames), "%u", (unsigned)FRAMES);
    char *compiled[] = {TARGET_PROGRAM, program->kind, threads, turns, frames, NULL};
    char *script[] = {"python3", TARGET_SCRIPT, TARGET_LIBRARY, program->kind, threads, turns, NULL};
    return record(options, program->python ? script : compiled);
}

/* ---- figures ---- */

static void figure(const char *what, const char *name, double value, const char *unit, const char *goal,
                   const char *original)
{
    char text[160];
    snprintf(text, sizeof(text), "%s, %s", name, what);
    bench_row(&(struct bench_row){.figure = text, .value = value, .unit = unit, .goal = goal, .original = original});
}

static void report_loss(const char *name, double lost)
{
    if (lost > 0) {
        figure("LOST", name, lost, "events", "<= 0 events", NULL);
    }
}

struct shape {
    const char *name, *stack;
    bool python;
    const char *cpu_goal, *drain_goal, *bytes_goal, *original_1, *original_8;
};

/* A program in one shape, and the results of all rounds. */
struct subject {
    const struct shape *shape;
    struct program program;
    struct recording plain, drained, exported;
    double lost; /* of the round that lost most */
};

/* The smallest times, but the most bytes. */
static void take(struct recording *best, const struct recording *one)
{
    bench_least(&best->target.cpu, one->target.cpu);
    bench_least(&best->target.wall, one->target.wall);
    bench_least(&best->collector_ns, one->collector_ns);
    best->trace_b = one->trace_b > best->trace_b ? one->trace_b : best->trace_b;
}

static void measure(struct subject *s)
{
    const char *trace_only[] = {"--export=none", s->shape->stack, NULL};
    const char *csv[] = {"--data-format=csv", s->shape->stack, NULL};
    struct recording plain = record_program(NULL, &s->program), drained = record_program(trace_only, &s->program),
                     exported = record_program(csv, &s->program);
    take(&s->plain, &plain);
    take(&s->drained, &drained);
    take(&s->exported, &exported);
    double lost = events_in_all(&s->program) - exported.rows;
    s->lost = lost > s->lost ? lost : s->lost;
}

static void print(const struct subject *s)
{
    const struct shape *shape = s->shape;
    unsigned threads = s->program.threads;
    double events = events_in_all(&s->program);
    char name[96];
    snprintf(name, sizeof(name), "%s event, %s, %u thread%s", s->program.kind, shape->name, threads,
             threads > 1 ? "s" : "");
    figure("target CPU", name, (s->exported.target.cpu - s->plain.target.cpu) / 2, "ns", shape->cpu_goal, NULL);
    figure("added wall", name, (s->exported.target.wall - s->plain.target.wall) / 2, "ns", NULL,
           threads == 1   ? shape->original_1
           : threads == 8 ? shape->original_8
                          : NULL);
    figure("drain CPU", name, s->drained.collector_ns / events, "ns", shape->drain_goal, NULL);
    figure("export CPU (CSV)", name, (s->exported.collector_ns - s->drained.collector_ns) / events, "ns", NULL, NULL);
    figure("trace", name, s->drained.trace_b / events, "B", shape->bytes_goal, NULL);
    report_loss(name, s->lost);
}

/* Every shape, for both kinds of events and each number of threads. */
static void events(const struct shape *shapes, unsigned shape_count)
{
    static const unsigned threads[] = {1, 2, 8};
    static char *const kinds[] = {"hal", "pool"};
    struct subject subjects[32];
    unsigned count = 0;
    for (unsigned i = 0; i < shape_count; i++) {
        for (unsigned k = 0; k < 3 * 2; k++) {
            unsigned n = shapes[i].stack != NULL ? STACK_EVENTS : EVENTS;
            subjects[count++] = (struct subject){
                .shape = &shapes[i],
                .program = {.kind = kinds[k % 2], .threads = threads[k / 2], .events = n, .python = shapes[i].python}};
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < count; i++) {
            measure(&subjects[i]);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        print(&subjects[i]);
    }
}

static void many_events(void)
{
    const struct program program = {"hal", 8, MANY_EVENTS, false};
    static const char *const csv[] = {"--data-format=csv", NULL}, *const db[] = {"--data-format=db", NULL};
    struct recording plain = record_program(NULL, &program), in_csv = record_program(csv, &program),
                     in_db = record_program(db, &program);
    static const char name[] = "10 M hal events, 8 threads";
    double events = events_in_all(&program);
    figure("added wall, CSV", name, (in_csv.target.wall - plain.target.wall) / 2, "ns", "<= 100 ns", "25-28 us");
    figure("added wall, database", name, (in_db.target.wall - plain.target.wall) / 2, "ns", "<= 100 ns", "250 us");
    double csv_cpu = (in_csv.target.cpu - plain.target.cpu) / 2, db_cpu = (in_db.target.cpu - plain.target.cpu) / 2;
    figure("target CPU, CSV", name, csv_cpu, "ns", "<= 60 ns", NULL);
    bench_row(&(struct bench_row){.figure = "10 M hal events, 8 threads, target CPU, database",
                                  .value = db_cpu,
                                  .unit = "ns",
                                  .against = "CSV",
                                  .ratio = db_cpu / csv_cpu,
                                  .goal = "<= 1.1",
                                  .original = "250 us"});
    report_loss(name, events - in_csv.rows);
    report_loss(name, events - in_db.rows);
    static const char *const usual[] = {"--on-full=wait:20", NULL};
    struct recording in_usual = record_program(usual, &program);
    figure("added wall, usual --on-full=wait:20", name, (in_usual.target.wall - plain.target.wall) / 2, "ns", NULL,
           NULL);
    figure("not recorded (counted), usual --on-full=wait:20", name, events - in_usual.rows, "events", NULL, NULL);
    figure("CSV export rate", name, in_csv.rows / in_csv.collector_ns * 1e6, "k rows per s of CPU", NULL, NULL);
    figure("database export rate", name, in_db.rows / in_db.collector_ns * 1e6, "k rows per s of CPU", NULL, NULL);
    figure("peak memory of the target", name, (in_csv.target.peak - plain.target.peak) / 1024, "MiB more", NULL, NULL);
    figure("peak memory of the collector, CSV", name, in_csv.collector_peak / 1024, "MiB", NULL, NULL);
    figure("peak memory of the collector, database", name, in_db.collector_peak / 1024, "MiB", NULL, NULL);
}

static void killed(void)
{
    static const char *const csv[] = {"--data-format=csv", NULL};
    char count[16];
    snprintf(count, sizeof(count), "%d", KILLED_AFTER);
    char *program[] = {TARGET_PROGRAM, "killed", count, NULL};
    struct recording result = record(csv, program);
    figure("lost rows", "SIGKILL right after the 50,000th allocation", KILLED_AFTER - result.rows, "rows", "<= 0 rows",
           "all 50,000");
}

int main(void)
{
    static const struct shape shapes[] = {
        {"no stack", NULL, false, "<= 60 ns", "<= 80 ns", "<= 10 B", "2.8 us", "25-28 us"},
        {"C stack of 20 frames", "--call-stack=c:20", false, "<= 310 ns", NULL, NULL, "43 us", NULL},
        {"Python stack of 28 frames", "--call-stack=python", true, "<= 460 ns", NULL, NULL, NULL, NULL}};
    unsetenv("LD_LIBRARY_PATH"); /* the real libraries have the same names as the null driver's */
    if (mkdtemp(directory) == NULL || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        perror("record_bench");
        return 1;
    }
    events(shapes, sizeof(shapes) / sizeof(shapes[0]));
    many_events();
    killed();
    rmdir(directory);
    return 0;
}
