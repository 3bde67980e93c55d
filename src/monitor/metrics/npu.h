/* SPDX-License-Identifier: Apache-2.0 */
/* What training processes report: sums per kind and device as JSON, statistics per operator as npuOpStats. */
#ifndef MON_METRICS_NPU_H
#define MON_METRICS_NPU_H

#include <stddef.h>
#include <stdint.h>

/* Whom a report is from, as far as the daemon knows. */
struct mon_npu_source {
    int64_t job;
    int32_t rank; /* INT32_MIN: unknown */
};

/* The payload of a `data` message: series, and a record. 0; -EBADMSG: not a JSON object, or nested too deep;
 * -EINVAL: a field is missing or has a value that cannot be. */
int mon_npu_data(const struct mon_npu_source *source, const void *payload, size_t payload_b);

/* The payload of an `npuOpStats` message. source NULL: as the message itself says. 0 or -EBADMSG. */
int mon_npu_opstats(const struct mon_npu_source *source, const void *payload, size_t payload_b);

/* "host" for the three ways in which clients write -1, else the number; NULL if it cannot be a device. */
const char *mon_npu_device_text(double device, char out[16]);

#endif
