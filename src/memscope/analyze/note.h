/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that an analysis writes to the log file. */
#ifndef MS_ANALYZE_NOTE_H
#define MS_ANALYZE_NOTE_H

#include "base/macros.h"

typedef void ms_note_fn(void *argument, int level, const char *line); /* level as in config.json: 0 debug ... 3 error */

/* log may be NULL: then nothing is written. */
void ms_note(ms_note_fn *log, void *argument, int level, const char *format, ...) MS_PRINTF(4, 5);

#endif
