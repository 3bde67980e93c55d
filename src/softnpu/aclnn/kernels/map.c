/* SPDX-License-Identifier: Apache-2.0 */
/* The element-wise engine: every function of kernels/map_rows.h as a loop in float, double and 64-bit integers.
 *
 * Operands are converted in runs through small buffers; an operand that already has the type of the loop and is dense is
 * used in place. Work is divided at multiples of TK_GRAIN, so a result does not depend on the number of blocks. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/map_loops.h"
#include "softnpu/aclnn/kernels/op_float.h"

/* Whether an operand needs no conversion: dense floats. */
static bool is_direct(const struct op_map_args *m, const struct op_side *side)
{
    return side->type == TK_FLOAT && op_inner_step(&m->loop, side) == 1;
}

/* All operands are dense floats: one call of the loop for a whole row. */
static void run_direct(const struct op_map_args *m, const float *numbers, struct op_walk *w)
{
    for (uint64_t n; (n = op_walk_run(w, UINT64_MAX)) > 0; op_walk_advance(w, n)) {
        float *z = (float *)m->z + op_walk_offset(w, &m->z_side);
        const float *in[OP_MAP_INPUTS];
        for (uint64_t i = 0; i < OP_MAP_INPUTS; i++) { /* loops may load inputs that their function does not have */
            in[i] = i < m->input_count ? (const float *)m->in[i] + op_walk_offset(w, &m->in_side[i]) : z;
        }
        op_map_f32[m->code](in, numbers, z, n);
    }
}

static void run_f32(const struct op_map_args *m, struct op_walk *w)
{
    float buffers[OP_MAP_INPUTS][OP_RUN], result[OP_RUN], numbers[OP_MAP_NUMBERS];
    const float *in[OP_MAP_INPUTS];
    bool all_direct = is_direct(m, &m->z_side);
    for (int i = 0; i < OP_MAP_NUMBERS; i++) {
        numbers[i] = (float)m->numbers[i].real;
    }
    for (uint64_t i = 0; i < OP_MAP_INPUTS; i++) {
        in[i] = buffers[i];
        all_direct &= i >= m->input_count || (m->in[i] != NULL && is_direct(m, &m->in_side[i]));
        for (int j = 0; i < m->input_count && m->in[i] == NULL && j < OP_RUN; j++) {
            buffers[i][j] = (float)m->constants[i].real;
        }
    }
    if (all_direct) {
        run_direct(m, numbers, w);
        return;
    }
    const int64_t zs = op_inner_step(&m->loop, &m->z_side);
    const bool direct = is_direct(m, &m->z_side);
    for (uint64_t n; (n = op_walk_run(w, OP_RUN)) > 0; op_walk_advance(w, n)) {
        for (uint64_t i = 0; i < m->input_count; i++) {
            if (m->in[i] != NULL) {
                const struct op_side *side = &m->in_side[i];
                in[i] = op_load_f32(buffers[i], op_element(m->in[i], op_walk_offset(w, side), side->type),
                                    op_inner_step(&m->loop, side), side->type, n);
            }
        }
        void *z = (void *)op_element(m->z, op_walk_offset(w, &m->z_side), m->z_side.type);
        op_map_f32[m->code](in, numbers, direct ? z : result, n);
        if (!direct) {
            op_store_f32(result, z, zs, m->z_side.type, n);
        }
    }
}

/* Double and 64-bit integers: both are what a chunk holds. */
static void run_wide(const struct op_map_args *m, struct op_walk *w)
{
    const enum tk_kind kind = m->kind == OP_MAP_F64 ? TK_KIND_REAL : TK_KIND_SIGNED;
    struct tk_chunk chunks[OP_MAP_INPUTS], result = {.kind = kind};
    for (int i = 0; i < OP_MAP_INPUTS; i++) {
        chunks[i].kind = kind;
        for (int j = 0; (uint64_t)i < m->input_count && m->in[i] == NULL && j < TK_CHUNK; j++) {
            if (kind == TK_KIND_REAL) {
                chunks[i].real[j] = m->constants[i].real;
            } else {
                chunks[i].i64[j] = m->constants[i].whole;
            }
        }
    }
    for (uint64_t n; (n = op_walk_run(w, TK_CHUNK)) > 0; op_walk_advance(w, n)) {
        for (int i = 0; i < OP_MAP_INPUTS; i++) {
            if (m->in[i] != NULL) {
                const struct op_side *side = &m->in_side[i];
                tk_chunk_load(&chunks[i], op_element(m->in[i], op_walk_offset(w, side), side->type),
                              op_inner_step(&m->loop, side), side->type, n);
                tk_chunk_make(&chunks[i], kind, n);
            }
        }
        if (kind == TK_KIND_REAL) {
            const double *in[] = {chunks[0].real, chunks[1].real, chunks[2].real, chunks[3].real};
            const double numbers[] = {m->numbers[0].real, m->numbers[1].real, m->numbers[2].real, m->numbers[3].real};
            op_map_f64[m->code](in, numbers, result.real, n);
        } else {
            const int64_t *in[] = {chunks[0].i64, chunks[1].i64, chunks[2].i64, chunks[3].i64};
            const int64_t numbers[] = {m->numbers[0].whole, m->numbers[1].whole, m->numbers[2].whole,
                                       m->numbers[3].whole};
            op_map_i64[m->code](in, numbers, result.i64, n);
        }
        tk_chunk_store(&result, (void *)op_element(m->z, op_walk_offset(w, &m->z_side), m->z_side.type),
                       op_inner_step(&m->loop, &m->z_side), m->z_side.type, n);
    }
}

void TK_NAME(op_map)(const struct op_map_args *m, uint32_t block, uint32_t num_blocks)
{
    if (m->z == NULL || m->code >= OP_MAP_CODES || m->input_count > OP_MAP_INPUTS ||
        (m->kind == OP_MAP_I64 && op_map_i64[m->code] == NULL)) {
        return;
    }
    struct op_walk w = op_walk_start(&m->loop, tk_share(op_loop_count(&m->loop), TK_GRAIN, block, num_blocks));
    if (m->kind == OP_MAP_F32) {
        run_f32(m, &w);
    } else {
        run_wide(m, &w);
    }
}
