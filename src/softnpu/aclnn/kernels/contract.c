/* SPDX-License-Identifier: Apache-2.0 */
/* ReduceSum and the matrix products: kernels that sum over dimensions. An output belongs to one block. */
#include "softnpu/aclnn/kernels/op_kernel.h"
#include "softnpu/kernels/gemm.h"

/* Real sums run in double precision in chunks, each summed pairwise by halves; integers modulo 2^64. */
static double sum_reals(double *v, uint64_t n)
{
    for (uint64_t width = TK_CHUNK; width > 1; width /= 2) {
        if (n > width / 2) {
            for (uint64_t i = width / 2; i < n; i++) {
                v[i - width / 2] += v[i];
            }
            n = width / 2;
        }
    }
    return n > 0 ? v[0] : 0.0;
}

OP_KERNEL(ReduceSum, op_reduce_args)
{
    if (a->x == NULL || a->z == NULL) {
        return;
    }
    const uint64_t terms = op_loop_count(&a->inner);
    const int64_t step = op_inner_step(&a->inner, &a->x_inner);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), 1, block, num_blocks));
    for (; op_walk_run(&w, 1) > 0; op_walk_advance(&w, 1)) {
        const int64_t start = op_walk_offset(&w, &a->x_side);
        double real = 0;
        uint64_t whole = 0;
        struct op_walk t = op_walk_start(&a->inner, (struct tk_range){0, terms});
        for (uint64_t n; (n = op_walk_run(&t, TK_CHUNK)) > 0; op_walk_advance(&t, n)) {
            struct tk_chunk chunk;
            tk_chunk_load(&chunk, op_element(a->x, start + op_walk_offset(&t, &a->x_inner), a->x_side.type), step,
                          a->x_side.type, n);
            tk_chunk_make(&chunk, (enum tk_kind)a->kind, n);
            if (a->kind == TK_KIND_REAL) {
                real += sum_reals(chunk.real, n);
            } else {
                for (uint64_t i = 0; i < n; i++) {
                    whole += chunk.u64[i];
                }
            }
        }
        struct tk_chunk result = {.kind = (enum tk_kind)a->kind};
        if (a->kind == TK_KIND_REAL) {
            result.real[0] = real;
        } else {
            result.u64[0] = whole;
        }
        tk_chunk_store(&result, (void *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type), 1,
                       a->z_side.type, 1);
    }
}

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
