/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product used by matmul and by the MatMul operator: one problem, any strides, any floating type as input,
 * float32 as output. */
#ifndef TK_GEMM_H
#define TK_GEMM_H

#include "softnpu/kernels/kernel.h"

enum tk_gemm_type { TK_GEMM_F32, TK_GEMM_F16, TK_GEMM_BF16 };

/* C[m x n] = alpha * A[m x k] * B[k x n] + beta * C. Element (i, j) of a matrix is at base[i * row + j * col]; C must
 * not overlap A or B. Batches are up to the caller, who moves the pointers. */
struct tk_gemm {
    uint64_t m, n, k;
    const void *a;
    const void *b;
    float *c;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    enum tk_gemm_type a_type, b_type;
    float alpha, beta;
};

/* How `num_blocks` blocks share `problems` equal products: item w of items is part of problem w / (rows_cut *
 * cols_cut). */
struct tk_gemm_cut {
    uint64_t rows_cut, cols_cut; /* pieces of C, in each direction */
    uint64_t items;
};

#define tk_gemm_plan TK_NAME(tk_gemm_plan)
#define tk_gemm_part TK_NAME(tk_gemm_part)

/* Chooses the division; the product does not depend on it. */
struct tk_gemm_cut tk_gemm_plan(const struct tk_gemm *g, uint64_t problems, uint32_t num_blocks);

/* Computes piece `part` (0 .. rows_cut * cols_cut - 1) of one problem. */
void tk_gemm_part(const struct tk_gemm *g, const struct tk_gemm_cut *cut, uint64_t part);

#endif
