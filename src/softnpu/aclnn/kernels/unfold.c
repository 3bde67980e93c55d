/* SPDX-License-Identifier: Apache-2.0 */
/* Im2col copies windows of an image to columns; Col2im adds columns to an image. Each output element is computed by one
 * block, in a fixed order. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The outputs [first, end) of a row whose window element `k` is inside an image of `size` elements. */
static void valid_outputs(const struct op_unfold_args *a, int dim, int64_t k, int64_t size, int64_t outputs,
                          int64_t *first, int64_t *end)
{
    const int64_t start = k * a->dilation[dim] - a->padding[dim], stride = a->stride[dim];
    *first = start >= 0 ? 0 : (-start + stride - 1) / stride;
    *end = start >= size ? 0 : (size - 1 - start) / stride + 1;
    *end = least(*end, outputs);
    *first = least(*first, *end);
}

static void copy_elements(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n, uint64_t size_b)
{
    if (to_step == 1 && from_step == 1) {
        memcpy(to, from, (size_t)n * size_b);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + i * to_step * (int64_t)size_b, from + i * from_step * (int64_t)size_b, size_b);
    }
}

static void zero_elements(char *to, int64_t to_step, int64_t n, uint64_t size_b)
{
    for (int64_t i = 0; i < n; i++) {
        memset(to + i * to_step * (int64_t)size_b, 0, size_b);
    }
}

OP_KERNEL(Im2col, op_unfold_args)
{
    const struct op_loop loop = {OP_UNFOLD_OW,
                                 {a->column_dims[OP_UNFOLD_N], a->column_dims[OP_UNFOLD_C],
                                  a->column_dims[OP_UNFOLD_KH], a->column_dims[OP_UNFOLD_KW],
                                  a->column_dims[OP_UNFOLD_OH]}};
    const int64_t width = (int64_t)a->image_dims[OP_UNFOLD_W], height = (int64_t)a->image_dims[OP_UNFOLD_H];
    const int64_t outputs = (int64_t)a->column_dims[OP_UNFOLD_OW], to_step = a->column_steps[OP_UNFOLD_OW];
    const uint64_t size_b = op_type_b(a->type);
    if (a->image == NULL || a->columns == NULL) {
        return;
    }
    struct op_walk w = op_walk_start(&loop, tk_share(op_loop_count(&loop), 1, block, num_blocks));
    for (; w.at < w.end; op_walk_advance(&w, 1)) {
        int64_t to_at = 0, first = 0, end = 0;
        for (int i = 0; i < OP_UNFOLD_OW; i++) {
            to_at += (int64_t)w.index[i] * a->column_steps[i];
        }
        char *to = (char *)op_element(a->columns, to_at, a->type);
        const int64_t y = (int64_t)w.index[OP_UNFOLD_OH] * a->stride[0] - a->padding[0] +
                          (int64_t)w.index[OP_UNFOLD_KH] * a->dilation[0];
        const int64_t kw = (int64_t)w.index[OP_UNFOLD_KW];
        if (y >= 0 && y < height) {
            valid_outputs(a, 1, kw, width, outputs, &first, &end);
        }
        const int64_t x = first * a->stride[1] - a->padding[1] + kw * a->dilation[1];
        const int64_t from_at = (int64_t)w.index[0] * a->image_steps[0] + (int64_t)w.index[1] * a->image_steps[1] +
                                y * a->image_steps[OP_UNFOLD_H] + x * a->image_steps[OP_UNFOLD_W];
        zero_elements(to, to_step, first, size_b);
        copy_elements(to + first * to_step * (int64_t)size_b, to_step, op_element(a->image, from_at, a->type),
                      a->stride[1] * a->image_steps[OP_UNFOLD_W], end - first, size_b);
        zero_elements(to + end * to_step * (int64_t)size_b, to_step, outputs - end, size_b);
    }
}

/* Adds the columns of one window row to a part of an image row, [from, from + n). */
static void add_columns(const struct op_unfold_args *a, const char *row, float *sums, int64_t from, int64_t n)
{
    const int64_t step = a->column_steps[OP_UNFOLD_OW], outputs = (int64_t)a->column_dims[OP_UNFOLD_OW];
    for (int64_t kw = 0; kw < (int64_t)a->column_dims[OP_UNFOLD_KW]; kw++) {
        int64_t first, end;
        valid_outputs(a, 1, kw, (int64_t)a->image_dims[OP_UNFOLD_W], outputs, &first, &end);
        const char *columns = op_element(row, kw * a->column_steps[OP_UNFOLD_KW], a->type);
        for (int64_t ow = first; ow < end; ow++) {
            const int64_t x = ow * a->stride[1] - a->padding[1] + kw * a->dilation[1] - from;
            if (x >= 0 && x < n) {
                float value;
                sums[x] += *op_load_f32(&value, op_element(columns, ow * step, a->type), 1, a->type, 1);
            }
        }
    }
}

OP_KERNEL(Col2im, op_unfold_args)
{
    const struct op_loop loop = {OP_UNFOLD_W,
                                 {a->image_dims[OP_UNFOLD_N], a->image_dims[OP_UNFOLD_C], a->image_dims[OP_UNFOLD_H]}};
    const int64_t width = (int64_t)a->image_dims[OP_UNFOLD_W], step = a->image_steps[OP_UNFOLD_W];
    if (a->image == NULL || a->columns == NULL) {
        return;
    }
    struct op_walk w = op_walk_start(&loop, tk_share(op_loop_count(&loop), 1, block, num_blocks));
    for (; w.at < w.end; op_walk_advance(&w, 1)) {
        const int64_t at = (int64_t)w.index[0] * a->image_steps[0] + (int64_t)w.index[1] * a->image_steps[1] +
                           (int64_t)w.index[2] * a->image_steps[2];
        const int64_t column_at = (int64_t)w.index[0] * a->column_steps[0] + (int64_t)w.index[1] * a->column_steps[1];
        for (int64_t from = 0; from < width; from += OP_RUN) {
            float sums[OP_RUN] = {0};
            const int64_t n = least(width - from, OP_RUN);
            for (int64_t kh = 0; kh < (int64_t)a->column_dims[OP_UNFOLD_KH]; kh++) {
                const int64_t y = (int64_t)w.index[OP_UNFOLD_H] + a->padding[0] - kh * a->dilation[0];
                if (y >= 0 && y % a->stride[0] == 0 && y / a->stride[0] < (int64_t)a->column_dims[OP_UNFOLD_OH]) {
                    const int64_t row_at = column_at + kh * a->column_steps[OP_UNFOLD_KH] +
                                           y / a->stride[0] * a->column_steps[OP_UNFOLD_OH];
                    add_columns(a, op_element(a->columns, row_at, a->type), sums, from, n);
                }
            }
            op_store_f32(sums, (void *)op_element(a->image, at + from * step, a->type), step, a->type, (uint64_t)n);
        }
    }
}
