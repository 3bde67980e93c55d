/* SPDX-License-Identifier: Apache-2.0 */
/* Add, Mul, Cast, ViewCopy, TensorMove, Fill, ZerosLike: element by element over a loop. */
#include "softnpu/aclnn/kernels/op_kernel.h"

enum operation { ADD, MUL };

/* All operands float32: no conversion to a wide type. A step of 0 is a broadcast. */
static void run_f32(const struct op_binary_args *a, enum operation op, const float *x, int64_t xs, const float *y,
                    int64_t ys, float *z, int64_t zs, uint64_t n)
{
    const float alpha = (float)a->alpha.real;
    if (xs == 1 && ys == 1 && zs == 1) {
        if (op == ADD) {
            TK_INDEPENDENT
            for (uint64_t i = 0; i < n; i++) {
                z[i] = x[i] + alpha * y[i];
            }
        } else {
            TK_INDEPENDENT
            for (uint64_t i = 0; i < n; i++) {
                z[i] = x[i] * y[i];
            }
        }
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        const float v = x[(int64_t)i * xs], w = y[(int64_t)i * ys];
        z[(int64_t)i * zs] = op == ADD ? v + alpha * w : v * w;
    }
}

static void run_wide(const struct op_binary_args *a, enum operation op, struct tk_chunk *x, struct tk_chunk *y,
                     uint64_t n)
{
    const enum tk_kind kind = (enum tk_kind)a->kind;
    tk_chunk_make(x, kind, n);
    tk_chunk_make(y, kind, n);
    if (kind == TK_KIND_REAL) {
        for (uint64_t i = 0; i < n; i++) {
            x->real[i] = op == ADD ? x->real[i] + a->alpha.real * y->real[i] : x->real[i] * y->real[i];
        }
    } else {
        for (uint64_t i = 0; i < n; i++) {
            x->u64[i] = op == ADD ? x->u64[i] + (uint64_t)a->alpha.whole * y->u64[i] : x->u64[i] * y->u64[i];
        }
    }
}

static void binary(const struct op_binary_args *a, uint32_t block, uint32_t num_blocks, enum operation op)
{
    if (a->x == NULL || a->y == NULL || a->z == NULL) {
        return;
    }
    const bool f32 = a->x_side.type == TK_FLOAT && a->y_side.type == TK_FLOAT && a->z_side.type == TK_FLOAT;
    const int64_t xs = op_inner_step(&a->loop, &a->x_side), ys = op_inner_step(&a->loop, &a->y_side),
                  zs = op_inner_step(&a->loop, &a->z_side);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, f32 ? UINT64_MAX : TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        const void *x = op_element(a->x, op_walk_offset(&w, &a->x_side), a->x_side.type);
        const void *y = op_element(a->y, op_walk_offset(&w, &a->y_side), a->y_side.type);
        void *z = (void *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type);
        if (f32) {
            run_f32(a, op, x, xs, y, ys, z, zs, n);
            continue;
        }
        struct tk_chunk left, right;
        tk_chunk_load(&left, x, xs, a->x_side.type, n);
        tk_chunk_load(&right, y, ys, a->y_side.type, n);
        run_wide(a, op, &left, &right, n);
        tk_chunk_store(&left, z, zs, a->z_side.type, n);
    }
}

OP_KERNEL(Add, op_binary_args)
{
    binary(a, block, num_blocks, ADD);
}

OP_KERNEL(Mul, op_binary_args)
{
    binary(a, block, num_blocks, MUL);
}

static void move(const struct op_move_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->x == NULL || a->z == NULL) {
        return;
    }
    const int64_t xs = op_inner_step(&a->loop, &a->x_side), zs = op_inner_step(&a->loop, &a->z_side);
    const bool plain = a->x_side.type == a->z_side.type && xs == 1 && zs == 1;
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, plain ? UINT64_MAX : TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        const void *x = op_element(a->x, op_walk_offset(&w, &a->x_side), a->x_side.type);
        void *z = (void *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type);
        if (plain) {
            memmove(z, x, n * op_type_b(a->z_side.type));
            continue;
        }
        struct tk_chunk chunk;
        tk_chunk_load(&chunk, x, xs, a->x_side.type, n);
        tk_chunk_store(&chunk, z, zs, a->z_side.type, n);
    }
}

OP_KERNEL(Cast, op_move_args)
{
    move(a, block, num_blocks);
}

OP_KERNEL(ViewCopy, op_move_args)
{
    move(a, block, num_blocks);
}

OP_KERNEL(TensorMove, op_move_args)
{
    move(a, block, num_blocks);
}

static void fill(const struct op_fill_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->z == NULL) {
        return;
    }
    struct tk_chunk chunk = {.kind = (enum tk_kind)a->kind};
    for (uint64_t i = 0; i < TK_CHUNK; i++) {
        if (chunk.kind == TK_KIND_REAL) {
            chunk.real[i] = a->value.real;
        } else {
            chunk.i64[i] = a->value.whole;
        }
    }
    const int64_t zs = op_inner_step(&a->loop, &a->z_side);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        void *z = (void *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type);
        tk_chunk_store(&chunk, z, zs, a->z_side.type, n);
    }
}

OP_KERNEL(Fill, op_fill_args)
{
    fill(a, block, num_blocks);
}

OP_KERNEL(ZerosLike, op_fill_args)
{
    fill(a, block, num_blocks);
}
