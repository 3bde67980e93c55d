/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that recordings and dumps are exported to, once for everybody: `msmemscope export` and its help come from
 * this table. A format is a consumer, either of rows as they stand in a dump or of the model's replay.
 *
 *     struct ms_export *export;
 *     ms_export_open(ms_exporter_find("pprof"), &target, &export);
 *     ms_model_add(model, ms_export_consumer(export));
 *     ...
 *     ms_export_close(export);
 */
#ifndef MS_EXPORT_EXPORTER_H
#define MS_EXPORT_EXPORTER_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

struct ms_export_target {
    int dirfd;           /* where files go; the caller's */
    const char *dir;     /* its path, as users see it */
    int fd;              /* where the one file goes instead, if not 0; the caller's */
    uint32_t pid;        /* of the process */
    const char *process; /* a name to show; may be NULL */
    struct ms_stack_source stacks;
    struct ms_model *model; /* NULL: formats of rows without late attributes */
    bool late, replace;     /* dumps: as in dump.h */
    void (*created)(void *argument, const char *path, const char *table); /* as in dump.h */
    void *argument;
};

struct ms_exporter {
    const char *name; /* of --format */
    const char *help;
    /* Its file is STEM_<pid>.SUFFIX, and it is added to the model. NULL: a dump, which makes several files of rows in
     * order of their ids (on_row, on_slice). */
    const char *stem, *suffix;
    bool joins; /* files of several processes one after the other are good too */
    /* fd: of the file. 0 or -errno */
    int (*open)(const struct ms_export_target *target, int fd, void **self, struct ms_consumer *consumer);
    int (*close)(void *self); /* 0 or the first error; the file is complete then */
    int (*flush)(void *self); /* what was written so far can be read; NULL: not until the end */
};

extern const struct ms_exporter ms_exporters[];               /* the last has no name */
const struct ms_exporter *ms_exporter_find(const char *name); /* NULL: there is none */

/* One process on its way into a format. Nothing that exists is written over; a file that did not become complete is
 * removed again. */
struct ms_export;
int ms_export_open(const struct ms_exporter *format, const struct ms_export_target *target, struct ms_export **out);
const struct ms_consumer *ms_export_consumer(const struct ms_export *export);
int ms_export_flush(struct ms_export *export); /* 0 or the first error */
int ms_export_close(struct ms_export *export); /* 0 or the first error */

#endif
