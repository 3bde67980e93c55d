/* SPDX-License-Identifier: Apache-2.0 */
/* See modules.h. */
#include "memscope/recording/modules.h"

#include "base/macros.h"
#include "memscope/symbols/perf_map.h"
#include "memscope/symbols/symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PERF_MAP_MAX_B (64u << 20)
#define PATH_B         4096

struct module_file {
    uint8_t build_id[32];
    uint32_t build_id_b;
    uint64_t dev, inode; /* identify a file without a build id */
    int fd, debug_fd;    /* -1: none */
    int number;          /* number in the symbolizer; -1: not requested yet; -2: unusable */
};

/* A report of a process: a module, or generated code. */
struct report {
    struct report *next;
    struct ms_process_modules *files;
    uint64_t pc; /* generated code; 0: a module */
    uint8_t build_id[32];
    uint32_t build_id_b;
    char path[];
};

struct ms_modules {
    pthread_mutex_t lock; /* protects files; held for lookup and insertion, never while opening a file */
    struct module_file **files;
    size_t count, room;
    struct ms_symbolizer *symbolizer;

    struct report *reports; /* atomic: newest first */
    sem_t reported;
    pthread_t thread;
    bool has_thread;
    uint32_t quit; /* atomic */
};

struct module_mapping {
    uint64_t start, end;
    char name[64];
};

struct ms_process_modules {
    struct ms_modules *modules;
    uint32_t pid, pid_inside;
    int root, exe; /* -1: none */
    FILE *
        maps; /* opened while the process lived: reads as empty after its death, never as another process; NULL: none */
    char *exe_path;   /* as the process sees it; NULL: unknown */
    uint32_t pending; /* atomic: reports not handled yet */

    pthread_mutex_t lock; /* protects the rest */
    struct module_mapping *mappings;
    size_t mapping_count;
    struct ms_perf_map perf_map;
    off_t perf_map_b;
};

/* ---- opening ---- */

/* Opens a path as the process sees it: links are resolved below its root. Regular files only, never a terminal. */
static int open_in(int root, const char *path)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat status;
    int fd = -1;
    if (path[0] != '/') {
        return -1;
    }
    if (root >= 0) {
#ifdef SYS_openat2
        struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
        fd = (int)syscall(SYS_openat2, root, path + 1, &how, sizeof(how));
#endif
        fd = fd < 0 && path[1] != '\0' ? openat(root, path + 1, flags) : fd;
    }
    fd = fd < 0 ? open(path, flags) : fd;
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int open_debug(int root, const uint8_t *build_id, uint32_t build_id_b)
{
    char path[256] = "/usr/lib/debug/.build-id/";
    size_t used = strlen(path);
    if (build_id_b < 2) {
        return -1;
    }
    for (uint32_t i = 0; i < build_id_b; i++) {
        used += (size_t)snprintf(path + used, sizeof(path) - used, i == 1 ? "/%02x" : "%02x", build_id[i]);
    }
    snprintf(path + used, sizeof(path) - used, ".debug");
    return open_in(root, path);
}

static int open_module(const struct ms_process_modules *files, const char *path)
{
    int fd = files->exe >= 0 && files->exe_path != NULL && strcmp(path, files->exe_path) == 0
                 ? fcntl(files->exe, F_DUPFD_CLOEXEC, 3)
                 : -1;
    return fd >= 0 ? fd : open_in(files->root, path);
}

/* ---- files ---- */

static struct module_file *find(const struct ms_modules *modules, const struct module_file *like)
{
    for (size_t i = modules->count; i > 0; i--) {
        struct module_file *file = modules->files[i - 1];
        bool same =
            like->build_id_b > 0
                ? file->build_id_b == like->build_id_b && memcmp(file->build_id, like->build_id, like->build_id_b) == 0
                : file->build_id_b == 0 && file->dev == like->dev && file->inode == like->inode;
        if (same) {
            return file;
        }
    }
    return NULL;
}

static struct module_file *find_or_enter(struct ms_modules *modules, struct module_file *new)
{
    pthread_mutex_lock(&modules->lock);
    struct module_file *file = find(modules, new);
    if (file == NULL && modules->count == modules->room) {
        size_t room = modules->room > 0 ? 2 * modules->room : 64;
        struct module_file **files = realloc(modules->files, room * sizeof(*files));
        modules->files = files != NULL ? files : modules->files;
        modules->room = files != NULL ? room : modules->room;
    }
    if (file == NULL && modules->count < modules->room && (file = malloc(sizeof(*file))) != NULL) {
        *file = *new;
        new->fd = new->debug_fd = -1;
        modules->files[modules->count++] = file;
    }
    pthread_mutex_unlock(&modules->lock);
    return file;
}

/* The file of a module, opened now if it is not open yet. NULL: not available. */
static struct module_file *file_of(struct ms_process_modules *files, const char *path, const uint8_t *build_id,
                                   uint32_t build_id_b)
{
    struct module_file wanted = {.fd = -1, .debug_fd = -1, .number = -1};
    if (build_id_b > 0 && build_id_b <= sizeof(wanted.build_id)) {
        memcpy(wanted.build_id, build_id, build_id_b);
        wanted.build_id_b = build_id_b;
        pthread_mutex_lock(&files->modules->lock);
        struct module_file *file = find(files->modules, &wanted);
        pthread_mutex_unlock(&files->modules->lock);
        if (file != NULL) {
            return file;
        }
    }
    struct stat status;
    wanted.fd = open_module(files, path);
    if (wanted.fd < 0 || fstat(wanted.fd, &status) != 0) {
        return NULL;
    }
    wanted.dev = status.st_dev;
    wanted.inode = status.st_ino;
    wanted.debug_fd = open_debug(files->root, wanted.build_id, wanted.build_id_b);
    struct module_file *file = find_or_enter(files->modules, &wanted);
    int left[] = {wanted.fd, wanted.debug_fd};
    for (size_t i = 0; i < MS_COUNT_OF(left); i++) {
        if (left[i] >= 0) {
            close(left[i]);
        }
    }
    return file;
}

static int number_of(struct ms_modules *modules, struct module_file *file)
{
    int number = __atomic_load_n(&file->number, __ATOMIC_ACQUIRE);
    if (number == -1) {
        number = ms_symbolizer_file(modules->symbolizer, file->fd, file->debug_fd, file->build_id, file->build_id_b);
        number = number < 0 ? -2 : number;
        __atomic_store_n(&file->number, number, __ATOMIC_RELEASE); /* in a race, both numbers are valid */
    }
    return number;
}

char *ms_process_modules_text(struct ms_process_modules *files, const struct ms_module *module, uint64_t offset,
                              size_t *length_b)
{
    char path[PATH_B];
    if (module->path.length_b >= sizeof(path)) {
        return NULL;
    }
    memcpy(path, module->path.s, module->path.length_b);
    path[module->path.length_b] = '\0';
    struct module_file *file = file_of(files, path, module->build_id, module->build_id_b);
    int number = file != NULL ? number_of(files->modules, file) : -2;
    return number >= 0 ? ms_symbolizer_text(files->modules->symbolizer, number, offset, length_b) : NULL;
}

/* ---- generated code ---- */

static const struct module_mapping *mapping_of(const struct ms_process_modules *files, uint64_t pc)
{
    for (size_t i = 0; i < files->mapping_count; i++) {
        if (pc - files->mappings[i].start < files->mappings[i].end - files->mappings[i].start) {
            return &files->mappings[i];
        }
    }
    return NULL;
}

/* Reads the executable mappings of the process, while it lives. */
static void read_mappings(struct ms_process_modules *files)
{
    char *line = NULL;
    size_t line_b = 0;
    FILE *in = files->maps;
    if (in == NULL) {
        return;
    }
    rewind(in);
    while (getline(&line, &line_b, in) > 0) {
        unsigned long long start, end;
        char mode[8];
        int name_at = 0;
        if (sscanf(line, "%llx-%llx %7s %*s %*s %*s %n", &start, &end, mode, &name_at) < 3 || mode[2] != 'x' ||
            mapping_of(files, start) != NULL) {
            continue;
        }
        struct module_mapping *grown = realloc(files->mappings, (files->mapping_count + 1) * sizeof(*grown));
        if (grown == NULL) {
            break;
        }
        files->mappings = grown;
        struct module_mapping *mapping = &files->mappings[files->mapping_count++];
        *mapping = (struct module_mapping){.start = start, .end = end};
        const char *name = name_at > 0 ? line + name_at : "";
        snprintf(mapping->name, sizeof(mapping->name), "%.*s", (int)strcspn(name, "\n"), name);
        if (mapping->name[0] == '\0') {
            strcpy(mapping->name, "//anon"); /* the name that perf uses */
        }
    }
    free(line);
}

static char *read_file(int fd, size_t *length_b)
{
    struct stat status;
    char *text = NULL;
    *length_b = 0;
    if (fstat(fd, &status) == 0 && status.st_size > 0 && status.st_size <= PERF_MAP_MAX_B &&
        (text = malloc((size_t)status.st_size)) != NULL) {
        ssize_t n;
        while (*length_b < (size_t)status.st_size &&
               (n = read(fd, text + *length_b, (size_t)status.st_size - *length_b)) > 0) {
            *length_b += (size_t)n;
        }
    }
    return text;
}

static int open_perf_map(const struct ms_process_modules *files)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%u.map", files->pid_inside);
    return files->pid != 0 ? open_in(files->root, path) : -1;
}

/* Looks an address up in the map, which is read again if it has grown. */
static const struct ms_perf_entry *named(struct ms_process_modules *files, uint64_t pc)
{
    const struct ms_perf_entry *entry = ms_perf_map_find(&files->perf_map, pc);
    int fd = entry == NULL ? open_perf_map(files) : -1;
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size != files->perf_map_b) {
        size_t length_b;
        char *text = read_file(fd, &length_b);
        if (text != NULL) {
            ms_perf_map_free(&files->perf_map);
            ms_perf_map_parse(&files->perf_map, text, length_b);
            entry = ms_perf_map_find(&files->perf_map, pc);
        }
        files->perf_map_b = status.st_size;
    }
    if (fd >= 0) {
        close(fd);
    }
    return entry;
}

char *ms_process_modules_generated_text(struct ms_process_modules *files, uint64_t pc, size_t *length_b)
{
    char *text = NULL;
    pthread_mutex_lock(&files->lock);
    if (mapping_of(files, pc) == NULL) {
        read_mappings(files);
    }
    const struct module_mapping *mapping = mapping_of(files, pc);
    const struct ms_perf_entry *entry = named(files, pc > 0 ? pc - 1 : 0);
    int n = -1;
    if (entry != NULL) {
        n = asprintf(&text, "%s(%.*s+0x%llx)", mapping != NULL ? mapping->name : "//anon", (int)entry->name_b,
                     entry->name, (unsigned long long)(pc - entry->start));
    } else if (mapping != NULL) {
        n = asprintf(&text, "%s", mapping->name);
    }
    pthread_mutex_unlock(&files->lock);
    *length_b = n > 0 ? (size_t)n : 0;
    return n > 0 ? text : NULL;
}

static bool copy_name(char *out, size_t out_b, const char *trace_name)
{
    return snprintf(out, out_b, "%s%s", trace_name, MS_PERF_MAP_SUFFIX) < (int)out_b;
}

void ms_process_modules_keep_perf_map(struct ms_process_modules *files, int dirfd, const char *trace_name)
{
    char name[128];
    int fd = copy_name(name, sizeof(name), trace_name) ? open_perf_map(files) : -1;
    if (fd < 0) {
        return;
    }
    size_t length_b;
    char *text = read_file(fd, &length_b);
    int out = text != NULL && length_b > 0 ? openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (out >= 0) {
        size_t done = 0;
        ssize_t n;
        while (done < length_b && (n = write(out, text + done, length_b - done)) > 0) {
            done += (size_t)n;
        }
        if (done < length_b) { /* disk full: a partial map is not kept */
            unlinkat(dirfd, name, 0);
        }
        close(out);
    }
    free(text);
    close(fd);
}

void ms_process_modules_use_perf_map(struct ms_process_modules *files, int dirfd, const char *trace_name)
{
    char name[128];
    int fd = copy_name(name, sizeof(name), trace_name) ? openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0) {
        return;
    }
    size_t length_b;
    char *text = read_file(fd, &length_b);
    close(fd);
    if (text != NULL) {
        pthread_mutex_lock(&files->lock);
        ms_perf_map_free(&files->perf_map);
        ms_perf_map_parse(&files->perf_map, text, length_b);
        pthread_mutex_unlock(&files->lock);
    }
}

/* ---- reports ---- */

static void report(struct ms_process_modules *files, const char *path, size_t path_b, const uint8_t *build_id,
                   uint32_t build_id_b, uint64_t pc)
{
    struct ms_modules *modules = files->modules;
    struct report *r = modules->has_thread ? calloc(1, sizeof(*r) + path_b + 1) : NULL;
    if (r == NULL) {
        return; /* it is opened at the first lookup */
    }
    r->files = files;
    r->pc = pc;
    memcpy(r->path, path, path_b);
    r->build_id_b = build_id_b <= sizeof(r->build_id) ? build_id_b : 0;
    if (r->build_id_b > 0) {
        memcpy(r->build_id, build_id, r->build_id_b);
    }
    __atomic_add_fetch(&files->pending, 1, __ATOMIC_RELAXED);
    r->next = __atomic_load_n(&modules->reports, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&modules->reports, &r->next, r, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    sem_post(&modules->reported);
}

static void on_module(void *argument, const struct ms_module *module)
{
    report(argument, module->path.s, module->path.length_b, module->build_id, module->build_id_b, 0);
}

static void on_generated(void *argument, uint64_t pc)
{
    report(argument, "", 0, NULL, 0, pc);
}

struct ms_drain_observer ms_process_modules_observer(struct ms_process_modules *files)
{
    return (struct ms_drain_observer){.module = on_module, .generated = on_generated, .argument = files};
}

static void take(struct report *r)
{
    struct ms_process_modules *files = r->files;
    if (r->pc == 0) {
        file_of(files, r->path, r->build_id, r->build_id_b);
    } else {
        pthread_mutex_lock(&files->lock);
        if (mapping_of(files, r->pc) == NULL) {
            read_mappings(files);
        }
        pthread_mutex_unlock(&files->lock);
    }
    free(r);
    __atomic_sub_fetch(&files->pending, 1, __ATOMIC_RELEASE);
}

static void *open_reported(void *argument)
{
    struct ms_modules *modules = argument;
    while (__atomic_load_n(&modules->quit, __ATOMIC_ACQUIRE) == 0) {
        while (sem_wait(&modules->reported) != 0 && errno == EINTR) {
        }
        struct report *newest = __atomic_exchange_n(&modules->reports, NULL, __ATOMIC_ACQUIRE), *oldest = NULL;
        while (newest != NULL) {
            struct report *next = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = next;
        }
        while (oldest != NULL) {
            struct report *next = oldest->next;
            take(oldest);
            oldest = next;
        }
    }
    return NULL;
}

/* ---- creating and freeing ---- */

struct ms_modules *ms_modules_new(void)
{
    struct ms_modules *modules = calloc(1, sizeof(*modules));
    if (modules == NULL || (modules->symbolizer = ms_symbolizer_new()) == NULL) {
        free(modules);
        return NULL;
    }
    pthread_mutex_init(&modules->lock, NULL);
    sem_init(&modules->reported, 0, 0);
    return modules;
}

void ms_modules_free(struct ms_modules *modules)
{
    if (modules == NULL) {
        return;
    }
    if (modules->has_thread) {
        __atomic_store_n(&modules->quit, 1, __ATOMIC_RELEASE);
        sem_post(&modules->reported);
        pthread_join(modules->thread, NULL);
    }
    ms_symbolizer_free(modules->symbolizer);
    for (size_t i = 0; i < modules->count; i++) {
        close(modules->files[i]->fd);
        if (modules->files[i]->debug_fd >= 0) {
            close(modules->files[i]->debug_fd);
        }
        free(modules->files[i]);
    }
    free(modules->files);
    sem_destroy(&modules->reported);
    pthread_mutex_destroy(&modules->lock);
    free(modules);
}

static void look_at(struct ms_process_modules *files)
{
    char path[64], target[PATH_B];
    snprintf(path, sizeof(path), "/proc/%u/root", files->pid);
    files->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/%u/maps", files->pid);
    files->maps = fopen(path, "re");
    snprintf(path, sizeof(path), "/proc/%u/exe", files->pid);
    files->exe = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    if (n > 0) {
        static const char gone[] = " (deleted)";
        size_t gone_b = sizeof(gone) - 1, target_b = (size_t)n;
        if (target_b > gone_b && memcmp(target + target_b - gone_b, gone, gone_b) == 0) {
            target_b -= gone_b;
        }
        files->exe_path = strndup(target, target_b);
    }
}

struct ms_process_modules *ms_process_modules_new(struct ms_modules *modules, uint32_t pid, uint32_t pid_inside)
{
    struct ms_process_modules *files = calloc(1, sizeof(*files));
    if (files == NULL) {
        return NULL;
    }
    pthread_mutex_init(&files->lock, NULL);
    files->modules = modules;
    files->pid = pid;
    files->pid_inside = pid_inside;
    files->root = files->exe = -1;
    if (pid != 0) {
        look_at(files);
        if (!modules->has_thread) {
            modules->has_thread = pthread_create(&modules->thread, NULL, open_reported, modules) == 0;
        }
    }
    return files;
}

void ms_process_modules_free(struct ms_process_modules *files)
{
    if (files == NULL) {
        return;
    }
    while (__atomic_load_n(&files->pending, __ATOMIC_ACQUIRE) != 0) {
        usleep(1000);
    }
    int fds[] = {files->root, files->exe};
    for (size_t i = 0; i < MS_COUNT_OF(fds); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    if (files->maps != NULL) {
        fclose(files->maps);
    }
    ms_perf_map_free(&files->perf_map);
    pthread_mutex_destroy(&files->lock);
    free(files->mappings);
    free(files->exe_path);
    free(files);
}
