/* SPDX-License-Identifier: Apache-2.0 */
/* softmax over rows, its gradient, and the causal mask before it. One row belongs to one block. */
#include "softnpu/kernels/fast_math.h"
#include "softnpu/kernels/kernel.h"

TK_KERNEL(softmax)
{
    if (a->x == NULL || a->y == NULL || a->cols == 0) {
        return;
    }
    const struct tk_range r = tk_share(a->rows, 1, block, num_blocks);
    const uint64_t cols = a->cols;
    for (uint64_t row = r.begin; row < r.end; row++) {
        const float *x = a->x + row * cols;
        float *y = a->y + row * cols;
        const float top = tk_row_max(x, cols);
        TK_INDEPENDENT
        for (uint64_t i = 0; i < cols; i++) {
            y[i] = tk_exp(x[i] - top);
        }
        const float scale = 1.0f / tk_row_sum(y, cols);
        TK_INDEPENDENT
        for (uint64_t i = 0; i < cols; i++) {
            y[i] *= scale;
        }
    }
}

TK_KERNEL(softmax_grad)
{
    if (a->dy == NULL || a->y == NULL || a->dx == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->rows, 1, block, num_blocks);
    const uint64_t cols = a->cols;
    for (uint64_t row = r.begin; row < r.end; row++) {
        const float *dy = a->dy + row * cols;
        const float *y = a->y + row * cols;
        float *dx = a->dx + row * cols;
        const float dot = tk_row_dot(dy, y, cols);
        TK_INDEPENDENT
        for (uint64_t i = 0; i < cols; i++) {
            dx[i] = y[i] * (dy[i] - dot);
        }
    }
}

TK_KERNEL(causal_mask)
{
    if (a->s == NULL || a->rows == 0) {
        return;
    }
    const struct tk_range r = tk_share(a->batch * a->rows, 1, block, num_blocks);
    const float value = (float)a->value;
    for (uint64_t row = r.begin; row < r.end; row++) {
        float *s = a->s + row * a->cols;
        int64_t seen = (int64_t)(row % a->rows) + a->first + 1;
        for (uint64_t i = seen > 0 ? (uint64_t)seen : 0; i < a->cols; i++) {
            s[i] = value;
        }
    }
}
