/* SPDX-License-Identifier: Apache-2.0 */
/* The store encoded for OTLP/HTTP: ExportMetricsServiceRequest as JSON. */
#ifndef MON_METRICS_OTLP_JSON_H
#define MON_METRICS_OTLP_JSON_H

#include "base/buffer.h"

#include <stdint.h>

#define MON_OTLP_POINTS 1000 /* maximum per request */

struct mon_otlp_source {
    const char *service, *version;
    uint64_t now_ns; /* since the epoch */
};

/* Calls take() for each request; take() may keep the buffer's memory by zeroing the struct. Returns the number of
 * requests, or -ENOMEM. Upstream's names are not sent: they duplicate other metrics. */
int mon_otlp_json(const struct mon_otlp_source *source, void (*take)(void *context, struct ms_buffer *request),
                  void *context);

#endif
