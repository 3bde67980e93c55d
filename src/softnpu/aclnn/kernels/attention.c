/* SPDX-License-Identifier: Apache-2.0 */
/* Attention, forward and backward: rows of scores are computed with the matrix product in scratch memory of the block.
 *
 * The backward kernel computes the scores again instead of reading them. A block owns a head of keys and values and all
 * heads of queries that use it, so it can add to dk and dv without locks and in a fixed order. A row without an
 * unmasked element has the result 0. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"
#include "softnpu/kernels/fast_math.h"
#include "softnpu/kernels/gemm.h"

#include <float.h>
#include <math.h>

/* Rows [row, row + rows) of one head, columns [col, col + cols) that are not all masked. */
struct tile {
    const struct op_attention_args *a;
    uint64_t b, n, row, rows, col, cols;
    float *scores, *other, *out;
};

static int64_t offset_of(const struct op_attention_args *a, int operand, uint64_t b, uint64_t n, uint64_t s)
{
    const int64_t *steps = a->at[operand].steps;
    return (int64_t)b * steps[0] + (int64_t)n * steps[1] + (int64_t)s * steps[2];
}

static const void *element_at(const struct op_attention_args *a, int operand, uint64_t b, uint64_t n, uint64_t s)
{
    return op_element(a->data[operand], offset_of(a, operand, b, n, s), a->at[operand].type);
}

static enum tk_gemm_type product_type(int64_t type)
{
    return type == TK_FLOAT16 ? TK_GEMM_F16 : type == TK_BF16 ? TK_GEMM_BF16 : TK_GEMM_F32;
}

/* A matrix operand: an operand of the call from a row on, or scratch rows. */
struct matrix {
    const void *base;
    int64_t row, col;
    enum tk_gemm_type type;
};

static struct matrix operand_matrix(const struct op_attention_args *a, int operand, uint64_t b, uint64_t n, uint64_t s)
{
    const int64_t *steps = a->at[operand].steps;
    return (struct matrix){element_at(a, operand, b, n, s), steps[2], steps[3], product_type(a->at[operand].type)};
}

static struct matrix turned(struct matrix m)
{
    return (struct matrix){m.base, m.col, m.row, m.type};
}

static void multiply(uint64_t m, uint64_t n, uint64_t k, struct matrix left, struct matrix right, struct matrix out,
                     float beta)
{
    const struct tk_gemm g = {
        .m = m,
        .n = n,
        .k = k,
        .a = left.base,
        .b = right.base,
        .c = (float *)out.base,
        .a_row = left.row,
        .a_col = left.col,
        .b_row = right.row,
        .b_col = right.col,
        .c_row = out.row,
        .c_col = out.col,
        .a_type = left.type,
        .b_type = right.type,
        .alpha = 1,
        .beta = beta,
    };
    tk_gemm_part(&g, &(struct tk_gemm_cut){1, 1, 1}, 0);
}

static struct matrix rows_of(const struct tile *t, const float *scratch)
{
    return (struct matrix){scratch, (int64_t)t->cols, 1, TK_GEMM_F32};
}

/* The columns that some row of the tile may use. */
static void bound_columns(struct tile *t)
{
    const struct op_attention_args *a = t->a;
    int64_t first = 0, end = (int64_t)a->kv_len;
    if (a->low > -(int64_t)(t->row + t->rows + a->kv_len)) {
        first = (int64_t)t->row + a->low > first ? (int64_t)t->row + a->low : first;
    }
    if (a->high < (int64_t)(a->q_len + a->kv_len)) {
        const int64_t last = (int64_t)(t->row + t->rows - 1) + a->high + 1;
        end = last < end ? last : end;
    }
    first = first < end ? first : end;
    t->col = first < 0 ? 0 : (uint64_t)first;
    t->cols = end > (int64_t)t->col ? (uint64_t)end - t->col : 0;
}

static void add_pse(const struct tile *t, uint64_t row, float *scores)
{
    const struct op_attention_args *a = t->a;
    const struct op_attention_side *side = &a->at[OP_ATT_PSE];
    const float before = a->pse_first != 0 ? 1 : (float)a->scale, after = a->pse_first != 0 ? (float)a->scale : 1;
    const int64_t start = offset_of(a, OP_ATT_PSE, t->b, t->n, row);
    float buffer[OP_RUN];
    for (uint64_t j = 0; j < t->cols; j += OP_RUN) {
        const uint64_t n = t->cols - j < OP_RUN ? t->cols - j : OP_RUN;
        const float *pse = op_load_f32(
            buffer, op_element(a->data[OP_ATT_PSE], start + (int64_t)(t->col + j) * side->steps[3], side->type),
            side->steps[3], side->type, n);
        for (uint64_t i = 0; i < n; i++) {
            scores[j + i] = (scores[j + i] * before + pse[i]) * after;
        }
    }
}

static void mask_row(const struct tile *t, uint64_t row, float *scores)
{
    const struct op_attention_args *a = t->a;
    if (a->data[OP_ATT_MASK] != NULL) {
        const uint8_t *mask = element_at(a, OP_ATT_MASK, t->b, t->n, row);
        const int64_t step = a->at[OP_ATT_MASK].steps[3];
        for (uint64_t j = 0; j < t->cols; j++) {
            scores[j] = mask[(int64_t)(t->col + j) * step] != 0 ? -INFINITY : scores[j];
        }
    }
    for (uint64_t j = 0; j < t->cols && (int64_t)(t->col + j) - (int64_t)row < a->low; j++) {
        scores[j] = -INFINITY;
    }
    for (uint64_t j = t->cols; j-- > 0 && (int64_t)(t->col + j) - (int64_t)row > a->high;) {
        scores[j] = -INFINITY;
    }
}

/* Scores of the tile as probabilities; each row's largest score and sum of exponentials. */
static void make_probabilities(const struct tile *t, float *tops, float *sums)
{
    const struct op_attention_args *a = t->a;
    const uint64_t head = t->n / (a->heads / a->kv_heads);
    multiply(t->rows, t->cols, a->q_cols, operand_matrix(a, OP_ATT_Q, t->b, t->n, t->row),
             turned(operand_matrix(a, OP_ATT_K, t->b, head, t->col)), rows_of(t, t->scores), 0);
    for (uint64_t i = 0; i < t->rows; i++) {
        float *scores = t->scores + i * t->cols;
        if (a->data[OP_ATT_PSE] != NULL) {
            add_pse(t, t->row + i, scores);
        } else {
            const float scale = (float)a->scale;
            for (uint64_t j = 0; j < t->cols; j++) {
                scores[j] *= scale;
            }
        }
        mask_row(t, t->row + i, scores);
        const float top = t->cols > 0 ? tk_row_max(scores, t->cols) : -INFINITY;
        tops[i] = top;
        if (top == -INFINITY) {
            memset(scores, 0, t->cols * sizeof *scores);
            sums[i] = 0;
            continue;
        }
        for (uint64_t j = 0; j < t->cols; j++) {
            scores[j] = tk_exp(scores[j] - top);
        }
        sums[i] = tk_row_sum(scores, t->cols);
        const float factor = 1 / sums[i];
        for (uint64_t j = 0; j < t->cols; j++) {
            scores[j] *= factor;
        }
    }
}

/* Drops elements of a row and scales the others. */
static void drop_row(const struct tile *t, uint64_t row, const float *from, float *to)
{
    const struct op_attention_args *a = t->a;
    const float factor = a->keep > 0 ? (float)(1 / a->keep) : 0;
    const uint64_t first = a->drop_first + ((t->b * a->heads + t->n) * a->q_len + row) * a->kv_len + t->col;
    for (uint64_t j = 0; j < t->cols; j++) {
        const uint64_t bit = first + j;
        to[j] = (a->drop[bit / 8] >> (bit % 8) & 1) != 0 ? from[j] * factor : 0;
    }
}

static void store_number(const struct tile *t, int operand, uint64_t row, float value)
{
    const struct op_attention_args *a = t->a;
    if (a->data[operand] != NULL) {
        float *to = (float *)a->data[operand] + offset_of(a, operand, t->b, t->n, row);
        const uint64_t copies = operand == OP_ATT_LSE ? 1 : a->copies;
        for (uint64_t i = 0; i < copies; i++) {
            to[(int64_t)i * a->at[operand].steps[3]] = value;
        }
    }
}

static void forward_tile(const struct tile *t)
{
    const struct op_attention_args *a = t->a;
    float tops[OP_ATT_ROWS], sums[OP_ATT_ROWS];
    make_probabilities(t, tops, sums);
    for (uint64_t i = 0; i < t->rows; i++) {
        store_number(t, OP_ATT_MAX, t->row + i, tops[i] == -INFINITY ? -FLT_MAX : tops[i]);
        store_number(t, OP_ATT_SUM, t->row + i, sums[i]);
        store_number(t, OP_ATT_LSE, t->row + i, sums[i] > 0 ? tops[i] + logf(sums[i]) : INFINITY);
        if (a->drop != NULL) {
            drop_row(t, t->row + i, t->scores + i * t->cols, t->scores + i * t->cols);
        }
    }
    const uint64_t head = t->n / (a->heads / a->kv_heads);
    multiply(t->rows, a->v_cols, t->cols, rows_of(t, t->scores), operand_matrix(a, OP_ATT_V, t->b, head, t->col),
             (struct matrix){t->out, (int64_t)a->v_cols, 1, TK_GEMM_F32}, 0);
    const struct op_attention_side *side = &a->at[OP_ATT_OUT];
    for (uint64_t i = 0; i < t->rows; i++) {
        op_store_f32(t->out + i * a->v_cols, (void *)element_at(a, OP_ATT_OUT, t->b, t->n, t->row + i), side->steps[3],
                     side->type, a->v_cols);
    }
}

static float *scratch_of(const struct op_attention_args *a, uint32_t block)
{
    return a->scratch + (uint64_t)block * a->scratch_block;
}

static void forward(const struct op_attention_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->data[OP_ATT_Q] == NULL || a->data[OP_ATT_OUT] == NULL || a->scratch == NULL) {
        return;
    }
    const uint64_t tiles = (a->q_len + OP_ATT_ROWS - 1) / OP_ATT_ROWS;
    const struct tk_range mine = tk_share(a->batch * a->heads * tiles, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        struct tile t = {.a = a, .b = item / tiles / a->heads, .n = item / tiles % a->heads};
        t.row = item % tiles * OP_ATT_ROWS;
        t.rows = a->q_len - t.row < OP_ATT_ROWS ? a->q_len - t.row : OP_ATT_ROWS;
        t.scores = scratch_of(a, block);
        t.out = t.scores + OP_ATT_ROWS * a->kv_len;
        bound_columns(&t);
        forward_tile(&t);
    }
}

/* ---- backward ---- */

static void clear(const struct op_attention_args *a, int operand, uint64_t b, uint64_t n, uint64_t rows, uint64_t cols)
{
    for (uint64_t i = 0; i < rows; i++) {
        float *to = (float *)a->data[operand] + offset_of(a, operand, b, n, i);
        for (uint64_t j = 0; j < cols; j++) {
            to[(int64_t)j * a->at[operand].steps[3]] = 0;
        }
    }
}

/* dscores from probabilities and their gradients, both changed in place; sums the row in double precision. */
static void differentiate_row(float *probability, float *gradient, uint64_t n, float scale)
{
    double sum = 0;
    for (uint64_t j = 0; j < n; j++) {
        sum += (double)probability[j] * (double)gradient[j];
    }
    const float mean = (float)sum;
    for (uint64_t j = 0; j < n; j++) {
        gradient[j] = probability[j] * (gradient[j] - mean) * scale;
    }
}

static void store_pse(const struct tile *t, uint64_t row, const float *gradient)
{
    const struct op_attention_args *a = t->a;
    const struct op_attention_side *side = &a->at[OP_ATT_DPSE];
    const float factor = a->pse_first != 0 || a->scale == 0 ? 1 : (float)(1 / a->scale);
    const int64_t start = offset_of(a, OP_ATT_DPSE, t->b, t->n, row);
    for (uint64_t j = 0; j < t->cols; j++) {
        const float value = gradient[j] * factor;
        op_store_f32(
            &value,
            (void *)op_element(a->data[OP_ATT_DPSE], start + (int64_t)(t->col + j) * side->steps[3], side->type), 1,
            side->type, 1);
    }
}

static void backward_tile(const struct tile *t, uint64_t head)
{
    const struct op_attention_args *a = t->a;
    float tops[OP_ATT_ROWS], sums[OP_ATT_ROWS];
    const struct matrix dy = operand_matrix(a, OP_ATT_DY, t->b, t->n, t->row);
    make_probabilities(t, tops, sums);
    /* dv from the probabilities after dropout, which `other` holds for the moment. */
    const float *dropped = t->scores;
    if (a->drop != NULL) {
        for (uint64_t i = 0; i < t->rows; i++) {
            drop_row(t, t->row + i, t->scores + i * t->cols, t->other + i * t->cols);
        }
        dropped = t->other;
    }
    multiply(t->cols, a->v_cols, t->rows, turned(rows_of(t, dropped)), dy,
             operand_matrix(a, OP_ATT_DV, t->b, head, t->col), 1);
    multiply(t->rows, t->cols, a->v_cols, dy, turned(operand_matrix(a, OP_ATT_V, t->b, head, t->col)),
             rows_of(t, t->other), 0);
    for (uint64_t i = 0; i < t->rows; i++) {
        float *gradient = t->other + i * t->cols;
        if (a->drop != NULL) {
            drop_row(t, t->row + i, gradient, gradient);
        }
        differentiate_row(t->scores + i * t->cols, gradient, t->cols, (float)a->scale);
        if (a->data[OP_ATT_DPSE] != NULL) {
            store_pse(t, t->row + i, gradient);
        }
    }
    multiply(t->rows, a->q_cols, t->cols, rows_of(t, t->other), operand_matrix(a, OP_ATT_K, t->b, head, t->col),
             operand_matrix(a, OP_ATT_DQ, t->b, t->n, t->row), 0);
    multiply(t->cols, a->q_cols, t->rows, turned(rows_of(t, t->other)), operand_matrix(a, OP_ATT_Q, t->b, t->n, t->row),
             operand_matrix(a, OP_ATT_DK, t->b, head, t->col), 1);
}

OP_KERNEL(FlashAttentionScoreGrad, op_attention_args)
{
    if (a->data[OP_ATT_DQ] == NULL || a->data[OP_ATT_DK] == NULL || a->data[OP_ATT_DV] == NULL || a->scratch == NULL) {
        return;
    }
    const uint64_t group = a->heads / a->kv_heads;
    const struct tk_range mine = tk_share(a->batch * a->kv_heads, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        const uint64_t b = item / a->kv_heads, head = item % a->kv_heads;
        clear(a, OP_ATT_DK, b, head, a->kv_len, a->q_cols);
        clear(a, OP_ATT_DV, b, head, a->kv_len, a->v_cols);
        for (uint64_t n = head * group; n < (head + 1) * group; n++) {
            for (uint64_t row = 0; row < a->q_len; row += OP_ATT_ROWS) {
                struct tile t = {.a = a, .b = b, .n = n, .row = row};
                t.rows = a->q_len - row < OP_ATT_ROWS ? a->q_len - row : OP_ATT_ROWS;
                t.scores = scratch_of(a, block);
                t.other = t.scores + OP_ATT_ROWS * a->kv_len;
                bound_columns(&t);
                backward_tile(&t, head);
            }
        }
    }
}

#define FORWARD(name)                                                                                                  \
    OP_KERNEL(name, op_attention_args)                                                                                 \
    {                                                                                                                  \
        forward(a, block, num_blocks);                                                                                 \
    }
FORWARD(FlashAttentionScore)
FORWARD(FusedInferAttentionScore)
FORWARD(PromptFlashAttention)
FORWARD(IncreFlashAttention)
