/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a client process from /proc, used only for attribution. */
#ifndef MON_DAEMON_PROCFS_H
#define MON_DAEMON_PROCFS_H

#include <stdint.h>
#include <sys/types.h>

struct mon_procfs {
    int32_t parent;
    int32_t inner_pid; /* pid in the innermost pid namespace, as the process itself sees it */
    uid_t uid;
    uint64_t start_ticks;
};

/* 0, or -errno: no such process, or not visible. */
int mon_procfs_read(int32_t pid, struct mon_procfs *out);
/* Reads RANK and SLURM_JOB_ID from the environment; leaves the outputs unchanged if they are missing or unreadable. */
void mon_procfs_environment(int32_t pid, int32_t *rank, int64_t *slurm_job);

#endif
