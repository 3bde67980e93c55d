/* SPDX-License-Identifier: Apache-2.0 */
/* The model for generation: new tokens attend to themselves and to all earlier ones, whose keys and values are in the
 * cache. The prompt and each further token use the same code. */
#include "infer.h"

#include <math.h>

static struct tensor *attend(struct npu *npu, const struct gpt *gpt, const struct cache *cache, int64_t layer,
                             const struct tensor *qkv)
{
    int64_t rows = qkv->dims[0], c = gpt->shape.hidden, heads = gpt->shape.heads, depth = c / heads;
    int64_t total = cache->length + rows;
    struct tensor *scores = TENSOR(npu, heads, rows, total);
    struct view query = {.tensor = qkv, .row_stride = 3 * c, .head_stride = depth};
    struct view keys = {.tensor = cache->keys[layer], .row_stride = c, .head_stride = depth, .transposed = true};
    struct view values = {.tensor = cache->values[layer], .row_stride = c, .head_stride = depth};
    struct view matrix = {.tensor = scores, .row_stride = total, .head_stride = rows * total};
    struct batched_size size = {
        .m = (uint64_t)rows, .n = (uint64_t)total, .k = (uint64_t)depth, .batch = 1, .heads = (uint64_t)heads};
    op_bmm_out(npu, query, keys, matrix, size, 1.0 / sqrt((double)depth));
    op_causal_mask_(npu, scores, heads, rows, total, cache->length);
    struct tensor *probs = op_softmax(npu, scores);
    tensor_free(npu, &scores);
    struct tensor *y = TENSOR(npu, rows, c);
    matrix.tensor = probs;
    struct view result = {.tensor = y, .row_stride = c, .head_stride = depth};
    size.n = (uint64_t)depth;
    size.k = (uint64_t)total;
    op_bmm_out(npu, matrix, values, result, size, 1.0);
    tensor_free(npu, &probs);
    return y;
}

static void free_norm(struct npu *npu, struct norm *norm)
{
    tensor_free(npu, &norm->y);
    tensor_free(npu, &norm->mean);
    tensor_free(npu, &norm->rstd);
}

#define VALUE_OF(which) (gpt_layer(gpt, layer, GPT_##which)->value)

static void run_layer(struct npu *npu, const struct gpt *gpt, struct cache *cache, int64_t layer, struct tensor *x)
{
    struct norm norm = op_layer_norm(npu, x, VALUE_OF(LN1_GAMMA), VALUE_OF(LN1_BETA));
    struct tensor *qkv = op_linear(npu, norm.y, VALUE_OF(QKV_WEIGHT), VALUE_OF(QKV_BIAS));
    free_norm(npu, &norm);
    cache_append(cache, npu, layer, qkv);
    struct tensor *heads = attend(npu, gpt, cache, layer, qkv);
    tensor_free(npu, &qkv);
    struct tensor *attention = op_linear(npu, heads, VALUE_OF(PROJ_WEIGHT), VALUE_OF(PROJ_BIAS));
    tensor_free(npu, &heads);
    op_add_(npu, x, attention);
    tensor_free(npu, &attention);
    norm = op_layer_norm(npu, x, VALUE_OF(LN2_GAMMA), VALUE_OF(LN2_BETA));
    struct tensor *fc = op_linear(npu, norm.y, VALUE_OF(FC_WEIGHT), VALUE_OF(FC_BIAS));
    free_norm(npu, &norm);
    struct tensor *gelu = op_gelu(npu, fc);
    tensor_free(npu, &fc);
    struct tensor *mlp = op_linear(npu, gelu, VALUE_OF(OUT_WEIGHT), VALUE_OF(OUT_BIAS));
    tensor_free(npu, &gelu);
    op_add_(npu, x, mlp);
    tensor_free(npu, &mlp);
}

struct tensor *decode(struct npu *npu, const struct gpt *gpt, struct cache *cache, const int32_t *tokens, int64_t count)
{
    struct tensor *ids = INT_TENSOR(npu, count);
    tensor_upload(npu, ids, tokens);
    struct tensor *x = op_embedding(npu, gpt_tokens(gpt)->value, gpt_positions(gpt)->value, cache->length, ids, count);
    tensor_free(npu, &ids);
    for (int64_t layer = 0; layer < gpt->shape.layers; layer++) {
        run_layer(npu, gpt, cache, layer, x);
    }
    cache_advance(cache, count);
    struct norm norm = op_layer_norm(npu, x, gpt_final_gamma(gpt)->value, gpt_final_beta(gpt)->value);
    tensor_free(npu, &x);
    struct tensor *logits = op_linear(npu, norm.y, gpt_head(gpt)->value, NULL);
    free_norm(npu, &norm);
    return logits;
}
