/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of a machine, as `info` and `top` print it. Rates are computed from two snapshots. */
#ifndef SOFTNPU_CLI_SNAPSHOT_H
#define SOFTNPU_CLI_SNAPSHOT_H

#include "softnpu/hal/machine.h"

#include <stdio.h>

struct snpu_snapshot {
    char machine_name[64];
    struct snpu_config config;
    bool exists;      /* a process has created the machine */
    uint64_t time_ns; /* when it was taken */
    size_t process_count;
    struct snpu_process *processes; /* process_count entries, ordered by pid */
};

/* Opens the machine named by --machine, SOFTNPU_MACHINE or "default". 0, or an exit status after printing an error. A
 * machine that does not exist yet is not an error: the snapshot shows what a program started now would get. */
int snpu_snapshot_open(const char *machine_option, struct snpu_machine **machine, struct snpu_snapshot *snapshot);

/* Takes a new snapshot. */
void snpu_snapshot_refresh(struct snpu_machine *machine, struct snpu_snapshot *snapshot);
void snpu_snapshot_free(struct snpu_snapshot *snapshot);

/* Used bytes, over all processes or of one. */
uint64_t snpu_snapshot_used_b(const struct snpu_snapshot *snapshot, uint32_t dev);
uint64_t snpu_snapshot_process_used_b(const struct snpu_process *process, uint32_t dev);

/* Share of the time between two snapshots in which streams of a process on a device were executing: 1.0 is one stream
 * busy all the time. 0 if the process is not in the earlier snapshot. */
double snpu_snapshot_busy(const struct snpu_snapshot *earlier, const struct snpu_snapshot *now,
                          const struct snpu_process *process, uint32_t dev);
double snpu_snapshot_task_rate(const struct snpu_snapshot *earlier, const struct snpu_snapshot *now,
                               const struct snpu_process *process, uint32_t dev);

/* Prints text (with rates unless `earlier` is NULL) or JSON. */
void snpu_snapshot_print(FILE *out, const struct snpu_snapshot *earlier, const struct snpu_snapshot *now);
void snpu_snapshot_print_json(FILE *out, const struct snpu_snapshot *earlier, const struct snpu_snapshot *now);

#endif
