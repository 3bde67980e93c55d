/* SPDX-License-Identifier: Apache-2.0 */
/* Products of groups: a list of tensors with a list of weights, or the rows of one tensor divided between the weights by
 * the ends of groupList. Weights and results are lists, or one tensor with a dimension for the groups (weight) or with
 * the rows of all groups (result). Quantised operands are not supported. */
#include "softnpu/aclnn/operators/layout.h"
#include "softnpu/aclnn/operators/product.h"

enum { X, WEIGHT, BIAS, GROUP_LIST = 7, Y = 9 };

struct product_groups {
    uint64_t x, weight, bias, y, count;
    const int64_t *ends; /* NULL: no groupList */
};

/* The weight of a group. */
static aclnnStatus weight_of(struct nn_plan *p, const struct product_groups *g, uint64_t i, struct nn_view *weight)
{
    NN_CHECK(nn_list_tensor(p, WEIGHT, g->weight == 1 ? 0 : i, p->op->types, weight));
    if (g->weight == 1 && g->count > 1) {
        if (weight->rank != 3 || weight->dims[0] != g->count) {
            return NN_INVALID(p, "weight %s must have 3 dimensions, the first of %llu groups",
                              nn_shape_text(weight->rank, weight->dims), (unsigned long long)g->count);
        }
    }
    if (weight->rank == 3) {
        if (i >= weight->dims[0] && g->weight == 1) {
            return NN_INVALID(p, "weight %s has no group %llu", nn_shape_text(weight->rank, weight->dims),
                              (unsigned long long)i);
        }
        *weight = nn_pick(weight, 0, g->weight == 1 ? i : 0);
    }
    return ACLNN_SUCCESS;
}

/* The rows of a group in a tensor that all groups share, or the tensor of a list. */
static aclnnStatus rows_of(struct nn_plan *p, uint32_t param, uint64_t tensors, const struct product_groups *g,
                           uint64_t i, struct nn_view *view)
{
    const bool shared = tensors == 1 && g->ends != NULL;
    NN_CHECK(nn_list_tensor(p, param, shared ? 0 : i, p->op->types, view));
    if (!shared) {
        return ACLNN_SUCCESS;
    }
    const int64_t start = i > 0 ? g->ends[i - 1] : 0, end = g->ends[i];
    if (view->rank != 2 || start < 0 || end < start || end > (int64_t)view->dims[0]) {
        return NN_INVALID(p, "%s %s must have 2 dimensions; group %llu has the rows %lld to %lld",
                          p->params[param].name, nn_shape_text(view->rank, view->dims), (unsigned long long)i,
                          (long long)start, (long long)end);
    }
    *view = nn_part(view, 0, (uint64_t)start, 1, (uint64_t)(end - start));
    return ACLNN_SUCCESS;
}

static aclnnStatus count_groups(struct nn_plan *p, struct product_groups *g)
{
    NN_CHECK(nn_list(p, X, &g->x));
    NN_CHECK(nn_list(p, WEIGHT, &g->weight));
    NN_CHECK(nn_list(p, Y, &g->y));
    for (uint32_t i = BIAS; i < GROUP_LIST; i++) {
        uint64_t count = 0;
        if (nn_given(p, i)) {
            NN_CHECK(nn_list(p, i, &count));
        }
        if (i == BIAS) {
            g->bias = count;
        } else if (count > 0) {
            return NN_INVALID(p, "%s is not supported", p->params[i].name);
        }
    }
    g->count = g->x;
    if (nn_given(p, GROUP_LIST)) {
        NN_CHECK(nn_ints(p, GROUP_LIST, &g->ends, &g->count));
    }
    if (g->count == 0 || (g->x != 1 && g->x != g->count) || (g->weight != 1 && g->weight != g->count) ||
        (g->y != 1 && g->y != g->count) || (g->bias != 0 && g->bias != g->count) ||
        ((g->x == 1 || g->y == 1) && g->count > 1 && g->ends == NULL)) {
        return NN_INVALID(p, "%llu groups do not fit %llu tensors, %llu weights, %llu biases and %llu results",
                          (unsigned long long)g->count, (unsigned long long)g->x, (unsigned long long)g->weight,
                          (unsigned long long)g->bias, (unsigned long long)g->y);
    }
    return ACLNN_SUCCESS;
}

/* (x, weight, bias, scale, offset, antiquantScale, antiquantOffset, groupList, splitItem, y) */
static aclnnStatus plan_grouped(struct nn_plan *p)
{
    struct product_groups g = {0};
    NN_CHECK(count_groups(p, &g));
    for (uint64_t i = 0; i < g.count; i++) {
        struct nn_view x, weight, bias, y;
        struct nn_product_terms terms = {.alpha = {1, 1}, .beta = {1, 1}};
        NN_CHECK(rows_of(p, X, g.x, &g, i, &x));
        NN_CHECK(weight_of(p, &g, i, &weight));
        NN_CHECK(rows_of(p, Y, g.y, &g, i, &y));
        if (g.bias > 0) {
            NN_CHECK(nn_list_tensor(p, BIAS, i, NN_FLOATS16_32, &bias));
            terms.add = &bias;
        }
        NN_CHECK(nn_product_add(p, &x, &weight, &terms, &y));
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(GroupedMatmul, plan_grouped, .types = NN_FLOATS16_32)
