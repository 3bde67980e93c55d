/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of attention. */
#ifndef SOFTNPU_ACLNN_ATTENTION_ARGS_H
#define SOFTNPU_ACLNN_ATTENTION_ARGS_H

#define OP_KERNELS_ATTENTION(X)                                                                                        \
    X(FlashAttentionScore, op_attention_args)                                                                          \
    X(FlashAttentionScoreGrad, op_attention_args)                                                                      \
    X(FusedInferAttentionScore, op_attention_args)                                                                     \
    X(PromptFlashAttention, op_attention_args)                                                                         \
    X(IncreFlashAttention, op_attention_args)

/* Operands of all attention kernels, each [batch, heads, sequence, columns]; those that were not given are NULL. */
enum {
    OP_ATT_Q,
    OP_ATT_K,
    OP_ATT_V,
    OP_ATT_PSE,
    OP_ATT_MASK,
    OP_ATT_OUT,
    OP_ATT_MAX,
    OP_ATT_SUM,
    OP_ATT_LSE,
    OP_ATT_DY,
    OP_ATT_DQ,
    OP_ATT_DK,
    OP_ATT_DV,
    OP_ATT_DPSE,
    OP_ATT_OPERANDS
};

enum { OP_ATT_ROWS = 64 }; /* of the query that are computed together */

struct op_attention_side {
    int64_t type;
    int64_t steps[4];
};

/* scores = scale * (q * k^T + pse) or scale * q * k^T + pse; out = dropout(softmax(scores without masked ones)) * v. An
 * element is masked if its mask is not 0 or column - row is outside of [low, high]. dq, dk and dv are float32. */
struct op_attention_args {
    void *data[OP_ATT_OPERANDS];
    const uint8_t *drop; /* a bit per element of the scores, 0: dropped; NULL: none */
    float *scratch;      /* scratch_block floats for every block */
    uint64_t batch, heads, kv_heads, q_len, kv_len, q_cols, v_cols;
    struct op_attention_side at[OP_ATT_OPERANDS];
    uint64_t drop_first;                       /* bit of the first score */
    uint64_t scratch_block, pse_first, copies; /* copies of a row's max and sum */
    int64_t low, high;
    double scale, keep;
};

#endif
