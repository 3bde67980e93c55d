/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product after Goto and van de Geijn: slices of B (KC x NC) and of A (MC x KC) are packed into panels that the
 * inner kernel reads in order, and the inner kernel keeps an MR x NR tile of C in registers.
 *
 * Invariant: an element of C is the sum over k in slices of KC, each slice summed in order by fused (where the machine
 * has them) multiply-adds, and merged by the one function `merge_tile`; neither edges nor the division into blocks
 * change that order, so the result is the same for every division of the work.
 *
 * Memory: one packing buffer per thread, in thread-local storage of the binary; it exists until the thread ends or the
 * binary is unloaded, and no call allocates. */
#include "softnpu/kernels/gemm.h"

#include "softnpu/kernels/half.h"

/* Vector length and tile: 12 (x86) or 20 (aarch64) accumulators leave just enough registers for B and elements of A.
 */
#if defined(__AVX2__)
enum { VL = 8, MR = 6, NV = 2 };
#elif defined(__aarch64__)
enum { VL = 4, MR = 5, NV = 4 };
#else
enum { VL = 4, MR = 6, NV = 2 };
#endif
enum { NR = NV * VL };

/* A slice: half of a 512 KiB second-level cache at most; a panel of B (KC x NR): half of a 32 KiB first-level cache. */
enum { KC = 256, MC = 20 * MR, NC = 512 };

typedef float vec __attribute__((vector_size(VL * sizeof(float))));

struct workspace {
    _Alignas(64) float a[MC * KC + 16]; /* transposing stores may write past the last panel */
    _Alignas(64) float b[KC * NC + 16];
};
static _Thread_local struct workspace packed;

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- packing ---- */

#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/* Eight contiguous floats of each of up to eight lines, transposed: out[k * out_step + line]. Writes eight floats per
 * k; the caller makes sure that later panels or the slack of the buffer hold the excess over out_step. */
static inline void transpose_8(const float *in, int64_t line_step, unsigned lines, float *out, unsigned out_step)
{
    tk_v8 r[8];
    for (unsigned i = 0; i < 8; i++) {
        if (i < lines) {
            TK_LOAD8(r[i], in + (int64_t)i * line_step);
        } else {
            r[i] = (tk_v8){0};
        }
    }
    tk_v8 s[8], t[8];
    for (unsigned i = 0; i < 8; i += 2) {
        s[i] = SHUFFLE(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        s[i + 1] = SHUFFLE(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (unsigned i = 0; i < 8; i += 4) {
        t[i] = SHUFFLE(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        t[i + 1] = SHUFFLE(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        t[i + 2] = SHUFFLE(s[i + 1], s[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        t[i + 3] = SHUFFLE(s[i + 1], s[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (unsigned i = 0; i < 4; i++) {
        tk_v8 low = SHUFFLE(t[i], t[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        memcpy(out + i * out_step, &low, sizeof low);
    }
    for (unsigned i = 0; i < 4; i++) {
        tk_v8 high = SHUFFLE(t[i], t[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        memcpy(out + (i + 4) * out_step, &high, sizeof high);
    }
}

static inline float element(const void *base, int64_t index, enum tk_gemm_type type)
{
    if (type == TK_GEMM_F32) {
        return ((const float *)base)[index];
    }
    uint16_t half = ((const uint16_t *)base)[index];
    return type == TK_GEMM_F16 ? tk_half_to_float(half) : tk_bf16_to_float(half);
}

/* One panel: out[k * width + line] for `width` lines, of which `lines` exist (the others become zeros). Lines are the
 * rows of A or the columns of B; element (line, k) is at base[line * line_step + k * k_step]. */
static inline void pack_panel(const void *base, int64_t line_step, int64_t k_step, enum tk_gemm_type type,
                              unsigned lines, unsigned width, uint64_t kc, float *out)
{
    uint64_t k = 0;
    if (type == TK_GEMM_F32 && line_step == 1 && lines == width) {
        const float *in = base;
        for (; k < kc; k++) {
            memcpy(out + k * width, in + (int64_t)k * k_step, width * sizeof(float));
        }
        return;
    }
    if (type == TK_GEMM_F32 && k_step == 1) {
        /* In ascending k: a store of eight floats overwrites only positions that are written later. With two groups of
         * eight per panel (NR = 16) each group has its own columns, so the groups do not overlap. */
        const float *in = base;
        for (; k + 8 <= kc; k += 8) {
            for (unsigned group = 0; group < width; group += 8) {
                unsigned present = lines > group ? lines - group : 0;
                transpose_8(in + (int64_t)group * line_step + (int64_t)k, line_step, present < 8 ? present : 8,
                            out + k * width + group, width);
            }
        }
    }
    for (; k < kc; k++) {
        for (unsigned line = 0; line < width; line++) {
            out[k * width + line] =
                line < lines ? element(base, (int64_t)line * line_step + (int64_t)k * k_step, type) : 0.0f;
        }
    }
}

static const void *at(const void *base, int64_t index, enum tk_gemm_type type)
{
    return (const char *)base + index * (type == TK_GEMM_F32 ? 4 : 2);
}

static void pack_a(const struct tk_gemm *g, uint64_t row, uint64_t rows, uint64_t k, uint64_t kc, float *out)
{
    for (uint64_t i = 0; i < rows; i += MR) {
        pack_panel(at(g->a, (int64_t)(row + i) * g->a_row + (int64_t)k * g->a_col, g->a_type), g->a_row, g->a_col,
                   g->a_type, (unsigned)min_u64(MR, rows - i), MR, kc, out + i * kc);
    }
}

static void pack_b(const struct tk_gemm *g, uint64_t col, uint64_t cols, uint64_t k, uint64_t kc, float *out)
{
    for (uint64_t j = 0; j < cols; j += NR) {
        pack_panel(at(g->b, (int64_t)k * g->b_row + (int64_t)(col + j) * g->b_col, g->b_type), g->b_col, g->b_row,
                   g->b_type, (unsigned)min_u64(NR, cols - j), NR, kc, out + j * kc);
    }
}

/* ---- inner kernel ---- */

/* c = alpha * tile + beta * c, or alpha * tile if c must not be read. The only place that merges a slice into C. */
static inline void merge_tile(vec (*tile)[NV], float *c, int64_t c_row, float alpha, float beta, bool read_c)
{
    for (int i = 0; i < MR; i++) {
        for (int j = 0; j < NV; j++) {
            float *to = c + i * c_row + j * VL;
            vec v = tile[i][j] * alpha;
            if (read_c) {
                vec old;
                memcpy(&old, to, sizeof old);
                v += old * beta;
            }
            memcpy(to, &v, sizeof v);
        }
    }
}

/* A panel of A times a panel of B; b_step is NR for packed panels and the row distance for B read in place. Not
 * inlined: edges must execute the same instructions as whole tiles. */
__attribute__((noinline)) static void multiply_tile(uint64_t kc, const float *a, const float *b, int64_t b_step,
                                                    float *c, int64_t c_row, float alpha, float beta, bool read_c)
{
    vec tile[MR][NV] = {{{0}}};
    for (uint64_t k = 0; k < kc; k++) {
        vec bv[NV];
        for (int j = 0; j < NV; j++) {
            memcpy(&bv[j], b + j * VL, sizeof(vec));
        }
        for (int i = 0; i < MR; i++) {
            for (int j = 0; j < NV; j++) {
                tile[i][j] += bv[j] * a[i];
            }
        }
        a += MR;
        b += b_step;
    }
    merge_tile(tile, c, c_row, alpha, beta, read_c);
}

/* A tile that exceeds C, or a C without unit column step: computed in a separate full tile. */
static void multiply_edge(uint64_t kc, const float *a, const float *b, int64_t b_step, float *c,
                          const struct tk_gemm *g, uint64_t rows, uint64_t cols, float beta, bool read_c)
{
    float side[MR * NR] = {0};
    if (read_c) {
        for (uint64_t i = 0; i < rows; i++) {
            for (uint64_t j = 0; j < cols; j++) {
                side[i * NR + j] = c[(int64_t)i * g->c_row + (int64_t)j * g->c_col];
            }
        }
    }
    multiply_tile(kc, a, b, b_step, side, NR, g->alpha, beta, read_c);
    for (uint64_t i = 0; i < rows; i++) {
        for (uint64_t j = 0; j < cols; j++) {
            c[(int64_t)i * g->c_row + (int64_t)j * g->c_col] = side[i * NR + j];
        }
    }
}

/* ---- outer loops ---- */

/* B is read in place when few rows would use the packed copy and its rows are contiguous. */
static bool reads_b_in_place(const struct tk_gemm *g, uint64_t rows)
{
    return rows <= MR && g->b_type == TK_GEMM_F32 && g->b_col == 1;
}

static void multiply_slice(const struct tk_gemm *g, struct tk_range rows, uint64_t col, uint64_t nc, uint64_t k,
                           uint64_t kc, struct workspace *w)
{
    const bool first = k == 0;
    const float beta = first ? g->beta : 1.0f;
    const bool read_c = !first || g->beta != 0.0f;
    const bool in_place = reads_b_in_place(g, rows.end - rows.begin);
    /* Read in place, only an incomplete last panel must be packed. */
    const uint64_t whole = in_place ? nc - nc % NR : 0;
    if (whole < nc) {
        pack_b(g, col + whole, nc - whole, k, kc, w->b + whole * kc);
    }
    for (uint64_t row = rows.begin; row < rows.end; row += MC) {
        uint64_t mc = min_u64(MC, rows.end - row);
        pack_a(g, row, mc, k, kc, w->a);
        for (uint64_t j = 0; j < nc; j += NR) {
            const bool direct = j < whole;
            const float *b = direct ? (const float *)g->b + (int64_t)k * g->b_row + (int64_t)(col + j) : w->b + j * kc;
            const int64_t b_step = direct ? g->b_row : NR;
            for (uint64_t i = 0; i < mc; i += MR) {
                float *c = g->c + (int64_t)(row + i) * g->c_row + (int64_t)(col + j) * g->c_col;
                const float *a = w->a + i * kc;
                if (mc - i < MR || nc - j < NR || g->c_col != 1) {
                    multiply_edge(kc, a, b, b_step, c, g, min_u64(MR, mc - i), min_u64(NR, nc - j), beta, read_c);
                } else {
                    multiply_tile(kc, a, b, b_step, c, g->c_row, g->alpha, beta, read_c);
                }
            }
        }
    }
}

/* k is 0: the product is empty, the result is beta * C. */
static void scale_only(const struct tk_gemm *g, struct tk_range rows, struct tk_range cols)
{
    for (uint64_t i = rows.begin; i < rows.end; i++) {
        for (uint64_t j = cols.begin; j < cols.end; j++) {
            float *c = g->c + (int64_t)i * g->c_row + (int64_t)j * g->c_col;
            *c = g->beta == 0.0f ? 0.0f : g->beta * *c;
        }
    }
}

void tk_gemm_part(const struct tk_gemm *g, const struct tk_gemm_cut *cut, uint64_t part)
{
    struct tk_range rows = tk_share(g->m, MR, (uint32_t)(part / cut->cols_cut), (uint32_t)cut->rows_cut);
    struct tk_range cols = tk_share(g->n, NR, (uint32_t)(part % cut->cols_cut), (uint32_t)cut->cols_cut);
    if (rows.begin == rows.end || cols.begin == cols.end) {
        return;
    }
    if (g->k == 0) {
        scale_only(g, rows, cols);
        return;
    }
    struct workspace *w = &packed;
    for (uint64_t col = cols.begin; col < cols.end; col += NC) {
        uint64_t nc = min_u64(NC, cols.end - col);
        for (uint64_t k = 0; k < g->k; k += KC) {
            multiply_slice(g, rows, col, nc, k, min_u64(KC, g->k - k), w);
        }
    }
}

/* Cost of a piece in tiles, packing included: reading and writing a line of k elements takes about as long as PACKING
 * tile columns of arithmetic. */
static double piece_cost(uint64_t row_tiles, uint64_t col_tiles)
{
    enum { PACKING = 4 };
    double rows = (double)row_tiles * MR, cols = (double)col_tiles * NR;
    return rows * cols + PACKING * (rows + cols);
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

struct tk_gemm_cut tk_gemm_plan(const struct tk_gemm *g, uint64_t problems, uint32_t num_blocks)
{
    struct tk_gemm_cut best = {1, 1, problems};
    uint64_t row_tiles = g->m / MR + (g->m % MR != 0), col_tiles = g->n / NR + (g->n % NR != 0);
    if (problems == 0 || row_tiles == 0 || col_tiles == 0) {
        best.items = 0;
        return best;
    }
    /* Pieces per problem: the smallest number that loads all blocks evenly, within a limit; one if there are enough
     * problems anyway. */
    enum { PLENTY = 4, MAX_PIECES = 256 };
    uint64_t pieces = 1;
    if (problems < PLENTY * (uint64_t)num_blocks) {
        pieces = min_u64(num_blocks / greatest_divisor(problems, num_blocks), PLENTY * (num_blocks / problems + 1));
        pieces = min_u64(pieces, MAX_PIECES);
    }
    double best_cost = -1;
    for (uint64_t r = 1; r <= pieces && r <= row_tiles; r++) {
        uint64_t c = min_u64(pieces / r, col_tiles);
        double cost = piece_cost((row_tiles + r - 1) / r, (col_tiles + c - 1) / c);
        if (best_cost < 0 || cost < best_cost) {
            best_cost = cost;
            best = (struct tk_gemm_cut){r, c, problems * r * c};
        }
    }
    return best;
}
