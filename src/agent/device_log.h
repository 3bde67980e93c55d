/* SPDX-License-Identifier: Apache-2.0 */
/* Shares the device logs with another tool; for hooks/prof.c. */
#ifndef MS_AGENT_DEVICE_LOG_H
#define MS_AGENT_DEVICE_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* Switches that the agent needs in the runtime: tasks with little detail. */
#define MS_PROF_SWITCHES (0x800ull | 0x4000000ull)

/* The agent has this log open. */
bool ms_device_log_is_ours(uint32_t device);
/* Another tool has started (then it reads) or stopped (then we read) this log. */
void ms_device_log_others(uint32_t device, bool started);
/* Another tool switches these on or off; returns the switches that the agent needs to keep on. */
uint64_t ms_device_log_others_switches(uint32_t device, uint64_t on, uint64_t off);

#endif
