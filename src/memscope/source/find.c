/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what can be read below a path. A directory is searched to a fixed depth, links are not followed. A recording
 * (project directory with a trace) is read from its trace, unless dumps are requested; otherwise the dump files of one
 * directory tree that begin with the same process id belong together, one per device. If a process was dumped both as
 * CSV and as a database, the database is read. */
#include "memscope/source/internal.h"

#include "memscope/recording/project.h"
#include "trace/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 8

struct dump_search {
    struct ms_source *source;
    const char *project; /* directory of the recording being searched; NULL: none */
    const char *trace_dir;
    char unreadable[PATH_MAX]; /* reported last: a directory may be visited twice, for itself and for its parent */
    int rc;
};

static struct ms_source_group *add_group(struct ms_source *source, enum ms_source_kind kind, const char *path,
                                         uint32_t pid)
{
    if (source->group_count == source->group_room) {
        size_t room = source->group_room != 0 ? source->group_room * 2 : 8;
        struct ms_source_group *groups = realloc(source->groups, room * sizeof(*groups));
        if (groups == NULL) {
            return NULL;
        }
        source->groups = groups;
        source->group_room = room;
    }
    struct ms_source_group *group = &source->groups[source->group_count];
    char *copy = strdup(path);
    if (copy == NULL) {
        return NULL;
    }
    const char *slash = strrchr(copy, '/');
    *group = (struct ms_source_group){.public = {.kind = kind,
                                                 .path = copy,
                                                 .name = slash != NULL && slash[1] != 0 ? slash + 1 : copy,
                                                 .command = "",
                                                 .pid = pid}};
    source->group_count++;
    return group;
}

/* ---- traces ---- */

static int found_trace(void *argument, const struct ms_process *process)
{
    struct dump_search *search = argument;
    struct ms_source_group *group = add_group(search->source, MS_SOURCE_TRACE, search->project, process->pid);
    if (group != NULL) {
        group->trace_dir = strdup(search->trace_dir);
        group->trace_name = strdup(process->name);
        group->command = strdup(process->command);
    }
    if (group == NULL || group->trace_dir == NULL || group->trace_name == NULL || group->command == NULL) {
        search->rc = -ENOMEM;
        return 1;
    }
    group->public.command = group->command;
    return 0;
}

static int unreadable_trace(void *argument, const struct ms_damage *damage)
{
    struct dump_search *search = argument;
    char file[PATH_MAX];
    snprintf(file, sizeof(file), "%s/%s", search->trace_dir, damage->file);
    if (strcmp(file, search->unreadable) != 0) {
        ms__problem(search->source, file, 0, 0, true, "offset %llu: %s", (unsigned long long)damage->offset,
                    damage->reason);
        memcpy(search->unreadable, file, sizeof(file));
    }
    return 0;
}

static bool find_traces(struct dump_search *search, const char *project, const char *trace_dir)
{
    int fd = open(trace_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    size_t before = search->source->group_count;
    search->project = project;
    search->trace_dir = trace_dir;
    ms_trace_list(fd, found_trace, search);
    ms_trace_list_unreadable(fd, unreadable_trace, search);
    close(fd);
    return search->source->group_count > before;
}

/* ---- dump files ---- */

static bool ends_with(const char *name, const char *suffix)
{
    size_t name_b = strlen(name), suffix_b = strlen(suffix);
    return name_b > suffix_b && strcmp(name + name_b - suffix_b, suffix) == 0;
}

static bool is_dump(const char *name)
{
    return (strncmp(name, "memscope_dump_", 14) == 0 || strncmp(name, "leaks_dump_", 11) == 0) &&
           (ends_with(name, ".csv") || ends_with(name, ".db"));
}

static bool is_slices(const char *name)
{
    return strncmp(name, "python_trace_", 13) == 0 && ends_with(name, ".csv");
}

/* device_3/dump/file: 3. */
static uint32_t device_of(const char *path)
{
    uint32_t device = MS_DEV_UNKNOWN;
    for (const char *at = path; (at = strstr(at, "device_")) != NULL; at += 7) {
        unsigned number;
        char after = 0;
        if (at != path && at[-1] != '/') {
            continue;
        }
        if (strncmp(at + 7, "cpu/", 4) == 0) {
            device = MS_DEV_CPU;
        } else if (sscanf(at + 7, "%u%c", &number, &after) == 2 && after == '/' && number < MS_DEV_UNKNOWN) {
            device = number;
        }
    }
    return device;
}

static int add_file(struct ms_source_group *group, const char *path)
{
    struct stat st = {0};
    const char *slash = strrchr(path, '/');
    struct ms_source_file *files = realloc(group->files, (group->file_count + 1) * sizeof(*files));
    char *copy = strdup(path);
    if (files != NULL) {
        group->files = files;
    }
    if (files == NULL || copy == NULL) {
        free(copy);
        return -ENOMEM;
    }
    stat(path, &st);
    struct ms_source_file *file = &files[group->file_count++];
    *file = (struct ms_source_file){.path = copy,
                                    .bytes = (uint64_t)st.st_size,
                                    .device = device_of(path),
                                    .slices = is_slices(slash != NULL ? slash + 1 : path)};
    file->db = !file->slices && group->public.kind == MS_SOURCE_DB;
    group->public.files += !file->slices;
    group->public.bytes += file->bytes;
    return 0;
}

/* Process of the first row that has one; 0: none could be read. Problems are reported when the file is read. */
static uint32_t pid_of(const char *path, bool db)
{
    struct ms_source quiet = {0};
    struct ms_source_file file = {.path = (char *)(uintptr_t)path, .db = db};
    struct ms_row_reader *rows;
    uint32_t pid = 0;
    if (ms__rows_open(&quiet, &file, true, &rows) == 0) {
        struct ms_row row;
        while (pid == 0 && rows->ops->next(rows, &row) > 0) {
            pid = row.pid != MS_ID_NONE ? row.pid : 0;
        }
        rows->ops->close(rows);
    }
    ms_intern_free(&quiet.stacks.c);
    ms_intern_free(&quiet.stacks.python);
    return pid;
}

/* Calls of the Python trace are in the directory of the dump. */
static int add_slices_beside(struct ms_source_group *group, const char *path)
{
    const char *slash = strrchr(path, '/');
    char directory[4096];
    snprintf(directory, sizeof(directory), "%.*s", slash != NULL ? (int)(slash - path) : 1, slash != NULL ? path : ".");
    DIR *dir = slash != path ? opendir(directory) : NULL;
    int rc = 0;
    for (struct dirent *entry; dir != NULL && rc == 0 && (entry = readdir(dir)) != NULL;) {
        char file[sizeof(directory) + sizeof(entry->d_name)];
        snprintf(file, sizeof(file), "%s/%s", directory, entry->d_name);
        bool known = false;
        for (size_t i = 0; i < group->file_count; i++) {
            known = known || strcmp(group->files[i].path, file) == 0;
        }
        if (is_slices(entry->d_name) && !known) {
            rc = add_file(group, file);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return rc;
}

static struct ms_source_group *group_of(struct ms_source *source, enum ms_source_kind kind, const char *path,
                                        uint32_t pid)
{
    for (size_t i = 0; i < source->group_count; i++) {
        struct ms_source_process *process = &source->groups[i].public;
        if (process->kind == kind && process->pid == pid && pid != 0 && strcmp(process->path, path) == 0) {
            return &source->groups[i];
        }
    }
    return add_group(source, kind, path, pid);
}

static int add_dump(struct dump_search *search, const char *path, const char *group_path)
{
    bool db = ends_with(path, ".db");
    enum ms_source_kind kind = db ? MS_SOURCE_DB : MS_SOURCE_CSV;
    struct ms_source_group *group = group_of(search->source, kind, group_path, pid_of(path, db));
    int rc = group != NULL ? add_file(group, path) : -ENOMEM;
    return rc == 0 && !db ? add_slices_beside(group, path) : rc;
}

/* ---- directories ---- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* project: directory of the process that owns the files; NULL: every directory is a process of its own. */
static int search_directory(struct dump_search *search, const char *path, const char *project, int depth)
{
    char below[4096 + 256];
    snprintf(below, sizeof(below), "%s/%s", path, MS_TRACE_DIR);
    if (!search->source->options.dumps && (find_traces(search, path, below) || find_traces(search, path, path))) {
        return search->rc;
    }
    struct dirent **entries;
    int count = scandir(path, &entries, not_hidden, by_name), rc = 0;
    if (count < 0) {
        ms__problem(search->source, path, 0, 0, true, "%s", strerror(errno));
        return depth == 0 ? -errno : 0;
    }
    for (int i = 0; i < count; i++) {
        struct stat st;
        snprintf(below, sizeof(below), "%s/%s", path, entries[i]->d_name);
        bool there = rc == 0 && strlen(path) < 4096 && lstat(below, &st) == 0;
        if (there && S_ISREG(st.st_mode) && is_dump(entries[i]->d_name)) {
            rc = add_dump(search, below, project != NULL ? project : path);
        } else if (there && S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
            bool own = ms_project_name_ok(entries[i]->d_name) || strncmp(entries[i]->d_name, "device_", 7) != 0;
            const char *inner = ms_project_name_ok(entries[i]->d_name) ? below : own ? NULL : path;
            inner = project != NULL ? project : inner;
            char *kept = inner != NULL ? strdup(inner) : NULL;
            rc = inner != NULL && kept == NULL ? -ENOMEM : search_directory(search, below, kept, depth + 1);
            free(kept);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* Dumped twice: the database is used. */
static void drop_doubles(struct ms_source *source)
{
    for (size_t i = source->group_count; i-- > 0;) {
        const struct ms_source_process *csv = &source->groups[i].public;
        bool doubled = false;
        for (size_t j = 0; csv->kind == MS_SOURCE_CSV && j < source->group_count; j++) {
            const struct ms_source_process *other = &source->groups[j].public;
            doubled = doubled ||
                      (other->kind == MS_SOURCE_DB && other->pid == csv->pid && strcmp(other->path, csv->path) == 0);
        }
        if (doubled) {
            ms__group_free(&source->groups[i]);
            memmove(&source->groups[i], &source->groups[i + 1],
                    (--source->group_count - i) * sizeof(source->groups[0]));
        }
    }
}

int ms__find(struct ms_source *source, const char *path)
{
    struct dump_search search = {.source = source};
    struct stat st;
    if (stat(path, &st) != 0) {
        int rc = -errno;
        ms__problem(source, path, 0, 0, true, "%s", strerror(errno));
        return rc;
    }
    if (S_ISREG(st.st_mode)) {
        const char *slash = strrchr(path, '/');
        const char *name = slash != NULL ? slash + 1 : path;
        if (!ends_with(name, ".csv") && !ends_with(name, ".db")) {
            ms__problem(source, path, 0, 0, true, "neither .csv nor .db: not a msmemscope dump");
            return -ENOENT;
        }
        return add_dump(&search, path, path);
    }
    if (!S_ISDIR(st.st_mode)) {
        ms__problem(source, path, 0, 0, true, "neither a file nor a directory");
        return -ENOENT;
    }
    char *clean = strdup(path); /* without trailing slashes */
    if (clean == NULL) {
        return -ENOMEM;
    }
    for (size_t n = strlen(clean); n > 1 && clean[n - 1] == '/'; n--) {
        clean[n - 1] = 0;
    }
    int rc = search_directory(&search, clean, NULL, 0);
    free(clean);
    drop_doubles(source);
    if (rc == 0 && source->group_count == 0) {
        ms__problem(source, path, 0, 0, true, "contains no msmemscope recording or dump");
        rc = -ENOENT;
    }
    return rc;
}
