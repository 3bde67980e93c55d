/* SPDX-License-Identifier: Apache-2.0 */
/* Products of 8-bit integers: out = (x1 * x2 + whole bias) * scale * scale of rows + real bias, rounded with an offset if
 * out is INT8. The product runs in float32, which is exact up to 2^24; INT32 results use whole numbers.
 *
 * Roles, one character per parameter: a b operands; s scale of columns; r scale of rows; o offset; B bias; u v
 * transpose; z out; X not supported, must be NULL; - without effect. */
#include "softnpu/aclnn/operators/map.h"
#include "softnpu/aclnn/operators/product.h"

struct parts {
    struct nn_view x, y, scale, rows, offset, bias, out;
    bool turn_x, turn_y;
};

#define SCALES  (NN_FLOATS16_32 | NN_TYPE(ACL_INT64) | NN_TYPE(ACL_UINT64))
#define BIASES  (NN_FLOATS16_32 | NN_TYPE(ACL_INT32))
#define OUTPUTS (NN_FLOATS16_32 | NN_TYPE(ACL_INT8) | NN_TYPE(ACL_INT32))

static aclnnStatus read_parts(struct nn_plan *p, struct parts *q)
{
    for (uint32_t i = 0; p->op->roles[i] != '\0'; i++) {
        switch (p->op->roles[i]) {
        case 'a':
            NN_CHECK(nn_tensor(p, i, NN_TYPE(ACL_INT8), &q->x));
            break;
        case 'b':
            NN_CHECK(nn_tensor(p, i, NN_TYPE(ACL_INT8), &q->y));
            break;
        case 's':
            NN_CHECK(nn_tensor(p, i, SCALES, &q->scale));
            break;
        case 'r':
            NN_CHECK(nn_tensor_optional(p, i, NN_TYPE(ACL_FLOAT), &q->rows));
            break;
        case 'o':
            NN_CHECK(nn_tensor_optional(p, i, NN_FLOATS16_32, &q->offset));
            break;
        case 'B':
            NN_CHECK(nn_tensor_optional(p, i, BIASES, &q->bias));
            break;
        case 'u':
            q->turn_x = nn_whole(p, i) != 0;
            break;
        case 'v':
            q->turn_y = nn_whole(p, i) != 0;
            break;
        case 'z':
            NN_CHECK(nn_tensor(p, i, OUTPUTS, &q->out));
            break;
        case 'X':
            if (nn_given(p, i)) {
                return NN_INVALID(p, "%s is not supported", p->params[i].name);
            }
            break;
        default:
            break;
        }
    }
    return ACLNN_SUCCESS;
}

static void turn(struct nn_view *view)
{
    const uint64_t a = view->rank - 2, b = view->rank - 1, dim = view->dims[a];
    const int64_t step = view->steps[a];
    view->dims[a] = view->dims[b];
    view->steps[a] = view->steps[b];
    view->dims[b] = dim;
    view->steps[b] = step;
}

/* One element, or one per column (or row, as a column), like out. */
static aclnnStatus spread(struct nn_plan *p, const char *name, const struct nn_view *out, bool by_row,
                          struct nn_view *view)
{
    struct nn_view shape = *view;
    if (!nn_is_there(view)) {
        return ACLNN_SUCCESS;
    }
    if (view->count == 1) {
        shape.rank = 0;
    } else if (by_row && view->rank == 1) {
        shape.rank = 2;
        shape.dims[1] = 1;
        shape.steps[1] = 0;
    }
    if (!nn_broadcast(&shape, out->rank, out->dims, view)) {
        return NN_INVALID(p, "%s %s does not fit out %s", name, nn_shape_text(view->rank, view->dims),
                          nn_shape_text(out->rank, out->dims));
    }
    return ACLNN_SUCCESS;
}

static struct nn_map_input input_of(const struct nn_view *view, double otherwise)
{
    return nn_is_there(view) ? (struct nn_map_input){.view = view}
                             : (struct nn_map_input){.constant = {otherwise, (int64_t)otherwise}};
}

static aclnnStatus plan_quant_product(struct nn_plan *p)
{
    struct parts q = {0};
    NN_CHECK(read_parts(p, &q));
    if (q.x.rank < 2 || q.y.rank < 2 || q.out.rank < 2) {
        return NN_INVALID(p, "x1, x2 and out must have at least 2 dimensions");
    }
    if (q.turn_x) {
        turn(&q.x);
    }
    if (q.turn_y) {
        turn(&q.y);
    }
    if (q.scale.type == ACL_INT64 || q.scale.type == ACL_UINT64) {
        /* The low half of a quantisation parameter is the scale as float32. */
        q.scale.type = ACL_FLOAT;
        for (uint64_t i = 0; i < q.scale.rank; i++) {
            q.scale.steps[i] *= 2;
        }
    }
    NN_CHECK(spread(p, "scale", &q.out, false, &q.scale));
    NN_CHECK(spread(p, "the scale of rows", &q.out, true, &q.rows));
    NN_CHECK(spread(p, "offset", &q.out, false, &q.offset));
    NN_CHECK(spread(p, "bias", &q.out, false, &q.bias));
    if (q.out.type == ACL_INT32) {
        const bool add = nn_is_there(&q.bias) && q.bias.type == ACL_INT32;
        const struct nn_product_terms terms = {.add = add ? &q.bias : NULL, .alpha = {1, 1}, .beta = {1, 1}};
        return nn_product_add(p, &q.x, &q.y, &terms, &q.out);
    }
    struct nn_view x, y, sum;
    NN_CHECK(nn_workspace(p, ACL_FLOAT, q.out.rank, q.out.dims, &sum));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &q.x, &x));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &q.y, &y));
    NN_CHECK(nn_product(p, &x, &y, &sum));
    if (q.out.count == 0) {
        return ACLNN_SUCCESS;
    }
    const bool whole_bias = nn_is_there(&q.bias) && q.bias.type == ACL_INT32;
    const bool real_bias = nn_is_there(&q.bias) && !whole_bias, rounds = q.out.type == ACL_INT8;
    const struct nn_view none = {0};
    const struct nn_map_input scaled[] = {
        {.view = &sum}, input_of(whole_bias ? &q.bias : &none, 0), {.view = &q.scale}, input_of(&q.rows, 1)};
    NN_CHECK(
        nn_map(p, NN_MAP_KERNEL(AscendDequant), ACL_FLOAT, scaled, 4, NULL, 0, real_bias || rounds ? &sum : &q.out));
    if (real_bias) {
        const double one = 1;
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(Add), ACL_FLOAT,
                        (const struct nn_map_input[]){{.view = &sum}, {.view = &q.bias}}, 2, &one, 1,
                        rounds ? &sum : &q.out));
    }
    if (!rounds) {
        return ACLNN_SUCCESS;
    }
    const double numbers[] = {INT8_MIN, INT8_MAX, 0};
    const struct nn_map_input in[] = {{.view = &sum}, {.constant = {1, 1}}, input_of(&q.offset, 0)};
    return nn_map(p, NN_MAP_KERNEL(AscendQuantV2), ACL_FLOAT, in, 3, numbers, 3, &q.out);
}

#define NN_QUANT_PRODUCT(name, role_text)                                                                              \
    NN_OPERATOR(name, plan_quant_product, .roles = role_text, .types = NN_TYPE(ACL_INT8))

NN_QUANT_PRODUCT(QuantMatmulV3, "absoBuvz")
NN_QUANT_PRODUCT(QuantMatmulV4, "absorBuvz")
NN_QUANT_PRODUCT(QuantMatmulV5, "abrsXXoXBuv-z")
NN_QUANT_PRODUCT(QuantMatmulWeightNz, "abrsXXoXBuv-z")
