/* SPDX-License-Identifier: Apache-2.0 */
/* Loading, storing and converting elements of any type. Rules: convert.h. */
#include "softnpu/kernels/convert.h"

#include "softnpu/kernels/half.h"

enum tk_kind tk_type_kind(int64_t type)
{
    switch (type) {
#define PLAIN(name, ctype, kind)                                                                                       \
    case name:                                                                                                         \
        return kind;
        TK_PLAIN_TYPES(PLAIN)
#undef PLAIN
    case TK_FLOAT16:
    case TK_BF16:
        return TK_KIND_REAL;
    case TK_BOOL:
        return TK_KIND_UNSIGNED;
    default:
        return TK_KIND_NONE;
    }
}

static int64_t real_to_signed(double v)
{
    if (v != v) {
        return 0;
    }
    return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

static uint64_t real_to_unsigned(double v)
{
    return !(v > 0) ? 0 : v >= 0x1p64 ? UINT64_MAX : (uint64_t)v;
}

/* A real number into an integer type narrower than 64 bits saturates at the ends of that type. */
static int64_t clamp_signed(double v, unsigned bits)
{
    const int64_t top = INT64_MAX >> (64 - bits);
    const int64_t whole = real_to_signed(v);
    return whole > top ? top : whole < -top - 1 ? -top - 1 : whole;
}

static uint64_t clamp_unsigned(double v, unsigned bits)
{
    const uint64_t top = UINT64_MAX >> (64 - bits);
    const uint64_t whole = real_to_unsigned(v);
    return whole > top ? top : whole;
}

/* double to float16 in one rounding: float keeps 24 bits, so a tie of the second rounding may hide a remainder of the
 * first. Setting the last bit of an inexact float (round to odd) preserves it. */
static float round_to_odd(double v)
{
    float f = (float)v;
    uint32_t bits = tk_bits(f);
    if ((double)f != v && v == v && (bits & 0x7f800000u) != 0x7f800000u) {
        const double magnitude_f = f < 0 ? -(double)f : (double)f, magnitude_v = v < 0 ? -v : v;
        if ((bits & 1) == 0) {
            /* The neighbour on the other side of v is odd. */
            bits = magnitude_f > magnitude_v ? bits - 1 : bits + 1;
            f = tk_from_bits(bits);
        }
    }
    return f;
}

void tk_chunk_load(struct tk_chunk *c, const void *base, int64_t step, int64_t type, uint64_t n)
{
    c->kind = tk_type_kind(type);
    switch (type) {
#define WIDE_TK_KIND_REAL     real
#define WIDE_TK_KIND_SIGNED   i64
#define WIDE_TK_KIND_UNSIGNED u64
#define PLAIN(name, ctype, wide)                                                                                       \
    case name: {                                                                                                       \
        const ctype *from = base;                                                                                      \
        if (step == 1) {                                                                                               \
            for (uint64_t i = 0; i < n; i++) {                                                                         \
                c->WIDE_##wide[i] = from[i];                                                                           \
            }                                                                                                          \
        } else {                                                                                                       \
            for (uint64_t i = 0; i < n; i++) {                                                                         \
                c->WIDE_##wide[i] = from[(int64_t)i * step];                                                           \
            }                                                                                                          \
        }                                                                                                              \
        break;                                                                                                         \
    }
        TK_PLAIN_TYPES(PLAIN)
#undef PLAIN
    case TK_FLOAT16:
        for (uint64_t i = 0; i < n; i++) {
            c->real[i] = (double)tk_half_to_float(((const uint16_t *)base)[(int64_t)i * step]);
        }
        break;
    case TK_BF16:
        for (uint64_t i = 0; i < n; i++) {
            c->real[i] = (double)tk_bf16_to_float(((const uint16_t *)base)[(int64_t)i * step]);
        }
        break;
    case TK_BOOL:
        for (uint64_t i = 0; i < n; i++) {
            c->u64[i] = ((const uint8_t *)base)[(int64_t)i * step] != 0;
        }
        break;
    default:
        break;
    }
}

void tk_chunk_make(struct tk_chunk *c, enum tk_kind kind, uint64_t n)
{
    if (kind == TK_KIND_REAL && c->kind == TK_KIND_SIGNED) {
        for (uint64_t i = 0; i < n; i++) {
            c->real[i] = (double)c->i64[i];
        }
    } else if (kind == TK_KIND_REAL && c->kind == TK_KIND_UNSIGNED) {
        for (uint64_t i = 0; i < n; i++) {
            c->real[i] = (double)c->u64[i];
        }
    } else if (kind == TK_KIND_SIGNED && c->kind == TK_KIND_REAL) {
        for (uint64_t i = 0; i < n; i++) {
            c->i64[i] = real_to_signed(c->real[i]);
        }
    } else if (kind == TK_KIND_UNSIGNED && c->kind == TK_KIND_REAL) {
        for (uint64_t i = 0; i < n; i++) {
            c->u64[i] = real_to_unsigned(c->real[i]);
        }
    }
    /* Between signed and unsigned the bits stay. */
    c->kind = kind;
}

/* STORE: converts each element v of `from` by `expression`. */
#define STORE(ctype, from, expression)                                                                                 \
    do {                                                                                                               \
        ctype *to = base;                                                                                              \
        for (uint64_t i = 0; i < n; i++) {                                                                             \
            const __auto_type v = (from)[i];                                                                           \
            to[(int64_t)i * step] = (ctype)(expression);                                                               \
        }                                                                                                              \
    } while (0)

static void store_reals(const double *from, void *base, int64_t step, int64_t type, uint64_t n)
{
    switch (type) {
    case TK_FLOAT:
        STORE(float, from, v);
        break;
    case TK_DOUBLE:
        STORE(double, from, v);
        break;
    case TK_FLOAT16:
        STORE(uint16_t, from, tk_float_to_half(round_to_odd(v)));
        break;
    case TK_BF16:
        STORE(uint16_t, from, tk_float_to_bf16(round_to_odd(v)));
        break;
    case TK_INT8:
        STORE(int8_t, from, clamp_signed(v, 8));
        break;
    case TK_INT16:
        STORE(int16_t, from, clamp_signed(v, 16));
        break;
    case TK_INT32:
        STORE(int32_t, from, clamp_signed(v, 32));
        break;
    case TK_INT64:
        STORE(int64_t, from, clamp_signed(v, 64));
        break;
    case TK_UINT8:
        STORE(uint8_t, from, clamp_unsigned(v, 8));
        break;
    case TK_UINT16:
        STORE(uint16_t, from, clamp_unsigned(v, 16));
        break;
    case TK_UINT32:
        STORE(uint32_t, from, clamp_unsigned(v, 32));
        break;
    case TK_UINT64:
        STORE(uint64_t, from, clamp_unsigned(v, 64));
        break;
    case TK_BOOL:
        STORE(uint8_t, from, v != 0);
        break;
    default:
        break;
    }
}

/* From 64-bit integers: the C conversion is the rule for every plain type. */
#define PLAIN(name, ctype, kind)                                                                                       \
    case name:                                                                                                         \
        STORE(ctype, from, v);                                                                                         \
        break;
#define STORE_INTEGERS(function, wide)                                                                                 \
    static void function(const wide *from, void *base, int64_t step, int64_t type, uint64_t n)                         \
    {                                                                                                                  \
        switch (type) {                                                                                                \
            TK_PLAIN_TYPES(PLAIN)                                                                                      \
        case TK_FLOAT16:                                                                                               \
            STORE(uint16_t, from, tk_float_to_half(round_to_odd((double)v)));                                          \
            break;                                                                                                     \
        case TK_BF16:                                                                                                  \
            STORE(uint16_t, from, tk_float_to_bf16(round_to_odd((double)v)));                                          \
            break;                                                                                                     \
        case TK_BOOL:                                                                                                  \
            STORE(uint8_t, from, v != 0);                                                                              \
            break;                                                                                                     \
        default:                                                                                                       \
            break;                                                                                                     \
        }                                                                                                              \
    }
STORE_INTEGERS(store_signed, int64_t)
STORE_INTEGERS(store_unsigned, uint64_t)

void tk_chunk_store(const struct tk_chunk *c, void *base, int64_t step, int64_t type, uint64_t n)
{
    switch (c->kind) {
    case TK_KIND_REAL:
        store_reals(c->real, base, step, type, n);
        break;
    case TK_KIND_SIGNED:
        store_signed(c->i64, base, step, type, n);
        break;
    case TK_KIND_UNSIGNED:
        store_unsigned(c->u64, base, step, type, n);
        break;
    default:
        break;
    }
}
