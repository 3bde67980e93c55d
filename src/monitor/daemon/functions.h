/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that can be called over RPC, one table for both families of command lines and for our own. */
#ifndef MON_DAEMON_FUNCTIONS_H
#define MON_DAEMON_FUNCTIONS_H

#include "base/buffer.h"
#include "monitor/daemon/registry.h"

#include <stdbool.h>
#include <stddef.h>

/* What getVersion answers: the revision of dynolog whose protocol this is. msMonitor's daemon answers the same. Ours is
 * in getCapabilities. */
#define MON_RPC_VERSION "0.3.2"

struct mon_rpc_call {
    struct mon_registry *registry;
    const char *peer; /* for the log */
    /* Filled in: */
    const char *function; /* name for metrics: one of the table, or NULL if none was called */
    const char *refused;  /* why nothing was called, a word for metrics; NULL if something was */
    bool keep;            /* the caller asked to keep the connection for more ("keep":true) */
};

/* Answers a request: JSON text of any content. Appends compact JSON with sorted keys to out. */
void mon_rpc_answer(struct mon_rpc_call *call, const char *body, size_t body_b, struct ms_buffer *out);

/* The answer to what is not even a request. */
void mon_rpc_error(const char *why, struct ms_buffer *out);

#endif
