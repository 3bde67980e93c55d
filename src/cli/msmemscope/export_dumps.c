/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope export of dumps: writes every process in another format. A dump may contain rows of several processes; the
 * files of the first one go to the directory itself, those of the others to process_<pid> in it. */
#include "cli/msmemscope/export_dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct output { /* one process */
    uint32_t pid;
    int dirfd;
    struct ms_export *export;
    struct ms_consumer consumer;
    uint64_t last_id;
    bool any;
};

struct exporting {
    struct ms_source *source;
    const struct ms_exporter *format;
    const char *dir, *name;
    int fd; /* if not 0: used instead of files in dir */
    struct output *outputs;
    size_t count, last;
    uint64_t doubled; /* rows with a duplicate id */
    int error;
};

static void file_created(void *argument, const char *path, const char *table)
{
    (void)argument;
    if (table == NULL) {
        printf("[msmemscope] Info: create file %s.\n", path);
    }
}

static struct output *add_output(struct exporting *e, uint32_t pid, struct ms_model *model)
{
    if (e->fd != 0 && e->count != 0 && !e->format->joins) {
        fprintf(stderr,
                "msmemscope: %s has rows of several processes, which cannot be written to one %s file; use -o DIR\n",
                e->name, e->format->name);
        e->error = -ENODATA;
        return NULL;
    }
    struct output *outputs = realloc(e->outputs, (e->count + 1) * sizeof(*outputs));
    if (outputs == NULL) {
        e->error = -ENOMEM;
        return NULL;
    }
    e->outputs = outputs;
    char dir[4096 + 32];
    snprintf(dir, sizeof(dir), "%s", e->dir);
    if (e->count != 0) {
        snprintf(dir, sizeof(dir), "%s/process_%u", e->dir, pid);
    }
    struct output *output = &outputs[e->count];
    *output = (struct output){.pid = pid, .dirfd = -1};
    if (e->fd == 0) {
        mkdir(dir, 0750);
        output->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    struct ms_export_target target = {.dirfd = output->dirfd,
                                      .dir = dir,
                                      .fd = e->fd,
                                      .pid = pid != MS_ID_NONE ? pid : 0,
                                      .process = e->name,
                                      .stacks = ms_source_stacks(e->source),
                                      .model = model,
                                      .created = file_created};
    int rc = e->fd != 0 || output->dirfd >= 0 ? ms_export_open(e->format, &target, &output->export) : -errno;
    if (rc != 0) {
        if (output->dirfd >= 0) {
            close(output->dirfd);
        }
        e->error = rc;
        return NULL;
    }
    output->consumer = *ms_export_consumer(output->export);
    e->last = e->count++;
    return &outputs[e->last];
}

static struct output *output_of(struct exporting *e, uint32_t pid)
{
    if (e->count != 0 && (e->outputs[e->last].pid == pid || pid == MS_ID_NONE)) {
        return &e->outputs[e->last];
    }
    for (size_t i = 0; i < e->count; i++) {
        if (e->outputs[i].pid == pid) {
            e->last = i;
            return &e->outputs[i];
        }
    }
    return add_output(e, pid, NULL);
}

static int on_row(void *self, const struct ms_row *row)
{
    struct exporting *e = self;
    struct output *output = output_of(e, row->pid);
    if (output == NULL) {
        return e->error;
    }
    if (output->any && row->id == output->last_id) {
        e->doubled++;
        return 0;
    }
    output->any = true;
    output->last_id = row->id;
    return output->consumer.on_row(output->consumer.self, row);
}

static int on_slice(void *self, const struct ms_slice *slice)
{
    struct exporting *e = self;
    struct output *output = output_of(e, slice->pid);
    return output == NULL                      ? e->error
           : output->consumer.on_slice == NULL ? 0
                                               : output->consumer.on_slice(output->consumer.self, slice);
}

static int begin_model(void *argument, uint32_t pid, struct ms_model *model)
{
    struct exporting *e = argument;
    struct output *output = add_output(e, pid, model);
    return output != NULL ? ms_model_add(model, &output->consumer) : e->error;
}

int export_process(struct ms_source *source, size_t at, const struct ms_exporter *format, const char *dir, int fd)
{
    const struct ms_source_process *process = ms_source_process(source, at);
    struct exporting e = {.source = source, .format = format, .dir = dir, .name = process->name, .fd = fd};
    int rc;
    if (format->stem == NULL) {
        struct ms_consumer consumer = {.self = &e, .on_row = on_row, .on_slice = on_slice};
        rc = ms_source_rows(source, at, MS_ORDER_ID, &consumer);
    } else {
        struct ms_source_listener listener = {.argument = &e, .begin = begin_model};
        struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
        options.events |= MS_WANT_ACCESS | MS_WANT_TRACEBACK;
        options.levels |= MS_WANT_KERNEL;
        options.analysis |= MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_OOM;
        options.cpu = true;
        rc = ms_source_feed(source, at, &options, &listener);
    }
    for (size_t i = 0; i < e.count; i++) {
        int close_rc = ms_export_close(e.outputs[i].export);
        if (e.outputs[i].dirfd >= 0) {
            close(e.outputs[i].dirfd);
        }
        rc = rc != 0 ? rc : close_rc;
    }
    if (e.doubled != 0) {
        fprintf(stderr, "[msmemscope] Warn: %s: %llu rows with duplicate IDs were skipped.\n", process->path,
                (unsigned long long)e.doubled);
    }
    if (rc == 0 && e.count == 0) {
        fprintf(stderr, "msmemscope: %s: has no rows\n", process->path);
        rc = -ENODATA;
    }
    free(e.outputs);
    return rc;
}
