/* SPDX-License-Identifier: Apache-2.0 */
/* Gather and scatter: elements of a target at positions given by index tensors.
 *
 * Invariants: a gather is divided anywhere. A scatter is divided between positions that differ in a dimension of the
 * target, so two blocks never change one element, and the order of the changes of an element is that of the indices. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"

#include <math.h>

#define NOWHERE INT64_MIN

/* Where n positions along the innermost dimension lead to, as offsets in elements. */
static void find(const struct op_index_args *a, const struct op_walk *w, const struct op_side *sides,
                 const int64_t *more, int64_t *offsets, uint64_t n)
{
    memset(offsets, 0, n * sizeof *offsets);
    for (uint64_t k = 0; k < a->count; k++) {
        const struct op_side *side = &sides[k];
        const int64_t step = op_inner_step(w->loop, side), limit = a->limit[k], stride = a->stride[k];
        const int64_t skip = k == 0 ? a->skip : NOWHERE;
        const char *base = op_element(a->index[k], op_walk_offset(w, side) + (more != NULL ? more[k] : 0), side->type);
        for (int64_t i = 0; i < (int64_t)n; i++) {
            const int64_t given =
                side->type == TK_INT64 ? ((const int64_t *)base)[i * step] : ((const int32_t *)base)[i * step];
            const int64_t at = given + (given < 0 ? limit : 0);
            const bool there = at >= 0 && at < limit && given != skip && offsets[i] != NOWHERE;
            offsets[i] = there ? offsets[i] + at * stride : NOWHERE;
        }
    }
}

static bool is_uniform(const struct op_index_args *a, const struct op_loop *loop, const struct op_side *sides)
{
    for (uint64_t k = 0; k < a->count; k++) {
        if (op_inner_step(loop, &sides[k]) != 0) {
            return false;
        }
    }
    return true;
}

#define BY_SIZE(size_b, EACH)                                                                                          \
    switch (size_b) {                                                                                                  \
    case 1:                                                                                                            \
        EACH(uint8_t)                                                                                                  \
        break;                                                                                                         \
    case 2:                                                                                                            \
        EACH(uint16_t)                                                                                                 \
        break;                                                                                                         \
    case 4:                                                                                                            \
        EACH(uint32_t)                                                                                                 \
        break;                                                                                                         \
    default:                                                                                                           \
        EACH(uint64_t)                                                                                                 \
        break;                                                                                                         \
    }

/* ---- gather ---- */

static void gather_row(const char *x, int64_t xs, char *z, int64_t zs, int64_t offset, uint64_t size_b, uint64_t n)
{
    if (offset != NOWHERE && xs == 1 && zs == 1) {
        memcpy(z, x + offset * (int64_t)size_b, n * size_b);
        return;
    }
#define ROW(ctype)                                                                                                     \
    for (int64_t i = 0; i < (int64_t)n; i++) {                                                                         \
        ((ctype *)z)[i * zs] = offset != NOWHERE ? ((const ctype *)x)[offset + i * xs] : 0;                            \
    }
    BY_SIZE(size_b, ROW)
}

static void gather_each(const char *x, int64_t xs, char *z, int64_t zs, const int64_t *offsets, uint64_t size_b,
                        uint64_t n)
{
#define EACH_ELEMENT(ctype)                                                                                            \
    for (int64_t i = 0; i < (int64_t)n; i++) {                                                                         \
        ((ctype *)z)[i * zs] = offsets[i] != NOWHERE ? ((const ctype *)x)[offsets[i] + i * xs] : 0;                    \
    }
    BY_SIZE(size_b, EACH_ELEMENT)
}

static void gather(const struct op_index_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->target == NULL || a->other == NULL) {
        return;
    }
    int64_t offsets[OP_RUN];
    const bool uniform = is_uniform(a, &a->loop, a->index_side);
    const uint64_t size_b = op_type_b(a->other_side.type);
    const int64_t xs = op_inner_step(&a->loop, &a->target_side), zs = op_inner_step(&a->loop, &a->other_side);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, uniform ? UINT64_MAX : OP_RUN)) > 0; op_walk_advance(&w, n)) {
        const char *x = op_element(a->target, op_walk_offset(&w, &a->target_side), a->target_side.type);
        char *z = (char *)op_element(a->other, op_walk_offset(&w, &a->other_side), a->other_side.type);
        find(a, &w, a->index_side, NULL, offsets, uniform ? 1 : n);
        if (uniform) {
            gather_row(x, xs, z, zs, offsets[0], size_b, n);
        } else {
            gather_each(x, xs, z, zs, offsets, size_b, n);
        }
    }
}

#define GATHER(name, args)                                                                                             \
    OP_KERNEL(name, args)                                                                                              \
    {                                                                                                                  \
        gather(a, block, num_blocks);                                                                                  \
    }
OP_KERNELS_GATHER(GATHER)

/* ---- scatter ---- */

/* n elements: at offsets[i], or in a row from offsets[0] on if uniform. */
struct change {
    char *target;
    const char *other;
    const int64_t *offsets;
    int64_t target_step, other_step;
    bool uniform;
    uint64_t n;
};

static void set(const struct change *c, uint64_t size_b)
{
    if (c->uniform && c->offsets[0] == NOWHERE) {
        return;
    }
    if (c->uniform && c->target_step == 1 && c->other_step == 1) {
        memmove(c->target + c->offsets[0] * (int64_t)size_b, c->other, c->n * size_b);
        return;
    }
#define SET(ctype)                                                                                                     \
    for (int64_t i = 0; i < (int64_t)c->n; i++) {                                                                      \
        const int64_t offset = c->offsets[c->uniform ? 0 : i];                                                         \
        if (offset != NOWHERE) {                                                                                       \
            ((ctype *)c->target)[offset + i * c->target_step] = ((const ctype *)c->other)[i * c->other_step];          \
        }                                                                                                              \
    }
    BY_SIZE(size_b, SET)
}

/* An expression in t (the element of the target), v (the value) and s (alpha). */
#define CHANGE(name, ctype, expression)                                                                                \
    static void name(const struct change *c, ctype s)                                                                  \
    {                                                                                                                  \
        ctype *target = (ctype *)c->target;                                                                            \
        const ctype *other = (const ctype *)c->other;                                                                  \
        (void)s;                                                                                                       \
        if (c->uniform && c->offsets[0] == NOWHERE) {                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        if (c->uniform && c->target_step == 1 && c->other_step == 1) {                                                 \
            target += c->offsets[0];                                                                                   \
            TK_INDEPENDENT                                                                                             \
            for (uint64_t i = 0; i < c->n; i++) {                                                                      \
                const ctype t = target[i], v = other[i];                                                               \
                target[i] = (ctype)(expression);                                                                       \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < (int64_t)c->n; i++) {                                                                  \
            const int64_t offset = c->offsets[c->uniform ? 0 : i];                                                     \
            if (offset != NOWHERE) {                                                                                   \
                const ctype t = target[offset + i * c->target_step], v = other[i * c->other_step];                     \
                target[offset + i * c->target_step] = (ctype)(expression);                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
#define CHANGES(type, ctype, kind)                                                                                     \
    CHANGE(add_##ctype, ctype, t + s * v)                                                                              \
    CHANGE(mul_##ctype, ctype, t *v)                                                                                   \
    CHANGE(max_##ctype, ctype, v > t || v != v ? v : t)                                                                \
    CHANGE(min_##ctype, ctype, v < t || v != v ? v : t)
TK_PLAIN_TYPES(CHANGES)

/* Of bool, add is or, mul is and. */
CHANGE(or_bool, uint8_t, (t | v) != 0)
CHANGE(and_bool, uint8_t, t != 0 && v != 0)

#define SCALE_TK_KIND_REAL     a->alpha.real
#define SCALE_TK_KIND_SIGNED   a->alpha.whole
#define SCALE_TK_KIND_UNSIGNED a->alpha.whole

static void apply(const struct op_index_args *a, const struct change *c)
{
    if (a->mode == OP_INDEX_SET) {
        set(c, op_type_b(a->target_side.type));
        return;
    }
    switch (a->target_side.type) {
#define APPLY(type, ctype, kind)                                                                                       \
    case type:                                                                                                         \
        (a->mode == OP_INDEX_ADD   ? add_##ctype                                                                       \
         : a->mode == OP_INDEX_MUL ? mul_##ctype                                                                       \
         : a->mode == OP_INDEX_MAX ? max_##ctype                                                                       \
                                   : min_##ctype)(c, (ctype)SCALE_##kind);                                             \
        break;
        TK_PLAIN_TYPES(APPLY)
#undef APPLY
    case TK_BOOL:
        (a->mode == OP_INDEX_ADD || a->mode == OP_INDEX_MAX ? or_bool : and_bool)(c, 1);
        break;
    default:
        break;
    }
}

static void scatter(const struct op_index_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->target == NULL) {
        return;
    }
    uint64_t constant[1] = {0};
    struct tk_chunk chunk = {.kind = tk_type_kind(a->target_side.type)};
    if (chunk.kind == TK_KIND_REAL || isinf(a->constant.real)) {
        chunk.kind = TK_KIND_REAL; /* infinity becomes the end of an integer type */
        chunk.real[0] = a->constant.real;
    } else {
        chunk.i64[0] = a->constant.whole;
    }
    tk_chunk_store(&chunk, constant, 1, a->target_side.type, 1);

    int64_t offsets[OP_RUN], more[OP_INDICES];
    const struct tk_range all = {0, op_loop_count(&a->serial)};
    const uint64_t inner = a->loop.rank - 1;
    const bool rows = a->target_side.steps[inner] == 1 && a->loop.dims[inner] >= 4;
    const bool uniform = rows && is_uniform(a, &a->loop, a->index_side);
    struct change c = {
        .offsets = offsets,
        .target_step = rows ? 1 : 0,
        .other_step = a->other == NULL
                          ? 0
                          : op_inner_step(rows ? &a->loop : &a->serial, rows ? &a->other_side : &a->other_serial),
        .uniform = uniform,
    };
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), rows ? 64 : 1, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, rows ? OP_RUN : 1)) > 0; op_walk_advance(&w, n)) {
        c.target = (char *)op_element(a->target, op_walk_offset(&w, &a->target_side), a->target_side.type);
        const int64_t other_at = a->other != NULL ? op_walk_offset(&w, &a->other_side) : 0;
        struct op_walk s = op_walk_start(&a->serial, all);
        for (uint64_t m; (m = op_walk_run(&s, rows ? 1 : OP_RUN)) > 0; op_walk_advance(&s, m)) {
            const struct op_walk *along = rows ? &w : &s, *across = rows ? &s : &w;
            const struct op_side *sides = rows ? a->index_side : a->index_serial;
            for (uint64_t k = 0; k < a->count; k++) {
                more[k] = op_walk_offset(across, rows ? &a->index_serial[k] : &a->index_side[k]);
            }
            c.n = rows ? n : m;
            c.other = a->other != NULL
                          ? op_element(a->other, other_at + op_walk_offset(&s, &a->other_serial), a->other_side.type)
                          : (const char *)constant;
            find(a, along, sides, more, offsets, uniform ? 1 : c.n);
            apply(a, &c);
        }
    }
}

#define SCATTER(name, args)                                                                                            \
    OP_KERNEL(name, args)                                                                                              \
    {                                                                                                                  \
        scatter(a, block, num_blocks);                                                                                 \
    }
OP_KERNELS_SCATTER(SCATTER)
