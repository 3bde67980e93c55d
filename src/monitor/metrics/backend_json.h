/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON lines, in the format of the original's logs. */
#ifndef MON_METRICS_BACKEND_JSON_H
#define MON_METRICS_BACKEND_JSON_H

#include "monitor/store/record.h"

#define MON_JSON_LINE_MAX_B 15000 /* the log's line limit, less a reserve */

/* "time = 2026-03-04T09:15:07.250Z data = {...}": sorted keys; numbers with fractions are strings with three decimals.
 * The time is local although it ends in Z: that is the format. Starts with field `first`; returns the first field that
 * does not fit on the line (a node can have hundreds of interfaces), or the number of fields. */
size_t mon_json_line(const struct mon_record *record, size_t first, struct ms_buffer *out);

#endif
