/* SPDX-License-Identifier: Apache-2.0 */
/* TensorBoard event files: TFRecord frames with protobuf events. Pure functions that append to a buffer. */
#ifndef MON_METRICS_TFEVENTS_H
#define MON_METRICS_TFEVENTS_H

#include "base/buffer.h"

#include <stdint.h>

uint32_t mon_crc32c(const void *data, size_t size_b);

/* The first event of every file. */
void mon_tfevents_version(struct ms_buffer *out, double wall_time_s);
void mon_tfevents_scalar(struct ms_buffer *out, double wall_time_s, int64_t step, const char *tag, float value);

#endif
