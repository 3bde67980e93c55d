/* SPDX-License-Identifier: Apache-2.0 */
/* Where rows come from: a trace directory, or CSV or DB dumps of npuscope or of the original, one process or many,
 * one file or one per device. Analyses and exporters use this interface and need not know which it is.
 *
 *     struct ms_source *source;
 *     ms_source_open(path, &options, &source);
 *     for (size_t i = 0; i < ms_source_count(source); i++)
 *         ms_source_rows(source, i, MS_ORDER_ID, &consumer);      // (a) rows as written
 *         ms_source_feed(source, i, &model_options, &listener);   // (b) through the model: blocks, pools, steps
 *     ms_source_close(source);
 *
 * Streaming: memory is O(distinct call stacks) and, for dumps whose rows are not in order, a fixed amount for
 * sorting (the rest goes to an unnamed file). Inputs are never written to.
 *
 * Unreadable parts are reported by `problem`, with file, line or offset, and reason, and left out; the rest is
 * delivered, and ms_source_stats says that the result is partial. Functions return 0 or -errno; an error means that
 * nothing in the input was usable, or that a consumer failed. One thread at a time. */
#ifndef MS_SOURCE_SOURCE_H
#define MS_SOURCE_SOURCE_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

struct ms_source;

enum ms_source_kind { MS_SOURCE_TRACE, MS_SOURCE_CSV, MS_SOURCE_DB };

struct ms_problem {
    const char *file;
    uint64_t line;      /* 0: see offset */
    uint64_t offset;    /* bytes; of a database: the row */
    const char *reason; /* one line, no full stop */
    bool lost;          /* data is missing; false: a note */
};

/* Which parts of a dump's rows are needed: the others are not parsed. */
struct ms_source_wish {
    uint64_t attrs[MS_EV_COUNT]; /* of rows of this event: MS_WISH(SIZE) | MS_WISH(ADDR) ... */
    bool stacks;
};
#define MS_WISH(key)  (UINT64_C(1) << MS_ATTR_##key)
#define MS_EVERY_ATTR UINT64_MAX

struct ms_source_options {
    bool dumps;                        /* read the dumps of a recording instead of its trace */
    size_t memory_b;                   /* for sorting; 0: 64 MiB */
    const struct ms_source_wish *wish; /* of ms_source_rows; NULL: everything. A trace always delivers everything */
    void (*problem)(void *argument, const struct ms_problem *problem);           /* may be NULL */
    void (*progress)(void *argument, uint64_t bytes_read, uint64_t bytes_total); /* may be NULL */
    void *argument;
};

/* -ENOENT: nothing to read there (reported by problem). path: a dump file, or a directory with recordings or dumps at
 * any depth. options may be NULL. */
int ms_source_open(const char *path, const struct ms_source_options *options, struct ms_source **out);
void ms_source_close(struct ms_source *source);

struct ms_source_process {
    enum ms_source_kind kind;
    const char *path;    /* of its directory, or of the file */
    const char *name;    /* of the directory or file alone */
    const char *command; /* arguments, separated by spaces; empty: unknown */
    uint32_t pid;        /* 0: unknown */
    size_t files;        /* dump files */
    uint64_t bytes;
};
size_t ms_source_count(const struct ms_source *source);
const struct ms_source_process *ms_source_process(const struct ms_source *source, size_t at);

/* ---- (a) rows ---- */

enum ms_source_order {
    MS_ORDER_AS_WRITTEN, /* file by file; rows without a device once per file */
    MS_ORDER_ID,         /* all files of the process together, each row once */
    MS_ORDER_TIME,       /* the same by time, then id */
};

/* Calls on_row and on_slice of the consumer, then on_close; no other functions. Ids of call stacks are for
 * ms_source_stacks. A nonzero result of the consumer stops reading and is returned. A trace is processed with the
 * settings of its recording, and delivers the rows of its dump. */
int ms_source_rows(struct ms_source *source, size_t at, enum ms_source_order order, const struct ms_consumer *consumer);

/* Texts of call stacks of the process being read; valid until the next one is read. */
struct ms_stack_source ms_source_stacks(struct ms_source *source);

/* ---- (b) events ---- */

/* Called once per process id: a dump may hold rows of several processes. */
struct ms_source_listener {
    void *argument;
    /* A new model, before its first event: add consumers. */
    int (*begin)(void *argument, uint32_t pid, struct ms_model *model);
    /* It has ended; on_close was called. May be NULL. */
    int (*end)(void *argument, uint32_t pid, struct ms_model *model);
};

/* Everything recorded goes through the model (with the given options; those of the recording do not apply, except that
 * events before a deferred start stay in the shadow). Rows keep the ids that they have in a dump. */
int ms_source_feed(struct ms_source *source, size_t at, const struct ms_model_options *options,
                   const struct ms_source_listener *listener);

/* ---- statistics ---- */

struct ms_source_stats {
    uint64_t rows, slices; /* delivered so far, all processes */
    uint64_t bad_rows;     /* left out because they are unreadable */
    uint64_t unknown_rows; /* left out because their event is unknown */
    uint64_t problems;
    uint64_t bytes_read;
    uint64_t spilled_b; /* bytes that sorting wrote to files */
    bool partial;       /* data is missing */
};
void ms_source_stats(const struct ms_source *source, struct ms_source_stats *out);

#endif
