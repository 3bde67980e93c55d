/* SPDX-License-Identifier: Apache-2.0 */
/* Included by every kernel source: conventions of kernels, and the division of work between blocks.
 *
 * The sources are compiled once per instruction set (TK_VARIANT is `base`, or `v3` for AVX2 with FMA); entry.c exports
 * one function per kernel that calls the best variant for the machine.
 *
 * Invariance: the result must not depend on the number of blocks. Work is therefore divided only where it does not
 * affect the arithmetic of an element: between rows, between outputs, or, in element-wise kernels, at multiples of
 * TK_GRAIN, so that each element is in the same vector lane or loop tail in every division.
 *
 * Threads: blocks of one launch run concurrently and share only their arguments. The only state outside the call is the
 * packing buffer of matmul, one per thread. Failure policy: a kernel cannot report errors; it ignores invalid
 * arguments. */
#ifndef TK_KERNEL_H
#define TK_KERNEL_H

#include "transformer_kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef TK_VARIANT
#define TK_VARIANT base
#endif

#define TK_PASTE_(a, b) a##_##b
#define TK_PASTE(a, b)  TK_PASTE_(a, b)
#define TK_NAME(name)   TK_PASTE(name, TK_VARIANT)

/* Prototypes of the kernels of this variant: softmax_v3(const struct tk_softmax_args *, block, num_blocks). */
#define TK_PROTOTYPE(name, key)                                                                                        \
    void TK_NAME(name)(const struct tk_##name##_args *a, uint32_t block, uint32_t num_blocks);
TK_KERNELS(TK_PROTOTYPE)

#define TK_KERNEL(name) void TK_NAME(name)(const struct tk_##name##_args *a, uint32_t block, uint32_t num_blocks)

/* The iterations of the next loop are independent although pointers may be equal (in-place use). */
#ifdef __clang__
#define TK_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TK_INDEPENDENT _Pragma("GCC ivdep")
#endif

enum { TK_GRAIN = 256 };

struct tk_range {
    uint64_t begin, end;
};

/* The share of a block in [0, count), divided at multiples of grain. */
static inline struct tk_range tk_share(uint64_t count, uint64_t grain, uint32_t block, uint32_t num_blocks)
{
    if (block >= num_blocks) {
        return (struct tk_range){0, 0};
    }
    uint64_t pieces = count / grain + (count % grain != 0);
    uint64_t each = pieces / num_blocks;
    uint64_t extra = pieces % num_blocks;
    uint64_t first = each * block + (block < extra ? block : extra);
    uint64_t last = first + each + (block < extra);
    uint64_t begin = first * grain;
    uint64_t end = last >= pieces ? count : last * grain;
    return (struct tk_range){begin, begin < end ? end : begin};
}

/* Eight lanes; lowered to whatever the machine has. Never passed by value, so that no calling convention depends on it.
 */
typedef float tk_v8 __attribute__((vector_size(32)));
typedef int32_t tk_i8 __attribute__((vector_size(32)));

#define TK_LOAD8(v, from) memcpy(&(v), (from), sizeof(tk_v8))

/* The same in memory, at any address, inside an expression. */
typedef float tk_v8_anywhere __attribute__((vector_size(32), aligned(4), may_alias));
#define TK_8(from) (*(const tk_v8_anywhere *)(from))

/* Sum over a row of a term in `at`, written once for eight elements and once for one. The order of additions depends on
 * n alone: 4 x 8 running sums, folded at the end, then the tail. */
#define TK_ROW_REDUCE(result, n, term8, term1)                                                                         \
    do {                                                                                                               \
        tk_v8 sum_[4] = {{0}};                                                                                         \
        uint64_t i = 0;                                                                                                \
        for (; i + 32 <= (n); i += 32) {                                                                               \
            for (int lane = 0; lane < 4; lane++) {                                                                     \
                const uint64_t at = i + 8 * (uint64_t)lane;                                                            \
                sum_[lane] += (term8);                                                                                 \
            }                                                                                                          \
        }                                                                                                              \
        float tail_ = 0;                                                                                               \
        for (; i < (n); i++) {                                                                                         \
            const uint64_t at = i;                                                                                     \
            tail_ += (term1);                                                                                          \
        }                                                                                                              \
        sum_[0] = (sum_[0] + sum_[1]) + (sum_[2] + sum_[3]);                                                           \
        (result) = ((sum_[0][0] + sum_[0][4]) + (sum_[0][1] + sum_[0][5])) +                                           \
                   ((sum_[0][2] + sum_[0][6]) + (sum_[0][3] + sum_[0][7])) + tail_;                                    \
    } while (0)

static inline float tk_row_sum(const float *x, uint64_t n)
{
    float total;
    TK_ROW_REDUCE(total, n, TK_8(x + at), x[at]);
    return total;
}

static inline float tk_row_dot(const float *x, const float *y, uint64_t n)
{
    float total;
    TK_ROW_REDUCE(total, n, TK_8(x + at) * TK_8(y + at), x[at] * y[at]);
    return total;
}

/* Sum of (x - centre)^2. */
static inline float tk_row_spread(const float *x, float centre, uint64_t n)
{
    float total;
    TK_ROW_REDUCE(total, n, (TK_8(x + at) - centre) * (TK_8(x + at) - centre), (x[at] - centre) * (x[at] - centre));
    return total;
}

/* The largest value of a row, n > 0. May ignore NaN: the caller's arithmetic propagates it. */
static inline float tk_row_max(const float *x, uint64_t n)
{
    float best = x[0];
    uint64_t i = 0;
    if (n >= 8) {
        tk_v8 top;
        TK_LOAD8(top, x);
        for (i = 8; i + 8 <= n; i += 8) {
            tk_v8 v;
            TK_LOAD8(v, x + i);
            tk_i8 greater = v > top;
            top = (tk_v8)((greater & (tk_i8)v) | (~greater & (tk_i8)top));
        }
        for (int lane = 0; lane < 8; lane++) {
            best = top[lane] > best ? top[lane] : best;
        }
    }
    for (; i < n; i++) {
        best = x[i] > best ? x[i] : best;
    }
    return best;
}

#endif
