/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of views: comparison, broadcasting, dense copies in the workspace. */
#include "softnpu/aclnn/op.h"

#include <stdio.h>
#include <string.h>

enum { WORKSPACE_ALIGN = 512 };

bool nn_same_shape(const struct nn_view *a, const struct nn_view *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

bool nn_is_dense(const struct nn_view *view)
{
    int64_t step = 1;
    for (uint64_t i = view->rank; i-- > 0;) {
        if (view->dims[i] != 1 && view->steps[i] != step) {
            return false;
        }
        step *= (int64_t)view->dims[i];
    }
    return true;
}

const char *nn_shape_text(uint64_t rank, const uint64_t *dims)
{
    enum { TEXTS = 4, TEXT_B = 192 };
    static __thread char texts[TEXTS][TEXT_B];
    static __thread unsigned next;
    char *text = texts[next++ % TEXTS];
    int at = snprintf(text, TEXT_B, "[");
    for (uint64_t i = 0; i < rank && at < TEXT_B - 24; i++) {
        at += snprintf(text + at, (size_t)(TEXT_B - at), i > 0 ? ", %llu" : "%llu", (unsigned long long)dims[i]);
    }
    snprintf(text + at, (size_t)(TEXT_B - at), "]");
    return text;
}

aclnnStatus nn_expect_shape(struct nn_plan *p, const char *what, const struct nn_view *view, uint64_t rank,
                            const uint64_t *dims)
{
    if (view->rank != rank || memcmp(view->dims, dims, rank * sizeof *dims) != 0) {
        return NN_INVALID(p, "%s has the shape %s, %s is required", what, nn_shape_text(view->rank, view->dims),
                          nn_shape_text(rank, dims));
    }
    return ACLNN_SUCCESS;
}

bool nn_broadcast(const struct nn_view *view, uint64_t rank, const uint64_t *dims, struct nn_view *out)
{
    if (view->rank > rank) {
        return false;
    }
    struct nn_view stretched = *view;
    stretched.rank = rank;
    stretched.count = 1;
    for (uint64_t i = 0; i < rank; i++) {
        const bool missing = i < rank - view->rank;
        const uint64_t from = missing ? 0 : i - (rank - view->rank);
        if (!missing && view->dims[from] != dims[i] && view->dims[from] != 1) {
            return false;
        }
        stretched.dims[i] = dims[i];
        stretched.steps[i] = missing || (view->dims[from] == 1 && dims[i] != 1) ? 0 : view->steps[from];
        stretched.count *= dims[i];
    }
    *out = stretched;
    return true;
}

bool nn_common_shape(const struct nn_view *a, const struct nn_view *b, uint64_t *rank, uint64_t *dims)
{
    const struct nn_view *longer = a->rank >= b->rank ? a : b, *shorter = longer == a ? b : a;
    const uint64_t lead = longer->rank - shorter->rank;
    uint64_t common[NN_DIMS];
    for (uint64_t i = 0; i < longer->rank; i++) {
        const uint64_t x = longer->dims[i], y = i < lead ? 1 : shorter->dims[i - lead];
        if (x != y && x != 1 && y != 1) {
            return false;
        }
        common[i] = x == 1 ? y : x;
    }
    *rank = longer->rank;
    memcpy(dims, common, longer->rank * sizeof *dims);
    return true;
}

aclnnStatus nn_workspace(struct nn_plan *p, aclDataType type, uint64_t rank, const uint64_t *dims, struct nn_view *view)
{
    struct nn_view made = {.type = type, .format = ACL_FORMAT_ND, .rank = rank, .count = 1};
    for (uint64_t i = rank; i-- > 0;) {
        made.dims[i] = dims[i];
        made.steps[i] = (int64_t)made.count;
        if (__builtin_mul_overflow(made.count, dims[i], &made.count)) {
            return NN_INVALID(p, "the workspace would exceed %llu elements", (unsigned long long)INT64_MAX);
        }
    }
    if (made.count > (uint64_t)INT64_MAX / 16) {
        return NN_INVALID(p, "the workspace would have %llu elements", (unsigned long long)made.count);
    }
    made.address = (struct nn_address){.from = NN_FROM_WORKSPACE, .offset_b = p->workspace_b};
    p->workspace_b += MS_ROUND_UP(made.count * aclDataTypeSize(type), WORKSPACE_ALIGN);
    *view = made;
    return ACLNN_SUCCESS;
}

static bool fits(const struct nn_view *view, aclDataType type)
{
    return !nn_is_there(view) || (view->type == type && nn_is_dense(view));
}

aclnnStatus nn_dense_input(struct nn_plan *p, aclDataType type, const struct nn_view *view, struct nn_view *dense)
{
    if (fits(view, type)) {
        *dense = *view;
        return ACLNN_SUCCESS;
    }
    const struct nn_view from = *view;
    NN_CHECK(nn_workspace(p, type, from.rank, from.dims, dense));
    return nn_move(p, &from, dense);
}

aclnnStatus nn_dense_output(struct nn_plan *p, aclDataType type, const struct nn_view *view, struct nn_view *dense)
{
    if (fits(view, type)) {
        *dense = *view;
        return ACLNN_SUCCESS;
    }
    return nn_workspace(p, type, view->rank, view->dims, dense);
}

aclnnStatus nn_dense_output_done(struct nn_plan *p, const struct nn_view *dense, const struct nn_view *view)
{
    return dense->address.from == NN_FROM_WORKSPACE ? nn_move(p, dense, view) : ACLNN_SUCCESS;
}

aclnnStatus nn_shape_from_device(struct nn_plan *p, const struct nn_view *view, const struct nn_view *dims)
{
    const struct nn_late_shape late = {
        .tensor = view->address.tensor, .rank = (uint32_t)dims->count, .offset_b = dims->address.offset_b};
    if (dims->type != ACL_INT64 || dims->address.from != NN_FROM_WORKSPACE || view->address.from != NN_FROM_TENSOR ||
        !snpu_nn_executor_late_shape(p->executor, &late)) {
        return snpu_fail(ACLNN_ERR_INNER, "%s: a shape of %llu dimensions cannot be read from the device", p->name,
                         (unsigned long long)dims->count);
    }
    return ACLNN_SUCCESS;
}
