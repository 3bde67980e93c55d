/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the page in builds without esbuild. */
#include "memscope/render/html_page.h"

const char ms_html_head[] = "", ms_html_tail[] = "";
const size_t ms_html_head_b = 0, ms_html_tail_b = 0;
