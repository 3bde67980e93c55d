/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of acl-infer. */
#ifndef ACL_INFER_H
#define ACL_INFER_H

#include "../common/gpt.h"

struct infer_options {
    int64_t requests, slots, layers, hidden, heads, vocab, max_tokens, seed;
    const char *kernels;
    bool json, announce, check, leak, grow;
};

/* Keys and values of all tokens that a request has seen so far, per layer. */
struct cache {
    int64_t layers, hidden;
    int64_t length, capacity; /* tokens */
    struct tensor **keys, **values;
};

/* ---- cache.c */
void cache_open(struct cache *cache, struct npu *npu, const struct gpt_shape *shape, int64_t capacity);
/* Makes space for `more` tokens. */
void cache_grow(struct cache *cache, struct npu *npu, int64_t more);
/* Adds rows of the key and value parts of a layer's query-key-value matrix; cache_advance makes them valid. */
void cache_append(struct cache *cache, struct npu *npu, int64_t layer, const struct tensor *qkv);
void cache_advance(struct cache *cache, int64_t tokens);
void cache_close(struct cache *cache, struct npu *npu);
/* Drops the memory without freeing it: the planted leak. */
void cache_abandon(struct cache *cache);
size_t cache_size_b(const struct cache *cache);

/* ---- decode.c */
/* Runs the model over new tokens of one sequence; the cache has the earlier ones. Returns the logits, a row per token.
 */
struct tensor *decode(struct npu *npu, const struct gpt *gpt, struct cache *cache, const int32_t *tokens,
                      int64_t count);

/* ---- server.c */
int serve(struct npu *npu, const struct gpt *gpt, const struct infer_options *options);

#endif
