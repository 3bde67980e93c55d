/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose values come from positions: sequences, triangles, one-hot vectors. */
#include "softnpu/aclnn/operators/layout.h"

#include "softnpu/kernels/convert.h"

static aclnnStatus launch_sequence(struct nn_plan *p, const struct nn_view *z, struct op_range_args *args)
{
    if (z->count == 0) {
        return ACLNN_SUCCESS;
    }
    args->count = z->count;
    nn_tile(&args->loop, (struct op_side *[]){&args->z_side}, (const struct nn_view *[]){z}, 1);
    return nn_launch(p, p->op->kernel, args, sizeof *args, (const struct nn_address *[]){&z->address}, 1, z->count);
}

/* (start, end, step, out): the number of elements is that of out. */
static aclnnStatus plan_range(struct nn_plan *p)
{
    struct nn_view z;
    struct op_number end;
    aclDataType types[3];
    struct op_range_args args = {0};
    NN_CHECK(nn_scalar(p, 0, NN_MOVABLE, &args.start, &types[0]));
    NN_CHECK(nn_scalar(p, 1, NN_MOVABLE, &end, &types[1]));
    NN_CHECK(nn_scalar(p, 2, NN_MOVABLE, &args.step, &types[2]));
    NN_CHECK(nn_tensor(p, 3, p->op->types, &z));
    const bool real = nn_is_real(types[0]) || nn_is_real(types[2]) || nn_is_real(z.type);
    if (args.step.real == 0 || (args.step.real > 0 ? end.real < args.start.real : end.real > args.start.real)) {
        return NN_INVALID(p, "a step of %g does not lead from %g to %g", args.step.real, args.start.real, end.real);
    }
    args.kind = real ? TK_KIND_REAL : TK_KIND_SIGNED;
    return launch_sequence(p, &z, &args);
}
NN_OPERATOR(Arange, plan_range, .kernel = "Range", .types = NN_REALS | NN_INTEGERS)
NN_OPERATOR(Range, plan_range, .kernel = "Range", .types = NN_REALS | NN_INTEGERS)

/* (start, end, steps, out) and (start, end, steps, base, result) */
static aclnnStatus plan_linspace(struct nn_plan *p)
{
    struct nn_view z;
    struct op_number end;
    aclDataType type;
    struct op_range_args args = {.kind = TK_KIND_REAL};
    const int64_t steps = nn_whole(p, 2);
    NN_CHECK(nn_scalar(p, 0, NN_MOVABLE, &args.start, &type));
    NN_CHECK(nn_scalar(p, 1, NN_MOVABLE, &end, &type));
    NN_CHECK(nn_tensor(p, p->count - 1, p->op->types, &z));
    if (steps < 0 || (uint64_t)steps != z.count) {
        return NN_INVALID(p, "steps is %lld, the output has %llu elements", (long long)steps,
                          (unsigned long long)z.count);
    }
    args.step.real = steps > 1 ? (end.real - args.start.real) / (double)(steps - 1) : 0;
    args.end = steps > 1 ? end.real : args.start.real;
    args.base = p->count == 5 ? nn_real(p, 3) : 0;
    return launch_sequence(p, &z, &args);
}
NN_OPERATOR(Linspace, plan_linspace, .kernel = "LinSpace", .types = NN_REALS | NN_INTEGERS)
NN_OPERATOR(LogSpace, plan_linspace, .kernel = "LogSpace", .types = NN_REALS)

/* (self, diagonal, out), or (selfRef, diagonal); code 1: the upper triangle. */
static aclnnStatus plan_triangle(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, p->count == 3 ? 2 : 0, NN_MOVABLE, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    if (x.rank < 2 || x.type != z.type) {
        return NN_INVALID(p, "self has %llu dimensions and the type %s, out %s", (unsigned long long)x.rank,
                          nn_type_name(x.type), nn_type_name(z.type));
    }
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    const uint64_t last = x.rank - 1;
    struct op_triangle_args args = {
        .rows = x.dims[last - 1],
        .cols = x.dims[last],
        .x_step = x.steps[last],
        .z_step = z.steps[last],
        .diagonal = nn_whole(p, 1),
        .upper = p->op->code,
    };
    const int64_t limit = (int64_t)(args.rows + args.cols);
    args.diagonal = args.diagonal > limit ? limit : args.diagonal < -limit ? -limit : args.diagonal;
    const struct nn_view x_rows = nn_pick(&x, last, 0), z_rows = nn_pick(&z, last, 0);
    nn_tile(&args.loop, (struct op_side *[]){&args.x_side, &args.z_side}, (const struct nn_view *[]){&x_rows, &z_rows},
            2);
    return nn_launch(p, "Trilu", &args, sizeof args, (const struct nn_address *[]){&x.address, &z.address}, 2, x.count);
}
NN_OPERATOR(Triu, plan_triangle, .types = NN_MOVABLE, .code = 1)
NN_OPERATOR(Tril, plan_triangle, .types = NN_MOVABLE)
NN_OPERATOR(InplaceTriu, plan_triangle, .types = NN_MOVABLE, .code = 1)
NN_OPERATOR(InplaceTril, plan_triangle, .types = NN_MOVABLE)

/* (self, numClasses, onValue, offValue, axis, out) */
static aclnnStatus plan_one_hot(struct nn_plan *p)
{
    struct nn_view index, on, off, z;
    uint64_t axis;
    const int64_t classes = (int32_t)nn_whole(p, 1);
    NN_CHECK(nn_tensor(p, 0, p->op->types, &index));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &on));
    NN_CHECK(nn_tensor(p, 3, NN_MOVABLE, &off));
    NN_CHECK(nn_tensor(p, 5, NN_MOVABLE, &z));
    NN_CHECK(nn_axis(p, nn_whole(p, 4), index.rank + 1, &axis));
    if (classes < 0 || index.rank >= NN_DIMS || on.count != 1 || off.count != 1) {
        return NN_INVALID(p, "numClasses is %lld, onValue has %llu elements, offValue %llu", (long long)classes,
                          (unsigned long long)on.count, (unsigned long long)off.count);
    }
    struct nn_view shape = nn_unsqueezed(&index, axis);
    shape.dims[axis] = (uint64_t)classes;
    NN_CHECK(nn_expect_shape(p, "out", &z, shape.rank, shape.dims));
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    struct op_one_hot_args args = {
        .on_type = on.type, .off_type = off.type, .classes = (uint64_t)classes, .z_step = z.steps[axis]};
    const struct nn_view rows = nn_pick(&z, axis, 0);
    nn_tile(&args.loop, (struct op_side *[]){&args.index_side, &args.z_side}, (const struct nn_view *[]){&index, &rows},
            2);
    return nn_launch(p, "OneHot", &args, sizeof args,
                     (const struct nn_address *[]){&index.address, &on.address, &off.address, &z.address}, 4, z.count);
}
NN_OPERATOR(OneHot, plan_one_hot, .types = NN_INDEX | NN_TYPE(ACL_UINT8))
