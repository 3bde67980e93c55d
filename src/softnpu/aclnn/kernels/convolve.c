/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution as a product: part of the columns of an image is laid out as a matrix, and the matrix product does the
 * rest. One engine serves the convolution, its gradients and the transposed convolution (convolve_args.h).
 *
 * Invariant: columns are cut at multiples of SLICE, so that the sums of an element do not depend on the number of
 * blocks. Memory: one buffer per thread, like the product's. */
#include "softnpu/aclnn/kernels/op_kernel.h"
#include "softnpu/kernels/gemm.h"

enum { SLICE = 256, TILE = 256, LEAST = 32 };

static _Thread_local _Alignas(64) float columns[SLICE * TILE];

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The source position of a point; -1 if it has none. */
static inline int64_t position(const struct op_conv_axis *axis, uint64_t point, uint64_t tap)
{
    const int64_t at = (int64_t)point * axis->mul + axis->offset + (int64_t)tap * axis->tap_step;
    if (at < 0 || (axis->div > 1 && at % axis->div != 0)) {
        return -1;
    }
    const int64_t place = axis->div > 1 ? at / axis->div : at;
    return place < (int64_t)axis->size ? place : -1;
}

/* Points of one row of the source (NULL: outside). */
static void fill_row(const struct op_conv_axis *axis, const float *row, uint64_t tap, uint64_t point, uint64_t n,
                     float *out)
{
    if (row == NULL) {
        memset(out, 0, n * sizeof *out);
        return;
    }
    if (axis->mul == 1 && axis->div == 1) {
        const int64_t start = (int64_t)point + axis->offset + (int64_t)tap * axis->tap_step;
        for (uint64_t i = 0; i < n;) {
            const int64_t at = start + (int64_t)i;
            if (at < 0 || at >= (int64_t)axis->size) {
                out[i++] = 0;
                continue;
            }
            const uint64_t run = least(n - i, axis->size - (uint64_t)at);
            memcpy(out + i, row + at, run * sizeof *out);
            i += run;
        }
        return;
    }
    const int64_t start = (int64_t)point * axis->mul + axis->offset + (int64_t)tap * axis->tap_step;
    if (axis->mul == 1) {
        /* Every div-th point has an element. */
        memset(out, 0, n * sizeof *out);
        const int64_t rest = start % axis->div, lead = rest > 0 ? axis->div - rest : -rest;
        int64_t at = (start + lead) / axis->div;
        for (int64_t i = lead; i < (int64_t)n && at < (int64_t)axis->size; i += axis->div, at++) {
            out[i] = at < 0 ? 0 : row[at];
        }
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        const int64_t at = start + (int64_t)i * axis->mul;
        out[i] = at < 0 || at >= (int64_t)axis->size ? 0 : row[at];
    }
}

/* Row k of the columns for points [first, first + n). */
static void fill_column(const struct op_conv_args *a, const float *image, uint64_t k, uint64_t first, uint64_t n,
                        float *out)
{
    const struct op_conv_axis *d = &a->axis[0], *h = &a->axis[1], *w = &a->axis[2];
    const uint64_t tw = k % w->taps, th = k / w->taps % h->taps, td = k / w->taps / h->taps % d->taps;
    const float *plane = image + k / (w->taps * h->taps * d->taps) * d->size * h->size * w->size;
    for (uint64_t p = first; p < first + n;) {
        const uint64_t pw = p % w->points, ph = p / w->points % h->points, pd = p / w->points / h->points;
        const uint64_t run = least(w->points - pw, first + n - p);
        const int64_t sd = position(d, pd, td), sh = position(h, ph, th);
        const float *row = sd < 0 || sh < 0 ? NULL : plane + ((uint64_t)sd * h->size + (uint64_t)sh) * w->size;
        fill_row(w, row, tw, pw, run, out + (p - first));
        p += run;
    }
}

struct sizes {
    uint64_t points, terms, source; /* per plane, per output, of one plane of the source */
    bool direct;                    /* the source is the columns already */
};

static struct sizes measure(const struct op_conv_args *a)
{
    struct sizes s = {.points = 1, .terms = a->channels, .source = 1, .direct = true};
    for (int i = 0; i < OP_SPATIAL; i++) {
        const struct op_conv_axis *axis = &a->axis[i];
        s.points *= axis->points;
        s.terms *= axis->taps;
        s.source *= axis->size;
        s.direct = s.direct && axis->taps == 1 && axis->mul == 1 && axis->div == 1 && axis->offset == 0 &&
                   axis->size == axis->points;
    }
    return s;
}

/* The columns [k, k + kc) x [p, p + pc) as a matrix with steps. */
static const float *lay_out(const struct op_conv_args *a, const struct sizes *s, const float *image, uint64_t k,
                            uint64_t kc, uint64_t p, uint64_t pc, int64_t *row)
{
    if (s->direct) {
        *row = (int64_t)s->source;
        return image + k * s->source + p;
    }
    *row = TILE;
    for (uint64_t i = 0; i < kc; i++) {
        fill_column(a, image, k + i, p, pc, columns + i * TILE);
    }
    return columns;
}

static void gather(const struct op_conv_args *a, const struct sizes *s, uint32_t block, uint32_t num_blocks)
{
    uint64_t tile = TILE;
    const uint64_t images = a->batch * a->groups;
    while (tile > LEAST && images * (s->points / tile + 1) < num_blocks) {
        tile /= 2;
    }
    const uint64_t tiles = s->points / tile + (s->points % tile != 0);
    const struct tk_range mine = tk_share(images * tiles, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        const uint64_t image = item / tiles, group = image % a->groups, p = item % tiles * tile;
        const uint64_t pc = least(tile, s->points - p);
        struct tk_gemm g = {
            .m = a->rows,
            .n = pc,
            .c = a->out + image * a->rows * s->points + p,
            .a_row = (int64_t)s->terms,
            .a_col = 1,
            .b_col = 1,
            .c_row = (int64_t)s->points,
            .c_col = 1,
            .alpha = 1,
        };
        for (uint64_t k = 0; k < s->terms; k += SLICE) {
            g.k = least(SLICE, s->terms - k);
            g.a = a->weight + group * a->rows * s->terms + k;
            g.b = lay_out(a, s, a->source + image * a->channels * s->source, k, g.k, p, pc, &g.b_row);
            g.beta = k > 0 || a->add != 0 ? 1 : 0;
            tk_gemm_part(&g, &(struct tk_gemm_cut){1, 1, 1}, 0);
        }
    }
}

static void sum_up(const struct op_conv_args *a, const struct sizes *s, uint32_t block, uint32_t num_blocks)
{
    uint64_t tile = SLICE, cut = 1;
    while (tile > LEAST && a->groups * (s->terms / tile + 1) < num_blocks) {
        tile /= 2;
    }
    const uint64_t tiles = s->terms / tile + (s->terms % tile != 0);
    while (a->groups * tiles * cut < num_blocks && a->rows / (cut + 1) >= LEAST) {
        cut++;
    }
    const struct tk_range mine = tk_share(a->groups * tiles * cut, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        const uint64_t group = item / (tiles * cut), k = item / cut % tiles * tile;
        const uint64_t kc = least(tile, s->terms - k);
        const struct tk_range rows = tk_share(a->rows, 1, (uint32_t)(item % cut), (uint32_t)cut);
        struct tk_gemm g = {
            .m = rows.end - rows.begin,
            .n = kc,
            .c = a->out + (group * a->rows + rows.begin) * s->terms + k,
            .a_row = (int64_t)s->points,
            .a_col = 1,
            .b_row = 1,
            .c_row = (int64_t)s->terms,
            .c_col = 1,
            .alpha = 1,
        };
        for (uint64_t n = 0; n < a->batch; n++) {
            const uint64_t image = n * a->groups + group;
            for (uint64_t p = 0; p < s->points; p += TILE) {
                g.k = least(TILE, s->points - p);
                g.a = a->weight + (image * a->rows + rows.begin) * s->points + p;
                g.b = lay_out(a, s, a->source + image * a->channels * s->source, k, kc, p, g.k, &g.b_col);
                tk_gemm_part(&g, &(struct tk_gemm_cut){1, 1, 1}, 0);
                g.beta = 1;
            }
        }
    }
}

static void convolve(const struct op_conv_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->source == NULL || a->weight == NULL || a->out == NULL || block >= num_blocks) {
        return;
    }
    const struct sizes s = measure(a);
    if (a->gather != 0) {
        gather(a, &s, block, num_blocks);
    } else {
        sum_up(a, &s, block, num_blocks);
    }
}

#define CONVOLVE(name)                                                                                                 \
    OP_KERNEL(name, op_conv_args)                                                                                      \
    {                                                                                                                  \
        convolve(a, block, num_blocks);                                                                                \
    }
CONVOLVE(Conv2D)
CONVOLVE(Conv3D)
CONVOLVE(Conv2DTranspose)
CONVOLVE(Conv3DTranspose)
CONVOLVE(Conv2DBackpropInput)
CONVOLVE(Conv3DBackpropInput)
CONVOLVE(Conv2DBackpropFilter)
CONVOLVE(Conv3DBackpropFilter)
