/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of the state of training: fused optimizers, the scale of gradients, the check for silent faults. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"

#include <math.h>

/* ---- optimizers ---- */

enum { PARAMETER, M, V, EXTRA, GRADIENT };

/* Numbers of one call in single precision. */
struct rule {
    float lr, beta1, beta2, decay, eps, ema;
    float correct1, correct2; /* what m and v are divided by */
    float sign;
};

static struct rule rule_of(const struct op_update_args *a, double step)
{
    return (struct rule){
        .lr = (float)a->lr,
        .beta1 = (float)a->beta1,
        .beta2 = (float)a->beta2,
        .decay = (float)a->decay,
        .eps = (float)a->eps,
        .ema = (float)a->ema,
        .correct1 = a->correct ? (float)(1 - pow(a->beta1, step)) : 1.0f,
        .correct2 = a->correct ? (float)(1 - pow(a->beta2, step)) : 1.0f,
        .sign = a->maximize ? -1.0f : 1.0f,
    };
}

struct run {
    float at[OP_UPDATE_OPERANDS][OP_RUN];
};

static void adam_w(struct run *r, const struct rule *rule, bool has_extra, uint64_t n)
{
    const float root2 = sqrtf(rule->correct2), size = rule->lr / rule->correct1, keep = 1.0f - rule->lr * rule->decay;
    for (uint64_t i = 0; i < n; i++) {
        const float g = rule->sign * r->at[GRADIENT][i];
        const float m = r->at[M][i] + (1.0f - rule->beta1) * (g - r->at[M][i]);
        const float v = rule->beta2 * r->at[V][i] + (1.0f - rule->beta2) * g * g;
        const float largest = has_extra && r->at[EXTRA][i] > v ? r->at[EXTRA][i] : v;
        r->at[M][i] = m;
        r->at[V][i] = v;
        r->at[EXTRA][i] = largest;
        r->at[PARAMETER][i] = r->at[PARAMETER][i] * keep - size * (m / (sqrtf(largest) / root2 + rule->eps));
    }
}

static void ema_adam(struct run *r, const struct rule *rule, bool decoupled, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const float p = r->at[PARAMETER][i], g = r->at[GRADIENT][i] + (decoupled ? 0.0f : rule->decay * p);
        const float m = rule->beta1 * r->at[M][i] + (1.0f - rule->beta1) * g;
        const float v = rule->beta2 * r->at[V][i] + (1.0f - rule->beta2) * g * g;
        const float way = (m / rule->correct1) / (sqrtf(v / rule->correct2) + rule->eps);
        const float next = p - rule->lr * (way + (decoupled ? rule->decay * p : 0.0f));
        r->at[M][i] = m;
        r->at[V][i] = v;
        r->at[PARAMETER][i] = next;
        r->at[EXTRA][i] = rule->ema * r->at[EXTRA][i] + (1.0f - rule->ema) * next;
    }
}

/* `later`: the step counts from 0, so the update is one later. */
static void update(const struct op_update_args *a, uint32_t block, uint32_t num_blocks, bool is_ema, int later)
{
    struct tk_chunk step;
    struct run r;
    if (a->step == NULL || a->data[PARAMETER] == NULL || a->data[M] == NULL || a->data[V] == NULL ||
        a->data[GRADIENT] == NULL) {
        return;
    }
    tk_chunk_load(&step, a->step, 1, a->step_type, 1);
    tk_chunk_make(&step, TK_KIND_REAL, 1);
    const struct rule rule = rule_of(a, step.real[0] + later);
    const bool has_extra = a->data[EXTRA] != NULL;
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, OP_RUN)) > 0; op_walk_advance(&w, n)) {
        for (int k = 0; k < OP_UPDATE_OPERANDS; k++) {
            const struct op_side *side = &a->sides[k];
            if (a->data[k] != NULL) {
                const float *from = op_load_f32(r.at[k], op_element(a->data[k], op_walk_offset(&w, side), side->type),
                                                op_inner_step(&a->loop, side), side->type, n);
                if (from != r.at[k]) {
                    memcpy(r.at[k], from, n * sizeof *from);
                }
            } else {
                memset(r.at[k], 0, n * sizeof r.at[k][0]);
            }
        }
        if (is_ema) {
            ema_adam(&r, &rule, a->mode != 0, n);
        } else {
            adam_w(&r, &rule, has_extra, n);
        }
        for (int k = 0; k < GRADIENT; k++) {
            const struct op_side *side = &a->sides[k];
            if (a->data[k] != NULL) {
                op_store_f32(r.at[k], (void *)op_element(a->data[k], op_walk_offset(&w, side), side->type),
                             op_inner_step(&a->loop, side), side->type, n);
            }
        }
    }
}

OP_KERNEL(ApplyAdamWV2, op_update_args)
{
    update(a, block, num_blocks, false, 1);
}

OP_KERNEL(ApplyFusedEmaAdam, op_update_args)
{
    update(a, block, num_blocks, true, 0);
}

/* ---- single numbers ---- */

static double number_at(const struct op_call *a, int operand, uint64_t index)
{
    struct tk_chunk chunk;
    if (a->data[operand] == NULL) {
        return 0;
    }
    const int64_t type = a->at[operand].type;
    tk_chunk_load(&chunk, op_element(a->data[operand], (int64_t)index, type), 1, type, 1);
    tk_chunk_make(&chunk, TK_KIND_REAL, 1);
    return chunk.real[0];
}

static void set_number_at(const struct op_call *a, int operand, uint64_t index, double value)
{
    const int64_t type = a->at[operand].type;
    struct tk_chunk chunk = {.kind = TK_KIND_REAL};
    if (a->data[operand] != NULL) {
        chunk.real[0] = value;
        tk_chunk_store(&chunk, (void *)op_element(a->data[operand], (int64_t)index, type), 1, type, 1);
    }
}

/* Operands: scale, tracker, found, new scale, new tracker. real: growth, backoff; whole: interval. */
OP_KERNEL(UpdateScale, op_call)
{
    if (block != 0 || num_blocks == 0) {
        return;
    }
    const double scale = number_at(a, 0, 0), tracker = number_at(a, 1, 0) + 1;
    const bool found = number_at(a, 2, 0) != 0, due = tracker >= (double)a->whole[0];
    const double grown = (double)(float)(scale * a->real[0]);
    double next = found ? scale * a->real[1] : due ? grown : scale;
    if (!found && due && !isfinite(grown)) {
        next = scale;
    }
    set_number_at(a, 3, 0, next);
    set_number_at(a, 4, 0, found || due ? 0 : tracker);
}

/* 0: nothing found; 1: a fault; 2: a warning. */
static int level_of(double value, bool beyond1, bool beyond2)
{
    return !isfinite(value) || beyond1 ? 1 : beyond2 ? 2 : 0;
}

/* Operands: value, state (last, smallest, largest value), step, result. real: thresholds and jumps of both levels;
 * whole: steps before jumps count. A jump is compared with the range of the values so far. */
OP_KERNEL(SilentCheck, op_call)
{
    if (block != 0 || num_blocks == 0) {
        return;
    }
    const double value = number_at(a, 0, 0), last = number_at(a, 1, 0), low = number_at(a, 1, 1),
                 high = number_at(a, 1, 2), step = number_at(a, 2, 0);
    const bool warm = step >= (double)a->whole[0] && step > 0;
    const double jump = warm && high > low ? fabs(value - last) / (high - low) : 0;
    const int level =
        level_of(value, fabs(value) > a->real[0] && jump > a->real[1], fabs(value) > a->real[2] && jump > a->real[3]);
    if (isfinite(value)) {
        set_number_at(a, 1, 0, value);
        set_number_at(a, 1, 1, step == 0 || value < low ? value : low);
        set_number_at(a, 1, 2, step == 0 || value > high ? value : high);
    }
    set_number_at(a, 2, 0, step + 1);
    set_number_at(a, 3, 0, level);
}

/* Operands: value, average, step, result. real: factors of both levels, beta. */
OP_KERNEL(SilentCheckV2, op_call)
{
    if (block != 0 || num_blocks == 0) {
        return;
    }
    const double value = number_at(a, 0, 0), average = number_at(a, 1, 0), step = number_at(a, 2, 0);
    const double expected = step > 0 ? average / (1 - pow(a->real[2], step)) : average;
    const int level = level_of(value, value > expected * a->real[0], value > expected * a->real[1]);
    if (isfinite(value)) {
        set_number_at(a, 1, 0, step > 0 ? a->real[2] * average + (1 - a->real[2]) * value : (1 - a->real[2]) * value);
    }
    set_number_at(a, 2, 0, step + 1);
    set_number_at(a, 3, 0, step > 0 || !isfinite(value) ? level : 0);
}
