/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of an operator's first phase (libopapi.so).
 *
 * scripts/aclnn-table generates both exported functions of every operator from src/abi/aclnn_operators.txt. The first
 * phase packs its arguments and calls the operator's row, which one of the files in operators/ defines:
 *
 *     static aclnnStatus plan_flip(struct nn_plan *p)
 *     {
 *         struct nn_view x, z;
 *         NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));     parameter 0 of the table's signature
 *         NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
 *         ... checks, then nn_launch or nn_call for every kernel ...
 *     }
 *     NN_OPERATOR(Flip, plan_flip, .types = NN_MOVABLE)
 *
 * A plan that fails leaves the outputs of the call untouched. Names of parameters in messages come from the table. */
#ifndef SOFTNPU_ACLNN_OP_H
#define SOFTNPU_ACLNN_OP_H

#include "softnpu/aclnn/kernels/op_args.h"
#include "softnpu/aclnn/nn.h"
#include "softnpu/runtime/error.h"

/* Sets of types, one bit per aclDataType below 32. */
typedef uint32_t nn_types;

/* ---- operators ---- */

enum nn_param_kind {
    NN_P_TENSOR,
    NN_P_TENSOR_LIST,
    NN_P_SCALAR,
    NN_P_SCALAR_LIST,
    NN_P_INTS,
    NN_P_FLOATS,
    NN_P_BOOLS,
    NN_P_TEXT,
    NN_P_REAL,
    NN_P_WHOLE
};

struct nn_param {
    const char *name;
    enum nn_param_kind kind;
};

union nn_arg {
    const void *object;
    double real;
    int64_t whole;
};

struct nn_plan;

/* One row per operator. Only `plan` is required; the engines give the other fields their meaning. */
struct nn_operator {
    aclnnStatus (*plan)(struct nn_plan *p);
    const char *kernel; /* of the operator's main launch, as profilers show it */
    const char *roles;  /* what each parameter is, one character each (operators/map.h) */
    nn_types types;     /* of inputs */
    nn_types out_types; /* 0: the same */
    uint32_t code;      /* which of an engine's functions */
    uint32_t flags;
    double number; /* a constant of the operator */
};

#define NN_OPERATOR(name, plan_function, ...)                                                                          \
    extern const struct nn_operator nn_operator_##name;                                                                \
    const struct nn_operator nn_operator_##name = {.plan = plan_function, __VA_ARGS__};

/* All operators with a row, ended by a row without a name. */
struct nn_operator_row {
    const char *name;
    const struct nn_operator *op;
};
extern MS_EXPORT const struct nn_operator_row snpu_nn_operators[];

struct nn_plan {
    const char *name; /* "aclnnAdd" */
    const struct nn_operator *op;
    const struct nn_param *params;
    const union nn_arg *args;
    uint32_t count; /* of params and args */
    aclOpExecutor *executor;
    uint64_t workspace_b;
};

aclnnStatus nn_first_phase(const char *name, const struct nn_operator *op, const struct nn_param *params,
                           const union nn_arg *args, uint32_t count, uint64_t *workspaceSize, aclOpExecutor **executor);
/* The answer of an operator without a row. */
aclnnStatus nn_missing(const char *name);

/* Returns the status from a plan function unless it is success. */
#define NN_CHECK(expression)                                                                                           \
    do {                                                                                                               \
        const aclnnStatus status_ = (expression);                                                                      \
        if (status_ != ACLNN_SUCCESS) {                                                                                \
            return status_;                                                                                            \
        }                                                                                                              \
    } while (0)

/* Fails with ACLNN_ERR_PARAM_INVALID and a message that begins with the operator's name. */
#define NN_INVALID(plan, ...) nn_invalid(plan, __VA_ARGS__)
aclnnStatus nn_invalid(const struct nn_plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- types ---- */

#define NN_TYPE(type)  (1u << (type))
#define NN_FLOATS16_32 (NN_TYPE(ACL_FLOAT) | NN_TYPE(ACL_FLOAT16) | NN_TYPE(ACL_BF16))
#define NN_REALS       (NN_FLOATS16_32 | NN_TYPE(ACL_DOUBLE))
#define NN_INTEGERS                                                                                                    \
    (NN_TYPE(ACL_INT8) | NN_TYPE(ACL_INT16) | NN_TYPE(ACL_INT32) | NN_TYPE(ACL_INT64) | NN_TYPE(ACL_UINT8))
#define NN_ARITHMETIC (NN_REALS | NN_INTEGERS | NN_TYPE(ACL_BOOL))
#define NN_MOVABLE    (NN_ARITHMETIC | NN_TYPE(ACL_UINT16) | NN_TYPE(ACL_UINT32) | NN_TYPE(ACL_UINT64))
#define NN_INDEX      (NN_TYPE(ACL_INT32) | NN_TYPE(ACL_INT64))
#define NN_MASK       (NN_TYPE(ACL_BOOL) | NN_TYPE(ACL_UINT8) | NN_TYPE(ACL_INT8))

bool nn_is_real(aclDataType type);
const char *nn_type_name(aclDataType type);

/* The common type of two types: the wider one of a category, the higher category (bool < integer < real). */
aclDataType nn_promote(aclDataType a, aclDataType b);
/* The same for a tensor and a scalar: the scalar counts only if its category is higher. */
aclDataType nn_promote_scalar(aclDataType tensor, aclDataType scalar);

/* Whether a result may be stored as another type. Not allowed: real as integer, and other types as bool. */
bool nn_can_cast(aclDataType from, aclDataType to);

/* ---- parameters, by their index in the table's signature ---- */

/* A tensor as an operator uses it; may also describe a part of the workspace. */
struct nn_view {
    aclDataType type;
    aclFormat format;
    uint64_t rank;
    uint64_t dims[NN_DIMS];
    int64_t steps[NN_DIMS];
    uint64_t count; /* elements */
    struct nn_address address;
};

/* Checks that a tensor exists, has at most NN_DIMS dimensions and one of the types, and adds it to the executor. */
aclnnStatus nn_tensor(struct nn_plan *p, uint32_t param, nn_types types, struct nn_view *view);
/* The same for an argument that may be NULL; then nn_is_there(view) is false. */
aclnnStatus nn_tensor_optional(struct nn_plan *p, uint32_t param, nn_types types, struct nn_view *view);
bool nn_is_there(const struct nn_view *view);

bool nn_given(const struct nn_plan *p, uint32_t param); /* an object that is not NULL */
int64_t nn_whole(const struct nn_plan *p, uint32_t param);
double nn_real(const struct nn_plan *p, uint32_t param);
const char *nn_text(const struct nn_plan *p, uint32_t param); /* "" for NULL */

/* The value of a scalar in both forms. */
aclnnStatus nn_scalar(struct nn_plan *p, uint32_t param, nn_types types, struct op_number *number, aclDataType *type);

/* The members of an array; NULL for an argument that is NULL fails. */
aclnnStatus nn_ints(struct nn_plan *p, uint32_t param, const int64_t **values, uint64_t *count);
aclnnStatus nn_bools(struct nn_plan *p, uint32_t param, const bool **values, uint64_t *count);
aclnnStatus nn_floats(struct nn_plan *p, uint32_t param, const float **values, uint64_t *count);

/* Lists: their length, and member `at` checked like nn_tensor and nn_scalar. */
aclnnStatus nn_list(struct nn_plan *p, uint32_t param, uint64_t *count);
aclnnStatus nn_list_tensor(struct nn_plan *p, uint32_t param, uint64_t at, nn_types types, struct nn_view *view);
aclnnStatus nn_list_scalar(struct nn_plan *p, uint32_t param, uint64_t at, nn_types types, struct op_number *number,
                           aclDataType *type);

/* A dimension of a tensor with `rank` dimensions, negative ones counted from the end; a scalar accepts 0 and -1. */
aclnnStatus nn_axis(struct nn_plan *p, int64_t dim, uint64_t rank, uint64_t *axis);

/* ---- shapes ---- */

bool nn_same_shape(const struct nn_view *a, const struct nn_view *b);
bool nn_is_dense(const struct nn_view *view);
/* Fails unless the view has this shape; `what` names the view in the message. */
aclnnStatus nn_expect_shape(struct nn_plan *p, const char *what, const struct nn_view *view, uint64_t rank,
                            const uint64_t *dims);
/* "[2, 3]", in one of four buffers of the thread. */
const char *nn_shape_text(uint64_t rank, const uint64_t *dims);

/* Broadcasts a view to a shape by steps of 0; false if the shapes are incompatible. */
bool nn_broadcast(const struct nn_view *view, uint64_t rank, const uint64_t *dims, struct nn_view *out);
/* The common shape of two views; false if there is none. */
bool nn_common_shape(const struct nn_view *a, const struct nn_view *b, uint64_t *rank, uint64_t *dims);

/* A dense tensor of that shape in the workspace. */
aclnnStatus nn_workspace(struct nn_plan *p, aclDataType type, uint64_t rank, const uint64_t *dims,
                         struct nn_view *view);
/* The view itself if it is dense and of this type; otherwise a part of the workspace, filled from an input by a launch. */
aclnnStatus nn_dense_input(struct nn_plan *p, aclDataType type, const struct nn_view *view, struct nn_view *dense);
/* The same for an output: after its launches, nn_dense_output_done copies the workspace to the view. */
aclnnStatus nn_dense_output(struct nn_plan *p, aclDataType type, const struct nn_view *view, struct nn_view *dense);
aclnnStatus nn_dense_output_done(struct nn_plan *p, const struct nn_view *dense, const struct nn_view *view);

/* For an output whose shape depends on data, and which has room for the largest shape: the second phase waits for the
 * stream and gives the tensor the shape that the launches have written to `dims`, a vector of INT64 in the workspace
 * with one element per dimension of the result. */
aclnnStatus nn_shape_from_device(struct nn_plan *p, const struct nn_view *view, const struct nn_view *dims);

/* ---- launches ---- */

enum { NN_MAX_BLOCKS = 24 }; /* of one launch: cores of the device */

/* Describes the common index space of views of one shape: dimensions of size 1 dropped, neighbours merged where every
 * view allows it. sides[i] belongs to views[i]. */
void nn_tile(struct op_loop *loop, struct op_side *const *sides, const struct nn_view *const *views, uint32_t count);

/* Queues a launch of `kernel`. args begins with `pointers` addresses, which come from the list. work, the number
 * of elements accessed or an equivalent, determines the number of blocks. */
aclnnStatus nn_launch(struct nn_plan *p, const char *kernel, const void *args, size_t args_b,
                      const struct nn_address *const *addresses, uint32_t pointers, uint64_t work);

/* Queues a launch of a kernel that takes a struct op_call: the views as operands, whole numbers and reals.
 * A view without address (optional argument) becomes an operand without data. */
aclnnStatus nn_call(struct nn_plan *p, const char *kernel, const struct nn_view *const *views, uint32_t view_count,
                    const int64_t *whole, uint32_t whole_count, const double *real, uint32_t real_count, uint64_t work);

/* to = from, converted and rearranged as needed; from is broadcast already. */
aclnnStatus nn_move(struct nn_plan *p, const struct nn_view *from, const struct nn_view *to);
/* The same under the name of another copying kernel. */
aclnnStatus nn_move_as(struct nn_plan *p, const char *kernel, const struct nn_view *from, const struct nn_view *to);
/* Sets every element. */
aclnnStatus nn_fill(struct nn_plan *p, const char *kernel, const struct nn_view *to, const struct op_number *value,
                    aclDataType value_type);

#endif
