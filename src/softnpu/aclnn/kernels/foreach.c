/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of tensors: each member is an element-wise computation of its own; blocks share every member. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"

static struct op_number read_number(const void *at, int64_t type)
{
    struct tk_chunk chunk;
    tk_chunk_load(&chunk, at, 1, type, 1);
    struct tk_chunk whole = chunk;
    tk_chunk_make(&chunk, TK_KIND_REAL, 1);
    tk_chunk_make(&whole, TK_KIND_SIGNED, 1);
    return (struct op_number){chunk.real[0], whole.i64[0]};
}

/* Small members begin at different blocks. */
static uint32_t turned(uint32_t block, uint64_t member, uint32_t num_blocks)
{
    return (uint32_t)((block + member) % num_blocks);
}

void TK_NAME(op_foreach)(const struct op_foreach_args *a, uint32_t block, uint32_t num_blocks)
{
    for (uint64_t i = 0; i < a->count && i < OP_FOREACH; i++) {
        struct op_map_args m = {
            .z = a->data[i][OP_MAP_INPUTS],
            .loop = {.rank = 1, .dims = {a->sizes[i]}},
            .z_side = {.type = a->types[i][OP_MAP_INPUTS], .steps = {1}},
            .code = a->code,
            .kind = a->kind,
            .input_count = a->input_count,
            .numbers = {a->numbers[i]},
        };
        for (int k = 0; k < OP_MAP_INPUTS; k++) {
            m.in[k] = a->data[i][k];
            m.in_side[k] = (struct op_side){.type = a->types[i][k], .steps = {1}};
            m.constants[k] = a->constants[i][k];
        }
        const void *number = a->data[i][OP_MAP_INPUTS + 1];
        if (number != NULL && a->slot >= 0 && a->slot <= OP_FOREACH_NUMBER) {
            const struct op_number value = read_number(number, a->number_type);
            *(a->slot == OP_FOREACH_NUMBER ? &m.numbers[0] : &m.constants[a->slot]) = value;
        }
        TK_NAME(op_map)(&m, turned(block, i, num_blocks), num_blocks);
    }
}

OP_KERNEL(ForeachNonFiniteCheckAndUnscale, op_foreach_args)
{
    float buffer[OP_RUN];
    for (uint64_t i = 0; i < a->count && i < OP_FOREACH; i++) {
        char *base = a->data[i][0];
        float *found = a->data[i][1];
        const int64_t type = a->types[i][0];
        if (base == NULL || found == NULL || a->data[i][OP_MAP_INPUTS + 1] == NULL) {
            continue;
        }
        const float scale = (float)read_number(a->data[i][OP_MAP_INPUTS + 1], a->number_type).real;
        const struct tk_range range = tk_share(a->sizes[i], TK_GRAIN, turned(block, i, num_blocks), num_blocks);
        for (uint64_t at = range.begin; at < range.end; at += OP_RUN) {
            const uint64_t n = range.end - at < OP_RUN ? range.end - at : OP_RUN;
            void *x = base + at * op_type_b(type);
            const float *from = op_load_f32(buffer, x, 1, type, n);
            uint32_t finite = 1;
            TK_INDEPENDENT
            for (uint64_t k = 0; k < n; k++) {
                const float value = from[k];
                finite &= value - value == 0.0f;
                buffer[k] = scale == 1.0f ? value : value * scale;
            }
            op_store_f32(buffer, x, 1, type, n);
            if (!finite) {
                __atomic_store_n((uint32_t *)found, 0x3f800000u, __ATOMIC_RELAXED); /* 1.0f, from several blocks */
            }
        }
    }
}
