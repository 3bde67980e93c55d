/* SPDX-License-Identifier: Apache-2.0 */
/* Work that is measured in its own process, whose memory use can be determined. */
#ifndef NPUSCOPE_BENCH_CHILD_H
#define NPUSCOPE_BENCH_CHILD_H

#include "bench.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench_cost {
    double wall_s, cpu_s, memory_mib;
};

static inline struct bench_cost bench_in_child(void (*fn)(const void *), const void *argument)
{
    uint64_t start = ms_clock_raw_ns();
    pid_t child = fork();
    if (child == 0) {
        fn(argument);
        _exit(0);
    }
    int status;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child || status != 0) {
        fprintf(stderr, "bench: the measured work failed\n");
        exit(1);
    }
    return (struct bench_cost){
        .wall_s = (double)(ms_clock_raw_ns() - start) / 1e9,
        .cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
        .memory_mib = (double)usage.ru_maxrss / 1024,
    };
}

#endif
