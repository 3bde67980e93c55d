/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of training processes: sums per kind and device as JSON, statistics per operator as npuOpStats. */
#ifndef MON_METRICS_NPU_H
#define MON_METRICS_NPU_H

#include <stddef.h>
#include <stdint.h>

/* The sender of a report, as far as the daemon knows it. */
struct mon_npu_source {
    int64_t job;
    int32_t rank; /* INT32_MIN: unknown */
};

/* Handles the payload of a `data` message: records series and emits a record. 0; -EBADMSG: not a JSON object, or nested
 * too deeply; -EINVAL: a field is missing or has an impossible value. */
int mon_npu_data(const struct mon_npu_source *source, const void *payload, size_t payload_b);

/* Handles the payload of an `npuOpStats` message. source NULL: use job and rank of the message. 0 or -EBADMSG. */
int mon_npu_opstats(const struct mon_npu_source *source, const void *payload, size_t payload_b);

/* "host" for the three encodings of -1 that clients use, else the number; NULL if it cannot be a device. */
const char *mon_npu_device_text(double device, char out[16]);

#endif
