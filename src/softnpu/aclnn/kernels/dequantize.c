/* SPDX-License-Identifier: Apache-2.0 */
/* WeightQuantBatchMatmulV2: a matrix of 8-bit or 4-bit integers as float. The product is a launch of its own. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"

/* n elements from element `first` on. Two elements share a byte, the low half is the first. */
static const float *load_int4(float *buffer, const uint8_t *base, int64_t first, int64_t step, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const int64_t at = first + (int64_t)i * step;
        const int code = base[at / 2] >> (at % 2 * 4) & 15;
        buffer[i] = (float)(code < 8 ? code : code - 16);
    }
    return buffer;
}

static const float *load(const struct op_call *a, int operand, float *buffer, int64_t offset, int64_t step, uint64_t n)
{
    return op_load_f32(buffer, op_element(a->data[operand], offset, a->at[operand].type), step, a->at[operand].type, n);
}

/* One line along the inner dimension: z = (x + offset) * scale. */
static void dequantize_line(const struct op_call *a, uint64_t outer, int inner_dim)
{
    const struct op_operand *x = &a->at[OP_DEQUANT_X], *scale = &a->at[OP_DEQUANT_SCALE];
    const struct op_operand *offset = &a->at[OP_DEQUANT_OFFSET], *z = &a->at[OP_DEQUANT_Z];
    const int outer_dim = 1 - inner_dim;
    const uint64_t count = x->dims[inner_dim], group = (uint64_t)a->whole[0];
    const bool by_group = inner_dim == 0; /* the scale changes along the line only at group borders */
    float xs[OP_RUN], scales[OP_RUN], offsets[OP_RUN] = {0}, zs[OP_RUN];
    for (uint64_t at = 0, n; at < count; at += n) {
        const uint64_t row = by_group ? at : outer, col = by_group ? outer : at;
        const uint64_t rest = by_group ? group - at % group : count - at;
        n = rest < count - at ? rest : count - at;
        n = n < OP_RUN ? n : OP_RUN;
        const int64_t from = (int64_t)outer * x->steps[outer_dim] + (int64_t)at * x->steps[inner_dim];
        const float *px = x->type == OP_TYPE_INT4 ? load_int4(xs, a->data[OP_DEQUANT_X], from, x->steps[inner_dim], n)
                                                  : load(a, OP_DEQUANT_X, xs, from, x->steps[inner_dim], n);
        const int64_t group_at = (int64_t)(row / group), col_at = (int64_t)col;
        const float *ps = load(a, OP_DEQUANT_SCALE, scales, group_at * scale->steps[0] + col_at * scale->steps[1],
                               by_group ? 0 : scale->steps[1], n);
        const float *po = offsets;
        if (a->data[OP_DEQUANT_OFFSET] != NULL) {
            po = load(a, OP_DEQUANT_OFFSET, offsets, group_at * offset->steps[0] + col_at * offset->steps[1],
                      by_group ? 0 : offset->steps[1], n);
        }
        for (uint64_t i = 0; i < n; i++) {
            zs[i] = (px[i] + po[i]) * ps[i];
        }
        const int64_t to = (int64_t)outer * z->steps[outer_dim] + (int64_t)at * z->steps[inner_dim];
        op_store_f32(zs, (void *)op_element(a->data[OP_DEQUANT_Z], to, z->type), z->steps[inner_dim], z->type, n);
    }
}

OP_KERNEL(WeightQuantBatchMatmulV2, op_call)
{
    const struct op_operand *x = &a->at[OP_DEQUANT_X];
    if (a->data[OP_DEQUANT_X] == NULL || a->data[OP_DEQUANT_SCALE] == NULL || a->data[OP_DEQUANT_Z] == NULL ||
        a->whole[0] <= 0) {
        return;
    }
    const int inner_dim = x->steps[0] < x->steps[1] ? 0 : 1;
    const struct tk_range lines = tk_share(x->dims[1 - inner_dim], 1, block, num_blocks);
    for (uint64_t i = lines.begin; i < lines.end; i++) {
        dequantize_line(a, i, inner_dim);
    }
}
