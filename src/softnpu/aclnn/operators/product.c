/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. All values of cubeMathType compute in float32 here; mixed types are promoted. */
#include "softnpu/aclnn/operators/product.h"

aclnnStatus nn_check_math(struct nn_plan *p, int64_t math, aclDataType type)
{
    enum { USE_FP16 = 2, USE_HF32 = 3, LAST = 4 }; /* 0 keep, 1 lower float32, 4 exact sums */
    if (math < 0 || math > LAST || (math == USE_FP16 && type == ACL_BF16) || (math == USE_HF32 && type != ACL_FLOAT)) {
        return NN_INVALID(p, "cubeMathType %lld is not supported for %s", (long long)math, nn_type_name(type));
    }
    return ACLNN_SUCCESS;
}

/* A vector is a matrix of one row (left) or one column (right). */
static struct nn_view make_matrix(const struct nn_view *vector, bool is_left)
{
    struct nn_view view = *vector;
    if (view.rank == 1) {
        if (is_left) {
            view.dims[1] = view.dims[0];
            view.steps[1] = view.steps[0];
            view.dims[0] = 1;
            view.steps[0] = 0;
        } else {
            view.dims[1] = 1;
            view.steps[1] = 0;
        }
        view.rank = 2;
    }
    return view;
}

/* The leading dimensions of a view. */
static struct nn_view batch_of(const struct nn_view *view)
{
    struct nn_view batch = *view;
    batch.rank -= 2;
    return batch;
}

aclnnStatus nn_product(struct nn_plan *p, const struct nn_view *left, const struct nn_view *right,
                       const struct nn_view *out)
{
    const bool row_vector = left->rank == 1, column_vector = right->rank == 1;
    if (left->rank == 0 || right->rank == 0) {
        return NN_INVALID(p, "the operands of a product have %llu and %llu dimensions, at least 1 is required",
                          (unsigned long long)left->rank, (unsigned long long)right->rank);
    }
    const struct nn_view x = make_matrix(left, true), y = make_matrix(right, false);
    struct op_matmul_args args = {.m = x.dims[x.rank - 2], .k = x.dims[x.rank - 1], .n = y.dims[y.rank - 1]};
    if (y.dims[y.rank - 2] != args.k) {
        return NN_INVALID(p, "the left operand has %llu columns, the right one %llu rows", (unsigned long long)args.k,
                          (unsigned long long)y.dims[y.rank - 2]);
    }
    struct nn_view x_batch = batch_of(&x), y_batch = batch_of(&y), shape = {0};
    if (!nn_common_shape(&x_batch, &y_batch, &shape.rank, shape.dims)) {
        return NN_INVALID(p, "the batch dimensions %s and %s do not broadcast",
                          nn_shape_text(x_batch.rank, x_batch.dims), nn_shape_text(y_batch.rank, y_batch.dims));
    }
    const uint64_t batch_rank = shape.rank;
    if (!row_vector) {
        shape.dims[shape.rank++] = args.m;
    }
    if (!column_vector) {
        shape.dims[shape.rank++] = args.n;
    }
    NN_CHECK(nn_expect_shape(p, "out", out, shape.rank, shape.dims));
    if (out->count == 0) {
        return ACLNN_SUCCESS;
    }

    /* The kernel writes float32; other output types are converted afterwards. */
    struct nn_view c = *out;
    if (out->type != ACL_FLOAT) {
        NN_CHECK(nn_workspace(p, ACL_FLOAT, out->rank, out->dims, &c));
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
    NN_CHECK(nn_launch(p, one ? "MatMulV2" : "BatchMatMulV2", &args, sizeof args,
                       (const struct nn_address *[]){&x.address, &y.address, &c.address}, 3,
                       out->count * (args.k / 16 + 1)));
    return out->type != ACL_FLOAT ? nn_move(p, &c, out) : ACLNN_SUCCESS;
}

/* (self, mat2, out, cubeMathType), operands of `least` to `most` dimensions */
static aclnnStatus plan_product(struct nn_plan *p, uint64_t least, uint64_t most)
{
    struct nn_view x, y, z;
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &x));
    NN_CHECK(nn_tensor(p, 1, NN_FLOATS16_32, &y));
    NN_CHECK(nn_tensor(p, 2, NN_FLOATS16_32, &z));
    if (x.rank < least || x.rank > most || y.rank < least || y.rank > most) {
        return NN_INVALID(p, "operands of %llu and %llu dimensions, %llu to %llu are supported",
                          (unsigned long long)x.rank, (unsigned long long)y.rank, (unsigned long long)least,
                          (unsigned long long)most);
    }
    NN_CHECK(nn_check_math(p, nn_whole(p, 3), nn_promote(x.type, y.type)));
    return nn_product(p, &x, &y, &z);
}

static aclnnStatus plan_matmul(struct nn_plan *p)
{
    return plan_product(p, 1, 6);
}
NN_OPERATOR(Matmul, plan_matmul, .types = NN_FLOATS16_32)

static aclnnStatus plan_mm(struct nn_plan *p)
{
    return plan_product(p, 2, 2);
}
NN_OPERATOR(Mm, plan_mm, .types = NN_FLOATS16_32)

static aclnnStatus plan_batch_matmul(struct nn_plan *p)
{
    return plan_product(p, 3, 3);
}
NN_OPERATOR(BatchMatMul, plan_batch_matmul, .types = NN_FLOATS16_32)
