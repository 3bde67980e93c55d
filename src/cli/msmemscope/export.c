/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope export and recover. `export` writes files from traces and dumps. `recover` exports every recording in
 * DIR to its own directory, in the format of its settings; partial files of a killed collector are replaced once the
 * new ones are complete. */
#include "cli/msmemscope/export_dumps.h"
#include "cli/msmemscope/inputs.h"
#include "cli/msmemscope/recordings.h"

#include "memscope/options/options.h"
#include "memscope/pipeline/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct export_task {
    const struct ms_exporter *format; /* NULL: as recorded; for dumps, the other one */
    const char *out;                  /* NULL: next to the input; "-": stdout */
    bool recover;
    int failures;
};

static void print_text(void *argument, int stream, bool info, const char *text, size_t text_b)
{
    progress_end();
    fwrite(text, 1, text_b, stream == 2 ? stderr : stdout);
}

static void log_line(void *argument, int level, const char *line)
{
    const struct recording *recording = argument;
    if (level >= MS_LOG_ERROR) {
        progress_end();
        fprintf(stderr, "msmemscope: %s: %s\n", recording->path, line);
    }
}

static int fail(struct export_task *task, const struct recording *recording, int rc)
{
    progress_end();
    fprintf(stderr, "msmemscope: %s: %s\n", recording->path, strerror(-rc));
    task->failures++;
    return 0;
}

/* A directory per process, so that files of different processes do not collide. */
static int open_out(const struct export_task *task, const struct recording *recording, char path[MS_PATH_MAX_B + 1])
{
    const char *name = strrchr(recording->path, '/');
    if (task->out == NULL) {
        snprintf(path, MS_PATH_MAX_B + 1, "%s", recording->path);
        return fcntl(recording->dirfd, F_DUPFD_CLOEXEC, 0);
    }
    snprintf(path, MS_PATH_MAX_B + 1, "%s/%s", task->out,
             name != NULL && name[1] != '\0' ? name + 1 : recording->process->name);
    mkdir(task->out, 0750);
    mkdir(path, 0750);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Can the whole trace be read? Files from a damaged trace would contain less than existing ones may. */
static bool is_sound(const struct recording *recording)
{
    struct ms_trace *trace;
    struct ms_event event;
    struct ms_trace_stats stats;
    if (ms_trace_open(recording->tracefd, recording->process->name, NULL, &trace) != 0) {
        return false;
    }
    while (ms_trace_next(trace, &event) == MS_TRACE_EVENT) {
    }
    ms_trace_stats(trace, &stats);
    ms_trace_close(trace);
    return stats.damages == stats.cuts;
}

static int export_one(void *argument, const struct recording *recording)
{
    struct export_task *task = argument;
    static struct ms_settings settings;
    struct ms_why why;
    ms_settings_init(&settings);
    if (ms_options_apply_text(&settings, recording->process->settings, &why) != 0) {
        progress_end();
        fprintf(stderr, "msmemscope: %s: invalid settings in the recording, using defaults: %s\n", recording->path,
                why.error);
    }
    char path[MS_PATH_MAX_B + 1];
    int out = open_out(task, recording, path);
    if (out < 0) {
        return fail(task, recording, -errno);
    }
    struct ms_pipeline_options options = {
        .tracefd = recording->tracefd,
        .name = recording->process->name,
        .outfd = out,
        .out = path,
        .format = task->format != NULL ? task->format : ms_pipeline_format(&settings),
        .settings = &settings,
        .replace = task->recover && is_sound(recording),
        .reports = task->recover,
        .print = print_text,
        .log = log_line,
        .argument = (void *)(uintptr_t)recording,
    };
    struct ms_pipeline *pipeline;
    int rc = ms_pipeline_open(&options, &pipeline);
    if (rc == 0) {
        while ((rc = ms_pipeline_run(pipeline, 65536)) == MS_PIPELINE_MORE) {
            struct ms_pipeline_stats stats;
            ms_pipeline_stats(pipeline, &stats);
            progress_show("exporting", stats.bytes_read, stats.bytes_total);
        }
        progress_end();
        struct ms_pipeline_stats stats;
        ms_pipeline_stats(pipeline, &stats);
        task->failures += stats.damages > stats.cuts; /* reported; what could be read is written */
        ms_pipeline_close(pipeline);
    }
    close(out);
    return rc < 0 ? fail(task, recording, rc) : 0;
}

/* ---- from any source ---- */

/* The directory of the recording that a dump belongs to, or else the one that contains it. */
static void home_of_dump(const char *path, char out[MS_PATH_MAX_B + 1])
{
    struct stat st;
    snprintf(out, MS_PATH_MAX_B + 1, "%s", path);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return;
    }
    char *slash = strrchr(out, '/');
    snprintf(slash != NULL ? slash : out, 2, "%s", slash != NULL ? "" : ".");
    char *dump = strrchr(out, '/');
    if (dump != NULL && strcmp(dump, "/dump") == 0) { /* .../device_0/dump */
        *dump = '\0';
        char *device = strrchr(out, '/');
        const char *name = device != NULL ? device + 1 : out;
        if (strncmp(name, "device_", 7) == 0) {
            snprintf(device != NULL ? device : out, 2, "%s", device != NULL ? "" : ".");
        } else {
            *dump = '/';
        }
    }
}

static int export_source(struct export_task *task, struct ms_source *source, size_t at)
{
    static const char *const kinds[] = {[MS_SOURCE_TRACE] = "", [MS_SOURCE_CSV] = "csv", [MS_SOURCE_DB] = "db"};
    const struct ms_source_process *process = ms_source_process(source, at);
    const char *name = task->format != NULL ? task->format->name : process->kind == MS_SOURCE_CSV ? "db" : "csv";
    char path[MS_PATH_MAX_B + 1];
    home_of_dump(process->path, path);
    if (task->out == NULL && strcmp(name, kinds[process->kind]) == 0) {
        fprintf(stderr, "msmemscope: %s is already in %s format; use -o DIR to write it again there\n", process->path,
                name);
        return 1;
    }
    bool to_stdout = task->out != NULL && strcmp(task->out, "-") == 0;
    if (task->out != NULL && !to_stdout) {
        mkdir(task->out, 0750);
        snprintf(path, sizeof(path), "%s/%s", task->out, process->name);
        char *dot = strrchr(path, '.');
        if (dot != NULL && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".db") == 0)) {
            *dot = '\0';
        }
    }
    int rc = export_process(source, at, ms_exporter_find(name), path, to_stdout ? STDOUT_FILENO : 0);
    progress_end();
    if (rc != 0 && rc != -ENODATA && rc != -EPROTO) {
        fprintf(stderr, "msmemscope: %s: %s\n", to_stdout ? "stdout" : path, strerror(-rc));
    }
    return rc != 0;
}

/* Exports everything below the path. Dumps of traces are written by the collector's pipeline; all other formats take
 * the same path for traces and dumps. */
static int export_all(struct export_task *task, const char *path)
{
    struct ms_source *source;
    int rc = input_open(path, false, &source);
    if (rc != 0) {
        return 1;
    }
    if (task->out != NULL && strcmp(task->out, "-") == 0 && ms_source_count(source) > 1 && !task->format->joins) {
        fprintf(stderr,
                "msmemscope: %s: %zu processes cannot be written to one %s file; name one of them, "
                "or use -o DIR:\n",
                path, ms_source_count(source), task->format->name);
        for (size_t i = 0; i < ms_source_count(source); i++) {
            fprintf(stderr, "  %s\n", ms_source_process(source, i)->path);
        }
        input_close(source, path);
        return 1;
    }
    const char *last = "";
    for (size_t i = 0; i < ms_source_count(source); i++) {
        const struct ms_source_process *process = ms_source_process(source, i);
        if (process->kind != MS_SOURCE_TRACE || (task->format != NULL && task->format->stem != NULL)) {
            task->failures += export_source(task, source, i);
        } else if (strcmp(process->path, last) != 0) { /* a directory may contain several */
            task->failures += recordings_each(process->path, export_one, task) < 0;
            last = process->path;
        }
    }
    struct ms_source_stats stats;
    ms_source_stats(source, &stats);
    input_close(source, path);
    return task->failures > 0 || stats.partial;
}

static void list_formats(FILE *file)
{
    for (const struct ms_exporter *format = ms_exporters; format->name != NULL; format++) {
        fprintf(file, "  %-10s %s\n", format->name, format->help);
    }
}

static int usage(const char *command)
{
    if (strcmp(command, "recover") == 0) {
        puts("usage: msmemscope recover DIR [--format=csv|db]\n\n"
             "Completes the dump files of recordings whose collector was killed, and prints their reports.");
        return 0;
    }
    puts("usage: msmemscope export DIR|FILE [--format=FORMAT] [-o OUT]\n\n"
         "Converts the recordings in DIR, or from dumps (.csv, .db; from npuscope or msMemScope), to the\n"
         "directory of each process, or below OUT. With -o - the file goes to stdout (not csv and db, which are\n"
         "several files).\n\n"
         "Formats:");
    list_formats(stdout);
    puts("\nExit status: 0; 1 if the result is incomplete (details are on stderr); 2 for wrong options.\n\n"
         "Examples:\n"
         "  msmemscope export run --format=memory_viz -o out          # drop the .pickle on pytorch.org/memory_viz\n"
         "  msmemscope export run --format=pprof -o - | go tool pprof -top /dev/stdin\n"
         "  msmemscope export run --format=json -o - | jq -c 'select(.kind == \"block\" and .end == \"live\")'");
    return 0;
}

int cmd_export(int argc, char **argv)
{
    struct export_task task = {.recover = strcmp(argv[1], "recover") == 0};
    const char *dir = NULL, *format = NULL;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return usage(argv[1]);
        }
        if (strncmp(argv[i], "--format=", 9) == 0) {
            format = argv[i] + 9;
        } else if (strcmp(argv[i], "--format") == 0 && i + 1 < argc) {
            format = argv[++i];
        } else if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
            task.out = argv[++i];
        } else if (strncmp(argv[i], "--output=", 9) == 0) {
            task.out = argv[i] + 9;
        } else if (strcmp(argv[i], "--output") == 0 && i + 1 < argc) {
            task.out = argv[++i];
        } else if (argv[i][0] != '-' && dir == NULL) {
            dir = argv[i];
        } else {
            fprintf(stderr, "msmemscope %s: unexpected '%s'; see msmemscope %s --help\n", argv[1], argv[i], argv[1]);
            return 2;
        }
    }
    task.format = format != NULL ? ms_exporter_find(format) : NULL;
    if (dir == NULL) {
        fprintf(stderr, "msmemscope %s: no directory given; see msmemscope %s --help\n", argv[1], argv[1]);
        return 2;
    }
    if (format != NULL && (task.format == NULL || (task.recover && task.format->stem != NULL))) {
        fprintf(stderr, "msmemscope %s: unknown format '%s'; use%s\n", argv[1], format,
                task.recover ? " csv or db" : ":");
        if (!task.recover) {
            list_formats(stderr);
        }
        return 2;
    }
    if (task.out != NULL && strcmp(task.out, "-") == 0 && (task.format == NULL || task.format->stem == NULL)) {
        fprintf(stderr, "msmemscope %s: csv and db are several files and cannot go to stdout; use -o DIR\n", argv[1]);
        return 2;
    }
    if (task.recover) {
        return recordings_each(dir, export_one, &task) < 0 || task.failures > 0;
    }
    return export_all(&task, dir);
}
