/* SPDX-License-Identifier: Apache-2.0 */
/* SoftmaxV2 and LayerNormV3. The transformer kernels handle float32 on dense rows; other types and strides are
 * converted in wide chunks, and each pass reads the row again so that no scratch memory is needed. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include <math.h>

static void softmax_row(const struct op_softmax_args *a, const void *x, void *z)
{
    struct tk_chunk chunk;
    double top = -INFINITY, total = 0;
    for (int pass = 0; pass < 3; pass++) {
        for (uint64_t i = 0; i < a->count; i += TK_CHUNK) {
            const uint64_t n = a->count - i < TK_CHUNK ? a->count - i : TK_CHUNK;
            tk_chunk_load(&chunk, op_element(x, (int64_t)i * a->x_step, a->x_side.type), a->x_step, a->x_side.type, n);
            tk_chunk_make(&chunk, TK_KIND_REAL, n);
            for (uint64_t j = 0; j < n; j++) {
                const double v = chunk.real[j];
                if (pass == 0) {
                    top = v > top || v != v ? v : top;
                } else if (pass == 1) {
                    total += exp(v - top);
                } else {
                    chunk.real[j] = exp(v - top) / total;
                }
            }
            if (pass == 2) {
                tk_chunk_store(&chunk, (void *)op_element(z, (int64_t)i * a->z_step, a->z_side.type), a->z_step,
                               a->z_side.type, n);
            }
        }
    }
}

OP_KERNEL(SoftmaxV2, op_softmax_args)
{
    if (a->x == NULL || a->z == NULL || a->count == 0) {
        return;
    }
    const bool f32 = a->x_side.type == TK_FLOAT && a->z_side.type == TK_FLOAT && a->x_step == 1 && a->z_step == 1;
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), 1, block, num_blocks));
    for (; op_walk_run(&w, 1) > 0; op_walk_advance(&w, 1)) {
        const void *x = op_element(a->x, op_walk_offset(&w, &a->x_side), a->x_side.type);
        void *z = (void *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type);
        if (f32) {
            TK_NAME(softmax)(&(struct tk_softmax_args){x, z, 1, a->count}, 0, 1);
        } else {
            softmax_row(a, x, z);
        }
    }
}

static void store_one(void *base, uint64_t index, int64_t type, double value)
{
    if (base != NULL) {
        struct tk_chunk chunk = {.kind = TK_KIND_REAL};
        chunk.real[0] = value;
        tk_chunk_store(&chunk, (void *)op_element(base, (int64_t)index, type), 1, type, 1);
    }
}

/* Chunk i of a parameter vector, or a constant if the parameter is absent. */
static void load_parameter(struct tk_chunk *chunk, const void *base, uint64_t i, int64_t type, double missing,
                           uint64_t n)
{
    chunk->kind = TK_KIND_REAL;
    for (uint64_t j = 0; j < n && base == NULL; j++) {
        chunk->real[j] = missing;
    }
    if (base != NULL) {
        tk_chunk_load(chunk, op_element(base, (int64_t)i, type), 1, type, n);
        tk_chunk_make(chunk, TK_KIND_REAL, n);
    }
}

static void layer_norm_row(const struct op_layer_norm_args *a, uint64_t row)
{
    struct tk_chunk chunk, weight, bias;
    const char *x = op_element(a->x, (int64_t)(row * a->cols), a->x_type);
    double sum = 0, spread = 0, mean = 0, rstd = 0;
    for (int pass = 0; pass < 3; pass++) {
        for (uint64_t i = 0; i < a->cols; i += TK_CHUNK) {
            const uint64_t n = a->cols - i < TK_CHUNK ? a->cols - i : TK_CHUNK;
            tk_chunk_load(&chunk, op_element(x, (int64_t)i, a->x_type), 1, a->x_type, n);
            if (pass == 2) {
                load_parameter(&weight, a->weight, i, a->weight_type, 1, n);
                load_parameter(&bias, a->bias, i, a->bias_type, 0, n);
            }
            for (uint64_t j = 0; j < n; j++) {
                const double v = chunk.real[j];
                if (pass == 0) {
                    sum += v;
                } else if (pass == 1) {
                    spread += (v - mean) * (v - mean);
                } else {
                    chunk.real[j] = (v - mean) * rstd * weight.real[j] + bias.real[j];
                }
            }
            if (pass == 2) {
                tk_chunk_store(&chunk, (void *)op_element(a->z, (int64_t)(row * a->cols + i), a->z_type), 1, a->z_type,
                               n);
            }
        }
        mean = sum / (double)a->cols;
        rstd = 1 / sqrt(spread / (double)a->cols + a->eps);
    }
    store_one(a->mean, row, a->mean_type, mean);
    store_one(a->rstd, row, a->rstd_type, rstd);
}

OP_KERNEL(LayerNormV3, op_layer_norm_args)
{
    if (a->x == NULL || a->z == NULL || a->cols == 0) {
        return;
    }
    const bool f32 = a->x_type == TK_FLOAT && a->z_type == TK_FLOAT &&
                     (a->weight == NULL || a->weight_type == TK_FLOAT) &&
                     (a->bias == NULL || a->bias_type == TK_FLOAT) && (a->mean == NULL || a->mean_type == TK_FLOAT) &&
                     (a->rstd == NULL || a->rstd_type == TK_FLOAT);
    if (f32) {
        TK_NAME(layer_norm)
        (&(struct tk_layer_norm_args){a->x, a->weight, a->bias, a->z, a->mean, a->rstd, a->rows, a->cols, a->eps},
         block, num_blocks);
        return;
    }
    const struct tk_range r = tk_share(a->rows, 1, block, num_blocks);
    for (uint64_t row = r.begin; row < r.end; row++) {
        layer_norm_row(a, row);
    }
}
