/* SPDX-License-Identifier: Apache-2.0 */
/* Memory usage that events do not show: of devices, of the processes on them, and resident memory. A separate thread
 * samples it, at most ten times a second and less often where queries are slow; the drain thread records new values
 * (USAGE), and readers join them by time. Hooks never query any of this.
 *
 * Locks: one per process, held for a copy only, never during a query. A library that hangs costs these values, nothing
 * else. */
#ifndef MS_COLLECT_USAGE_H
#define MS_COLLECT_USAGE_H

#include "trace/drain.h"

struct ms_usage_samples;

/* Adds a process, by its pid as seen here; NULL: not possible. The first call starts the thread. */
struct ms_usage_samples *ms_usage_add(uint32_t pid);
void ms_usage_remove(struct ms_usage_samples *process);

/* Records values that changed since the last call. Drain thread only. */
void ms_usage_record(struct ms_usage_samples *process, struct ms_drain *drain);

#endif
