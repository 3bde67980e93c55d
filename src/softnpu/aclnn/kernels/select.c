/* SPDX-License-Identifier: Apache-2.0 */
/* Positions and elements where a mask is not 0, in order: one block, because a position depends on all before it. */
#include "softnpu/aclnn/kernels/op_kernel.h"

/* n <= TK_CHUNK flags at the current position of a walk. */
static void flags_at(const struct op_select_args *a, const struct op_walk *w, uint64_t n, bool *flags)
{
    struct tk_chunk chunk;
    tk_chunk_load(&chunk, op_element(a->mask, op_walk_offset(w, &a->mask_side), a->mask_side.type),
                  op_inner_step(&a->loop, &a->mask_side), a->mask_side.type, n);
    for (uint64_t i = 0; i < n; i++) {
        flags[i] = chunk.kind == TK_KIND_REAL ? chunk.real[i] != 0 : chunk.i64[i] != 0;
    }
}

static uint64_t count_flags(const struct op_select_args *a)
{
    uint64_t found = 0;
    bool flags[TK_CHUNK];
    struct op_walk w = op_walk_start(&a->loop, (struct tk_range){0, op_loop_count(&a->loop)});
    for (uint64_t n; (n = op_walk_run(&w, TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        flags_at(a, &w, n, flags);
        for (uint64_t i = 0; i < n; i++) {
            found += flags[i];
        }
    }
    return found;
}

OP_KERNEL(NonZero, op_select_args)
{
    if (block != 0 || a->mask == NULL || a->z == NULL || a->shape == NULL) {
        return;
    }
    uint64_t found = count_flags(a);
    found = a->rank > 0 && found > a->room / a->rank ? a->room / a->rank : found;
    a->shape[a->by_dimension ? 0 : 1] = (int64_t)a->rank;
    a->shape[a->by_dimension ? 1 : 0] = (int64_t)found;
    int64_t *z = a->z;
    uint64_t at = 0;
    bool flags[TK_CHUNK];
    struct op_walk w = op_walk_start(&a->loop, (struct tk_range){0, op_loop_count(&a->loop)});
    for (uint64_t n; (n = op_walk_run(&w, TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        flags_at(a, &w, n, flags);
        for (uint64_t i = 0; i < n; i++) {
            if (!flags[i] || at >= found) {
                continue;
            }
            uint64_t rest = w.at + i;
            for (uint64_t d = a->rank; d-- > 0;) {
                z[a->by_dimension ? d * found + at : at * a->rank + d] = (int64_t)(rest % a->dims[d]);
                rest /= a->dims[d];
            }
            at++;
        }
    }
    (void)num_blocks;
}

/* Elements of one side in order, those of the other where the mask is not 0. */
static uint64_t transfer(const struct op_select_args *a, bool into_mask)
{
    const uint64_t size_b = op_type_b(a->z_side.type);
    uint64_t at = 0;
    bool flags[TK_CHUNK];
    struct op_walk w = op_walk_start(&a->loop, (struct tk_range){0, op_loop_count(&a->loop)});
    for (uint64_t n; (n = op_walk_run(&w, TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        flags_at(a, &w, n, flags);
        const struct op_side *side = into_mask ? &a->z_side : &a->x_side;
        char *spread = (char *)op_element(into_mask ? a->z : a->x, op_walk_offset(&w, side), side->type);
        const int64_t step_b = op_inner_step(&a->loop, side) * (int64_t)size_b;
        for (uint64_t i = 0; i < n; i++) {
            if (!flags[i]) {
                continue;
            }
            if (at < a->room) {
                char *dense = (char *)(into_mask ? a->x : a->z) + at * size_b;
                char *element = spread + (int64_t)i * step_b;
                memcpy(into_mask ? element : dense, into_mask ? dense : element, size_b);
            }
            at++;
        }
    }
    return at;
}

OP_KERNEL(MaskedSelectV3, op_select_args)
{
    if (block == 0 && a->mask != NULL && a->x != NULL && a->z != NULL && a->shape != NULL) {
        a->shape[0] = (int64_t)transfer(a, false);
    }
    (void)num_blocks;
}

OP_KERNEL(MaskedScatter, op_select_args)
{
    if (block == 0 && a->mask != NULL && a->x != NULL && a->z != NULL) {
        transfer(a, true);
    }
    (void)num_blocks;
}

OP_KERNEL(RepeatIndex, op_repeat_args)
{
    if (block != 0 || a->repeats == NULL || a->z == NULL) {
        return;
    }
    uint64_t at = 0;
    for (uint64_t i = 0; i < a->count; i++) {
        struct tk_chunk chunk;
        tk_chunk_load(&chunk, op_element(a->repeats, (int64_t)i * a->step, a->type), 1, a->type, 1);
        for (int64_t k = 0; k < chunk.i64[0]; k++, at++) {
            if (at < a->room) {
                a->z[at] = (int64_t)i;
            }
        }
    }
    while (at < a->room) {
        a->z[at++] = (int64_t)a->count; /* too few repeats: out of range */
    }
    (void)num_blocks;
}

/* Merges the sorted halves [begin, middle) and [middle, end) of `from` into `to`; equal keys keep their order. */
static void merge(const int64_t *keys, const int64_t *from, int64_t *to, uint64_t begin, uint64_t middle, uint64_t end)
{
    for (uint64_t i = begin, a = begin, b = middle; i < end; i++) {
        const bool left = a < middle && (b >= end || keys[from[a]] <= keys[from[b]]);
        to[i] = left ? from[a++] : from[b++];
    }
}

OP_KERNEL(MoeTokenPermute, op_expert_args)
{
    if (block != 0 || a->keys == NULL || a->order == NULL || a->rank == NULL || a->source == NULL || a->top_k == 0) {
        return;
    }
    int64_t *from = a->order, *to = a->rank;
    for (uint64_t i = 0; i < a->count; i++) {
        from[i] = (int64_t)i;
    }
    for (uint64_t width = 1; width < a->count; width *= 2) {
        for (uint64_t begin = 0; begin < a->count; begin += 2 * width) {
            const uint64_t middle = begin + width < a->count ? begin + width : a->count;
            const uint64_t end = middle + width < a->count ? middle + width : a->count;
            merge(a->keys, from, to, begin, middle, end);
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != a->order) {
        memcpy(a->order, from, a->count * sizeof *from);
    }
    for (uint64_t i = 0; i < a->count; i++) {
        a->source[i] = a->order[i] / (int64_t)a->top_k;
    }
    for (uint64_t i = 0; i < a->count; i++) {
        a->rank[a->order[i]] = (int64_t)i;
    }
    (void)num_blocks;
}
