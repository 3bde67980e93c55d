/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats, adapters that open the formats of other files, and the files they write. */
#include "memscope/export/exporter.h"

#include "memscope/export/chrome.h"
#include "memscope/export/dump.h"
#include "memscope/export/json_lines.h"
#include "memscope/export/memory_viz.h"
#include "memscope/export/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- dumps ---- */

static int open_dump(const struct ms_export_target *target, enum ms_dump_format format, void **self,
                     struct ms_consumer *consumer)
{
    struct ms_dump_options options = {
        .dirfd = target->dirfd,
        .dir = target->dir,
        .format = format,
        .late = target->late,
        .model = target->model,
        .replace = target->replace,
        .stacks = target->stacks,
        .created = target->created,
        .argument = target->argument,
    };
    struct ms_dump *dump;
    int rc = ms_dump_open(&options, &dump);
    if (rc == 0) {
        *self = dump;
        *consumer = ms_dump_consumer(dump);
    }
    return rc;
}

static int open_csv(const struct ms_export_target *target, int fd, void **self, struct ms_consumer *consumer)
{
    (void)fd;
    return open_dump(target, MS_DUMP_CSV, self, consumer);
}

static int open_db(const struct ms_export_target *target, int fd, void **self, struct ms_consumer *consumer)
{
    (void)fd;
    return open_dump(target, MS_DUMP_DB, self, consumer);
}

static int close_dump(void *self)
{
    return ms_dump_close(self);
}

static int flush_dump(void *self)
{
    return ms_dump_flush(self);
}

/* ---- events, written as they come ---- */

static int open_chrome(const struct ms_export_target *target, int fd, void **self, struct ms_consumer *consumer)
{
    struct ms_chrome *chrome;
    int rc = ms_chrome_open(fd, target->pid, target->process, &chrome);
    if (rc == 0) {
        *self = chrome;
        *consumer = ms_chrome_consumer(chrome);
    }
    return rc;
}

static int close_chrome(void *self)
{
    return ms_chrome_close(self);
}

static int open_json(const struct ms_export_target *target, int fd, void **self, struct ms_consumer *consumer)
{
    struct ms_json_lines_options options = {
        .fd = fd, .pid = target->pid, .process = target->process, .stacks = target->stacks, .model = target->model};
    struct ms_json_lines *json;
    int rc = ms_json_lines_open(&options, &json);
    if (rc == 0) {
        *self = json;
        *consumer = ms_json_lines_consumer(json);
    }
    return rc;
}

static int close_json(void *self)
{
    return ms_json_lines_close(self);
}

static int open_memory_viz(const struct ms_export_target *target, int fd, void **self, struct ms_consumer *consumer)
{
    struct ms_memory_viz_options options = {
        .fd = fd, .pid = target->pid, .process = target->process, .stacks = target->stacks, .model = target->model};
    struct ms_memory_viz *viz;
    int rc = ms_memory_viz_open(&options, &viz);
    if (rc == 0) {
        *self = viz;
        *consumer = ms_memory_viz_consumer(viz);
    }
    return rc;
}

static int close_memory_viz(void *self)
{
    return ms_memory_viz_close(self);
}

/* ---- call stacks: written when the process has ended ---- */

struct stacks_file {
    struct ms_sites *sites;
    int (*write)(const struct ms_sites *sites, const char *process, int fd);
    char *process;
    int fd;
    int error; /* until it is written */
};

static int write_stacks(void *argument, const struct ms_sites *sites)
{
    struct stacks_file *file = argument;
    file->error = file->write(sites, file->process, file->fd);
    return file->error;
}

static int close_stacks(void *self)
{
    struct stacks_file *file = self;
    int rc = file->error;
    ms_sites_free(file->sites);
    free(file->process);
    free(file);
    return rc;
}

static int open_stacks(const struct ms_export_target *target, int fd,
                       int (*write)(const struct ms_sites *sites, const char *process, int fd), void **self,
                       struct ms_consumer *consumer)
{
    struct stacks_file *file = calloc(1, sizeof(*file));
    if (file == NULL) {
        return -ENOMEM;
    }
    file->write = write;
    file->fd = fd;
    file->error = -EIO;
    file->process = target->process != NULL ? strdup(target->process) : NULL;
    int rc = ms_sites_open(target->model, target->stacks, write_stacks, file, &file->sites);
    if (rc != 0) {
        close_stacks(file);
        return rc;
    }
    *self = file;
    *consumer = ms_sites_consumer(file->sites);
    return 0;
}

static int open_collapsed(const struct ms_export_target *target, int fd, void **self, struct ms_consumer *consumer)
{
    return open_stacks(target, fd, ms_collapsed_write, self, consumer);
}

static int open_speedscope(const struct ms_export_target *target, int fd, void **self, struct ms_consumer *consumer)
{
    return open_stacks(target, fd, ms_speedscope_write, self, consumer);
}

static int open_pprof(const struct ms_export_target *target, int fd, void **self, struct ms_consumer *consumer)
{
    return open_stacks(target, fd, ms_pprof_write, self, consumer);
}

/* ---- the table ---- */

const struct ms_exporter ms_exporters[] = {
    {"csv", "rows as text, one file per device", NULL, NULL, false, open_csv, close_dump, flush_dump},
    {"db", "SQLite, for MindStudio Insight, one file per device", NULL, NULL, false, open_db, close_dump, flush_dump},
    {"chrome", "Chrome trace, for ui.perfetto.dev: curves, steps, operators, kernels, marks", "memscope_trace", "json",
     false, open_chrome, close_chrome, NULL},
    {"memory_viz", "PyTorch memory snapshot, for pytorch.org/memory_viz and MindStudio Insight", "memscope_snapshot",
     "pickle", false, open_memory_viz, close_memory_viz, NULL},
    {"json", "one JSON object per line: events, blocks, steps, call stacks", "memscope_events", "jsonl", true,
     open_json, close_json, NULL},
    {"collapsed", "collapsed stacks, for flamegraph.pl: bytes live at the peak by call stack", "memscope_stacks",
     "collapsed", true, open_collapsed, close_stacks, NULL},
    {"speedscope", "for speedscope.app: live at the peak, live at the end, allocated", "memscope_stacks",
     "speedscope.json", false, open_speedscope, close_stacks, NULL},
    {"pprof", "for go tool pprof: alloc_*, inuse_* and peak_*, labels device, pool, owner, operator", "memscope_stacks",
     "pb", false, open_pprof, close_stacks, NULL},
    {0},
};

const struct ms_exporter *ms_exporter_find(const char *name)
{
    for (const struct ms_exporter *format = ms_exporters; format->name != NULL; format++) {
        if (strcmp(format->name, name) == 0) {
            return format;
        }
    }
    return NULL;
}

/* ---- files ---- */

struct ms_export {
    const struct ms_exporter *format;
    void *self;
    struct ms_consumer consumer;
    char name[64]; /* of its own file; empty: none */
    int dirfd, fd;
};

static int create_file(struct ms_export *export, const struct ms_export_target *target)
{
    char path[4096 + sizeof(export->name)];
    snprintf(export->name, sizeof(export->name), "%s_%u.%s", export->format->stem, target->pid, export->format->suffix);
    export->fd = openat(target->dirfd, export->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (export->fd < 0) {
        export->name[0] = '\0';
        return -errno;
    }
    if (target->created != NULL) {
        snprintf(path, sizeof(path), "%s/%s", target->dir, export->name);
        target->created(target->argument, path, NULL);
    }
    return 0;
}

static int finish(struct ms_export *export, int rc)
{
    if (export->name[0] != '\0') {
        rc = close(export->fd) != 0 && rc == 0 ? -errno : rc;
        if (rc != 0) {
            unlinkat(export->dirfd, export->name, 0);
        }
    }
    free(export);
    return rc;
}

int ms_export_open(const struct ms_exporter *format, const struct ms_export_target *target, struct ms_export **out)
{
    struct ms_export *export = calloc(1, sizeof(*export));
    if (export == NULL) {
        return -ENOMEM;
    }
    *export = (struct ms_export){.format = format, .dirfd = target->dirfd, .fd = target->fd};
    int rc = format->stem != NULL && target->fd == 0 ? create_file(export, target) : 0;
    rc = rc != 0 ? rc : format->open(target, export->fd, &export->self, &export->consumer);
    if (rc != 0) {
        return finish(export, rc);
    }
    *out = export;
    return 0;
}

const struct ms_consumer *ms_export_consumer(const struct ms_export *export)
{
    return &export->consumer;
}

int ms_export_flush(struct ms_export *export)
{
    return export->format->flush != NULL ? export->format->flush(export->self) : 0;
}

int ms_export_close(struct ms_export *export)
{
    return finish(export, export->format->close(export->self));
}
