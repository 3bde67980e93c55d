/* The table of formats, and how those that are written by other files are opened. */
#include "export/exporter.h"

#include "export/chrome.h"
#include "export/dump.h"
#include "export/stacks.h"

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
        .sz = sizeof(options),
        .dirfd = target->dirfd,
        .dir = target->dir,
        .format = format,
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

static int open_csv(const struct ms_export_target *target, void **self, struct ms_consumer *consumer)
{
    return open_dump(target, MS_DUMP_CSV, self, consumer);
}

static int open_db(const struct ms_export_target *target, void **self, struct ms_consumer *consumer)
{
    return open_dump(target, MS_DUMP_DB, self, consumer);
}

static int close_dump(void *self)
{
    return ms_dump_close(self);
}

/* ---- formats of one file ---- */

/* name: with the process id. Nothing that exists is written over. */
static int create_file(const struct ms_export_target *target, const char *name)
{
    char path[4096 + 64];
    int fd = openat(target->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && target->created != NULL) {
        snprintf(path, sizeof(path), "%s/%s", target->dir, name);
        target->created(target->argument, path, NULL);
    }
    return fd >= 0 ? fd : -errno;
}

struct chrome_file {
    struct ms_chrome *chrome;
    int fd;
};

static int open_chrome(const struct ms_export_target *target, void **self, struct ms_consumer *consumer)
{
    char name[64];
    struct chrome_file *file = calloc(1, sizeof(*file));
    if (file == NULL) {
        return -ENOMEM;
    }
    snprintf(name, sizeof(name), "memscope_trace_%u.json", target->pid);
    file->fd = create_file(target, name);
    int rc = file->fd >= 0 ? ms_chrome_open(file->fd, target->process, &file->chrome) : file->fd;
    if (rc != 0) {
        if (file->fd >= 0) {
            close(file->fd);
        }
        free(file);
        return rc;
    }
    *self = file;
    *consumer = ms_chrome_consumer(file->chrome);
    return 0;
}

static int close_chrome(void *self)
{
    struct chrome_file *file = self;
    int rc = ms_chrome_close(file->chrome);
    close(file->fd);
    free(file);
    return rc;
}

/* ---- call stacks: written when the process has ended, removed again if it does not come to that ---- */

struct stacks_file {
    struct ms_sites *sites;
    int (*write)(const struct ms_sites *sites, const char *process, int fd);
    char *process;
    char name[64];
    int dirfd, fd;
    bool complete;
};

static int write_stacks(void *argument, const struct ms_sites *sites)
{
    struct stacks_file *file = argument;
    int rc = file->write(sites, file->process, file->fd);
    file->complete = rc == 0;
    return rc;
}

static int close_stacks(void *self)
{
    struct stacks_file *file = self;
    bool complete = file->complete;
    ms_sites_free(file->sites);
    if (file->fd >= 0) {
        close(file->fd);
        if (!complete) {
            unlinkat(file->dirfd, file->name, 0);
        }
    }
    free(file->process);
    free(file);
    return complete ? 0 : -EIO;
}

static int open_stacks(const struct ms_export_target *target, const char *suffix,
                       int (*write)(const struct ms_sites *sites, const char *process, int fd), void **self,
                       struct ms_consumer *consumer)
{
    struct stacks_file *file = calloc(1, sizeof(*file));
    if (file == NULL) {
        return -ENOMEM;
    }
    file->write = write;
    file->dirfd = target->dirfd;
    file->process = target->process != NULL ? strdup(target->process) : NULL;
    snprintf(file->name, sizeof(file->name), "memscope_stacks_%u.%s", target->pid, suffix);
    file->fd = create_file(target, file->name);
    int rc = file->fd >= 0 ? ms_sites_open(target->model, target->stacks, write_stacks, file, &file->sites) : file->fd;
    if (rc != 0) {
        close_stacks(file);
        return rc;
    }
    *self = file;
    *consumer = ms_sites_consumer(file->sites);
    return 0;
}

static int open_collapsed(const struct ms_export_target *target, void **self, struct ms_consumer *consumer)
{
    return open_stacks(target, "collapsed", ms_collapsed_write, self, consumer);
}

static int open_speedscope(const struct ms_export_target *target, void **self, struct ms_consumer *consumer)
{
    return open_stacks(target, "speedscope.json", ms_speedscope_write, self, consumer);
}

static int open_pprof(const struct ms_export_target *target, void **self, struct ms_consumer *consumer)
{
    return open_stacks(target, "pb", ms_pprof_write, self, consumer);
}

/* ---- the table ---- */

const struct ms_exporter ms_exporters[] = {
    {"csv", "rows as text, one file per device", true, open_csv, close_dump},
    {"db", "SQLite, for MindStudio Insight, one file per device", true, open_db, close_dump},
    {"chrome", "Chrome trace, for ui.perfetto.dev: curves, operators, kernels, marks", false, open_chrome,
     close_chrome},
    {"collapsed", "collapsed stacks, for flamegraph.pl: bytes live at the peak by call stack", false, open_collapsed,
     close_stacks},
    {"speedscope", "for speedscope.app: live at the peak, live at the end, allocated", false, open_speedscope,
     close_stacks},
    {"pprof", "for go tool pprof: alloc_*, inuse_* and peak_*, labels device, pool, owner, operator", false, open_pprof,
     close_stacks},
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
