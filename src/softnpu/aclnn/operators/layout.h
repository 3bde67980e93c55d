/* SPDX-License-Identifier: Apache-2.0 */
/* Views of views: parts, reversed and diagonal elements. The caller has checked that the elements exist. */
#ifndef SOFTNPU_ACLNN_OPERATORS_LAYOUT_H
#define SOFTNPU_ACLNN_OPERATORS_LAYOUT_H

#include "softnpu/aclnn/op.h"

/* `length` elements of a dimension, from `start` on, `step` apart (may be negative). */
struct nn_view nn_part(const struct nn_view *view, uint64_t axis, uint64_t start, int64_t step, uint64_t length);
/* Without a dimension, at index `at` of it. */
struct nn_view nn_pick(const struct nn_view *view, uint64_t axis, uint64_t at);
/* The elements of the last two dimensions with column - row == offset, as one dimension. */
struct nn_view nn_diagonal(const struct nn_view *view, int64_t offset);
/* A dense view as one dimension. */
struct nn_view nn_flat(const struct nn_view *view);
/* A dimension more, of size 1. */
struct nn_view nn_unsqueezed(const struct nn_view *view, uint64_t axis);

#endif
