/* SPDX-License-Identifier: Apache-2.0 */
/* Naive reference of the collectives: inputs of any rank from a seed, and the exact bytes that each rank must find in
 * its receive buffer. Used by the tests of the transport and of the library. */
#ifndef TESTS_HCCL_REF_H
#define TESTS_HCCL_REF_H

#include "base/half.h"
#include "softnpu/hccl/collective.h"
#include "softnpu/hccl/dtype.h"

#include <stdlib.h>
#include <string.h>

struct ref_case {
    uint32_t kind, dtype, reduce, root;
    uint64_t count;
    uint32_t n;
    uint64_t seed;
};

static inline uint64_t ref_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Integers take all values; floating point is kept near one, so that nothing overflows and rounding matters. */
static inline void ref_fill(uint32_t dtype, void *buf, uint64_t count, uint64_t seed)
{
    uint32_t size = hccl_dtype_size(dtype);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t x = ref_mix(seed * 0x1000003u + i);
        float f = ((float)(x & 0xffff) - 32768.0f) / 17000.0f;
        char *at = (char *)buf + i * size;
        if (dtype == HCCL_DATA_TYPE_FP32) {
            memcpy(at, &f, 4);
        } else if (dtype == HCCL_DATA_TYPE_FP64) {
            double d = f;
            memcpy(at, &d, 8);
        } else if (dtype == HCCL_DATA_TYPE_FP16 || dtype == HCCL_DATA_TYPE_BFP16) {
            uint16_t h = dtype == HCCL_DATA_TYPE_FP16 ? ms_float_to_half(f) : ms_float_to_bf16(f);
            memcpy(at, &h, 2);
        } else {
            uint64_t two[2] = {x, ~x};
            memcpy(at, two, size);
        }
    }
}

#define REF_FOLD(type, wide)                                                                                           \
    do {                                                                                                               \
        type a, b;                                                                                                     \
        memcpy(&a, acc, sizeof(a));                                                                                    \
        memcpy(&b, x, sizeof(b));                                                                                      \
        switch (reduce) {                                                                                              \
        case HCCL_REDUCE_SUM:                                                                                          \
            a = (type)((wide)a + (wide)b);                                                                             \
            break;                                                                                                     \
        case HCCL_REDUCE_PROD:                                                                                         \
            a = (type)((wide)a * (wide)b);                                                                             \
            break;                                                                                                     \
        case HCCL_REDUCE_MAX:                                                                                          \
            a = b > a ? b : a;                                                                                         \
            break;                                                                                                     \
        default:                                                                                                       \
            a = b < a ? b : a;                                                                                         \
            break;                                                                                                     \
        }                                                                                                              \
        memcpy(acc, &a, sizeof(a));                                                                                    \
    } while (0)

static inline void ref_fold(uint32_t dtype, uint32_t reduce, void *acc, const void *x)
{
    switch (dtype) {
    case HCCL_DATA_TYPE_INT8:
        REF_FOLD(int8_t, uint64_t);
        break;
    case HCCL_DATA_TYPE_INT16:
        REF_FOLD(int16_t, uint64_t);
        break;
    case HCCL_DATA_TYPE_INT32:
        REF_FOLD(int32_t, uint64_t);
        break;
    case HCCL_DATA_TYPE_INT64:
        REF_FOLD(int64_t, uint64_t);
        break;
    case HCCL_DATA_TYPE_UINT8:
        REF_FOLD(uint8_t, uint64_t);
        break;
    case HCCL_DATA_TYPE_UINT16:
        REF_FOLD(uint16_t, uint64_t);
        break;
    case HCCL_DATA_TYPE_UINT32:
        REF_FOLD(uint32_t, uint64_t);
        break;
    case HCCL_DATA_TYPE_UINT64:
        REF_FOLD(uint64_t, uint64_t);
        break;
    case HCCL_DATA_TYPE_FP64:
        REF_FOLD(double, double);
        break;
    default:
        REF_FOLD(float, float);
        break;
    }
}

/* srcs: n buffers; element i of the result. */
static inline void ref_reduce(const struct ref_case *c, char *const *srcs, uint64_t i, void *out)
{
    uint32_t size = hccl_dtype_size(c->dtype);
    if (c->dtype == HCCL_DATA_TYPE_FP16 || c->dtype == HCCL_DATA_TYPE_BFP16) {
        bool half = c->dtype == HCCL_DATA_TYPE_FP16;
        float acc = 0;
        for (uint32_t r = 0; r < c->n; r++) {
            uint16_t h;
            memcpy(&h, srcs[r] + i * 2, 2);
            float x = half ? ms_half_to_float(h) : ms_bf16_to_float(h);
            if (r == 0) {
                acc = x;
            } else {
                ref_fold(HCCL_DATA_TYPE_FP32, c->reduce, &acc, &x);
            }
        }
        uint16_t h = half ? ms_float_to_half(acc) : ms_float_to_bf16(acc);
        memcpy(out, &h, 2);
        return;
    }
    memcpy(out, srcs[0] + i * size, size);
    for (uint32_t r = 1; r < c->n; r++) {
        ref_fold(c->dtype, c->reduce, out, srcs[r] + i * size);
    }
}

/* ---- counts of the variants with vectors; displacements leave a gap of one element between blocks ---- */

static inline uint64_t ref_v_count(const struct ref_case *c, uint32_t from, uint32_t to)
{
    return (from + to) % 3 == 2 ? 0 : (c->count * (from + 1) + to) / (from + to + 1);
}

/* What rank r contributes (ALL_GATHER_V) or receives (REDUCE_SCATTER_V). */
static inline uint64_t ref_v_one(const struct ref_case *c, uint32_t r)
{
    return r % 3 == 1 ? 0 : c->count / (r + 1) + r;
}

static inline void ref_places(const uint64_t *counts, uint32_t n, uint64_t *places, uint64_t *total)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        places[i] = at;
        at += counts[i] + 1;
    }
    *total = at;
}

/* The operation of one rank, in its own memory. */
struct ref_op {
    struct hccl_collective op;
    uint64_t vectors[4][HCCL_MAX_RANKS];
    uint64_t send_count, recv_count;
};

static inline void ref_op_make(const struct ref_case *c, uint32_t rank, struct ref_op *o)
{
    memset(o, 0, sizeof(*o));
    o->op = (struct hccl_collective){
        .kind = c->kind, .dtype = c->dtype, .reduce = c->reduce, .root = c->root, .count = c->count};
    for (int v = 0; v < 4; v++) {
        o->op.vector[v] = o->vectors[v];
    }
    uint64_t all = c->count * c->n;
    o->send_count = o->recv_count = c->count;
    switch (c->kind) {
    case HCCL_KIND_BARRIER:
        o->send_count = o->recv_count = 0;
        break;
    case HCCL_KIND_SCATTER:
        o->send_count = all;
        break;
    case HCCL_KIND_ALL_GATHER:
        o->recv_count = all;
        break;
    case HCCL_KIND_REDUCE_SCATTER:
        o->send_count = all;
        break;
    case HCCL_KIND_ALL_TO_ALL:
        o->send_count = o->recv_count = all;
        break;
    case HCCL_KIND_ALL_GATHER_V:
    case HCCL_KIND_REDUCE_SCATTER_V: {
        uint64_t total;
        for (uint32_t r = 0; r < c->n; r++) {
            o->vectors[0][r] = ref_v_one(c, r);
        }
        ref_places(o->vectors[0], c->n, o->vectors[1], &total);
        bool gather = c->kind == HCCL_KIND_ALL_GATHER_V;
        o->send_count = gather ? ref_v_one(c, rank) : total;
        o->recv_count = gather ? total : ref_v_one(c, rank);
        o->op.count = 0;
        break;
    }
    case HCCL_KIND_ALL_TO_ALL_V:
    case HCCL_KIND_ALL_TO_ALL_VC:
        for (uint32_t r = 0; r < c->n; r++) {
            o->vectors[0][r] = ref_v_count(c, rank, r);
            o->vectors[2][r] = ref_v_count(c, r, rank);
        }
        ref_places(o->vectors[0], c->n, o->vectors[1], &o->send_count);
        ref_places(o->vectors[2], c->n, o->vectors[3], &o->recv_count);
        o->op.count = 0;
        break;
    default:
        break;
    }
}

static inline char *ref_input(const struct ref_case *c, uint32_t rank)
{
    struct ref_op o;
    ref_op_make(c, rank, &o);
    char *buf = malloc((o.send_count + 1) * hccl_dtype_size(c->dtype));
    ref_fill(c->dtype, buf, o.send_count, c->seed + rank * 77);
    return buf;
}

/* Fills expect (as long as the receive buffer) over what was there before. */
static inline void ref_expect(const struct ref_case *c, uint32_t rank, char *expect)
{
    uint32_t size = hccl_dtype_size(c->dtype);
    struct ref_op me, o;
    ref_op_make(c, rank, &me);
    char *in[HCCL_MAX_RANKS];
    for (uint32_t r = 0; r < c->n; r++) {
        in[r] = ref_input(c, r);
    }
    uint64_t block = c->count * size;
    switch (c->kind) {
    case HCCL_KIND_BROADCAST:
        memcpy(expect, in[c->root], block);
        break;
    case HCCL_KIND_SCATTER:
        memcpy(expect, in[c->root] + rank * block, block);
        break;
    case HCCL_KIND_ALL_GATHER:
        for (uint32_t r = 0; r < c->n; r++) {
            memcpy(expect + r * block, in[r], block);
        }
        break;
    case HCCL_KIND_ALL_GATHER_V:
        for (uint32_t r = 0; r < c->n; r++) {
            memcpy(expect + me.vectors[1][r] * size, in[r], me.vectors[0][r] * size);
        }
        break;
    case HCCL_KIND_ALL_TO_ALL:
        for (uint32_t r = 0; r < c->n; r++) {
            memcpy(expect + r * block, in[r] + rank * block, block);
        }
        break;
    case HCCL_KIND_ALL_TO_ALL_V:
    case HCCL_KIND_ALL_TO_ALL_VC:
        for (uint32_t r = 0; r < c->n; r++) {
            ref_op_make(c, r, &o);
            memcpy(expect + me.vectors[3][r] * size, in[r] + o.vectors[1][rank] * size, me.vectors[2][r] * size);
        }
        break;
    case HCCL_KIND_REDUCE:
        if (rank != c->root) {
            break;
        }
        /* fall through */
    case HCCL_KIND_ALL_REDUCE:
        for (uint64_t i = 0; i < c->count; i++) {
            ref_reduce(c, in, i, expect + i * size);
        }
        break;
    case HCCL_KIND_REDUCE_SCATTER:
    case HCCL_KIND_REDUCE_SCATTER_V: {
        bool v = c->kind == HCCL_KIND_REDUCE_SCATTER_V;
        uint64_t at = v ? me.vectors[1][rank] : rank * c->count;
        uint64_t n = v ? me.vectors[0][rank] : c->count;
        for (uint64_t i = 0; i < n; i++) {
            ref_reduce(c, in, at + i, expect + i * size);
        }
        break;
    }
    default:
        break;
    }
    for (uint32_t r = 0; r < c->n; r++) {
        free(in[r]);
    }
}

#endif
