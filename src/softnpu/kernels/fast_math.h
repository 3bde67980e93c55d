/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions that the compiler can vectorise: no branches, no tables, no errno, no rounding-mode state.
 * Polynomials and argument reduction after S. Moshier's Cephes (single precision). */
#ifndef TK_FAST_MATH_H
#define TK_FAST_MATH_H

#include <stdint.h>
#include <string.h>

static inline uint32_t tk_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float tk_from_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum; works for |x| < 2^22. */
#define TK_ROUNDER 12582912.0f

/* Within 2 ulp; 0 below -104, infinity above 88.73, NaN for NaN. */
static inline float tk_exp(float x)
{
    x = x < -105.0f ? -105.0f : x;
    x = x > 89.0f ? 89.0f : x;
    float shifted = x * 1.44269504088896341f + TK_ROUNDER;
    float n = shifted - TK_ROUNDER;
    float r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    /* 2^n in two factors: n reaches from -151 to 128, further than one exponent field. */
    int32_t exponent = (int32_t)(tk_bits(shifted) - tk_bits(TK_ROUNDER));
    int32_t half = exponent >> 1;
    float low = tk_from_bits((uint32_t)(half + 127) << 23);
    float high = tk_from_bits((uint32_t)(exponent - half + 127) << 23);
    return p * low * high;
}

/* Absolute error below 2e-7, which is what 1 + tanh needs. */
static inline float tk_tanh(float x)
{
    return 1.0f - 2.0f / (tk_exp(2.0f * x) + 1.0f);
}

/* For normal positive numbers: within 2 ulp away from 1, absolute error below 1e-7 near it. */
static inline float tk_log(float x)
{
    uint32_t bits = tk_bits(x);
    int32_t exponent = (int32_t)(bits >> 23) - 126;
    float m = tk_from_bits((bits & 0x007fffffu) | 0x3f000000u); /* 0.5 <= m < 1 */
    uint32_t small = m < 0.707106781186547524f ? 0xffffffffu : 0;
    float e = (float)(exponent - (int32_t)(small & 1));
    m = m - 1.0f + tk_from_bits(tk_bits(m) & small);
    float z = m * m;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * z;
    p = p - 2.12194440e-4f * e;
    p = p - 0.5f * z;
    return m + p + 0.693359375f * e;
}

/* sin and cos of 2 pi u for 0 <= u < 1. */
static inline void tk_sincos_turn(float u, float *sin_out, float *cos_out)
{
    float shifted = u * 4.0f + TK_ROUNDER;
    uint32_t quadrant = tk_bits(shifted);
    float x = (u * 4.0f - (shifted - TK_ROUNDER)) * 1.57079632679489662f; /* |x| <= pi / 4 */
    float z = x * x;
    float s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + x;
    float c =
        ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
    uint32_t swap = 0u - (quadrant & 1);
    uint32_t sin_bits = (tk_bits(c) & swap) | (tk_bits(s) & ~swap);
    uint32_t cos_bits = (tk_bits(s) & swap) | (tk_bits(c) & ~swap);
    *sin_out = tk_from_bits(sin_bits ^ ((quadrant & 2) << 30));
    *cos_out = tk_from_bits(cos_bits ^ (((quadrant + 1) & 2) << 30));
}

#endif
