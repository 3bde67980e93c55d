/* SPDX-License-Identifier: Apache-2.0 */
/* Triangular systems of equations. */
#include "softnpu/aclnn/op.h"

static void turn(struct nn_view *view)
{
    const uint64_t last = view->rank - 1, dim = view->dims[last];
    const int64_t step = view->steps[last];
    view->dims[last] = view->dims[last - 1];
    view->steps[last] = view->steps[last - 1];
    view->dims[last - 1] = dim;
    view->steps[last - 1] = step;
}

/* (self, A, upper, transpose, unitriangular, xOut, mOut): A * xOut = self; mOut is A. The leading dimensions broadcast. */
static aclnnStatus plan_triangular(struct nn_plan *p)
{
    struct nn_view b, a, x, m, shape = {0}, own, matrix;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &b));
    NN_CHECK(nn_tensor(p, 1, p->op->types, &a));
    NN_CHECK(nn_tensor(p, 5, NN_TYPE(b.type), &x));
    NN_CHECK(nn_tensor(p, 6, NN_TYPE(b.type), &m));
    if (a.rank < 2 || b.rank < 2 || a.dims[a.rank - 1] != a.dims[a.rank - 2] ||
        a.dims[a.rank - 1] != b.dims[b.rank - 2] || a.type != b.type) {
        return NN_INVALID(p, "self %s %s and A %s %s do not form a system of equations", nn_type_name(b.type),
                          nn_shape_text(b.rank, b.dims), nn_type_name(a.type), nn_shape_text(a.rank, a.dims));
    }
    const uint64_t size = a.dims[a.rank - 1], columns = b.dims[b.rank - 1];
    struct nn_view b_batch = b, a_batch = a;
    b_batch.rank -= 2;
    a_batch.rank -= 2;
    if (!nn_common_shape(&b_batch, &a_batch, &shape.rank, shape.dims)) {
        return NN_INVALID(p, "the batches of self %s and A %s do not broadcast", nn_shape_text(b.rank, b.dims),
                          nn_shape_text(a.rank, a.dims));
    }
    shape.dims[shape.rank] = size;
    shape.dims[shape.rank + 1] = columns;
    shape.rank += 2;
    NN_CHECK(nn_expect_shape(p, "xOut", &x, shape.rank, shape.dims));
    nn_broadcast(&b, shape.rank, shape.dims, &b);
    shape.dims[shape.rank - 1] = size;
    NN_CHECK(nn_expect_shape(p, "mOut", &m, shape.rank, shape.dims));
    nn_broadcast(&a, shape.rank, shape.dims, &a);
    NN_CHECK(nn_move(p, &a, &m));
    if (x.count == 0) {
        return ACLNN_SUCCESS;
    }

    const bool transpose = nn_whole(p, 3) != 0, upper = nn_whole(p, 2) != 0;
    const aclDataType type = b.type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    NN_CHECK(nn_workspace(p, type, x.rank, x.dims, &own));
    NN_CHECK(nn_move(p, &b, &own));
    if (transpose) {
        turn(&a);
    }
    NN_CHECK(nn_workspace(p, type, a.rank, a.dims, &matrix));
    NN_CHECK(nn_move(p, &a, &matrix));
    const struct op_triangular_args args = {
        .batch = x.count / (size * columns),
        .size = size,
        .columns = columns,
        .a_row = (int64_t)size,
        .a_col = 1,
        .is_double = type == ACL_DOUBLE,
        .lower = upper == transpose,
        .unit = nn_whole(p, 4) != 0,
    };
    NN_CHECK(nn_launch(p, p->op->kernel, &args, sizeof args,
                       (const struct nn_address *[]){&matrix.address, &own.address}, 2, x.count * (size / 4 + 1)));
    return nn_move(p, &own, &x);
}
NN_OPERATOR(TriangularSolve, plan_triangular, .kernel = "TriangularSolve",
            .types = NN_TYPE(ACL_FLOAT) | NN_TYPE(ACL_DOUBLE))
