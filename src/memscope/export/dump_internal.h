/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the dump: what a format must provide, and what it may use. */
#ifndef MS_EXPORT_DUMP_INTERNAL_H
#define MS_EXPORT_DUMP_INTERNAL_H

#include "base/buffer.h"
#include "base/map.h"
#include "memscope/export/dump.h"

/* ---- formats: csv.c, sqlite.c ---- */

struct ms_dump_file; /* one device */

struct ms_dump_ops {
    const char *suffix;
    int (*open)(struct ms_dump_file *file); /* path and fd are set; writes whatever precedes the first row */
    int (*row)(struct ms_dump_file *file, const struct ms_row *row);
    int (*slice)(struct ms_dump_file *file, const struct ms_slice *slice);
    int (*patch)(struct ms_dump_file *file, const struct ms_row *row); /* NULL: files are rewritten instead */
    int (*flush)(struct ms_dump_file *file);
    int (*close)(struct ms_dump_file *file);
};
extern const struct ms_dump_ops ms__csv_ops, ms__sqlite_ops;

struct ms_dump_file {
    struct ms_dump *dump;
    uint32_t device;
    char path[128];       /* relative to the project directory */
    char final_path[128]; /* renamed to this when complete; empty: already named */
    int fd;
    bool failed; /* an error was reported; further rows are discarded */
    uint64_t rows;
    void *state; /* of the format */
};

/* A path to the file that sqlite can open. */
void ms__dump_real_path(const struct ms_dump_file *file, char *out, size_t room);
void ms__dump_created(struct ms_dump *dump, const char *path, const char *table);
int ms__dump_dirfd(const struct ms_dump *dump);
uint64_t ms__dump_time(const struct ms_dump *dump); /* for file names */
struct ms_text ms__dump_stack(const struct ms_dump *dump, bool python, uint32_t id);

/* ---- files.c: names and modes ---- */

/* Creates device_<n>/dump below the project directory. 0 or -errno. */
int ms__device_directory(int dirfd, uint32_t device, char *path, size_t room);
/* Creates `directory/stem<time>.suffix`, advancing the time while the name is taken; path gets the name. Returns the fd
 * or -errno. */
int ms__create_file(int dirfd, const char *directory, const char *stem, const char *suffix, uint64_t time_ns,
                    char *path, size_t room);
/* Finds an existing file with that stem and suffix. */
bool ms__find_file(int dirfd, const char *directory, const char *stem, const char *suffix, char *path, size_t room);
/* An unnamed file; fd or -errno. */
int ms__temporary_file(int dirfd);

/* ---- spool.c: buffered rows, in an unnamed file ---- */

struct ms_spool {
    int fd; /* -1: none yet */
    struct ms_buffer buffer;
    uint64_t size_b; /* bytes in the file */
    uint64_t rows;
};
#define MS_SPOOL_INIT                                                                                                  \
    {                                                                                                                  \
        .fd = -1                                                                                                       \
    }
int ms__spool_add(struct ms_spool *spool, int dirfd, const struct ms_row *row);
typedef int (*ms_spool_fn)(void *argument, struct ms_row *row);
/* Rows from an offset on (0: all); *from receives the end offset. */
int ms__spool_each(struct ms_spool *spool, uint64_t *from, ms_spool_fn fn, void *argument);
void ms__spool_free(struct ms_spool *spool);

/* ---- late.c: attributes by allocation id ---- */

struct ms_late_entry {
    uint32_t owner;
    uint8_t inefficient;
    uint8_t known; /* the entry is set */
    uint8_t dirty; /* changed since its row was written */
    uint8_t reserved;
    uint64_t row; /* id of the MALLOC row */
};
struct ms_late {
    int fd;                        /* -1: none yet */
    struct ms_late_entry *entries; /* the mapped file */
    uint64_t room;
};
#define MS_LATE_INIT                                                                                                   \
    {                                                                                                                  \
        .fd = -1                                                                                                       \
    }
struct ms_late_entry *ms__late_at(struct ms_late *late, int dirfd, uint64_t allocation_id); /* NULL: out of memory */
const struct ms_late_entry *ms__late_get(const struct ms_late *late, uint64_t allocation_id);
void ms__late_free(struct ms_late *late);

#endif
