/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps as the original writes them, for benchmarks that read some. */
#ifndef NPUSCOPE_BENCH_DUMP_H
#define NPUSCOPE_BENCH_DUMP_H

#include <stdio.h>
#include <stdlib.h>

#define BENCH_DUMP_HEADER                                                                                              \
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),"               \
    "Call Stack(C)\n"

/* An empty one; a benchmark that cannot write has nothing to measure. */
static inline FILE *bench_dump(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    fputs(BENCH_DUMP_HEADER, file);
    return file;
}

#endif
