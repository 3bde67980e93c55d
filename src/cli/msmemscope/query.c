/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope query: SQL over recordings and dumps. Exit status 0; 1 if the data is incomplete or on timeout; 2 for
 * wrong options and statements; 130 after Ctrl-C. */
#include "cli/msmemscope/inputs.h"
#include "cli/msmemscope/recordings.h"

#include "memscope/query/query.h"
#include "memscope/query/schema.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_PARTIAL = 1, EXIT_WRONG = 2, EXIT_STOPPED = 130 };

#define SQL_MAX_B (1u << 20)

struct query_task {
    const char **paths;
    size_t path_count;
    const char *sql, *file; /* the statement, or the file that contains it ("-": stdin) */
    enum ms_query_output output;
    double limit_s;
};

static struct ms_query *running;

static void stop(int number)
{
    (void)number;
    ms_query_stop(running);
}

static int usage(void)
{
    puts(
        "usage: msmemscope query DIR|FILE... \"SELECT ...\" [options]\n"
        "       msmemscope query DIR|FILE... -f STATEMENT.sql [options]      (-f -, or a pipe: from stdin)\n"
        "       msmemscope query --schema\n\n"
        "Queries recordings and dumps (.csv, .db; from npuscope or msMemScope) in SQL. Several, such as those of all ranks,\n"
        "are queried together; the column `process` distinguishes them. Nothing is changed.\n\n"
        "  --format=table|csv|json   how the result is printed (table)\n"
        "  -f, --file=FILE           file that contains the statement\n"
        "  --timeout=SECONDS         how long the statement may run, without reading (no limit)\n"
        "  --schema                  tables, views and their columns\n\n"
        "Exit status: 0; 1 if the data could not be read completely, or on timeout; 2 for wrong options or statements.\n\n"
        "Examples:\n"
        "  # what was live when the pool was fullest, by call site\n"
        "  msmemscope query run \"SELECT site, human(sum(size)) FROM peak_blocks WHERE pool = 'PTA' GROUP BY site\n"
        "                         ORDER BY sum(size) DESC LIMIT 10\"\n"
        "  # what each step left behind\n"
        "  msmemscope query run \"SELECT * FROM growth WHERE growth > 0\"\n"
        "  # peaks of all ranks\n"
        "  msmemscope query rank*/ \"SELECT process, device, pool, human(peak) FROM devices ORDER BY peak DESC\"");
    return 0;
}

static int wrong(const char *what, const char *which)
{
    fprintf(stderr, "msmemscope query: %s%s; see msmemscope query --help\n", what, which);
    return EXIT_WRONG;
}

/* ---- the statement ---- */

static char *read_all(FILE *file)
{
    char *text = malloc(SQL_MAX_B + 1);
    size_t used = text != NULL ? fread(text, 1, SQL_MAX_B + 1, file) : 0;
    if (text == NULL || used > SQL_MAX_B || ferror(file)) {
        free(text);
        return NULL;
    }
    text[used] = '\0';
    return text;
}

static char *statement(const struct query_task *task)
{
    if (task->sql != NULL) {
        return strdup(task->sql);
    }
    bool from_stdin = strcmp(task->file, "-") == 0;
    FILE *file = from_stdin ? stdin : fopen(task->file, "re");
    char *text = file != NULL ? read_all(file) : NULL;
    if (text == NULL) {
        fprintf(stderr, "msmemscope query: %s: %s\n", from_stdin ? "stdin" : task->file,
                file == NULL ? strerror(errno) : "unreadable, or larger than 1 MiB");
    }
    if (file != NULL && !from_stdin) {
        fclose(file);
    }
    return text;
}

/* ---- options ---- */

/* The value of --name=VALUE, or of --name VALUE; NULL: it is another option. */
static const char *value_of(const char *name, int argc, char **argv, int *at)
{
    size_t length = strlen(name);
    if (strncmp(argv[*at], name, length) == 0 && argv[*at][length] == '=') {
        return argv[*at] + length + 1;
    }
    return strcmp(argv[*at], name) == 0 && *at + 1 < argc ? argv[++*at] : NULL;
}

static int parse_option(struct query_task *task, int argc, char **argv, int *at)
{
    const char *value;
    char *end;
    if ((value = value_of("--format", argc, argv, at)) != NULL) {
        return ms_query_output_find(value, &task->output) ? 0
                                                          : wrong("--format must be table, csv or json, not ", value);
    }
    if ((value = value_of("--file", argc, argv, at)) != NULL || (value = value_of("-f", argc, argv, at)) != NULL) {
        task->file = value;
        return 0;
    }
    if ((value = value_of("--timeout", argc, argv, at)) != NULL) {
        task->limit_s = strtod(value, &end);
        return end != value && *end == '\0' && task->limit_s > 0 && task->limit_s < 1e9
                   ? 0
                   : wrong("--timeout must be a number of seconds, not ", value);
    }
    return wrong("unexpected ", argv[*at]);
}

static int parse(struct query_task *task, int argc, char **argv)
{
    struct stat st;
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            task->paths[task->path_count++] = argv[i];
            continue;
        }
        int rc = parse_option(task, argc, argv, &i);
        if (rc != 0) {
            return rc;
        }
    }
    if (task->file == NULL && task->path_count > 0 && stat(task->paths[task->path_count - 1], &st) != 0) {
        task->sql = task->paths[--task->path_count];
    }
    if (task->path_count == 0) {
        return wrong("no directory or dump given", "");
    }
    if (task->sql == NULL && task->file == NULL) {
        if (isatty(STDIN_FILENO)) {
            return wrong("no statement given; for example \"SELECT * FROM devices\"", "");
        }
        task->file = "-";
    }
    return 0;
}

/* ---- the command ---- */

static int read_inputs(struct ms_query *query, const struct query_task *task, int *status)
{
    int rc = 0;
    size_t good = 0;
    for (size_t i = 0; i < task->path_count && rc == 0; i++) {
        struct ms_source *source;
        struct ms_source_stats stats;
        if (input_open(task->paths[i], false, &source) != 0) {
            *status = EXIT_PARTIAL; /* the reason was reported */
            continue;
        }
        rc = ms_query_read(query, source);
        ms_source_stats(source, &stats);
        input_close(source, task->paths[i]);
        *status = stats.partial ? EXIT_PARTIAL : *status;
        good++;
        if (rc == -EPROTO) { /* the reason was reported; others may be readable */
            *status = EXIT_PARTIAL;
            rc = 0;
        } else if (rc != 0 && rc != -EINTR) {
            fprintf(stderr, "msmemscope: %s: %s\n", task->paths[i], strerror(-rc));
            *status = EXIT_PARTIAL;
        }
    }
    return rc == 0 && good == 0 ? -ENOENT : rc;
}

static int answer(struct ms_query *query, const struct query_task *task)
{
    int status = 0;
    int rc = read_inputs(query, task, &status);
    rc = rc != 0 ? rc : ms_query_run(query, task->output, stdout);
    switch (rc) {
    case 0:
        return status;
    case -ENOENT:
        return EXIT_PARTIAL;
    case -EINTR:
        fputs("msmemscope query: stopped\n", stderr);
        return EXIT_STOPPED;
    case -ETIME:
        fprintf(stderr, "msmemscope query: timed out after %g s (--timeout); the result is incomplete\n",
                task->limit_s);
        return EXIT_PARTIAL;
    case -EINVAL:
        fprintf(stderr, "msmemscope query: %s\n", ms_query_error(query));
        return EXIT_WRONG;
    default:
        fprintf(stderr, "msmemscope query: %s\n", strerror(-rc));
        return EXIT_PARTIAL;
    }
}

int cmd_query(int argc, char **argv)
{
    struct query_task task = {0};
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return usage();
        }
        if (strcmp(argv[i], "--schema") == 0) {
            ms_query_schema_print(stdout);
            return 0;
        }
    }
    task.paths = calloc((size_t)argc, sizeof(*task.paths));
    int status = task.paths != NULL ? parse(&task, argc, argv) : EXIT_PARTIAL;
    char *sql = status == 0 ? statement(&task) : NULL;
    if (sql == NULL) {
        free(task.paths);
        return status != 0 ? status : EXIT_WRONG;
    }
    if (ms_query_new(&running) != 0) {
        fputs("msmemscope query: out of memory\n", stderr);
        status = EXIT_PARTIAL;
    } else {
        struct sigaction action = {.sa_handler = stop,
                                   .sa_flags = (int)SA_RESETHAND}; /* the second signal terminates */
        sigaction(SIGINT, &action, NULL);
        ms_query_limit(running, task.limit_s);
        if (ms_query_prepare(running, sql) != 0) {
            fprintf(stderr, "msmemscope query: %s\n", ms_query_error(running));
            status = EXIT_WRONG;
        } else {
            status = answer(running, &task);
        }
        struct sigaction ignore = {.sa_handler = SIG_IGN};
        sigaction(SIGINT, &ignore, NULL);
        ms_query_free(running);
    }
    free(sql);
    free(task.paths);
    return status;
}
