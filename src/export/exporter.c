/* The table of formats, and how those that are written by other files are opened. */
#include "export/exporter.h"

#include "export/chrome.h"
#include "export/dump.h"

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

/* ---- Chrome ---- */

struct chrome_file {
    struct ms_chrome *chrome;
    int fd;
};

static int open_chrome(const struct ms_export_target *target, void **self, struct ms_consumer *consumer)
{
    char name[64], path[4096 + 64];
    struct chrome_file *file = calloc(1, sizeof(*file));
    if (file == NULL) {
        return -ENOMEM;
    }
    snprintf(name, sizeof(name), "memscope_trace_%u.json", target->pid);
    file->fd = openat(target->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = file->fd >= 0 ? ms_chrome_open(file->fd, target->process, &file->chrome) : -errno;
    if (rc != 0) {
        if (file->fd >= 0) {
            close(file->fd);
        }
        free(file);
        return rc;
    }
    if (target->created != NULL) {
        snprintf(path, sizeof(path), "%s/%s", target->dir, name);
        target->created(target->argument, path, NULL);
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

/* ---- the table ---- */

const struct ms_exporter ms_exporters[] = {
    {"csv", "rows as text, one file per device", true, open_csv, close_dump},
    {"db", "SQLite, for MindStudio Insight, one file per device", true, open_db, close_dump},
    {"chrome", "Chrome trace, for ui.perfetto.dev: curves, operators, kernels, marks", false, open_chrome,
     close_chrome},
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
