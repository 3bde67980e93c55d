/* SPDX-License-Identifier: Apache-2.0 */
/* TensorBoard event files: <dir>/device_<n or host>/tfevents.pb, then tfevents.pb.000001 and so on as each reaches its
 * maximum size.
 *
 * The event loop encodes an event and puts it into a bounded queue; a thread writes it. A slow disk or a hanging file
 * system therefore costs records, which are counted, but never blocks the loop. Names sort in order of writing, as
 * TensorBoard expects. A run starts with empty files: steps count from 0 again.
 *
 * The thread owns `file`, the loop owns `device`; they share the queue and `failed`. */
#include "monitor/metrics/backend_tensorboard.h"

#include "base/macros.h"
#include "monitor/metrics/modules.h"
#include "monitor/metrics/queue.h"
#include "monitor/metrics/tfevents.h"
#include "monitor/store/series.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEVICES 128
#define MAX_KINDS   32
#define QUEUE_MAX_B (8u << 20)
#define STOP_WAIT_S 3
#define FILE_NAME   "tfevents.pb"
#define TAG_B       (2 * MON_LABEL_MAX_B)

struct step_counts {
    char name[16];
    struct {
        char name[32];
        int64_t step;
    } kind[MAX_KINDS];
    size_t kinds;
};

struct event_file {
    int fd; /* -1: not open */
    bool opened_once;
    unsigned number; /* 0: FILE_NAME without a suffix */
    uint64_t size_b;
};

struct mon_tensorboard {
    int directory;
    uint64_t max_b;
    unsigned keep;
    struct mon_queue *queue;
    pthread_t thread;
    struct step_counts device[MAX_DEVICES];
    size_t devices;
    struct event_file file[MAX_DEVICES];
    atomic_ullong failed; /* events that could not be written; set by the thread, counted by the loop */
    uint64_t failed_counted;
};

/* Start of a queued message: the device; the bytes of the event follow. */
struct head {
    uint32_t device;
    char name[16];
};

/* ---- the thread ---- */

static void file_name(unsigned number, char out[32])
{
    if (number == 0) {
        snprintf(out, 32, FILE_NAME);
    } else {
        snprintf(out, 32, FILE_NAME ".%06u", number);
    }
}

/* TensorBoard would read files of an earlier run together with the new ones. */
static void remove_old(int directory)
{
    int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (list == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return;
    }
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (strncmp(entry->d_name, FILE_NAME, sizeof(FILE_NAME) - 1) == 0) {
            unlinkat(directory, entry->d_name, 0);
        }
    }
    closedir(list);
}

static int open_file(struct mon_tensorboard *t, const char *device, struct event_file *file)
{
    char name[32];
    struct ms_buffer first = {0};
    snprintf(name, sizeof(name), "device_%s", device);
    if (mkdirat(t->directory, name, 0750) != 0 && errno != EEXIST) {
        return -errno;
    }
    int directory = openat(t->directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0) {
        return -errno;
    }
    if (!file->opened_once) {
        remove_old(directory);
        file->opened_once = true;
    }
    file_name(file->number, name);
    file->fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
    int rc = file->fd >= 0 ? 0 : -errno;
    if (rc == 0) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        mon_tfevents_version(&first, (double)now.tv_sec);
        file->size_b = first.used;
        rc = ms_buffer_write(&first, file->fd);
        ms_buffer_free(&first);
    }
    if (rc == 0 && file->number >= t->keep) {
        file_name(file->number - t->keep, name);
        unlinkat(directory, name, 0);
    }
    close(directory);
    return rc;
}

static void write_event(struct mon_tensorboard *t, const struct head *head, const char *event, size_t size_b)
{
    struct event_file *file = &t->file[head->device];
    if (file->fd >= 0 && t->max_b != 0 && file->size_b + size_b > t->max_b) {
        close(file->fd);
        file->fd = -1;
        file->number++;
    }
    if (file->fd < 0 && open_file(t, head->name, file) != 0) {
        atomic_fetch_add(&t->failed, 1);
        if (file->fd >= 0) {
            close(file->fd);
            file->fd = -1;
        }
        return;
    }
    /* One write per event: a concurrent reader sees complete events, and a kill leaves at most one partial event. */
    ssize_t n = write(file->fd, event, size_b);
    if (n == (ssize_t)size_b) {
        file->size_b += size_b;
        return;
    }
    atomic_fetch_add(&t->failed, 1);
    /* A partial event would make everything after it unreadable. */
    if (n > 0 && ftruncate(file->fd, (off_t)file->size_b) == 0) {
        lseek(file->fd, (off_t)file->size_b, SEEK_SET);
    }
}

static void *write_loop(void *argument)
{
    struct mon_tensorboard *t = argument;
    size_t size_b;
    char *message;
    while ((message = mon_queue_take(t->queue, -1, &size_b, NULL)) != NULL) {
        struct head head;
        memcpy(&head, message, sizeof(head));
        write_event(t, &head, message + sizeof(head), size_b - sizeof(head));
        free(message);
    }
    return NULL;
}

/* ---- the loop ---- */

static void dropped(const char *reason, double count)
{
    mon_metric_record(MON_METRIC_BACKEND_DROPPED, MON_LABELS(.sink = "tensorboard", .reason = reason), count);
}

static struct step_counts *device_of(struct mon_tensorboard *t, const char *name)
{
    for (size_t i = 0; i < t->devices; i++) {
        if (strcmp(t->device[i].name, name) == 0) {
            return &t->device[i];
        }
    }
    if (t->devices == MAX_DEVICES) {
        return NULL;
    }
    struct step_counts *device = &t->device[t->devices++];
    snprintf(device->name, sizeof(device->name), "%s", name);
    return device;
}

/* The step of a record: its index among the records of its kind; -1: too many kinds. */
static int64_t step_of(struct step_counts *device, const char *kind)
{
    size_t i = 0;
    while (i < device->kinds && strcmp(device->kind[i].name, kind) != 0) {
        i++;
    }
    if (i == MAX_KINDS || strlen(kind) >= sizeof(device->kind[0].name)) {
        return -1;
    }
    if (i == device->kinds) {
        device->kinds++;
        snprintf(device->kind[i].name, sizeof(device->kind[i].name), "%s", kind);
    }
    return device->kind[i].step++;
}

/* A truncated text may end in a partial character, which is invalid in protobuf strings. */
static void end_at_character(char *s)
{
    size_t length = strlen(s), back = 0;
    while (back < length && back < 4 && ((unsigned char)s[length - 1 - back] & 0xc0) == 0x80) {
        back++;
    }
    if (back < length) {
        unsigned char lead = (unsigned char)s[length - 1 - back];
        size_t needs = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
        if (back < needs) {
            s[length - 1 - back] = '\0';
        }
    }
}

void mon_tensorboard_write(void *tensorboard, const struct mon_record *record)
{
    struct mon_tensorboard *t = tensorboard;
    if (record->source != MON_RECORD_NPU) {
        return;
    }
    uint64_t failed = atomic_load(&t->failed);
    if (failed != t->failed_counted) {
        dropped("disk", (double)(failed - t->failed_counted));
        t->failed_counted = failed;
    }
    const char *kind = mon_record_string(record, mon_record_find(record, "kind"));
    const char *domain = mon_record_string(record, mon_record_find(record, "domain"));
    const char *name = mon_record_string(record, mon_record_find(record, "deviceId"));
    const struct mon_field *duration = mon_record_find(record, "duration");
    struct step_counts *device = device_of(t, strcmp(name, "-1") == 0 ? "host" : name);
    int64_t step = device != NULL && duration != NULL ? step_of(device, kind) : -1;
    if (step < 0) {
        dropped("limit", 1);
        return;
    }
    char tag[TAG_B];
    bool marker = strcmp(kind, "Marker") == 0;
    snprintf(tag, sizeof(tag), "%s%s%s", kind, marker ? "/" : "",
             !marker             ? ""
             : domain[0] != '\0' ? domain
                                 : "default");
    end_at_character(tag);
    struct head head = {.device = (uint32_t)(device - t->device)};
    memcpy(head.name, device->name, sizeof(head.name));
    struct ms_buffer message = {0};
    ms_buffer_add(&message, (const char *)&head, sizeof(head));
    uint64_t wall_time_s = record->time_ns / 1000000000u; /* whole seconds, as in the original */
    mon_tfevents_scalar(&message, (double)wall_time_s, step, tag, (float)duration->u);
    if (message.failed || !mon_queue_put(t->queue, message.s, message.used)) {
        dropped("full", 1);
    }
    ms_buffer_free(&message);
    struct mon_queue_stats stats;
    mon_queue_stats(t->queue, &stats);
    mon_metric_record(MON_METRIC_BACKEND_QUEUE, MON_LABELS(.sink = "tensorboard"), (double)stats.length);
}

static int make_directories(const char *path)
{
    char part[4096];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof(part)) {
        return -ENAMETOOLONG;
    }
    memcpy(part, path, length + 1);
    for (char *at = part + 1;; at++) {
        if (*at == '/' || *at == '\0') {
            char kept = *at;
            *at = '\0';
            if (mkdir(part, 0750) != 0 && errno != EEXIST) {
                return -errno;
            }
            *at = kept;
            if (kept == '\0') {
                return 0;
            }
        }
    }
}

static void free_all(struct mon_tensorboard *t)
{
    for (size_t i = 0; i < MAX_DEVICES; i++) {
        if (t->file[i].fd >= 0) {
            close(t->file[i].fd);
        }
    }
    mon_queue_free(t->queue);
    if (t->directory >= 0) {
        close(t->directory);
    }
    free(t);
}

int mon_tensorboard_open(const struct mon_tensorboard_options *options, struct mon_tensorboard **out)
{
    struct mon_tensorboard *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < MAX_DEVICES; i++) {
        t->file[i].fd = -1;
    }
    t->max_b = options->max_b;
    t->keep = options->keep > 0 ? options->keep : 1;
    t->queue = mon_queue_new(options->queue, QUEUE_MAX_B);
    int rc = t->queue != NULL ? make_directories(options->directory) : -ENOMEM;
    t->directory = rc == 0 ? open(options->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    rc = rc == 0 && t->directory < 0 ? -errno : rc;
    if (rc == 0 && faccessat(t->directory, ".", W_OK, AT_EACCESS) != 0) {
        rc = -errno;
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = rc != 0 ? rc : -pthread_create(&t->thread, NULL, write_loop, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        free_all(t);
        return rc;
    }
    *out = t;
    return 0;
}

void mon_tensorboard_close(struct mon_tensorboard *t)
{
    struct timespec until;
    mon_queue_close(t->queue);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_WAIT_S;
    if (pthread_timedjoin_np(t->thread, NULL, &until) == 0) {
        free_all(t);
    } /* else the thread hangs in the file system until the process exits */
}

/* ---- as a module ---- */

static struct mon_tensorboard *backend;

static int start(struct mon_daemon *daemon)
{
    const char *directory = daemon->flags.metric_log_dir;
    struct stat status;
    if (directory[0] == '\0') {
        return 0;
    }
    struct mon_tensorboard_options options = {.directory = directory,
                                              .max_b = (uint64_t)daemon->flags.tensorboard_max_mb << 20,
                                              .keep = (unsigned)daemon->flags.tensorboard_keep,
                                              .queue = 4096};
    if (lstat(directory, &status) == 0 && S_ISLNK(status.st_mode)) {
        MON_LOG_WARNING("TensorBoard: %s is a symbolic link", directory);
    }
    int rc = mon_tensorboard_open(&options, &backend);
    if (rc != 0) {
        MON_LOG_ERROR("TensorBoard: directory %s: %s (--metric_log_dir)", directory, strerror(-rc));
        return rc;
    }
    MON_LOG_INFO("TensorBoard: event files in %s", directory);
    return mon_record_add_backend(
        &(struct mon_record_backend){.name = "tensorboard", .write = mon_tensorboard_write, .context = backend});
}

static void stop(struct mon_daemon *daemon)
{
    if (backend != NULL) {
        mon_record_remove_backend(backend);
        mon_tensorboard_close(backend);
        backend = NULL;
    }
}

const struct mon_daemon_module mon_module_tensorboard = {.name = "TensorBoard", .start = start, .stop = stop};
