/* TensorBoard event files: TFRecord frames around protobuf events. Pure functions, appending to a buffer. */
#ifndef MS_METRICS_TFEVENTS_H
#define MS_METRICS_TFEVENTS_H

#include "base/buffer.h"

#include <stdint.h>

uint32_t ms_crc32c(const void *data, size_t size_b);

/* The event that every file begins with. */
void ms_tfevents_version(struct ms_buffer *out, double wall_time_s);
void ms_tfevents_scalar(struct ms_buffer *out, double wall_time_s, int64_t step, const char *tag, float value);

#endif
