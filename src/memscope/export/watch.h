/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of watched tensors: device_<n>/watch_dump/watch_dump_data_check_sum_<time>.csv, one row for each tensor in
 * front of and behind each operator:
 *
 *     Tensor info,Check data sum
 *     0_4711/torch._ops.aten.add.Tensor_3-torch._ops.aten.mm.default_0_before,b86883e6fa710a9f
 *
 * Tensors whose whole content was kept stand in files of their own beside it. One file per device, made with its first
 * row; every row is written at once. A consumer of the model; one thread. */
#ifndef MS_EXPORT_WATCH_H
#define MS_EXPORT_WATCH_H

#include "memscope/model/model.h"

struct ms_watch_dump;

struct ms_watch_dump_options {
    int dirfd;        /* project directory; stays the caller's */
    const char *dir;  /* its path as users see it */
    uint64_t time_ns; /* of the names; 0: now */
    bool replace;     /* files that are there are written anew */
    /* A directory was made; path as users see it. May be NULL. */
    void (*created)(void *argument, const char *path);
    void *argument;
};

int ms_watch_dump_open(const struct ms_watch_dump_options *options, struct ms_watch_dump **out);
struct ms_consumer ms_watch_dump_consumer(struct ms_watch_dump *dump);
void ms_watch_dump_close(struct ms_watch_dump *dump);

/* Makes device_<n>/watch_dump below dirfd; path: relative to it. *made (may be NULL): it was not there. */
int ms_watch_directory(int dirfd, uint32_t device, char *path, size_t room, bool *made);

#endif
