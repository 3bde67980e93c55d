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

#endif
