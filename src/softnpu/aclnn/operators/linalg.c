/* SPDX-License-Identifier: Apache-2.0 */
/* Linear algebra on the last two dimensions: inverse, determinants, QR; and the cross product. The operands are
 * copied to the workspace in double precision. */
#include "softnpu/aclnn/operators/layout.h"
#include "softnpu/aclnn/operators/map.h"

#include <string.h>

static aclnnStatus check_square(struct nn_plan *p, const struct nn_view *view)
{
    if (view->rank < 2 || view->dims[view->rank - 1] != view->dims[view->rank - 2]) {
        return NN_INVALID(p, "the shape %s is not that of square matrices", nn_shape_text(view->rank, view->dims));
    }
    return ACLNN_SUCCESS;
}

static uint64_t batch_of(const struct nn_view *view)
{
    uint64_t batch = 1;
    for (uint64_t i = 0; i + 2 < view->rank; i++) {
        batch *= view->dims[i];
    }
    return batch;
}

static aclnnStatus copy_of(struct nn_plan *p, const struct nn_view *view, struct nn_view *copy)
{
    NN_CHECK(nn_workspace(p, ACL_DOUBLE, view->rank, view->dims, copy));
    return nn_move(p, view, copy);
}

static aclnnStatus launch(struct nn_plan *p, const char *kernel, const struct op_linalg_args *args,
                          const struct nn_view *a, const struct nn_view *b, const struct nn_view *c)
{
    const struct nn_view none = {0};
    return nn_launch(p, kernel, args, sizeof *args,
                     (const struct nn_address *[]){&a->address, b != NULL ? &b->address : &none.address,
                                                   c != NULL ? &c->address : &none.address},
                     3, args->batch * (args->m + args->n) * (args->n + args->k) * (args->n / 4 + 1));
}

static aclnnStatus plan_inverse(struct nn_plan *p)
{
    struct nn_view a, z, left, right;
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &a));
    NN_CHECK(nn_tensor(p, 1, NN_REALS, &z));
    NN_CHECK(check_square(p, &a));
    NN_CHECK(nn_expect_shape(p, "out", &z, a.rank, a.dims));
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(copy_of(p, &a, &left));
    NN_CHECK(nn_workspace(p, ACL_DOUBLE, a.rank, a.dims, &right));
    const struct op_linalg_args args = {.batch = batch_of(&a), .n = a.dims[a.rank - 1], .k = a.dims[a.rank - 1]};
    NN_CHECK(launch(p, "MatrixInverse", &args, &left, &right, NULL));
    return nn_move(p, &right, &z);
}
NN_OPERATOR(Inverse, plan_inverse, .types = NN_REALS)

/* Sign and logarithm of the determinants, each with the leading dimensions of self. */
static aclnnStatus determinants(struct nn_plan *p, const struct nn_view *a, struct nn_view *sign, struct nn_view *log)
{
    struct nn_view left;
    NN_CHECK(check_square(p, a));
    NN_CHECK(nn_workspace(p, ACL_DOUBLE, a->rank - 2, a->dims, sign));
    NN_CHECK(nn_workspace(p, ACL_DOUBLE, a->rank - 2, a->dims, log));
    if (sign->count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(copy_of(p, a, &left));
    const struct op_linalg_args args = {.batch = batch_of(a), .n = a->dims[a->rank - 1]};
    return launch(p, "LogMatrixDeterminant", &args, &left, sign, log);
}

static aclnnStatus plan_slogdet(struct nn_plan *p)
{
    struct nn_view a, z[2], made[2];
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &a));
    NN_CHECK(check_square(p, &a));
    for (uint32_t i = 0; i < 2; i++) {
        NN_CHECK(nn_tensor(p, 1 + i, NN_REALS, &z[i]));
        NN_CHECK(nn_expect_shape(p, p->params[1 + i].name, &z[i], a.rank - 2, a.dims));
    }
    NN_CHECK(determinants(p, &a, &made[0], &made[1]));
    NN_CHECK(nn_move(p, &made[0], &z[0]));
    return nn_move(p, &made[1], &z[1]);
}
NN_OPERATOR(Slogdet, plan_slogdet, .types = NN_REALS)

/* The logarithm of a negative determinant is NaN. */
static aclnnStatus plan_logdet(struct nn_plan *p)
{
    struct nn_view a, z, sign, log;
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &a));
    NN_CHECK(nn_tensor(p, 1, NN_REALS, &z));
    NN_CHECK(check_square(p, &a));
    NN_CHECK(nn_expect_shape(p, "out", &z, a.rank - 2, a.dims));
    NN_CHECK(determinants(p, &a, &sign, &log));
    return z.count == 0 ? ACLNN_SUCCESS
                        : nn_map(p, NN_MAP_KERNEL(LogSigned), ACL_DOUBLE,
                                 (const struct nn_map_input[]){{.view = &sign}, {.view = &log}}, 2, NULL, 0, &z);
}
NN_OPERATOR(Logdet, plan_logdet, .types = NN_REALS)

/* ---- QR ---- */

/* q has `k` columns; NULL: not wanted. */
static aclnnStatus decompose(struct nn_plan *p, const struct nn_view *a, uint64_t k, const struct nn_view *q,
                             const struct nn_view *r)
{
    const uint64_t m = a->dims[a->rank - 2], n = a->dims[a->rank - 1], steps = m < n ? m : n, batch = batch_of(a);
    struct nn_view shape = *a, left, copy, q_made = {0}, r_made;
    shape.dims[a->rank - 2] = k;
    NN_CHECK(nn_expect_shape(p, "R", r, a->rank, shape.dims));
    NN_CHECK(nn_workspace(p, ACL_DOUBLE, a->rank, shape.dims, &r_made));
    if (q != NULL) {
        shape.dims[a->rank - 2] = m;
        shape.dims[a->rank - 1] = k;
        NN_CHECK(nn_expect_shape(p, "Q", q, a->rank, shape.dims));
        NN_CHECK(nn_workspace(p, ACL_DOUBLE, a->rank, shape.dims, &q_made));
    }
    if (batch == 0 || m == 0 || k == 0) {
        return ACLNN_SUCCESS;
    }
    /* Each matrix is followed by the scales of its reflections. */
    NN_CHECK(nn_workspace(p, ACL_DOUBLE, 2, (const uint64_t[]){batch, m * n + steps}, &left));
    copy = left;
    copy.rank = a->rank;
    copy.count = a->count;
    memcpy(copy.dims, a->dims, sizeof copy.dims);
    int64_t step = (int64_t)(m * n + steps);
    copy.steps[a->rank - 1] = 1;
    copy.steps[a->rank - 2] = (int64_t)n;
    for (uint64_t i = a->rank - 2; i-- > 0; step *= (int64_t)a->dims[i]) {
        copy.steps[i] = step;
    }
    NN_CHECK(nn_move(p, a, &copy));
    const struct op_linalg_args args = {.batch = batch, .m = m, .n = n, .k = k};
    NN_CHECK(launch(p, "Qr", &args, &left, q != NULL ? &q_made : NULL, &r_made));
    NN_CHECK(nn_move(p, &r_made, r));
    return q != NULL ? nn_move(p, &q_made, q) : ACLNN_SUCCESS;
}

static aclnnStatus plan_qr(struct nn_plan *p)
{
    enum { REDUCED, COMPLETE, ONLY_R };
    struct nn_view a, q, r;
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &a));
    NN_CHECK(nn_tensor(p, 2, NN_REALS, &q));
    NN_CHECK(nn_tensor(p, 3, NN_REALS, &r));
    if (a.rank < 2) {
        return NN_INVALID(p, "self has %llu dimensions, at least 2 are required", (unsigned long long)a.rank);
    }
    const int64_t mode = p->op->flags != 0 ? (nn_whole(p, 1) != 0 ? REDUCED : COMPLETE) : nn_whole(p, 1);
    if (mode < REDUCED || mode > ONLY_R) {
        return NN_INVALID(p, "mode %lld is not supported", (long long)mode);
    }
    const uint64_t m = a.dims[a.rank - 2], n = a.dims[a.rank - 1];
    return decompose(p, &a, mode == COMPLETE || m < n ? m : n, mode == ONLY_R ? NULL : &q, &r);
}
NN_OPERATOR(LinalgQr, plan_qr, .types = NN_REALS)
NN_OPERATOR(Qr, plan_qr, .types = NN_REALS, .flags = 1)

/* ---- cross product ---- */

static aclnnStatus plan_cross(struct nn_plan *p)
{
    struct nn_view given[2], x[2], z, part[2][3];
    uint64_t axis, rank;
    uint64_t dims[NN_DIMS];
    NN_CHECK(nn_tensor(p, 0, p->op->types, &given[0]));
    NN_CHECK(nn_tensor(p, 1, p->op->types, &given[1]));
    NN_CHECK(nn_tensor(p, 3, p->op->types, &z));
    if (!nn_common_shape(&given[0], &given[1], &rank, dims)) {
        return NN_INVALID(p, "self %s and other %s do not broadcast", nn_shape_text(given[0].rank, given[0].dims),
                          nn_shape_text(given[1].rank, given[1].dims));
    }
    NN_CHECK(nn_axis(p, nn_whole(p, 2), rank, &axis));
    if (rank == 0 || dims[axis] != 3) {
        return NN_INVALID(p, "dimension %lld of %s must have 3 elements", (long long)nn_whole(p, 2),
                          nn_shape_text(rank, dims));
    }
    NN_CHECK(nn_expect_shape(p, "out", &z, rank, dims));
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    for (uint64_t i = 0; i < 2; i++) {
        nn_broadcast(&given[i], rank, dims, &x[i]);
        for (uint64_t j = 0; j < 3; j++) {
            part[i][j] = nn_pick(&x[i], axis, j);
        }
    }
    for (uint64_t j = 0; j < 3; j++) {
        const uint64_t u = (j + 1) % 3, v = (j + 2) % 3;
        const struct nn_view out = nn_pick(&z, axis, j);
        const struct nn_map_input in[] = {
            {.view = &part[0][u]}, {.view = &part[1][v]}, {.view = &part[0][v]}, {.view = &part[1][u]}};
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(Cross), nn_promote(x[0].type, x[1].type), in, 4, NULL, 0, &out));
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(LinalgCross, plan_cross, .types = NN_REALS | NN_INTEGERS)
