/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of an operator's first phase (libopapi.so): checked views of tensors, type rules, and the plan that
 * becomes the executor.
 *
 *     struct nn_plan p;
 *     NN_TRY(&p, nn_begin(&p, "aclnnAdd", workspaceSize, executor));
 *     NN_TRY(&p, nn_view(&p, "self", self, NN_ARITHMETIC, &x));
 *     ... more checks, then nn_launch for every kernel ...
 *     return nn_finish(&p, workspaceSize, executor);
 *
 * Only nn_finish writes the outputs of the call: a first phase that fails leaves them untouched. */
#ifndef SOFTNPU_ACLNN_OP_H
#define SOFTNPU_ACLNN_OP_H

#include "softnpu/aclnn/kernels/op_args.h"
#include "softnpu/aclnn/nn.h"
#include "softnpu/runtime/error.h"

struct nn_plan {
    const char *op;
    aclOpExecutor *executor;
    uint64_t workspace_b;
};

/* Returns from the first phase with the status unless it is success, and releases the executor. */
#define NN_TRY(plan, expression)                                                                                       \
    do {                                                                                                               \
        const aclnnStatus status_ = (expression);                                                                      \
        if (status_ != ACLNN_SUCCESS) {                                                                                \
            nn_abandon(plan);                                                                                          \
            return status_;                                                                                            \
        }                                                                                                              \
    } while (0)

/* The same in a helper of a first phase; the caller releases the executor. */
#define NN_CHECK(expression)                                                                                           \
    do {                                                                                                               \
        const aclnnStatus status_ = (expression);                                                                      \
        if (status_ != ACLNN_SUCCESS) {                                                                                \
            return status_;                                                                                            \
        }                                                                                                              \
    } while (0)

/* Fails with ACLNN_ERR_PARAM_INVALID and a message that begins with the operator's name. */
#define NN_INVALID(plan, format, ...) snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: " format, (plan)->op, __VA_ARGS__)

aclnnStatus nn_begin(struct nn_plan *plan, const char *op, uint64_t *workspaceSize, aclOpExecutor **executor);
void nn_abandon(struct nn_plan *plan);
aclnnStatus nn_finish(struct nn_plan *plan, uint64_t *workspaceSize, aclOpExecutor **executor);

/* ---- types ---- */

/* Sets of types, one bit per aclDataType below 32. */
typedef uint32_t nn_types;
#define NN_TYPE(type)  (1u << (type))
#define NN_FLOATS16_32 (NN_TYPE(ACL_FLOAT) | NN_TYPE(ACL_FLOAT16) | NN_TYPE(ACL_BF16))
#define NN_REALS       (NN_FLOATS16_32 | NN_TYPE(ACL_DOUBLE))
#define NN_ARITHMETIC                                                                                                  \
    (NN_REALS | NN_TYPE(ACL_INT8) | NN_TYPE(ACL_INT16) | NN_TYPE(ACL_INT32) | NN_TYPE(ACL_INT64) |                     \
     NN_TYPE(ACL_UINT8) | NN_TYPE(ACL_BOOL))
#define NN_MOVABLE (NN_ARITHMETIC | NN_TYPE(ACL_UINT16) | NN_TYPE(ACL_UINT32) | NN_TYPE(ACL_UINT64))

bool nn_is_real(aclDataType type);
const char *nn_type_name(aclDataType type);

/* The common type of two types: the wider one of a category, the higher category (bool < integer < real). */
aclDataType nn_promote(aclDataType a, aclDataType b);

/* Whether a result may be stored as another type. Not allowed: real as integer, and other types as bool. */
bool nn_can_cast(aclDataType from, aclDataType to);

/* ---- tensors ---- */

/* A tensor as an operator uses it; may also describe a part of the workspace. */
struct nn_view {
    aclDataType type;
    uint64_t rank;
    uint64_t dims[NN_DIMS];
    int64_t steps[NN_DIMS];
    uint64_t count; /* elements */
    struct nn_address address;
};

/* Checks that a tensor exists, has at most NN_DIMS dimensions and one of the types, and adds it to the arguments. */
aclnnStatus nn_view(struct nn_plan *plan, const char *name, const aclTensor *tensor, nn_types types,
                    struct nn_view *view);
/* The same for an argument that may be NULL; then view->address.from is NN_NOWHERE. */
aclnnStatus nn_view_optional(struct nn_plan *plan, const char *name, const aclTensor *tensor, nn_types types,
                             struct nn_view *view);

aclnnStatus nn_scalar(struct nn_plan *plan, const char *name, const aclScalar *scalar, nn_types types,
                      struct op_number *number, aclDataType *type);

bool nn_same_shape(const struct nn_view *a, const struct nn_view *b);
bool nn_is_dense(const struct nn_view *view);

/* Broadcasts a view to a shape by steps of 0; false if the shapes are incompatible. */
bool nn_broadcast(const struct nn_view *view, uint64_t rank, const uint64_t *dims, struct nn_view *out);
/* The common shape of two views; false if there is none. */
bool nn_common_shape(const struct nn_view *a, const struct nn_view *b, uint64_t *rank, uint64_t *dims);

/* A dense tensor of that shape in the workspace. */
aclnnStatus nn_workspace(struct nn_plan *plan, aclDataType type, uint64_t rank, const uint64_t *dims,
                         struct nn_view *view);

/* ---- launches ---- */

/* Describes the common index space of views of one shape: dimensions of size 1 dropped, neighbours merged where every
 * view allows it. sides[i] belongs to views[i]. */
void nn_tile(struct op_loop *loop, struct op_side *const *sides, const struct nn_view *const *views, uint32_t count);

/* Queues a launch of `kernel`. args begins with `pointers` addresses, which come from the list. work, the number
 * of elements accessed or an equivalent, determines the number of blocks. */
aclnnStatus nn_launch(struct nn_plan *plan, const char *kernel, const char *node, const void *args, size_t args_b,
                      const struct nn_address *const *addresses, uint32_t pointers, uint64_t work);

/* to = from, converted and rearranged as needed: Cast, TensorMove or ViewCopy. `nodes` are the profiler's names for
 * these three kernels in this operator. */
struct nn_move_nodes {
    const char *cast, *move, *view_copy;
};
aclnnStatus nn_move(struct nn_plan *plan, const struct nn_move_nodes *nodes, const struct nn_view *from,
                    const struct nn_view *to);

/* Name of a node as profilers show it: operator, kernel, where it runs. */
#define NN_NODE(op, kernel) op "_" kernel "AiCore_" kernel
#define NN_MOVE_NODES(op)                                                                                              \
    &(const struct nn_move_nodes)                                                                                      \
    {                                                                                                                  \
        NN_NODE(op, "Cast"), NN_NODE(op, "TensorMove"), NN_NODE(op, "ViewCopy")                                        \
    }

/* The second phase, the same for every operator. */
#define NN_SECOND_PHASE(op)                                                                                            \
    aclnnStatus op(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)               \
    {                                                                                                                  \
        return snpu_nn_execute(#op, workspace, workspaceSize, executor, stream);                                       \
    }

#endif
