/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling: maxima and averages of windows, their gradients, and scattering by index. A plane belongs to one block, so
 * overlapping windows may add to the same element. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include <math.h>

/* The elements first, first + step ... below end of an axis, and the divisor's share of the axis. */
struct window {
    int64_t first, end, step, divisor;
};

static struct window window_of(const struct op_pool_args *a, int axis, uint64_t point)
{
    const struct op_pool_axis *x = &a->axis[axis];
    const int64_t size = (int64_t)x->size;
    if (a->adaptive != 0) {
        const uint64_t end = ((point + 1) * x->size + x->points - 1) / x->points;
        const int64_t first = (int64_t)(point * x->size / x->points);
        return (struct window){first, (int64_t)end, 1, (int64_t)end - first};
    }
    const int64_t start = (int64_t)point * x->stride - x->pad;
    const int64_t last = start + (x->kernel - 1) * x->dilation + 1;
    const int64_t padded = last < size + x->pad ? last : size + x->pad;
    struct window w = {start, last < size ? last : size, x->dilation, 0};
    if (start < 0) {
        w.first = start + (-start + x->dilation - 1) / x->dilation * x->dilation;
    }
    w.divisor = a->count_pad != 0 ? padded - start : w.end - w.first;
    return w;
}

static int64_t index_read(const struct op_pool_args *a, uint64_t at)
{
    return a->index_type == TK_INT64 ? ((const int64_t *)a->index)[at] : ((const int32_t *)a->index)[at];
}

static void index_write(const struct op_pool_args *a, uint64_t at, int64_t value)
{
    if (a->index_type == TK_INT64) {
        ((int64_t *)a->index)[at] = value;
    } else {
        ((int32_t *)a->index)[at] = (int32_t)value;
    }
}

struct box {
    struct window d, h, w;
};

static inline float largest(const struct op_pool_args *a, const struct box *b, const float *wide, int64_t *where)
{
    const int64_t height = (int64_t)a->axis[1].size, width = (int64_t)a->axis[2].size;
    float best = -INFINITY;
    int64_t at = (b->d.first * height + b->h.first) * width + b->w.first;
    for (int64_t d = b->d.first; d < b->d.end; d += b->d.step) {
        for (int64_t h = b->h.first; h < b->h.end; h += b->h.step) {
            const int64_t row = (d * height + h) * width;
            for (int64_t w = b->w.first; w < b->w.end; w += b->w.step) {
                const float v = wide[row + w];
                if (v > best || v != v) {
                    best = v;
                    at = row + w;
                }
            }
        }
    }
    *where = at;
    return best;
}

static float divisor_of(const struct op_pool_args *a, const struct box *b)
{
    return (float)(a->divisor != 0 ? a->divisor : b->d.divisor * b->h.divisor * b->w.divisor);
}

static inline float average(const struct op_pool_args *a, const struct box *b, const float *wide)
{
    const int64_t height = (int64_t)a->axis[1].size, width = (int64_t)a->axis[2].size;
    double sum = 0;
    for (int64_t d = b->d.first; d < b->d.end; d++) {
        for (int64_t h = b->h.first; h < b->h.end; h++) {
            const float *row = wide + (d * height + h) * width;
            float part = 0;
            for (int64_t w = b->w.first; w < b->w.end; w++) {
                part += row[w];
            }
            sum += (double)part;
        }
    }
    return (float)(sum / (double)divisor_of(a, b));
}

static inline void spread(const struct op_pool_args *a, const struct box *b, float value, float *wide)
{
    const int64_t height = (int64_t)a->axis[1].size, width = (int64_t)a->axis[2].size;
    const float share = value / divisor_of(a, b);
    for (int64_t d = b->d.first; d < b->d.end; d++) {
        for (int64_t h = b->h.first; h < b->h.end; h++) {
            float *row = wide + (d * height + h) * width;
            for (int64_t w = b->w.first; w < b->w.end; w++) {
                row[w] += share;
            }
        }
    }
}

/* Moves by index; an index outside of the plane is ignored. */
static void by_index(const struct op_pool_args *a, float *wide, float *small, uint64_t at, uint64_t i, uint64_t size)
{
    const int64_t where = index_read(a, at);
    if (where < 0 || (uint64_t)where >= size) {
        if (a->mode == OP_POOL_TAKE) {
            small[i] = 0;
        }
        return;
    }
    if (a->mode == OP_POOL_TAKE) {
        small[i] = wide[where];
    } else if (a->mode == OP_POOL_PUT) {
        wide[where] = small[i];
    } else {
        wide[where] += small[i];
    }
}

static void pool_plane(const struct op_pool_args *a, uint64_t plane)
{
    uint64_t size = 1, points = 1;
    for (int i = 0; i < OP_SPATIAL; i++) {
        size *= a->axis[i].size;
        points *= a->axis[i].points;
    }
    float *wide = (float *)a->wide + plane * size, *small = (float *)a->small + plane * points;
    if (a->mode == OP_POOL_MAX_GRAD || a->mode == OP_POOL_AVG_GRAD || a->mode == OP_POOL_PUT) {
        memset(wide, 0, size * sizeof *wide);
    }
    for (uint64_t i = 0; i < points; i++) {
        if (a->mode == OP_POOL_MAX_GRAD || a->mode == OP_POOL_PUT || a->mode == OP_POOL_TAKE) {
            by_index(a, wide, small, plane * points + i, i, size);
            continue;
        }
        const uint64_t w = i % a->axis[2].points, h = i / a->axis[2].points % a->axis[1].points;
        const uint64_t d = i / a->axis[2].points / a->axis[1].points;
        const struct box b = {window_of(a, 0, d), window_of(a, 1, h), window_of(a, 2, w)};
        if (a->mode == OP_POOL_AVG) {
            small[i] = average(a, &b, wide);
        } else if (a->mode == OP_POOL_AVG_GRAD) {
            spread(a, &b, small[i], wide);
        } else {
            int64_t where;
            small[i] = largest(a, &b, wide, &where);
            if (a->index != NULL) {
                index_write(a, plane * points + i, where);
            }
        }
    }
}

static void pool(const struct op_pool_args *a, uint32_t block, uint32_t num_blocks)
{
    const bool needs_index = a->mode == OP_POOL_MAX_GRAD || a->mode == OP_POOL_PUT || a->mode == OP_POOL_TAKE;
    if (a->wide == NULL || a->small == NULL || (needs_index && a->index == NULL)) {
        return;
    }
    const struct tk_range mine = tk_share(a->planes, 1, block, num_blocks);
    for (uint64_t plane = mine.begin; plane < mine.end; plane++) {
        pool_plane(a, plane);
    }
}

#define POOL(name)                                                                                                     \
    OP_KERNEL(name, op_pool_args)                                                                                      \
    {                                                                                                                  \
        pool(a, block, num_blocks);                                                                                    \
    }
POOL(MaxPoolV3)
POOL(MaxPool3DWithArgmaxV2)
POOL(MaxPool3DGradWithArgmax)
POOL(AvgPoolV2)
POOL(AvgPool3D)
POOL(AvgPoolV2Grad)
POOL(AvgPool3DGrad)
POOL(AdaptiveAvgPool3d)
POOL(AdaptiveAvgPool3dGrad)
POOL(AdaptiveMaxPool3d)
POOL(AdaptiveMaxPool3dGrad)
POOL(MaxUnpool)
POOL(MaxUnpoolGrad)
