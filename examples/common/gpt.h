/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a small GPT: embedding, layers of pre-norm attention and MLP, final norm, output projection. */
#ifndef EXAMPLES_COMMON_GPT_H
#define EXAMPLES_COMMON_GPT_H

#include "ops.h"

struct gpt_shape {
    int64_t layers, hidden, heads, seq, vocab;
};

struct parameter {
    char name[40];
    struct tensor *value;
    struct tensor *grad;  /* lives from the backward pass to the optimizer */
    struct tensor *m, *v; /* state of the optimizer, created at its first step */
};

/* In the order of struct gpt's array: two, then these per layer, then three. */
enum gpt_layer_parameter {
    GPT_LN1_GAMMA,
    GPT_LN1_BETA,
    GPT_QKV_WEIGHT,
    GPT_QKV_BIAS,
    GPT_PROJ_WEIGHT,
    GPT_PROJ_BIAS,
    GPT_LN2_GAMMA,
    GPT_LN2_BETA,
    GPT_FC_WEIGHT,
    GPT_FC_BIAS,
    GPT_OUT_WEIGHT,
    GPT_OUT_BIAS,
    GPT_PER_LAYER
};

struct gpt {
    struct gpt_shape shape;
    struct parameter *params;
    size_t count;
    size_t weights; /* total number of elements */
};

/* What is wrong with the shape; NULL if it is valid. */
const char *gpt_check_shape(const struct gpt_shape *shape);
void gpt_create(struct gpt *gpt, struct npu *npu, const struct gpt_shape *shape, uint64_t seed);
void gpt_destroy(struct gpt *gpt, struct npu *npu);

struct parameter *gpt_tokens(const struct gpt *gpt);
struct parameter *gpt_positions(const struct gpt *gpt);
struct parameter *gpt_layer(const struct gpt *gpt, int64_t layer, enum gpt_layer_parameter which);
struct parameter *gpt_final_gamma(const struct gpt *gpt);
struct parameter *gpt_final_beta(const struct gpt *gpt);
struct parameter *gpt_head(const struct gpt *gpt);

#endif
