/* SPDX-License-Identifier: Apache-2.0 */
/* gelu (tanh form), relu, and their gradients. Element-wise. */
#include "softnpu/kernels/fast_math.h"
#include "softnpu/kernels/kernel.h"

#define GELU_A 0.7978845608028654f /* sqrt(2 / pi) */
#define GELU_B 0.044715f

TK_KERNEL(gelu)
{
    if (a->x == NULL || a->y == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    const float *x = a->x;
    float *y = a->y;
    TK_INDEPENDENT
    for (uint64_t i = r.begin; i < r.end; i++) {
        float v = x[i];
        float t = tk_tanh(GELU_A * (v + GELU_B * v * v * v));
        y[i] = 0.5f * v * (1.0f + t);
    }
}

TK_KERNEL(gelu_grad)
{
    if (a->dy == NULL || a->x == NULL || a->dx == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    const float *x = a->x;
    const float *dy = a->dy;
    float *dx = a->dx;
    TK_INDEPENDENT
    for (uint64_t i = r.begin; i < r.end; i++) {
        float v = x[i];
        float square = v * v;
        float t = tk_tanh(GELU_A * (v + GELU_B * square * v));
        float slope = GELU_A * (1.0f + 3.0f * GELU_B * square);
        dx[i] = dy[i] * (0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * slope);
    }
}

TK_KERNEL(relu)
{
    if (a->x == NULL || a->y == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    const float *x = a->x;
    float *y = a->y;
    TK_INDEPENDENT
    for (uint64_t i = r.begin; i < r.end; i++) {
        y[i] = x[i] < 0.0f ? 0.0f : x[i]; /* NaN passes */
    }
}

TK_KERNEL(relu_grad)
{
    if (a->dy == NULL || a->x == NULL || a->dx == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    const float *x = a->x;
    const float *dy = a->dy;
    float *dx = a->dx;
    TK_INDEPENDENT
    for (uint64_t i = r.begin; i < r.end; i++) {
        dx[i] = x[i] > 0.0f ? dy[i] : 0.0f;
    }
}
