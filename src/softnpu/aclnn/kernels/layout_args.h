/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that arrange values: copies under the names of layout operators, sequences, triangles. */
#ifndef SOFTNPU_ACLNN_LAYOUT_ARGS_H
#define SOFTNPU_ACLNN_LAYOUT_ARGS_H

/* The copy of Cast, under the names that profilers show for layout operators. */
#define OP_KERNELS_COPY(X)                                                                                             \
    X(ConcatD, op_move_args)                                                                                           \
    X(Pack, op_move_args)                                                                                              \
    X(PadV3, op_move_args)                                                                                             \
    X(Transpose, op_move_args)                                                                                         \
    X(StridedSlice, op_move_args)                                                                                      \
    X(Tile, op_move_args)                                                                                              \
    X(RepeatInterleave, op_move_args)                                                                                  \
    X(ReverseV2, op_move_args)                                                                                         \
    X(Roll, op_move_args)                                                                                              \
    X(SplitV, op_move_args)                                                                                            \
    X(BroadcastTo, op_move_args)                                                                                       \
    X(ShuffleChannel, op_move_args)                                                                                    \
    X(DiagV2, op_move_args)

#define OP_KERNELS_LAYOUT(X)                                                                                           \
    OP_KERNELS_COPY(X)                                                                                                 \
    X(Range, op_range_args)                                                                                            \
    X(LinSpace, op_range_args)                                                                                         \
    X(LogSpace, op_range_args)                                                                                         \
    X(Trilu, op_triangle_args)                                                                                         \
    X(OneHot, op_one_hot_args)

/* Element i is start + i * step, or for the upper half of a LinSpace end - (count - 1 - i) * step; LogSpace takes the
 * power of `base`. */
struct op_range_args {
    void *z;
    struct op_loop loop;
    struct op_side z_side;
    int64_t kind;
    struct op_number start, step;
    double end, base;
    uint64_t count;
};

/* z = x where column - row is at least (upper) or at most (lower) `diagonal`, otherwise 0. The loop has the batch and
 * the rows, rows last. */
struct op_triangle_args {
    const void *x;
    void *z;
    struct op_loop loop;
    struct op_side x_side, z_side;
    uint64_t rows, cols;
    int64_t x_step, z_step;
    int64_t diagonal;
    uint64_t upper;
};

/* z = on where the index is the position along a dimension of `classes` elements, otherwise off. */
struct op_one_hot_args {
    const void *index;
    const void *on;
    const void *off;
    void *z;
    struct op_loop loop;
    struct op_side index_side, z_side;
    int64_t on_type, off_type;
    uint64_t classes;
    int64_t z_step;
};

#endif
