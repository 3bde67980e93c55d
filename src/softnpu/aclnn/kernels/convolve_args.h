/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of convolution and pooling. All tensors are dense; convolutions compute in float32. */
#ifndef SOFTNPU_ACLNN_CONVOLVE_ARGS_H
#define SOFTNPU_ACLNN_CONVOLVE_ARGS_H

#define OP_KERNELS_CONVOLVE(X)                                                                                         \
    X(Conv2D, op_conv_args)                                                                                            \
    X(Conv3D, op_conv_args)                                                                                            \
    X(Conv2DTranspose, op_conv_args)                                                                                   \
    X(Conv3DTranspose, op_conv_args)                                                                                   \
    X(Conv2DBackpropInput, op_conv_args)                                                                               \
    X(Conv3DBackpropInput, op_conv_args)                                                                               \
    X(Conv2DBackpropFilter, op_conv_args)                                                                              \
    X(Conv3DBackpropFilter, op_conv_args)                                                                              \
    X(MaxPoolV3, op_pool_args)                                                                                         \
    X(MaxPool3DWithArgmaxV2, op_pool_args)                                                                             \
    X(MaxPool3DGradWithArgmax, op_pool_args)                                                                           \
    X(AvgPoolV2, op_pool_args)                                                                                         \
    X(AvgPool3D, op_pool_args)                                                                                         \
    X(AvgPoolV2Grad, op_pool_args)                                                                                     \
    X(AvgPool3DGrad, op_pool_args)                                                                                     \
    X(AdaptiveAvgPool3d, op_pool_args)                                                                                 \
    X(AdaptiveAvgPool3dGrad, op_pool_args)                                                                             \
    X(AdaptiveMaxPool3d, op_pool_args)                                                                                 \
    X(AdaptiveMaxPool3dGrad, op_pool_args)                                                                             \
    X(MaxUnpool, op_pool_args)                                                                                         \
    X(MaxUnpoolGrad, op_pool_args)

enum { OP_SPATIAL = 3 }; /* depth, height, width; missing ones have the size 1 */

/* The columns of a source: for point p and tap t of a dimension the element (p * mul + offset + t * tap_step) / div, or
 * 0 if that is not a whole number or not in the source. */
struct op_conv_axis {
    uint64_t size, points, taps;
    int64_t mul, div, offset, tap_step;
};

/* With columns[k][p], k over channels and taps:
 *   gather     out[n][g][r][p] = sum over k of weight[g][r][k] * columns(source[n][g])[k][p], added to out if `add`
 *   otherwise  out[g][r][k] = sum over n and p of weight[n][g][r][p] * columns(source[n][g])[k][p] */
struct op_conv_args {
    const float *source;
    const float *weight;
    float *out;
    uint64_t batch, groups, channels, rows; /* channels and rows of one group */
    struct op_conv_axis axis[OP_SPATIAL];
    uint64_t gather, add;
};

enum op_pool_mode { OP_POOL_MAX, OP_POOL_MAX_GRAD, OP_POOL_AVG, OP_POOL_AVG_GRAD, OP_POOL_PUT, OP_POOL_TAKE };

/* An axis of windows: regular ones, or such that `points` windows cover the axis (adaptive). */
struct op_pool_axis {
    uint64_t size, points;
    int64_t kernel, stride, pad, dilation;
};

/* For every plane: small has one element per window, wide is what the windows cover. MAX and AVG read wide and write
 * small; the gradients read small and write wide. PUT writes wide and TAKE writes small by index alone. */
struct op_pool_args {
    void *wide;
    void *small;
    void *index; /* in the plane of wide; may be NULL for MAX */
    uint64_t planes, mode, adaptive;
    struct op_pool_axis axis[OP_SPATIAL];
    int64_t index_type;
    int64_t count_pad, divisor;
};

#endif
