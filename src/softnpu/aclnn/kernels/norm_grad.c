/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormBetaGammaBackpropV2: gradients of the parameters of a row normalisation, in pieces of rows. Another launch
 * adds the pieces, so the result does not depend on the number of blocks. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"

/* Operands dy, x, mean (may be missing), rstd as matrices; sums of dy (x - mean) rstd and of dy as [pieces, cols].
 * Numbers: rows, cols, pieces. */
OP_KERNEL(LayerNormBetaGammaBackpropV2, op_call)
{
    const uint64_t rows = (uint64_t)a->whole[0], cols = (uint64_t)a->whole[1], pieces = (uint64_t)a->whole[2];
    const uint64_t tiles = (cols + OP_RUN - 1) / OP_RUN;
    float *weight = a->data[4], *bias = a->data[5];
    if (a->data[0] == NULL || a->data[1] == NULL || a->data[3] == NULL || weight == NULL || bias == NULL) {
        return;
    }
    const struct tk_range mine = tk_share(pieces * tiles, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        const uint64_t piece = item / tiles, first = item % tiles * OP_RUN;
        const uint64_t n = cols - first < OP_RUN ? cols - first : OP_RUN;
        const struct tk_range part = tk_share(rows, 1, (uint32_t)piece, (uint32_t)pieces);
        float sum[2][OP_RUN] = {{0}}, buffer[2][OP_RUN];
        for (uint64_t row = part.begin; row < part.end; row++) {
            const float *v[2];
            float scale[2] = {0, 0};
            for (int i = 0; i < 2; i++) {
                const struct op_operand *at = &a->at[i], *one = &a->at[i + 2];
                v[i] = op_load_f32(
                    buffer[i],
                    op_element(a->data[i], (int64_t)row * at->steps[0] + (int64_t)first * at->steps[1], at->type),
                    at->steps[1], at->type, n);
                if (a->data[i + 2] != NULL) {
                    float value;
                    scale[i] = *op_load_f32(&value, op_element(a->data[i + 2], (int64_t)row * one->steps[0], one->type),
                                            1, one->type, 1);
                }
            }
            const float *dy = v[0], *x = v[1], mean = scale[0], rstd = scale[1];
            for (uint64_t i = 0; i < n; i++) {
                sum[0][i] += dy[i] * (x[i] - mean) * rstd;
                sum[1][i] += dy[i];
            }
        }
        memcpy(weight + piece * cols + first, sum[0], n * sizeof(float));
        memcpy(bias + piece * cols + first, sum[1], n * sizeof(float));
    }
}
