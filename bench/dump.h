/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps in the format of the original, for benchmarks that read them. */
#ifndef NPUSCOPE_BENCH_DUMP_H
#define NPUSCOPE_BENCH_DUMP_H

#include <stdio.h>
#include <stdlib.h>

#define BENCH_DUMP_HEADER                                                                                              \
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),"               \
    "Call Stack(C)\n"

/* An empty dump. Exits on errors. */
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
