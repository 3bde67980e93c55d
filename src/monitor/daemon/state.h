/* What the daemon says about jobs: states of trace and monitor per process, and whether a command makes sense now. */
#ifndef MS_DAEMON_STATE_H
#define MS_DAEMON_STATE_H

#include "monitor/daemon/registry.h"

#include <jansson.h>

enum { MS_STATE_UNINITIALIZED = -1, MS_STATE_IDLE = 0, MS_STATE_RUNNING = 1, MS_STATE_READY = 2 };

const char *ms_state_name(int32_t state); /* "Idle" ...; other numbers: "unknown" */

/* State now, with everything known taken into account: silence, an elapsed duration, a process that polls but never
 * reported (Idle). */
int32_t ms_state_trace(const struct ms_process *process, uint64_t now_ns);
int32_t ms_state_monitor(const struct ms_process *process, uint64_t now_ns);

/* Where the last command stands, as far as the client generation lets us know: polls of libkineto tell busy and free,
 * statuses of NPU clients tell Ready, Running, Idle. */
enum ms_command_stage ms_state_stage(const struct ms_process *process);

enum ms_request_kind ms_state_kind(const char *config, size_t config_b);

/* DURATION of a monitor configuration; 0: endless, or not said. */
uint64_t ms_state_duration_ns(const char *config, size_t config_b);

/* The decision table, for one process. Writes why into reason (256 bytes) unless it is plainly effective. */
enum ms_decision ms_state_decide(enum ms_request_kind kind, const struct ms_process *process, uint64_t now_ns,
                                   char *reason);

/* The status object: the documented flat keys of the most recently active job, "status":1, and "jobs", an array of
 * {job_id, nputrace, npumonitor, ..., processes:[{pid, rank, uid, client, nputrace, npumonitor, command ...}]}.
 * A new reference, NULL without memory. */
json_t *ms_state_json(const struct ms_registry *registry);

#endif
