/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the gradients. For every parameter tensor: a small step along its gradient must change the loss at the rate of
 * the gradient's length, which is true only if the computed gradient has the right length and direction. The loss is
 * measured on both sides of the point. */
#include "train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double loss_at(struct trainer *trainer, const struct tensor *ids, const struct tensor *targets,
                      struct parameter *param, const float *base, const float *grad, double step)
{
    float *moved = malloc(param->value->size_b);
    if (moved == NULL) {
        fail("no host memory for a copy of %s", param->name);
    }
    for (size_t i = 0; i < param->value->count; i++) {
        moved[i] = (float)(base[i] + step * grad[i]);
    }
    tensor_upload(&trainer->npu, param->value, moved);
    free(moved);
    struct tensor *loss = model_forward(trainer, ids, targets, NULL);
    float value;
    tensor_download(&trainer->npu, loss, &value);
    tensor_free(&trainer->npu, &loss);
    return value;
}

static double check_parameter(struct trainer *trainer, const struct tensor *ids, const struct tensor *targets,
                              struct parameter *param, double *length)
{
    size_t count = param->value->count;
    float *base = malloc(count * sizeof(*base)), *grad = malloc(count * sizeof(*grad));
    if (base == NULL || grad == NULL) {
        fail("no host memory for a copy of %s", param->name);
    }
    tensor_download(&trainer->npu, param->value, base);
    tensor_download(&trainer->npu, param->grad, grad);
    double square = 0;
    for (size_t i = 0; i < count; i++) {
        square += (double)grad[i] * grad[i];
    }
    *length = sqrt(square);
    double error = 0;
    if (*length > 1e-7) {
        /* The change of the loss should be well above float32 rounding and small enough to be linear. */
        double change = 2e-3, step = change / square;
        if (step * *length > 0.05) {
            step = 0.05 / *length;
        }
        double above = loss_at(trainer, ids, targets, param, base, grad, step);
        double below = loss_at(trainer, ids, targets, param, base, grad, -step);
        double measured = (above - below) / (2 * step * *length);
        error = fabs(measured - *length) / *length;
        tensor_upload(&trainer->npu, param->value, base);
    }
    free(base);
    free(grad);
    return error;
}

int check_gradients(struct trainer *trainer, const struct tensor *ids, const struct tensor *targets)
{
    static const double allowed = 0.02;
    struct gpt *gpt = &trainer->gpt;
    struct tensor *dlogits;
    struct tensor *loss = model_forward(trainer, ids, targets, &dlogits);
    tensor_free(&trainer->npu, &loss);
    model_backward(trainer, ids, dlogits);
    double worst = 0;
    for (size_t i = 0; i < gpt->count; i++) {
        struct parameter *param = &gpt->params[i];
        double length, error = check_parameter(trainer, ids, targets, param, &length);
        printf("gradient %-24s length %.6f, error %.3f %%\n", param->name, length, 100 * error);
        worst = error > worst ? error : worst;
    }
    for (size_t i = 0; i < gpt->count; i++) {
        tensor_free(&trainer->npu, &gpt->params[i].grad);
    }
    printf("gradients %s: largest error %.3f %% of the gradient's length (allowed %.0f %%)\n",
           worst <= allowed ? "right" : "wrong", 100 * worst, 100 * allowed);
    return worst <= allowed ? 0 : 1;
}
