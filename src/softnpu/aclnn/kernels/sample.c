/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling at positions of a grid, with gradients. Blocks divide planes where elements of the image are summed, and
 * positions elsewhere. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include <math.h>

enum { MAX_TAPS = 4 };

/* The elements along one dimension that a position takes part in; index -1: outside. */
struct grid_taps {
    int count;
    int64_t index[MAX_TAPS];
    float weight[MAX_TAPS], slope[MAX_TAPS]; /* slope: derivative of the weight by the position */
};

/* Reflects at low / 2 and high / 2; *slope changes its sign with the direction. */
static float reflect(float x, float low2, float high2, float *slope)
{
    if (low2 == high2) {
        *slope = 0;
        return 0;
    }
    const float low = low2 / 2, span = (high2 - low2) / 2;
    float from = x - low;
    if (from < 0) {
        from = -from;
        *slope = -*slope;
    }
    const float extra = fmodf(from, span);
    if ((int64_t)floorf(from / span) % 2 == 0) {
        return extra + low;
    }
    *slope = -*slope;
    return span - extra + low;
}

static float limit(float x, float size, float *slope)
{
    if (x <= 0) {
        *slope = 0;
        return 0;
    }
    if (x >= size - 1) {
        *slope = 0;
        return size - 1;
    }
    return x;
}

static float pad_position(const struct op_grid_args *a, float x, uint64_t size, float *slope)
{
    const float n = (float)size;
    if (a->padding == OP_GRID_REFLECT) {
        x = a->align ? reflect(x, 0, 2 * (n - 1), slope) : reflect(x, -1, 2 * n - 1, slope);
    }
    return a->padding == OP_GRID_ZEROS ? x : limit(x, n, slope);
}

static int64_t inside(float x, uint64_t size)
{
    return x >= 0 && x < (float)size ? (int64_t)x : -1;
}

static void find_taps(const struct op_grid_args *a, float g, uint64_t size, struct grid_taps *t)
{
    const float n = (float)size;
    float slope = a->align ? (n - 1) / 2 : n / 2;
    float x = a->align ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
    x = isfinite(x) ? x : -100;
    if (a->mode == OP_GRID_CUBIC) {
        const float low = floorf(x), f = x - low, s = -0.75f;
        const float far = f + 1, near = 1 - f, last = 2 - f;
        t->count = 4;
        t->weight[0] = ((s * far - 5 * s) * far + 8 * s) * far - 4 * s;
        t->weight[1] = ((s + 2) * f - (s + 3)) * f * f + 1;
        t->weight[2] = ((s + 2) * near - (s + 3)) * near * near + 1;
        t->weight[3] = ((s * last - 5 * s) * last + 8 * s) * last - 4 * s;
        t->slope[0] = slope * ((3 * s * far - 10 * s) * far + 8 * s);
        t->slope[1] = slope * (3 * (s + 2) * f - 2 * (s + 3)) * f;
        t->slope[2] = slope * -((3 * (s + 2) * near - 2 * (s + 3)) * near);
        t->slope[3] = slope * -((3 * s * last - 10 * s) * last + 8 * s);
        for (int k = 0; k < 4; k++) {
            float ignored = 1;
            t->index[k] = inside(pad_position(a, low - 1 + (float)k, size, &ignored), size);
        }
        return;
    }
    x = pad_position(a, x, size, &slope);
    if (a->mode == OP_GRID_NEAREST) {
        *t = (struct grid_taps){.count = 1, .index = {inside(nearbyintf(x), size)}, .weight = {1}};
        return;
    }
    const float low = floorf(x);
    *t = (struct grid_taps){
        .count = 2,
        .index = {inside(low, size), inside(low + 1, size)},
        .weight = {low + 1 - x, x - low},
        .slope = {-slope, slope},
    };
}

/* The taps of all three dimensions, outermost first. */
static void find_all(const struct op_grid_args *a, uint64_t batch, uint64_t position, struct grid_taps taps[3])
{
    const float *g = a->grid + (batch * a->out[0] * a->out[1] * a->out[2] + position) * a->dims;
    for (uint64_t d = 0; d < 3; d++) {
        if (3 - d <= a->dims) {
            find_taps(a, g[2 - d], a->in[d], &taps[d]);
        } else {
            taps[d] = (struct grid_taps){.count = 1, .index = {0}, .weight = {1}};
        }
    }
}

/* Calls `body` with `at` (index in the plane), and the tap numbers i, j, k, for all taps inside the image. */
#define EACH_TAP(taps, body)                                                                                           \
    for (int i = 0; i < (taps)[0].count; i++) {                                                                        \
        for (int j = 0; j < (taps)[1].count; j++) {                                                                    \
            for (int k = 0; k < (taps)[2].count; k++) {                                                                \
                const int64_t d_ = (taps)[0].index[i], h_ = (taps)[1].index[j], w_ = (taps)[2].index[k];               \
                if (d_ >= 0 && h_ >= 0 && w_ >= 0) {                                                                   \
                    const uint64_t at = ((uint64_t)d_ * a->in[1] + (uint64_t)h_) * a->in[2] + (uint64_t)w_;            \
                    body                                                                                               \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

OP_KERNEL(GridSample, op_grid_args)
{
    if (a->input == NULL || a->grid == NULL || a->z == NULL) {
        return;
    }
    const uint64_t plane = a->in[0] * a->in[1] * a->in[2], points = a->out[0] * a->out[1] * a->out[2];
    const struct tk_range r = tk_share(a->batch * points, 1, block, num_blocks);
    for (uint64_t p = r.begin; p < r.end; p++) {
        const uint64_t batch = p / points, position = p % points;
        struct grid_taps taps[3];
        find_all(a, batch, position, taps);
        for (uint64_t c = 0; c < a->channels; c++) {
            const float *x = a->input + (batch * a->channels + c) * plane;
            float sum = 0;
            EACH_TAP(taps, sum += taps[0].weight[i] * taps[1].weight[j] * taps[2].weight[k] * x[at];)
            a->z[(batch * a->channels + c) * points + position] = sum;
        }
    }
}

OP_KERNEL(GridSampleInputGrad, op_grid_args)
{
    if (a->grad == NULL || a->grid == NULL || a->z == NULL) {
        return;
    }
    const uint64_t plane = a->in[0] * a->in[1] * a->in[2], points = a->out[0] * a->out[1] * a->out[2];
    const struct tk_range r = tk_share(a->batch * a->channels, 1, block, num_blocks);
    for (uint64_t p = r.begin; p < r.end; p++) {
        float *z = a->z + p * plane;
        memset(z, 0, plane * sizeof *z);
        for (uint64_t position = 0; position < points; position++) {
            struct grid_taps taps[3];
            const float grad = a->grad[p * points + position];
            find_all(a, p / a->channels, position, taps);
            EACH_TAP(taps, z[at] += grad * taps[0].weight[i] * taps[1].weight[j] * taps[2].weight[k];)
        }
    }
}

OP_KERNEL(GridSampleGridGrad, op_grid_args)
{
    if (a->input == NULL || a->grad == NULL || a->grid == NULL || a->z == NULL) {
        return;
    }
    const uint64_t plane = a->in[0] * a->in[1] * a->in[2], points = a->out[0] * a->out[1] * a->out[2];
    const struct tk_range r = tk_share(a->batch * points, 1, block, num_blocks);
    for (uint64_t p = r.begin; p < r.end; p++) {
        const uint64_t batch = p / points, position = p % points;
        struct grid_taps taps[3];
        float sums[3] = {0, 0, 0};
        find_all(a, batch, position, taps);
        for (uint64_t c = 0; c < a->channels; c++) {
            const float *x = a->input + (batch * a->channels + c) * plane;
            const float grad = a->grad[(batch * a->channels + c) * points + position];
            EACH_TAP(taps, {
                const float v = grad * x[at];
                sums[0] += v * taps[0].weight[i] * taps[1].weight[j] * taps[2].slope[k];
                sums[1] += v * taps[0].weight[i] * taps[1].slope[j] * taps[2].weight[k];
                sums[2] += v * taps[0].slope[i] * taps[1].weight[j] * taps[2].weight[k];
            })
        }
        memcpy(a->z + p * a->dims, sums, a->dims * sizeof *sums);
    }
}

OP_KERNEL(AffineGrid, op_affine_args)
{
    if (a->theta == NULL || a->z == NULL) {
        return;
    }
    const uint64_t points = a->out[0] * a->out[1] * a->out[2];
    const struct tk_range r = tk_share(a->batch * points, TK_GRAIN, block, num_blocks);
    for (uint64_t p = r.begin; p < r.end; p++) {
        const float *theta = a->theta + p / points * a->dims * (a->dims + 1);
        uint64_t rest = p % points;
        float base[4];
        for (uint64_t k = 0; k < a->dims; k++) { /* x, y, z: from the innermost dimension on */
            const uint64_t size = a->out[2 - k], i = rest % size;
            const float n = (float)size;
            rest /= size;
            base[k] = size > 1 ? -1 + 2 * (float)i / (n - 1) : 0;
            base[k] = a->align ? base[k] : base[k] * (n - 1) / n;
        }
        base[a->dims] = 1;
        for (uint64_t k = 0; k < a->dims; k++) {
            float sum = 0;
            for (uint64_t j = 0; j <= a->dims; j++) {
                sum += theta[k * (a->dims + 1) + j] * base[j];
            }
            a->z[p * a->dims + k] = sum;
        }
    }
}

OP_KERNEL(EmbeddingBag, op_bag_args)
{
    if (a->weight == NULL || a->z == NULL || a->offsets == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->bags, 1, block, num_blocks);
    for (uint64_t bag = r.begin; bag < r.end; bag++) {
        const int64_t first = a->offsets[bag], last = bag + 1 < a->bags ? a->offsets[bag + 1] : (int64_t)a->count;
        float *z = a->z + bag * a->cols;
        int64_t size = 0;
        memset(z, 0, a->cols * sizeof *z);
        if (a->largest != NULL) {
            memset(a->largest + bag * a->cols, 0, a->cols * sizeof *a->largest);
        }
        for (int64_t i = first < 0 ? 0 : first; i < last && i < (int64_t)a->count; i++) {
            const int64_t index = a->indices[i];
            if (a->bag_of != NULL) {
                a->bag_of[i] = (int64_t)bag;
            }
            if (index == a->padding || index < 0 || index >= (int64_t)a->rows) {
                continue;
            }
            const float *row = a->weight + (uint64_t)index * a->cols, factor = a->factors != NULL ? a->factors[i] : 1;
            for (uint64_t c = 0; c < a->cols; c++) {
                if (a->mode != 2) {
                    z[c] += factor * row[c];
                } else if (size == 0 || row[c] > z[c]) {
                    z[c] = row[c];
                    if (a->largest != NULL) {
                        a->largest[bag * a->cols + c] = index;
                    }
                }
            }
            size++;
        }
        for (uint64_t c = 0; c < a->cols && a->mode == 1 && size > 0; c++) {
            z[c] /= (float)size;
        }
        if (a->sizes != NULL) {
            a->sizes[bag] = size;
        }
    }
}

static double norm_of(const float *row, uint64_t n, double order)
{
    double sum = 0;
    for (uint64_t c = 0; c < n; c++) {
        const double v = fabs((double)row[c]);
        if (isinf(order)) {
            sum = v > sum ? v : sum;
        } else {
            sum += order == 2 ? v * v : pow(v, order);
        }
    }
    return isinf(order) ? sum : order == 2 ? sqrt(sum) : pow(sum, 1 / order);
}

OP_KERNEL(EmbeddingRenorm, op_renorm_args)
{
    if (block != 0 || a->weight == NULL || a->indices == NULL) {
        return;
    }
    for (uint64_t i = 0; i < a->count; i++) {
        const int64_t index = a->indices[i];
        if (index < 0 || index >= (int64_t)a->rows) {
            continue;
        }
        float *row = a->weight + (uint64_t)index * a->cols;
        const double norm = norm_of(row, a->cols, a->order);
        if (norm > a->most) {
            const double scale = a->most / (norm + 1e-7);
            for (uint64_t c = 0; c < a->cols; c++) {
                row[c] = (float)(row[c] * scale);
            }
        }
    }
    (void)num_blocks;
}
