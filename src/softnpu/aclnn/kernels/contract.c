/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix products. An output belongs to one block. */
#include "softnpu/aclnn/kernels/op_kernel.h"
#include "softnpu/kernels/gemm.h"

static enum tk_gemm_type gemm_type(int64_t type)
{
    return type == TK_FLOAT16 ? TK_GEMM_F16 : type == TK_BF16 ? TK_GEMM_BF16 : TK_GEMM_F32;
}

static void matmul_float(const struct op_matmul_args *a, uint32_t block, uint32_t num_blocks)
{
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
        .alpha = (float)a->alpha.real,
        .beta = (float)a->beta.real,
    };
    struct tk_gemm_cut cut = tk_gemm_plan(&g, op_loop_count(&a->batch), num_blocks);
    const uint64_t pieces = cut.rows_cut * cut.cols_cut;
    struct tk_range mine = tk_share(cut.items, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        struct op_walk w = op_walk_start(&a->batch, (struct tk_range){item / pieces, item / pieces + 1});
        g.a = op_element(a->a, op_walk_offset(&w, &a->a_side), a->a_side.type);
        g.b = op_element(a->b, op_walk_offset(&w, &a->b_side), a->b_side.type);
        g.c = (float *)a->c + op_walk_offset(&w, &a->c_side);
        tk_gemm_part(&g, &cut, item % pieces);
    }
}

/* One row of a product in the wide types, in chunks of columns. */
static void wide_row(const struct op_matmul_args *a, const char *left, const char *right, char *c)
{
    const enum tk_kind kind = (enum tk_kind)a->kind;
    for (uint64_t j = 0; j < a->n; j += TK_CHUNK) {
        const uint64_t n = a->n - j < TK_CHUNK ? a->n - j : TK_CHUNK;
        struct tk_chunk sum = {.kind = kind}, x, y;
        for (uint64_t k = 0; k < a->k; k++) {
            tk_chunk_load(&x, op_element(left, (int64_t)k * a->a_col, a->a_side.type), 1, a->a_side.type, 1);
            tk_chunk_make(&x, kind, 1);
            tk_chunk_load(&y, op_element(right, (int64_t)k * a->b_row + (int64_t)j * a->b_col, a->b_side.type),
                          a->b_col, a->b_side.type, n);
            tk_chunk_make(&y, kind, n);
            for (uint64_t i = 0; i < n; i++) {
                if (kind == TK_KIND_REAL) {
                    sum.real[i] += x.real[0] * y.real[i];
                } else {
                    sum.u64[i] += x.u64[0] * y.u64[i];
                }
            }
        }
        void *to = (void *)op_element(c, (int64_t)j * a->c_col, a->c_side.type);
        const bool reads = kind == TK_KIND_REAL ? a->beta.real != 0 : a->beta.whole != 0;
        tk_chunk_load(&y, to, a->c_col, a->c_side.type, n);
        tk_chunk_make(&y, kind, n);
        for (uint64_t i = 0; i < n; i++) {
            if (kind == TK_KIND_REAL) {
                sum.real[i] = a->alpha.real * sum.real[i] + (reads ? a->beta.real * y.real[i] : 0);
            } else {
                sum.u64[i] = (uint64_t)a->alpha.whole * sum.u64[i] + (reads ? (uint64_t)a->beta.whole * y.u64[i] : 0);
            }
        }
        tk_chunk_store(&sum, to, a->c_col, a->c_side.type, n);
    }
}

static void matmul_wide(const struct op_matmul_args *a, uint32_t block, uint32_t num_blocks)
{
    struct tk_range mine = tk_share(op_loop_count(&a->batch) * a->m, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        struct op_walk w = op_walk_start(&a->batch, (struct tk_range){item / a->m, item / a->m + 1});
        const int64_t row = (int64_t)(item % a->m);
        wide_row(a, op_element(a->a, op_walk_offset(&w, &a->a_side) + row * a->a_row, a->a_side.type),
                 op_element(a->b, op_walk_offset(&w, &a->b_side), a->b_side.type),
                 (char *)op_element(a->c, op_walk_offset(&w, &a->c_side) + row * a->c_row, a->c_side.type));
    }
}

static void matmul(const struct op_matmul_args *a, uint32_t block, uint32_t num_blocks)
{
    if (((a->a == NULL || a->b == NULL) && a->k > 0) || a->c == NULL || block >= num_blocks) {
        return;
    }
    if (a->kind == TK_KIND_NONE) {
        matmul_float(a, block, num_blocks);
    } else {
        matmul_wide(a, block, num_blocks);
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
