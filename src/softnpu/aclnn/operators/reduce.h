/* SPDX-License-Identifier: Apache-2.0 */
/* What operators that reduce dimensions share. */
#ifndef SOFTNPU_ACLNN_OPERATORS_REDUCE_H
#define SOFTNPU_ACLNN_OPERATORS_REDUCE_H

#include "softnpu/aclnn/op.h"

/* Marks the dimensions that the array `param` names in a tensor of `rank` dimensions; all of them if it is empty. */
aclnnStatus nn_reduced_dims(struct nn_plan *p, uint32_t param, uint64_t rank, bool *reduced);

/* Splits a view into kept dimensions and reduced dimensions. */
void nn_split(const struct nn_view *x, const bool *reduced, struct nn_view *kept, struct nn_view *inner);

/* Checks the shape of the output, with or without the reduced dimensions as 1, and leaves only the kept ones in it. */
aclnnStatus nn_reduced_out(struct nn_plan *p, const struct nn_view *x, const bool *reduced, bool keep,
                           struct nn_view *out);

/* One reduction for other plans. z, index and m have the kept dimensions of x only, as nn_reduced_out leaves them; m
 * and index may be NULL, z too if index is given. */
struct nn_reduce {
    enum op_reduce_code code;
    enum op_reduce_finish finish;
    const struct nn_view *x, *m, *z, *index;
    double p, s, t; /* of the term; of the finish */
};
aclnnStatus nn_reduce(struct nn_plan *p, const char *kernel, const struct nn_reduce *r, const bool *reduced);

/* The mean, and the norm of an order, over dimensions. */
aclnnStatus nn_mean(struct nn_plan *p, const struct nn_view *x, const struct nn_view *z, const bool *reduced);
aclnnStatus nn_norm(struct nn_plan *p, double order, const struct nn_view *x, const struct nn_view *z,
                    const bool *reduced);

#endif
