/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that read or change a tensor at positions given by index tensors. */
#ifndef SOFTNPU_ACLNN_INDEX_ARGS_H
#define SOFTNPU_ACLNN_INDEX_ARGS_H

#include "softnpu/aclnn/kernels/resize_args.h"
#include "softnpu/aclnn/kernels/sample_args.h"

#define OP_KERNELS_GATHER(X)                                                                                           \
    X(GatherV2, op_index_args)                                                                                         \
    X(GatherElements, op_index_args)                                                                                   \
    X(GatherNd, op_index_args)                                                                                         \
    X(Index, op_index_args)

#define OP_KERNELS_SCATTER(X)                                                                                          \
    X(ScatterElementsV2, op_index_args)                                                                                \
    X(ScatterNdUpdate, op_index_args)                                                                                  \
    X(ScatterUpdate, op_index_args)                                                                                    \
    X(InplaceIndexAdd, op_index_args)                                                                                  \
    X(IndexPutV2, op_index_args)                                                                                       \
    X(IndexFill, op_index_args)                                                                                        \
    X(EmbeddingDenseGrad, op_index_args)

#define OP_KERNELS_SELECT(X)                                                                                           \
    X(NonZero, op_select_args)                                                                                         \
    X(MaskedSelectV3, op_select_args)                                                                                  \
    X(MaskedScatter, op_select_args)                                                                                   \
    X(RepeatIndex, op_repeat_args)                                                                                     \
    X(MoeTokenPermute, op_expert_args)

#define OP_KERNELS_INDEX(X)                                                                                            \
    OP_KERNELS_GATHER(X)                                                                                               \
    OP_KERNELS_SCATTER(X)                                                                                              \
    OP_KERNELS_SELECT(X)                                                                                               \
    OP_KERNELS_RESIZE(X)                                                                                               \
    OP_KERNELS_SAMPLE(X)

enum { OP_INDICES = 8 };

/* What happens to an element of the target that is selected. */
enum op_index_mode { OP_INDEX_SET, OP_INDEX_ADD, OP_INDEX_MUL, OP_INDEX_MAX, OP_INDEX_MIN, OP_INDEX_MODES };

/* A position of the loops selects the element of the target at the sum of target_side's steps and of
 * index[k] * stride[k]. Negative indices count from limit[k]; an index out of range selects nothing: gather gives 0 there.
 * Scatter: the positions of `loop` are independent of each other; for each of them, the positions of `serial` are applied
 * in order. Gather does not use `serial`. */
struct op_index_args {
    void *target;
    void *other; /* NULL for scatter: the constant */
    const void *index[OP_INDICES];
    struct op_loop loop, serial;
    struct op_side target_side, other_side, index_side[OP_INDICES];
    struct op_side other_serial, index_serial[OP_INDICES];
    uint64_t count; /* of indices */
    int64_t limit[OP_INDICES], stride[OP_INDICES];
    uint64_t mode;
    struct op_number constant, alpha; /* alpha multiplies what is added */
    int64_t skip;                     /* this value of the first index selects nothing; INT64_MIN: none */
};

/* One block. NonZero: z has the positions, one dimension after the other if `by_dimension`. MaskedSelect: z has the
 * elements of x where the mask is not 0. MaskedScatter: those elements of z come from x, in order. `shape` gets the
 * shape of the result. */
struct op_select_args {
    const void *mask;
    const void *x;
    void *z;
    int64_t *shape;
    struct op_loop loop;
    struct op_side mask_side, x_side, z_side;
    uint64_t rank, dims[OP_DIMS]; /* of the mask before merging */
    uint64_t by_dimension, room;
};

/* One block. z = index of every element, as often as `repeats` has it, `room` values at most. */
struct op_repeat_args {
    const void *repeats;
    int64_t *z;
    int64_t *shape; /* the number of values; may be NULL */
    int64_t type, step;
    uint64_t count, room;
};

/* One block. order sorts the keys, rank is its inverse, source = order / top_k. */
struct op_expert_args {
    const int64_t *keys;
    int64_t *order;
    int64_t *rank;
    int64_t *source;
    uint64_t count, top_k;
};

#endif
