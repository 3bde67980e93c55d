/* SPDX-License-Identifier: Apache-2.0 */
/* The table of export formats: `msmemscope export` and its help are generated from it. A format is a consumer, either
 * of rows as they are in a dump or of the model.
 *
 *     struct ms_export *export;
 *     ms_export_open(ms_exporter_find("pprof"), &target, &export);
 *     ms_model_add(model, ms_export_consumer(export));
 *     ...
 *     ms_export_close(export); */
#ifndef MS_EXPORT_EXPORTER_H
#define MS_EXPORT_EXPORTER_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

struct ms_export_target {
    int dirfd;           /* output directory; remains the caller's */
    const char *dir;     /* its path as shown to users */
    int fd;              /* if not 0, the single file is written here instead; remains the caller's */
    uint32_t pid;        /* of the process */
    const char *process; /* displayed name; may be NULL */
    struct ms_stack_source stacks;
    struct ms_model *model; /* NULL: row formats without late attributes */
    bool late, replace;     /* dumps: as in dump.h */
    void (*created)(void *argument, const char *path, const char *table); /* as in dump.h */
    void *argument;
};

struct ms_exporter {
    const char *name; /* for --format */
    const char *help;
    /* The file is STEM_<pid>.SUFFIX, and the consumer is added to the model. NULL: a dump, which writes several files
     * from rows in order of their ids (on_row, on_slice). */
    const char *stem, *suffix;
    bool joins; /* concatenated files of several processes are valid, too */
    /* fd: the file. 0 or -errno */
    int (*open)(const struct ms_export_target *target, int fd, void **self, struct ms_consumer *consumer);
    int (*close)(void *self); /* 0 or the first error; the file is then complete */
    int (*flush)(void *self); /* makes everything written so far readable; NULL: only complete at the end */
};

extern const struct ms_exporter ms_exporters[];               /* the last has no name */
const struct ms_exporter *ms_exporter_find(const char *name); /* NULL: unknown */

/* One process being exported. Existing files are never overwritten; an incomplete file is removed. */
struct ms_export;
int ms_export_open(const struct ms_exporter *format, const struct ms_export_target *target, struct ms_export **out);
const struct ms_consumer *ms_export_consumer(const struct ms_export *export);
int ms_export_flush(struct ms_export *export); /* 0 or the first error */
int ms_export_close(struct ms_export *export); /* 0 or the first error */

#endif
