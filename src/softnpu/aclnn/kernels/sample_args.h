/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that sample an image at positions of a grid, make such a grid, or reduce bags of rows. */
#ifndef SOFTNPU_ACLNN_SAMPLE_ARGS_H
#define SOFTNPU_ACLNN_SAMPLE_ARGS_H

#define OP_KERNELS_SAMPLE(X)                                                                                           \
    X(GridSample, op_grid_args)                                                                                        \
    X(GridSampleInputGrad, op_grid_args)                                                                               \
    X(GridSampleGridGrad, op_grid_args)                                                                                \
    X(AffineGrid, op_affine_args)                                                                                      \
    X(EmbeddingBag, op_bag_args)                                                                                       \
    X(EmbeddingRenorm, op_renorm_args)

enum op_grid_mode { OP_GRID_LINEAR, OP_GRID_NEAREST, OP_GRID_CUBIC };
enum op_grid_padding { OP_GRID_ZEROS, OP_GRID_BORDER, OP_GRID_REFLECT };

/* Dense tensors. input and its gradient [batch, channels, in], grid and its gradient [batch, out, dims] with x first,
 * values and gradOutput [batch, channels, out]. A missing outer dimension has one element. */
struct op_grid_args {
    const float *input;
    const float *grid;
    const float *grad;
    float *z;
    uint64_t batch, channels, in[3], out[3], dims;
    uint64_t mode, padding, align;
};

/* z[n, d, h, w] = theta[n] * (x, y, z, 1). */
struct op_affine_args {
    const float *theta;
    float *z;
    uint64_t batch, out[3], dims, align;
};

/* For each bag of rows of `weight`: sum, mean or largest element (mode 0, 1, 2). All outputs but z may be missing. */
struct op_bag_args {
    const float *weight;
    const int64_t *indices;
    const int64_t *offsets;
    const float *factors;
    float *z;
    int64_t *bag_of;
    int64_t *sizes;
    int64_t *largest;
    uint64_t rows, cols, count, bags, mode;
    int64_t padding;
};

/* One block. Rows that the indices name and whose norm exceeds `most` are scaled to it. */
struct op_renorm_args {
    float *weight;
    const int64_t *indices;
    uint64_t rows, cols, count;
    double most, order;
};

#endif
