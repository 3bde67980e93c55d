/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of watched tensors: device_<n>/watch_dump/watch_dump_data_check_sum_<time>.csv, one row for each tensor before
 * and after each operator:
 *
 *     Tensor info,Check data sum
 *     0_4711/torch._ops.aten.add.Tensor_3-torch._ops.aten.mm.default_0_before,b86883e6fa710a9f
 *
 * Tensors whose full content was kept are in separate files next to it. One file per device, created with its first
 * row; rows are written immediately. A consumer of the model; single-threaded. */
#ifndef MS_EXPORT_WATCH_H
#define MS_EXPORT_WATCH_H

#include "memscope/model/model.h"

struct ms_watch_dump;

struct ms_watch_dump_options {
    int dirfd;        /* project directory; remains the caller's */
    const char *dir;  /* its path as shown to users */
    uint64_t time_ns; /* in file names; 0: now */
    bool replace;     /* rewrite existing files */
    /* Called when a directory is created; path as shown to users. May be NULL. */
    void (*created)(void *argument, const char *path);
    void *argument;
};

int ms_watch_dump_open(const struct ms_watch_dump_options *options, struct ms_watch_dump **out);
struct ms_consumer ms_watch_dump_consumer(struct ms_watch_dump *dump);
void ms_watch_dump_close(struct ms_watch_dump *dump);

/* Creates device_<n>/watch_dump below dirfd; path: relative to it. *made (may be NULL): it did not exist. */
int ms_watch_directory(int dirfd, uint32_t device, char *path, size_t room, bool *made);

#endif
