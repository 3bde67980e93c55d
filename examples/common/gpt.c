/* SPDX-License-Identifier: Apache-2.0 */
#include "gpt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *gpt_check_shape(const struct gpt_shape *shape)
{
    return shape->hidden % shape->heads != 0 ? "--hidden must be a multiple of --heads" : NULL;
}

enum start { START_NORMAL, START_ZERO, START_ONE };

static void add(struct gpt *gpt, struct npu *npu, uint64_t seed, enum start start, double stddev, int64_t rows,
                int64_t cols)
{
    struct parameter *param = &gpt->params[gpt->count++];
    param->value = TENSOR(npu, rows, cols);
    gpt->weights += param->value->count;
    if (start == START_NORMAL) {
        op_normal_(npu, param->value, seed * 1000003 + gpt->count, stddev);
    } else {
        op_fill_(npu, param->value, start == START_ONE ? 1.0f : 0.0f);
    }
}

/* The order must be that of enum gpt_layer_parameter. */
static void add_layer(struct gpt *gpt, struct npu *npu, uint64_t seed, int64_t layer)
{
    static const char *const names[GPT_PER_LAYER] = {
        "ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias",
        "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight",    "mlp.c_fc.bias",    "mlp.c_proj.weight",  "mlp.c_proj.bias"};
    int64_t c = gpt->shape.hidden;
    size_t first = gpt->count;
    double narrow = 0.02, residual = 0.02 / sqrt(2.0 * (double)gpt->shape.layers);
    add(gpt, npu, seed, START_ONE, 0, c, 0);
    add(gpt, npu, seed, START_ZERO, 0, c, 0);
    add(gpt, npu, seed, START_NORMAL, narrow, c, 3 * c);
    add(gpt, npu, seed, START_ZERO, 0, 3 * c, 0);
    add(gpt, npu, seed, START_NORMAL, residual, c, c);
    add(gpt, npu, seed, START_ZERO, 0, c, 0);
    add(gpt, npu, seed, START_ONE, 0, c, 0);
    add(gpt, npu, seed, START_ZERO, 0, c, 0);
    add(gpt, npu, seed, START_NORMAL, narrow, c, 4 * c);
    add(gpt, npu, seed, START_ZERO, 0, 4 * c, 0);
    add(gpt, npu, seed, START_NORMAL, residual, 4 * c, c);
    add(gpt, npu, seed, START_ZERO, 0, c, 0);
    for (size_t i = 0; i < GPT_PER_LAYER; i++) {
        snprintf(gpt->params[first + i].name, sizeof(gpt->params[0].name), "h.%d.%s", (int)layer, names[i]);
    }
}

void gpt_create(struct gpt *gpt, struct npu *npu, const struct gpt_shape *shape, uint64_t seed)
{
    *gpt = (struct gpt){.shape = *shape};
    size_t total = (size_t)shape->layers * GPT_PER_LAYER + 5;
    gpt->params = calloc(total, sizeof(*gpt->params));
    if (gpt->params == NULL) {
        fail("no host memory for %zu parameters", total);
    }
    add(gpt, npu, seed, START_NORMAL, 0.02, shape->vocab, shape->hidden);
    add(gpt, npu, seed, START_NORMAL, 0.02, shape->seq, shape->hidden);
    for (int64_t layer = 0; layer < shape->layers; layer++) {
        add_layer(gpt, npu, seed, layer);
    }
    add(gpt, npu, seed, START_ONE, 0, shape->hidden, 0);
    add(gpt, npu, seed, START_ZERO, 0, shape->hidden, 0);
    add(gpt, npu, seed, START_NORMAL, 0.02, shape->hidden, shape->vocab);
    snprintf(gpt_tokens(gpt)->name, sizeof(gpt->params[0].name), "wte.weight");
    snprintf(gpt_positions(gpt)->name, sizeof(gpt->params[0].name), "wpe.weight");
    snprintf(gpt_final_gamma(gpt)->name, sizeof(gpt->params[0].name), "ln_f.weight");
    snprintf(gpt_final_beta(gpt)->name, sizeof(gpt->params[0].name), "ln_f.bias");
    snprintf(gpt_head(gpt)->name, sizeof(gpt->params[0].name), "lm_head.weight");
}

void gpt_destroy(struct gpt *gpt, struct npu *npu)
{
    for (size_t i = 0; i < gpt->count; i++) {
        tensor_free(npu, &gpt->params[i].value);
        tensor_free(npu, &gpt->params[i].grad);
        tensor_free(npu, &gpt->params[i].m);
        tensor_free(npu, &gpt->params[i].v);
    }
    free(gpt->params);
    *gpt = (struct gpt){0};
}

struct parameter *gpt_tokens(const struct gpt *gpt)
{
    return &gpt->params[0];
}

struct parameter *gpt_positions(const struct gpt *gpt)
{
    return &gpt->params[1];
}

struct parameter *gpt_layer(const struct gpt *gpt, int64_t layer, enum gpt_layer_parameter which)
{
    return &gpt->params[2 + layer * GPT_PER_LAYER + which];
}

struct parameter *gpt_final_gamma(const struct gpt *gpt)
{
    return &gpt->params[gpt->count - 3];
}

struct parameter *gpt_final_beta(const struct gpt *gpt)
{
    return &gpt->params[gpt->count - 2];
}

struct parameter *gpt_head(const struct gpt *gpt)
{
    return &gpt->params[gpt->count - 1];
}
