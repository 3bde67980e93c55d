/* SPDX-License-Identifier: Apache-2.0 */
/* The collection behind aclprofStart: receives the records of libprofapi's tap and the devices' task logs, and writes
 * a folder PROF_<number>_<time>_<letters> with CSV files when it is stopped. One collection at a time. */
#ifndef SOFTNPU_PROFAPI_COLLECTION_H
#define SOFTNPU_PROFAPI_COLLECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct snpu_collection_config {
    const char *folder; /* parent of the result folder; must exist */
    uint64_t switches;
    const uint32_t *devices; /* driver numbers */
    uint32_t device_count;
    uint64_t limit_b; /* of the data kept; more is dropped and counted */
};

/* 0, or -errno if the result folder cannot be created. `path` receives its name. */
int snpu_collection_start(const struct snpu_collection_config *config, char *path, size_t path_b);
/* Writes the result. Does nothing if no collection is running. */
void snpu_collection_stop(void);

enum snpu_tx_kind { SNPU_TX_MARK, SNPU_TX_RANGE, SNPU_TX_PUSH_POP };

/* True while marks and ranges are collected. */
bool snpu_collection_tx_on(void);
/* A mark (end 0) or a finished range. Times are MsprofSysCycleTime. */
void snpu_collection_tx(enum snpu_tx_kind kind, const char *domain, const char *message, uint64_t begin, uint64_t end);

#endif
