/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory of any content behind a valid header: a sweep and a scrape must survive it and write a valid trace. */
#include "trace/drain.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_b);

/* The input overwrites the first stream head, the first table entries and the first chunks. */
static size_t overlay(void *to, size_t length_b, const uint8_t **data, size_t left_b)
{
    size_t n = left_b < length_b ? left_b : length_b;
    memcpy(to, *data, n);
    *data += n;
    return left_b - n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_b)
{
    char path[] = "/tmp/npuscope-fuzz-XXXXXX";
    int memfd = -1, dir = mkdtemp(path) != NULL ? open(path, O_RDONLY | O_DIRECTORY) : -1;
    struct ms_shm *shm = ms_shm_create(MS_SHM_MIN_B, 1, MS_CLOCK_MONOTONIC, &memfd);
    struct ms_process process = {.name = "p", .clock_kind = MS_CLOCK_MONOTONIC};
    struct ms_writer *writer;
    struct ms_drain *drain;
    if (dir < 0 || shm == NULL || ms_writer_open(dir, &process, NULL, &writer) != 0 ||
        ms_drain_open(memfd, writer, &drain) != 0) {
        abort();
    }
    shm->fresh = 3;
    shm->streams_used = 2;
    size_b = overlay(ms_shm_entry(shm, 0), 3 * sizeof(struct ms_chunk_entry), &data, size_b);
    size_b = overlay(ms_shm_stream(shm, 0), sizeof(struct ms_stream_head), &data, size_b);
    for (uint32_t i = 0; i < 3; i++) {
        size_b = overlay(ms_shm_chunk(shm, i), i < 2 ? 512 : MS_CHUNK_B, &data, size_b);
    }
    ms_drain_sweep(drain);
    ms_drain_finish(drain);
    ms_drain_close(drain);
    ms_writer_close(writer, MS_ENDING_PROCESS);
    munmap(shm, shm->size_b);
    close(memfd);
    unlinkat(dir, "p.000001.seg", 0);
    close(dir);
    rmdir(path);
    return 0;
}
