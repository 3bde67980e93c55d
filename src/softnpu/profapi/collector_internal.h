/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two halves of the collector: collector.c collects, collector_write.c writes the result. */
#ifndef SOFTNPU_PROFAPI_COLLECTOR_INTERNAL_H
#define SOFTNPU_PROFAPI_COLLECTOR_INTERNAL_H

#include "abi/stars.h"
#include "softnpu/profapi/collector.h"
#include "toolchain/prof_api.h"

#include <limits.h>
#include <stdio.h>

struct tx_record {
    uint32_t kind, thread;
    uint64_t domain, message; /* hash ids */
    uint64_t begin, end;
};

enum spool_kind { SPOOL_API, SPOOL_TRACK, SPOOL_STARS, SPOOL_TX };

struct spool_record {
    uint32_t kind;
    uint32_t dev; /* STARS */
    union {
        struct MsprofApi api;
        struct MsprofCompactInfo track;
        struct StarsSocLog stars;
        struct tx_record tx;
    } u;
};

/* A clock seen together with the time of day. */
struct reading {
    uint64_t count, epoch_ns;
};

/* A collection. While it runs, collector.c alone touches it; when it has ended, collector_write.c reads it. */
struct collection {
    char path[PATH_MAX]; /* the result folder */
    FILE *spool;         /* of struct spool_record */
    uint64_t records, dropped;
    uint64_t switches;
    uint32_t devices[MSPROF_MAX_DEV_NUM], device_count;
    bool log_on[MSPROF_MAX_DEV_NUM]; /* this and the following by place in devices */
    struct reading dev_start[MSPROF_MAX_DEV_NUM];
    double dev_tick_ns[MSPROF_MAX_DEV_NUM];
    struct reading host_start, host_stop;
};

void collector_write(const struct collection *collection);

#endif
