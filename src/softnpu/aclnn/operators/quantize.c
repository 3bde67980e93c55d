/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between reals and integers with scales and offsets, one pair per tensor or per index of an axis. Scales of
 * rows are computed by DynamicQuant. Results of 4 bits are not supported. */
#include "softnpu/aclnn/operators/layout.h"
#include "softnpu/aclnn/operators/map.h"
#include "softnpu/aclnn/operators/reduce.h"

#include <string.h>

#define QUANTIZED (NN_TYPE(ACL_INT8) | NN_TYPE(ACL_UINT8) | NN_TYPE(ACL_INT32))

/* The limits of an integer type. */
static void set_limits(aclDataType type, double *limits)
{
    limits[0] = type == ACL_UINT8 ? 0 : type == ACL_INT8 ? INT8_MIN : (double)INT32_MIN;
    limits[1] = type == ACL_UINT8 ? UINT8_MAX : type == ACL_INT8 ? INT8_MAX : (double)INT32_MAX;
}

/* A parameter with one element, with one per index of `axis`, or of a shape that broadcasts, as a view like x. */
static aclnnStatus along_axis(struct nn_plan *p, uint32_t param, const struct nn_view *x, uint64_t axis,
                              struct nn_view *view)
{
    struct nn_view spread = *view;
    if (!nn_is_there(view)) {
        return ACLNN_SUCCESS;
    }
    if (view->count == 1) {
        spread.rank = 0;
    } else if (view->rank == 1) {
        spread.rank = x->rank - axis;
        for (uint64_t i = 1; i < spread.rank; i++) {
            spread.dims[i] = 1;
            spread.steps[i] = 0;
        }
    }
    if (!nn_broadcast(&spread, x->rank, x->dims, view)) {
        return NN_INVALID(p, "%s %s does not fit x %s", p->params[param].name, nn_shape_text(view->rank, view->dims),
                          nn_shape_text(x->rank, x->dims));
    }
    return ACLNN_SUCCESS;
}

struct quant {
    struct nn_view x, scale, offset, y;
};

/* x, scale and offset are parameters 0 to 2, y is the last one. */
static aclnnStatus read_quant(struct nn_plan *p, nn_types x_types, nn_types y_types, int64_t dim, struct quant *q)
{
    uint64_t axis;
    NN_CHECK(nn_tensor(p, 0, x_types, &q->x));
    NN_CHECK(nn_tensor(p, 1, NN_REALS, &q->scale));
    NN_CHECK(nn_tensor_optional(p, 2, NN_REALS | NN_INTEGERS, &q->offset));
    NN_CHECK(nn_tensor(p, p->count - 1, y_types, &q->y));
    NN_CHECK(nn_expect_shape(p, p->params[p->count - 1].name, &q->y, q->x.rank, q->x.dims));
    NN_CHECK(nn_axis(p, dim, q->x.rank, &axis));
    NN_CHECK(along_axis(p, 1, &q->x, axis, &q->scale));
    return along_axis(p, 2, &q->x, axis, &q->offset);
}

static struct nn_map_input input_of(const struct nn_view *view)
{
    return (struct nn_map_input){.view = nn_is_there(view) ? view : NULL};
}

/* The square of the scale, if sqrtMode asks for it. */
static aclnnStatus square_scale(struct nn_plan *p, bool wanted, struct quant *q)
{
    struct nn_view square;
    if (!wanted) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_workspace(p, ACL_FLOAT, q->x.rank, q->x.dims, &square));
    NN_CHECK(
        nn_map(p, NN_MAP_KERNEL(Square), ACL_FLOAT, &(struct nn_map_input){.view = &q->scale}, 1, NULL, 0, &square));
    q->scale = square;
    return ACLNN_SUCCESS;
}

/* (x, scale, offset, sqrtMode, roundMode, dstType[, axis], y): y = round(x * scale + offset) */
static aclnnStatus plan_ascend_quant(struct nn_plan *p)
{
    static const char *const modes[] = {"round", "floor", "ceil", "trunc"};
    struct quant q;
    double numbers[3] = {0};
    const char *mode = nn_text(p, 4);
    const int64_t axis = p->count == 8 ? nn_whole(p, 6) : -1;
    NN_CHECK(read_quant(p, p->op->types, NN_TYPE(ACL_INT8), axis, &q));
    for (size_t i = 1; i < MS_COUNT_OF(modes); i++) {
        numbers[2] = strcmp(mode, modes[i]) == 0 ? (double)i : numbers[2];
    }
    if (numbers[2] == 0 && mode[0] != '\0' && strcmp(mode, modes[0]) != 0) {
        return NN_INVALID(p, "roundMode '%.20s' is not supported", mode);
    }
    if (q.y.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(square_scale(p, nn_whole(p, 3) != 0, &q));
    set_limits(q.y.type, numbers);
    const struct nn_map_input in[] = {{.view = &q.x}, {.view = &q.scale}, input_of(&q.offset)};
    return nn_map(p, NN_MAP_KERNEL(AscendQuantV2), ACL_FLOAT, in, 3, numbers, 3, &q.y);
}
NN_OPERATOR(AscendQuant, plan_ascend_quant, .types = NN_FLOATS16_32)
NN_OPERATOR(AscendQuantV3, plan_ascend_quant, .types = NN_FLOATS16_32)

/* (x, scale, offset, dstType, sqrtMode, y): y = (x + offset) * scale */
static aclnnStatus plan_anti_quant(struct nn_plan *p)
{
    struct quant q;
    NN_CHECK(read_quant(p, p->op->types, NN_FLOATS16_32, -1, &q));
    if (q.y.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(square_scale(p, nn_whole(p, 4) != 0, &q));
    const struct nn_map_input in[] = {{.view = &q.x}, input_of(&q.offset), {.view = &q.scale}};
    return nn_map(p, NN_MAP_KERNEL(AscendAntiQuantV2), ACL_FLOAT, in, 3, NULL, 0, &q.y);
}
NN_OPERATOR(AscendAntiQuant, plan_anti_quant, .types = NN_TYPE(ACL_INT8))

/* (x, scales, zeroPoints, dtype, axis, out): out = round(x / scale) + zero point */
static aclnnStatus plan_quantize(struct nn_plan *p)
{
    struct quant q;
    double limits[2];
    NN_CHECK(read_quant(p, p->op->types, QUANTIZED, nn_whole(p, 4), &q));
    if (nn_whole(p, 3) != q.y.type) {
        return NN_INVALID(p, "dtype is %s, out has the type %s", nn_type_name((aclDataType)nn_whole(p, 3)),
                          nn_type_name(q.y.type));
    }
    if (q.y.count == 0) {
        return ACLNN_SUCCESS;
    }
    set_limits(q.y.type, limits);
    const struct nn_map_input in[] = {{.view = &q.x}, {.view = &q.scale}, input_of(&q.offset)};
    return nn_map(p, NN_MAP_KERNEL(Quantize), ACL_FLOAT, in, 3, limits, 2, &q.y);
}
NN_OPERATOR(Quantize, plan_quantize, .types = NN_FLOATS16_32)

/* ---- scales of rows ---- */

static aclnnStatus reduce_rows(struct nn_plan *p, enum op_reduce_code code, const struct nn_view *x, double scale,
                               const struct nn_view *z)
{
    bool reduced[NN_DIMS] = {false};
    reduced[x->rank - 1] = true;
    const struct nn_reduce r = {
        .code = code, .finish = scale != 1 ? OP_FINISH_SCALE : OP_FINISH_NONE, .x = x, .z = z, .s = scale};
    return nn_reduce(p, code == OP_REDUCE_MIN ? "ReduceMin" : "ReduceMax", &r, reduced);
}

/* One element per row of x as a view like x. */
static void like_rows(const struct nn_view *rows, const struct nn_view *x, struct nn_view *spread)
{
    *spread = *rows;
    spread->rank = x->rank;
    spread->count = x->count;
    spread->dims[x->rank - 1] = x->dims[x->rank - 1];
    spread->steps[x->rank - 1] = 0;
}

/* y = round(x / scale + offset) with a scale and, if asymmetric, an offset per row. */
static aclnnStatus quantize_rows(struct nn_plan *p, const struct nn_view *x, const struct nn_view *y,
                                 const struct nn_view *scale, const struct nn_view *offset)
{
    struct nn_view top, bottom, scales, offsets = {0};
    double limits[2];
    set_limits(y->type, limits);
    NN_CHECK(nn_workspace(p, ACL_FLOAT, x->rank - 1, x->dims, &top));
    if (!nn_is_there(offset)) {
        NN_CHECK(reduce_rows(p, OP_REDUCE_ABS_MAX, x, 1 / limits[1], &top));
        like_rows(&top, x, &scales);
    } else {
        struct nn_view range, shift;
        NN_CHECK(nn_workspace(p, ACL_FLOAT, x->rank - 1, x->dims, &bottom));
        NN_CHECK(nn_workspace(p, ACL_FLOAT, x->rank - 1, x->dims, &range));
        NN_CHECK(nn_workspace(p, ACL_FLOAT, x->rank - 1, x->dims, &shift));
        NN_CHECK(reduce_rows(p, OP_REDUCE_MAX, x, 1, &top));
        NN_CHECK(reduce_rows(p, OP_REDUCE_MIN, x, 1, &bottom));
        const double one = 1;
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(Sub), ACL_FLOAT,
                        (const struct nn_map_input[]){{.view = &top}, {.view = &bottom}}, 2, &one, 1, &range));
        const double factor = 1 / (limits[1] - limits[0]);
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(Mul), ACL_FLOAT,
                        (const struct nn_map_input[]){{.view = &range}, {.constant = {factor, 0}}}, 2, NULL, 0,
                        &range));
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(DynamicQuantOffset), ACL_FLOAT,
                        (const struct nn_map_input[]){{.view = &top}, {.view = &range}}, 2, &limits[1], 1, &shift));
        NN_CHECK(nn_move(p, &shift, offset));
        top = range;
        like_rows(&range, x, &scales);
        like_rows(&shift, x, &offsets);
    }
    NN_CHECK(nn_move(p, &top, scale));
    const struct nn_map_input in[] = {{.view = x}, {.view = &scales}, input_of(&offsets)};
    return nn_map(p, NN_MAP_KERNEL(DynamicQuantV2), ACL_FLOAT, in, 3, limits, 2, y);
}

/* (x, smoothScales[, groupIndex, dstType], y, scale[, offset]) */
static aclnnStatus plan_dynamic_quant(struct nn_plan *p)
{
    struct nn_view x, smooth, y, scale, offset = {0}, scaled;
    const bool later = p->count == 7;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor_optional(p, 1, p->op->types, &smooth));
    NN_CHECK(nn_tensor(p, later ? 4 : 2, NN_TYPE(ACL_INT8), &y));
    NN_CHECK(nn_tensor(p, later ? 5 : 3, NN_TYPE(ACL_FLOAT), &scale));
    if (later) {
        if (nn_given(p, 2)) {
            return NN_INVALID(p, "%s is not supported", p->params[2].name);
        }
        NN_CHECK(nn_tensor_optional(p, 6, NN_TYPE(ACL_FLOAT), &offset));
    }
    if (x.rank == 0) {
        return NN_INVALID(p, "x must have at least 1 dimension");
    }
    NN_CHECK(nn_expect_shape(p, "y", &y, x.rank, x.dims));
    NN_CHECK(nn_expect_shape(p, "scale", &scale, x.rank - 1, x.dims));
    if (nn_is_there(&offset)) {
        NN_CHECK(nn_expect_shape(p, "offset", &offset, x.rank - 1, x.dims));
    }
    NN_CHECK(along_axis(p, 1, &x, x.rank - 1, &smooth));
    if (x.count == 0) {
        return ACLNN_SUCCESS;
    }
    if (nn_is_there(&smooth)) {
        NN_CHECK(nn_workspace(p, ACL_FLOAT, x.rank, x.dims, &scaled));
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(Mul), ACL_FLOAT,
                        (const struct nn_map_input[]){{.view = &x}, {.view = &smooth}}, 2, NULL, 0, &scaled));
        x = scaled;
    }
    return quantize_rows(p, &x, &y, &scale, &offset);
}
NN_OPERATOR(DynamicQuant, plan_dynamic_quant, .types = NN_FLOATS16_32)
NN_OPERATOR(DynamicQuantV2, plan_dynamic_quant, .types = NN_FLOATS16_32)

/* ---- quantised values as reals, for training ---- */

/* (self, scale, zeroPoint, enabled or axis, quantMin, quantMax, out, mask) */
static aclnnStatus plan_fake_quant(struct nn_plan *p)
{
    struct nn_view x, scale, zero, z, mask;
    uint64_t axis = 0;
    const double limits[] = {(double)nn_whole(p, 4), (double)nn_whole(p, 5)};
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, 1, NN_REALS, &scale));
    NN_CHECK(nn_tensor(p, 2, NN_REALS | NN_INTEGERS, &zero));
    NN_CHECK(nn_tensor(p, 6, p->op->types, &z));
    NN_CHECK(nn_tensor(p, 7, NN_TYPE(ACL_BOOL), &mask));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    NN_CHECK(nn_expect_shape(p, "mask", &mask, x.rank, x.dims));
    if (limits[0] > limits[1]) {
        return NN_INVALID(p, "quantMin %g is greater than quantMax %g", limits[0], limits[1]);
    }
    if (p->op->flags != 0) {
        NN_CHECK(nn_axis(p, nn_whole(p, 3), x.rank, &axis));
    }
    NN_CHECK(along_axis(p, 1, &x, axis, &scale));
    NN_CHECK(along_axis(p, 2, &x, axis, &zero));
    if (x.count == 0) {
        return ACLNN_SUCCESS;
    }
    if (p->op->flags == 0 && nn_real(p, 3) == 0) {
        NN_CHECK(nn_move(p, &x, &z));
        return nn_fill(p, "OnesLike", &mask, &(struct op_number){1, 1}, ACL_BOOL);
    }
    const struct nn_map_input in[] = {{.view = &x}, {.view = &scale}, {.view = &zero}};
    NN_CHECK(nn_map(p, NN_MAP_KERNEL(FakeQuant), ACL_FLOAT, in, 3, limits, 2, &z));
    return nn_map(p, NN_MAP_KERNEL(FakeQuantMask), ACL_FLOAT, in, 3, limits, 2, &mask);
}
NN_OPERATOR(FakeQuantPerTensorAffineCachemask, plan_fake_quant, .types = NN_FLOATS16_32)
NN_OPERATOR(FakeQuantPerChannelAffineCachemask, plan_fake_quant, .types = NN_FLOATS16_32, .flags = 1)
