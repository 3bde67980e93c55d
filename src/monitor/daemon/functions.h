/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that can be called over RPC: one table for both families of command lines and for npuscope's own. */
#ifndef MON_DAEMON_FUNCTIONS_H
#define MON_DAEMON_FUNCTIONS_H

#include "base/buffer.h"
#include "monitor/daemon/registry.h"

#include <stdbool.h>
#include <stddef.h>

/* The answer to getVersion: the version of dynolog whose protocol this is, the same as in msMonitor's daemon.
 * npuscope's own version is in getCapabilities. */
#define MON_RPC_VERSION "0.3.2"

struct mon_rpc_call {
    struct mon_registry *registry;
    const char *peer; /* for the log */
    /* Results: */
    const char *function; /* name for metrics, from the table; NULL if no function was called */
    const char *refused;  /* short reason for metrics if no function was called, else NULL */
    bool keep;            /* the caller wants to keep the connection ("keep":true) */
};

/* Answers a request, which may be any bytes. Appends compact JSON with sorted keys to out. */
void mon_rpc_answer(struct mon_rpc_call *call, const char *body, size_t body_b, struct ms_buffer *out);

/* Appends the answer to something that is not a request. */
void mon_rpc_error(const char *why, struct ms_buffer *out);

#endif
