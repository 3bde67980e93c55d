/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for operator kernels. They follow the rules of softnpu/kernels (same variants, same invariance), with loops
 * over strided operands. */
#ifndef SOFTNPU_ACLNN_OP_KERNEL_H
#define SOFTNPU_ACLNN_OP_KERNEL_H

#include "softnpu/aclnn/kernels/op_args.h"
#include "softnpu/kernels/convert.h"

#define OP_PROTOTYPE(name, args) void TK_NAME(name)(const struct args *a, uint32_t block, uint32_t num_blocks);
OP_KERNELS(OP_PROTOTYPE)
void TK_NAME(op_rows)(const struct op_rows_args *a, uint32_t block, uint32_t num_blocks);
void TK_NAME(op_reduce)(const struct op_reduce_args *a, uint32_t block, uint32_t num_blocks);
void TK_NAME(op_foreach)(const struct op_foreach_args *a, uint32_t block, uint32_t num_blocks);
void TK_NAME(op_map)(const struct op_map_args *m, uint32_t block, uint32_t num_blocks);

#define OP_KERNEL(name, args) void TK_NAME(name)(const struct args *a, uint32_t block, uint32_t num_blocks)

static inline uint64_t op_loop_count(const struct op_loop *loop)
{
    uint64_t count = 1;
    for (uint64_t i = 0; i < loop->rank; i++) {
        count *= loop->dims[i];
    }
    return count;
}

/* Iterates over part of a loop in runs along its innermost dimension. */
struct op_walk {
    const struct op_loop *loop;
    uint64_t index[OP_DIMS];
    uint64_t at, end; /* linear */
};

static inline struct op_walk op_walk_start(const struct op_loop *loop, struct tk_range range)
{
    struct op_walk w = {.loop = loop, .at = range.begin, .end = range.end};
    uint64_t rest = range.begin;
    for (uint64_t i = loop->rank; i-- > 0 && range.begin < range.end;) {
        w.index[i] = rest % loop->dims[i];
        rest /= loop->dims[i];
    }
    return w;
}

/* Length of the next run, 0 at the end; at most `most`. */
static inline uint64_t op_walk_run(const struct op_walk *w, uint64_t most)
{
    const uint64_t inner = w->loop->rank - 1;
    uint64_t run = w->loop->dims[inner] - w->index[inner];
    run = run < w->end - w->at ? run : w->end - w->at;
    return run < most ? run : most;
}

/* Element offset of an operand at the current position. */
static inline int64_t op_walk_offset(const struct op_walk *w, const struct op_side *side)
{
    int64_t offset = 0;
    for (uint64_t i = 0; i < w->loop->rank; i++) {
        offset += (int64_t)w->index[i] * side->steps[i];
    }
    return offset;
}

static inline void op_walk_advance(struct op_walk *w, uint64_t run)
{
    w->at += run;
    uint64_t i = w->loop->rank - 1;
    w->index[i] += run;
    while (i > 0 && w->index[i] >= w->loop->dims[i]) {
        w->index[i] = 0;
        w->index[--i]++;
    }
}

static inline int64_t op_inner_step(const struct op_loop *loop, const struct op_side *side)
{
    return side->steps[loop->rank - 1];
}

static inline uint64_t op_type_b(int64_t type)
{
    switch (type) {
#define OP_TYPE_B(name, ctype, kind)                                                                                   \
    case name:                                                                                                         \
        return sizeof(ctype);
        TK_PLAIN_TYPES(OP_TYPE_B)
#undef OP_TYPE_B
    case TK_BOOL:
        return 1;
    default:
        return 2; /* the half types */
    }
}

static inline const char *op_element(const void *base, int64_t offset, int64_t type)
{
    return (const char *)base + offset * (int64_t)op_type_b(type);
}

#endif
