/* SPDX-License-Identifier: Apache-2.0 */
/* Which row goes to which file, and when.
 *
 * Rows arrive in order of their ids. A row of a device goes to that device's file; a row without a device goes to all
 * files, and is kept for files that are created later. With late attributes, rows are first spooled and routed when the
 * dump is flushed. Python calls go with the first NPU that appears: until then, or until tracing stops, they are
 * spooled as well.
 *
 * Errors: the first one is kept with the path; a file that could not be written receives nothing more, the others
 * continue. */
#include "memscope/export/dump_internal.h"

#include "base/clock.h"
#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ms_dump {
    struct ms_dump_options options;
    int dirfd; /* a duplicate, owned */
    char *dir;
    const struct ms_dump_ops *ops;
    struct ms_dump_file **files;
    uint32_t file_count, file_last;
    struct ms_spool common;  /* rows without a device */
    struct ms_spool waiting; /* all rows, with late attributes */
    struct ms_spool slices;  /* Python calls, until there is a file for them */
    struct ms_dump_file *slice_file;
    uint64_t routed;     /* offset in waiting */
    uint64_t routed_row; /* rows with smaller ids are in the files */
    struct ms_late late;
    bool dirty; /* a row in a file is stale */
    struct ms_dump_stats stats;
};

/* ---- files ---- */

static const char stem[] = "memscope_dump_";

static int fail(struct ms_dump *dump, struct ms_dump_file *file, int rc)
{
    if (rc == 0) {
        return 0;
    }
    if (file != NULL) {
        if (file->failed) {
            return 0;
        }
        file->failed = true;
    }
    if (dump->stats.error == 0) {
        dump->stats.error = rc;
        snprintf(dump->stats.error_path, sizeof(dump->stats.error_path), "%s/%s", dump->dir,
                 file != NULL ? file->path : "");
    }
    return rc;
}

void ms__dump_real_path(const struct ms_dump_file *file, char *out, size_t room)
{
    snprintf(out, room, "/proc/self/fd/%d/%s", file->dump->dirfd, file->path);
    if (access(out, F_OK) != 0) { /* no /proc: the directory must not have been moved */
        snprintf(out, room, "%s/%s", file->dump->dir, file->path);
    }
}

void ms__dump_created(struct ms_dump *dump, const char *path, const char *table)
{
    if (dump->options.created != NULL) {
        char shown[4096 + 256];
        snprintf(shown, sizeof(shown), "%s/%s", dump->dir, path);
        dump->options.created(dump->options.argument, shown, table);
    }
}

int ms__dump_dirfd(const struct ms_dump *dump)
{
    return dump->dirfd;
}

uint64_t ms__dump_time(const struct ms_dump *dump)
{
    return dump->options.time_ns != 0 ? dump->options.time_ns : ms_clock_ns(CLOCK_REALTIME);
}

struct ms_text ms__dump_stack(const struct ms_dump *dump, bool python, uint32_t id)
{
    const struct ms_stack_source *stacks = &dump->options.stacks;
    struct ms_text (*ask)(void *, uint32_t) = python ? stacks->python_stack : stacks->c_stack;
    if (id == 0 || ask == NULL) {
        return (struct ms_text){.s = ""};
    }
    return ask(stacks->self, id);
}

static int create(struct ms_dump *dump, struct ms_dump_file *file)
{
    char directory[64];
    int rc = ms__device_directory(dump->dirfd, file->device, directory, sizeof(directory));
    if (rc != 0) {
        return rc;
    }
    uint64_t now_ns = ms__dump_time(dump);
    if (dump->options.format == MS_DUMP_DB) { /* databases of a process share one time */
        dump->options.time_ns = now_ns;
    }
    if (dump->options.replace &&
        ms__find_file(dump->dirfd, directory, stem, dump->ops->suffix, file->final_path, sizeof(file->final_path))) {
        snprintf(file->path, sizeof(file->path), "%s/.%s.tmp", directory, strrchr(file->final_path, '/') + 1);
        unlinkat(dump->dirfd, file->path, 0); /* left by a collector that did not finish */
        file->fd = openat(dump->dirfd, file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        file->fd = file->fd >= 0 ? file->fd : -errno;
    } else {
        file->fd =
            ms__create_file(dump->dirfd, directory, stem, dump->ops->suffix, now_ns, file->path, sizeof(file->path));
    }
    if (file->fd < 0) {
        return file->fd;
    }
    dump->stats.files++;
    ms__dump_created(dump, file->final_path[0] != 0 ? file->final_path : file->path, NULL);
    return dump->ops->open(file);
}

static int write_row(struct ms_dump_file *file, const struct ms_row *row)
{
    if (file->failed) {
        return 0;
    }
    int rc = file->dump->ops->row(file, row);
    file->rows += rc == 0;
    file->dump->stats.rows += rc == 0;
    return fail(file->dump, file, rc);
}

static int write_common(void *argument, struct ms_row *row)
{
    return write_row(argument, row);
}

static struct ms_dump_file *file_of(struct ms_dump *dump, uint32_t device, int *rc)
{
    if (dump->file_count != 0 && dump->files[dump->file_last]->device == device) {
        return dump->files[dump->file_last];
    }
    for (uint32_t i = 0; i < dump->file_count; i++) {
        if (dump->files[i]->device == device) {
            dump->file_last = i;
            return dump->files[i];
        }
    }
    struct ms_dump_file *file = calloc(1, sizeof(*file));
    struct ms_dump_file **files = realloc(dump->files, (dump->file_count + 1) * sizeof(struct ms_dump_file *));
    if (files != NULL) {
        dump->files = files;
    }
    if (file == NULL || files == NULL) {
        free(file);
        *rc = fail(dump, NULL, -ENOMEM);
        return NULL;
    }
    *file = (struct ms_dump_file){.dump = dump, .device = device, .fd = -1};
    files[dump->file_count] = file;
    dump->file_last = dump->file_count++;
    *rc = fail(dump, file, create(dump, file));
    uint64_t from = 0;
    int common_rc = ms__spool_each(&dump->common, &from, write_common, file);
    *rc = *rc != 0 ? *rc : common_rc;
    return file;
}

/* ---- routing ---- */

static int route(struct ms_dump *dump, const struct ms_row *row)
{
    int rc = 0;
    if (row->device != MS_DEV_UNKNOWN) {
        struct ms_dump_file *file = file_of(dump, row->device, &rc);
        int row_rc = file != NULL ? write_row(file, row) : 0;
        return rc != 0 ? rc : row_rc;
    }
    for (uint32_t i = 0; i < dump->file_count; i++) {
        int row_rc = write_row(dump->files[i], row);
        rc = rc != 0 ? rc : row_rc;
    }
    int spool_rc = fail(dump, NULL, ms__spool_add(&dump->common, dump->dirfd, row));
    return rc != 0 ? rc : spool_rc;
}

/* Inserts the attributes known now; both precede page_type. */
static void join(const struct ms_dump *dump, struct ms_row *row, char ineff[MS_INEFFICIENT_TEXT_B])
{
    const struct ms_late_entry *entry = row->late ? ms__late_get(&dump->late, row->allocation_id) : NULL;
    if (entry == NULL) {
        return;
    }
    struct ms_attr add[2];
    uint32_t add_count = 0, at = 0;
    struct ms_text owner = ms_model_owner(dump->options.model, entry->owner);
    if (owner.length_b != 0) {
        add[add_count++] = (struct ms_attr){.key = MS_ATTR_OWNER, .form = MS_FORM_TEXT, .text = owner};
    }
    uint32_t length_b = (uint32_t)ms_inefficient_text(entry->inefficient, ineff);
    if (length_b != 0) {
        add[add_count++] = (struct ms_attr){
            .key = MS_ATTR_INEFFICIENT_TYPE, .form = MS_FORM_TEXT, .text = {.s = ineff, .length_b = length_b}};
    }
    struct ms_attr old[MS_ROW_ATTRS_MAX];
    uint32_t old_count = row->attr_count;
    memcpy(old, row->attr, old_count * sizeof(old[0]));
    row->attr_count = 0;
    for (uint32_t i = 0; i <= old_count; i++) {
        bool end = i == old_count;
        while (at < add_count && (end || old[i].key > MS_ATTR_INEFFICIENT_TYPE) && row->attr_count < MS_ROW_ATTRS_MAX) {
            row->attr[row->attr_count++] = add[at++];
        }
        if (!end && (old[i].key != MS_ATTR_OWNER || owner.length_b == 0) && row->attr_count < MS_ROW_ATTRS_MAX) {
            row->attr[row->attr_count++] = old[i];
        }
    }
}

static int route_waiting(void *argument, struct ms_row *row)
{
    struct ms_dump *dump = argument;
    char ineff[MS_INEFFICIENT_TEXT_B] = "";
    join(dump, row, ineff);
    dump->routed_row = row->id + 1;
    route(dump, row); /* an error in one file does not stop the others; it is kept */
    return 0;
}

/* ---- Python calls ---- */

#define SLICES_WAIT_B (64u << 20) /* limit while no NPU has appeared */

static int write_slice(struct ms_dump_file *file, const struct ms_slice *slice)
{
    if (file->failed) {
        return 0;
    }
    file->dump->stats.slices++;
    return fail(file->dump, file, file->dump->ops->slice(file, slice));
}

static int write_waiting(void *argument, struct ms_row *row)
{
    struct ms_slice slice = {.start_ns = row->time_ns,
                             .end_ns = row->range_id,
                             .pid = row->pid,
                             .tid = row->tid,
                             .device = row->device,
                             .function = row->name};
    return write_slice(argument, &slice);
}

/* Chooses the file of the first NPU; any: else that of the first device. It does not change afterwards. */
static void find_slice_file(struct ms_dump *dump, bool any, int *rc)
{
    for (uint32_t i = 0; i < dump->file_count && dump->slice_file == NULL; i++) {
        dump->slice_file = dump->files[i]->device != MS_DEV_CPU ? dump->files[i] : NULL;
    }
    if (dump->slice_file == NULL && any) {
        dump->slice_file = dump->file_count != 0 ? dump->files[0] : file_of(dump, MS_DEV_CPU, rc);
    }
    if (dump->slice_file != NULL) {
        uint64_t from = 0;
        fail(dump, NULL, ms__spool_each(&dump->slices, &from, write_waiting, dump->slice_file));
        ms__spool_free(&dump->slices);
    }
}

/* Writes all calls that are still spooled. */
static void end_slices(struct ms_dump *dump)
{
    int rc;
    if (dump->slices.rows != 0) {
        find_slice_file(dump, true, &rc);
    }
}

/* ---- consumer ---- */

static int on_row(void *self, const struct ms_row *row)
{
    struct ms_dump *dump = self;
    if (dump->options.late) {
        return fail(dump, NULL, ms__spool_add(&dump->waiting, dump->dirfd, row));
    }
    return route(dump, row);
}

static int on_slice(void *self, const struct ms_slice *slice)
{
    struct ms_dump *dump = self;
    int rc = 0;
    if (slice->device != MS_DEV_UNKNOWN) {
        struct ms_dump_file *file = file_of(dump, slice->device, &rc);
        int slice_rc = file != NULL ? write_slice(file, slice) : 0;
        return rc != 0 ? rc : slice_rc;
    }
    if (MS_UNLIKELY(dump->slice_file == NULL)) {
        find_slice_file(dump, dump->slices.size_b > SLICES_WAIT_B, &rc);
    }
    if (dump->slice_file != NULL) {
        int slice_rc = write_slice(dump->slice_file, slice);
        return rc != 0 ? rc : slice_rc;
    }
    struct ms_row row = {.name = slice->function,
                         .time_ns = slice->start_ns,
                         .range_id = slice->end_ns,
                         .pid = slice->pid,
                         .tid = slice->tid,
                         .device = slice->device};
    return fail(dump, NULL, ms__spool_add(&dump->slices, dump->dirfd, &row));
}

static int on_late(void *self, const struct ms_block *block)
{
    struct ms_dump *dump = self;
    if (!dump->options.late) {
        return 0;
    }
    struct ms_late_entry *entry = ms__late_at(&dump->late, dump->dirfd, block->allocation_id);
    if (entry == NULL) {
        return fail(dump, NULL, -ENOMEM);
    }
    bool written = block->malloc_row < dump->routed_row;
    *entry = (struct ms_late_entry){.owner = block->owner,
                                    .inefficient = block->inefficient,
                                    .known = 1,
                                    .dirty = written || entry->dirty,
                                    .row = block->malloc_row};
    dump->dirty = dump->dirty || written;
    return 0;
}

/* No device appeared: rows without a device still need a file. */
static int end_common(struct ms_dump *dump)
{
    int rc = 0;
    if (dump->file_count == 0 && dump->common.rows != 0) {
        file_of(dump, MS_DEV_CPU, &rc);
    }
    return rc;
}

static int on_stop(void *self)
{
    ms_dump_flush(self); /* spooled rows may create files of devices */
    end_slices(self);
    end_common(self);
    return ms_dump_flush(self);
}

struct ms_consumer ms_dump_consumer(struct ms_dump *dump)
{
    return (struct ms_consumer){
        .self = dump, .on_row = on_row, .on_slice = on_slice, .on_late = on_late, .on_stop = on_stop};
}

/* ---- finishing ---- */

/* The file replaces the old one under its name. */
static int take_name(struct ms_dump *dump, struct ms_dump_file *file)
{
    if (file->final_path[0] == 0) {
        return 0;
    }
    if (renameat(dump->dirfd, file->path, dump->dirfd, file->final_path) != 0) {
        return -errno;
    }
    memcpy(file->path, file->final_path, sizeof(file->path));
    file->final_path[0] = 0;
    return 0;
}

int ms_dump_flush(struct ms_dump *dump)
{
    int rc = 0;
    if (dump->options.late) {
        rc = fail(dump, NULL, ms__spool_each(&dump->waiting, &dump->routed, route_waiting, dump));
    }
    for (uint32_t i = 0; i < dump->file_count; i++) {
        struct ms_dump_file *file = dump->files[i];
        int one = file->failed ? 0 : fail(dump, file, dump->ops->flush(file));
        one = one != 0 || file->failed ? one : fail(dump, file, take_name(dump, file));
        rc = rc != 0 ? rc : one;
    }
    return rc;
}

static int patch_waiting(void *argument, struct ms_row *row)
{
    struct ms_dump *dump = argument;
    const struct ms_late_entry *entry = row->late ? ms__late_get(&dump->late, row->allocation_id) : NULL;
    if (entry == NULL || !entry->dirty || entry->row != row->id) {
        return 0;
    }
    char ineff[MS_INEFFICIENT_TEXT_B] = "";
    join(dump, row, ineff);
    for (uint32_t i = 0; i < dump->file_count; i++) {
        struct ms_dump_file *file = dump->files[i];
        if (file->device == row->device && !file->failed) {
            fail(dump, file, dump->ops->patch(file, row));
            dump->stats.patched++;
        }
    }
    return 0;
}

/* Rewrites the files under temporary names; closing gives them the old names. */
static int rewrite(struct ms_dump *dump)
{
    for (uint32_t i = 0; i < dump->file_count; i++) {
        struct ms_dump_file *file = dump->files[i];
        int rc = file->failed ? 0 : fail(dump, file, dump->ops->close(file));
        if (file->fd >= 0) {
            close(file->fd);
        }
        if (rc != 0 || file->failed) {
            continue;
        }
        if (file->final_path[0] == 0) {
            char old[sizeof(file->path)];
            memcpy(old, file->path, sizeof(old));
            char *slash = strrchr(file->path, '/');
            snprintf(slash + 1, sizeof(file->path) - (size_t)(slash + 1 - file->path), ".%s.tmp",
                     strrchr(old, '/') + 1);
            memcpy(file->final_path, old, sizeof(old));
        }
        unlinkat(dump->dirfd, file->path, 0);
        file->fd = openat(dump->dirfd, file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        file->rows = 0;
        fail(dump, file, file->fd >= 0 ? dump->ops->open(file) : -errno);
    }
    /* The spool contains all rows, including those without a device. */
    ms__spool_free(&dump->common);
    uint64_t from = 0;
    return ms__spool_each(&dump->waiting, &from, route_waiting, dump);
}

static int finish(struct ms_dump *dump)
{
    int rc = end_common(dump);
    if (dump->dirty && dump->ops->patch != NULL) {
        uint64_t from = 0;
        return ms__spool_each(&dump->waiting, &from, patch_waiting, dump);
    }
    return dump->dirty ? rewrite(dump) : rc;
}

int ms_dump_close(struct ms_dump *dump)
{
    if (dump == NULL) {
        return 0;
    }
    ms_dump_flush(dump);
    end_slices(dump);
    fail(dump, NULL, finish(dump));
    for (uint32_t i = 0; i < dump->file_count; i++) {
        struct ms_dump_file *file = dump->files[i];
        bool open = file->fd >= 0;
        if (open) {
            fail(dump, file, dump->ops->close(file));
            close(file->fd);
        }
        if (open && file->final_path[0] != 0) { /* failed, or rewritten */
            int rc = file->failed ? -EIO : take_name(dump, file);
            if (rc != 0) {
                fail(dump, file, rc);
                unlinkat(dump->dirfd, file->path, 0);
            }
        }
        free(file);
    }
    int rc = dump->stats.error;
    free(dump->files);
    ms__spool_free(&dump->common);
    ms__spool_free(&dump->waiting);
    ms__spool_free(&dump->slices);
    ms__late_free(&dump->late);
    close(dump->dirfd);
    free(dump->dir);
    free(dump);
    return rc;
}

int ms_dump_open(const struct ms_dump_options *options, struct ms_dump **out)
{
    if (options->late && options->model == NULL) {
        return -EINVAL;
    }
    struct ms_dump *dump = calloc(1, sizeof(*dump));
    if (dump == NULL) {
        return -ENOMEM;
    }
    *dump = (struct ms_dump){.options = *options,
                             .common = MS_SPOOL_INIT,
                             .waiting = MS_SPOOL_INIT,
                             .slices = MS_SPOOL_INIT,
                             .late = MS_LATE_INIT,
                             .ops = options->format == MS_DUMP_DB ? &ms__sqlite_ops : &ms__csv_ops};
    dump->dirfd = openat(options->dirfd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    dump->dir = strdup(options->dir != NULL ? options->dir : ".");
    if (dump->dirfd < 0 || dump->dir == NULL) {
        int rc = dump->dirfd < 0 ? -errno : -ENOMEM;
        if (dump->dirfd >= 0) {
            close(dump->dirfd);
        }
        free(dump->dir);
        free(dump);
        return rc;
    }
    *out = dump;
    return 0;
}

void ms_dump_stats(const struct ms_dump *dump, struct ms_dump_stats *out)
{
    *out = dump->stats;
    for (uint32_t i = 0; i < dump->file_count; i++) {
        struct stat status;
        if (dump->files[i]->fd >= 0 && fstat(dump->files[i]->fd, &status) == 0) {
            out->bytes += (uint64_t)status.st_size;
        }
    }
}
