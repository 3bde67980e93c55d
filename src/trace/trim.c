/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes segments of a trace, while it is written (writer.c) and afterwards. */
#include "trace/reader_internal.h"
#include "trace/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_B 96

/* Symbols in an aux file apply to all segments. */
static bool has_symbols(int dir, const char *aux)
{
    struct ms_blockfile file;
    int fd = openat(dir, aux, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno != ENOENT; /* unknown: keep the file */
    }
    bool more = ms_blockfile_init(&file, fd) == 0, found = !more; /* out of memory: keep the file */
    while (more && !found) {
        struct ms_block_head head;
        uint64_t at, cut;
        const char *reason;
        enum ms_walk walk = ms_blockfile_next(&file, &head, &at, &cut, &reason);
        more = walk != MS_WALK_NO_MORE;
        found = walk == MS_WALK_BLOCK && head.kind == MS_BLOCK_SYMBOLS;
    }
    ms_blockfile_destroy(&file);
    return found;
}

uint64_t ms__segment_delete(int dir, const char *name, uint64_t segment)
{
    struct stat status;
    char file[FILE_B];
    uint64_t freed_b = 0;
    if (ms__file_name(file, sizeof(file), name, segment, ".seg") && fstatat(dir, file, &status, 0) == 0 &&
        unlinkat(dir, file, 0) == 0) {
        freed_b = (uint64_t)status.st_size;
    }
    if (ms__file_name(file, sizeof(file), name, segment, ".aux") && !has_symbols(dir, file)) {
        unlinkat(dir, file, 0);
    }
    return freed_b;
}

int ms__segments_find(int dir, const char *name, uint64_t *first, uint64_t *last, uint64_t *total_b)
{
    *first = *last = *total_b = 0;
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (entries == NULL) {
        int rc = -errno;
        if (fd >= 0) {
            close(fd);
        }
        return rc;
    }
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        size_t length;
        struct stat status;
        uint64_t segment = ms__file_parse(entry->d_name, ".seg", &length);
        if (segment != 0 && length == strlen(name) && strncmp(entry->d_name, name, length) == 0) {
            *first = *first == 0 || segment < *first ? segment : *first;
            *last = segment > *last ? segment : *last;
            *total_b += fstatat(dir, entry->d_name, &status, 0) == 0 ? (uint64_t)status.st_size : 0;
        }
    }
    closedir(entries);
    return 0;
}

uint64_t ms_trace_forget(struct ms_trace *t, uint64_t from, uint64_t below)
{
    uint64_t oldest = t->blocks != NULL ? t->blocks->segment : t->segment, freed_b = 0;
    for (uint64_t i = from; i < below && i < oldest; i++) {
        freed_b += ms__segment_delete(t->dir, t->info.process.name, i);
    }
    return freed_b;
}

int ms_trace_trim(int dirfd, const char *name, uint64_t max_b, uint64_t covered)
{
    uint64_t first, last, total_b;
    int rc = ms__segments_find(dirfd, name, &first, &last, &total_b);
    for (uint64_t i = first; rc == 0 && total_b > max_b && i < covered && i < last; i++) {
        total_b -= ms__segment_delete(dirfd, name, i);
    }
    return rc;
}
