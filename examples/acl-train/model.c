/* SPDX-License-Identifier: Apache-2.0 */
/* Forward and backward pass. Rows are tokens: a batch of B sequences of T tokens is a matrix of B*T rows. Tensors are
 * allocated when an operator creates them and freed after their last use, as in a framework with reference counts. */
#include "train.h"

#include <math.h>
#include <stdlib.h>

struct layer_state {
    struct tensor *input;
    struct norm norm1;
    struct tensor *qkv, *probs, *heads, *middle;
    struct norm norm2;
    struct tensor *fc, *gelu;
    struct norm final; /* of the last layer */
    struct tensor *output;
};

struct layer_state *model_states(const struct gpt *gpt)
{
    struct layer_state *states = calloc((size_t)gpt->shape.layers, sizeof(*states));
    if (states == NULL) {
        fail("no host memory for %lld layers", (long long)gpt->shape.layers);
    }
    return states;
}

static void free_norm(struct npu *npu, struct norm *norm)
{
    tensor_free(npu, &norm->y);
    tensor_free(npu, &norm->mean);
    tensor_free(npu, &norm->rstd);
}

static void free_state(struct npu *npu, struct layer_state *state)
{
    struct tensor **const all[] = {&state->input,  &state->qkv, &state->probs, &state->heads,
                                   &state->middle, &state->fc,  &state->gelu,  &state->output};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        tensor_free(npu, all[i]);
    }
    free_norm(npu, &state->norm1);
    free_norm(npu, &state->norm2);
    free_norm(npu, &state->final);
}

/* The parts of attention inside [token][query, key, value][head][channel] and [batch][head][row][column] tensors. */
struct attention {
    int64_t batch, heads, seq, depth, hidden;
};

static struct attention attention_of(const struct trainer *trainer)
{
    const struct gpt_shape *shape = &trainer->gpt.shape;
    return (struct attention){.batch = trainer->options->batch,
                              .heads = shape->heads,
                              .seq = shape->seq,
                              .depth = shape->hidden / shape->heads,
                              .hidden = shape->hidden};
}

enum { QUERY, KEY, VALUE };

static struct view part_of_qkv(const struct attention *a, const struct tensor *qkv, int part, bool transposed)
{
    return (struct view){.tensor = qkv,
                         .offset = (size_t)(part * a->hidden),
                         .row_stride = 3 * a->hidden,
                         .batch_stride = a->seq * 3 * a->hidden,
                         .head_stride = a->depth,
                         .transposed = transposed};
}

static struct view scores_view(const struct attention *a, const struct tensor *scores, bool transposed)
{
    return (struct view){.tensor = scores,
                         .row_stride = a->seq,
                         .batch_stride = a->heads * a->seq * a->seq,
                         .head_stride = a->seq * a->seq,
                         .transposed = transposed};
}

static struct view heads_view(const struct attention *a, const struct tensor *heads, bool transposed)
{
    return (struct view){.tensor = heads,
                         .row_stride = a->hidden,
                         .batch_stride = a->seq * a->hidden,
                         .head_stride = a->depth,
                         .transposed = transposed};
}

static struct batched_size size_of(const struct attention *a, int64_t m, int64_t n, int64_t k)
{
    return (struct batched_size){
        .m = (uint64_t)m, .n = (uint64_t)n, .k = (uint64_t)k, .batch = (uint64_t)a->batch, .heads = (uint64_t)a->heads};
}

static void attention_forward(struct trainer *trainer, struct layer_state *state)
{
    struct npu *npu = &trainer->npu;
    struct attention a = attention_of(trainer);
    struct tensor *scores = TENSOR(npu, a.batch, a.heads, a.seq, a.seq);
    op_bmm_out(npu, part_of_qkv(&a, state->qkv, QUERY, false), part_of_qkv(&a, state->qkv, KEY, true),
               scores_view(&a, scores, false), size_of(&a, a.seq, a.seq, a.depth), 1.0 / sqrt((double)a.depth));
    op_causal_mask_(npu, scores, a.batch * a.heads, a.seq, a.seq, 0);
    state->probs = op_softmax(npu, scores);
    tensor_free(npu, &scores);
    state->heads = TENSOR(npu, a.batch * a.seq, a.hidden);
    op_bmm_out(npu, scores_view(&a, state->probs, false), part_of_qkv(&a, state->qkv, VALUE, false),
               heads_view(&a, state->heads, false), size_of(&a, a.seq, a.depth, a.seq), 1.0);
}

/* Gradient of the query, key and value matrices; frees its intermediate scores. */
static struct tensor *attention_backward(struct trainer *trainer, const struct layer_state *state,
                                         const struct tensor *dheads)
{
    struct npu *npu = &trainer->npu;
    struct attention a = attention_of(trainer);
    double scale = 1.0 / sqrt((double)a.depth);
    struct tensor *dqkv = tensor_like(npu, state->qkv);
    struct tensor *dprobs = tensor_like(npu, state->probs);
    op_bmm_out(npu, heads_view(&a, dheads, false), part_of_qkv(&a, state->qkv, VALUE, true),
               scores_view(&a, dprobs, false), size_of(&a, a.seq, a.seq, a.depth), 1.0);
    op_bmm_out(npu, scores_view(&a, state->probs, true), heads_view(&a, dheads, false),
               part_of_qkv(&a, dqkv, VALUE, false), size_of(&a, a.seq, a.depth, a.seq), 1.0);
    struct tensor *dscores = op_softmax_backward(npu, dprobs, state->probs);
    tensor_free(npu, &dprobs);
    op_bmm_out(npu, scores_view(&a, dscores, false), part_of_qkv(&a, state->qkv, KEY, false),
               part_of_qkv(&a, dqkv, QUERY, false), size_of(&a, a.seq, a.depth, a.seq), scale);
    op_bmm_out(npu, scores_view(&a, dscores, true), part_of_qkv(&a, state->qkv, QUERY, false),
               part_of_qkv(&a, dqkv, KEY, false), size_of(&a, a.seq, a.depth, a.seq), scale);
    tensor_free(npu, &dscores);
    return dqkv;
}

#define VALUE_OF(layer, which) (gpt_layer(&trainer->gpt, (layer), GPT_##which)->value)

static struct tensor *layer_forward(struct trainer *trainer, int64_t layer, struct tensor *x)
{
    struct npu *npu = &trainer->npu;
    struct layer_state *state = &trainer->states[layer];
    state->input = x;
    state->norm1 = op_layer_norm(npu, x, VALUE_OF(layer, LN1_GAMMA), VALUE_OF(layer, LN1_BETA));
    state->qkv = op_linear(npu, state->norm1.y, VALUE_OF(layer, QKV_WEIGHT), VALUE_OF(layer, QKV_BIAS));
    attention_forward(trainer, state);
    struct tensor *attention = op_linear(npu, state->heads, VALUE_OF(layer, PROJ_WEIGHT), VALUE_OF(layer, PROJ_BIAS));
    state->middle = op_add(npu, x, attention);
    tensor_free(npu, &attention);
    state->norm2 = op_layer_norm(npu, state->middle, VALUE_OF(layer, LN2_GAMMA), VALUE_OF(layer, LN2_BETA));
    state->fc = op_linear(npu, state->norm2.y, VALUE_OF(layer, FC_WEIGHT), VALUE_OF(layer, FC_BIAS));
    state->gelu = op_gelu(npu, state->fc);
    struct tensor *mlp = op_linear(npu, state->gelu, VALUE_OF(layer, OUT_WEIGHT), VALUE_OF(layer, OUT_BIAS));
    struct tensor *output = op_add(npu, state->middle, mlp);
    tensor_free(npu, &mlp);
    return output;
}

struct tensor *model_forward(struct trainer *trainer, const struct tensor *ids, const struct tensor *targets,
                             struct tensor **dlogits)
{
    struct npu *npu = &trainer->npu;
    struct gpt *gpt = &trainer->gpt;
    int64_t layers = gpt->shape.layers;
    struct tensor *x = op_embedding(npu, gpt_tokens(gpt)->value, gpt_positions(gpt)->value, 0, ids, gpt->shape.seq);
    for (int64_t layer = 0; layer < layers; layer++) {
        x = layer_forward(trainer, layer, x);
    }
    struct layer_state *last = &trainer->states[layers - 1];
    last->output = x;
    last->final = op_layer_norm(npu, x, gpt_final_gamma(gpt)->value, gpt_final_beta(gpt)->value);
    struct tensor *logits = op_linear(npu, last->final.y, gpt_head(gpt)->value, NULL);
    struct tensor *loss = op_cross_entropy(npu, logits, targets, dlogits);
    tensor_free(npu, &logits);
    if (dlogits == NULL) {
        for (int64_t layer = 0; layer < layers; layer++) {
            free_state(npu, &trainer->states[layer]);
        }
    }
    return loss;
}

/* A gradient is complete: sum it over the processes. */
static void set_grad(struct trainer *trainer, struct parameter *param, struct tensor *grad)
{
    param->grad = grad;
    communicate_sum(trainer, grad);
}

static void linear_backward(struct trainer *trainer, const struct tensor *x, const struct tensor *dy,
                            struct parameter *weight, struct parameter *bias, struct tensor **dx)
{
    set_grad(trainer, weight, op_linear_backward_weight(&trainer->npu, x, dy));
    if (bias != NULL) {
        set_grad(trainer, bias, op_bias_backward(&trainer->npu, dy));
    }
    *dx = op_linear_backward_input(&trainer->npu, dy, weight->value);
}

static struct tensor *norm_backward(struct trainer *trainer, const struct tensor *dy, const struct tensor *x,
                                    const struct norm *norm, struct parameter *gamma, struct parameter *beta)
{
    struct tensor *dgamma, *dbeta;
    struct tensor *dx = op_layer_norm_backward(&trainer->npu, dy, x, norm, gamma->value, &dgamma, &dbeta);
    set_grad(trainer, gamma, dgamma);
    set_grad(trainer, beta, dbeta);
    return dx;
}

/* Consumes the gradient of the layer's output and returns that of its input. */
static struct tensor *layer_backward(struct trainer *trainer, int64_t layer, struct tensor *dy)
{
    struct npu *npu = &trainer->npu;
    struct gpt *gpt = &trainer->gpt;
    struct layer_state *state = &trainer->states[layer];
    struct tensor *dgelu, *dnorm2, *dheads, *dnorm1;

    linear_backward(trainer, state->gelu, dy, gpt_layer(gpt, layer, GPT_OUT_WEIGHT),
                    gpt_layer(gpt, layer, GPT_OUT_BIAS), &dgelu);
    tensor_free(npu, &state->gelu);
    struct tensor *dfc = op_gelu_backward(npu, dgelu, state->fc);
    tensor_free(npu, &dgelu);
    tensor_free(npu, &state->fc);
    linear_backward(trainer, state->norm2.y, dfc, gpt_layer(gpt, layer, GPT_FC_WEIGHT),
                    gpt_layer(gpt, layer, GPT_FC_BIAS), &dnorm2);
    tensor_free(npu, &dfc);
    struct tensor *dmiddle = norm_backward(trainer, dnorm2, state->middle, &state->norm2,
                                           gpt_layer(gpt, layer, GPT_LN2_GAMMA), gpt_layer(gpt, layer, GPT_LN2_BETA));
    tensor_free(npu, &dnorm2);
    free_norm(npu, &state->norm2);
    op_add_(npu, dmiddle, dy); /* around the MLP */
    tensor_free(npu, &dy);

    linear_backward(trainer, state->heads, dmiddle, gpt_layer(gpt, layer, GPT_PROJ_WEIGHT),
                    gpt_layer(gpt, layer, GPT_PROJ_BIAS), &dheads);
    struct tensor *dqkv = attention_backward(trainer, state, dheads);
    tensor_free(npu, &dheads);
    linear_backward(trainer, state->norm1.y, dqkv, gpt_layer(gpt, layer, GPT_QKV_WEIGHT),
                    gpt_layer(gpt, layer, GPT_QKV_BIAS), &dnorm1);
    tensor_free(npu, &dqkv);
    struct tensor *dx = norm_backward(trainer, dnorm1, state->input, &state->norm1,
                                      gpt_layer(gpt, layer, GPT_LN1_GAMMA), gpt_layer(gpt, layer, GPT_LN1_BETA));
    tensor_free(npu, &dnorm1);
    op_add_(npu, dx, dmiddle); /* around the attention */
    tensor_free(npu, &dmiddle);
    free_state(npu, state);
    return dx;
}

void model_backward(struct trainer *trainer, const struct tensor *ids, struct tensor *dlogits)
{
    struct npu *npu = &trainer->npu;
    struct gpt *gpt = &trainer->gpt;
    struct layer_state *last = &trainer->states[gpt->shape.layers - 1];
    struct tensor *dfinal;
    linear_backward(trainer, last->final.y, dlogits, gpt_head(gpt), NULL, &dfinal);
    tensor_free(npu, &dlogits);
    struct tensor *dx =
        norm_backward(trainer, dfinal, last->output, &last->final, gpt_final_gamma(gpt), gpt_final_beta(gpt));
    tensor_free(npu, &dfinal);
    for (int64_t layer = gpt->shape.layers - 1; layer >= 0; layer--) {
        dx = layer_backward(trainer, layer, dx);
    }
    struct tensor *dtokens = tensor_like(npu, gpt_tokens(gpt)->value);
    struct tensor *dpositions = tensor_like(npu, gpt_positions(gpt)->value);
    op_fill_(npu, dtokens, 0);
    op_fill_(npu, dpositions, 0);
    op_embedding_backward(npu, dx, ids, dtokens, dpositions, gpt->shape.seq);
    tensor_free(npu, &dx);
    set_grad(trainer, gpt_tokens(gpt), dtokens);
    set_grad(trainer, gpt_positions(gpt), dpositions);
}
