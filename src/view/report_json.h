/* The report as JSON, see docs/format/report.md. */
#ifndef MS_VIEW_REPORT_JSON_H
#define MS_VIEW_REPORT_JSON_H

#include "analyze/report.h"
#include "base/buffer.h"

/* Appends one JSON object and a newline. Running out of memory is told by out->failed. */
void ms_report_json(const struct ms_report *report, struct ms_buffer *out);

#endif
