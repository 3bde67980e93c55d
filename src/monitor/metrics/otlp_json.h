/* SPDX-License-Identifier: Apache-2.0 */
/* The store as OTLP/HTTP carries it: ExportMetricsServiceRequest in the JSON encoding. */
#ifndef MON_METRICS_OTLP_JSON_H
#define MON_METRICS_OTLP_JSON_H

#include "base/buffer.h"

#include <stdint.h>

#define MON_OTLP_POINTS 1000 /* in one request at most */

struct mon_otlp_source {
    const char *service, *version;
    uint64_t now_ns; /* since the epoch */
};

/* Calls take() with each request in turn; it may keep the buffer's memory by setting it to zeros. Returns the number of
 * requests, or -ENOMEM. Upstream's names are not sent: they repeat others. */
int mon_otlp_json(const struct mon_otlp_source *source, void (*take)(void *context, struct ms_buffer *request),
                  void *context);

#endif
