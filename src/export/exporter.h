/* The formats that recordings and dumps are exported to, once for everybody: `msmemscope export` and its help come from
 * this table. A format is a consumer, either of rows as they stand in a dump or of the model's replay. */
#ifndef MS_EXPORT_EXPORTER_H
#define MS_EXPORT_EXPORTER_H

#include "model/model.h"
#include "model/stacks.h"

struct ms_export_target {
    int dirfd;           /* where files go; the caller's */
    const char *dir;     /* its path, as users see it */
    uint32_t pid;        /* of the process */
    const char *process; /* a name to show; may be NULL */
    struct ms_stack_source stacks;
    const struct ms_model *model;                                         /* NULL for formats of rows */
    void (*created)(void *argument, const char *path, const char *table); /* as in dump.h */
    void *argument;
};

struct ms_exporter {
    const char *name; /* of --format */
    const char *help;
    bool rows; /* takes rows (on_row, on_slice) in order of their ids; else it is added to the model */
    int (*open)(const struct ms_export_target *target, void **self, struct ms_consumer *consumer); /* 0 or -errno */
    int (*close)(void *self); /* 0 or the first error; the file is complete then */
};

extern const struct ms_exporter ms_exporters[];               /* the last has no name */
const struct ms_exporter *ms_exporter_find(const char *name); /* NULL: there is none */

#endif
