/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON lines, in the form that the original's logs have. */
#ifndef MON_METRICS_BACKEND_JSON_H
#define MON_METRICS_BACKEND_JSON_H

#include "monitor/store/record.h"

#define MON_JSON_LINE_MAX_B 15000 /* what the log takes as one line, with some room */

/* "time = 2026-03-04T09:15:07.250Z data = {...}": keys sorted, numbers with fractions as texts with three decimals. The
 * time is local, with a Z all the same: that is the format. Begins with field `first` and returns the first one that
 * does not fit on the line any more (a node with hundreds of interfaces), or the number of fields. */
size_t mon_json_line(const struct mon_record *record, size_t first, struct ms_buffer *out);

#endif
