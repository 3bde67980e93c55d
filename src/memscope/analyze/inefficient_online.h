/* SPDX-License-Identifier: Apache-2.0 */
/* --analysis=inefficient: a consumer that finds inefficient blocks while the program runs and stores the result in the
 * model's blocks, so that their MALLOC rows carry inefficient_type. Memory is O(live blocks of PTA, ATB and CPU
 * tensors). */
#ifndef MS_ANALYZE_INEFFICIENT_ONLINE_H
#define MS_ANALYZE_INEFFICIENT_ONLINE_H

#include "memscope/analyze/inefficient.h"

struct ms_inefficient_online;

/* Uses the model's options as they are at each event. 0 or -ENOMEM. */
int ms_inefficient_online_new(struct ms_model *model, struct ms_inefficient_online **out);
struct ms_consumer ms_inefficient_online_consumer(struct ms_inefficient_online *online);
void ms_inefficient_online_free(struct ms_inefficient_online *online);

#endif
