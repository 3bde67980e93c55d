/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual addresses and physical memory: functions that the public runtime interface lacks. */
#ifndef SOFTNPU_RUNTIME_VMM_H
#define SOFTNPU_RUNTIME_VMM_H

#include "base/macros.h"

#include <stddef.h>
#include <stdint.h>

struct drv_mem_access_desc;
struct drv_mem_location;
struct drv_mem_prop;

/* A sharing handle of either generation. fabric is 128 bytes, or NULL for the first generation (number only). */
struct snpu_vmm_share {
    uint64_t number;
    void *fabric;
};

MS_EXPORT int32_t snpu_vmm_set_access(void *ptr, size_t size_b, struct drv_mem_access_desc *desc, size_t count);
MS_EXPORT int32_t snpu_vmm_get_access(void *ptr, struct drv_mem_location *where, uint64_t *flags);
MS_EXPORT int32_t snpu_vmm_granularity(const struct drv_mem_prop *prop, int32_t option, size_t *granularity);
MS_EXPORT int32_t snpu_vmm_address_range(void *ptr, void **base, size_t *size_b);
MS_EXPORT int32_t snpu_vmm_retain(void *ptr, void **handle);
MS_EXPORT int32_t snpu_vmm_properties(void *handle, struct drv_mem_prop *prop);
MS_EXPORT int32_t snpu_vmm_export(void *handle, uint64_t flags, struct snpu_vmm_share *share);
MS_EXPORT int32_t snpu_vmm_import(const struct snpu_vmm_share *share, uint32_t dev, void **handle);
MS_EXPORT int32_t snpu_vmm_set_pids(const struct snpu_vmm_share *share, int32_t *pids, size_t count);

/* This process's memory opened by other processes (ipc_memory.c). */
#define SNPU_IPC_KEY_B 65
MS_EXPORT int32_t snpu_ipc_export(void *ptr, size_t size_b, char *key, size_t key_b, uint64_t flags);
MS_EXPORT int32_t snpu_ipc_import(void **ptr, const char *key, uint64_t flags);
MS_EXPORT int32_t snpu_ipc_set_pids(const char *key, int32_t *pids, size_t count);
MS_EXPORT int32_t snpu_ipc_close(const char *key);
MS_EXPORT int32_t snpu_ipc_known(const char *key); /* 0 if it was exported or opened here */

#endif
