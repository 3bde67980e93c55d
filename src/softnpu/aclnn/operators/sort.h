/* SPDX-License-Identifier: Apache-2.0 */
/* What operators along one dimension share. */
#ifndef SOFTNPU_ACLNN_OPERATORS_SORT_H
#define SOFTNPU_ACLNN_OPERATORS_SORT_H

#include "softnpu/aclnn/op.h"

/* The view with a dimension moved to the end; a scalar becomes a vector. */
struct nn_view nn_axis_last(const struct nn_view *view, uint64_t axis);

#endif
