/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm over rows: forward and gradient by rows, parameter gradients by columns. */
#include "softnpu/kernels/kernel.h"

#include <math.h>

TK_KERNEL(layer_norm)
{
    if (a->x == NULL || a->y == NULL || a->cols == 0) {
        return;
    }
    const struct tk_range r = tk_share(a->rows, 1, block, num_blocks);
    const uint64_t cols = a->cols;
    const float *gamma = a->gamma;
    const float *beta = a->beta;
    for (uint64_t row = r.begin; row < r.end; row++) {
        const float *x = a->x + row * cols;
        float *y = a->y + row * cols;
        const float mean = tk_row_sum(x, cols) / (float)cols;
        const float variance = tk_row_spread(x, mean, cols) / (float)cols;
        const float rstd = 1.0f / sqrtf(variance + (float)a->eps);
        if (gamma != NULL && beta != NULL) {
            TK_INDEPENDENT
            for (uint64_t i = 0; i < cols; i++) {
                y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
            }
        } else {
            for (uint64_t i = 0; i < cols; i++) {
                float v = (x[i] - mean) * rstd;
                v = gamma != NULL ? v * gamma[i] : v;
                y[i] = beta != NULL ? v + beta[i] : v;
            }
        }
        if (a->mean != NULL) {
            a->mean[row] = mean;
        }
        if (a->rstd != NULL) {
            a->rstd[row] = rstd;
        }
    }
}

/* With n = (x - mean) rstd and h = dy gamma: dx = rstd (h - mean(h) - n mean(h n)). */
TK_KERNEL(layer_norm_grad)
{
    if (a->dy == NULL || a->x == NULL || a->mean == NULL || a->rstd == NULL || a->dx == NULL || a->cols == 0) {
        return;
    }
    const struct tk_range r = tk_share(a->rows, 1, block, num_blocks);
    const uint64_t cols = a->cols;
    const float *gamma = a->gamma;
    for (uint64_t row = r.begin; row < r.end; row++) {
        const float *x = a->x + row * cols;
        const float *dy = a->dy + row * cols;
        float *dx = a->dx + row * cols;
        const float mean = a->mean[row], rstd = a->rstd[row];
        float sum_h, sum_hn;
        if (gamma != NULL) {
            sum_h = tk_row_dot(dy, gamma, cols);
            TK_ROW_REDUCE(sum_hn, cols, TK_8(dy + at) * TK_8(gamma + at) * ((TK_8(x + at) - mean) * rstd),
                          dy[at] * gamma[at] * ((x[at] - mean) * rstd));
        } else {
            sum_h = tk_row_sum(dy, cols);
            TK_ROW_REDUCE(sum_hn, cols, TK_8(dy + at) * ((TK_8(x + at) - mean) * rstd),
                          dy[at] * ((x[at] - mean) * rstd));
        }
        const float mean_h = sum_h / (float)cols, mean_hn = sum_hn / (float)cols;
        const bool accumulate = a->accumulate != 0;
        TK_INDEPENDENT
        for (uint64_t i = 0; i < cols; i++) {
            float h = gamma != NULL ? dy[i] * gamma[i] : dy[i];
            float n = (x[i] - mean) * rstd;
            float d = rstd * (h - mean_h - n * mean_hn);
            dx[i] = accumulate ? dx[i] + d : d;
        }
    }
}

/* Columns in strips; rows summed in groups, so that the rounding error grows with the number of groups and not of rows.
 */
TK_KERNEL(layer_norm_param_grad)
{
    if (a->dy == NULL || a->x == NULL || a->mean == NULL || a->rstd == NULL) {
        return;
    }
    enum { STRIP = 64, GROUP = 64 };
    const struct tk_range r = tk_share(a->cols, STRIP, block, num_blocks);
    for (uint64_t col = r.begin; col < r.end; col += STRIP) {
        const uint64_t width = r.end - col < STRIP ? r.end - col : STRIP;
        float gamma_total[STRIP] = {0}, beta_total[STRIP] = {0};
        for (uint64_t first = 0; first < a->rows; first += GROUP) {
            const uint64_t last = first + GROUP < a->rows ? first + GROUP : a->rows;
            float gamma_sum[STRIP] = {0}, beta_sum[STRIP] = {0};
            for (uint64_t row = first; row < last; row++) {
                const float *x = a->x + row * a->cols + col;
                const float *dy = a->dy + row * a->cols + col;
                const float mean = a->mean[row], rstd = a->rstd[row];
                for (uint64_t i = 0; i < width; i++) {
                    gamma_sum[i] += dy[i] * ((x[i] - mean) * rstd);
                    beta_sum[i] += dy[i];
                }
            }
            for (uint64_t i = 0; i < width; i++) {
                gamma_total[i] += gamma_sum[i];
                beta_total[i] += beta_sum[i];
            }
        }
        const bool accumulate = a->accumulate != 0;
        for (uint64_t i = 0; i < width; i++) {
            if (a->dgamma != NULL) {
                a->dgamma[col + i] = accumulate ? a->dgamma[col + i] + gamma_total[i] : gamma_total[i];
            }
            if (a->dbeta != NULL) {
                a->dbeta[col + i] = accumulate ? a->dbeta[col + i] + beta_total[i] : beta_total[i];
            }
        }
    }
}
