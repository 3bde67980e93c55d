/* SPDX-License-Identifier: Apache-2.0 */
/* cast: between any two types; direct loops for the pairs that training uses. */
#include "softnpu/kernels/convert.h"
#include "softnpu/kernels/half.h"

static bool cast_fast(const struct tk_cast_args *a, struct tk_range r)
{
    const float *from = a->src;
    const uint16_t *from16 = a->src;
    float *to = a->dst;
    uint16_t *to16 = a->dst;
    switch (a->src_type * 100 + a->dst_type) {
    case TK_FLOAT * 100 + TK_FLOAT16:
        for (uint64_t i = r.begin; i < r.end; i++) {
            to16[i] = tk_float_to_half(from[i]);
        }
        return true;
    case TK_FLOAT * 100 + TK_BF16:
        for (uint64_t i = r.begin; i < r.end; i++) {
            to16[i] = tk_float_to_bf16(from[i]);
        }
        return true;
    case TK_FLOAT16 * 100 + TK_FLOAT:
        for (uint64_t i = r.begin; i < r.end; i++) {
            to[i] = tk_half_to_float(from16[i]);
        }
        return true;
    case TK_BF16 * 100 + TK_FLOAT:
        for (uint64_t i = r.begin; i < r.end; i++) {
            to[i] = tk_bf16_to_float(from16[i]);
        }
        return true;
    default:
        return false;
    }
}

static uint64_t size_of(int64_t type)
{
    switch (type) {
#define PLAIN(name, ctype, kind)                                                                                       \
    case name:                                                                                                         \
        return sizeof(ctype);
        TK_PLAIN_TYPES(PLAIN)
#undef PLAIN
    case TK_BOOL:
        return 1;
    default:
        return 2;
    }
}

TK_KERNEL(cast)
{
    if (a->src == NULL || a->dst == NULL || tk_type_kind(a->src_type) == TK_KIND_NONE ||
        tk_type_kind(a->dst_type) == TK_KIND_NONE) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    if (cast_fast(a, r)) {
        return;
    }
    struct tk_chunk chunk;
    const uint64_t src_b = size_of(a->src_type), dst_b = size_of(a->dst_type);
    for (uint64_t i = r.begin; i < r.end; i += TK_CHUNK) {
        const uint64_t n = r.end - i < TK_CHUNK ? r.end - i : TK_CHUNK;
        tk_chunk_load(&chunk, (const char *)a->src + i * src_b, 1, a->src_type, n);
        tk_chunk_store(&chunk, (char *)a->dst + i * dst_b, 1, a->dst_type, n);
    }
}
