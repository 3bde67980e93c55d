/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of any type in chunks: load from strided memory into a wide type, compute there, store as any other type.
 * The wide type is double for floating types and a 64-bit integer for the rest, so a conversion loses no more than the
 * target type requires. */
#ifndef TK_CONVERT_H
#define TK_CONVERT_H

#include "softnpu/kernels/kernel.h"

/* aclDataType numbers. */
enum tk_type {
    TK_FLOAT = 0,
    TK_FLOAT16 = 1,
    TK_INT8 = 2,
    TK_INT32 = 3,
    TK_UINT8 = 4,
    TK_INT16 = 6,
    TK_UINT16 = 7,
    TK_UINT32 = 8,
    TK_INT64 = 9,
    TK_UINT64 = 10,
    TK_DOUBLE = 11,
    TK_BOOL = 12,
    TK_BF16 = 27,
};

enum tk_kind { TK_KIND_NONE, TK_KIND_REAL, TK_KIND_SIGNED, TK_KIND_UNSIGNED };

/* X(type, C type, kind): types that exist in C. BOOL is stored as a byte; the half types are handled separately. */
#define TK_PLAIN_TYPES(X)                                                                                              \
    X(TK_FLOAT, float, TK_KIND_REAL)                                                                                   \
    X(TK_DOUBLE, double, TK_KIND_REAL)                                                                                 \
    X(TK_INT8, int8_t, TK_KIND_SIGNED)                                                                                 \
    X(TK_INT16, int16_t, TK_KIND_SIGNED)                                                                               \
    X(TK_INT32, int32_t, TK_KIND_SIGNED)                                                                               \
    X(TK_INT64, int64_t, TK_KIND_SIGNED)                                                                               \
    X(TK_UINT8, uint8_t, TK_KIND_UNSIGNED)                                                                             \
    X(TK_UINT16, uint16_t, TK_KIND_UNSIGNED)                                                                           \
    X(TK_UINT32, uint32_t, TK_KIND_UNSIGNED)                                                                           \
    X(TK_UINT64, uint64_t, TK_KIND_UNSIGNED)

enum { TK_CHUNK = 256 };

struct tk_chunk {
    enum tk_kind kind;
    union {
        double real[TK_CHUNK];
        int64_t i64[TK_CHUNK];
        uint64_t u64[TK_CHUNK];
    };
};

#define tk_type_kind   TK_NAME(tk_type_kind)
#define tk_chunk_load  TK_NAME(tk_chunk_load)
#define tk_chunk_store TK_NAME(tk_chunk_store)
#define tk_chunk_make  TK_NAME(tk_chunk_make)

/* NONE for types that no kernel supports. */
enum tk_kind tk_type_kind(int64_t type);

/* n <= TK_CHUNK elements at base[0], base[step], base[2 * step] ... in units of the element. */
void tk_chunk_load(struct tk_chunk *c, const void *base, int64_t step, int64_t type, uint64_t n);

/* Converts while storing: to narrower floats round to nearest even; real to integer towards zero, saturating, NaN to 0;
 * integer to narrower integer keeps the low bits; to BOOL: not zero. */
void tk_chunk_store(const struct tk_chunk *c, void *base, int64_t step, int64_t type, uint64_t n);

/* Changes the wide type. */
void tk_chunk_make(struct tk_chunk *c, enum tk_kind kind, uint64_t n);

#endif
