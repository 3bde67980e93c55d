/* SPDX-License-Identifier: Apache-2.0 */
/* matmul: batched products with independent strides for batch and head. Work and its division: gemm.c. */
#include "softnpu/kernels/gemm.h"

TK_KERNEL(matmul)
{
    if (a->a == NULL || a->b == NULL || a->c == NULL || block >= num_blocks || a->heads == 0) {
        return;
    }
    struct tk_gemm g = {
        .m = a->m,
        .n = a->n,
        .k = a->k,
        .a_row = a->trans_a ? 1 : a->lda,
        .a_col = a->trans_a ? a->lda : 1,
        .b_row = a->trans_b ? 1 : a->ldb,
        .b_col = a->trans_b ? a->ldb : 1,
        .c_row = a->ldc,
        .c_col = 1,
        .alpha = (float)a->alpha,
        .beta = (float)a->beta,
    };
    struct tk_gemm_cut cut = tk_gemm_plan(&g, a->batch * a->heads, num_blocks);
    uint64_t pieces = cut.rows_cut * cut.cols_cut;
    struct tk_range mine = tk_share(cut.items, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        int64_t batch = (int64_t)(item / pieces / a->heads), head = (int64_t)(item / pieces % a->heads);
        g.a = a->a + batch * a->a_batch + head * a->a_head;
        g.b = a->b + batch * a->b_batch + head * a->b_head;
        g.c = a->c + batch * a->c_batch + head * a->c_head;
        tk_gemm_part(&g, &cut, item % pieces);
    }
}
