/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that counts its executions. */
#include <stdint.h>

void count_up(void *args, uint32_t block, uint32_t blocks);

__attribute__((visibility("default"))) void count_up(void *args, uint32_t block, uint32_t blocks)
{
    (void)block;
    (void)blocks;
    uint64_t *counter = *(uint64_t **)args;
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}
