/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, with or without conversion, and fills: element by element over a loop. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"

/* Elements of one size, whatever their type. */
#define COPY(ctype)                                                                                                    \
    {                                                                                                                  \
        const ctype *from = x;                                                                                         \
        ctype *to = z;                                                                                                 \
        for (int64_t i = 0; i < (int64_t)n; i++) {                                                                     \
            to[i * zs] = from[i * xs];                                                                                 \
        }                                                                                                              \
    }

static void copy_strided(const void *x, int64_t xs, void *z, int64_t zs, uint64_t size_b, uint64_t n)
{
    switch (size_b) {
    case 1:
        COPY(uint8_t)
        break;
    case 2:
        COPY(uint16_t)
        break;
    case 4:
        COPY(uint32_t)
        break;
    default:
        COPY(uint64_t)
        break;
    }
}

/* Rows of z are columns of x: bands of rows, so that each cache line of x is read once. */
enum { BAND = 16 };

static bool is_transposed(const struct op_move_args *a)
{
    const uint64_t rank = a->loop.rank;
    return rank >= 2 && a->x_side.type == a->z_side.type && a->z_side.steps[rank - 1] == 1 &&
           a->x_side.steps[rank - 2] == 1 && a->loop.dims[rank - 2] >= BAND && a->loop.dims[rank - 1] >= BAND;
}

#define TURN(ctype)                                                                                                    \
    for (int64_t c = 0; c < columns; c++) {                                                                            \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            ((ctype *)z)[r * z_row + c] = ((const ctype *)x)[r + c * x_column];                                        \
        }                                                                                                              \
    }

static void turn(const struct op_move_args *a, uint32_t block, uint32_t num_blocks)
{
    const uint64_t rank = a->loop.rank, bands = (a->loop.dims[rank - 2] + BAND - 1) / BAND;
    const int64_t z_row = a->z_side.steps[rank - 2], x_column = a->x_side.steps[rank - 1];
    const int64_t columns = (int64_t)a->loop.dims[rank - 1];
    struct op_loop outer = {.rank = rank - 1};
    struct op_side x_side = a->x_side, z_side = a->z_side;
    memcpy(outer.dims, a->loop.dims, (rank - 1) * sizeof *outer.dims);
    outer.dims[rank - 2] = bands;
    x_side.steps[rank - 2] *= BAND;
    z_side.steps[rank - 2] *= BAND;
    struct op_walk w = op_walk_start(&outer, tk_share(op_loop_count(&outer), 1, block, num_blocks));
    for (; w.at < w.end; op_walk_advance(&w, 1)) {
        const char *x = op_element(a->x, op_walk_offset(&w, &x_side), a->x_side.type);
        char *z = (char *)op_element(a->z, op_walk_offset(&w, &z_side), a->z_side.type);
        const int64_t left = (int64_t)(a->loop.dims[rank - 2] - w.index[rank - 2] * BAND);
        const int64_t rows = left < BAND ? left : BAND;
        switch (op_type_b(a->z_side.type)) {
        case 1:
            TURN(uint8_t)
            break;
        case 2:
            TURN(uint16_t)
            break;
        case 4:
            TURN(uint32_t)
            break;
        default:
            TURN(uint64_t)
            break;
        }
    }
}

static bool is_single(int64_t type)
{
    return type == TK_FLOAT || type == TK_FLOAT16 || type == TK_BF16;
}

static void move(const struct op_move_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->x == NULL || a->z == NULL) {
        return;
    }
    if (is_transposed(a)) {
        turn(a, block, num_blocks);
        return;
    }
    const int64_t xs = op_inner_step(&a->loop, &a->x_side), zs = op_inner_step(&a->loop, &a->z_side);
    const bool same = a->x_side.type == a->z_side.type, plain = same && xs == 1 && zs == 1;
    const bool single = is_single(a->x_side.type) && is_single(a->z_side.type);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, same ? UINT64_MAX : TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        const void *x = op_element(a->x, op_walk_offset(&w, &a->x_side), a->x_side.type);
        void *z = (void *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type);
        if (plain) {
            memmove(z, x, n * op_type_b(a->z_side.type));
            continue;
        }
        if (same) {
            copy_strided(x, xs, z, zs, op_type_b(a->z_side.type), n);
            continue;
        }
        if (single) {
            float buffer[OP_RUN];
            op_store_f32(op_load_f32(buffer, x, xs, a->x_side.type, n), z, zs, a->z_side.type, n);
            continue;
        }
        struct tk_chunk chunk;
        tk_chunk_load(&chunk, x, xs, a->x_side.type, n);
        tk_chunk_store(&chunk, z, zs, a->z_side.type, n);
    }
}

#define MOVE(name, args)                                                                                               \
    OP_KERNEL(name, args)                                                                                              \
    {                                                                                                                  \
        move(a, block, num_blocks);                                                                                    \
    }
MOVE(Cast, op_move_args)
MOVE(ViewCopy, op_move_args)
MOVE(TensorMove, op_move_args)
OP_KERNELS_COPY(MOVE)

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

OP_KERNEL(OnesLike, op_fill_args)
{
    fill(a, block, num_blocks);
}
