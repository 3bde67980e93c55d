/* SPDX-License-Identifier: Apache-2.0 */
/* How much device memory is in use, per card and per process, as reported by the driver's management library
 * (libdcmi.so). Two library calls per device, each of which may take milliseconds; for one thread, which must hold no
 * lock that others wait for. Without the library, or if it does not respond: no devices. */
#ifndef MS_COLLECT_DEVICE_MEMORY_H
#define MS_COLLECT_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define MS_DEVICES_MAX      64
#define MS_DEVICE_USERS_MAX 64 /* the library's limit */

struct ms_device_memory {
    uint32_t device;
    uint64_t used_b, total_b; /* of the card */
    uint32_t users;
    struct {
        uint32_t pid;
        uint64_t used_b;
    } user[MS_DEVICE_USERS_MAX];
};

struct ms_device_memories;
struct ms_device_memories *ms_device_memories_open(void); /* NULL: not available */
unsigned ms_device_memories_count(const struct ms_device_memories *memories);
/* Queries one device; false: no reply. */
bool ms_device_memories_query(struct ms_device_memories *memories, unsigned i, struct ms_device_memory *out);

#endif
