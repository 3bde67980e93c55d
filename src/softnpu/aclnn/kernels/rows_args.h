/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that work on rows: normalisations and softmax, forward and backward. All operands have one element for each
 * element of the row (step 0: one for the row; weights repeat for every row). */
#ifndef SOFTNPU_ACLNN_ROWS_ARGS_H
#define SOFTNPU_ACLNN_ROWS_ARGS_H

enum { OP_ROW_OPERANDS = 8 };

/* X(code, operands): the meaning of operands 0, 1, ... of each function. An operand in parentheses may be missing. */
#define OP_ROW_FUNCTIONS(X)                                                                                            \
    X(SOFTMAX, "x z")                                                                                                  \
    X(LOG_SOFTMAX, "x z")                                                                                              \
    X(SOFTMAX_GRAD, "dy y dx")                                                                                         \
    X(LOG_SOFTMAX_GRAD, "dy y dx")                                                                                     \
    X(NORM, "x (weight) (bias) z (mean) (rstd)")                                                                       \
    X(NORM_GRAD, "dy x mean rstd (weight) dx")                                                                         \
    X(RMS, "x (weight) z (rstd)")                                                                                      \
    X(RMS_GRAD, "dy x rstd (weight) dx")                                                                               \
    X(CROSS_ENTROPY, "x labels loss (dx)")

enum op_row_code {
#define OP_ROW_CODE(name, operands) OP_ROW_##name,
    OP_ROW_FUNCTIONS(OP_ROW_CODE) OP_ROW_CODES
};

struct op_rows_args {
    void *data[OP_ROW_OPERANDS];
    struct op_loop loop; /* one index per row */
    struct op_side side[OP_ROW_OPERANDS];
    int64_t step[OP_ROW_OPERANDS]; /* along the row */
    uint64_t count;                /* elements of a row */
    uint64_t code, wide;           /* wide: computed in double */
    double s, t;                   /* eps; added to the weight */
};

/* Names that profilers show; one engine behind all. */
#define OP_ROW_KERNELS(X)                                                                                              \
    X(SoftmaxV2)                                                                                                       \
    X(LogSoftmaxV2)                                                                                                    \
    X(SoftmaxGrad)                                                                                                     \
    X(LogSoftmaxGrad)                                                                                                  \
    X(LayerNormV3)                                                                                                     \
    X(LayerNormXBackpropV3)                                                                                            \
    X(RmsNorm)                                                                                                         \
    X(RmsNormGrad)                                                                                                     \
    X(GroupNormV2)                                                                                                     \
    X(SoftmaxCrossEntropyWithLogits)

/* Kernels of this family with other arguments. */
#define OP_KERNELS_ROWS(X) X(LayerNormBetaGammaBackpropV2, op_call) X(NLLLoss, op_call) X(NLLLossGrad, op_call)

#endif
