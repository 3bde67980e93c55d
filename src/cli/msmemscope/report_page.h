/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope report --html FILE: the page as a file. */
#ifndef MS_CLI_REPORT_PAGE_H
#define MS_CLI_REPORT_PAGE_H

#include "memscope/analyze/report/report.h"

/* Can a page be written there? Checked before hours of reading; false after a message. */
bool report_page_ready(const char *path);
/* Replaces the file atomically once the page is complete. 0, or -errno after a message. */
int report_page_write(const struct ms_report *report, const char *path);

#endif
