/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the kernels in opapi_kernels.so: device pointers first, then tiling by value. Types are aclDataType
 * numbers, strides ("steps") count elements. A loop describes the index space of a kernel, innermost dimension last;
 * libopapi has already merged and dropped dimensions where all operands allow it. */
#ifndef SOFTNPU_ACLNN_OP_ARGS_H
#define SOFTNPU_ACLNN_OP_ARGS_H

#include "softnpu/aclnn/kernels/map_rows.h"
#include "softnpu/aclnn/kernels/reduce_rows.h"

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

#include "softnpu/aclnn/kernels/rows_args.h"
#include "softnpu/aclnn/kernels/sort_args.h"

/* ---- kernels that take any operands ---- */

enum { OP_OPERANDS = 16, OP_WHOLES = 32, OP_REALS = 8 };

struct op_operand {
    int64_t type;
    uint64_t rank, count;
    uint64_t dims[OP_DIMS];
    int64_t steps[OP_DIMS];
};

/* Operand i is data[i], described by at[i]; the kernel defines the meaning of the numbers. */
struct op_call {
    void *data[OP_OPERANDS]; /* NULL: the operand was not given */
    uint64_t count;
    struct op_operand at[OP_OPERANDS];
    int64_t whole[OP_WHOLES];
    double real[OP_REALS];
};

/* ---- element-wise kernels (kernels/map.c) ---- */

enum { OP_MAP_INPUTS = 4, OP_MAP_NUMBERS = 4 };

/* Computed in float for the float types of up to 32 bits, in double, or in 64-bit integers. */
enum op_map_kind { OP_MAP_F32, OP_MAP_F64, OP_MAP_I64, OP_MAP_KINDS };

/* z = f(inputs, numbers) with row `code` of kernels/map_rows.h. A missing input is the constant of the same index. */
struct op_map_args {
    const void *in[OP_MAP_INPUTS];
    void *z;
    struct op_loop loop;
    struct op_side in_side[OP_MAP_INPUTS], z_side;
    uint64_t code, kind;
    uint64_t input_count; /* inputs that the function has: operands and constants */
    struct op_number constants[OP_MAP_INPUTS], numbers[OP_MAP_NUMBERS];
};

/* X(kernel, arguments): one line per kernel. Names are those that profilers show for the vendor's operators. */
#define OP_KERNELS(X)                                                                                                  \
    X(Cast, op_move_args)                                                                                              \
    X(ViewCopy, op_move_args)                                                                                          \
    X(TensorMove, op_move_args)                                                                                        \
    X(Fill, op_fill_args)                                                                                              \
    X(ZerosLike, op_fill_args)                                                                                         \
    X(OnesLike, op_fill_args)                                                                                          \
    X(MatMulV2, op_matmul_args)                                                                                        \
    X(BatchMatMulV2, op_matmul_args)                                                                                   \
    OP_KERNELS_DEQUANTIZE(X)                                                                                           \
    OP_KERNELS_UNFOLD(X)                                                                                               \
    OP_KERNELS_RANDOM(X)                                                                                               \
    OP_KERNELS_LAYOUT(X)                                                                                               \
    OP_KERNELS_PRODUCTS(X)                                                                                             \
    OP_KERNELS_ROWS(X)                                                                                                 \
    OP_KERNELS_SORT(X)                                                                                                 \
    OP_KERNELS_INDEX(X)                                                                                                \
    OP_KERNELS_ROTARY(X)                                                                                               \
    OP_KERNELS_TRAINING(X)

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

enum { OP_REDUCE_COLUMNS = 512 };

/* z[loop] = terms of x combined over `inner` (kernels/reduce_rows.h); index: position of the chosen term.
 * The terms of an output are divided into pieces of piece_terms; with several pieces, the result of each is stored at
 * piece_step elements from the previous one, and another launch combines them. */
struct op_reduce_args {
    const void *x;
    const void *m;          /* one value per output, or NULL */
    const int64_t *x_index; /* positions of the terms if x holds results of pieces, or NULL */
    void *z;                /* may be NULL if index is given */
    void *index;            /* NULL: not wanted */
    struct op_loop loop, inner;
    struct op_side x_side, m_side, z_side, index_side; /* over loop */
    struct op_side x_inner;                            /* over inner */
    uint64_t code, kind, finish;                       /* kind: enum op_map_kind */
    uint64_t
        by_column; /* outputs along the innermost dimension of loop are computed together, OP_REDUCE_COLUMNS of them */
    uint64_t pieces, piece_terms, piece_step;
    double p, s, t;
};

/* c = alpha * a * b + beta * c for every index of the batch loop. Kind NONE: c is float32, a and b float32, float16 or
 * bfloat16. Other kinds compute every type in double precision or 64-bit integers. */
struct op_matmul_args {
    const void *a;
    const void *b;
    void *c;
    uint64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    struct op_loop batch;
    struct op_side a_side, b_side, c_side;
    int64_t kind; /* enum tk_kind */
    struct op_number alpha, beta;
};

#include "softnpu/aclnn/kernels/dequantize_args.h"
#include "softnpu/aclnn/kernels/index_args.h"
#include "softnpu/aclnn/kernels/layout_args.h"
#include "softnpu/aclnn/kernels/product_args.h"
#include "softnpu/aclnn/kernels/random_args.h"
#include "softnpu/aclnn/kernels/rotary_args.h"
#include "softnpu/aclnn/kernels/unfold_args.h"

#include "softnpu/aclnn/kernels/foreach_args.h"

#endif
