/* SPDX-License-Identifier: Apache-2.0 */
/* See watch.h. */
#include "memscope/export/watch.h"

#include "base/clock.h"
#include "memscope/export/dump_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEM   "watch_dump_data_check_sum_"
#define HEADER "Tensor info,Check data sum\n"

struct device_file {
    uint32_t device;
    int fd; /* -1: cannot be written, which was reported */
};

struct ms_watch_dump {
    struct ms_watch_dump_options options;
    struct device_file *files;
    size_t count;
    struct ms_buffer row;
};

int ms_watch_directory(int dirfd, uint32_t device, char *path, size_t room, bool *made)
{
    char above[24] = "device_cpu";
    if (device != MS_DEV_CPU && device != MS_DEV_UNKNOWN) {
        snprintf(above, sizeof(above), "device_%u", device);
    }
    if (mkdirat(dirfd, above, 0750) != 0 && errno != EEXIST) {
        return -errno;
    }
    snprintf(path, room, "%s/watch_dump", above);
    bool is_new = mkdirat(dirfd, path, 0750) == 0;
    if (!is_new && errno != EEXIST) {
        return -errno;
    }
    if (made != NULL) {
        *made = is_new;
    }
    return 0;
}

static int open_file(struct ms_watch_dump *dump, uint32_t device)
{
    const struct ms_watch_dump_options *options = &dump->options;
    char directory[64], path[192], shown[4096 + 64];
    bool made;
    int rc = ms_watch_directory(options->dirfd, device, directory, sizeof(directory), &made);
    if (rc != 0) {
        return rc;
    }
    if (made && options->created != NULL) {
        snprintf(shown, sizeof(shown), "%s/%s", options->dir, directory);
        options->created(options->argument, shown);
    }
    int fd = -1;
    if (options->replace && ms__find_file(options->dirfd, directory, STEM, "csv", path, sizeof(path))) {
        fd = openat(options->dirfd, path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
    }
    if (fd < 0) {
        uint64_t time_ns = options->time_ns != 0 ? options->time_ns : ms_clock_ns(CLOCK_REALTIME);
        fd = ms__create_file(options->dirfd, directory, STEM, "csv", time_ns, path, sizeof(path));
    }
    ssize_t written_b = fd >= 0 ? write(fd, HEADER, sizeof(HEADER) - 1) : 0;
    if (fd >= 0 && written_b != (ssize_t)sizeof(HEADER) - 1) {
        rc = written_b < 0 ? -errno : -ENOSPC; /* a short write does not set errno */
        close(fd);
        return rc;
    }
    return fd;
}

static int file_of(struct ms_watch_dump *dump, uint32_t device, int *error)
{
    for (size_t i = 0; i < dump->count; i++) {
        if (dump->files[i].device == device) {
            return dump->files[i].fd;
        }
    }
    struct device_file *files = realloc(dump->files, (dump->count + 1) * sizeof(*files));
    if (files == NULL) {
        *error = -ENOMEM;
        return -1;
    }
    dump->files = files;
    int fd = open_file(dump, device);
    *error = fd < 0 ? fd : 0;
    files[dump->count++] = (struct device_file){.device = device, .fd = fd < 0 ? -1 : fd};
    return fd < 0 ? -1 : fd;
}

static int on_watch(void *self, const struct ms_event *event)
{
    struct ms_watch_dump *dump = self;
    struct ms_buffer *row = &dump->row;
    if ((event->watch_flags & (MS_WATCH_FULL | MS_WATCH_UNREADABLE)) != 0) {
        return 0;
    }
    int error = 0, fd = file_of(dump, event->device, &error);
    if (fd < 0) {
        return error;
    }
    bool quoted = false;
    const struct ms_text *texts[] = {&event->text, &event->watched};
    for (unsigned i = 0; i < 2; i++) {
        for (uint32_t j = 0; j < texts[i]->length_b && !quoted; j++) {
            quoted = strchr(",\"\r\n", texts[i]->s[j]) != NULL;
        }
    }
    char ending[32], hash[32];
    snprintf(ending, sizeof(ending), "_%u_%s", event->output,
             (event->watch_flags & MS_WATCH_AFTER) != 0 ? "after" : "before");
    snprintf(hash, sizeof(hash), ",%016" PRIx64 "\n", event->hash);
    row->used = 0;
    if (quoted) {
        ms_buffer_char(row, '"');
    }
    ms_buffer_csv(row, event->text.s, event->text.length_b);
    ms_buffer_char(row, '-');
    ms_buffer_csv(row, event->watched.s, event->watched.length_b);
    ms_buffer_add(row, ending, strlen(ending));
    if (quoted) {
        ms_buffer_char(row, '"');
    }
    ms_buffer_add(row, hash, strlen(hash));
    return row->failed ? -ENOMEM : ms_buffer_write(row, fd);
}

int ms_watch_dump_open(const struct ms_watch_dump_options *options, struct ms_watch_dump **out)
{
    struct ms_watch_dump *dump = calloc(1, sizeof(*dump));
    if (dump == NULL) {
        return -ENOMEM;
    }
    dump->options = *options;
    *out = dump;
    return 0;
}

struct ms_consumer ms_watch_dump_consumer(struct ms_watch_dump *dump)
{
    return (struct ms_consumer){.self = dump, .on_watch = on_watch};
}

void ms_watch_dump_close(struct ms_watch_dump *dump)
{
    if (dump == NULL) {
        return;
    }
    for (size_t i = 0; i < dump->count; i++) {
        if (dump->files[i].fd >= 0) {
            close(dump->files[i].fd);
        }
    }
    free(dump->files);
    ms_buffer_free(&dump->row);
    free(dump);
}
