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

/* Functions may be NULL. Texts are valid during the call and have no line end. */
struct ms_analyze_io {
    size_t sz; /* sizeof(struct ms_analyze_io) */
    void *argument;
    /* What msMemScope prints on stdout, line by line. */
    void (*line)(void *argument, const char *line);
    /* Rows that cannot be read, data that is missing: "FILE:LINE: reason". For stderr. */
    void (*problem)(void *argument, const char *line);
    /* Now and then; total may be 0: not known. Nonzero: stop. */
    int (*progress)(void *argument, uint64_t done, uint64_t total);
};

uint32_t ms_analyze_version(void) MS_ANALYZE_EXPORT; /* MS_ANALYZE_API_VERSION */

/* ---- leaks between marks ---- */

struct ms_check_leaks_result {
    uint64_t leaks, bytes;  /* of all devices */
    uint32_t devices;       /* that were analysed */
    uint32_t skipped;       /* that have too few marks */
    uint64_t rows;          /* read */
    uint64_t rows_left_out; /* could not be read */
};

/* HAL blocks allocated between mark number start_index (0, 1, 2 ...) called `mark` and the next one, and not freed
 * until the one after that; for every device. result may be NULL. */
int ms_check_leaks(const char *path, const char *mark, uint64_t start_index, const struct ms_analyze_io *io,
                   struct ms_check_leaks_result *result, char *why, size_t why_b) MS_ANALYZE_EXPORT;

/* ---- inefficient use ---- */

/* Bits, by the numbers of MS_INEFFICIENT_TYPES in memscope/model/columns.h. */
#define MS_CHECK_TYPE(number) (1u << ((number)-1))
#define MS_CHECK_ALL          7u

struct ms_check_inefficient_result {
    uint64_t blocks[3], bytes[3]; /* by type, in the order of that table; those of mem_size and more */
    uint64_t rows_changed;        /* MALLOC rows that got a new value */
    uint64_t rows, rows_left_out;
    char kept[4096 + 16]; /* where the file as it was before is kept; empty: nothing was written */
};

/* Sets inefficient_type of the MALLOC rows of `path`, in addition to what stands there. types: bits MS_CHECK_TYPE; mem_size_b:
 * smaller blocks are passed over; idle_calls: more calls than that without access are idleness, at least 1.
 *
 * A file is replaced as a whole (CSV: written beside it and renamed; DB: one transaction), and the file before is kept
 * as PATH.orig (.orig.1 ...). If no row changes, nothing is written. Everything else in the file stays as it is, line
 * ends too. */
int ms_check_inefficient(const char *path, uint64_t mem_size_b, unsigned types, uint64_t idle_calls,
                         const struct ms_analyze_io *io, struct ms_check_inefficient_result *result, char *why,
                         size_t why_b) MS_ANALYZE_EXPORT;

#endif
