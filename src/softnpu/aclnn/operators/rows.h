/* SPDX-License-Identifier: Apache-2.0 */
/* What operators that work on rows share: softmax, normalisations (kernels/rows_args.h). */
#ifndef SOFTNPU_ACLNN_OPERATORS_ROWS_H
#define SOFTNPU_ACLNN_OPERATORS_ROWS_H

#include "softnpu/aclnn/op.h"

/* Applies a function to every row along dimension `axis`. The views are its operands in order; NULL or a view that is
 * not there: missing. All have the rank of the first one, with steps of 0 where they repeat. */
struct nn_rows {
    enum op_row_code code;
    const struct nn_view *views[OP_ROW_OPERANDS];
    uint64_t axis;
    double s, t;
};
aclnnStatus nn_rows(struct nn_plan *p, const char *kernel, const struct nn_rows *rows);

/* Dense views as [rows, cols], as one value per row, and as a row that repeats. */
struct nn_view nn_as_matrix(const struct nn_view *dense, uint64_t rows, uint64_t cols);
struct nn_view nn_as_column(const struct nn_view *dense, uint64_t rows, uint64_t cols);
struct nn_view nn_as_repeated(const struct nn_view *dense, uint64_t rows, uint64_t cols);

/* Gradients of the parameters of a row normalisation: the sums over rows of dy (x - mean) rstd and of dy, as matrices.
 * mean, weight_out and bias_out may be missing. */
aclnnStatus nn_norm_parameters(struct nn_plan *p, const struct nn_view *dy, const struct nn_view *x,
                               const struct nn_view *mean, const struct nn_view *rstd, const struct nn_view *weight_out,
                               const struct nn_view *bias_out);

#endif
