/* SPDX-License-Identifier: Apache-2.0 */
/* Random values by the linear index of the element, so the result depends neither on strides nor on blocks. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/kernels/philox.h"

enum distribution { UNIFORM, NORMAL, BERNOULLI, WHOLE };

static struct op_random_seed seed_of(const struct op_random_seed *from, const int64_t *seed_at,
                                     const int64_t *offset_at)
{
    return (struct op_random_seed){seed_at != NULL ? (uint64_t)*seed_at : from->seed,
                                   from->offset + (offset_at != NULL ? (uint64_t)*offset_at : 0)};
}

/* Steps of [0, 1) that every type represents, so that rounding does not give 1. */
static float unit_of(uint32_t word, int64_t type)
{
    return type == TK_FLOAT16 ? (float)(word >> 21) * 0x1p-11f
           : type == TK_BF16  ? (float)(word >> 24) * 0x1p-8f
                              : tk_unit(word);
}

/* n <= TK_CHUNK standard values for the elements from `first` on. */
static void standard(const struct op_random_seed *from, enum distribution distribution, int64_t type, uint64_t first,
                     uint64_t n, double *out)
{
    for (uint64_t counter = first / 4; counter * 4 < first + n; counter++) {
        uint32_t words[4];
        float values[4];
        tk_philox_wide(from->seed, counter, from->offset, words);
        if (distribution == NORMAL) {
            tk_normal_pair(words[0], words[1], &values[0], &values[1]);
            tk_normal_pair(words[2], words[3], &values[2], &values[3]);
        } else {
            for (int i = 0; i < 4; i++) {
                values[i] = unit_of(words[i], distribution == UNIFORM ? type : TK_FLOAT);
            }
        }
        for (uint64_t i = 0; i < 4; i++) {
            const uint64_t element = counter * 4 + i;
            if (element >= first && element < first + n) {
                out[element - first] = (double)values[i];
            }
        }
    }
}

/* 64 random bits for an element. */
static uint64_t bits_of(const struct op_random_seed *from, uint64_t element)
{
    uint32_t words[4];
    tk_philox_wide(from->seed, element / 2, from->offset, words);
    return (uint64_t)words[element % 2 * 2 + 1] << 32 | words[element % 2 * 2];
}

/* A parameter of the distribution for n elements: constant, or from a tensor. */
static const double *parameter(const void *base, const struct op_side *side, const struct op_walk *w, double constant,
                               struct tk_chunk *chunk, uint64_t n)
{
    if (base != NULL) {
        tk_chunk_load(chunk, op_element(base, op_walk_offset(w, side), side->type), op_inner_step(w->loop, side),
                      side->type, n);
        tk_chunk_make(chunk, TK_KIND_REAL, n);
        return chunk->real;
    }
    for (uint64_t i = 0; i < n; i++) {
        chunk->real[i] = constant;
    }
    return chunk->real;
}

static void fill(const struct op_random_args *a, uint32_t block, uint32_t num_blocks, enum distribution distribution)
{
    if (a->z == NULL) {
        return;
    }
    const struct op_random_seed from = seed_of(&a->from, a->seed_at, a->offset_at);
    const int64_t zs = op_inner_step(&a->loop, &a->z_side);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        struct tk_chunk chunk = {.kind = TK_KIND_REAL}, firsts, seconds;
        if (distribution == WHOLE) {
            chunk.kind = TK_KIND_SIGNED;
            for (uint64_t i = 0; i < n; i++) {
                const uint64_t bits = bits_of(&from, w.at + i);
                chunk.i64[i] = (int64_t)((uint64_t)a->low + (a->range != 0 ? bits % a->range : bits));
            }
        } else {
            const double *first = parameter(a->first_at, &a->first_side, &w, a->first, &firsts, n);
            const double *second = parameter(a->second_at, &a->second_side, &w, a->second, &seconds, n);
            standard(&from, distribution, a->z_side.type, w.at, n, chunk.real);
            for (uint64_t i = 0; i < n; i++) {
                const double v = chunk.real[i];
                chunk.real[i] = distribution == BERNOULLI ? v < first[i]
                                : distribution == NORMAL  ? first[i] + second[i] * v
                                                          : first[i] + (second[i] - first[i]) * v;
            }
        }
        tk_chunk_store(&chunk, (void *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type), zs,
                       a->z_side.type, n);
    }
}

OP_KERNEL(StatelessRandomUniformV2, op_random_args)
{
    fill(a, block, num_blocks, UNIFORM);
}

OP_KERNEL(StatelessRandomNormalV2, op_random_args)
{
    fill(a, block, num_blocks, NORMAL);
}

OP_KERNEL(StatelessBernoulli, op_random_args)
{
    fill(a, block, num_blocks, BERNOULLI);
}

OP_KERNEL(StatelessRandomUniformInt, op_random_args)
{
    fill(a, block, num_blocks, WHOLE);
}

/* Eight elements per byte; the loop is over bytes. */
OP_KERNEL(StatelessDropOutGenMask, op_random_args)
{
    if (a->z == NULL) {
        return;
    }
    const struct op_random_seed from = seed_of(&a->from, a->seed_at, a->offset_at);
    const float drop = (float)a->first;
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (; w.at < w.end; op_walk_advance(&w, 1)) {
        uint8_t *z = (uint8_t *)a->z + op_walk_offset(&w, &a->z_side);
        uint8_t bits = 0;
        for (uint64_t half = 0; half < 2; half++) {
            uint32_t words[4];
            tk_philox_wide(from.seed, w.at * 2 + half, from.offset, words);
            for (uint64_t i = 0; i < 4; i++) {
                bits |= (uint8_t)((tk_unit(words[i]) >= drop) << (half * 4 + i));
            }
        }
        *z = bits;
    }
}

OP_KERNEL(StatelessRandperm, op_random_args)
{
    if (block != 0 || a->z == NULL) {
        return;
    }
    const struct op_random_seed from = seed_of(&a->from, a->seed_at, a->offset_at);
    int64_t *z = a->z;
    for (uint64_t i = 0; i < a->range; i++) {
        const uint64_t j = bits_of(&from, i) % (i + 1);
        z[i] = z[j]; /* z[i] is written before it is read: j == i stores the new value below */
        z[j] = (int64_t)i;
    }
    (void)num_blocks;
}

/* The first index whose running sum exceeds the target; never one of weight 0. */
static uint64_t pick(const double *weights, uint64_t count, double target)
{
    double sum = 0;
    uint64_t last = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (weights[i] > 0) {
            last = i;
            sum += weights[i];
            if (sum > target) {
                break;
            }
        }
    }
    return last;
}

OP_KERNEL(Multinomial, op_multinomial_args)
{
    if (a->weights == NULL || a->z == NULL) {
        return;
    }
    const struct op_random_seed from = seed_of(&a->from, a->seed_at, a->offset_at);
    const struct tk_range r = tk_share(a->rows, 1, block, num_blocks);
    for (uint64_t row = r.begin; row < r.end; row++) {
        double *weights = a->weights + row * a->count, total = 0;
        for (uint64_t i = 0; i < a->count; i++) {
            total += weights[i] > 0 ? weights[i] : 0;
        }
        for (uint64_t s = 0; s < a->samples; s++) {
            const uint64_t element = row * a->samples + s;
            const double unit = (double)(bits_of(&from, element) >> 11) * 0x1p-53;
            const uint64_t found = pick(weights, a->count, unit * total);
            a->z[element] = (int64_t)found;
            if (!a->replacement) {
                total -= weights[found];
                weights[found] = 0;
            }
        }
    }
}

OP_KERNEL(DropOutDoMask, op_do_mask_args)
{
    if (a->x == NULL || a->mask == NULL || a->z == NULL) {
        return;
    }
    const int64_t xs = op_inner_step(&a->loop, &a->x_side), zs = op_inner_step(&a->loop, &a->z_side);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        struct tk_chunk chunk;
        tk_chunk_load(&chunk, op_element(a->x, op_walk_offset(&w, &a->x_side), a->x_side.type), xs, a->x_side.type, n);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t element = w.at + i;
            chunk.real[i] = (a->mask[element / 8] >> (element % 8) & 1) ? chunk.real[i] * a->scale : 0;
        }
        tk_chunk_store(&chunk, (void *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type), zs,
                       a->z_side.type, n);
    }
}
