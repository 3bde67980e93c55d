/* SPDX-License-Identifier: Apache-2.0 */
/* A private collector, for a process that has none: preloaded without a session, or orphaned by its collector. */
#ifndef MS_AGENT_OWN_COLLECTOR_H
#define MS_AGENT_OWN_COLLECTOR_H

#include "collect/protocol/session.h"

/* Finds the program by the location of this library; takes the loader's lock, so only from constructors. */
void ms_own_collector_find(void);

/* A path relative to the folder of this library; false: unknown, or too long. */
bool ms_own_path(const char *from_here, char *out, size_t out_b);

/* Starts one with these settings, on its own socket. Suitable for attaching: raw system calls, no allocation, one call
 * at a time. 0 or -errno; later registrations are received however long the collector takes to start. */
int ms_own_collector_start(struct ms_session *session);

#endif
