/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of a small transformer, each reported under the name of its counterpart in a framework. Results are
 * new tensors unless the name ends with an underscore. */
#ifndef EXAMPLES_COMMON_OPS_H
#define EXAMPLES_COMMON_OPS_H

#include "tensor.h"

/* A matrix, or batch x heads of them, inside a tensor. */
struct view {
    const struct tensor *tensor;
    size_t offset;      /* offset of the first element */
    int64_t row_stride; /* in elements, like the others */
    int64_t batch_stride, head_stride;
    bool transposed;
};

struct batched_size {
    uint64_t m, n, k, batch, heads;
};

void op_fill_(struct npu *npu, struct tensor *x, float value);
void op_normal_(struct npu *npu, struct tensor *x, uint64_t seed, double stddev);

struct tensor *op_embedding(struct npu *npu, const struct tensor *table, const struct tensor *positions, int64_t first,
                            const struct tensor *ids, int64_t period);
void op_embedding_backward(struct npu *npu, const struct tensor *dy, const struct tensor *ids, struct tensor *dtable,
                           struct tensor *dpositions, int64_t period);

struct norm {
    struct tensor *y, *mean, *rstd;
};
struct norm op_layer_norm(struct npu *npu, const struct tensor *x, const struct tensor *gamma,
                          const struct tensor *beta);
/* dgamma and dbeta are new. */
struct tensor *op_layer_norm_backward(struct npu *npu, const struct tensor *dy, const struct tensor *x,
                                      const struct norm *norm, const struct tensor *gamma, struct tensor **dgamma,
                                      struct tensor **dbeta);

/* y = x w (+ bias): x is rows x k, w is k x n. */
struct tensor *op_linear(struct npu *npu, const struct tensor *x, const struct tensor *w, const struct tensor *bias);
/* dx = dy w^T, dw = x^T dy, dbias = column sums of dy. */
struct tensor *op_linear_backward_input(struct npu *npu, const struct tensor *dy, const struct tensor *w);
struct tensor *op_linear_backward_weight(struct npu *npu, const struct tensor *x, const struct tensor *dy);
struct tensor *op_bias_backward(struct npu *npu, const struct tensor *dy);
/* c = scale * a b for every batch and head; c is written in place. */
void op_bmm_out(struct npu *npu, struct view a, struct view b, struct view c, struct batched_size size, double scale);

void op_causal_mask_(struct npu *npu, struct tensor *scores, int64_t matrices, int64_t rows, int64_t cols,
                     int64_t first);
struct tensor *op_softmax(struct npu *npu, const struct tensor *x);
struct tensor *op_softmax_backward(struct npu *npu, const struct tensor *dy, const struct tensor *y);
struct tensor *op_gelu(struct npu *npu, const struct tensor *x);
struct tensor *op_gelu_backward(struct npu *npu, const struct tensor *dy, const struct tensor *x);
struct tensor *op_add(struct npu *npu, const struct tensor *x, const struct tensor *y);
void op_add_(struct npu *npu, struct tensor *x, const struct tensor *y);

/* Mean loss over the rows; *dlogits (optional) is its gradient. */
struct tensor *op_cross_entropy(struct npu *npu, const struct tensor *logits, const struct tensor *targets,
                                struct tensor **dlogits);
struct tensor *op_argmax(struct npu *npu, const struct tensor *x);

struct adam {
    double lr, weight_decay, grad_scale;
    uint64_t step; /* from 1 */
};
void op_adamw_(struct npu *npu, struct tensor *param, const struct tensor *grad, struct tensor *m, struct tensor *v,
               const struct adam *adam);

/* The full name of an operator given with or without "torch._ops.aten." and the part after the dot; NULL if unknown. */
const char *op_find_name(const char *text);
/* All names, separated by spaces. */
const char *op_all_names(void);

#endif
