/* SPDX-License-Identifier: Apache-2.0 */
/* Adam / AdamW and SGD with momentum. Element-wise. */
#include "softnpu/kernels/kernel.h"

#include <math.h>

static double power(double base, uint64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base) {
        if (exponent & 1) {
            result *= base;
        }
    }
    return result;
}

TK_KERNEL(adamw)
{
    if (a->param == NULL || a->grad == NULL || a->m == NULL || a->v == NULL || a->step == 0) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    float *param = a->param;
    const float *grad = a->grad;
    float *m = a->m;
    float *v = a->v;
    const float beta1 = (float)a->beta1, beta2 = (float)a->beta2, eps = (float)a->eps;
    const float rest1 = (float)(1 - a->beta1), rest2 = (float)(1 - a->beta2);
    const float rate = (float)(a->lr / (1 - power(a->beta1, a->step)));
    const float unbias2 = (float)(1 / sqrt(1 - power(a->beta2, a->step)));
    const float keep = a->decoupled ? (float)(1 - a->lr * a->weight_decay) : 1.0f;
    const float decay = a->decoupled ? 0.0f : (float)a->weight_decay;
    const float grad_scale = (float)a->grad_scale;
    TK_INDEPENDENT
    for (uint64_t i = r.begin; i < r.end; i++) {
        float p = param[i];
        float g = grad[i] * grad_scale + decay * p;
        float m1 = beta1 * m[i] + rest1 * g;
        float v1 = beta2 * v[i] + rest2 * (g * g);
        m[i] = m1;
        v[i] = v1;
        param[i] = p * keep - rate * m1 / (sqrtf(v1) * unbias2 + eps);
    }
}

TK_KERNEL(sgd)
{
    if (a->param == NULL || a->grad == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    float *param = a->param;
    const float *grad = a->grad;
    float *velocity = a->velocity;
    const float lr = (float)a->lr, momentum = (float)a->momentum, decay = (float)a->weight_decay;
    if (velocity == NULL) {
        TK_INDEPENDENT
        for (uint64_t i = r.begin; i < r.end; i++) {
            param[i] -= lr * (grad[i] + decay * param[i]);
        }
        return;
    }
    TK_INDEPENDENT
    for (uint64_t i = r.begin; i < r.end; i++) {
        float step = momentum * velocity[i] + (grad[i] + decay * param[i]);
        velocity[i] = step;
        param[i] -= lr * step;
    }
}
