/* SPDX-License-Identifier: Apache-2.0 */
/* All ranks of a report (memscope/analyze/report/ranks.h) as JSON and as text. */
#ifndef MS_RENDER_RANKS_H
#define MS_RENDER_RANKS_H

#include "memscope/analyze/report/ranks.h"
#include "memscope/render/json.h"

#include <stdio.h>

/* Writes the report's member "ranks": an object, see docs/format/report.md; null if there are none. */
void ms_ranks_json(const struct ms_ranks *ranks, struct ms_json *json);
/* Prints the section of the text report; nothing if there are none. */
void ms_ranks_print(const struct ms_ranks *ranks, FILE *out);

#endif
