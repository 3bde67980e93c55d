/* SPDX-License-Identifier: Apache-2.0 */
/* The reduction engine: every function of kernels/reduce_rows.h in float, double and 64-bit integers.
 *
 * A row of terms is combined in lanes, a run at a time; results that lie side by side in memory are computed together, a
 * column each. Which of the two ways is used depends on the shape alone, and work is divided between results or pieces,
 * so the number of blocks does not affect a result. Sums of float run in float within a run or a few terms of a column,
 * and in double beyond. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/map_math.h"
#include "softnpu/aclnn/kernels/op_float.h"
#include "softnpu/aclnn/kernels/op_wide.h"

enum { LANES = 64, COLUMN_TERMS = 32, LONG_RUN = 4096 };
enum { TYPE_f32 = TK_FLOAT, TYPE_f64 = TK_DOUBLE, TYPE_i64 = TK_INT64 };

_Static_assert((int)OP_REDUCE_COLUMNS <= (int)OP_RUN, "the columns of a task are loaded in one run");

static inline float power_f32(float x, float p)
{
    return powf(x, p);
}

static inline double power_f64(double x, double p)
{
    return pow(x, p);
}

#define COMBINE_SUM(a, v)  ((a) + (v))
#define COMBINE_PROD(a, v) ((a) * (v))
#define COMBINE_MAX(a, v)  ((((v) > (a)) | ((v) != (v))) ? (v) : (a))
#define COMBINE_MIN(a, v)  ((((v) < (a)) | ((v) != (v))) ? (v) : (a))

enum combination { SUM, PROD, MAX, MIN, COMBINATIONS };

static const enum combination combinations[OP_REDUCE_CODES] = {
#define COMBINATION_OF(name, combination, expression) combination,
    OP_REDUCE_ROWS(COMBINATION_OF)};

/* The term of a run and the terms of a run of columns. */
#define LOOPS(name, suffix, type, combination, expression)                                                             \
    static type row_##name##_##suffix(const type *from, uint64_t n, type m, type p, type start)                        \
    {                                                                                                                  \
        typedef type T __attribute__((unused));                                                                        \
        type lane[LANES];                                                                                              \
        for (int i = 0; i < LANES; i++) {                                                                              \
            lane[i] = start;                                                                                           \
        }                                                                                                              \
        uint64_t at = 0;                                                                                               \
        for (; at + LANES <= n; at += LANES) {                                                                         \
            for (int i = 0; i < LANES; i++) {                                                                          \
                const type x = from[at + (uint64_t)i], v = (type)(expression);                                         \
                lane[i] = COMBINE_##combination(lane[i], v);                                                           \
            }                                                                                                          \
        }                                                                                                              \
        for (int i = 0; at < n; at++, i++) {                                                                           \
            const type x = from[at], v = (type)(expression);                                                           \
            lane[i] = COMBINE_##combination(lane[i], v);                                                               \
        }                                                                                                              \
        for (int width = LANES / 2; width > 0; width /= 2) {                                                           \
            for (int i = 0; i < width; i++) {                                                                          \
                lane[i] = COMBINE_##combination(lane[i], lane[i + width]);                                             \
            }                                                                                                          \
        }                                                                                                              \
        return lane[0];                                                                                                \
    }                                                                                                                  \
    static void column_##name##_##suffix(type *restrict part, const type *restrict from, uint64_t n,                   \
                                         const type *restrict centre, type p)                                          \
    {                                                                                                                  \
        for (uint64_t i = 0; i < n; i++) {                                                                             \
            const type x = from[i], m __attribute__((unused)) = centre[i], v = (type)(expression);                     \
            part[i] = COMBINE_##combination(part[i], v);                                                               \
        }                                                                                                              \
    }

#define F(name)                            name##_f32
#define LOOPS_F32(name, combination, text) LOOPS(name, f32, float, combination, text)
OP_REDUCE_ROWS(LOOPS_F32)
#undef F
#define F(name)                            name##_f64
#define LOOPS_F64(name, combination, text) LOOPS(name, f64, double, combination, text)
OP_REDUCE_ROWS(LOOPS_F64)
#undef F
#define LOOPS_I64(name, combination, text) LOOPS(name, i64, int64_t, combination, text)
OP_REDUCE_ALL(LOOPS_I64)

/* The value that combines with any other to that other one. */
static double real_start(enum combination c)
{
    return c == SUM ? 0 : c == PROD ? 1 : c == MAX ? -INFINITY : INFINITY;
}

static int64_t whole_start(enum combination c)
{
    return c == SUM ? 0 : c == PROD ? 1 : c == MAX ? INT64_MIN : INT64_MAX;
}

static double finish(const struct op_reduce_args *a, double v, double m)
{
    switch (a->finish) {
    case OP_FINISH_SCALE:
        return v * a->s;
    case OP_FINISH_SCALE_SQRT:
        return sqrt(v * a->s);
    case OP_FINISH_POWER:
        return a->s == 0.5 ? sqrt(v) : pow(v, a->s);
    case OP_FINISH_LOG:
        return log(v) + m;
    case OP_FINISH_RSQRT:
        return 1 / sqrt(v * a->s + a->t);
    default:
        return v;
    }
}

/* The operand of the exponential is subtracted only if it is finite. */
static double centre(const struct op_reduce_args *a, double m)
{
    return a->code == OP_REDUCE_EXP_SUM && isinf(m) ? 0 : m;
}

/* One output, or a run of outputs along the innermost dimension of the loop, of one piece. */
struct task {
    int64_t x, m, z, index; /* element offsets */
    struct tk_range terms;
};

/* Starting at the first term needs no division. */
static struct op_walk walk_terms(const struct op_reduce_args *a, const struct task *t)
{
    return t->terms.begin > 0 ? op_walk_start(&a->inner, t->terms)
                              : (struct op_walk){.loop = &a->inner, .end = t->terms.end};
}

/* The engine in one type: T of terms, W of combined terms. */
#define ENGINE(suffix, T, W, start_of, finished, store)                                                                \
    static const struct {                                                                                              \
        T (*row)(const T *from, uint64_t n, T m, T p, T start);                                                        \
        void (*column)(T *restrict part, const T *restrict from, uint64_t n, const T *restrict centre, T p);           \
    } loops_##suffix[OP_REDUCE_CODES] = {OP_REDUCE_ROWS(LOOP_ROW_##suffix)};                                           \
                                                                                                                       \
    static W combine_##suffix(enum combination c, W a, W v)                                                            \
    {                                                                                                                  \
        return c == SUM    ? COMBINE_SUM(a, v)                                                                         \
               : c == PROD ? COMBINE_PROD(a, v)                                                                        \
               : c == MAX  ? COMBINE_MAX(a, v)                                                                         \
                           : COMBINE_MIN(a, v);                                                                         \
    }                                                                                                                  \
                                                                                                                       \
    static void flush_##suffix(enum combination c, W *restrict total, T *restrict part, uint64_t n)                    \
    {                                                                                                                  \
        const T start = (T)start_of(c);                                                                                \
        if (c == SUM) {                                                                                                \
            for (uint64_t i = 0; i < n; i++) {                                                                         \
                total[i] += (W)part[i];                                                                                \
                part[i] = start;                                                                                       \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (uint64_t i = 0; i < n; i++) {                                                                             \
            total[i] = combine_##suffix(c, total[i], (W)part[i]);                                                      \
            part[i] = start;                                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void row_##suffix(const struct op_reduce_args *a, const struct task *t)                                     \
    {                                                                                                                  \
        const enum combination c = combinations[a->code];                                                              \
        const int64_t step = op_inner_step(&a->inner, &a->x_inner);                                                    \
        const T start = (T)start_of(c);                                                                                \
        /* What is used in place needs no buffer. */                                                                   \
        const uint64_t run = step == 1 && a->x_side.type == TYPE_##suffix ? LONG_RUN : OP_RUN;                         \
        T buffer[OP_RUN], m = 0;                                                                                       \
        W total = start_of(c);                                                                                         \
        int64_t position = 0;                                                                                          \
        bool chosen = false;                                                                                           \
        if (a->m != NULL) {                                                                                            \
            m = (T)centre(                                                                                             \
                a, (double)*op_load_##suffix(buffer, op_element(a->m, t->m, a->m_side.type), 1, a->m_side.type, 1));   \
        }                                                                                                              \
        struct op_walk w = walk_terms(a, t);                                                                           \
        for (uint64_t n; (n = op_walk_run(&w, run)) > 0; op_walk_advance(&w, n)) {                                     \
            const int64_t offset = t->x + op_walk_offset(&w, &a->x_inner);                                             \
            const T *from =                                                                                            \
                op_load_##suffix(buffer, op_element(a->x, offset, a->x_side.type), step, a->x_side.type, n);           \
            const T v = loops_##suffix[a->code].row(from, n, m, (T)a->p, start);                                       \
            if (a->index != NULL &&                                                                                    \
                (!chosen || (c == MAX ? v > (T)total : v < (T)total) || (v != v && total == total))) {                 \
                uint64_t i = 0;                                                                                        \
                while (i + 1 < n && !(from[i] == v || (v != v && from[i] != from[i]))) {                               \
                    i++;                                                                                               \
                }                                                                                                      \
                position = a->x_index != NULL ? a->x_index[offset + (int64_t)i * step] : (int64_t)(w.at + i);          \
                chosen = true;                                                                                         \
            }                                                                                                          \
            total = combine_##suffix(c, total, (W)v);                                                                  \
        }                                                                                                              \
        if (a->z != NULL) {                                                                                            \
            total = finished(a, total, (W)m);                                                                          \
            if (a->z_side.type == TK_FLOAT) {                                                                          \
                ((float *)a->z)[t->z] = (float)total;                                                                  \
            } else {                                                                                                   \
                store(&total, (void *)op_element(a->z, t->z, a->z_side.type), 1, a->z_side.type, 1);                   \
            }                                                                                                          \
        }                                                                                                              \
        if (a->index != NULL) {                                                                                        \
            op_store_i64(&position, (void *)op_element(a->index, t->index, a->index_side.type), 1, a->index_side.type, \
                         1);                                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    /* The first term is chosen; then whatever is better, or NaN. */                                                   \
    static void choose_##suffix(T *restrict best, int32_t *restrict at, const T *restrict from, uint64_t n,            \
                                int32_t position, bool largest)                                                        \
    {                                                                                                                  \
        if (position == 0) {                                                                                           \
            for (uint64_t i = 0; i < n; i++) {                                                                         \
                best[i] = from[i];                                                                                     \
                at[i] = 0;                                                                                             \
            }                                                                                                          \
        } else if (largest) {                                                                                          \
            for (uint64_t i = 0; i < n; i++) {                                                                         \
                const bool better = (from[i] > best[i]) | ((from[i] != from[i]) & (best[i] == best[i]));               \
                best[i] = better ? from[i] : best[i];                                                                  \
                at[i] = better ? position : at[i];                                                                     \
            }                                                                                                          \
        } else {                                                                                                       \
            for (uint64_t i = 0; i < n; i++) {                                                                         \
                const bool better = (from[i] < best[i]) | ((from[i] != from[i]) & (best[i] == best[i]));               \
                best[i] = better ? from[i] : best[i];                                                                  \
                at[i] = better ? position : at[i];                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void columns_##suffix(const struct op_reduce_args *a, const struct task *t, uint64_t n)                     \
    {                                                                                                                  \
        const enum combination c = combinations[a->code];                                                              \
        const int64_t step = op_inner_step(&a->loop, &a->x_side);                                                      \
        T buffer[OP_RUN], part[OP_RUN], m[OP_RUN];                                                                     \
        W total[OP_RUN];                                                                                               \
        int64_t position[OP_RUN];                                                                                      \
        int32_t chosen[OP_RUN];                                                                                        \
        for (uint64_t i = 0; i < n; i++) {                                                                             \
            part[i] = (T)start_of(c);                                                                                  \
            total[i] = start_of(c);                                                                                    \
            chosen[i] = 0;                                                                                             \
            m[i] = 0;                                                                                                  \
        }                                                                                                              \
        if (a->m != NULL) {                                                                                            \
            const T *from = op_load_##suffix(buffer, op_element(a->m, t->m, a->m_side.type),                           \
                                             op_inner_step(&a->loop, &a->m_side), a->m_side.type, n);                  \
            for (uint64_t i = 0; i < n; i++) {                                                                         \
                m[i] = (T)centre(a, (double)from[i]);                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        uint64_t pending = 0;                                                                                          \
        struct op_walk w = walk_terms(a, t);                                                                           \
        for (; op_walk_run(&w, 1) > 0; op_walk_advance(&w, 1)) {                                                       \
            const int64_t offset = t->x + op_walk_offset(&w, &a->x_inner);                                             \
            const T *from =                                                                                            \
                op_load_##suffix(buffer, op_element(a->x, offset, a->x_side.type), step, a->x_side.type, n);           \
            if (a->index != NULL) {                                                                                    \
                choose_##suffix(part, chosen, from, n, (int32_t)(w.at - t->terms.begin), c == MAX);                    \
                continue;                                                                                              \
            }                                                                                                          \
            loops_##suffix[a->code].column(part, from, n, m, (T)a->p);                                                 \
            if (++pending == COLUMN_TERMS) {                                                                           \
                flush_##suffix(c, total, part, n);                                                                     \
                pending = 0;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        flush_##suffix(c, total, part, n);                                                                             \
        if (a->z != NULL) {                                                                                            \
            for (uint64_t i = 0; a->finish != OP_FINISH_NONE && i < n; i++) {                                          \
                total[i] = finished(a, total[i], (W)m[i]);                                                             \
            }                                                                                                          \
            store(total, (void *)op_element(a->z, t->z, a->z_side.type), op_inner_step(&a->loop, &a->z_side),          \
                  a->z_side.type, n);                                                                                  \
        }                                                                                                              \
        if (a->index != NULL) {                                                                                        \
            for (uint64_t i = 0; i < n; i++) {                                                                         \
                const int64_t at = (int64_t)t->terms.begin + chosen[i];                                                \
                position[i] = a->x_index == NULL                                                                       \
                                  ? at                                                                                 \
                                  : a->x_index[t->x + at * op_inner_step(&a->inner, &a->x_inner) + (int64_t)i * step]; \
            }                                                                                                          \
            op_store_i64(position, (void *)op_element(a->index, t->index, a->index_side.type),                         \
                         op_inner_step(&a->loop, &a->index_side), a->index_side.type, n);                              \
        }                                                                                                              \
    }

#define SAME(a, v, m)                         (v)
#define LOOP_ROW_f32(name, combination, text) {row_##name##_f32, column_##name##_f32},
#define LOOP_ROW_f64(name, combination, text) {row_##name##_f64, column_##name##_f64},
#define LOOP_ROW_i64(name, combination, text) [OP_REDUCE_##name] = {row_##name##_i64, column_##name##_i64},
ENGINE(f32, float, double, real_start, finish, op_store_f64)
ENGINE(f64, double, double, real_start, finish, op_store_f64)
#undef OP_REDUCE_ROWS
#define OP_REDUCE_ROWS(X) OP_REDUCE_ALL(X)
ENGINE(i64, int64_t, int64_t, whole_start, SAME, op_store_i64)

static void run(const struct op_reduce_args *a, const struct task *t, uint64_t columns)
{
    if (a->kind == OP_MAP_I64) {
        columns == 0 ? row_i64(a, t) : columns_i64(a, t, columns);
    } else if (a->kind == OP_MAP_F64) {
        columns == 0 ? row_f64(a, t) : columns_f64(a, t, columns);
    } else {
        columns == 0 ? row_f32(a, t) : columns_f32(a, t, columns);
    }
}

void TK_NAME(op_reduce)(const struct op_reduce_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->x == NULL || (a->z == NULL && a->index == NULL) || a->code >= OP_REDUCE_CODES ||
        (a->kind == OP_MAP_I64 && loops_i64[a->code].row == NULL)) {
        return;
    }
    const uint64_t outputs = op_loop_count(&a->loop), terms = op_loop_count(&a->inner);
    const bool by_column = a->by_column != 0;
    const uint64_t side = a->loop.dims[a->loop.rank - 1], width = by_column ? OP_REDUCE_COLUMNS : 1;
    const uint64_t tiles = by_column ? (side + OP_REDUCE_COLUMNS - 1) / OP_REDUCE_COLUMNS : side,
                   outer = side > 0 ? outputs / side : 0;
    const struct tk_range mine = tk_share(outer * tiles * a->pieces, 1, block, num_blocks);
    if (!by_column && a->pieces == 1) {
        struct op_walk w = op_walk_start(&a->loop, mine);
        for (; op_walk_run(&w, 1) > 0; op_walk_advance(&w, 1)) {
            run(a,
                &(struct task){op_walk_offset(&w, &a->x_side),
                               op_walk_offset(&w, &a->m_side),
                               op_walk_offset(&w, &a->z_side),
                               op_walk_offset(&w, &a->index_side),
                               {0, terms}},
                0);
        }
        return;
    }
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        const uint64_t piece = item / (outer * tiles), rest = item % (outer * tiles);
        const uint64_t first = rest / tiles * side + rest % tiles * width, begin = piece * a->piece_terms;
        const uint64_t left = side - rest % tiles * width;
        const struct op_walk w = op_walk_start(&a->loop, (struct tk_range){first, first + 1});
        const int64_t shift = (int64_t)(piece * a->piece_step);
        const struct task t = {
            .x = op_walk_offset(&w, &a->x_side),
            .m = op_walk_offset(&w, &a->m_side),
            .z = op_walk_offset(&w, &a->z_side) + shift,
            .index = op_walk_offset(&w, &a->index_side) + shift,
            .terms = {begin, begin + a->piece_terms < terms ? begin + a->piece_terms : terms},
        };
        run(a, &t, !by_column ? 0 : left < OP_REDUCE_COLUMNS ? left : OP_REDUCE_COLUMNS);
    }
}
