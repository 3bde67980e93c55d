/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of an image as columns, and back; triangular systems of equations. */
#ifndef SOFTNPU_ACLNN_UNFOLD_ARGS_H
#define SOFTNPU_ACLNN_UNFOLD_ARGS_H

#define OP_KERNELS_UNFOLD(X)                                                                                           \
    X(Im2col, op_unfold_args)                                                                                          \
    X(Col2im, op_unfold_args)                                                                                          \
    X(TriangularSolve, op_triangular_args)

enum { OP_UNFOLD_N, OP_UNFOLD_C, OP_UNFOLD_H, OP_UNFOLD_W, OP_UNFOLD_IMAGE };
enum { OP_UNFOLD_KH = 2, OP_UNFOLD_KW, OP_UNFOLD_OH, OP_UNFOLD_OW, OP_UNFOLD_COLUMNS };

/* columns[n, c, kh, kw, oh, ow] = image[n, c, oh * stride + kh * dilation - padding, the same for w], 0 outside (Im2col);
 * image = the sum of the columns that refer to it (Col2im). Arrays of two: height, width. */
struct op_unfold_args {
    void *image;
    void *columns;
    uint64_t image_dims[OP_UNFOLD_IMAGE], column_dims[OP_UNFOLD_COLUMNS];
    int64_t image_steps[OP_UNFOLD_IMAGE], column_steps[OP_UNFOLD_COLUMNS];
    int64_t type;
    int64_t stride[2], padding[2], dilation[2];
};

/* x = the solution of a * x = x for every matrix of a batch; dense float, or double. Rows of a are read in the order of
 * the substitution: from the first if lower, otherwise from the last. */
struct op_triangular_args {
    const void *a;
    void *x;
    uint64_t batch, size, columns;
    int64_t a_row, a_col, is_double, lower, unit;
};

#endif
