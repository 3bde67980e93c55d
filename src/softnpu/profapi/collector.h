/* SPDX-License-Identifier: Apache-2.0 */
/* The collector behind aclprofStart: listens at the tap of libprofapi and at the devices' task logs, and writes a
 * folder PROF_<number>_<time>_<letters> with CSV files when it is stopped. One collection at a time. */
#ifndef SOFTNPU_PROFAPI_COLLECTOR_H
#define SOFTNPU_PROFAPI_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector_config {
    const char *folder; /* where the result folder is made; must exist */
    uint64_t switches;
    const uint32_t *devices; /* driver numbers */
    uint32_t device_count;
    uint64_t limit_b; /* of the data kept; more is dropped and counted */
};

/* 0, or -errno when the result folder cannot be made. path receives its name. */
int collector_start(const struct collector_config *config, char *path, size_t path_b);
/* Writes the result. Does nothing when nothing is being collected. */
void collector_stop(void);

enum collector_tx { COLLECTOR_MARK, COLLECTOR_RANGE, COLLECTOR_PUSH_POP };

/* True while marks and ranges are collected. */
bool collector_tx_on(void);
/* A mark (end_time 0) or a finished range. Times are MsprofSysCycleTime. */
void collector_tx(enum collector_tx kind, const char *domain, const char *message, uint64_t begin, uint64_t end);

#endif
