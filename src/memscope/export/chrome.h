/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome trace / Perfetto JSON: counters of used and reserved bytes per device and pool, mstx ranges and marks, ATen
 * and ATB operators, steps and kernels on the device's own lanes, Python calls. Opened by chrome://tracing,
 * ui.perfetto.dev, Insight. */
#ifndef MS_EXPORT_CHROME_H
#define MS_EXPORT_CHROME_H

#include "memscope/model/model.h"

struct ms_chrome;

/* Writes to fd, which remains the caller's. process: displayed name, may be NULL. */
int ms_chrome_open(int fd, uint32_t pid, const char *process, struct ms_chrome **out);
struct ms_consumer ms_chrome_consumer(struct ms_chrome *chrome);
int ms_chrome_close(struct ms_chrome *chrome); /* 0 or the first error; the file is then valid JSON */

#endif
