/* SPDX-License-Identifier: Apache-2.0 */
#include "infer.h"

#include <stdlib.h>

static struct tensor **new_list(int64_t count)
{
    struct tensor **list = calloc((size_t)count, sizeof(*list));
    if (list == NULL) {
        fail("no host memory for a cache");
    }
    return list;
}

void cache_open(struct cache *cache, struct npu *npu, const struct gpt_shape *shape, int64_t capacity)
{
    *cache = (struct cache){.layers = shape->layers, .hidden = shape->hidden, .capacity = capacity};
    cache->keys = new_list(shape->layers);
    cache->values = new_list(shape->layers);
    for (int64_t i = 0; i < shape->layers; i++) {
        cache->keys[i] = TENSOR(npu, capacity, shape->hidden);
        cache->values[i] = TENSOR(npu, capacity, shape->hidden);
    }
}

static void copy_rows(struct npu *npu, const float *from, int64_t from_pitch, float *to, int64_t cols, int64_t rows)
{
    struct tk_copy2d_args args = {.src = from,
                                  .dst = to,
                                  .rows = (uint64_t)rows,
                                  .width_b = (uint64_t)cols * sizeof(float),
                                  .src_pitch_b = (uint64_t)from_pitch * sizeof(float),
                                  .dst_pitch_b = (uint64_t)cols * sizeof(float)};
    NPU_LAUNCH(npu, copy2d, (size_t)(rows * cols), args);
}

static void move_to_larger(struct cache *cache, struct npu *npu, struct tensor **tensor, int64_t capacity)
{
    op_begin(npu, "cat.default", TENSORS(*tensor));
    struct tensor *larger = TENSOR(npu, capacity, cache->hidden);
    if (cache->length > 0) {
        copy_rows(npu, (*tensor)->f32, cache->hidden, larger->f32, cache->hidden, cache->length);
    }
    op_end(npu, TENSORS(larger));
    tensor_free(npu, tensor);
    *tensor = larger;
}

void cache_grow(struct cache *cache, struct npu *npu, int64_t more)
{
    for (int64_t i = 0; i < cache->layers; i++) {
        move_to_larger(cache, npu, &cache->keys[i], cache->capacity + more);
        move_to_larger(cache, npu, &cache->values[i], cache->capacity + more);
    }
    cache->capacity += more;
}

void cache_append(struct cache *cache, struct npu *npu, int64_t layer, const struct tensor *qkv)
{
    int64_t rows = qkv->dims[0], c = cache->hidden;
    op_begin(npu, "index_copy_.default", TENSORS(qkv));
    copy_rows(npu, qkv->f32 + c, 3 * c, cache->keys[layer]->f32 + cache->length * c, c, rows);
    copy_rows(npu, qkv->f32 + 2 * c, 3 * c, cache->values[layer]->f32 + cache->length * c, c, rows);
    op_end(npu, TENSORS(cache->keys[layer], cache->values[layer]));
}

void cache_advance(struct cache *cache, int64_t tokens)
{
    cache->length += tokens;
}

void cache_close(struct cache *cache, struct npu *npu)
{
    for (int64_t i = 0; i < cache->layers; i++) {
        tensor_free(npu, &cache->keys[i]);
        tensor_free(npu, &cache->values[i]);
    }
    cache_abandon(cache);
}

void cache_abandon(struct cache *cache)
{
    for (int64_t i = 0; i < cache->layers; i++) {
        free(cache->keys[i]);
        free(cache->values[i]);
    }
    free(cache->keys);
    free(cache->values);
    *cache = (struct cache){0};
}

size_t cache_size_b(const struct cache *cache)
{
    return (size_t)(2 * cache->layers * cache->capacity * cache->hidden) * sizeof(float);
}
