/* SPDX-License-Identifier: Apache-2.0 */
/* What writer and reader of a trace share: whose trace it is, and how it ended. */
#ifndef MS_TRACE_PROCESS_H
#define MS_TRACE_PROCESS_H

#include <stdint.h>

/* The recorded process. */
struct ms_process {
    char name[64];           /* file name prefix within the directory */
    uint32_t pid, ppid, uid; /* as the process itself sees them */
    uint32_t exec_count;     /* images of this process before this one */
    uint64_t pid_namespace;  /* inode */
    uint64_t start_time;     /* of the process, clock ticks since boot (field 22 of /proc/PID/stat) */
    uint64_t start_ns;       /* file time when recording started */
    int64_t offset_ns;       /* file time - CLOCK_MONOTONIC */
    uint32_t clock_kind;     /* enum ms_clock_kind, at start */
    char boot_id[40];
    char host[72];
    char exe[1024];
    char command[2048];  /* arguments, separated by spaces */
    char settings[4096]; /* in effect when recording started: lines "option=value"; empty: unknown */
};

enum ms_trace_ending {
    MS_ENDING_OPEN = 0,    /* no end block: the collector is running or was killed */
    MS_ENDING_PROCESS = 1, /* the process ended; everything it published is here */
    MS_ENDING_STOPPED = 2, /* recording was stopped on request */
    MS_ENDING_DISK = 3,    /* the disk was full, see GAP */
    MS_ENDING_LIMIT = 4,   /* the size limit was reached */
    MS_ENDING_MOVED = 5,   /* of a trace in memory: it continues in files */
};

#endif
