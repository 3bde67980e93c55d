/* SPDX-License-Identifier: Apache-2.0 */
/* TensorBoard event files with the reports of training processes (--metric_log_dir). */
#ifndef MON_METRICS_BACKEND_TENSORBOARD_H
#define MON_METRICS_BACKEND_TENSORBOARD_H

#include "monitor/store/record.h"

#include <stdint.h>

struct mon_tensorboard;

struct mon_tensorboard_options {
    const char *directory; /* created if missing */
    uint64_t max_b;        /* size limit of a file, then the next one is started; 0: no limit */
    unsigned keep;         /* number of files per device */
    size_t queue;          /* maximum number of queued records */
};

/* 0, or -errno: -ENOTDIR if the path is not a directory. */
int mon_tensorboard_open(const struct mon_tensorboard_options *options, struct mon_tensorboard **out);
void mon_tensorboard_close(struct mon_tensorboard *tensorboard); /* writes queued events, for a few seconds at most */

/* Queues NPU records and ignores others. Never waits for the disk. */
void mon_tensorboard_write(void *tensorboard, const struct mon_record *record);

#endif
