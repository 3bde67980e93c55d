/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting along a dimension, selection by rank, unique values. */
#include "softnpu/aclnn/operators/sort.h"

#include <string.h>

struct nn_view nn_axis_last(const struct nn_view *view, uint64_t axis)
{
    struct nn_view moved = *view;
    if (view->rank == 0) {
        moved.rank = 1;
        moved.dims[0] = 1;
        moved.steps[0] = 1;
        return moved;
    }
    for (uint64_t i = axis; i + 1 < view->rank; i++) {
        moved.dims[i] = view->dims[i + 1];
        moved.steps[i] = view->steps[i + 1];
    }
    moved.dims[view->rank - 1] = view->dims[axis];
    moved.steps[view->rank - 1] = view->steps[axis];
    return moved;
}

/* Rows that are sorted at a time, each with its scratch memory. */
enum { SLOTS = 8 };

struct order {
    struct nn_view x, values, indices, given; /* values, indices, given: may be missing */
    uint64_t axis;
    bool descending;
    uint64_t first, count;
    enum op_sort what;
};

/* Indices are stored in 32 bits while sorting. */
static aclnnStatus check_length(struct nn_plan *p, uint64_t length)
{
    return length < UINT32_MAX ? ACLNN_SUCCESS
                               : NN_INVALID(p, "%llu elements are too many to sort", (unsigned long long)length);
}

static aclnnStatus order_rows(struct nn_plan *p, const char *kernel, const struct order *o)
{
    struct nn_view views[5], scratch;
    const struct nn_view *const given[] = {&o->x, &o->values, &o->indices, NULL, &o->given};
    for (int i = 0; i < 5; i++) {
        views[i] = (struct nn_view){0};
        if (given[i] != NULL && nn_is_there(given[i])) {
            views[i] = nn_axis_last(given[i], o->axis);
        }
    }
    const uint64_t n = views[0].dims[views[0].rank - 1];
    if (o->x.count == 0 || o->count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(check_length(p, n));
    const uint64_t rows = o->x.count / n, slots = rows < SLOTS ? rows : SLOTS;
    NN_CHECK(nn_workspace(p, ACL_INT64, 2, (const uint64_t[]){slots, 3 * n}, &scratch));
    const int64_t numbers[] = {(int64_t)slots, o->descending, (int64_t)o->first, (int64_t)o->count, o->what};
    return nn_call(p, kernel, (const struct nn_view *[]){&views[0], &views[1], &views[2], &scratch, &views[4]}, 5,
                   numbers, 5, NULL, 0, 32 * o->x.count);
}

/* The shape of x with another size of the dimension, or without it. */
static aclnnStatus expect_order(struct nn_plan *p, const char *name, const struct nn_view *x, uint64_t axis,
                                uint64_t size, const struct nn_view *out)
{
    uint64_t dims[NN_DIMS];
    memcpy(dims, x->dims, sizeof dims);
    if (x->rank > 0) {
        dims[axis] = size;
    }
    return nn_expect_shape(p, name, out, x->rank, dims);
}

/* Values must have the type of the input. */
static aclnnStatus check_type(struct nn_plan *p, const struct nn_view *x, const struct nn_view *values)
{
    return x->type == values->type ? ACLNN_SUCCESS
                                   : NN_INVALID(p, "values of type %s cannot be stored as %s", nn_type_name(x->type),
                                                nn_type_name(values->type));
}

/* (self, stable, dim, descending, values, indices) */
static aclnnStatus plan_sort(struct nn_plan *p)
{
    struct order o = {.descending = nn_whole(p, 3) != 0};
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &o.x));
    NN_CHECK(nn_tensor(p, 4, NN_ARITHMETIC, &o.values));
    NN_CHECK(nn_tensor(p, 5, NN_INDEX, &o.indices));
    NN_CHECK(nn_axis(p, nn_whole(p, 2), o.x.rank, &o.axis));
    NN_CHECK(check_type(p, &o.x, &o.values));
    NN_CHECK(nn_expect_shape(p, "valuesOut", &o.values, o.x.rank, o.x.dims));
    NN_CHECK(nn_expect_shape(p, "indicesOut", &o.indices, o.x.rank, o.x.dims));
    o.count = UINT32_MAX;
    return order_rows(p, "Sort", &o);
}
NN_OPERATOR(Sort, plan_sort, .types = NN_ARITHMETIC)

/* (self, dim, descending, indices) */
static aclnnStatus plan_argsort(struct nn_plan *p)
{
    struct order o = {.descending = nn_whole(p, 2) != 0, .count = UINT32_MAX};
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &o.x));
    NN_CHECK(nn_tensor(p, 3, NN_INDEX, &o.indices));
    NN_CHECK(nn_axis(p, nn_whole(p, 1), o.x.rank, &o.axis));
    NN_CHECK(nn_expect_shape(p, "out", &o.indices, o.x.rank, o.x.dims));
    return order_rows(p, "Sort", &o);
}
NN_OPERATOR(Argsort, plan_argsort, .types = NN_ARITHMETIC)

/* (x, index, axis, descending, stable, values, indices) */
static aclnnStatus plan_sort_with_index(struct nn_plan *p)
{
    struct order o = {.descending = nn_whole(p, 3) != 0, .count = UINT32_MAX};
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &o.x));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &o.given));
    NN_CHECK(nn_tensor(p, 5, NN_ARITHMETIC, &o.values));
    NN_CHECK(nn_tensor(p, 6, NN_INDEX, &o.indices));
    NN_CHECK(nn_axis(p, nn_whole(p, 2), o.x.rank, &o.axis));
    NN_CHECK(check_type(p, &o.x, &o.values));
    NN_CHECK(nn_expect_shape(p, "index", &o.given, o.x.rank, o.x.dims));
    NN_CHECK(nn_expect_shape(p, "valuesOut", &o.values, o.x.rank, o.x.dims));
    NN_CHECK(nn_expect_shape(p, "indicesOut", &o.indices, o.x.rank, o.x.dims));
    return order_rows(p, "Sort", &o);
}
NN_OPERATOR(SortWithIndex, plan_sort_with_index, .types = NN_ARITHMETIC)

/* (self, k, dim, largest, sorted, values, indices) */
static aclnnStatus plan_topk(struct nn_plan *p)
{
    struct order o = {.descending = nn_whole(p, 3) != 0};
    const int64_t k = nn_whole(p, 1);
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &o.x));
    NN_CHECK(nn_tensor(p, 5, NN_ARITHMETIC, &o.values));
    NN_CHECK(nn_tensor(p, 6, NN_INDEX, &o.indices));
    NN_CHECK(nn_axis(p, nn_whole(p, 2), o.x.rank, &o.axis));
    const uint64_t n = o.x.rank > 0 ? o.x.dims[o.axis] : 1;
    if (k < 0 || (uint64_t)k > n) {
        return NN_INVALID(p, "k is %lld, the dimension has %llu elements", (long long)k, (unsigned long long)n);
    }
    o.count = (uint64_t)k;
    NN_CHECK(check_type(p, &o.x, &o.values));
    NN_CHECK(expect_order(p, "valuesOut", &o.x, o.axis, o.count, &o.values));
    NN_CHECK(expect_order(p, "indicesOut", &o.x, o.axis, o.count, &o.indices));
    return order_rows(p, "TopKV2", &o);
}
NN_OPERATOR(Topk, plan_topk, .types = NN_ARITHMETIC)

/* One element of every row: (self [, k], dim, keepdim, values, indices). .code: enum op_sort */
static aclnnStatus plan_rank(struct nn_plan *p)
{
    const uint32_t at = p->op->code == OP_SORT_RANKS ? 2 : 1;
    struct order o = {.what = p->op->code, .count = 1};
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &o.x));
    NN_CHECK(nn_tensor(p, at + 2, NN_ARITHMETIC, &o.values));
    NN_CHECK(nn_tensor(p, at + 3, NN_INDEX, &o.indices));
    NN_CHECK(nn_axis(p, nn_whole(p, at), o.x.rank, &o.axis));
    NN_CHECK(check_type(p, &o.x, &o.values));
    const uint64_t n = o.x.rank > 0 ? o.x.dims[o.axis] : 1;
    const int64_t k = at == 2 ? nn_whole(p, 1) : 1;
    if (k < 1 || (uint64_t)k > n) {
        return NN_INVALID(p, "rank %lld of a dimension of %llu elements", (long long)k, (unsigned long long)n);
    }
    o.first = (uint64_t)k - 1;
    struct nn_view *const outputs[] = {&o.values, &o.indices};
    for (int i = 0; i < 2; i++) {
        if (nn_whole(p, at + 1) == 0 && o.x.rank > 0) { /* inserts the dimension that is missing */
            struct nn_view *z = outputs[i];
            if (z->rank + 1 != o.x.rank) {
                return NN_INVALID(p, "%s has the wrong shape %s", p->params[at + 2 + (uint32_t)i].name,
                                  nn_shape_text(z->rank, z->dims));
            }
            memmove(z->dims + o.axis + 1, z->dims + o.axis, (z->rank - o.axis) * sizeof *z->dims);
            memmove(z->steps + o.axis + 1, z->steps + o.axis, (z->rank - o.axis) * sizeof *z->steps);
            z->dims[o.axis] = 1;
            z->steps[o.axis] = 1;
            z->rank++;
        }
        NN_CHECK(expect_order(p, p->params[at + 2 + (uint32_t)i].name, &o.x, o.axis, 1, outputs[i]));
    }
    return order_rows(p, "KthValue", &o);
}
NN_OPERATOR(Kthvalue, plan_rank, .types = NN_ARITHMETIC, .code = OP_SORT_RANKS)
NN_OPERATOR(MedianDim, plan_rank, .types = NN_ARITHMETIC, .code = OP_SORT_MEDIAN)
NN_OPERATOR(NanMedianDim, plan_rank, .types = NN_ARITHMETIC, .code = OP_SORT_NAN_MEDIAN)

/* (self, out): of all elements */
static aclnnStatus plan_median(struct nn_plan *p)
{
    struct nn_view x;
    struct order o = {.what = p->op->code, .count = 1};
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, 1, NN_ARITHMETIC, &o.values));
    NN_CHECK(check_type(p, &x, &o.values));
    if (o.values.count != 1) {
        return NN_INVALID(p, "the output has the shape %s, one element is required",
                          nn_shape_text(o.values.rank, o.values.dims));
    }
    if (x.count == 0) {
        return nn_fill(p, "Fill", &o.values, &(struct op_number){__builtin_nan(""), 0}, ACL_DOUBLE);
    }
    NN_CHECK(nn_dense_input(p, x.type, &x, &o.x));
    o.x.rank = 1;
    o.x.dims[0] = o.x.count;
    o.x.steps[0] = 1;
    o.values.rank = 1;
    o.values.dims[0] = 1;
    o.values.steps[0] = 1;
    return order_rows(p, "KthValue", &o);
}
NN_OPERATOR(Median, plan_median, .types = NN_ARITHMETIC, .code = OP_SORT_MEDIAN)
NN_OPERATOR(NanMedian, plan_median, .types = NN_ARITHMETIC, .code = OP_SORT_NAN_MEDIAN)

/* ---- unique values ---- */

/* Values, inverse and counts of all elements; the sizes of values and counts depend on the data. */
static aclnnStatus unique(struct nn_plan *p, const struct nn_view *x, bool consecutive, const struct nn_view *values,
                          const struct nn_view *inverse, const struct nn_view *counts)
{
    struct nn_view dense, dense_values, dense_inverse = {0}, dense_counts = {0}, found, scratch;
    if (values->type != x->type || values->rank != 1 || values->dims[0] < x->count) {
        return NN_INVALID(p, "valueOut must have the type %s and room for %llu elements in one dimension",
                          nn_type_name(x->type), (unsigned long long)x->count);
    }
    if (nn_is_there(inverse) && inverse->count != x->count) {
        return NN_INVALID(p, "inverseOut has the shape %s, %llu elements are required",
                          nn_shape_text(inverse->rank, inverse->dims), (unsigned long long)x->count);
    }
    if (nn_is_there(counts) && (counts->rank != 1 || counts->dims[0] < x->count)) {
        return NN_INVALID(p, "countsOut must have room for %llu elements in one dimension",
                          (unsigned long long)x->count);
    }
    NN_CHECK(check_length(p, x->count));
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, (const uint64_t[]){1}, &found));
    NN_CHECK(nn_fill(p, "ZerosLike", &found, &(struct op_number){0, 0}, ACL_INT64));
    if (x->count > 0) {
        NN_CHECK(nn_dense_input(p, x->type, x, &dense));
        NN_CHECK(nn_dense_output(p, values->type, values, &dense_values));
        NN_CHECK(nn_dense_output(p, ACL_INT64, inverse, &dense_inverse));
        NN_CHECK(nn_dense_output(p, ACL_INT64, counts, &dense_counts));
        NN_CHECK(nn_workspace(p, ACL_INT64, 1, (const uint64_t[]){3 * x->count}, &scratch));
        NN_CHECK(
            nn_call(p, "UniqueWithCountsAndSorting",
                    (const struct nn_view *[]){&dense, &dense_values, &dense_inverse, &dense_counts, &found, &scratch},
                    6, (const int64_t[]){consecutive}, 1, NULL, 0, 1));
        NN_CHECK(nn_dense_output_done(p, &dense_values, values));
        NN_CHECK(nn_is_there(inverse) ? nn_dense_output_done(p, &dense_inverse, inverse) : ACLNN_SUCCESS);
        NN_CHECK(nn_is_there(counts) ? nn_dense_output_done(p, &dense_counts, counts) : ACLNN_SUCCESS);
    }
    NN_CHECK(nn_shape_from_device(p, values, &found));
    return nn_is_there(counts) ? nn_shape_from_device(p, counts, &found) : ACLNN_SUCCESS;
}

/* An output that is wanted. */
static aclnnStatus take_wanted(struct nn_plan *p, uint32_t param, bool wanted, struct nn_view *view)
{
    *view = (struct nn_view){0};
    return wanted ? nn_tensor(p, param, NN_TYPE(ACL_INT64), view) : ACLNN_SUCCESS;
}

/* (self, sorted, returnInverse [, returnCounts], value, inverse [, counts]) */
static aclnnStatus plan_unique(struct nn_plan *p)
{
    const bool second = p->count == 7;
    const uint32_t at = second ? 4 : 3;
    struct nn_view x, values, inverse, counts = {0};
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, at, NN_ARITHMETIC, &values));
    NN_CHECK(take_wanted(p, at + 1, nn_whole(p, 2) != 0, &inverse));
    if (second) {
        NN_CHECK(take_wanted(p, at + 2, nn_whole(p, 3) != 0, &counts));
    }
    return unique(p, &x, false, &values, &inverse, &counts);
}
NN_OPERATOR(Unique, plan_unique, .types = NN_ARITHMETIC)
NN_OPERATOR(Unique2, plan_unique, .types = NN_ARITHMETIC)

/* The different slices along a dimension. values has the shape of x and room for all of them, in dense memory. */
static aclnnStatus unique_slices(struct nn_plan *p, const struct nn_view *x, int64_t dim, bool consecutive,
                                 const struct nn_view *values, const struct nn_view *inverse,
                                 const struct nn_view *counts)
{
    struct nn_view dense, vectors[2] = {{0}}, dims, found, keys, order;
    uint64_t axis;
    NN_CHECK(nn_axis(p, dim, x->rank, &axis));
    const uint64_t slices = x->rank > 0 ? x->dims[axis] : 1;
    NN_CHECK(nn_expect_shape(p, "valueOut", values, x->rank, x->dims));
    if (x->rank == 0 || x->count == 0 || values->type != x->type || !nn_is_dense(values)) {
        return NN_INVALID(p,
                          "self of shape %s must have elements and dimensions, valueOut must be dense and of type %s",
                          nn_shape_text(x->rank, x->dims), nn_type_name(x->type));
    }
    const struct nn_view *const given[] = {inverse, counts};
    for (int i = 0; i < 2; i++) {
        if (nn_is_there(given[i])) {
            NN_CHECK(nn_expect_shape(p, i == 0 ? "inverseOut" : "countsOut", given[i], 1, &slices));
            NN_CHECK(nn_dense_output(p, ACL_INT64, given[i], &vectors[i]));
        }
    }
    NN_CHECK(nn_dense_input(p, x->type, x, &dense));
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, &x->rank, &dims));
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, (const uint64_t[]){1}, &found));
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, &x->count, &keys));
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, (const uint64_t[]){2 * slices}, &order));
    int64_t numbers[3 + NN_DIMS] = {consecutive, (int64_t)x->rank, (int64_t)axis};
    uint64_t parts[] = {1, slices, 1};
    for (uint64_t i = 0; i < x->rank; i++) {
        numbers[3 + i] = (int64_t)x->dims[i];
        parts[0] *= i < axis ? x->dims[i] : 1;
        parts[2] *= i > axis ? x->dims[i] : 1;
    }
    dense.rank = 3;
    memcpy(dense.dims, parts, sizeof parts);
    NN_CHECK(nn_call(p, "UniqueDim",
                     (const struct nn_view *[]){&dense, values, &vectors[0], &vectors[1], &dims, &found, &keys, &order},
                     8, numbers, 3 + NN_DIMS, NULL, 0, 1));
    for (int i = 0; i < 2; i++) {
        NN_CHECK(nn_is_there(given[i]) ? nn_dense_output_done(p, &vectors[i], given[i]) : ACLNN_SUCCESS);
    }
    NN_CHECK(nn_shape_from_device(p, values, &dims));
    return nn_is_there(counts) ? nn_shape_from_device(p, counts, &found) : ACLNN_SUCCESS;
}

/* (self, sorted, returnInverse, dim, value, inverse, counts) */
static aclnnStatus plan_unique_dim(struct nn_plan *p)
{
    struct nn_view x, values, inverse, counts;
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, 4, NN_ARITHMETIC, &values));
    NN_CHECK(take_wanted(p, 5, nn_whole(p, 2) != 0, &inverse));
    NN_CHECK(take_wanted(p, 6, nn_given(p, 6), &counts));
    return unique_slices(p, &x, nn_whole(p, 3), false, &values, &inverse, &counts);
}
NN_OPERATOR(UniqueDim, plan_unique_dim, .types = NN_ARITHMETIC)

/* (self, returnInverse, returnCounts, dim, value, inverse, counts); callers pass 1000 for no dimension */
static aclnnStatus plan_unique_consecutive(struct nn_plan *p)
{
    enum { NO_DIMENSION = 1000 };
    struct nn_view x, values, inverse, counts;
    const int64_t dim = nn_whole(p, 3);
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, 4, NN_ARITHMETIC, &values));
    NN_CHECK(take_wanted(p, 5, nn_whole(p, 1) != 0, &inverse));
    NN_CHECK(take_wanted(p, 6, nn_whole(p, 2) != 0, &counts));
    return dim == NO_DIMENSION ? unique(p, &x, true, &values, &inverse, &counts)
                               : unique_slices(p, &x, dim, true, &values, &inverse, &counts);
}
NN_OPERATOR(UniqueConsecutive, plan_unique_consecutive, .types = NN_ARITHMETIC)
