/* SPDX-License-Identifier: Apache-2.0 */
/* gelu (tanh form), relu, and their gradients. Element-wise. */
#include "softnpu/kernels/fast_math.h"
#include "softnpu/kernels/kernel.h"

#define GELU_A 0.7978845608028654f /* sqrt(2 / pi) */
#define GELU_B 0.044715f

static inline float gelu_value(float v)
{
    float t = tk_tanh(GELU_A * (v + GELU_B * v * v * v));
    return 0.5f * v * (1.0f + t);
}

static inline float gelu_slope(float v)
{
    float square = v * v;
    float t = tk_tanh(GELU_A * (v + GELU_B * square * v));
    return 0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * (GELU_A * (1.0f + 3.0f * GELU_B * square));
}

/* y = value, with the input element in v. */
#define ACTIVATION(name, value)                                                                                        \
    TK_KERNEL(name)                                                                                                    \
    {                                                                                                                  \
        if (a->x == NULL || a->y == NULL) {                                                                            \
            return;                                                                                                    \
        }                                                                                                              \
        const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);                                     \
        const float *x = a->x;                                                                                         \
        float *y = a->y;                                                                                               \
        TK_INDEPENDENT                                                                                                 \
        for (uint64_t i = r.begin; i < r.end; i++) {                                                                   \
            float v = x[i];                                                                                            \
            y[i] = (value);                                                                                            \
        }                                                                                                              \
    }

/* dx = value, with the input element in v and the gradient of the output in d. */
#define ACTIVATION_GRAD(name, value)                                                                                   \
    TK_KERNEL(name)                                                                                                    \
    {                                                                                                                  \
        if (a->dy == NULL || a->x == NULL || a->dx == NULL) {                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);                                     \
        const float *x = a->x;                                                                                         \
        const float *dy = a->dy;                                                                                       \
        float *dx = a->dx;                                                                                             \
        TK_INDEPENDENT                                                                                                 \
        for (uint64_t i = r.begin; i < r.end; i++) {                                                                   \
            float v = x[i], d = dy[i];                                                                                 \
            dx[i] = (value);                                                                                           \
        }                                                                                                              \
    }

/* clang-format off */
ACTIVATION(gelu, gelu_value(v))
ACTIVATION_GRAD(gelu_grad, d * gelu_slope(v))
ACTIVATION(relu, v < 0.0f ? 0.0f : v) /* NaN passes */
ACTIVATION_GRAD(relu_grad, v > 0.0f ? d : 0.0f)
/* clang-format on */
