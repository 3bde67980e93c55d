/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between float32 and the 16-bit floating types, by integer arithmetic that the compiler can vectorise. */
#ifndef TK_HALF_H
#define TK_HALF_H

#include "softnpu/kernels/fast_math.h"

static inline float tk_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t magnitude = (uint32_t)(h & 0x7fffu) << 13;
    /* Multiplying by 2^112 moves the exponent bias from 15 to 127 and normalises subnormals on the way. */
    uint32_t bits = tk_bits(tk_from_bits(magnitude) * 0x1p112f);
    bits |= magnitude >= 0x0f800000u ? 0x7f800000u : 0; /* infinity and NaN keep the all-ones exponent */
    return tk_from_bits(bits | sign);
}

/* Round to nearest even; beyond 65504 to infinity. */
static inline uint16_t tk_float_to_half(float x)
{
    uint32_t bits = tk_bits(x);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    /* Normal result: rebias, add just under half a unit plus the last kept bit. */
    uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
    /* Subnormal result: 0.5 has the weight of a half unit of the subnormal grid in its last place; adding it rounds. */
    uint32_t subnormal = tk_bits(tk_from_bits(magnitude) + 0.5f) - tk_bits(0.5f);
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
    result = magnitude >= 0x477ff000u ? special : result;
    return (uint16_t)(result | sign);
}

static inline float tk_bf16_to_float(uint16_t b)
{
    return tk_from_bits((uint32_t)b << 16);
}

/* Round to nearest even; NaN stays NaN. */
static inline uint16_t tk_float_to_bf16(float x)
{
    uint32_t bits = tk_bits(x);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
    uint32_t nan = (bits >> 16) | 0x0040u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

#endif
