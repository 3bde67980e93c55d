/* SPDX-License-Identifier: Apache-2.0 */
/* The dump of a process: device_<n>/dump/memscope_dump_<time>.csv or .db, and python_trace next to or inside it.
 *
 * One file per device (device_cpu for the host), created with its first row. Rows without a device go to every device's
 * file, in order; a file created later starts with the earlier ones. If attributes become known late (options.late),
 * rows are buffered in an unlinked file and written by ms_dump_flush and at the end, joined with what is known then; a
 * row that changes after it was written is patched: in a database by an update, in a CSV file by one rewrite at the end
 * (temporary file, renamed).
 *
 * Directories 0750, files 0600. No file is ever overwritten: if a name is taken, the time in it is advanced.
 *
 * A dump is a consumer of the model; single-threaded. */
#ifndef MS_EXPORT_DUMP_H
#define MS_EXPORT_DUMP_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

struct ms_dump;

enum ms_dump_format { MS_DUMP_CSV = 0, MS_DUMP_DB = 1 }; /* values of config.json */

struct ms_dump_options {
    int dirfd;       /* project directory; remains the caller's */
    const char *dir; /* its path as shown to users, for messages */
    enum ms_dump_format format;
    bool late;                     /* decompose or inefficient is on */
    const struct ms_model *model;  /* owners; needed with late */
    struct ms_stack_source stacks; /* functions may be NULL: no stacks */
    uint64_t time_ns;              /* in file names; 0: now */
    bool replace;                  /* rewrite an existing dump in this directory (of a collector that died): the old
                                    * file is kept until the new one is complete, which then takes its name */
    /* Called when a file or a table is created (table NULL: a file); path as shown to users. For the console. */
    void (*created)(void *argument, const char *path, const char *table);
    void *argument;
};

int ms_dump_open(const struct ms_dump_options *options, struct ms_dump **out);
struct ms_consumer ms_dump_consumer(struct ms_dump *dump);
/* Writes everything received so far and leaves valid files; STOP does the same. */
int ms_dump_flush(struct ms_dump *dump);
/* Writes the rest and finishes the files. 0 or the dump's first error. */
int ms_dump_close(struct ms_dump *dump);

struct ms_dump_stats {
    uint64_t rows, slices, bytes;
    uint32_t files;
    uint64_t patched;
    int error; /* first -errno */
    char error_path[256];
};
void ms_dump_stats(const struct ms_dump *dump, struct ms_dump_stats *out);

#endif
