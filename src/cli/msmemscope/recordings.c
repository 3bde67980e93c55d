/* SPDX-License-Identifier: Apache-2.0 */
/* See recordings.h. */
#include "cli/msmemscope/recordings.h"

#include "base/bar.h"
#include "base/clock.h"
#include "memscope/recording/project.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct recording_search {
    int (*fn)(void *argument, const struct recording *recording);
    void *argument;
    const char *path;
    int dirfd, tracefd;
    bool own_trace; /* the files are in a directory named "trace" */
    int count, unreadable, stopped;
};

static int found(void *argument, const struct ms_process *process)
{
    struct recording_search *search = argument;
    struct recording recording = {search->path, search->dirfd, search->tracefd, process};
    search->count++;
    search->stopped = search->fn(search->argument, &recording);
    return search->stopped;
}

static int complain(void *argument, const struct ms_damage *damage)
{
    struct recording_search *search = argument;
    fprintf(stderr, "msmemscope: %s%s/%s: offset %llu: %s\n", search->path, search->own_trace ? "/" MS_TRACE_DIR : "",
            damage->file, (unsigned long long)damage->offset, damage->reason);
    search->unreadable++;
    return 0;
}

/* Visits a project directory, or one that contains trace files itself. */
static void visit(struct recording_search *search, const char *path, int dirfd)
{
    search->path = path;
    search->dirfd = dirfd;
    search->tracefd = openat(dirfd, MS_TRACE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = search->tracefd >= 0 ? search->tracefd : dirfd;
    int own = search->tracefd;
    search->tracefd = fd;
    search->own_trace = own >= 0;
    ms_trace_list(fd, found, search);
    ms_trace_list_unreadable(fd, complain, search);
    if (own >= 0) {
        close(own);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int recordings_each(const char *dir, int (*fn)(void *argument, const struct recording *recording), void *argument)
{
    struct recording_search search = {.fn = fn, .argument = argument};
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "msmemscope: %s: %s\n", dir, strerror(errno));
        return -1;
    }
    visit(&search, dir, fd);
    DIR *entries = search.count == 0 ? fdopendir(fd) : NULL;
    char **names = NULL;
    size_t count = 0;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char **grown = ms_project_name_ok(entry->d_name) ? realloc(names, (count + 1) * sizeof(*names)) : NULL;
        if (grown != NULL) {
            names = grown;
            names[count++] = strdup(entry->d_name);
        }
    }
    if (count > 0) {
        qsort(names, count, sizeof(*names), by_name);
    }
    for (size_t i = 0; i < count; i++) {
        int sub = search.stopped ? -1 : openat(fd, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (sub >= 0) {
            char path[MS_PATH_MAX_B + MS_PROJECT_NAME_B];
            snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
            visit(&search, path, sub);
            close(sub);
        }
        free(names[i]);
    }
    free(names);
    if (entries != NULL) {
        closedir(entries);
    } else {
        close(fd);
    }
    if (search.count == 0 && search.unreadable == 0) {
        fprintf(stderr, "msmemscope: %s: no recording found\n", dir);
    }
    return search.count == 0 || search.unreadable > 0 ? -1 : search.count;
}

static bool shown;

void progress_show(const char *what, uint64_t done, uint64_t total)
{
    static uint64_t begin_ns, last_ns;
    uint64_t now_ns = ms_clock_raw_ns();
    begin_ns = begin_ns != 0 ? begin_ns : now_ns;
    if (now_ns - begin_ns < 1000000000ull || now_ns - last_ns < 100000000ull || !isatty(2)) {
        return;
    }
    last_ns = now_ns;
    shown = true;
    char bar[MS_BAR_B];
    ms_bar(bar, total > 0 ? (unsigned)(done * 1000 / total) : 0);
    fprintf(stderr, "\r\033[K%s %s", what, bar);
}

void progress_end(void)
{
    if (shown) {
        fputs("\r\033[K", stderr);
    }
    shown = false;
}
