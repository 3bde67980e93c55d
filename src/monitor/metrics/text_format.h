/* SPDX-License-Identifier: Apache-2.0 */
/* The store in the Prometheus text format 0.0.4. */
#ifndef MON_METRICS_TEXT_FORMAT_H
#define MON_METRICS_TEXT_FORMAT_H

#include "base/buffer.h"

#include <stdint.h>

#define MON_ALL_GROUPS UINT32_MAX

/* Appends all series of the groups (one bit per enum mon_metric_group). Sets out->failed if out of memory. */
void mon_text_format(uint32_t groups, struct ms_buffer *out);

/* Appends the shortest text that reads back as the same number; at most 17 digits. */
void mon_text_number(struct ms_buffer *out, double value);

#endif
