/* SPDX-License-Identifier: Apache-2.0 */
/* Padding and interpolation along up to three dimensions, from tables of taps. Positions are computed in float, as
 * frameworks do, so that both choose the same neighbours. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include <math.h>

/* ---- taps ---- */

static int64_t clamp(int64_t i, int64_t size)
{
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

/* The element that a padded or nearest one is a copy of. */
static int64_t copied(const struct op_taps_args *a, int64_t o)
{
    const int64_t in = (int64_t)a->in, i = o - a->before;
    switch (a->mode) {
    case OP_RESIZE_REFLECT:
        return clamp(i < 0 ? -i : i >= in ? 2 * (in - 1) - i : i, in);
    case OP_RESIZE_EDGE:
        return clamp(i, in);
    case OP_RESIZE_CIRCULAR:
        return (i % in + in) % in;
    case OP_RESIZE_NEAREST: /* frameworks ignore the scale for these two sizes */
        return a->out == a->in ? o : a->out == 2 * a->in ? o / 2 : clamp((int64_t)floorf((float)o * a->scale), in);
    case OP_RESIZE_EXACT:
        return clamp((int64_t)floorf(((float)o + 0.5f) * a->scale), in);
    default:
        return o;
    }
}

static float cubic_near(float x, float a)
{
    return ((a + 2) * x - (a + 3)) * x * x + 1;
}

static float cubic_far(float x, float a)
{
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static uint64_t smooth(const struct op_taps_args *a, float at, int64_t *source, float *weight)
{
    const int64_t in = (int64_t)a->in;
    if (a->mode == OP_RESIZE_LINEAR) {
        at = at < 0 ? 0 : at;
        const int64_t low = clamp((int64_t)at, in);
        source[0] = low;
        source[1] = low + (low < in - 1);
        weight[1] = at - (float)low;
        weight[1] = weight[1] < 0 ? 0 : weight[1] > 1 ? 1 : weight[1];
        weight[0] = 1 - weight[1];
        return 2;
    }
    const float low = floorf(at), t = at - low, sharp = -0.75f;
    const float weights[4] = {cubic_far(t + 1, sharp), cubic_near(t, sharp), cubic_near(1 - t, sharp),
                              cubic_far(2 - t, sharp)};
    for (int64_t k = 0; k < 4; k++) {
        source[k] = clamp((int64_t)low - 1 + k, in);
        weight[k] = weights[k];
    }
    return 4;
}

static float filter(const struct op_taps_args *a, float x)
{
    x = fabsf(x);
    if (a->mode == OP_RESIZE_LINEAR_AA) {
        return x < 1 ? 1 - x : 0;
    }
    return x < 1 ? cubic_near(x, -0.5f) : x < 2 ? cubic_far(x, -0.5f) : 0;
}

/* Appends the taps of output o at `count`; returns the new count. */
static uint64_t append(const struct op_taps_args *a, uint64_t o, uint64_t count)
{
    int32_t *source = a->source + count;
    float *weight = a->weight + count;
    if (a->mode < OP_RESIZE_LINEAR) {
        source[0] = (int32_t)copied(a, (int64_t)o);
        weight[0] = 1;
        return count + 1;
    }
    if (a->mode <= OP_RESIZE_CUBIC) {
        int64_t from[4];
        const float at = a->align ? a->scale * (float)o : a->scale * ((float)o + 0.5f) - 0.5f;
        const uint64_t taps = smooth(a, at, from, weight);
        for (uint64_t k = 0; k < taps; k++) {
            source[k] = (int32_t)from[k];
        }
        return count + taps;
    }
    const float reach = a->mode == OP_RESIZE_LINEAR_AA ? 1 : 2, wide = a->scale > 1 ? a->scale : 1;
    const float centre = a->scale * ((float)o + 0.5f), support = reach * wide;
    int64_t first = (int64_t)(centre - support + 0.5f), end = (int64_t)(centre + support + 0.5f);
    first = first < 0 ? 0 : first;
    end = end > (int64_t)a->in ? (int64_t)a->in : end;
    uint64_t taps = end > first ? (uint64_t)(end - first) : 0;
    taps = taps > a->most ? a->most : taps;
    float total = 0;
    for (uint64_t k = 0; k < taps; k++) {
        source[k] = (int32_t)(first + (int64_t)k);
        weight[k] = filter(a, ((float)(int64_t)k + (float)first - centre + 0.5f) / wide);
        total += weight[k];
    }
    for (uint64_t k = 0; k < taps && total != 0; k++) {
        weight[k] /= total;
    }
    return count + taps;
}

OP_KERNEL(ResizeTaps, op_taps_args)
{
    if (block != 0 || a->start == NULL || a->source == NULL || a->weight == NULL) {
        return;
    }
    uint64_t count = 0;
    for (uint64_t o = 0; o < a->out; o++) {
        a->start[o] = (int32_t)count;
        count = append(a, o, count);
    }
    a->start[a->out] = (int32_t)count;
    if (!a->back || a->back_start == NULL || a->back_source == NULL || a->back_weight == NULL) {
        return;
    }
    /* Counted, then placed: start[i + 1] is the end of element i while its taps are placed. */
    memset(a->back_start, 0, (a->in + 2) * sizeof *a->back_start);
    for (uint64_t k = 0; k < count; k++) {
        a->back_start[a->source[k] + 2]++;
    }
    for (uint64_t i = 0; i < a->in; i++) {
        a->back_start[i + 2] += a->back_start[i + 1];
    }
    for (uint64_t o = 0; o < a->out; o++) {
        for (int32_t k = a->start[o]; k < a->start[o + 1]; k++) {
            const int32_t at = a->back_start[a->source[k] + 1]++;
            a->back_source[at] = (int32_t)o;
            a->back_weight[at] = a->weight[k];
        }
    }
    (void)num_blocks;
}

/* ---- values ---- */

/* The plane and the position in the two outer dimensions of an output row. */
struct row_at {
    uint64_t plane, d, h;
};

static struct row_at locate(const struct op_resample_args *a, uint64_t row)
{
    return (struct row_at){row / (a->out[0] * a->out[1]), row / a->out[1] % a->out[0], row % a->out[1]};
}

static void remap(const struct op_resample_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->x == NULL || a->z == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->planes * a->out[0] * a->out[1], 1, block, num_blocks);
    const int32_t *from = a->source[2];
    for (uint64_t row = r.begin; row < r.end; row++) {
        const struct row_at at = locate(a, row);
        const uint64_t line =
            (at.plane * a->in[0] + (uint64_t)a->source[0][at.d]) * a->in[1] + (uint64_t)a->source[1][at.h];
        const char *x = (const char *)a->x + line * a->in[2] * a->size_b;
        char *z = (char *)a->z + row * a->out[2] * a->size_b;
        switch (a->size_b) {
#define EACH(size, ctype)                                                                                              \
    case size:                                                                                                         \
        for (uint64_t i = 0; i < a->out[2]; i++) {                                                                     \
            ((ctype *)z)[i] = ((const ctype *)x)[from[i]];                                                             \
        }                                                                                                              \
        break;
            EACH(1, uint8_t)
            EACH(2, uint16_t)
            EACH(4, uint32_t)
            EACH(8, uint64_t)
        default:
            break;
        }
    }
}

#define REMAP(name, args)                                                                                              \
    OP_KERNEL(name, args)                                                                                              \
    {                                                                                                                  \
        remap(a, block, num_blocks);                                                                                   \
    }
OP_KERNELS_REMAP(REMAP)

static void resample(const struct op_resample_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->x == NULL || a->z == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->planes * a->out[0] * a->out[1], 1, block, num_blocks);
    for (uint64_t row = r.begin; row < r.end; row++) {
        const struct row_at at = locate(a, row);
        float *z = (float *)a->z + row * a->out[2];
        memset(z, 0, a->out[2] * sizeof *z);
        for (int32_t d = a->start[0][at.d]; d < a->start[0][at.d + 1]; d++) {
            for (int32_t h = a->start[1][at.h]; h < a->start[1][at.h + 1]; h++) {
                const uint64_t line =
                    (at.plane * a->in[0] + (uint64_t)a->source[0][d]) * a->in[1] + (uint64_t)a->source[1][h];
                const float *x = (const float *)a->x + line * a->in[2], outer = a->weight[0][d] * a->weight[1][h];
                for (uint64_t i = 0; i < a->out[2]; i++) {
                    float sum = 0;
                    for (int32_t k = a->start[2][i]; k < a->start[2][i + 1]; k++) {
                        sum += a->weight[2][k] * x[a->source[2][k]];
                    }
                    z[i] += outer * sum;
                }
            }
        }
    }
}

#define RESAMPLE(name, args)                                                                                           \
    OP_KERNEL(name, args)                                                                                              \
    {                                                                                                                  \
        resample(a, block, num_blocks);                                                                                \
    }
OP_KERNELS_RESAMPLE(RESAMPLE)
