/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for the launch figures. */
#include <stdint.h>

#define KERNEL __attribute__((visibility("default")))

KERNEL void nothing(void *args, uint32_t block, uint32_t blocks);
KERNEL void spin(void *args, uint32_t block, uint32_t blocks);

void nothing(void *args, uint32_t block, uint32_t blocks)
{
    (void)args;
    (void)block;
    (void)blocks;
}

/* { uint64_t rounds; }: arithmetic that takes some time. */
void spin(void *args, uint32_t block, uint32_t blocks)
{
    (void)blocks;
    volatile uint64_t x = block;
    for (uint64_t i = 0; i < *(const uint64_t *)args; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
    }
}
