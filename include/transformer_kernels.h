/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the kernels in transformer_kernels.so, an operator binary for training and running small transformers
 * in float32.
 *
 * Load the binary with aclrtBinaryLoadFromFile, find a kernel by its name (or by its tiling key, below) and launch
 * it with the kernel's struct as argument bytes. A struct lists the device pointers first, then the tiling values;
 * every field is eight bytes wide, so the bytes are the same whether the struct is passed as a whole or its fields
 * are appended one by one.
 *
 * Any number of blocks may be launched, even more than there is work for. The result does not depend on that number,
 * bit for bit. Matrices are row-major and dense unless a field names a stride. If a comment says that one array may
 * be another, the kernel works in place; otherwise the arrays must not overlap. A launch with a size of zero, or
 * with NULL for a pointer that is not optional, does nothing. */
#ifndef TRANSFORMER_KERNELS_H
#define TRANSFORMER_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(kernel, tiling key): one line per kernel. The function is exported as <kernel> and as <kernel>_<tiling key>. */
#define TK_KERNELS(X)                                                                                                  \
    X(matmul, 1)                                                                                                       \
    X(bias_add, 2)                                                                                                     \
    X(bias_grad, 3)                                                                                                    \
    X(gelu, 4)                                                                                                         \
    X(gelu_grad, 5)                                                                                                    \
    X(relu, 6)                                                                                                         \
    X(relu_grad, 7)                                                                                                    \
    X(softmax, 8)                                                                                                      \
    X(softmax_grad, 9)                                                                                                 \
    X(causal_mask, 10)                                                                                                 \
    X(layer_norm, 11)                                                                                                  \
    X(layer_norm_grad, 12)                                                                                             \
    X(layer_norm_param_grad, 13)                                                                                       \
    X(embedding, 14)                                                                                                   \
    X(embedding_grad, 15)                                                                                              \
    X(cross_entropy, 16)                                                                                               \
    X(cross_entropy_mean, 17)                                                                                          \
    X(add, 18)                                                                                                         \
    X(mul, 19)                                                                                                         \
    X(scale, 20)                                                                                                       \
    X(adamw, 21)                                                                                                       \
    X(sgd, 22)                                                                                                         \
    X(cast, 23)                                                                                                        \
    X(fill, 24)                                                                                                        \
    X(copy2d, 25)                                                                                                      \
    X(permute, 26)                                                                                                     \
    X(reduce, 27)                                                                                                      \
    X(argmax, 28)                                                                                                      \
    X(random_uniform, 29)                                                                                              \
    X(random_normal, 30)

/* c = alpha * op(a) * op(b) + beta * c, with op(a) of m x k and op(b) of k x n, for batch * heads independent problems.
 * op transposes where trans_* is not 0: a is then stored as k x m, b as n x k. ld* is the distance between stored rows,
 * in elements. Problem (i, j), 0 <= i < batch, 0 <= j < heads, starts at base + i * *_batch + j * *_head, in elements:
 * heads inside a [token, head, channel] matrix need no transposition. c is not read if beta is 0. */
struct tk_matmul_args {
    const float *a;
    const float *b;
    float *c;
    uint64_t m, n, k;
    uint64_t trans_a, trans_b;
    int64_t lda, ldb, ldc;
    uint64_t batch, heads;
    int64_t a_batch, b_batch, c_batch;
    int64_t a_head, b_head, c_head;
    double alpha, beta;
};

/* y[r][c] = x[r][c] + bias[c]; y may be x. */
struct tk_bias_add_args {
    const float *x;
    const float *bias;
    float *y;
    uint64_t rows, cols;
};

/* dbias[c] = beta * dbias[c] + sum over r of dy[r][c]; dbias is not read if beta is 0. */
struct tk_bias_grad_args {
    const float *dy;
    float *dbias;
    uint64_t rows, cols;
    double beta;
};

/* y = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); y may be x. */
struct tk_gelu_args {
    const float *x;
    float *y;
    uint64_t count;
};

/* dx = dy * gelu'(x); dx may be dy or x. */
struct tk_gelu_grad_args {
    const float *dy;
    const float *x;
    float *dx;
    uint64_t count;
};

/* y = max(x, 0); y may be x. */
struct tk_relu_args {
    const float *x;
    float *y;
    uint64_t count;
};

/* dx = x > 0 ? dy : 0; x may also be the output of relu; dx may be dy or x. */
struct tk_relu_grad_args {
    const float *dy;
    const float *x;
    float *dx;
    uint64_t count;
};

/* y[r] = softmax(x[r]) over the columns of each row; y may be x. */
struct tk_softmax_args {
    const float *x;
    float *y;
    uint64_t rows, cols;
};

/* dx[r][c] = y[r][c] * (dy[r][c] - sum over j of dy[r][j] y[r][j]); dx may be dy or y. */
struct tk_softmax_grad_args {
    const float *dy;
    const float *y;
    float *dx;
    uint64_t rows, cols;
};

/* In each of batch matrices s of rows x cols: s[i][j] = value where j > i + first. first is the number of columns
 * besides column 0 that row 0 can see: 0 for training, the length of the cache in generation. */
struct tk_causal_mask_args {
    float *s;
    uint64_t batch, rows, cols;
    int64_t first;
    double value;
};

/* y[r] = (x[r] - mean) * rstd * gamma + beta, rstd = 1 / sqrt(variance + eps). gamma, beta, mean[rows] and rstd[rows]
 * are optional; y may be x. */
struct tk_layer_norm_args {
    const float *x;
    const float *gamma;
    const float *beta;
    float *y;
    float *mean;
    float *rstd;
    uint64_t rows, cols;
    double eps;
};

/* Gradient with respect to the input: dx = accumulate * dx + ...; gamma is optional; dx may be dy if accumulate is 0 */
struct tk_layer_norm_grad_args {
    const float *dy;
    const float *x;
    const float *gamma;
    const float *mean;
    const float *rstd;
    float *dx;
    uint64_t rows, cols;
    double accumulate; /* 0 or 1 */
};

/* dgamma and dbeta (each optional) = accumulate * old + the sum over the rows. */
struct tk_layer_norm_param_grad_args {
    const float *dy;
    const float *x;
    const float *mean;
    const float *rstd;
    float *dgamma;
    float *dbeta;
    uint64_t rows, cols;
    double accumulate; /* 0 or 1 */
};

/* y[i] = table[ids[i]] (+ positions[i % period] unless positions is NULL). An id outside the table yields zeros. */
struct tk_embedding_args {
    const float *table;
    const int32_t *ids;
    const float *positions; /* optional: period x dim */
    float *y;
    uint64_t count, vocab, dim, period;
};

/* dtable[ids[i]] += dy[i], dpositions[i % period] += dy[i] (each optional), in the order of i. The caller clears
 * them. */
struct tk_embedding_grad_args {
    const float *dy;
    const int32_t *ids;
    float *dtable;
    float *dpositions;
    uint64_t count, vocab, dim, period;
};

/* row_loss[r] = log(sum over c of exp(logits[r][c])) - logits[r][targets[r]], 0 for a row whose target is not a
 * class (padding); dlogits (optional, may be logits) = grad_scale / valid * (softmax(logits[r]) -
 * onehot(targets[r])), 0 for such rows, with valid = the number of other rows: the gradient of the mean loss. */
struct tk_cross_entropy_args {
    const float *logits;
    const int32_t *targets;
    float *row_loss;
    float *dlogits;
    uint64_t rows, classes;
    double grad_scale;
};

/* loss[0] = the mean of row_loss over the rows whose target is a class. */
struct tk_cross_entropy_mean_args {
    const float *row_loss;
    const int32_t *targets;
    float *loss;
    uint64_t rows, classes;
};

/* z = alpha * x + beta * y; z may be x or y. Residual connections, gradient accumulation, moving averages. */
struct tk_add_args {
    const float *x;
    const float *y;
    float *z;
    uint64_t count;
    double alpha, beta;
};

/* z = x * y; z may be x or y. */
struct tk_mul_args {
    const float *x;
    const float *y;
    float *z;
    uint64_t count;
};

/* y = alpha * x + shift; y may be x. */
struct tk_scale_args {
    const float *x;
    float *y;
    uint64_t count;
    double alpha, shift;
};

/* One step of Adam on count parameters; step counts from 1. decoupled: 1 = AdamW (the decay shrinks the parameter),
 * 0 = Adam with the decay added to the gradient. The gradient is multiplied by grad_scale first. */
struct tk_adamw_args {
    float *param;
    const float *grad;
    float *m;
    float *v;
    uint64_t count, step, decoupled;
    double lr, beta1, beta2, eps, weight_decay, grad_scale;
};

/* velocity = momentum * velocity + grad + weight_decay * param; param -= lr * velocity. Without velocity (NULL):
 * momentum 0. */
struct tk_sgd_args {
    float *param;
    const float *grad;
    float *velocity;
    uint64_t count;
    double lr, momentum, weight_decay;
};

/* dst = src converted; types are aclDataType numbers: FLOAT 0, FLOAT16 1, INT8 2, INT32 3, UINT8 4, INT16 6, UINT16
 * 7, UINT32 8, INT64 9, UINT64 10, DOUBLE 11, BOOL 12, BF16 27. To narrower floating types: round to nearest even.
 * To integers: towards zero, saturating, NaN becomes 0. To BOOL: not zero. Other types: no effect. */
struct tk_cast_args {
    const void *src;
    void *dst;
    uint64_t count;
    int64_t src_type, dst_type;
};

/* Repeats the low element_b bytes (1, 2, 4 or 8) of pattern count times. */
struct tk_fill_args {
    void *dst;
    uint64_t count, element_b, pattern;
};

/* Copies rows of width_b bytes between pitched matrices. */
struct tk_copy2d_args {
    const void *src;
    void *dst;
    uint64_t rows, width_b, src_pitch_b, dst_pitch_b;
};

/* dst, dense with dims d0 x d1 x d2 x d3, gets element (i0, i1, i2, i3) from src + i0*s0 + i1*s1 + i2*s2 + i3*s3 (in
 * elements of 4 bytes): transposes, splits and merges heads. */
struct tk_permute_args {
    const float *src;
    float *dst;
    uint64_t d0, d1, d2, d3;
    int64_t s0, s1, s2, s3;
};

enum tk_reduce_op { TK_REDUCE_SUM, TK_REDUCE_MEAN, TK_REDUCE_MAX, TK_REDUCE_MIN, TK_REDUCE_SUM_SQUARES };

/* y[o][i] = op over j of x[o][j][i], for x of outer x count x inner. Rows: inner 1; columns: outer 1; everything:
 * both 1. The outputs are distributed over the blocks: reduce a long array in two launches to use several. */
struct tk_reduce_args {
    const float *x;
    float *y;
    uint64_t outer, count, inner;
    uint64_t op;
};

/* index[r] = the first column with the largest value of row r (a NaN counts as the largest). */
struct tk_argmax_args {
    const float *x;
    int32_t *index;
    uint64_t rows, cols;
};

/* y[i] uniform in [low, high), from Philox4x32-10: word i % 4 of counter offset + i / 4 under key seed. */
struct tk_random_uniform_args {
    float *y;
    uint64_t count;
    uint64_t seed, offset;
    double low, high;
};

/* y[i] normal, by Box-Muller from the same words as random_uniform. */
struct tk_random_normal_args {
    float *y;
    uint64_t count;
    uint64_t seed, offset;
    double mean, stddev;
};

/* The binary's table of contents: the array transformer_kernels_table, transformer_kernels_count entries long. */
struct tk_kernel_info {
    const char *name;
    uint64_t tiling_key;
    uint64_t args_b;
};

#ifdef __cplusplus
}
#endif

#endif
