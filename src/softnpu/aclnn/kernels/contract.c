/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix products. An output belongs to one block. */
#include "softnpu/aclnn/kernels/op_kernel.h"
#include "softnpu/kernels/gemm.h"

static enum tk_gemm_type gemm_type(int64_t type)
{
    return type == TK_FLOAT16 ? TK_GEMM_F16 : type == TK_BF16 ? TK_GEMM_BF16 : TK_GEMM_F32;
}

static void matmul(const struct op_matmul_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->a == NULL || a->b == NULL || a->c == NULL || block >= num_blocks) {
        return;
    }
    struct tk_gemm g = {
        .m = a->m,
        .n = a->n,
        .k = a->k,
        .a_row = a->a_row,
        .a_col = a->a_col,
        .b_row = a->b_row,
        .b_col = a->b_col,
        .c_row = a->c_row,
        .c_col = a->c_col,
        .a_type = gemm_type(a->a_side.type),
        .b_type = gemm_type(a->b_side.type),
        .alpha = 1,
    };
    struct tk_gemm_cut cut = tk_gemm_plan(&g, op_loop_count(&a->batch), num_blocks);
    const uint64_t pieces = cut.rows_cut * cut.cols_cut;
    struct tk_range mine = tk_share(cut.items, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        struct op_walk w = op_walk_start(&a->batch, (struct tk_range){item / pieces, item / pieces + 1});
        g.a = op_element(a->a, op_walk_offset(&w, &a->a_side), a->a_side.type);
        g.b = op_element(a->b, op_walk_offset(&w, &a->b_side), a->b_side.type);
        g.c = a->c + op_walk_offset(&w, &a->c_side);
        tk_gemm_part(&g, &cut, item % pieces);
    }
}

OP_KERNEL(MatMulV2, op_matmul_args)
{
    matmul(a, block, num_blocks);
}

OP_KERNEL(BatchMatMulV2, op_matmul_args)
{
    matmul(a, block, num_blocks);
}
