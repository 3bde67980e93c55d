/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two halves of a collection: collection.c collects, collection_write.c writes the result. */
#ifndef SOFTNPU_PROFAPI_COLLECTION_INTERNAL_H
#define SOFTNPU_PROFAPI_COLLECTION_INTERNAL_H

#include "abi/stars.h"
#include "softnpu/profapi/collection.h"
#include "toolchain/prof_api.h"

#include <limits.h>
#include <stdio.h>

struct tx_record {
    uint32_t kind, thread;
    uint64_t domain, message; /* hash ids */
    uint64_t begin, end;
};

enum spool_kind { SNPU_SPOOL_API, SNPU_SPOOL_TRACK, SNPU_SPOOL_STARS, SNPU_SPOOL_TX };

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

/* A clock value and the wall-clock time at the same moment. */
struct clock_reading {
    uint64_t count, epoch_ns;
};

/* A collection. Only collection.c accesses it while it runs; collection_write.c reads it after it has ended. */
struct collection {
    char path[PATH_MAX]; /* the result folder */
    FILE *spool;         /* struct spool_record */
    uint64_t records, dropped;
    uint64_t switches;
    uint32_t devices[MSPROF_MAX_DEV_NUM], device_count;
    bool log_on[MSPROF_MAX_DEV_NUM]; /* these are indexed like devices[] */
    struct clock_reading dev_start[MSPROF_MAX_DEV_NUM];
    double dev_tick_ns[MSPROF_MAX_DEV_NUM];
    struct clock_reading host_start, host_stop;
};

void snpu_collection_write(const struct collection *collection);

#endif
