/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions. The wide side is the input of a convolution and the output of a transposed one, the narrow side is the
 * other; the weight is [narrow channels, wide channels / groups, taps] in both. Three launches cover all operators: to
 * the narrow side, to the wide side, and to the weight. Halves are converted to float32 and rounded once. */
#include "softnpu/aclnn/operators/product.h"
#include "softnpu/aclnn/operators/reduce.h"

enum { MAX_SPATIAL = OP_SPATIAL };

struct axis {
    uint64_t wide, narrow, taps;
    int64_t stride, pad, pad_end, dilation, extra;
};

struct conv {
    uint64_t batch, groups, wide_channels, narrow_channels;
    uint64_t spatial; /* dimensions, 1 to 3 */
    bool transposed;
    struct axis axis[MAX_SPATIAL]; /* depth, height, width; the missing ones come first */
};

/* Element i of an array with one element, or one per dimension. */
static aclnnStatus entry_of(struct nn_plan *p, uint32_t param, uint64_t spatial, uint64_t i, int64_t least,
                            int64_t *value)
{
    const int64_t *values;
    uint64_t count;
    NN_CHECK(nn_ints(p, param, &values, &count));
    if (count != 1 && count != spatial) {
        return NN_INVALID(p, "%s has %llu entries, 1 or %llu are required", p->params[param].name,
                          (unsigned long long)count, (unsigned long long)spatial);
    }
    *value = values[count == 1 ? 0 : i];
    if (*value < least || *value > INT32_MAX) {
        return NN_INVALID(p, "%s: the entry %lld is out of range", p->params[param].name, (long long)*value);
    }
    return ACLNN_SUCCESS;
}

/* Padding has one entry per dimension, or one for each end of every dimension. */
static aclnnStatus padding_of(struct nn_plan *p, uint32_t param, uint64_t spatial, uint64_t i, struct axis *axis)
{
    const int64_t *values;
    uint64_t count;
    NN_CHECK(nn_ints(p, param, &values, &count));
    if (count == 2 * spatial && spatial > 1) {
        axis->pad = values[2 * i];
        axis->pad_end = values[2 * i + 1];
        if (axis->pad < 0 || axis->pad_end < 0 || axis->pad > INT32_MAX || axis->pad_end > INT32_MAX) {
            return NN_INVALID(p, "%s: an entry is out of range", p->params[param].name);
        }
        return ACLNN_SUCCESS;
    }
    NN_CHECK(entry_of(p, param, spatial, i, 0, &axis->pad));
    axis->pad_end = axis->pad;
    return ACLNN_SUCCESS;
}

/* Indices of parameters; NONE for those that a signature does not have. */
enum { NONE = UINT32_MAX };
struct settings {
    uint32_t stride, padding, dilation, output_padding;
    bool transposed;
    int64_t groups;
};

/* Checks the shapes of both sides and of the weight, [batch, channels, spatial ...] each. */
static aclnnStatus describe(struct nn_plan *p, const struct settings *s, const struct nn_view *in,
                            const struct nn_view *weight, const struct nn_view *out, struct conv *c)
{
    if (in->rank < 3 || in->rank > 2 + MAX_SPATIAL || weight->rank != in->rank || out->rank != in->rank) {
        return NN_INVALID(p, "input %s, weight %s and output %s must have the same 3 to 5 dimensions",
                          nn_shape_text(in->rank, in->dims), nn_shape_text(weight->rank, weight->dims),
                          nn_shape_text(out->rank, out->dims));
    }
    const struct nn_view *wide = s->transposed ? out : in, *narrow = s->transposed ? in : out;
    *c = (struct conv){.batch = in->dims[0],
                       .groups = (uint64_t)s->groups,
                       .wide_channels = wide->dims[1],
                       .narrow_channels = narrow->dims[1],
                       .spatial = in->rank - 2,
                       .transposed = s->transposed};
    if (s->groups < 1 || c->wide_channels % c->groups != 0 || c->narrow_channels % c->groups != 0 ||
        weight->dims[0] != c->narrow_channels || weight->dims[1] != c->wide_channels / c->groups ||
        in->dims[0] != out->dims[0]) {
        return NN_INVALID(p, "input %s, weight %s, output %s and %lld groups do not fit",
                          nn_shape_text(in->rank, in->dims), nn_shape_text(weight->rank, weight->dims),
                          nn_shape_text(out->rank, out->dims), (long long)s->groups);
    }
    for (uint64_t i = 0; i < MAX_SPATIAL; i++) {
        struct axis *axis = &c->axis[i];
        *axis = (struct axis){.wide = 1, .narrow = 1, .taps = 1, .stride = 1, .dilation = 1};
        if (i < MAX_SPATIAL - c->spatial) {
            continue;
        }
        const uint64_t at = i - (MAX_SPATIAL - c->spatial);
        axis->wide = wide->dims[at + 2];
        axis->narrow = narrow->dims[at + 2];
        axis->taps = weight->dims[at + 2];
        NN_CHECK(entry_of(p, s->stride, c->spatial, at, 1, &axis->stride));
        if (s->padding != NONE) {
            NN_CHECK(padding_of(p, s->padding, c->spatial, at, axis));
        }
        if (s->dilation != NONE) {
            NN_CHECK(entry_of(p, s->dilation, c->spatial, at, 1, &axis->dilation));
        }
        if (s->transposed) {
            NN_CHECK(entry_of(p, s->output_padding, c->spatial, at, 0, &axis->extra));
        }
        if (axis->taps > INT32_MAX || axis->wide > INT32_MAX || axis->narrow > INT32_MAX) {
            return NN_INVALID(p, "a dimension exceeds %d", INT32_MAX);
        }
        const int64_t reach = axis->dilation * ((int64_t)axis->taps - 1) + 1, pads = axis->pad + axis->pad_end;
        const int64_t room = (int64_t)axis->wide + pads - reach;
        const bool fits = s->transposed ? (int64_t)axis->wide ==
                                              ((int64_t)axis->narrow - 1) * axis->stride - pads + reach + axis->extra
                                        : room >= 0 && (int64_t)axis->narrow == room / axis->stride + 1;
        if (!fits || axis->taps == 0) {
            return NN_INVALID(p, "output %s does not follow from input %s and weight %s",
                              nn_shape_text(out->rank, out->dims), nn_shape_text(in->rank, in->dims),
                              nn_shape_text(weight->rank, weight->dims));
        }
    }
    return ACLNN_SUCCESS;
}

/* ---- launches; all views are dense and float32 ---- */

static aclnnStatus launch(struct nn_plan *p, const struct conv *c, const char *flat, const char *deep,
                          const struct op_conv_args *args, const struct nn_view *source, const struct nn_view *weight,
                          const struct nn_view *out)
{
    uint64_t terms = args->channels, points = args->batch * args->groups * args->rows;
    for (int i = 0; i < OP_SPATIAL; i++) {
        terms *= args->axis[i].taps;
        points *= args->axis[i].points;
    }
    return nn_launch(p, c->spatial == 3 ? deep : flat, args, sizeof *args,
                     (const struct nn_address *[]){&source->address, &weight->address, &out->address}, 3,
                     points * (terms / 16 + 1));
}

/* Columns of the wide side for the points of the narrow side. */
static void narrow_columns(const struct conv *c, struct op_conv_args *args)
{
    for (int i = 0; i < OP_SPATIAL; i++) {
        const struct axis *axis = &c->axis[i];
        args->axis[i] =
            (struct op_conv_axis){axis->wide, axis->narrow, axis->taps, axis->stride, 1, -axis->pad, axis->dilation};
    }
}

static aclnnStatus to_narrow(struct nn_plan *p, const struct conv *c, bool forward, const struct nn_view *wide,
                             const struct nn_view *weight, const struct nn_view *narrow, bool add)
{
    struct op_conv_args args = {.batch = c->batch,
                                .groups = c->groups,
                                .channels = c->wide_channels / c->groups,
                                .rows = c->narrow_channels / c->groups,
                                .gather = 1,
                                .add = add};
    narrow_columns(c, &args);
    return launch(p, c, forward ? "Conv2D" : "Conv2DBackpropInput", forward ? "Conv3D" : "Conv3DBackpropInput", &args,
                  wide, weight, narrow);
}

static aclnnStatus to_wide(struct nn_plan *p, const struct conv *c, bool forward, const struct nn_view *narrow,
                           const struct nn_view *weight, const struct nn_view *wide, bool add)
{
    struct op_conv_args args = {.batch = c->batch,
                                .groups = c->groups,
                                .channels = c->narrow_channels / c->groups,
                                .rows = c->wide_channels / c->groups,
                                .gather = 1,
                                .add = add};
    uint64_t taps = 1;
    for (int i = 0; i < OP_SPATIAL; i++) {
        const struct axis *axis = &c->axis[i];
        taps *= axis->taps;
        args.axis[i] =
            (struct op_conv_axis){axis->narrow, axis->wide, axis->taps, 1, axis->stride, axis->pad, -axis->dilation};
    }
    /* The kernel reads [groups, wide, narrow, taps]. */
    struct nn_view turned, from = *weight;
    const uint64_t dims[] = {c->groups, args.rows, args.channels, taps};
    NN_CHECK(nn_workspace(p, ACL_FLOAT, 4, dims, &turned));
    from.rank = 4;
    const int64_t steps[] = {(int64_t)(args.channels * args.rows * taps), (int64_t)taps, (int64_t)(args.rows * taps),
                             1};
    for (int i = 0; i < 4; i++) {
        from.dims[i] = dims[i];
        from.steps[i] = steps[i];
    }
    NN_CHECK(nn_move(p, &from, &turned));
    return launch(p, c, forward ? "Conv2DTranspose" : "Conv2DBackpropInput",
                  forward ? "Conv3DTranspose" : "Conv3DBackpropInput", &args, narrow, &turned, wide);
}

static aclnnStatus to_weight(struct nn_plan *p, const struct conv *c, const struct nn_view *wide,
                             const struct nn_view *narrow, const struct nn_view *weight)
{
    struct op_conv_args args = {.batch = c->batch,
                                .groups = c->groups,
                                .channels = c->wide_channels / c->groups,
                                .rows = c->narrow_channels / c->groups};
    narrow_columns(c, &args);
    return launch(p, c, "Conv2DBackpropFilter", "Conv3DBackpropFilter", &args, wide, narrow, weight);
}

static aclnnStatus set_zero(struct nn_plan *p, const struct nn_view *view)
{
    return nn_fill(p, "ZerosLike", view, &(struct op_number){0, 0}, ACL_FLOAT);
}

/* ---- forward ---- */

/* bias [channels] as a view of the output's shape. */
static aclnnStatus bias_of(struct nn_plan *p, const struct nn_view *bias, const struct nn_view *out,
                           struct nn_view *spread)
{
    if (bias->count != out->dims[1] || bias->rank > 1) {
        return NN_INVALID(p, "bias %s must have one dimension of %llu elements", nn_shape_text(bias->rank, bias->dims),
                          (unsigned long long)out->dims[1]);
    }
    *spread = *bias;
    spread->rank = out->rank;
    spread->count = out->count;
    for (uint64_t i = 0; i < out->rank; i++) {
        spread->dims[i] = out->dims[i];
        spread->steps[i] = i == 1 && bias->rank == 1 ? bias->steps[0] : 0;
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus convolve(struct nn_plan *p, const struct settings *s, const struct nn_view *in,
                            const struct nn_view *weight, const struct nn_view *bias, const struct nn_view *out)
{
    struct conv c;
    NN_CHECK(describe(p, s, in, weight, out, &c));
    struct nn_view x, w, z, spread = {0};
    if (nn_is_there(bias)) {
        NN_CHECK(bias_of(p, bias, out, &spread));
    }
    if (out->count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, in, &x));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, weight, &w));
    NN_CHECK(nn_dense_output(p, ACL_FLOAT, out, &z));
    const bool add = nn_is_there(bias);
    if (add) {
        NN_CHECK(nn_move(p, &spread, &z));
    }
    if (x.count == 0 || w.count == 0) {
        NN_CHECK(add ? ACLNN_SUCCESS : set_zero(p, &z));
    } else {
        NN_CHECK((s->transposed ? to_wide : to_narrow)(p, &c, true, &x, &w, &z, add));
    }
    return nn_dense_output_done(p, &z, out);
}

/* torch_npu asks for HF32 whatever the type is; it means something for float32 only. */
static aclnnStatus check_math(struct nn_plan *p, uint32_t param, const struct nn_view *in, const struct nn_view *weight)
{
    enum { KEEP = 0, USE_HF32 = 3 };
    const int64_t math = nn_whole(p, param);
    return nn_check_math(p, math == USE_HF32 ? KEEP : math, nn_promote(in->type, weight->type));
}

/* (input, weight, bias, stride, padding, dilation, transposed, outputPadding, groups, output, cubeMathType) */
static aclnnStatus plan_convolution(struct nn_plan *p)
{
    struct nn_view in, weight, bias, out;
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &in));
    NN_CHECK(nn_tensor(p, 1, NN_FLOATS16_32, &weight));
    NN_CHECK(nn_tensor_optional(p, 2, NN_FLOATS16_32, &bias));
    NN_CHECK(nn_tensor(p, 9, NN_FLOATS16_32, &out));
    NN_CHECK(check_math(p, 10, &in, &weight));
    const struct settings s = {3, 4, 5, 7, nn_whole(p, 6) != 0, nn_whole(p, 8)};
    return convolve(p, &s, &in, &weight, &bias, &out);
}
NN_OPERATOR(Convolution, plan_convolution, .types = NN_FLOATS16_32)

/* (self, weight, kernelSize, bias, stride, padding, dilation, out, cubeMathType): one group per input channel */
static aclnnStatus plan_depthwise(struct nn_plan *p)
{
    struct nn_view in, weight, bias, out;
    const int64_t *kernel;
    uint64_t count;
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &in));
    NN_CHECK(nn_tensor(p, 1, NN_FLOATS16_32, &weight));
    NN_CHECK(nn_ints(p, 2, &kernel, &count));
    NN_CHECK(nn_tensor_optional(p, 3, NN_FLOATS16_32, &bias));
    NN_CHECK(nn_tensor(p, 7, NN_FLOATS16_32, &out));
    NN_CHECK(check_math(p, 8, &in, &weight));
    if (in.rank != 4 || weight.rank != 4 || count != 2 || kernel[0] != (int64_t)weight.dims[2] ||
        kernel[1] != (int64_t)weight.dims[3]) {
        return NN_INVALID(p, "self %s and weight %s must have 4 dimensions, kernelSize must be that of the weight",
                          nn_shape_text(in.rank, in.dims), nn_shape_text(weight.rank, weight.dims));
    }
    const struct settings s = {4, 5, 6, NONE, false, (int64_t)in.dims[1]};
    return convolve(p, &s, &in, &weight, &bias, &out);
}
NN_OPERATOR(ConvDepthwise2d, plan_depthwise, .types = NN_FLOATS16_32)

/* ---- backward ---- */

/* The sum over all dimensions but the channels. */
static aclnnStatus sum_bias(struct nn_plan *p, const struct nn_view *grad, const struct nn_view *out)
{
    bool reduced[NN_DIMS] = {false};
    for (uint64_t i = 0; i < grad->rank; i++) {
        reduced[i] = i != 1;
    }
    if (out->rank != 1 || out->dims[0] != grad->dims[1]) {
        return NN_INVALID(p, "gradBias has the shape %s, one dimension of %llu elements is required",
                          nn_shape_text(out->rank, out->dims), (unsigned long long)grad->dims[1]);
    }
    const struct nn_reduce sum = {.code = OP_REDUCE_SUM, .x = grad, .z = out};
    return out->count == 0 ? ACLNN_SUCCESS : nn_reduce(p, "ReduceSum", &sum, reduced);
}

static aclnnStatus backward(struct nn_plan *p, const struct settings *s, const struct nn_view *grad,
                            const struct nn_view *in, const struct nn_view *weight, const struct nn_view *grad_in,
                            const struct nn_view *grad_weight, const struct nn_view *grad_bias)
{
    struct conv c;
    struct nn_view dy, x, w, dx, dw;
    NN_CHECK(describe(p, s, in, weight, grad, &c));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, grad, &dy));
    if (nn_is_there(grad_in)) {
        NN_CHECK(nn_expect_shape(p, "gradInput", grad_in, in->rank, in->dims));
        NN_CHECK(nn_dense_input(p, ACL_FLOAT, weight, &w));
        NN_CHECK(nn_dense_output(p, ACL_FLOAT, grad_in, &dx));
        if (dy.count == 0 || w.count == 0) {
            NN_CHECK(set_zero(p, &dx));
        } else if (dx.count > 0) {
            NN_CHECK((s->transposed ? to_narrow : to_wide)(p, &c, false, &dy, &w, &dx, false));
        }
        NN_CHECK(nn_dense_output_done(p, &dx, grad_in));
    }
    if (nn_is_there(grad_weight)) {
        NN_CHECK(nn_expect_shape(p, "gradWeight", grad_weight, weight->rank, weight->dims));
        NN_CHECK(nn_dense_input(p, ACL_FLOAT, in, &x));
        NN_CHECK(nn_dense_output(p, ACL_FLOAT, grad_weight, &dw));
        if (dy.count == 0 || x.count == 0) {
            NN_CHECK(set_zero(p, &dw));
        } else if (dw.count > 0) {
            NN_CHECK(to_weight(p, &c, s->transposed ? &dy : &x, s->transposed ? &x : &dy, &dw));
        }
        NN_CHECK(nn_dense_output_done(p, &dw, grad_weight));
    }
    return nn_is_there(grad_bias) ? sum_bias(p, grad, grad_bias) : ACLNN_SUCCESS;
}

/* (gradOutput, input, weight, biasSizes, stride, padding, dilation, transposed, outputPadding, groups, outputMask,
 * cubeMathType, gradInput, gradWeight, gradBias) */
static aclnnStatus plan_convolution_backward(struct nn_plan *p)
{
    struct nn_view grad, in, weight, out[3] = {0};
    const bool *wanted;
    uint64_t count;
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &grad));
    NN_CHECK(nn_tensor(p, 1, NN_FLOATS16_32, &in));
    NN_CHECK(nn_tensor(p, 2, NN_FLOATS16_32, &weight));
    NN_CHECK(nn_bools(p, 10, &wanted, &count));
    if (count != 3) {
        return NN_INVALID(p, "outputMask has %llu entries, 3 are required", (unsigned long long)count);
    }
    NN_CHECK(check_math(p, 11, &in, &weight));
    for (uint32_t i = 0; i < 3; i++) {
        if (wanted[i]) {
            NN_CHECK(nn_tensor(p, 12 + i, NN_FLOATS16_32, &out[i]));
        }
    }
    const struct settings s = {4, 5, 6, 8, nn_whole(p, 7) != 0, nn_whole(p, 9)};
    return backward(p, &s, &grad, &in, &weight, &out[0], &out[1], &out[2]);
}
NN_OPERATOR(ConvolutionBackward, plan_convolution_backward, .types = NN_FLOATS16_32)

/* ---- one dimension in the order time, batch, channels ---- */

static struct nn_view permuted(const struct nn_view *view, int a, int b, int c)
{
    struct nn_view turned = *view;
    const int order[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        turned.dims[i] = view->dims[order[i]];
        turned.steps[i] = view->steps[order[i]];
    }
    return turned;
}

/* One padding by value, no stride and no dilation. */
static aclnnStatus describe_tbc(struct nn_plan *p, int64_t pad, const struct nn_view *in, const struct nn_view *weight,
                                const struct nn_view *out, struct conv *c)
{
    if (pad < 0 || pad > INT32_MAX || in->dims[1] != weight->dims[1] || in->dims[0] != out->dims[0] ||
        out->dims[1] != weight->dims[0] || weight->dims[2] == 0 || in->dims[2] > INT32_MAX ||
        (int64_t)out->dims[2] != (int64_t)in->dims[2] + 2 * pad - (int64_t)weight->dims[2] + 1) {
        return NN_INVALID(p,
                          "the shapes do not fit: in the order batch, channels, time the input is %s, the output %s, "
                          "the weight %s",
                          nn_shape_text(3, in->dims), nn_shape_text(3, out->dims), nn_shape_text(3, weight->dims));
    }
    *c = (struct conv){
        .batch = in->dims[0], .groups = 1, .wide_channels = in->dims[1], .narrow_channels = out->dims[1], .spatial = 1};
    for (int i = 0; i < MAX_SPATIAL; i++) {
        c->axis[i] = (struct axis){.wide = 1, .narrow = 1, .taps = 1, .stride = 1, .dilation = 1};
    }
    c->axis[MAX_SPATIAL - 1].wide = in->dims[2];
    c->axis[MAX_SPATIAL - 1].narrow = out->dims[2];
    c->axis[MAX_SPATIAL - 1].taps = weight->dims[2];
    c->axis[MAX_SPATIAL - 1].pad = c->axis[MAX_SPATIAL - 1].pad_end = pad;
    return ACLNN_SUCCESS;
}

/* A tensor of three dimensions in the order of the kernel. */
static aclnnStatus tbc_tensor(struct nn_plan *p, uint32_t param, bool is_weight, struct nn_view *view)
{
    NN_CHECK(nn_tensor(p, param, NN_FLOATS16_32, view));
    if (view->rank != 3) {
        return NN_INVALID(p, "%s has %llu dimensions, 3 are required", p->params[param].name,
                          (unsigned long long)view->rank);
    }
    *view = is_weight ? permuted(view, 2, 1, 0) : permuted(view, 1, 2, 0);
    return ACLNN_SUCCESS;
}

/* (self, weight, bias, pad, output, cubeMathType) */
static aclnnStatus plan_conv_tbc(struct nn_plan *p)
{
    struct nn_view in, weight, bias, out, x, w, z, spread;
    struct conv c;
    NN_CHECK(tbc_tensor(p, 0, false, &in));
    NN_CHECK(tbc_tensor(p, 1, true, &weight));
    NN_CHECK(nn_tensor(p, 2, NN_FLOATS16_32, &bias));
    NN_CHECK(tbc_tensor(p, 4, false, &out));
    NN_CHECK(check_math(p, 5, &in, &weight));
    NN_CHECK(describe_tbc(p, nn_whole(p, 3), &in, &weight, &out, &c));
    NN_CHECK(bias_of(p, &bias, &out, &spread));
    if (out.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &in, &x));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &weight, &w));
    NN_CHECK(nn_dense_output(p, ACL_FLOAT, &out, &z));
    NN_CHECK(nn_move(p, &spread, &z));
    if (x.count > 0 && w.count > 0) {
        NN_CHECK(to_narrow(p, &c, true, &x, &w, &z, true));
    }
    return nn_dense_output_done(p, &z, &out);
}
NN_OPERATOR(ConvTbc, plan_conv_tbc, .types = NN_FLOATS16_32)

/* (gradient, input, weight, bias, pad, cubeMathType, gradInput, gradWeight, gradBias) */
static aclnnStatus plan_conv_tbc_backward(struct nn_plan *p)
{
    struct nn_view grad, in, weight, bias, grad_in, grad_weight, grad_bias, dy, x, w, dx, dw;
    struct conv c;
    NN_CHECK(tbc_tensor(p, 0, false, &grad));
    NN_CHECK(tbc_tensor(p, 1, false, &in));
    NN_CHECK(tbc_tensor(p, 2, true, &weight));
    NN_CHECK(nn_tensor(p, 3, NN_FLOATS16_32, &bias));
    NN_CHECK(tbc_tensor(p, 6, false, &grad_in));
    NN_CHECK(tbc_tensor(p, 7, true, &grad_weight));
    NN_CHECK(nn_tensor(p, 8, NN_FLOATS16_32, &grad_bias));
    NN_CHECK(check_math(p, 5, &in, &weight));
    NN_CHECK(describe_tbc(p, nn_whole(p, 4), &in, &weight, &grad, &c));
    NN_CHECK(nn_expect_shape(p, "gradInput (batch, channels, time)", &grad_in, 3, in.dims));
    NN_CHECK(nn_expect_shape(p, "gradWeight (output, input, taps)", &grad_weight, 3, weight.dims));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &grad, &dy));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &in, &x));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &weight, &w));
    NN_CHECK(nn_dense_output(p, ACL_FLOAT, &grad_in, &dx));
    NN_CHECK(nn_dense_output(p, ACL_FLOAT, &grad_weight, &dw));
    if (dy.count == 0 || x.count == 0 || w.count == 0) {
        NN_CHECK(set_zero(p, &dx));
        NN_CHECK(set_zero(p, &dw));
    } else {
        NN_CHECK(to_wide(p, &c, false, &dy, &w, &dx, false));
        NN_CHECK(to_weight(p, &c, &x, &dy, &dw));
    }
    NN_CHECK(nn_dense_output_done(p, &dx, &grad_in));
    NN_CHECK(nn_dense_output_done(p, &dw, &grad_weight));
    return sum_bias(p, &grad, &grad_bias);
}
NN_OPERATOR(ConvTbcBackward, plan_conv_tbc_backward, .types = NN_FLOATS16_32)
