/* SPDX-License-Identifier: Apache-2.0 */
/* TriangularSolve: substitution row by row, on up to TILE columns at a time. Sums are in double. */
#include "softnpu/aclnn/kernels/op_kernel.h"

enum { TILE = 64 };

#define SOLVE(name, type)                                                                                              \
    static void name(const struct op_triangular_args *a, const type *matrix, type *x, uint64_t n)                      \
    {                                                                                                                  \
        for (uint64_t step = 0; step < a->size; step++) {                                                              \
            const uint64_t row = a->lower ? step : a->size - 1 - step;                                                 \
            double sums[TILE];                                                                                         \
            for (uint64_t c = 0; c < n; c++) {                                                                         \
                sums[c] = x[row * a->columns + c];                                                                     \
            }                                                                                                          \
            for (uint64_t done = 0; done < step; done++) {                                                             \
                const uint64_t other = a->lower ? done : a->size - 1 - done;                                           \
                const double factor = matrix[(int64_t)row * a->a_row + (int64_t)other * a->a_col];                     \
                for (uint64_t c = 0; c < n; c++) {                                                                     \
                    sums[c] -= factor * x[other * a->columns + c];                                                     \
                }                                                                                                      \
            }                                                                                                          \
            const double diagonal = a->unit ? 1 : matrix[(int64_t)row * (a->a_row + a->a_col)];                        \
            for (uint64_t c = 0; c < n; c++) {                                                                         \
                x[row * a->columns + c] = (type)(sums[c] / diagonal);                                                  \
            }                                                                                                          \
        }                                                                                                              \
    }
SOLVE(solve_float, float)
SOLVE(solve_double, double)

OP_KERNEL(TriangularSolve, op_triangular_args)
{
    if (a->a == NULL || a->x == NULL) {
        return;
    }
    const uint64_t tiles = a->columns / TILE + (a->columns % TILE != 0), square = a->size * a->size;
    const struct tk_range range = tk_share(a->batch * tiles, 1, block, num_blocks);
    for (uint64_t i = range.begin; i < range.end; i++) {
        const uint64_t matrix = i / tiles, first = i % tiles * TILE;
        const uint64_t n = a->columns - first < TILE ? a->columns - first : TILE;
        const uint64_t at = matrix * a->size * a->columns + first;
        if (a->is_double) {
            solve_double(a, (const double *)a->a + matrix * square, (double *)a->x + at, n);
        } else {
            solve_float(a, (const float *)a->a + matrix * square, (float *)a->x + at, n);
        }
    }
}
