/* SPDX-License-Identifier: Apache-2.0 */
/* add, mul, scale, and the bias of a linear layer with its gradient. */
#include "softnpu/kernels/kernel.h"

TK_KERNEL(add)
{
    if (a->x == NULL || a->y == NULL || a->z == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    const float *x = a->x;
    const float *y = a->y;
    float *z = a->z;
    const float alpha = (float)a->alpha, beta = (float)a->beta;
    TK_INDEPENDENT
    for (uint64_t i = r.begin; i < r.end; i++) {
        z[i] = alpha * x[i] + beta * y[i];
    }
}

TK_KERNEL(mul)
{
    if (a->x == NULL || a->y == NULL || a->z == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    const float *x = a->x;
    const float *y = a->y;
    float *z = a->z;
    TK_INDEPENDENT
    for (uint64_t i = r.begin; i < r.end; i++) {
        z[i] = x[i] * y[i];
    }
}

TK_KERNEL(scale)
{
    if (a->x == NULL || a->y == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    const float *x = a->x;
    float *y = a->y;
    const float alpha = (float)a->alpha, shift = (float)a->shift;
    TK_INDEPENDENT
    for (uint64_t i = r.begin; i < r.end; i++) {
        y[i] = alpha * x[i] + shift;
    }
}

TK_KERNEL(bias_add)
{
    if (a->x == NULL || a->bias == NULL || a->y == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->rows, 1, block, num_blocks);
    const float *bias = a->bias;
    for (uint64_t row = r.begin; row < r.end; row++) {
        const float *x = a->x + row * a->cols;
        float *y = a->y + row * a->cols;
        TK_INDEPENDENT
        for (uint64_t i = 0; i < a->cols; i++) {
            y[i] = x[i] + bias[i];
        }
    }
}

/* Columns in strips, rows in groups, as in layer_norm_param_grad. */
TK_KERNEL(bias_grad)
{
    if (a->dy == NULL || a->dbias == NULL) {
        return;
    }
    enum { STRIP = 64, GROUP = 64 };
    const struct tk_range r = tk_share(a->cols, STRIP, block, num_blocks);
    const float beta = (float)a->beta;
    for (uint64_t col = r.begin; col < r.end; col += STRIP) {
        const uint64_t width = r.end - col < STRIP ? r.end - col : STRIP;
        float total[STRIP] = {0};
        for (uint64_t first = 0; first < a->rows; first += GROUP) {
            const uint64_t last = first + GROUP < a->rows ? first + GROUP : a->rows;
            float sum[STRIP] = {0};
            for (uint64_t row = first; row < last; row++) {
                const float *dy = a->dy + row * a->cols + col;
                for (uint64_t i = 0; i < width; i++) {
                    sum[i] += dy[i];
                }
            }
            for (uint64_t i = 0; i < width; i++) {
                total[i] += sum[i];
            }
        }
        for (uint64_t i = 0; i < width; i++) {
            float *to = a->dbias + col + i;
            *to = beta == 0.0f ? total[i] : beta * *to + total[i];
        }
    }
}
