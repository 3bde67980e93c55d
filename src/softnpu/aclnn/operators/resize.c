/* SPDX-License-Identifier: Apache-2.0 */
/* Padding by copies of elements, interpolation, and the gradients of both. */
#include "softnpu/aclnn/op.h"

#include <math.h>

/* How one of the last dimensions changes. */
struct axis_rule {
    enum op_resize_mode mode;
    uint64_t in, out; /* of the forward operator */
    int64_t before;
    float scale;
    bool align;
};

struct taps {
    struct nn_view start, source, weight;
};

static aclnnStatus make_table(struct nn_plan *p, uint64_t elements, uint64_t taps, struct taps *table)
{
    NN_CHECK(nn_workspace(p, ACL_INT32, 1, (const uint64_t[]){elements + 2}, &table->start));
    NN_CHECK(nn_workspace(p, ACL_INT32, 1, &taps, &table->source));
    return nn_workspace(p, ACL_FLOAT, 1, &taps, &table->weight);
}

static uint64_t most_taps(const struct axis_rule *rule)
{
    const double wide = rule->scale > 1 ? (double)rule->scale : 1;
    switch (rule->mode) {
    case OP_RESIZE_LINEAR:
        return 2;
    case OP_RESIZE_CUBIC:
        return 4;
    case OP_RESIZE_LINEAR_AA:
        return (uint64_t)ceil(wide) * 2 + 1;
    case OP_RESIZE_CUBIC_AA:
        return (uint64_t)ceil(2 * wide) * 2 + 1;
    default:
        return 1;
    }
}

static aclnnStatus prepare(struct nn_plan *p, const struct axis_rule *rule, bool back, struct taps *table)
{
    struct taps other = {0};
    struct op_taps_args args = {
        .mode = rule->mode,
        .in = rule->in,
        .out = rule->out,
        .most = most_taps(rule),
        .before = rule->before,
        .scale = rule->scale,
        .align = rule->align,
        .back = back,
    };
    if (rule->in > INT32_MAX / 2 || rule->out > INT32_MAX / 2 / args.most) {
        return NN_INVALID(p, "a dimension of %llu elements becomes one of %llu, which is too large",
                          (unsigned long long)rule->in, (unsigned long long)rule->out);
    }
    NN_CHECK(make_table(p, rule->out, rule->out * args.most, table));
    if (back) {
        NN_CHECK(make_table(p, rule->in, rule->out * args.most, &other));
    }
    NN_CHECK(
        nn_launch(p, "ResizeTaps", &args, sizeof args,
                  (const struct nn_address *[]){&table->start.address, &table->source.address, &table->weight.address,
                                                &other.start.address, &other.source.address, &other.weight.address},
                  6, 1));
    *table = back ? other : *table;
    return ACLNN_SUCCESS;
}

/* z from x by rules for the last `count` dimensions; back: gradient of the input from that of the output. */
static aclnnStatus resample(struct nn_plan *p, const struct nn_view *x, const struct nn_view *z,
                            const struct axis_rule *rules, uint32_t count, bool back)
{
    const bool copies = rules[0].mode < OP_RESIZE_LINEAR && !back;
    const aclDataType type = copies ? z->type : ACL_FLOAT;
    struct nn_view dense_x, dense_z;
    struct taps tables[OP_RESIZE_DIMS];
    if (x->type != z->type) {
        return NN_INVALID(p, "the input has the type %s, the output %s", nn_type_name(x->type), nn_type_name(z->type));
    }
    struct op_resample_args args = {.planes = 1, .size_b = aclDataTypeSize(type)};
    for (uint64_t i = 0; i + count < x->rank; i++) {
        args.planes *= x->dims[i];
    }
    if (z->count == 0) {
        return ACLNN_SUCCESS;
    }
    if (x->count == 0) {
        return NN_INVALID(p, "the input has no elements");
    }
    NN_CHECK(nn_dense_input(p, type, x, &dense_x));
    NN_CHECK(nn_dense_output(p, type, z, &dense_z));
    const struct nn_address *addresses[2 + 3 * OP_RESIZE_DIMS] = {&dense_x.address, &dense_z.address};
    for (uint32_t i = 0; i < OP_RESIZE_DIMS; i++) {
        const uint32_t missing = OP_RESIZE_DIMS - count;
        const struct axis_rule same = {.mode = OP_RESIZE_SAME, .in = 1, .out = 1};
        const struct axis_rule *rule = i < missing ? &same : &rules[i - missing];
        args.in[i] = back ? rule->out : rule->in;
        args.out[i] = back ? rule->in : rule->out;
        NN_CHECK(prepare(p, rule, back, &tables[i]));
        addresses[2 + i] = &tables[i].start.address;
        addresses[2 + OP_RESIZE_DIMS + i] = &tables[i].source.address;
        addresses[2 + 2 * OP_RESIZE_DIMS + i] = &tables[i].weight.address;
    }
    NN_CHECK(
        nn_launch(p, p->op->kernel, &args, sizeof args, addresses, 2 + 3 * OP_RESIZE_DIMS, x->count + 4 * z->count));
    return nn_dense_output_done(p, &dense_z, z);
}

/* ---- padding ---- */

/* (self, padding, out), or for gradients (gradOutput, self, padding, gradInput); flags: number of dimensions. */
static aclnnStatus pad(struct nn_plan *p, bool back)
{
    const uint32_t count = p->op->flags;
    struct nn_view x, out, grad;
    const int64_t *padding;
    uint64_t length;
    struct axis_rule rules[OP_RESIZE_DIMS];
    NN_CHECK(nn_tensor(p, back ? 1 : 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, back ? 0 : 2, p->op->types, &out));
    NN_CHECK(nn_ints(p, back ? 2 : 1, &padding, &length));
    if (length != 2 * count || (x.rank != count + 1 && x.rank != count + 2)) {
        return NN_INVALID(p, "padding has %llu entries, the tensor has %llu dimensions", (unsigned long long)length,
                          (unsigned long long)x.rank);
    }
    struct nn_view shape = x;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t axis = x.rank - count + i;
        const int64_t before = padding[2 * (count - 1 - i)], after = padding[2 * (count - 1 - i) + 1];
        const int64_t in = (int64_t)x.dims[axis], limit = p->op->code == OP_RESIZE_REFLECT ? in - 1 : in;
        const bool any = p->op->code == OP_RESIZE_EDGE;
        if (before > INT32_MAX || after > INT32_MAX || before < -in || after < -in || in + before + after < 1 ||
            (!any && (before > limit || after > limit))) {
            return NN_INVALID(p, "padding %lld and %lld do not fit to %lld elements", (long long)before,
                              (long long)after, (long long)in);
        }
        shape.dims[axis] = (uint64_t)(in + before + after);
        rules[i] =
            (struct axis_rule){.mode = p->op->code, .in = x.dims[axis], .out = shape.dims[axis], .before = before};
    }
    NN_CHECK(nn_expect_shape(p, back ? "gradOutput" : "out", &out, shape.rank, shape.dims));
    if (!back) {
        return resample(p, &x, &out, rules, count, false);
    }
    NN_CHECK(nn_tensor(p, 3, p->op->types, &grad));
    NN_CHECK(nn_expect_shape(p, "gradInput", &grad, x.rank, x.dims));
    return resample(p, &out, &grad, rules, count, true);
}

static aclnnStatus plan_pad(struct nn_plan *p)
{
    return pad(p, false);
}

static aclnnStatus plan_pad_backward(struct nn_plan *p)
{
    return pad(p, true);
}

#define NN_PAD(name, count, padding_mode, kernel_name)                                                                 \
    NN_OPERATOR(name, plan_pad, .flags = count, .code = padding_mode, .kernel = kernel_name, .types = NN_MOVABLE)
#define NN_PAD_GRAD(name, count, padding_mode, kernel_name)                                                            \
    NN_OPERATOR(name, plan_pad_backward, .flags = count, .code = padding_mode, .kernel = kernel_name,                  \
                .types = NN_FLOATS16_32)
NN_PAD(ReflectionPad1d, 1, OP_RESIZE_REFLECT, "MirrorPad")
NN_PAD(ReflectionPad2d, 2, OP_RESIZE_REFLECT, "MirrorPad")
NN_PAD(ReflectionPad3d, 3, OP_RESIZE_REFLECT, "MirrorPad")
NN_PAD(ReplicationPad1d, 1, OP_RESIZE_EDGE, "EdgePad")
NN_PAD(ReplicationPad2d, 2, OP_RESIZE_EDGE, "EdgePad")
NN_PAD(ReplicationPad3d, 3, OP_RESIZE_EDGE, "EdgePad")
NN_PAD(CircularPad2d, 2, OP_RESIZE_CIRCULAR, "CircularPad")
NN_PAD(CircularPad3d, 3, OP_RESIZE_CIRCULAR, "CircularPad")
NN_PAD_GRAD(ReflectionPad1dBackward, 1, OP_RESIZE_REFLECT, "MirrorPadGrad")
NN_PAD_GRAD(ReflectionPad2dBackward, 2, OP_RESIZE_REFLECT, "MirrorPadGrad")
NN_PAD_GRAD(ReflectionPad3dBackward, 3, OP_RESIZE_REFLECT, "MirrorPadGrad")
NN_PAD_GRAD(ReplicationPad1dBackward, 1, OP_RESIZE_EDGE, "EdgePadGrad")
NN_PAD_GRAD(ReplicationPad2dBackward, 2, OP_RESIZE_EDGE, "EdgePadGrad")
NN_PAD_GRAD(ReplicationPad3dBackward, 3, OP_RESIZE_EDGE, "EdgePadGrad")
NN_PAD_GRAD(CircularPad2dBackward, 2, OP_RESIZE_CIRCULAR, "CircularPadGrad")
NN_PAD_GRAD(CircularPad3dBackward, 3, OP_RESIZE_CIRCULAR, "CircularPadGrad")

/* ---- interpolation ---- */

enum { DIMS_MASK = 3, HAS_ALIGN = 4, IS_GRAD = 8 };

/* Distance of two outputs in the input. A scale that does not lead to the size of the output is not a scale that the
 * caller gave (frameworks pass 0 or 1 if there is none). */
static float distance(uint64_t in, uint64_t out, bool align, double scale)
{
    if (align) {
        return out > 1 ? (float)(in - 1) / (float)(out - 1) : 0;
    }
    const bool given =
        scale > 0 && ((uint64_t)floor((double)in * scale) == out || (uint64_t)floor((double)in * scale + 1e-4) == out);
    return given ? (float)(1 / scale) : (float)in / (float)out;
}

/* (self, outputSize, [alignCorners], [scales ...], out), or
 * (gradOut, outputSize, inputSize, [alignCorners], [scales ...], out); scales from the outermost dimension on */
static aclnnStatus plan_upsample(struct nn_plan *p)
{
    const uint32_t count = p->op->flags & DIMS_MASK;
    const bool back = p->op->flags & IS_GRAD;
    struct nn_view x, z;
    const int64_t *sizes, *shape;
    uint64_t size_count, shape_rank;
    uint32_t at = back ? 3 : 2;
    struct axis_rule rules[OP_RESIZE_DIMS];
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, p->count - 1, p->op->types, &z));
    NN_CHECK(nn_ints(p, 1, &sizes, &size_count));
    if (size_count != count || x.rank != count + 2 || z.rank != x.rank) {
        return NN_INVALID(p, "outputSize has %llu entries, the tensors have %llu and %llu dimensions",
                          (unsigned long long)size_count, (unsigned long long)x.rank, (unsigned long long)z.rank);
    }
    const bool align = p->op->flags & HAS_ALIGN ? nn_whole(p, at++) : false;
    const struct nn_view *small = back ? &z : &x, *large = back ? &x : &z;
    if (back) {
        NN_CHECK(nn_ints(p, 2, &shape, &shape_rank));
        for (uint64_t i = 0; i < z.rank; i++) {
            if (shape_rank != z.rank || shape[i] != (int64_t)z.dims[i]) {
                return NN_INVALID(p, "inputSize differs from the shape of the output, %s",
                                  nn_shape_text(z.rank, z.dims));
            }
        }
    }
    for (uint32_t i = 0; i < count + 2; i++) {
        if (i < 2 ? x.dims[i] != z.dims[i] : (sizes[i - 2] != (int64_t)large->dims[i] || sizes[i - 2] < 1)) {
            return NN_INVALID(p, "outputSize and the shapes %s and %s do not fit", nn_shape_text(x.rank, x.dims),
                              nn_shape_text(z.rank, z.dims));
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const double scale = at + i < p->count - 1 ? nn_real(p, at + i) : 0;
        const uint64_t in = small->dims[2 + i], out = large->dims[2 + i];
        rules[i] = (struct axis_rule){
            .mode = p->op->code, .in = in, .out = out, .align = align, .scale = distance(in, out, align, scale)};
    }
    return resample(p, &x, &z, rules, count, back);
}

#define NN_UPSAMPLE(name, flag_bits, resize_mode, kernel_name, input_types)                                            \
    NN_OPERATOR(name, plan_upsample, .flags = flag_bits, .code = resize_mode, .kernel = kernel_name,                   \
                .types = input_types)
#define NN_NEAREST(name, count, resize_mode) NN_UPSAMPLE(name, count, resize_mode, "UpsampleNearest", NN_MOVABLE)
#define NN_NEAREST_GRAD(name, count, resize_mode)                                                                      \
    NN_UPSAMPLE(name, count | IS_GRAD, resize_mode, "UpsampleNearestGrad", NN_FLOATS16_32)
#define NN_SMOOTH(name, count, resize_mode, kernel_name)                                                               \
    NN_UPSAMPLE(name, count | HAS_ALIGN, resize_mode, kernel_name, NN_FLOATS16_32)
#define NN_SMOOTH_GRAD(name, count, resize_mode, kernel_name)                                                          \
    NN_UPSAMPLE(name, count | HAS_ALIGN | IS_GRAD, resize_mode, kernel_name, NN_FLOATS16_32)
NN_NEAREST(UpsampleNearest1d, 1, OP_RESIZE_NEAREST)
NN_NEAREST(UpsampleNearest1dV2, 1, OP_RESIZE_NEAREST)
NN_NEAREST(UpsampleNearest2d, 2, OP_RESIZE_NEAREST)
NN_NEAREST(UpsampleNearest2dV2, 2, OP_RESIZE_NEAREST)
NN_NEAREST(UpsampleNearest3d, 3, OP_RESIZE_NEAREST)
NN_NEAREST(UpsampleNearestExact1d, 1, OP_RESIZE_EXACT)
NN_NEAREST(UpsampleNearestExact2d, 2, OP_RESIZE_EXACT)
NN_NEAREST(UpsampleNearestExact3d, 3, OP_RESIZE_EXACT)
NN_NEAREST_GRAD(UpsampleNearest1dBackward, 1, OP_RESIZE_NEAREST)
NN_NEAREST_GRAD(UpsampleNearest2dBackward, 2, OP_RESIZE_NEAREST)
NN_NEAREST_GRAD(UpsampleNearest3dBackward, 3, OP_RESIZE_NEAREST)
NN_NEAREST_GRAD(UpsampleNearestExact1dBackward, 1, OP_RESIZE_EXACT)
NN_NEAREST_GRAD(UpsampleNearestExact2dBackward, 2, OP_RESIZE_EXACT)
NN_NEAREST_GRAD(UpsampleNearestExact3dBackward, 3, OP_RESIZE_EXACT)
NN_SMOOTH(UpsampleLinear1d, 1, OP_RESIZE_LINEAR, "UpsampleLinear1d")
NN_SMOOTH(UpsampleBilinear2d, 2, OP_RESIZE_LINEAR, "UpsampleBilinear2d")
NN_SMOOTH(UpsampleTrilinear3d, 3, OP_RESIZE_LINEAR, "UpsampleTrilinear3d")
NN_SMOOTH(UpsampleBicubic2d, 2, OP_RESIZE_CUBIC, "UpsampleBicubic2d")
NN_SMOOTH(UpsampleBilinear2dAA, 2, OP_RESIZE_LINEAR_AA, "UpsampleBilinear2d")
NN_SMOOTH(UpsampleBicubic2dAA, 2, OP_RESIZE_CUBIC_AA, "UpsampleBicubic2d")
NN_SMOOTH_GRAD(UpsampleLinear1dBackward, 1, OP_RESIZE_LINEAR, "UpsampleLinear1dGrad")
NN_SMOOTH_GRAD(UpsampleBilinear2dBackward, 2, OP_RESIZE_LINEAR, "UpsampleBilinear2dGrad")
NN_SMOOTH_GRAD(UpsampleBilinear2dBackwardV2, 2, OP_RESIZE_LINEAR, "UpsampleBilinear2dGrad")
NN_SMOOTH_GRAD(UpsampleTrilinear3dBackward, 3, OP_RESIZE_LINEAR, "UpsampleTrilinear3dGrad")
NN_SMOOTH_GRAD(UpsampleBicubic2dBackward, 2, OP_RESIZE_CUBIC, "UpsampleBicubic2dGrad")
NN_SMOOTH_GRAD(UpsampleBilinear2dAABackward, 2, OP_RESIZE_LINEAR_AA, "UpsampleBilinear2dGrad")
NN_SMOOTH_GRAD(UpsampleBicubic2dAAGrad, 2, OP_RESIZE_CUBIC_AA, "UpsampleBicubic2dGrad")
