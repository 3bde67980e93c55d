/* SPDX-License-Identifier: Apache-2.0 */
/* Range, LinSpace, LogSpace, Trilu, OneHot: values from the position of an element. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include <math.h>

static double sequence_at(const struct op_range_args *a, uint64_t i, bool from_end)
{
    if (from_end && i >= a->count / 2) {
        return a->end - a->step.real * (double)(a->count - 1 - i);
    }
    return a->start.real + a->step.real * (double)i;
}

static void sequence(const struct op_range_args *a, uint32_t block, uint32_t num_blocks, bool from_end, bool power)
{
    if (a->z == NULL) {
        return;
    }
    const int64_t zs = op_inner_step(&a->loop, &a->z_side);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        struct tk_chunk chunk = {.kind = (enum tk_kind)a->kind};
        for (uint64_t i = 0; i < n; i++) {
            if (chunk.kind == TK_KIND_REAL) {
                const double v = sequence_at(a, w.at + i, from_end);
                chunk.real[i] = power ? pow(a->base, v) : v;
            } else {
                chunk.i64[i] = a->start.whole + (int64_t)(w.at + i) * a->step.whole;
            }
        }
        tk_chunk_store(&chunk, (void *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type), zs,
                       a->z_side.type, n);
    }
}

OP_KERNEL(Range, op_range_args)
{
    sequence(a, block, num_blocks, false, false);
}

OP_KERNEL(LinSpace, op_range_args)
{
    sequence(a, block, num_blocks, true, false);
}

OP_KERNEL(LogSpace, op_range_args)
{
    sequence(a, block, num_blocks, true, true);
}

OP_KERNEL(Trilu, op_triangle_args)
{
    if (a->x == NULL || a->z == NULL || a->rows == 0) {
        return;
    }
    const uint64_t size_b = op_type_b(a->z_side.type);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), 1, block, num_blocks));
    for (; w.at < w.end; op_walk_advance(&w, 1)) {
        const int64_t row = (int64_t)(w.at % a->rows), cols = (int64_t)a->cols;
        int64_t split = row + a->diagonal + !a->upper; /* the first column kept, or the first one after those kept */
        split = split < 0 ? 0 : split > cols ? cols : split;
        const char *x = op_element(a->x, op_walk_offset(&w, &a->x_side), a->x_side.type);
        char *z = (char *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type);
        const int64_t begin = a->upper ? split : 0, end = a->upper ? cols : split;
        if (a->x_step == 1 && a->z_step == 1) {
            memset(z, 0, (size_t)begin * size_b);
            memmove(z + (size_t)begin * size_b, x + (size_t)begin * size_b, (size_t)(end - begin) * size_b);
            memset(z + (size_t)end * size_b, 0, (size_t)(cols - end) * size_b);
            continue;
        }
        for (int64_t i = 0; i < cols; i++) {
            char *to = z + i * a->z_step * (int64_t)size_b;
            if (i >= begin && i < end) {
                memmove(to, x + i * a->x_step * (int64_t)size_b, size_b);
            } else {
                memset(to, 0, size_b);
            }
        }
    }
}

OP_KERNEL(OneHot, op_one_hot_args)
{
    if (a->index == NULL || a->on == NULL || a->off == NULL || a->z == NULL) {
        return;
    }
    const uint64_t size_b = op_type_b(a->z_side.type);
    char on[8], off[8];
    struct tk_chunk chunk;
    tk_chunk_load(&chunk, a->on, 1, a->on_type, 1);
    tk_chunk_store(&chunk, on, 1, a->z_side.type, 1);
    tk_chunk_load(&chunk, a->off, 1, a->off_type, 1);
    tk_chunk_store(&chunk, off, 1, a->z_side.type, 1);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), 1, block, num_blocks));
    for (; w.at < w.end; op_walk_advance(&w, 1)) {
        tk_chunk_load(&chunk, op_element(a->index, op_walk_offset(&w, &a->index_side), a->index_side.type), 1,
                      a->index_side.type, 1);
        tk_chunk_make(&chunk, TK_KIND_SIGNED, 1);
        char *z = (char *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type);
        for (int64_t i = 0; i < (int64_t)a->classes; i++) {
            memcpy(z + i * a->z_step * (int64_t)size_b, chunk.i64[0] == i ? on : off, size_b);
        }
    }
}
