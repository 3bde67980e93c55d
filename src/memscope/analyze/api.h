/* SPDX-License-Identifier: Apache-2.0 */
/* Functions on dumps, shared by the Python package and the command line: libmsmemscope_analyze.so.
 *
 *     char why[MS_ANALYZE_WHY_B];
 *     struct ms_analyze_io io = {.sz = sizeof(io), .line = print, .progress = show};
 *     int rc = ms_check_leaks("memscope_dump_20261115192646.csv", "mark", 0, &io, NULL, why, sizeof(why));
 *
 * They read .csv and .db dumps, of npuscope and of msMemScope, and return 0 or -errno. On error `why` (may be NULL)
 * receives one line without a line end:
 *
 *   -ENOENT        no such file, or not a regular file
 *   -EACCES        the file cannot be read, or cannot be written where the function writes
 *   -EFBIG         larger than 8 GiB
 *   -ENAMETOOLONG  path longer than 4096 bytes
 *   -EINVAL        invalid argument, or the suffix is neither .csv nor .db
 *   -EPROTO        not a dump
 *   -ECANCELED     the progress callback cancelled; nothing was written
 *   others         read and write errors
 *
 * No global state: any number of threads may call concurrently. Nothing is printed. */
#ifndef MS_ANALYZE_API_H
#define MS_ANALYZE_API_H

#include <stddef.h>
#include <stdint.h>

#define MS_ANALYZE_API_VERSION 1u
#define MS_ANALYZE_WHY_B       512u
#define MS_ANALYZE_EXPORT      __attribute__((visibility("default")))

/* Callbacks may be NULL. Texts are valid during the call and have no line end. */
struct ms_analyze_io {
    size_t sz; /* sizeof(struct ms_analyze_io) */
    void *argument;
    /* The lines msMemScope prints on stdout. */
    void (*line)(void *argument, const char *line);
    /* Unreadable rows, missing data: "FILE:LINE: reason". For stderr. */
    void (*problem)(void *argument, const char *line);
    /* Called at intervals; total is 0 if unknown. A nonzero return cancels. */
    int (*progress)(void *argument, uint64_t done, uint64_t total);
};

uint32_t ms_analyze_version(void) MS_ANALYZE_EXPORT; /* MS_ANALYZE_API_VERSION */

/* ---- leaks between marks ---- */

struct ms_check_leaks_result {
    uint64_t leaks, bytes;  /* over all devices */
    uint32_t devices;       /* analysed */
    uint32_t skipped;       /* devices with too few marks */
    uint64_t rows;          /* read */
    uint64_t rows_left_out; /* unreadable */
};

/* Finds HAL blocks allocated between mark number start_index (0, 1, 2 ...) named `mark` and the next such mark, and not
 * freed before the one after that, for every device. result may be NULL. */
int ms_check_leaks(const char *path, const char *mark, uint64_t start_index, const struct ms_analyze_io *io,
                   struct ms_check_leaks_result *result, char *why, size_t why_b) MS_ANALYZE_EXPORT;

/* ---- inefficient use ---- */

/* Bits, by the numbers of MS_INEFFICIENT_TYPES in memscope/model/columns.h. */
#define MS_CHECK_TYPE(number) (1u << ((number)-1))
#define MS_CHECK_ALL          7u

struct ms_check_inefficient_result {
    uint64_t blocks[3], bytes[3]; /* by type, in the order of that table; only blocks of at least mem_size */
    uint64_t rows_changed;        /* MALLOC rows whose value changed */
    uint64_t rows, rows_left_out;
    char kept[4096 + 16]; /* path of the backup of the original file; empty: nothing was written */
};

/* Adds to inefficient_type of the MALLOC rows in `path`; existing values stay. types: bits MS_CHECK_TYPE; mem_size_b:
 * smaller blocks are skipped; idle_calls: a block is idle after more calls than this without an access, at least 1.
 *
 * A file is replaced atomically (CSV: a temporary file in the same directory, renamed; DB: one transaction), and the
 * original is kept as PATH.orig (.orig.1 ...). If no row changes, nothing is written. Everything else in the file is
 * preserved, including line ends. */
int ms_check_inefficient(const char *path, uint64_t mem_size_b, unsigned types, uint64_t idle_calls,
                         const struct ms_analyze_io *io, struct ms_check_inefficient_result *result, char *why,
                         size_t why_b) MS_ANALYZE_EXPORT;

#endif
