/* SPDX-License-Identifier: Apache-2.0 */
/* The report as JSON, see docs/format/report.md. */
#ifndef MS_RENDER_REPORT_JSON_H
#define MS_RENDER_REPORT_JSON_H

#include "base/buffer.h"
#include "memscope/analyze/report/report.h"
#include "memscope/render/json.h"

/* Appends one JSON object and a newline. Sets out->failed if memory runs out. */
void ms_report_json(const struct ms_report *report, struct ms_buffer *out);
/* Writes the member "frames" of a site. */
void ms_frames_json(const struct ms_report_frame *frames, size_t count, struct ms_json *json);

#endif
