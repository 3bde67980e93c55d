/* SPDX-License-Identifier: Apache-2.0 */
/* The index engine: a call describes which elements of a target are read or changed, see struct op_index_args. */
#ifndef SOFTNPU_ACLNN_OPERATORS_INDEX_H
#define SOFTNPU_ACLNN_OPERATORS_INDEX_H

#include "softnpu/aclnn/op.h"

/* All views have the shape of the positions. The target does not advance (steps of 0) in indexed dimensions. */
struct nn_index_call {
    struct nn_view target, other; /* other without an address: the constant */
    uint32_t count;
    struct nn_view index[OP_INDICES];
    int64_t limit[OP_INDICES], stride[OP_INDICES];
    enum op_index_mode mode;
    struct op_number constant, alpha;
    int64_t skip;
};
#define NN_INDEX_CALL                                                                                                  \
    {                                                                                                                  \
        .alpha = {1, 1}, .skip = INT64_MIN                                                                             \
    }

aclnnStatus nn_gather(struct nn_plan *p, const char *kernel, const struct nn_index_call *call);
aclnnStatus nn_scatter(struct nn_plan *p, const char *kernel, const struct nn_index_call *call);

/* Positions of an index of any shape in place of dimension `axis` of the target: out[before, index, after]. */
aclnnStatus nn_index_rows(struct nn_plan *p, struct nn_index_call *call, const struct nn_view *target, uint64_t axis,
                          const struct nn_view *index);
/* Positions of an index with the rank of the target: out[i, j, k] = target[i, index[i, j, k], k]. */
aclnnStatus nn_index_elements(struct nn_plan *p, struct nn_index_call *call, const struct nn_view *target,
                              uint64_t axis, const struct nn_view *index);

/* Positions of an index whose last dimension has as many leading coordinates of the target. */
aclnnStatus nn_index_points(struct nn_plan *p, struct nn_index_call *call, const struct nn_view *target,
                            const struct nn_view *index);
/* Positions of a list of indices, one per leading dimension of the target, as PyTorch's target[i, j, ...]: the indices
 * broadcast; an empty vector stands for a dimension that is not indexed. */
aclnnStatus nn_index_list(struct nn_plan *p, struct nn_index_call *call, const struct nn_view *target, uint32_t param);

/* The view, or a copy of it in the workspace if it has another type. */
aclnnStatus nn_as_type(struct nn_plan *p, aclDataType type, const struct nn_view *view, struct nn_view *converted);
/* Where halves accumulate: a float copy in the workspace, written back by nn_accumulator_done. */
aclnnStatus nn_accumulator(struct nn_plan *p, enum op_index_mode mode, const struct nn_view *target,
                           struct nn_view *accumulator);
aclnnStatus nn_accumulator_done(struct nn_plan *p, const struct nn_view *accumulator, const struct nn_view *target);

#endif
