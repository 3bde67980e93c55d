/* SPDX-License-Identifier: Apache-2.0 */
/* The report as one HTML page that needs nothing else: no network, no other file, no server. */
#ifndef MS_RENDER_HTML_H
#define MS_RENDER_HTML_H

#include "base/buffer.h"

/* False: built without esbuild, so the page is not in the program. */
bool ms_html_available(void);

/* Appends the page with the report (JSON text, as memscope/render/report_json.h makes it) inside. Running out of memory is told by
 * out->failed. */
void ms_html_page(const char *json, size_t json_b, struct ms_buffer *out);

#endif
