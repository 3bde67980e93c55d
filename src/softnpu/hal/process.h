/* SPDX-License-Identifier: Apache-2.0 */
/* This process as a participant of the machine: the state behind every function of the library. */
#ifndef SOFTNPU_HAL_PROCESS_H
#define SOFTNPU_HAL_PROCESS_H

#include "ascend_hal.h"
#include "softnpu/hal/fault_plan.h"
#include "softnpu/hal/machine.h"

#include <stdbool.h>
#include <stdint.h>

/* Joins on the first call. Never NULL. */
struct snpu_machine *snpu__machine(void);
const struct snpu_settings *snpu__settings(void);
const struct snpu_fault_plan *snpu__fault_plan(void);

bool snpu__device_exists(uint32_t dev);

/* Larger sizes overflow when rounded up to pages; no device is that large. */
#define SNPU_HAL_SIZE_MAX ((uint64_t)1 << 46)

/* Charges the constant overhead of a process on a device (SOFTNPU_CONTEXT_B), once until it is closed. */
drvError_t snpu__device_open(uint32_t dev);
void snpu__device_close(uint32_t dev);

/* Charge and return capacity for pages of an arena (a device, or SNPU_ARENA_HOST, which has no limit). */
drvError_t snpu__charge(uint32_t place, enum snpu_page page, uint64_t size_b, uint32_t module_id);
void snpu__uncharge(uint32_t place, enum snpu_page page, uint64_t size_b, uint32_t module_id);

/* True if SOFTNPU_FAULT makes this allocation fail. dev: SNPU_MAX_DEVICES for host memory. */
bool snpu__fault_oom(uint32_t dev, uint64_t size_b);

/* Cleanup of each part in a forked child (_forget) and when a device is released. */
void snpu__fault_forget(void);
void snpu__prof_forget(void);
void snpu__spans_forget(void);
void snpu__share_forget(void);
void snpu__register_forget(void);
void snpu__vmm_forget(void);
void snpu__ipc_forget(void);
void snpu__vmm_release_device(uint32_t dev);
void snpu__ipc_release_device(uint32_t dev);
void snpu__register_release_device(uint32_t dev);

#endif
