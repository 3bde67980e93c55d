/* SPDX-License-Identifier: Apache-2.0 */
/* RotaryPositionEmbedding: pairs of elements of a row are rotated. Both elements of a pair are loaded before one of them
 * is stored, so that an operator may work in place. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"

struct rotary_run {
    float buffer[2][OP_ROTARY_Z][OP_RUN]; /* of the first and the second elements: x, cos, sin */
    const float *in[2][OP_ROTARY_Z];
    float z[2][OP_RUN];
};

static void rotate_run(struct rotary_run *run, uint64_t n)
{
    const float *x0 = run->in[0][OP_ROTARY_X], *x1 = run->in[1][OP_ROTARY_X];
    const float *cos0 = run->in[0][OP_ROTARY_COS], *cos1 = run->in[1][OP_ROTARY_COS];
    const float *sin0 = run->in[0][OP_ROTARY_SIN], *sin1 = run->in[1][OP_ROTARY_SIN];
    for (uint64_t i = 0; i < n; i++) {
        run->z[0][i] = x0[i] * cos0[i] - x1[i] * sin0[i];
        run->z[1][i] = x1[i] * cos1[i] + x0[i] * sin1[i];
    }
}

static void rotate_row(const struct op_rotary_args *a, const char *const *rows)
{
    struct rotary_run run;
    for (uint64_t at = 0; at < a->count; at += OP_RUN) {
        const uint64_t n = a->count - at < OP_RUN ? a->count - at : OP_RUN;
        for (int half = 0; half < 2; half++) {
            const int64_t from_x = (half == 0 ? a->first : a->second) + (int64_t)at * a->stride;
            const int64_t from = a->z_half == 0 ? from_x : half * a->z_half + (int64_t)at;
            for (int part = 0; part < OP_ROTARY_Z; part++) {
                const int64_t stride = part == OP_ROTARY_X || a->z_half == 0 ? a->stride : 1;
                const int64_t type = a->side[part].type;
                const void *base = op_element(rows[part], (part == OP_ROTARY_X ? from_x : from) * a->step[part], type);
                run.in[half][part] = op_load_f32(run.buffer[half][part], base, stride * a->step[part], type, n);
            }
        }
        rotate_run(&run, n);
        for (int half = 0; half < 2; half++) {
            const int64_t from = a->z_half != 0 ? half * a->z_half + (int64_t)at
                                                : (half == 0 ? a->first : a->second) + (int64_t)at * a->stride;
            const int64_t step = a->step[OP_ROTARY_Z], type = a->side[OP_ROTARY_Z].type;
            op_store_f32(run.z[half], (void *)op_element(rows[OP_ROTARY_Z], from * step, type),
                         (a->z_half != 0 ? 1 : a->stride) * step, type, n);
        }
    }
}

OP_KERNEL(RotaryPositionEmbedding, op_rotary_args)
{
    const char *base[OP_ROTARY_PARTS] = {a->x, a->cos, a->sin, a->z};
    if (a->x == NULL || a->cos == NULL || a->sin == NULL || a->z == NULL) {
        return;
    }
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), 1, block, num_blocks));
    for (; w.at < w.end; op_walk_advance(&w, 1)) {
        const char *rows[OP_ROTARY_PARTS];
        for (int part = 0; part < OP_ROTARY_PARTS; part++) {
            rows[part] = op_element(base[part], op_walk_offset(&w, &a->side[part]), a->side[part].type);
        }
        rotate_row(a, rows);
    }
}

OP_KERNEL(ApplyRotaryPosEmb, op_rotary_args)
{
    TK_NAME(RotaryPositionEmbedding)(a, block, num_blocks);
}
