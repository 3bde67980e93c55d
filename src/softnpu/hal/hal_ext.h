/* SPDX-License-Identifier: Apache-2.0 */
/* What libascend_hal.so offers to the rest of the software NPU beyond the vendor's interface: pointer
 * classification, the device counter, the sending side of the profiling channels, injected faults, and the counters
 * that other processes display (softnpu top). Everything here is exported under snpu_ names and called through the
 * PLT. */
#ifndef SOFTNPU_HAL_EXT_H
#define SOFTNPU_HAL_EXT_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SNPU_MAX_DEVICES 64

/* ---- configuration of the machine that this process runs on ---- */
MS_EXPORT uint32_t snpu_hal_device_count(void);
MS_EXPORT uint64_t snpu_hal_capacity_b(uint32_t dev);
MS_EXPORT const char *snpu_hal_soc_name(void);
MS_EXPORT uint64_t snpu_hal_l2_b(void);
MS_EXPORT uint32_t snpu_hal_cores(void); /* threads that kernels of this process may use */
/* Problems with the environment or the shared state, one per line; NULL if there are none. */
MS_EXPORT const char *snpu_hal_message(void);

/* ---- clock: CLOCK_MONOTONIC_RAW in units of 20 ns ---- */
MS_EXPORT uint64_t snpu_hal_counter(void);

/* ---- pointers ---- */
enum snpu_range_kind {
    SNPU_RANGE_NONE,       /* unknown to the HAL: ordinary host memory, or nothing */
    SNPU_RANGE_DEVICE,     /* halMemAlloc on a device */
    SNPU_RANGE_HOST,       /* halMemAlloc, HOST: pinned */
    SNPU_RANGE_MANAGED,    /* halMemAlloc, SVM */
    SNPU_RANGE_RESERVED,   /* halMemAddressReserve, nothing mapped here */
    SNPU_RANGE_MAPPED,     /* halMemMap of a physical handle */
    SNPU_RANGE_REGISTERED, /* halHostRegister */
    SNPU_RANGE_IMPORTED,   /* memory of another process, opened by IPC key */
};

struct snpu_range {
    enum snpu_range_kind kind;
    uint32_t dev;    /* driver id; MAPPED: of the handle */
    bool host_side;  /* MAPPED handle on the host, HOST, REGISTERED */
    bool dvpp;       /* DEVICE memory of the media units */
    uint32_t page_b; /* 4 KiB, 2 MiB or 1 GiB */
    uintptr_t base;  /* start of the block, mapping, registration or reservation */
    uint64_t size_b;
};

/* Finds the range that contains ptr. False (and kind NONE) if there is none. Takes an internal lock briefly. */
MS_EXPORT bool snpu_hal_lookup(const void *ptr, struct snpu_range *out);

/* True if host code of this process may access all bytes [ptr, ptr + size_b), as far as the HAL knows: host pointers
 * that it does not know count as accessible. Used to turn a wild device address into an error code. */
MS_EXPORT bool snpu_hal_accessible(const void *ptr, uint64_t size_b);
MS_EXPORT bool snpu_hal_writable(const void *ptr, uint64_t size_b); /* the same, and not mapped read-only */

/* ---- profiling channels, sending side (receiving side: prof_drv_start, prof_channel_read) ---- */
enum { SNPU_CHANNEL_TSFW = 44, SNPU_CHANNEL_STARS = 50 };
MS_EXPORT bool snpu_hal_prof_on(uint32_t dev, uint32_t channel); /* one load */
MS_EXPORT void snpu_hal_prof_push(uint32_t dev, uint32_t channel, const void *record, uint32_t size_b);
MS_EXPORT uint64_t snpu_hal_prof_dropped(uint32_t dev, uint32_t channel); /* since the channel was started */

/* ---- faults (SOFTNPU_FAULT) that concern the runtime; OOM is handled inside the HAL ---- */
enum snpu_fault {
    SNPU_FAULT_NONE,
    SNPU_FAULT_KERNEL_ERROR, /* this execution fails with 507015 */
    SNPU_FAULT_LOST_TASK,    /* this execution never completes */
    SNPU_FAULT_RESET,        /* the device is lost now */
};
/* Called once per kernel execution on a device, by the executing thread, before the kernel runs. */
MS_EXPORT enum snpu_fault snpu_fault_on_kernel(uint32_t dev, const char *kernel_name);
/* 1.0 normally; otherwise the factor by which kernels on this device are slowed down, at least. */
MS_EXPORT double snpu_fault_slow_factor(uint32_t dev);
/* A lost device: drvDeviceStatus returns EXCEPTION until a forced reset clears the flag. */
MS_EXPORT void snpu_hal_set_lost(uint32_t dev, bool lost);
MS_EXPORT bool snpu_hal_lost(uint32_t dev);

/* ---- counters of this process that other processes can read ---- */
struct snpu_activity {
    uint64_t busy_ns; /* time spent executing tasks, summed over streams */
    uint64_t tasks;   /* executed */
    uint32_t streams; /* open now */
    uint32_t reserved;
};
/* This process's shared record for a device; the runtime writes it with relaxed atomics. Never NULL: if shared
 * memory is not available, it is private. */
MS_EXPORT struct snpu_activity *snpu_hal_activity(uint32_t dev);

/* Frees every allocation, mapping and handle of this process on a device: for aclrtResetDeviceForce and the last
 * aclrtResetDevice. */
MS_EXPORT void snpu_hal_release_device(uint32_t dev);

/* ---- memory shared by file descriptor: used for IPC events, notifies and HCCL ----
 * A process publishes the number of its descriptor; others open it with snpu_hal_open_peer. */
MS_EXPORT int snpu_hal_open_peer(int32_t pid, int fd); /* a duplicate of another process's descriptor, or -errno */
/* Lifts the check of process ids for a name created by halShmemCreateHandle (the driver has no function for the flag
 * "disable pid validation"). Returns a drvError_t. */
MS_EXPORT int snpu_hal_shmem_open_to_all(const char *name);

#ifdef __cplusplus
}
#endif

#endif
