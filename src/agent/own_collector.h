/* SPDX-License-Identifier: Apache-2.0 */
/* A collector of our own, for a process that has none: preloaded without a session, or left alone by the one it had. */
#ifndef MS_AGENT_OWN_COLLECTOR_H
#define MS_AGENT_OWN_COLLECTOR_H

#include "collect/protocol/session.h"

/* Where the program is, told by where this library is; takes the loader's lock, so from constructors only. */
void ms_own_collector_find(void);

/* A path from the folder of this library on; false: not known, or too long. */
bool ms_own_path(const char *from_here, char *out, size_t out_b);

/* Starts one with these settings, on a socket of its own. Fit for attaching: raw system calls, no allocation, one call
 * at a time. 0 or -errno; who registers afterwards is received, however long the collector takes. */
int ms_own_collector_start(struct ms_session *session);

#endif
