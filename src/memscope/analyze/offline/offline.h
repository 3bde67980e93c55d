/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the offline functions: the dump being analysed, its rows sorted by id, and writing results back. See
 * memscope/analyze/api.h. */
#ifndef MS_OFFLINE_OFFLINE_H
#define MS_OFFLINE_OFFLINE_H

#include "memscope/analyze/api.h"

#include "base/buffer.h"
#include "base/macros.h"
#include "base/map.h"
#include "memscope/source/source.h"

#include <stdbool.h>

/* ---- dump.c ---- */

struct ms_offline {
    const char *path, *name; /* name: without directories */
    bool db;
    struct ms_analyze_io io;
    char *why; /* NULL: not requested */
    size_t why_b;
    const struct ms_source_wish *wish; /* set by the analysis */
    struct ms_source *source;
    uint64_t rows, left_out;
    uint64_t problems, problems_reported; /* a dump may be read twice; each problem is reported once */
    bool cancelled;
};

/* Checks path and file. writable: it will be written back. wish: what the analysis reads. 0 or -errno with why set. */
int ms_offline_open(struct ms_offline *offline, const char *path, bool writable, const struct ms_source_wish *wish,
                    const struct ms_analyze_io *io, char *why, size_t why_b);
void ms_offline_close(struct ms_offline *offline);

void ms_offline_line(const struct ms_offline *offline, const char *format, ...) MS_PRINTF(2, 3);
int ms_offline_fail(const struct ms_offline *offline, int rc, const char *format, ...) MS_PRINTF(3, 4); /* rc */

/* What an analysis keeps of a row. */
struct ms_offline_event {
    uint64_t id;
    uint64_t number; /* allocation id, or address */
    uint64_t size_b;
    uint32_t pid, device;
    uint8_t kind, detail; /* meaning defined by the analysis */
    uint32_t next;        /* for sorting */
};

struct ms_offline_reader {
    void *self;
    /* True: *event is filled in, except id, pid and device. */
    bool (*choose)(void *self, const struct ms_row *row, struct ms_offline_event *event);
    int (*take)(void *self, const struct ms_offline_event *event); /* in order of ids; 0 or -errno */
    void (*restart)(void *self);                                   /* everything taken so far will be passed again */
};

/* Reads all rows in order of ids. A sorted dump is streamed; otherwise 40 bytes are kept for each chosen row (at most
 * 16 M; if there are more, the dump is sorted on disk). 0 or -errno with why set. */
int ms_offline_read(struct ms_offline *offline, const struct ms_offline_reader *reader);

/* ---- write_csv.c, write_db.c: writing results into the dump ---- */

/* By process and id of the MALLOC row: MS_INEFFICIENT_*, as in struct ms_block. */
struct ms_offline_results {
    struct {
        uint32_t pid;
        struct ms_map found;
    } * processes;
    size_t count;
};
uint8_t ms_offline_found(const struct ms_offline_results *results, uint32_t pid, uint64_t id); /* 0: nothing */

/* *changed counts changed rows; if there are none, nothing is written. kept: path of the backup. */
int ms_offline_write_csv(struct ms_offline *offline, const struct ms_offline_results *results, uint64_t *changed,
                         char *kept, size_t kept_b);
int ms_offline_write_db(struct ms_offline *offline, const struct ms_offline_results *results, uint64_t *changed,
                        char *kept, size_t kept_b);

/* A free name: PATH.orig, or PATH.orig.1 ... False: none. */
bool ms_offline_kept_name(const char *path, char *kept, size_t kept_b);

/* ---- attr.c ---- */

/* Appends these types to inefficient_type in an attribute cell, text or JSON, after those already there. False: nothing
 * new. */
bool ms_offline_attr(struct ms_buffer *out, const char *s, size_t length_b, uint8_t found);

#endif
