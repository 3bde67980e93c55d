/* SPDX-License-Identifier: Apache-2.0 */
/* Memory in use beside the events: of devices and of the processes on them, and resident memory. A thread of its own
 * asks, ten times a second at most and less often where answers take long; whoever drains a process takes what is new
 * and records it (USAGE), so that readers join it by time. Nothing of this is ever asked in a hook.
 *
 * Locks: each watch has one, held for a copy only, never while something is asked. A library that hangs costs the
 * values, nothing else. */
#ifndef MS_COLLECT_USAGE_H
#define MS_COLLECT_USAGE_H

#include "trace/drain.h"

struct ms_usage_watch;

/* Begins to watch a process, by its pid as seen here; NULL: not possible. The first call starts the thread. */
struct ms_usage_watch *ms_usage_watch(uint32_t pid);
void ms_usage_forget(struct ms_usage_watch *watch);

/* Records what has changed since the last time. From the thread that drains. */
void ms_usage_record(struct ms_usage_watch *watch, struct ms_drain *drain);

#endif
