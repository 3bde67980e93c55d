/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of elements as float, from and to every type. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"
#include "softnpu/kernels/half.h"

#ifdef __F16C__
#include <immintrin.h>

/* The instructions of the processor round to nearest even, as tk_float_to_half does; n is a multiple of 8. */
static void halves_to_floats(const uint16_t *from, float *to, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += 8) {
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)(from + i))));
    }
}

static void floats_to_halves(const float *from, uint16_t *to, uint64_t n)
{
    for (uint64_t i = 0; i < n; i += 8) {
        _mm_storeu_si128((__m128i_u *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    }
}

/* Round to nearest even, NaN stays NaN, as tk_float_to_bf16; n is a multiple of 16. */
static void floats_to_bf16(const float *from, uint16_t *to, uint64_t n)
{
    const __m256i half = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1), quiet = _mm256_set1_epi32(0x40);
    for (uint64_t i = 0; i < n; i += 16) {
        __m256i parts[2];
        for (int k = 0; k < 2; k++) {
            const __m256 x = _mm256_loadu_ps(from + i + 8 * k);
            const __m256i bits = _mm256_castps_si256(x), top = _mm256_srli_epi32(bits, 16);
            const __m256i rounded =
                _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, half), _mm256_and_si256(top, one)), 16);
            const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
            parts[k] = _mm256_blendv_epi8(rounded, _mm256_or_si256(top, quiet), nan);
        }
        const __m256i packed = _mm256_packus_epi32(parts[0], parts[1]);
        _mm256_storeu_si256((__m256i_u *)(to + i), _mm256_permute4x64_epi64(packed, 0xd8));
    }
}
#endif

/* A loop over dense elements, which the compiler vectorises, and one over strided elements. */
#define EACH(step, statement_at_i)                                                                                     \
    if ((step) == 1) {                                                                                                 \
        const int64_t stride = 1;                                                                                      \
        TK_INDEPENDENT                                                                                                 \
        for (int64_t i = 0; i < (int64_t)n; i++) {                                                                     \
            statement_at_i;                                                                                            \
        }                                                                                                              \
    } else {                                                                                                           \
        const int64_t stride = (step);                                                                                 \
        for (int64_t i = 0; i < (int64_t)n; i++) {                                                                     \
            statement_at_i;                                                                                            \
        }                                                                                                              \
    }

#define LOAD(acl_type, ctype, convert)                                                                                 \
    case acl_type: {                                                                                                   \
        const ctype *from = base;                                                                                      \
        EACH(step, buffer[i] = convert(from[i * stride]))                                                              \
        break;                                                                                                         \
    }

const float *op_load_f32(float *buffer, const void *base, int64_t step, int64_t type, uint64_t n)
{
    switch (type) {
    case TK_FLOAT:
        if (step == 1) {
            return base;
        }
        for (int64_t i = 0; i < (int64_t)n; i++) {
            buffer[i] = ((const float *)base)[i * step];
        }
        break;
    case TK_FLOAT16: {
        const uint16_t *from = base;
#ifdef __F16C__
        if (step == 1) {
            const uint64_t most = n & ~(uint64_t)7;
            halves_to_floats(from, buffer, most);
            for (uint64_t i = most; i < n; i++) {
                buffer[i] = tk_half_to_float(from[i]);
            }
            break;
        }
#endif
        EACH(step, buffer[i] = tk_half_to_float(from[i * stride]))
        break;
    }
        LOAD(TK_BF16, uint16_t, tk_bf16_to_float)
        LOAD(TK_DOUBLE, double, (float))
        LOAD(TK_INT8, int8_t, (float))
        LOAD(TK_INT16, int16_t, (float))
        LOAD(TK_INT32, int32_t, (float))
        LOAD(TK_INT64, int64_t, (float))
        LOAD(TK_UINT8, uint8_t, (float))
        LOAD(TK_UINT16, uint16_t, (float))
        LOAD(TK_UINT32, uint32_t, (float))
        LOAD(TK_UINT64, uint64_t, (float))
        LOAD(TK_BOOL, uint8_t, 0 != (float))
    default:
        memset(buffer, 0, n * sizeof *buffer);
        break;
    }
    return buffer;
}

#define STORE(acl_type, ctype, convert)                                                                                \
    case acl_type: {                                                                                                   \
        ctype *to = base;                                                                                              \
        EACH(step, to[i * stride] = (ctype)convert(from[i]))                                                           \
        break;                                                                                                         \
    }

void op_store_f32(const float *from, void *base, int64_t step, int64_t type, uint64_t n)
{
    switch (type) {
        STORE(TK_FLOAT, float, )
    case TK_FLOAT16: {
        uint16_t *to = base;
#ifdef __F16C__
        if (step == 1) {
            const uint64_t most = n & ~(uint64_t)7;
            floats_to_halves(from, to, most);
            for (uint64_t i = most; i < n; i++) {
                to[i] = tk_float_to_half(from[i]);
            }
            break;
        }
#endif
        EACH(step, to[i * stride] = tk_float_to_half(from[i]))
        break;
    }
    case TK_BF16: {
        uint16_t *to = base;
#ifdef __F16C__
        if (step == 1) {
            const uint64_t most = n & ~(uint64_t)15;
            floats_to_bf16(from, to, most);
            for (uint64_t i = most; i < n; i++) {
                to[i] = tk_float_to_bf16(from[i]);
            }
            break;
        }
#endif
        EACH(step, to[i * stride] = tk_float_to_bf16(from[i]))
        break;
    }
        STORE(TK_DOUBLE, double, )
        STORE(TK_BOOL, uint8_t, 0.0f !=)
    default: {
        /* Integers saturate, which the wide conversion does. */
        struct tk_chunk chunk = {.kind = TK_KIND_REAL};
        for (uint64_t done = 0; done < n; done += TK_CHUNK) {
            const uint64_t part = n - done < TK_CHUNK ? n - done : TK_CHUNK;
            for (uint64_t i = 0; i < part; i++) {
                chunk.real[i] = (double)from[done + i];
            }
            tk_chunk_store(&chunk, (void *)op_element(base, (int64_t)done * step, type), step, type, part);
        }
        break;
    }
    }
}
