/* SPDX-License-Identifier: Apache-2.0 */
/* Sixteen-bit floating point in software: IEEE binary16 and bfloat16, rounding to nearest, ties to even. NaNs stay NaNs
 * (quiet); infinities and signed zeros are preserved. */
#ifndef MS_BASE_HALF_H
#define MS_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t ms_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float ms_bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline float ms_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t mantissa = half & 0x3ff;
    if (exponent == 0x1f) {
        return ms_bits_float(sign | 0x7f800000 | mantissa << 13 | (mantissa != 0 ? 0x400000 : 0));
    }
    if (exponent != 0) {
        return ms_bits_float(sign | (exponent + 112) << 23 | mantissa << 13);
    }
    /* Denormal: the mantissa counts units of 2^-24, exact in a float. */
    float magnitude = (float)mantissa * 0x1p-24f;
    return ms_bits_float(sign | ms_float_bits(magnitude));
}

static inline uint16_t ms_float_to_half(float value)
{
    uint32_t bits = ms_float_bits(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    }
    if (magnitude >= 0x477ff000) { /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00);
    }
    if (magnitude >= 0x38800000) { /* normal in half precision: 2^-14 and above */
        uint32_t rounded = magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1);
        return (uint16_t)(sign | rounded >> 13);
    }
    /* Denormal: adding 0.5 moves the remaining bits into the low mantissa; the addition rounds. */
    float shifted = ms_bits_float(magnitude) + 0.5f;
    return (uint16_t)(sign | (ms_float_bits(shifted) - ms_float_bits(0.5f)));
}

static inline float ms_bf16_to_float(uint16_t bf16)
{
    return ms_bits_float((uint32_t)bf16 << 16);
}

static inline uint16_t ms_float_to_bf16(float value)
{
    uint32_t bits = ms_float_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
