/* SPDX-License-Identifier: Apache-2.0 */
/* The report as one self-contained HTML page: no network, no other file, no server. */
#ifndef MS_RENDER_HTML_H
#define MS_RENDER_HTML_H

#include "base/buffer.h"

/* False: built without esbuild, so the program does not contain the page. */
bool ms_html_available(void);

/* Appends the page with the report (JSON text from memscope/render/report_json.h). Sets out->failed if memory runs
 * out. */
void ms_html_page(const char *json, size_t json_b, struct ms_buffer *out);

#endif
