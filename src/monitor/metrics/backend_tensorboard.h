/* SPDX-License-Identifier: Apache-2.0 */
/* TensorBoard event files of what training processes report (--metric_log_dir). */
#ifndef MON_METRICS_BACKEND_TENSORBOARD_H
#define MON_METRICS_BACKEND_TENSORBOARD_H

#include "monitor/store/record.h"

#include <stdint.h>

struct mon_tensorboard;

struct mon_tensorboard_options {
    const char *directory; /* made if it is not there */
    uint64_t max_b;        /* of one file; then the next one begins. 0: no limit */
    unsigned keep;         /* files per device */
    size_t queue;          /* records that may wait for the disk */
};

/* 0 or -errno: -ENOTDIR if the directory is something else. */
int mon_tensorboard_open(const struct mon_tensorboard_options *options, struct mon_tensorboard **out);
void mon_tensorboard_close(struct mon_tensorboard *tensorboard); /* writes what waits, for at most a few seconds */

/* Takes NPU records, ignores others. Never waits for the disk. */
void mon_tensorboard_write(void *tensorboard, const struct mon_record *record);

#endif
