/* SPDX-License-Identifier: Apache-2.0 */
/* What losses share. */
#ifndef SOFTNPU_ACLNN_OPERATORS_LOSS_H
#define SOFTNPU_ACLNN_OPERATORS_LOSS_H

#include "softnpu/aclnn/op.h"

/* Values of the parameter `reduction`. */
enum { NN_LOSS_NONE, NN_LOSS_MEAN, NN_LOSS_SUM };
aclnnStatus nn_loss_reduction(struct nn_plan *p, uint32_t param, int64_t *reduction);

/* Fails unless the view has one element. */
aclnnStatus nn_loss_one(struct nn_plan *p, const char *what, const struct nn_view *view);

/* The negative log-likelihood of the classes that `target` names. x: with its classes along dimension `axis`. */
struct nn_likelihood {
    const struct nn_view *x, *target, *weight;
    uint64_t axis;
    int64_t ignored, reduction;
};
aclnnStatus nn_likelihood(struct nn_plan *p, const struct nn_likelihood *l, const struct nn_view *out,
                          const struct nn_view *total_weight);
aclnnStatus nn_likelihood_grad(struct nn_plan *p, const struct nn_likelihood *l, const struct nn_view *grad,
                               const struct nn_view *total_weight);

#endif
