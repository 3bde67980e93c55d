/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all pools: sizes, errors with a text, switching the device. */
#ifndef NPUPOOL_COMMON_H
#define NPUPOOL_COMMON_H

#include "npupool/npupool.h"

#include "base/macros.h"

#define NPOOL_KIB ((size_t)1024)
#define NPOOL_MIB (1024 * NPOOL_KIB)
#define NPOOL_GIB (1024 * NPOOL_MIB)

/* Devices are small numbers; a process rarely uses more than one. */
#define NPOOL_DEVICES_MAX 64

/* The frameworks add this to every request, for hardware units that read beyond the end. */
#define NPOOL_PADDING_B ((size_t)32)

/* Largest request that a pool accepts, so that rounding cannot overflow. */
#define NPOOL_SIZE_LIMIT ((size_t)1 << 60)

/* Stores the text for npool_last_error and returns the code. */
aclError npool__fail(aclError code, const char *format, ...) MS_PRINTF(2, 3);

/* The same for a failed ACL call: adds its code and the runtime's own text. */
aclError npool__fail_acl(aclError code, const char *format, ...) MS_PRINTF(2, 3);

/* The caller's configuration, or that of the environment if there is none. */
aclError npool__config_take(struct npool_config *out, const struct npool_config *given);

/* The current device, checked against NPOOL_DEVICES_MAX. */
aclError npool__current_device(int32_t *device);

/* Makes a device current temporarily. */
struct npool_device_scope {
    int32_t previous; /* -1: nothing to restore */
};
aclError npool__enter_device(int32_t device, struct npool_device_scope *scope);
void npool__leave_device(const struct npool_device_scope *scope);

/* aclrtMallocAlign32, or aclrtMalloc if the runtime does not have it. */
aclError npool__malloc_align32(void **ptr, size_t size_b, aclrtMemMallocPolicy policy);

/* Has the event (from npool__event_get) completed? Errors count as yes: the stream is dead and cannot use the
 * memory. */
bool npool__event_done(aclrtEvent event);
aclError npool__event_record(aclrtEvent *event, aclrtStream stream);

#endif
