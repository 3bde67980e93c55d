/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the sources: files of rows, and what is built on them. */
#ifndef MS_SOURCE_INTERNAL_H
#define MS_SOURCE_INTERNAL_H

#include "base/buffer.h"
#include "base/intern.h"
#include "base/macros.h"
#include "memscope/source/source.h"
#include "memscope/source/words.h"

/* ---- source.c ---- */

struct ms_source_file {
    char *path;
    uint64_t bytes;
    uint32_t device; /* from the name of its directory; MS_DEV_UNKNOWN: none */
    bool slices;     /* python_trace */
    bool db;
};

struct ms_source_group { /* a process */
    struct ms_source_process public;
    struct ms_source_file *files;
    size_t file_count;
    char *trace_dir, *trace_name, *command; /* of a trace */
};

struct ms_stack_texts { /* of dumps: call stacks by number */
    struct ms_intern c, python;
};

struct ms_source {
    struct ms_source_options options;
    struct ms_source_group *groups;
    size_t group_count, group_room;
    struct ms_stack_texts stacks;
    struct ms_stack_source stack_source;
    const struct ms_source_wish *wish; /* of the current caller */
    struct ms_source_stats stats;
    uint64_t bytes_total;
};

void ms__group_free(struct ms_source_group *group);

/* Reports a problem; after the first hundred of a source they are only counted. */
void ms__problem(struct ms_source *source, const char *file, uint64_t line, uint64_t offset, bool lost,
                 const char *format, ...) MS_PRINTF(6, 7);
void ms__progress(struct ms_source *source, uint64_t bytes_more);

/* ---- find.c ---- */
int ms__find(struct ms_source *source, const char *path);

/* ---- parse.c: cells to rows ---- */

struct ms_cells {
    struct ms_text at[MS_DUMP_COLUMN_COUNT]; /* s NULL: the dump has no such column */
    const struct ms_source_wish *wish;       /* NULL: everything */
    enum ms_name_quotes {                    /* around names of marks */
                          MS_QUOTES_NONE,
                          MS_QUOTES_ONE, /* databases keep them */
                          MS_QUOTES_ALL, /* not written by the rules: the original adds more of them for each file */
    } name_quotes;
};

enum ms_parse { MS_PARSED, MS_UNREADABLE, MS_UNKNOWN };

/* Texts of the row point into the cells, or into scratch. On UNREADABLE *column is the bad column. */
enum ms_parse ms__parse_row(struct ms_stack_texts *stacks, struct ms_buffer *scratch, const struct ms_cells *cells,
                            struct ms_row *row, enum ms_dump_column *column);
bool ms__is_none(struct ms_text cell); /* empty, or N/A */
/* Times that are N/A become 0. False: unreadable. */
bool ms__parse_slice(const struct ms_text cells[MS_SLICE_COLUMN_COUNT], struct ms_slice *slice);

/* ---- files of rows ---- */

struct ms_row_reader; /* an open file */

struct ms_rows_ops {
    int (*next)(struct ms_row_reader *rows, struct ms_row *row);       /* 1, 0: no more, -errno */
    int (*next_slice)(struct ms_row_reader *rows, struct ms_slice *s); /* NULL: has none */
    /* Whether the rows from here on are in order of their keys. Returns to the first row of the file in any case. */
    int (*rest_in_order)(struct ms_row_reader *rows, enum ms_source_order order, uint64_t after, bool *in_order);
    void (*close)(struct ms_row_reader *rows);
};

struct ms_row_reader {
    const struct ms_rows_ops *ops;
    struct ms_source *source;
    const struct ms_source_file *file;
    bool quiet;              /* reading ahead: problems will be found again */
    uint64_t reported_until; /* position up to which they were reported: a file may be read twice */
};

/* Whether to report a problem at this position (offset of a CSV file, rowid of a database). It counts as reported
 * afterwards. */
bool ms__is_new(struct ms_row_reader *rows, uint64_t position);

/* Reports and counts a row that cannot be used, at a line (0: of a database) and position. */
void ms__bad_row(struct ms_row_reader *rows, enum ms_parse why, const struct ms_cells *cells,
                 enum ms_dump_column column, uint64_t line, uint64_t position);

static inline uint64_t ms__key_of(const struct ms_row *row, enum ms_source_order order)
{
    return order == MS_ORDER_TIME ? row->time_ns : row->id;
}

int ms__csv_rows_open(struct ms_source *source, const struct ms_source_file *file, bool quiet,
                      struct ms_row_reader **out); /* csv_rows.c */
int ms__db_rows_open(struct ms_source *source, const struct ms_source_file *file, bool quiet,
                     struct ms_row_reader **out); /* db_rows.c */
/* quiet: the file was opened before, and its problems were reported. */
int ms__rows_open(struct ms_source *source, const struct ms_source_file *file, bool quiet, struct ms_row_reader **out);

/* ---- sort.c: one file in order ---- */

struct ms_sorted;
int ms__sorted_open(struct ms_row_reader *rows, enum ms_source_order order,
                    struct ms_sorted **out); /* takes ownership of rows */
int ms__sorted_next(struct ms_sorted *sorted, struct ms_row *row);
void ms__sorted_close(struct ms_sorted *sorted);

/* ---- merge.c: all files of a process as one stream of rows and calls ---- */
int ms__merge(struct ms_source *source, const struct ms_source_group *group, enum ms_source_order order,
              const struct ms_consumer *consumer);

/* ---- events.c: rows back to events ---- */

struct ms_events;
struct ms_events *ms__events_new(const struct ms_model_options *options, const struct ms_source_listener *listener);
struct ms_consumer ms__events_consumer(struct ms_events *events); /* on_row, on_slice, on_close */
void ms__events_free(struct ms_events *events);

/* ---- traces.c ---- */
int ms__trace_rows(struct ms_source *source, const struct ms_source_group *group, const struct ms_consumer *consumer);
int ms__trace_feed(struct ms_source *source, const struct ms_source_group *group,
                   const struct ms_model_options *options, const struct ms_source_listener *listener);

#endif
