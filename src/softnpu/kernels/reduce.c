/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over one axis of outer x count x inner, and the position of the maximum.
 *
 * Sums run in double precision: sequentially over the axis in strips of neighbouring outputs (inner > 1), or over the
 * contiguous axis with eight running sums (inner 1). The order depends only on the shape. */
#include "softnpu/kernels/kernel.h"

#include <math.h>

enum { STRIP = 64 };

static inline double step(double total, double v, uint64_t op)
{
    switch (op) {
    case TK_REDUCE_MAX:
        return v > total || v != v ? v : total;
    case TK_REDUCE_MIN:
        return v < total || v != v ? v : total;
    case TK_REDUCE_SUM_SQUARES:
        return total + v * v;
    default:
        return total + v;
    }
}

static inline double merge(double x, double y, uint64_t op)
{
    return op == TK_REDUCE_SUM_SQUARES ? x + y : step(x, y, op);
}

static inline double neutral(uint64_t op)
{
    return op == TK_REDUCE_MAX ? -INFINITY : op == TK_REDUCE_MIN ? INFINITY : 0.0;
}

static inline double row(const float *x, uint64_t count, uint64_t op)
{
    double lane[8];
    for (int l = 0; l < 8; l++) {
        lane[l] = neutral(op);
    }
    uint64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (int l = 0; l < 8; l++) {
            lane[l] = step(lane[l], (double)x[i + l], op);
        }
    }
    for (int l = 0; i < count; i++, l++) {
        lane[l] = step(lane[l], (double)x[i], op);
    }
    for (int width = 4; width > 0; width /= 2) {
        for (int l = 0; l < width; l++) {
            lane[l] = merge(lane[l], lane[l + width], op);
        }
    }
    return lane[0];
}

static inline void strip(const float *x, uint64_t count, uint64_t inner, uint64_t width, uint64_t op, double *total)
{
    for (uint64_t i = 0; i < width; i++) {
        total[i] = neutral(op);
    }
    for (uint64_t j = 0; j < count; j++) {
        for (uint64_t i = 0; i < width; i++) {
            total[i] = step(total[i], (double)x[j * inner + i], op);
        }
    }
}

/* Specialised by the compiler for each constant op. */
static inline void reduce_range(const struct tk_reduce_args *a, struct tk_range r, uint64_t op)
{
    const double divisor = op == TK_REDUCE_MEAN ? (double)a->count : 1.0;
    const uint64_t strips = a->inner / STRIP + (a->inner % STRIP != 0);
    for (uint64_t item = r.begin; item < r.end; item++) {
        const uint64_t outer = item / strips, first = item % strips * STRIP;
        const float *x = a->x + outer * a->count * a->inner + first;
        float *y = a->y + outer * a->inner + first;
        if (a->inner == 1) {
            *y = (float)(row(x, a->count, op) / divisor);
            continue;
        }
        double total[STRIP];
        const uint64_t width = a->inner - first < STRIP ? a->inner - first : STRIP;
        strip(x, a->count, a->inner, width, op, total);
        for (uint64_t i = 0; i < width; i++) {
            y[i] = (float)(total[i] / divisor);
        }
    }
}

TK_KERNEL(reduce)
{
    if (a->x == NULL || a->y == NULL || a->inner == 0) {
        return;
    }
    const uint64_t strips = a->inner / STRIP + (a->inner % STRIP != 0);
    const struct tk_range r = tk_share(a->outer * strips, 1, block, num_blocks);
    switch (a->op) {
    case TK_REDUCE_SUM:
        reduce_range(a, r, TK_REDUCE_SUM);
        break;
    case TK_REDUCE_MEAN:
        reduce_range(a, r, TK_REDUCE_MEAN);
        break;
    case TK_REDUCE_MAX:
        reduce_range(a, r, TK_REDUCE_MAX);
        break;
    case TK_REDUCE_MIN:
        reduce_range(a, r, TK_REDUCE_MIN);
        break;
    case TK_REDUCE_SUM_SQUARES:
        reduce_range(a, r, TK_REDUCE_SUM_SQUARES);
        break;
    default:
        break;
    }
}

TK_KERNEL(argmax)
{
    if (a->x == NULL || a->index == NULL || a->cols == 0) {
        return;
    }
    const struct tk_range r = tk_share(a->rows, 1, block, num_blocks);
    for (uint64_t i = r.begin; i < r.end; i++) {
        const float *x = a->x + i * a->cols;
        uint64_t best = 0;
        for (uint64_t c = 1; c < a->cols && x[best] == x[best]; c++) {
            best = x[c] > x[best] || x[c] != x[c] ? c : best;
        }
        a->index[i] = (int32_t)best;
    }
}
