/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the kernels in opapi_kernels.so: device pointers first, then tiling by value. Types are aclDataType
 * numbers, strides ("steps") count elements. A loop describes the index space of a kernel, innermost dimension last;
 * libopapi has already merged and dropped dimensions where all operands allow it. */
#ifndef SOFTNPU_ACLNN_OP_ARGS_H
#define SOFTNPU_ACLNN_OP_ARGS_H

#include <stdint.h>

enum { OP_DIMS = 8 };

struct op_loop {
    uint64_t rank; /* 1 .. OP_DIMS */
    uint64_t dims[OP_DIMS];
};

/* One operand of a loop. */
struct op_side {
    int64_t type;
    int64_t steps[OP_DIMS];
};

/* A scalar in both forms, for real and for integer arithmetic. */
struct op_number {
    double real;
    int64_t whole;
};

/* X(kernel, arguments): one line per kernel. Names are those that profilers show for the vendor's operators. */
#define OP_KERNELS(X)                                                                                                  \
    X(Add, op_binary_args)                                                                                             \
    X(Mul, op_binary_args)                                                                                             \
    X(Cast, op_move_args)                                                                                              \
    X(ViewCopy, op_move_args)                                                                                          \
    X(TensorMove, op_move_args)                                                                                        \
    X(Fill, op_fill_args)                                                                                              \
    X(ZerosLike, op_fill_args)                                                                                         \
    X(ReduceSum, op_reduce_args)                                                                                       \
    X(MatMulV2, op_matmul_args)                                                                                        \
    X(BatchMatMulV2, op_matmul_args)                                                                                   \
    X(SoftmaxV2, op_softmax_args)                                                                                      \
    X(LayerNormV3, op_layer_norm_args)                                                                                 \
    X(StatelessRandomUniformV2, op_random_args)                                                                        \
    X(StatelessRandomNormalV2, op_random_args)

/* Add: z = x + alpha * y. Mul: z = x * y. Computed in `kind` (enum tk_kind): float32 if all operands are, other
 * reals in double precision, integers modulo 2^64. */
struct op_binary_args {
    const void *x;
    const void *y;
    void *z;
    struct op_loop loop;
    struct op_side x_side, y_side, z_side;
    int64_t kind;
    struct op_number alpha;
};

/* Cast, ViewCopy, TensorMove: z = x, converted. */
struct op_move_args {
    const void *x;
    void *z;
    struct op_loop loop;
    struct op_side x_side, z_side;
};

/* Fill, ZerosLike. */
struct op_fill_args {
    void *z;
    struct op_loop loop;
    struct op_side z_side;
    int64_t kind;
    struct op_number value;
};

/* z[loop] = sum over `inner` of x. */
struct op_reduce_args {
    const void *x;
    void *z;
    struct op_loop loop, inner;
    struct op_side x_side, x_inner, z_side;
    int64_t kind;
};

/* c = a * b for every index of the batch loop; c is float32, a and b float32, float16 or bfloat16. */
struct op_matmul_args {
    const void *a;
    const void *b;
    float *c;
    uint64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    struct op_loop batch;
    struct op_side a_side, b_side, c_side;
};

/* Over `count` elements at distances x_step and z_step, for every index of the loop. */
struct op_softmax_args {
    const void *x;
    void *z;
    struct op_loop loop;
    struct op_side x_side, z_side;
    uint64_t count;
    int64_t x_step, z_step;
};

/* Rows are dense; weight, bias, mean and rstd may be NULL. */
struct op_layer_norm_args {
    const void *x;
    const void *weight;
    const void *bias;
    void *z;
    void *mean;
    void *rstd;
    uint64_t rows, cols;
    int64_t x_type, weight_type, bias_type, z_type, mean_type, rstd_type;
    double eps;
};

/* Uniform in [first, second), or normal with mean `first` and deviation `second`. */
struct op_random_args {
    void *z;
    struct op_loop loop;
    struct op_side z_side;
    uint64_t seed, offset;
    double first, second;
};

#endif
