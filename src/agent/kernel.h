/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: where they are launched, and when the device executes them. Active only if the session requests both
 * launches and the kernel level. */
#ifndef MS_AGENT_KERNEL_H
#define MS_AGENT_KERNEL_H

#include "agent/agent.h"

static inline bool ms_kernel_wanted(void)
{
    enum { MS_KERNEL_EVENTS = MS_WANT_LAUNCH | MS_WANT_KERNEL };
    return ms_rec_state() == MS_STATE_ON &&
           (__atomic_load_n(&ms_gate->shm->event_mask, __ATOMIC_RELAXED) & MS_KERNEL_EVENTS) == MS_KERNEL_EVENTS &&
           ms_self.suppressed == 0;
}

/* The same without a call: a quick pre-check. */
static inline bool ms_kernel_maybe(void)
{
    enum { MS_KERNEL_EVENTS = MS_WANT_LAUNCH | MS_WANT_KERNEL };
    const struct ms_shm *shm = ms_rec_shm();
    return shm == NULL ||
           (__atomic_load_n(&shm->state, __ATOMIC_RELAXED) == MS_STATE_ON &&
            (__atomic_load_n(&shm->event_mask, __ATOMIC_RELAXED) & MS_KERNEL_EVENTS) == MS_KERNEL_EVENTS);
}

/* ---- kernel.c ---- */

/* Registers for the runtime's reports once a profiling library is loaded. Kernel names are announced when programs load
 * kernels, so the earlier the better. */
void ms_kernel_prepare(void);

/* Once a second: has another tool replaced our callbacks? */
void ms_kernel_check(void);

/* Before a launch: makes sure that the device's log is being read. */
void ms_kernel_launching(void);

/* Another tool registers a callback; true: it was chained, and ours stays registered. */
bool ms_kernel_chain(int32_t type, void *callback);

/* A launch that has been seen but not yet found in a device's log. */
struct ms_pending_launch {
    uint32_t device, stream, task;
    uint16_t name; /* see ms_kernel_name */
};
/* The launch of this task: fills in its name (and its stream, if the log lacks it). forget: it has ended. */
bool ms_pending_find(struct ms_pending_launch *p, bool forget);
/* Before the first launch: whether logs of this chip lack streams. */
void ms_pending_without_stream(bool is_so);

/* Text of a name; empty if it was never announced. */
const char *ms_kernel_name(uint16_t name, size_t *length_b);

/* Stream numbers take all 15 bits in the device's log. */
bool ms_kernel_streams_expanded(void);

/* ---- device_log.c ---- */

/* Starts reading the log of this device (driver's number). */
void ms_device_log_start(uint32_t device);
/* Reads the remaining data, then stops reading all logs. Waits for a short, bounded time. */
void ms_device_log_stop(void);
/* Parses data read from the log of this device, by us or by another tool. */
void ms_device_log_parse(uint32_t device, const char *data, size_t data_b);

/* After fork, and in a new session: nothing is being read. */
void ms_kernel_attached(void);
void ms_device_log_attached(void);

#endif
