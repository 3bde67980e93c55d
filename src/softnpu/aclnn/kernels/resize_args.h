/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that compute each element along up to three dimensions from a few elements of the input ("taps"): padding and
 * interpolation, and their gradients, which use the same taps from the other side. */
#ifndef SOFTNPU_ACLNN_RESIZE_ARGS_H
#define SOFTNPU_ACLNN_RESIZE_ARGS_H

/* One tap of weight 1: a copy of elements of any type. */
#define OP_KERNELS_REMAP(X)                                                                                            \
    X(MirrorPad, op_resample_args)                                                                                     \
    X(CircularPad, op_resample_args)                                                                                   \
    X(EdgePad, op_resample_args)                                                                                       \
    X(UpsampleNearest, op_resample_args)

#define OP_KERNELS_RESAMPLE(X)                                                                                         \
    X(MirrorPadGrad, op_resample_args)                                                                                 \
    X(CircularPadGrad, op_resample_args)                                                                               \
    X(EdgePadGrad, op_resample_args)                                                                                   \
    X(UpsampleNearestGrad, op_resample_args)                                                                           \
    X(UpsampleLinear1d, op_resample_args)                                                                              \
    X(UpsampleLinear1dGrad, op_resample_args)                                                                          \
    X(UpsampleBilinear2d, op_resample_args)                                                                            \
    X(UpsampleBilinear2dGrad, op_resample_args)                                                                        \
    X(UpsampleTrilinear3d, op_resample_args)                                                                           \
    X(UpsampleTrilinear3dGrad, op_resample_args)                                                                       \
    X(UpsampleBicubic2d, op_resample_args)                                                                             \
    X(UpsampleBicubic2dGrad, op_resample_args)

#define OP_KERNELS_RESIZE(X)                                                                                           \
    OP_KERNELS_REMAP(X)                                                                                                \
    OP_KERNELS_RESAMPLE(X)                                                                                             \
    X(ResizeTaps, op_taps_args)

enum { OP_RESIZE_DIMS = 3 };

enum op_resize_mode {
    OP_RESIZE_SAME,
    OP_RESIZE_REFLECT,
    OP_RESIZE_EDGE,
    OP_RESIZE_CIRCULAR,
    OP_RESIZE_NEAREST,
    OP_RESIZE_EXACT,
    OP_RESIZE_LINEAR,
    OP_RESIZE_CUBIC,
    OP_RESIZE_LINEAR_AA,
    OP_RESIZE_CUBIC_AA,
};

/* The taps of element i are source[k] with weight[k] for k from start[i] to start[i + 1]. One block. With `back`, the
 * taps of the inputs in place of the outputs: those of the outputs are then only an intermediate result. */
struct op_taps_args {
    int32_t *start;
    int32_t *source;
    float *weight;
    int32_t *back_start;
    int32_t *back_source;
    float *back_weight;
    uint64_t mode, in, out, most; /* taps of an element, at most */
    int64_t before;               /* elements of padding before the first */
    float scale;
    uint64_t align, back;
};

/* Dense tensors of `planes` times three dimensions. */
struct op_resample_args {
    const void *x;
    void *z;
    const int32_t *start[OP_RESIZE_DIMS];
    const int32_t *source[OP_RESIZE_DIMS];
    const float *weight[OP_RESIZE_DIMS];
    uint64_t planes, in[OP_RESIZE_DIMS], out[OP_RESIZE_DIMS];
    uint64_t size_b; /* of an element */
};

#endif
