/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of the collectives.
 *
 * Data is processed in blocks that fit the first-level cache. The accumulator of a block is local, so the destination
 * may be one of the sources, and the compiler can vectorise plain loops without aliasing. The 16-bit floating types
 * have an accumulator of floats. Integers wrap around (computed unsigned where that matters). No state, any thread. */
#include "softnpu/hccl/dtype.h"

#include "base/half.h"
#include "base/macros.h"
#include "softnpu/hccl/copy.h"

#include <string.h>

#define BLOCK_B     8192 /* accumulator; together with the source block it fits into 32 KiB */
#define BLOCK_LANES (BLOCK_B / sizeof(float))

/* ---- 16-bit floating point ---- */

static void fp16_load_plain(float *restrict to, const uint16_t *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = ms_half_to_float(from[i]);
    }
}

static void fp16_store_plain(uint16_t *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = ms_float_to_half(from[i]);
    }
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

__attribute__((target("f16c,avx"))) static void fp16_load_f16c(float *restrict to, const uint16_t *restrict from,
                                                               size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    }
    fp16_load_plain(to + i, from + i, n - i);
}

__attribute__((target("f16c,avx"))) static void fp16_store_f16c(uint16_t *restrict to, const float *restrict from,
                                                                size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        _mm_storeu_si128((__m128i *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    }
    fp16_store_plain(to + i, from + i, n - i);
}

static bool has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0 && __builtin_cpu_supports("avx");
}
#else
#define fp16_load_f16c  fp16_load_plain
#define fp16_store_f16c fp16_store_plain
static bool has_f16c(void)
{
    return false;
}
#endif

static void fp16_load(float *to, const void *from, size_t n)
{
    (has_f16c() ? fp16_load_f16c : fp16_load_plain)(to, from, n);
}

static void fp16_store(void *to, const float *from, size_t n)
{
    (has_f16c() ? fp16_store_f16c : fp16_store_plain)(to, from, n);
}

static void bf16_load(float *restrict to, const void *from, size_t n)
{
    const uint16_t *restrict f = from;
    for (size_t i = 0; i < n; i++) {
        to[i] = ms_bf16_to_float(f[i]);
    }
}

static void bf16_store(void *to, const float *restrict from, size_t n)
{
    uint16_t *restrict t = to;
    for (size_t i = 0; i < n; i++) {
        t[i] = ms_float_to_bf16(from[i]);
    }
}

/* ---- fold: acc[i] = acc[i] op x[i] ---- */

typedef void (*fold_fn)(void *restrict acc, const void *restrict x, size_t n);

#define FOLD(name, type, expression)                                                                                   \
    static void name(void *restrict acc, const void *restrict x, size_t n)                                             \
    {                                                                                                                  \
        type *restrict a_ = acc;                                                                                       \
        const type *restrict b_ = x;                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                                               \
            type a = a_[i], b = b_[i];                                                                                 \
            a_[i] = (type)(expression);                                                                                \
        }                                                                                                              \
    }

/* Narrow integers are promoted to int before the product; 16 bits squared would overflow it, hence the 1u. */
#define FOLDS(suffix, type)                                                                                            \
    FOLD(sum_##suffix, type, a + b)                                                                                    \
    FOLD(prod_##suffix, type, 1u * a * b)                                                                              \
    FOLD(max_##suffix, type, a < b ? b : a)                                                                            \
    FOLD(min_##suffix, type, b < a ? b : a)

#define FLOAT_FOLDS(suffix, type)                                                                                      \
    FOLD(sum_##suffix, type, a + b)                                                                                    \
    FOLD(prod_##suffix, type, a *b)                                                                                    \
    FOLD(max_##suffix, type, a < b ? b : a)                                                                            \
    FOLD(min_##suffix, type, b < a ? b : a)

/* Sum and product of signed and unsigned integers have the same bits; only comparisons differ. */
#define SIGNED_FOLDS(suffix, type)                                                                                     \
    FOLD(max_##suffix, type, a < b ? b : a)                                                                            \
    FOLD(min_##suffix, type, b < a ? b : a)

FOLDS(u8, uint8_t)
FOLDS(u16, uint16_t)
FOLDS(u32, uint32_t)
FOLDS(u64, uint64_t)
SIGNED_FOLDS(i8, int8_t)
SIGNED_FOLDS(i16, int16_t)
SIGNED_FOLDS(i32, int32_t)
SIGNED_FOLDS(i64, int64_t)
FLOAT_FOLDS(f32, float)
FLOAT_FOLDS(f64, double)

/* ---- the table ---- */

struct dtype {
    const char *name;
    uint32_t size_b;
    fold_fn fold[4];                                     /* by HcclReduceOp; none: can be moved but not reduced */
    void (*load)(float *to, const void *from, size_t n); /* 16-bit types: the fold works on floats */
    void (*store)(void *to, const float *from, size_t n);
};

#define UNSIGNED(s)                                                                                                    \
    {                                                                                                                  \
        sum_##s, prod_##s, max_##s, min_##s                                                                            \
    }
#define SIGNED(s)                                                                                                      \
    {                                                                                                                  \
        sum_u##s, prod_u##s, max_i##s, min_i##s                                                                        \
    }

static const struct dtype dtypes[] = {
    [HCCL_DATA_TYPE_INT8] = {"int8", 1, SIGNED(8), NULL, NULL},
    [HCCL_DATA_TYPE_INT16] = {"int16", 2, SIGNED(16), NULL, NULL},
    [HCCL_DATA_TYPE_INT32] = {"int32", 4, SIGNED(32), NULL, NULL},
    [HCCL_DATA_TYPE_FP16] = {"fp16", 2, UNSIGNED(f32), fp16_load, fp16_store},
    [HCCL_DATA_TYPE_FP32] = {"fp32", 4, UNSIGNED(f32), NULL, NULL},
    [HCCL_DATA_TYPE_INT64] = {"int64", 8, SIGNED(64), NULL, NULL},
    [HCCL_DATA_TYPE_UINT64] = {"uint64", 8, UNSIGNED(u64), NULL, NULL},
    [HCCL_DATA_TYPE_UINT8] = {"uint8", 1, UNSIGNED(u8), NULL, NULL},
    [HCCL_DATA_TYPE_UINT16] = {"uint16", 2, UNSIGNED(u16), NULL, NULL},
    [HCCL_DATA_TYPE_UINT32] = {"uint32", 4, UNSIGNED(u32), NULL, NULL},
    [HCCL_DATA_TYPE_FP64] = {"fp64", 8, UNSIGNED(f64), NULL, NULL},
    [HCCL_DATA_TYPE_BFP16] = {"bfp16", 2, UNSIGNED(f32), bf16_load, bf16_store},
    [HCCL_DATA_TYPE_INT128] = {.name = "int128", .size_b = 16},
    [HCCL_DATA_TYPE_HIF8] = {.name = "hif8", .size_b = 1},
    [HCCL_DATA_TYPE_FP8E4M3] = {.name = "fp8e4m3", .size_b = 1},
    [HCCL_DATA_TYPE_FP8E5M2] = {.name = "fp8e5m2", .size_b = 1},
    [HCCL_DATA_TYPE_FP8E8M0] = {.name = "fp8e8m0", .size_b = 1},
};

static const struct dtype *find(uint32_t dtype)
{
    return dtype < MS_COUNT_OF(dtypes) && dtypes[dtype].name != NULL ? &dtypes[dtype] : NULL;
}

uint32_t hccl_dtype_size(uint32_t dtype)
{
    const struct dtype *d = find(dtype);
    return d != NULL ? d->size_b : 0;
}

const char *hccl_dtype_name(uint32_t dtype)
{
    const struct dtype *d = find(dtype);
    return d != NULL ? d->name : "unknown type";
}

bool hccl_dtype_reduces(uint32_t dtype)
{
    const struct dtype *d = find(dtype);
    return d != NULL && d->fold[0] != NULL;
}

static const char *const op_names[] = {
    [HCCL_REDUCE_SUM] = "sum", [HCCL_REDUCE_PROD] = "prod", [HCCL_REDUCE_MAX] = "max", [HCCL_REDUCE_MIN] = "min"};

const char *hccl_reduce_name(uint32_t op)
{
    return op < MS_COUNT_OF(op_names) ? op_names[op] : "unknown reduction";
}

bool hccl_reduce_valid(uint32_t op)
{
    return op < MS_COUNT_OF(op_names);
}

/* ---- a block at a time ---- */

static void reduce_halves(const struct dtype *d, uint32_t op, const void *const *src, uint32_t n_src, size_t at,
                          size_t n, void *dst, void *copy)
{
    float acc[BLOCK_LANES], x[BLOCK_LANES];
    uint16_t out[BLOCK_LANES];
    d->load(acc, (const uint16_t *)src[0] + at, n);
    for (uint32_t s = 1; s < n_src; s++) {
        d->load(x, (const uint16_t *)src[s] + at, n);
        d->fold[op](acc, x, n);
    }
    d->store(out, acc, n);
    if (dst != NULL) {
        hccl_copy((uint16_t *)dst + at, out, n * sizeof(*out));
    }
    if (copy != NULL) {
        hccl_copy((uint16_t *)copy + at, out, n * sizeof(*out));
    }
}

static void reduce_whole(const struct dtype *d, uint32_t op, const void *const *src, uint32_t n_src, size_t at,
                         size_t n, void *dst, void *copy)
{
    uint64_t acc[BLOCK_B / sizeof(uint64_t)];
    size_t off = at * d->size_b, size = n * d->size_b;
    hccl_copy(acc, (const char *)src[0] + off, size);
    for (uint32_t s = 1; s < n_src; s++) {
        d->fold[op](acc, (const char *)src[s] + off, n);
    }
    if (dst != NULL) {
        hccl_copy((char *)dst + off, acc, size);
    }
    if (copy != NULL) {
        hccl_copy((char *)copy + off, acc, size);
    }
}

void hccl_reduce(uint32_t dtype, uint32_t op, const void *const *src, uint32_t n_src, size_t count, void *dst,
                 void *copy)
{
    const struct dtype *d = find(dtype);
    size_t block = d->load != NULL ? BLOCK_LANES : BLOCK_B / d->size_b;
    for (size_t at = 0; at < count; at += block) {
        size_t n = count - at < block ? count - at : block;
        (d->load != NULL ? reduce_halves : reduce_whole)(d, op, src, n_src, at, n, dst, copy);
    }
}
