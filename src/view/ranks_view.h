/* All ranks of a report (analyze/ranks.h) as JSON and as text. */
#ifndef MS_VIEW_RANKS_VIEW_H
#define MS_VIEW_RANKS_VIEW_H

#include "analyze/ranks.h"
#include "view/json.h"

#include <stdio.h>

/* The member "ranks" of the report: an object, see docs/format/report.md; null if there are none. */
void ms_ranks_json(const struct ms_ranks *ranks, struct ms_json *json);
/* A section of the text report; nothing if there are none. */
void ms_ranks_print(const struct ms_ranks *ranks, FILE *out);

#endif
