/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy with its gradient. One row belongs to one block; each block counts the valid rows itself, which is
 * cheaper than an additional launch. One block computes the mean. */
#include "softnpu/kernels/fast_math.h"
#include "softnpu/kernels/kernel.h"

static bool is_class(int32_t target, uint64_t classes)
{
    return target >= 0 && (uint64_t)target < classes;
}

static uint64_t count_valid(const int32_t *targets, uint64_t rows, uint64_t classes)
{
    uint64_t valid = 0;
    for (uint64_t i = 0; i < rows; i++) {
        valid += is_class(targets[i], classes);
    }
    return valid;
}

/* Sum of exp(x - top), in a separate chunk buffer, so that the logits are not modified. */
static float sum_exp(const float *x, float top, uint64_t n)
{
    enum { CHUNK = 256 };
    float total = 0, e[CHUNK];
    for (uint64_t begin = 0; begin < n; begin += CHUNK) {
        uint64_t count = n - begin < CHUNK ? n - begin : CHUNK;
        for (uint64_t i = 0; i < count; i++) {
            e[i] = tk_exp(x[begin + i] - top);
        }
        total += tk_row_sum(e, count);
    }
    return total;
}

TK_KERNEL(cross_entropy)
{
    if (a->logits == NULL || a->targets == NULL || a->row_loss == NULL || a->classes == 0) {
        return;
    }
    const struct tk_range r = tk_share(a->rows, 1, block, num_blocks);
    if (r.begin == r.end) {
        return;
    }
    const uint64_t classes = a->classes;
    const uint64_t valid = a->dlogits != NULL ? count_valid(a->targets, a->rows, classes) : 0;
    const float weight = valid > 0 ? (float)(a->grad_scale / (double)valid) : 0.0f;
    for (uint64_t row = r.begin; row < r.end; row++) {
        const float *x = a->logits + row * classes;
        float *dx = a->dlogits != NULL ? a->dlogits + row * classes : NULL;
        const int32_t target = a->targets[row];
        if (!is_class(target, classes)) {
            a->row_loss[row] = 0;
            if (dx != NULL) {
                memset(dx, 0, classes * sizeof(float));
            }
            continue;
        }
        const float top = tk_row_max(x, classes);
        const float total = sum_exp(x, top, classes);
        a->row_loss[row] = tk_log(total) + top - x[target];
        if (dx == NULL) {
            continue;
        }
        const float scale = weight / total;
        TK_INDEPENDENT
        for (uint64_t i = 0; i < classes; i++) {
            dx[i] = tk_exp(x[i] - top) * scale;
        }
        dx[target] -= weight;
    }
}

TK_KERNEL(cross_entropy_mean)
{
    if (a->row_loss == NULL || a->targets == NULL || a->loss == NULL || block != 0) {
        return;
    }
    double total = 0;
    uint64_t valid = 0;
    for (uint64_t i = 0; i < a->rows; i++) {
        if (is_class(a->targets[i], a->classes)) {
            total += (double)a->row_loss[i];
            valid++;
        }
    }
    a->loss[0] = valid > 0 ? (float)(total / (double)valid) : 0.0f;
}
