/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10 and the two distributions made from its words. */
#ifndef TK_PHILOX_H
#define TK_PHILOX_H

#include "softnpu/kernels/fast_math.h"

#include <math.h>

/* Four words for a 128-bit counter, given in halves, under a 64-bit key. */
static inline void tk_philox_wide(uint64_t key, uint64_t low, uint64_t high, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32), c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The same with an upper half of 0. */
static inline void tk_philox(uint64_t key, uint64_t counter, uint32_t out[4])
{
    tk_philox_wide(key, counter, 0, out);
}

/* [0, 1) in steps of 2^-24. */
static inline float tk_unit(uint32_t word)
{
    return (float)(int32_t)(word >> 8) * 0x1p-24f;
}

/* Two independent standard normals; the radius is in (0, 1] so that its logarithm is finite. */
static inline void tk_normal_pair(uint32_t word0, uint32_t word1, float *x, float *y)
{
    float radius = sqrtf(-2.0f * tk_log(tk_unit(word0) + 0x1p-24f) + 0.0f);
    float s, c;
    tk_sincos_turn(tk_unit(word1), &s, &c);
    *x = radius * c;
    *y = radius * s;
}

#endif
