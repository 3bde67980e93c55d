/* SPDX-License-Identifier: Apache-2.0 */
/* The page around the report, made from web/report by its `assemble`. */
#ifndef MS_RENDER_HTML_PAGE_H
#define MS_RENDER_HTML_PAGE_H

#include <stddef.h>

extern const char ms_html_head[], ms_html_tail[];
extern const size_t ms_html_head_b, ms_html_tail_b;

#endif
