/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon says about jobs: states of trace and monitor per process, and whether a command makes sense now. */
#ifndef MON_DAEMON_STATE_H
#define MON_DAEMON_STATE_H

#include "monitor/daemon/registry.h"

#include <jansson.h>

enum { MON_STATE_UNINITIALIZED = -1, MON_STATE_IDLE = 0, MON_STATE_RUNNING = 1, MON_STATE_READY = 2 };

const char *mon_state_name(int32_t state); /* "Idle" ...; other numbers: "unknown" */

/* State now, with everything known taken into account: silence, an elapsed duration, a process that polls but never
 * reported (Idle). */
int32_t mon_state_trace(const struct mon_process *process, uint64_t now_ns);
int32_t mon_state_monitor(const struct mon_process *process, uint64_t now_ns);

/* Where the last command stands, as far as the client generation lets us know: polls of libkineto tell busy and free,
 * statuses of NPU clients tell Ready, Running, Idle. */
enum mon_command_stage mon_state_stage(const struct mon_process *process);

enum mon_request_kind mon_state_kind(const char *config, size_t config_b);

/* DURATION of a monitor configuration; 0: endless, or not said. */
uint64_t mon_state_duration_ns(const char *config, size_t config_b);

/* The decision table, for one process. Writes why into reason (256 bytes) unless it is plainly effective. */
enum mon_decision mon_state_decide(enum mon_request_kind kind, const struct mon_process *process, uint64_t now_ns,
                                   char *reason);

/* The status object: the documented flat keys of the most recently active job, "status":1, and "jobs", an array of
 * {job_id, nputrace, npumonitor, ..., processes:[{pid, rank, uid, client, nputrace, npumonitor, command ...}]}.
 * A new reference, NULL without memory. */
json_t *mon_state_json(const struct mon_registry *registry);

#endif
