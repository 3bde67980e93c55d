/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc tells about a process that talks to us. Nothing here is trusted with more than attribution. */
#ifndef MON_DAEMON_PROCFS_H
#define MON_DAEMON_PROCFS_H

#include <stdint.h>
#include <sys/types.h>

struct mon_procfs {
    int32_t parent;
    int32_t inner_pid; /* pid in the innermost namespace of the process: what it calls itself */
    uid_t uid;
    uint64_t start_ticks;
};

/* 0, or -errno: no such process, or hidden from us. */
int mon_procfs_read(int32_t pid, struct mon_procfs *out);
/* Numbers of its environment; left untouched if they are not there or may not be read. */
void mon_procfs_environment(int32_t pid, int32_t *rank, int64_t *slurm_job);

#endif
