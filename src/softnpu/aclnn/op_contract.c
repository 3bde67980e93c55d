/* SPDX-License-Identifier: Apache-2.0 */
/* aclnnReduceSum, aclnnMatmul, aclnnMm, aclnnBatchMatMul: sums over dimensions. */
#include "softnpu/aclnn/op.h"

#include "aclnnop/aclnn_batch_matmul.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "softnpu/kernels/convert.h"

#include <string.h>

/* ---- sums ---- */

/* Marks the dimensions to sum over; all of them if the list is empty. */
static aclnnStatus mark_dims(struct nn_plan *p, const aclIntArray *dims, uint64_t rank, bool *summed)
{
    if (dims == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: dims is NULL", p->op);
    }
    const struct nn_array *array = snpu_nn_array(dims, NN_INTS);
    if (array == NULL) {
        return NN_INVALID(p, "dims: array %p does not exist", (const void *)dims);
    }
    for (uint64_t i = 0; i < rank; i++) {
        summed[i] = array->count == 0;
    }
    const int64_t limit = rank > 0 ? (int64_t)rank : 1; /* a scalar accepts dimensions 0 and -1 */
    for (uint64_t i = 0; i < array->count; i++) {
        int64_t dim = ((const int64_t *)array->data)[i];
        if (dim < -limit || dim >= limit) {
            return NN_INVALID(p, "dims: %lld is not a dimension of a tensor of %llu dimensions", (long long)dim,
                              (unsigned long long)rank);
        }
        dim += dim < 0 ? limit : 0;
        if (summed[dim]) {
            return NN_INVALID(p, "dims: dimension %lld appears twice", (long long)dim);
        }
        summed[dim] = true;
    }
    return ACLNN_SUCCESS;
}

/* Splits a view into kept dimensions and summed dimensions. */
static void split(const struct nn_view *x, const bool *summed, struct nn_view *kept, struct nn_view *inner)
{
    *kept = *inner = (struct nn_view){.type = x->type, .count = 1};
    for (uint64_t i = 0; i < x->rank; i++) {
        struct nn_view *part = summed[i] ? inner : kept;
        part->dims[part->rank] = x->dims[i];
        part->steps[part->rank++] = x->steps[i];
        part->count *= x->dims[i];
    }
}

aclnnStatus aclnnReduceSumGetWorkspaceSize(const aclTensor *self, const aclIntArray *dims, bool keepDims,
                                           aclDataType dtype, aclTensor *out, uint64_t *workspaceSize,
                                           aclOpExecutor **executor)
{
    struct nn_plan p;
    struct nn_view x, z, kept, inner;
    bool summed[NN_DIMS] = {false};
    NN_TRY(&p, nn_begin(&p, "aclnnReduceSum", workspaceSize, executor));
    NN_TRY(&p, nn_view(&p, "self", self, NN_ARITHMETIC, &x));
    NN_TRY(&p, nn_view(&p, "out", out, NN_ARITHMETIC, &z));
    NN_TRY(&p, mark_dims(&p, dims, x.rank, summed));
    if (dtype != z.type) {
        NN_TRY(&p, NN_INVALID(&p, "dtype is %s, out is %s", nn_type_name(dtype), nn_type_name(z.type)));
    }
    split(&x, summed, &kept, &inner);

    /* The shape of the result, with or without the summed dimensions as 1. */
    struct nn_view shape = {0};
    for (uint64_t i = 0; i < x.rank; i++) {
        if (!summed[i] || keepDims) {
            shape.dims[shape.rank++] = summed[i] ? 1 : x.dims[i];
        }
    }
    if (!nn_same_shape(&shape, &z)) {
        NN_TRY(&p, NN_INVALID(&p, "%s does not have the shape of the sum", "out"));
    }
    /* From here on `out` has only the kept dimensions. */
    for (uint64_t i = 0, to = 0; i < x.rank; i++) {
        if (!summed[i]) {
            z.steps[to] = z.steps[keepDims ? i : to];
            to++;
        }
    }
    z.rank = kept.rank;
    memcpy(z.dims, kept.dims, sizeof z.dims);
    if (z.count > 0) {
        struct op_reduce_args args = {.kind = nn_is_real(x.type) || nn_is_real(z.type) ? TK_KIND_REAL : TK_KIND_SIGNED};
        nn_tile(&args.loop, (struct op_side *[]){&args.x_side, &args.z_side}, (const struct nn_view *[]){&kept, &z}, 2);
        nn_tile(&args.inner, (struct op_side *[]){&args.x_inner}, (const struct nn_view *[]){&inner}, 1);
        NN_TRY(&p, nn_launch(&p, "ReduceSum", NN_NODE("aclnnReduceSum", "ReduceSum"), &args, sizeof args,
                             (const struct nn_address *[]){&x.address, &z.address}, 2, x.count));
    }
    return nn_finish(&p, workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnReduceSum)

/* ---- products ---- */

struct product {
    const char *op;
    const char *node_one, *node_many;
    const struct nn_move_nodes *nodes;
    uint64_t least, most; /* dimensions */
    const aclTensor *self, *mat2, *out;
    int8_t math;
};

/* Values of cubeMathType: keep, lower float32, float16, HF32, exact sums. All of them compute in float32 here. */
static aclnnStatus check_math(struct nn_plan *p, int8_t math, aclDataType type)
{
    enum { USE_FP16 = 2, USE_HF32 = 3, LAST = 4 };
    if (math < 0 || math > LAST || (math == USE_FP16 && type == ACL_BF16) || (math == USE_HF32 && type != ACL_FLOAT)) {
        return NN_INVALID(p, "cubeMathType %d is not supported for %s", math, nn_type_name(type));
    }
    return ACLNN_SUCCESS;
}

/* A vector is a matrix of one row (left) or one column (right); the dimension is added at `at` of the last two. */
static void make_matrix(struct nn_view *view, bool is_left)
{
    if (view->rank == 1) {
        if (is_left) {
            view->dims[1] = view->dims[0];
            view->steps[1] = view->steps[0];
            view->dims[0] = 1;
            view->steps[0] = 0;
        } else {
            view->dims[1] = 1;
            view->steps[1] = 0;
        }
        view->rank = 2;
    }
}

/* The leading dimensions of a view. */
static struct nn_view batch_of(const struct nn_view *view)
{
    struct nn_view batch = *view;
    batch.rank -= 2;
    return batch;
}

static aclnnStatus check_product(struct nn_plan *p, const struct product *call, struct nn_view *x, struct nn_view *y,
                                 struct nn_view *z)
{
    NN_CHECK(nn_view(p, "self", call->self, NN_FLOATS16_32, x));
    NN_CHECK(nn_view(p, "mat2", call->mat2, NN_FLOATS16_32, y));
    NN_CHECK(nn_view(p, "out", call->out, NN_FLOATS16_32, z));
    if (x->rank < call->least || x->rank > call->most || y->rank < call->least || y->rank > call->most) {
        return NN_INVALID(p, "operands of %llu and %llu dimensions, %llu to %llu are supported",
                          (unsigned long long)x->rank, (unsigned long long)y->rank, (unsigned long long)call->least,
                          (unsigned long long)call->most);
    }
    if (x->type != y->type && (x->type == ACL_BF16 || y->type == ACL_BF16)) {
        return NN_INVALID(p, "operands of type %s and %s cannot be multiplied", nn_type_name(x->type),
                          nn_type_name(y->type));
    }
    return check_math(p, call->math, nn_promote(x->type, y->type));
}

static aclnnStatus plan_product(const struct product *call, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    struct nn_plan p;
    struct nn_view x, y, z;
    NN_TRY(&p, nn_begin(&p, call->op, workspaceSize, executor));
    NN_TRY(&p, check_product(&p, call, &x, &y, &z));

    const bool row_vector = x.rank == 1, column_vector = y.rank == 1;
    make_matrix(&x, true);
    make_matrix(&y, false);
    struct op_matmul_args args = {.m = x.dims[x.rank - 2], .k = x.dims[x.rank - 1], .n = y.dims[y.rank - 1]};
    if (y.dims[y.rank - 2] != args.k) {
        NN_TRY(&p, NN_INVALID(&p, "self has %llu columns, mat2 %llu rows", (unsigned long long)args.k,
                              (unsigned long long)y.dims[y.rank - 2]));
    }
    struct nn_view x_batch = batch_of(&x), y_batch = batch_of(&y), shape = {0};
    if (!nn_common_shape(&x_batch, &y_batch, &shape.rank, shape.dims)) {
        NN_TRY(&p, NN_INVALID(&p, "the batch dimensions of %s do not broadcast", "self and mat2"));
    }
    const uint64_t batch_rank = shape.rank;
    if (!row_vector) {
        shape.dims[shape.rank++] = args.m;
    }
    if (!column_vector) {
        shape.dims[shape.rank++] = args.n;
    }
    if (!nn_same_shape(&shape, &z)) {
        NN_TRY(&p, NN_INVALID(&p, "%s does not have the shape of the product", "out"));
    }
    if (z.count == 0) {
        return nn_finish(&p, workspaceSize, executor);
    }

    /* The kernel writes float32; other output types are converted afterwards. */
    struct nn_view c = z;
    if (z.type != ACL_FLOAT) {
        NN_TRY(&p, nn_workspace(&p, ACL_FLOAT, z.rank, z.dims, &c));
    }
    struct nn_view c_batch = c;
    c_batch.rank = batch_rank;
    nn_broadcast(&x_batch, batch_rank, c.dims, &x_batch);
    nn_broadcast(&y_batch, batch_rank, c.dims, &y_batch);
    nn_tile(&args.batch, (struct op_side *[]){&args.a_side, &args.b_side, &args.c_side},
            (const struct nn_view *[]){&x_batch, &y_batch, &c_batch}, 3);
    args.a_row = x.steps[x.rank - 2];
    args.a_col = x.steps[x.rank - 1];
    args.b_row = y.steps[y.rank - 2];
    args.b_col = y.steps[y.rank - 1];
    args.c_row = row_vector ? 0 : c.steps[batch_rank];
    args.c_col = column_vector ? 0 : c.steps[c.rank - 1];
    const bool one = args.batch.rank == 1 && args.batch.dims[0] == 1;
    NN_TRY(&p, nn_launch(&p, one ? "MatMulV2" : "BatchMatMulV2", one ? call->node_one : call->node_many, &args,
                         sizeof args, (const struct nn_address *[]){&x.address, &y.address, &c.address}, 3,
                         z.count * (args.k / 16 + 1)));
    if (z.type != ACL_FLOAT) {
        NN_TRY(&p, nn_move(&p, call->nodes, &c, &z));
    }
    return nn_finish(&p, workspaceSize, executor);
}

#define PRODUCT(name, least_dims, most_dims)                                                                           \
    aclnnStatus name##GetWorkspaceSize(const aclTensor *self, const aclTensor *mat2, aclTensor *out,                   \
                                       int8_t cubeMathType, uint64_t *workspaceSize, aclOpExecutor **executor)         \
    {                                                                                                                  \
        return plan_product(&(struct product){#name, NN_NODE(#name, "MatMulV2"), NN_NODE(#name, "BatchMatMulV2"),      \
                                              NN_MOVE_NODES(#name), least_dims, most_dims, self, mat2, out,            \
                                              cubeMathType},                                                           \
                            workspaceSize, executor);                                                                  \
    }                                                                                                                  \
    NN_SECOND_PHASE(name)
PRODUCT(aclnnMatmul, 1, 6)
PRODUCT(aclnnMm, 2, 2)
PRODUCT(aclnnBatchMatMul, 3, 3)
