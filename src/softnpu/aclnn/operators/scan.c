/* SPDX-License-Identifier: Apache-2.0 */
/* Cumulative functions, searches in sorted rows, histograms, distances, comparisons of whole tensors. */
#include "softnpu/aclnn/operators/map.h"
#include "softnpu/aclnn/operators/reduce.h"
#include "softnpu/aclnn/operators/sort.h"

#include <math.h>

static const struct nn_view none = {.address = {.from = NN_NOWHERE}};
static const bool every[NN_DIMS] = {true, true, true, true, true, true, true, true};

/* z = cumulative function of x along dim; indices may be missing */
static aclnnStatus scan(struct nn_plan *p, const char *kernel, const struct nn_view *x, int64_t dim, bool exclusive,
                        bool reverse, const struct nn_view *z, const struct nn_view *indices)
{
    uint64_t axis;
    NN_CHECK(nn_axis(p, dim, x->rank, &axis));
    NN_CHECK(nn_expect_shape(p, "out", z, x->rank, x->dims));
    if (nn_is_there(indices)) {
        NN_CHECK(nn_expect_shape(p, "indicesOut", indices, x->rank, x->dims));
    }
    if (x->count == 0) {
        return ACLNN_SUCCESS;
    }
    const struct nn_view rows = nn_axis_last(x, axis), out = nn_axis_last(z, axis),
                         at = nn_is_there(indices) ? nn_axis_last(indices, axis) : none;
    const bool whole = !nn_is_real(z->type) || (!nn_is_real(x->type) && nn_is_there(indices));
    return nn_call(p, kernel, (const struct nn_view *[]){&rows, &out, &at}, 3,
                   (const int64_t[]){whole, exclusive, reverse}, 3, NULL, 0, 4 * x->count);
}

static aclnnStatus check_dtype(struct nn_plan *p, uint32_t param, const struct nn_view *z)
{
    const aclDataType dtype = (aclDataType)nn_whole(p, param);
    return dtype == z->type ? ACLNN_SUCCESS
                            : NN_INVALID(p, "dtype is %s, out is %s", nn_type_name(dtype), nn_type_name(z->type));
}

/* (self, dim, dtype, out) */
static aclnnStatus plan_cumsum(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, 3, NN_ARITHMETIC, &z));
    NN_CHECK(check_dtype(p, 2, &z));
    return scan(p, "Cumsum", &x, nn_whole(p, 1), false, false, &z, &none);
}
NN_OPERATOR(Cumsum, plan_cumsum, .types = NN_ARITHMETIC)

/* (self, dim, exclusive, reverse, out) */
static aclnnStatus plan_cumsum_v2(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, 4, NN_ARITHMETIC, &z));
    return scan(p, "Cumsum", &x, nn_whole(p, 1), nn_whole(p, 2) != 0, nn_whole(p, 3) != 0, &z, &none);
}
NN_OPERATOR(CumsumV2, plan_cumsum_v2, .types = NN_ARITHMETIC)

/* (input, dim, dtype, out), or (inputRef, dim) */
static aclnnStatus plan_cumprod(struct nn_plan *p)
{
    struct nn_view x, z;
    struct op_number dim;
    aclDataType type;
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_scalar(p, 1, NN_INTEGERS, &dim, &type));
    z = x;
    if (p->count > 2) {
        NN_CHECK(nn_tensor(p, 3, NN_ARITHMETIC, &z));
        NN_CHECK(check_dtype(p, 2, &z));
    }
    return scan(p, "Cumprod", &x, dim.whole, false, false, &z, &none);
}
NN_OPERATOR(Cumprod, plan_cumprod, .types = NN_ARITHMETIC)
NN_OPERATOR(InplaceCumprod, plan_cumprod, .types = NN_ARITHMETIC)

/* (self, dim, values, indices) */
static aclnnStatus plan_cumulative_extreme(struct nn_plan *p)
{
    struct nn_view x, z, indices;
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, 2, NN_ARITHMETIC, &z));
    NN_CHECK(nn_tensor(p, 3, NN_INDEX, &indices));
    return scan(p, p->op->kernel, &x, nn_whole(p, 1), false, false, &z, &indices);
}
NN_OPERATOR(Cummax, plan_cumulative_extreme, .types = NN_ARITHMETIC, .kernel = "Cummax")
NN_OPERATOR(Cummin, plan_cumulative_extreme, .types = NN_ARITHMETIC, .kernel = "Cummin")

/* ---- searches ---- */

/* Rows of `sorted` and of `x` must agree, unless sorted is one row. */
static aclnnStatus search(struct nn_plan *p, const struct nn_view *sorted, const struct nn_view *x,
                          const struct nn_view *sorter, bool right, const struct nn_view *out)
{
    bool fits = sorted->rank == 1 || sorted->rank == x->rank;
    for (uint64_t i = 0; fits && sorted->rank > 1 && i + 1 < x->rank; i++) {
        fits = sorted->dims[i] == x->dims[i];
    }
    if (!fits || sorted->rank == 0) {
        return NN_INVALID(p, "rows of shape %s cannot be searched for values of shape %s",
                          nn_shape_text(sorted->rank, sorted->dims), nn_shape_text(x->rank, x->dims));
    }
    NN_CHECK(nn_expect_shape(p, "out", out, x->rank, x->dims));
    if (nn_is_there(sorter)) {
        NN_CHECK(nn_expect_shape(p, "sorter", sorter, sorted->rank, sorted->dims));
    }
    if (x->count == 0) {
        return ACLNN_SUCCESS;
    }
    const uint64_t axis = x->rank > 0 ? x->rank - 1 : 0;
    const struct nn_view values = nn_axis_last(x, axis), positions = nn_axis_last(out, axis);
    return nn_call(p, "SearchSorted", (const struct nn_view *[]){sorted, &values, &positions, sorter}, 4,
                   (const int64_t[]){right, sorted->rank == 1}, 2, NULL, 0, 64 * x->count);
}

/* (sortedSequence, self, outInt32, right, sorter, out); self may be a scalar */
static aclnnStatus plan_search_sorted(struct nn_plan *p)
{
    struct nn_view sorted, x, sorter, out;
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &sorted));
    NN_CHECK(nn_tensor_optional(p, 4, NN_INDEX, &sorter));
    NN_CHECK(nn_tensor(p, 5, NN_INDEX, &out));
    if (p->params[1].kind == NN_P_SCALAR) {
        struct op_number number;
        aclDataType type;
        NN_CHECK(nn_scalar(p, 1, NN_MOVABLE, &number, &type));
        NN_CHECK(nn_workspace(p, ACL_DOUBLE, 0, NULL, &x));
        NN_CHECK(nn_fill(p, "Fill", &x, &number, ACL_DOUBLE));
    } else {
        NN_CHECK(nn_tensor(p, 1, NN_ARITHMETIC, &x));
    }
    return search(p, &sorted, &x, &sorter, nn_whole(p, 3) != 0, &out);
}
NN_OPERATOR(SearchSorted, plan_search_sorted, .types = NN_ARITHMETIC)
NN_OPERATOR(SearchSorteds, plan_search_sorted, .types = NN_ARITHMETIC)

/* (self, boundaries, outInt32, right, out) */
static aclnnStatus plan_bucketize(struct nn_plan *p)
{
    struct nn_view x, sorted, out;
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, 1, NN_ARITHMETIC, &sorted));
    NN_CHECK(nn_tensor(p, 4, NN_INDEX, &out));
    if (sorted.rank != 1) {
        return NN_INVALID(p, "boundaries has the shape %s, one dimension is required",
                          nn_shape_text(sorted.rank, sorted.dims));
    }
    return search(p, &sorted, &x, &none, nn_whole(p, 3) != 0, &out);
}
NN_OPERATOR(Bucketize, plan_bucketize, .types = NN_ARITHMETIC)

/* ---- counting ---- */

static struct nn_view flat(const struct nn_view *dense)
{
    struct nn_view view = *dense;
    view.rank = 1;
    view.dims[0] = view.count;
    view.steps[0] = 1;
    return view;
}

/* (self, bins, min, max, out) */
static aclnnStatus plan_histc(struct nn_plan *p)
{
    struct nn_view x, dense, out, counts, limits;
    struct op_number low, high;
    aclDataType type;
    const int64_t bins = nn_whole(p, 1);
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_scalar(p, 2, NN_MOVABLE, &low, &type));
    NN_CHECK(nn_scalar(p, 3, NN_MOVABLE, &high, &type));
    NN_CHECK(nn_tensor(p, 4, NN_ARITHMETIC, &out));
    if (bins <= 0 || low.real > high.real) {
        return NN_INVALID(p, "%lld bins from %g to %g", (long long)bins, low.real, high.real);
    }
    NN_CHECK(nn_expect_shape(p, "out", &out, 1, (const uint64_t[]){(uint64_t)bins}));
    NN_CHECK(nn_workspace(p, ACL_DOUBLE, 1, out.dims, &counts));
    NN_CHECK(nn_workspace(p, ACL_DOUBLE, 1, (const uint64_t[]){2}, &limits));
    NN_CHECK(nn_dense_input(p, x.type, &x, &dense));
    if (low.real == high.real && x.count > 0) {
        struct nn_view least = limits, most = limits;
        least.rank = most.rank = 0;
        least.count = most.count = 1;
        most.address.offset_b += sizeof(double);
        NN_CHECK(nn_reduce(p, "ReduceMin", &(struct nn_reduce){.code = OP_REDUCE_MIN, .x = &x, .z = &least}, every));
        NN_CHECK(nn_reduce(p, "ReduceMax", &(struct nn_reduce){.code = OP_REDUCE_MAX, .x = &x, .z = &most}, every));
    }
    const struct nn_view vector = flat(&dense);
    NN_CHECK(nn_call(p, "Histogram", (const struct nn_view *[]){&vector, &counts, &limits}, 3, NULL, 0,
                     (const double[]){low.real, high.real}, 2, 1));
    return nn_move(p, &counts, &out);
}
NN_OPERATOR(Histc, plan_histc, .types = NN_REALS | NN_INTEGERS)

/* (self, weights, minlength, out); out has room for every value */
static aclnnStatus plan_bincount(struct nn_plan *p)
{
    struct nn_view x, weights, out, sums, dense, dense_weights;
    NN_CHECK(nn_tensor(p, 0, NN_INTEGERS, &x));
    NN_CHECK(nn_tensor_optional(p, 1, NN_ARITHMETIC, &weights));
    NN_CHECK(nn_tensor(p, 3, NN_ARITHMETIC, &out));
    if (x.rank != 1 || out.rank != 1 || nn_whole(p, 2) < 0) {
        return NN_INVALID(p, "self and out must have one dimension, and minlength must not be negative");
    }
    if (nn_is_there(&weights)) {
        NN_CHECK(nn_expect_shape(p, "weights", &weights, 1, x.dims));
    }
    if (out.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_workspace(p, ACL_DOUBLE, 1, out.dims, &sums));
    NN_CHECK(nn_dense_input(p, x.type, &x, &dense));
    NN_CHECK(nn_dense_input(p, weights.type, &weights, &dense_weights));
    NN_CHECK(nn_call(p, "Bincount", (const struct nn_view *[]){&dense, &dense_weights, &sums}, 3, NULL, 0, NULL, 0, 1));
    return nn_move(p, &sums, &out);
}
NN_OPERATOR(Bincount, plan_bincount, .types = NN_INTEGERS)

/* ---- comparisons of tensors ---- */

/* (self, other, out): one truth value */
static aclnnStatus plan_equal(struct nn_plan *p)
{
    struct nn_view x, y, out, same;
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, 1, NN_ARITHMETIC, &y));
    NN_CHECK(nn_tensor(p, 2, NN_MASK, &out));
    if (out.count != 1) {
        return NN_INVALID(p, "out has the shape %s, one element is required", nn_shape_text(out.rank, out.dims));
    }
    if (!nn_same_shape(&x, &y)) {
        return nn_fill(p, "ZerosLike", &out, &(struct op_number){0, 0}, ACL_INT64);
    }
    out.rank = 0;
    NN_CHECK(nn_workspace(p, ACL_BOOL, x.rank, x.dims, &same));
    NN_CHECK(nn_map(p, NN_MAP_KERNEL(Equal), nn_promote(x.type, y.type),
                    (const struct nn_map_input[]){{.view = &x}, {.view = &y}}, 2, NULL, 0, &same));
    return nn_reduce(p, "ReduceAll", &(struct nn_reduce){.code = OP_REDUCE_EVERY, .x = &same, .z = &out}, every);
}
NN_OPERATOR(Equal, plan_equal, .types = NN_ARITHMETIC)

/* ---- distances, traces, norms ---- */

/* A tensor of any rank >= 2 as [batch, rows, cols]: needs dense memory. */
static struct nn_view as_batch(const struct nn_view *dense, uint64_t batch)
{
    struct nn_view view = *dense;
    const uint64_t rows = dense->dims[dense->rank - 2], cols = dense->dims[dense->rank - 1];
    view.rank = 3;
    view.dims[0] = batch;
    view.dims[1] = rows;
    view.dims[2] = cols;
    view.steps[0] = (int64_t)(rows * cols);
    view.steps[1] = (int64_t)cols;
    view.steps[2] = 1;
    return view;
}

/* (x1, x2, p, compute_mode, out) */
static aclnnStatus plan_cdist(struct nn_plan *p)
{
    struct nn_view x, y, z, shape = {0}, dense[3];
    const double order = nn_real(p, 2);
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &x));
    NN_CHECK(nn_tensor(p, 1, NN_REALS, &y));
    NN_CHECK(nn_tensor(p, 4, NN_REALS, &z));
    if (x.rank < 2 || y.rank < 2 || x.dims[x.rank - 1] != y.dims[y.rank - 1] || !(order >= 0)) {
        return NN_INVALID(p, "no distances of order %g between rows of shapes %s and %s", order,
                          nn_shape_text(x.rank, x.dims), nn_shape_text(y.rank, y.dims));
    }
    struct nn_view batch_x = x, batch_y = y;
    batch_x.rank -= 2;
    batch_y.rank -= 2;
    if (!nn_common_shape(&batch_x, &batch_y, &shape.rank, shape.dims) || shape.rank + 2 > NN_DIMS) {
        return NN_INVALID(p, "the shapes %s and %s do not broadcast", nn_shape_text(x.rank, x.dims),
                          nn_shape_text(y.rank, y.dims));
    }
    uint64_t batch = 1, dims[NN_DIMS];
    for (uint64_t i = 0; i < shape.rank; i++) {
        dims[i] = shape.dims[i];
        batch *= dims[i];
    }
    const uint64_t cols = x.dims[x.rank - 1], sizes[] = {x.dims[x.rank - 2], y.dims[y.rank - 2]};
    dims[shape.rank] = sizes[0];
    dims[shape.rank + 1] = sizes[1];
    NN_CHECK(nn_expect_shape(p, "out", &z, shape.rank + 2, dims));
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    struct nn_view wide[2];
    for (int i = 0; i < 2; i++) {
        dims[shape.rank] = sizes[i];
        dims[shape.rank + 1] = cols;
        nn_broadcast(i == 0 ? &x : &y, shape.rank + 2, dims, &wide[i]);
        wide[i].count = batch * sizes[i] * cols;
        NN_CHECK(nn_dense_input(p, wide[i].type, &wide[i], &dense[i]));
    }
    NN_CHECK(nn_dense_output(p, z.type, &z, &dense[2]));
    const struct nn_view views[] = {as_batch(&dense[0], batch), as_batch(&dense[1], batch), as_batch(&dense[2], batch)};
    NN_CHECK(nn_call(p, "Cdist", (const struct nn_view *[]){&views[0], &views[1], &views[2]}, 3, (const int64_t[]){0},
                     1, (const double[]){order}, 1, z.count * (cols + 1)));
    return nn_dense_output_done(p, &dense[2], &z);
}
NN_OPERATOR(Cdist, plan_cdist, .types = NN_REALS)

/* (self, p, out): p by value or as a scalar */
static aclnnStatus plan_pdist(struct nn_plan *p)
{
    struct nn_view x, z;
    struct op_number order = {.real = 0};
    aclDataType type;
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &x));
    NN_CHECK(nn_tensor(p, 2, NN_REALS, &z));
    if (p->params[1].kind == NN_P_SCALAR) {
        NN_CHECK(nn_scalar(p, 1, NN_MOVABLE, &order, &type));
    } else {
        order.real = nn_real(p, 1);
    }
    if (x.rank != 2 || !(order.real >= 0)) {
        return NN_INVALID(p, "no distances of order %g between the rows of shape %s", order.real,
                          nn_shape_text(x.rank, x.dims));
    }
    const uint64_t n = x.dims[0];
    NN_CHECK(nn_expect_shape(p, "out", &z, 1, (const uint64_t[]){n > 0 ? n * (n - 1) / 2 : 0}));
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    struct nn_view rows = x;
    rows.rank = 3;
    for (int i = 2; i > 0; i--) {
        rows.dims[i] = x.dims[i - 1];
        rows.steps[i] = x.steps[i - 1];
    }
    rows.dims[0] = 1;
    rows.steps[0] = 0;
    return nn_call(p, "Cdist", (const struct nn_view *[]){&rows, &rows, &z}, 3, (const int64_t[]){1}, 1,
                   (const double[]){order.real}, 1, z.count * (x.dims[1] + 1));
}
NN_OPERATOR(Pdist, plan_pdist, .types = NN_REALS)
NN_OPERATOR(PdistForward, plan_pdist, .types = NN_REALS)

/* (self, out) */
static aclnnStatus plan_trace(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, 1, NN_ARITHMETIC, &z));
    if (x.rank != 2) {
        return NN_INVALID(p, "self has the shape %s, two dimensions are required", nn_shape_text(x.rank, x.dims));
    }
    NN_CHECK(nn_expect_shape(p, "out", &z, 0, NULL));
    const uint64_t n = x.dims[0] < x.dims[1] ? x.dims[0] : x.dims[1];
    struct nn_view diagonal = x;
    diagonal.rank = 1;
    diagonal.dims[0] = diagonal.count = n;
    diagonal.steps[0] = x.steps[0] + x.steps[1];
    return nn_reduce(p, "ReduceSum", &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = &diagonal, .z = &z}, every);
}
NN_OPERATOR(Trace, plan_trace, .types = NN_ARITHMETIC)

/* (self, p, dim, maxNorm, out), or in place without out: every slice along dim has at most the norm maxNorm */
static aclnnStatus plan_renorm(struct nn_plan *p)
{
    struct nn_view x, z, norms, factors;
    struct op_number order, most;
    aclDataType type;
    uint64_t axis;
    bool reduced[NN_DIMS];
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &x));
    NN_CHECK(nn_scalar(p, 1, NN_MOVABLE, &order, &type));
    NN_CHECK(nn_scalar(p, 3, NN_MOVABLE, &most, &type));
    z = x;
    if (p->count > 4) {
        NN_CHECK(nn_tensor(p, 4, NN_REALS, &z));
    }
    if (x.rank < 2 || !(order.real > 0) || !(most.real >= 0)) {
        return NN_INVALID(p,
                          "self has the shape %s, p is %g, maxNorm is %g: at least two dimensions, a positive p and a "
                          "maxNorm that is not negative are required",
                          nn_shape_text(x.rank, x.dims), order.real, most.real);
    }
    NN_CHECK(nn_axis(p, nn_whole(p, 2), x.rank, &axis));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    for (uint64_t i = 0; i < NN_DIMS; i++) {
        reduced[i] = i != axis;
    }
    const aclDataType wide = x.type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    NN_CHECK(nn_workspace(p, wide, 1, &x.dims[axis], &norms));
    NN_CHECK(nn_workspace(p, wide, 1, &x.dims[axis], &factors));
    NN_CHECK(nn_norm(p, order.real, &x, &norms, reduced));
    NN_CHECK(nn_map(p, NN_MAP_KERNEL(RenormFactor), wide, (const struct nn_map_input[]){{.view = &norms}}, 1,
                    &most.real, 1, &factors));
    struct nn_view spread = x;
    spread.type = wide;
    spread.address = factors.address;
    for (uint64_t i = 0; i < x.rank; i++) {
        spread.steps[i] = i == axis;
    }
    return nn_map(p, NN_MAP_KERNEL(Mul), wide, (const struct nn_map_input[]){{.view = &x}, {.view = &spread}}, 2, NULL,
                  0, &z);
}
NN_OPERATOR(Renorm, plan_renorm, .types = NN_REALS)
NN_OPERATOR(InplaceRenorm, plan_renorm, .types = NN_REALS)
