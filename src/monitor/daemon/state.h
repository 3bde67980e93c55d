/* SPDX-License-Identifier: Apache-2.0 */
/* States of trace and monitor per process, and whether a command is possible now. */
#ifndef MON_DAEMON_STATE_H
#define MON_DAEMON_STATE_H

#include "monitor/daemon/registry.h"

#include <jansson.h>

enum { MON_STATE_UNINITIALIZED = -1, MON_STATE_IDLE = 0, MON_STATE_RUNNING = 1, MON_STATE_READY = 2 };

const char *mon_state_name(int32_t state); /* "Idle" and so on; "unknown" for other numbers */

/* The current state, taking into account silence, an elapsed duration, and processes that poll but never report
 * (Idle). */
int32_t mon_state_trace(const struct mon_process *process, uint64_t now_ns);
int32_t mon_state_monitor(const struct mon_process *process, uint64_t now_ns);

/* Progress of the last command, as far as the client's version shows it: polls of libkineto show busy and free, status
 * messages of NPU clients show Ready, Running and Idle. */
enum mon_command_stage mon_state_stage(const struct mon_process *process);

enum mon_request_kind mon_state_kind(const char *config, size_t config_b);

/* DURATION of a monitor configuration; 0: unlimited, or not given. */
uint64_t mon_state_duration_ns(const char *config, size_t config_b);

/* The decision table for one process. Writes the reason (256 bytes) unless the command is simply effective. */
enum mon_decision mon_state_decide(enum mon_request_kind kind, const struct mon_process *process, uint64_t now_ns,
                                   char *reason);

/* The status object: the documented flat keys of the most recently active job, "status":1, and "jobs", an array of
 * {job_id, nputrace, npumonitor, ..., processes:[{pid, rank, uid, client, nputrace, npumonitor, command ...}]}. Returns
 * a new reference; NULL if out of memory. */
json_t *mon_state_json(const struct mon_registry *registry);

#endif
