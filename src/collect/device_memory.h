/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory of the devices is in use, by the card as a whole and by process, as the driver's management library
 * (libdcmi.so) tells it. Two of its functions per device, each of which may take milliseconds; for one thread, which
 * holds nothing that others wait for. No library, or one that does not answer: no devices. */
#ifndef MS_COLLECT_DEVICE_MEMORY_H
#define MS_COLLECT_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define MS_DEVICES_MAX      64
#define MS_DEVICE_USERS_MAX 64 /* as many as the library tells */

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
struct ms_device_memories *ms_device_memories_open(void); /* NULL: there is none */
unsigned ms_device_memories_count(const struct ms_device_memories *memories);
/* Asks about one of them; false: no answer. */
bool ms_device_memories_ask(struct ms_device_memories *memories, unsigned i, struct ms_device_memory *out);

#endif
