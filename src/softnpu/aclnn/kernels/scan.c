/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that run along rows: cumulative sums, products and extremes; searches in sorted rows; histograms; distances
 * between rows. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_float.h"
#include "softnpu/aclnn/kernels/op_wide.h"

#include <math.h>

static int64_t row_offset(const struct op_operand *at, uint64_t row)
{
    int64_t offset = 0;
    for (uint64_t d = at->rank - 1; d-- > 0; row /= at->dims[d]) {
        offset += (int64_t)(row % at->dims[d]) * at->steps[d];
    }
    return offset;
}

static char *place(const struct op_call *a, int i, uint64_t row, uint64_t at)
{
    const struct op_operand *o = &a->at[i];
    return (char *)op_element(a->data[i], row_offset(o, row) + (int64_t)at * o->steps[o->rank - 1], o->type);
}

static int64_t last_step(const struct op_operand *at)
{
    return at->steps[at->rank - 1];
}

/* One step of a cumulative function; true if v became the result. */
#define STEP(T)                                                                                                        \
    static bool step_##T(enum op_scan function, T *total, T v, bool first)                                             \
    {                                                                                                                  \
        switch (function) {                                                                                            \
        case OP_SCAN_SUM:                                                                                              \
            *total += v;                                                                                               \
            return false;                                                                                              \
        case OP_SCAN_PROD:                                                                                             \
            *total *= v;                                                                                               \
            return false;                                                                                              \
        default: {                                                                                                     \
            const bool better = first || v != v || (function == OP_SCAN_MAX ? v >= *total : v <= *total);              \
            *total = better ? v : *total;                                                                              \
            return better;                                                                                             \
        }                                                                                                              \
        }                                                                                                              \
    }
STEP(double)
STEP(int64_t)

/* Operands: x, z, indices (may be missing). Numbers: whole-number arithmetic, exclusive, reverse. Rows are the last
 * dimension. */
static void scan(const struct op_call *a, uint32_t block, uint32_t num_blocks, enum op_scan function)
{
    const struct op_operand *x = &a->at[0], *z = &a->at[1];
    const uint64_t n = x->dims[x->rank - 1], rows = n > 0 ? x->count / n : 0;
    const bool whole = a->whole[0] != 0, exclusive = a->whole[1] != 0, reverse = a->whole[2] != 0;
    if (a->data[0] == NULL || a->data[1] == NULL) {
        return;
    }
    const struct tk_range mine = tk_share(rows, 1, block, num_blocks);
    for (uint64_t row = mine.begin; row < mine.end; row++) {
        double real = function == OP_SCAN_PROD;
        int64_t number = function == OP_SCAN_PROD, position = 0;
        for (uint64_t done = 0; done < n; done += TK_CHUNK) {
            const uint64_t part = n - done < TK_CHUNK ? n - done : TK_CHUNK;
            const uint64_t first = reverse ? n - done - part : done;
            struct tk_chunk chunk;
            int64_t positions[TK_CHUNK];
            tk_chunk_load(&chunk, place(a, 0, row, first), last_step(x), x->type, part);
            tk_chunk_make(&chunk, whole ? TK_KIND_SIGNED : TK_KIND_REAL, part);
            for (uint64_t j = 0; j < part; j++) {
                const uint64_t i = reverse ? part - 1 - j : j;
                bool better;
                if (whole) {
                    const int64_t before = number;
                    better = step_int64_t(function, &number, chunk.i64[i], done + j == 0);
                    chunk.i64[i] = exclusive ? before : number;
                } else {
                    const double before = real;
                    better = (done + j == 0 || real == real || chunk.real[i] != chunk.real[i]) &&
                             step_double(function, &real, chunk.real[i], done + j == 0);
                    if (function == OP_SCAN_SUM || function == OP_SCAN_PROD) {
                        better = false;
                    }
                    chunk.real[i] = exclusive ? before : real;
                }
                position = better ? (int64_t)(first + i) : position;
                positions[i] = position;
            }
            tk_chunk_store(&chunk, place(a, 1, row, first), last_step(z), z->type, part);
            if (a->data[2] != NULL) {
                op_store_i64(positions, place(a, 2, row, first), last_step(&a->at[2]), a->at[2].type, part);
            }
        }
    }
}

OP_KERNEL(Cumsum, op_call)
{
    scan(a, block, num_blocks, OP_SCAN_SUM);
}

OP_KERNEL(Cumprod, op_call)
{
    scan(a, block, num_blocks, OP_SCAN_PROD);
}

OP_KERNEL(Cummax, op_call)
{
    scan(a, block, num_blocks, OP_SCAN_MAX);
}

OP_KERNEL(Cummin, op_call)
{
    scan(a, block, num_blocks, OP_SCAN_MIN);
}

/* NaN is larger than every number. */
static bool less(double a, double b)
{
    return a < b || (a == a && b != b);
}

/* Operands: sorted rows, values, positions, sorter (may be missing). Numbers: right, one row for all values. */
OP_KERNEL(SearchSorted, op_call)
{
    const struct op_operand *sorted = &a->at[0], *x = &a->at[1];
    const uint64_t n = sorted->dims[sorted->rank - 1], cols = x->dims[x->rank - 1];
    if (a->data[0] == NULL || a->data[1] == NULL || a->data[2] == NULL || cols == 0) {
        return;
    }
    const struct tk_range mine = tk_share(x->count, TK_GRAIN, block, num_blocks);
    for (uint64_t i = mine.begin; i < mine.end; i++) {
        const uint64_t row = i / cols, sorted_row = a->whole[1] != 0 ? 0 : row;
        double value, other;
        value = *op_load_f64(&value, place(a, 1, row, i % cols), 1, x->type, 1);
        uint64_t low = 0, high = n;
        while (low < high) {
            const uint64_t middle = low + (high - low) / 2;
            int64_t at = (int64_t)middle;
            if (a->data[3] != NULL) {
                at = *op_load_i64(&at, place(a, 3, sorted_row, middle), 1, a->at[3].type, 1);
                at = at < 0 || (uint64_t)at >= n ? 0 : at;
            }
            other = *op_load_f64(&other, place(a, 0, sorted_row, (uint64_t)at), 1, sorted->type, 1);
            const bool after = a->whole[0] != 0 ? !less(value, other) : less(other, value);
            low = after ? middle + 1 : low;
            high = after ? high : middle;
        }
        const int64_t position = (int64_t)low;
        op_store_i64(&position, place(a, 2, row, i % cols), 1, a->at[2].type, 1);
    }
}

/* Operands: x (dense vector), counts (dense vector of double), limits of x (two doubles, may be missing).
 * Numbers: min, max. One block counts. */
OP_KERNEL(Histogram, op_call)
{
    const uint64_t n = a->at[0].count, bins = a->at[1].count;
    double *counts = a->data[1], low = a->real[0], high = a->real[1];
    if (block != 0 || counts == NULL || bins == 0) {
        return;
    }
    memset(counts, 0, bins * sizeof *counts);
    if (a->data[0] == NULL) {
        return;
    }
    if (low == high && a->data[2] != NULL && n > 0) {
        low = ((const double *)a->data[2])[0];
        high = ((const double *)a->data[2])[1];
    }
    if (low == high) {
        low -= 1;
        high += 1;
    }
    for (uint64_t done = 0; done < n; done += OP_RUN) {
        double buffer[OP_RUN];
        const uint64_t part = n - done < OP_RUN ? n - done : OP_RUN;
        const double *x =
            op_load_f64(buffer, op_element(a->data[0], (int64_t)done, a->at[0].type), 1, a->at[0].type, part);
        for (uint64_t i = 0; i < part; i++) {
            if (x[i] >= low && x[i] <= high) {
                const uint64_t bin = (uint64_t)((x[i] - low) / (high - low) * (double)bins);
                counts[bin < bins ? bin : bins - 1] += 1;
            }
        }
    }
}

/* Operands: x (dense vector), weights (dense vector, may be missing), sums (dense vector of double). One block adds. */
OP_KERNEL(Bincount, op_call)
{
    const uint64_t n = a->at[0].count, bins = a->at[2].count;
    double *sums = a->data[2];
    if (block != 0 || sums == NULL) {
        return;
    }
    memset(sums, 0, bins * sizeof *sums);
    for (uint64_t done = 0; a->data[0] != NULL && done < n; done += OP_RUN) {
        int64_t buffer[OP_RUN];
        double weights[OP_RUN];
        const uint64_t part = n - done < OP_RUN ? n - done : OP_RUN;
        const int64_t *x =
            op_load_i64(buffer, op_element(a->data[0], (int64_t)done, a->at[0].type), 1, a->at[0].type, part);
        const double *w =
            a->data[1] == NULL
                ? NULL
                : op_load_f64(weights, op_element(a->data[1], (int64_t)done, a->at[1].type), 1, a->at[1].type, part);
        for (uint64_t i = 0; i < part; i++) {
            if (x[i] >= 0 && (uint64_t)x[i] < bins) {
                sums[x[i]] += w != NULL ? w[i] : 1;
            }
        }
    }
}

static double distance(const double *x, const double *y, uint64_t n, double p, double before)
{
    double total = before;
    for (uint64_t i = 0; i < n; i++) {
        const double d = fabs(x[i] - y[i]);
        total = p == 0     ? total + (d != 0)
                : p == 1   ? total + d
                : p == 2   ? total + d * d
                : isinf(p) ? (d > total || d != d ? d : total)
                           : total + pow(d, p);
    }
    return total;
}

/* Operands: x [batch, rows, cols], y [batch, others, cols], z [batch, rows, others]; the batch may repeat (step 0).
 * Numbers: 1 if z is the vector of the pairs of different rows of x; real: p. */
OP_KERNEL(Cdist, op_call)
{
    const struct op_operand *x = &a->at[0], *y = &a->at[1], *z = &a->at[2];
    const uint64_t rows = x->dims[1], others = y->dims[1], cols = x->dims[2];
    const bool pairs = a->whole[0] != 0;
    const double p = a->real[0];
    if (a->data[0] == NULL || a->data[1] == NULL || a->data[2] == NULL) {
        return;
    }
    const struct tk_range mine = tk_share(x->dims[0] * rows, 1, block, num_blocks);
    for (uint64_t item = mine.begin; item < mine.end; item++) {
        const uint64_t batch = item / rows, row = item % rows;
        for (uint64_t other = pairs ? row + 1 : 0; other < others; other++) {
            double total = 0, bx[OP_RUN], by[OP_RUN];
            for (uint64_t done = 0; done < cols; done += OP_RUN) {
                const uint64_t part = cols - done < OP_RUN ? cols - done : OP_RUN;
                const int64_t at_x =
                    (int64_t)batch * x->steps[0] + (int64_t)row * x->steps[1] + (int64_t)done * x->steps[2];
                const int64_t at_y =
                    (int64_t)batch * y->steps[0] + (int64_t)other * y->steps[1] + (int64_t)done * y->steps[2];
                total = distance(op_load_f64(bx, op_element(a->data[0], at_x, x->type), x->steps[2], x->type, part),
                                 op_load_f64(by, op_element(a->data[1], at_y, y->type), y->steps[2], y->type, part),
                                 part, p, total);
            }
            total = p == 0 || p == 1 || isinf(p) ? total : p == 2 ? sqrt(total) : pow(total, 1 / p);
            const int64_t at_z =
                pairs ? (int64_t)(row * rows - row * (row + 1) / 2 + other - row - 1) * z->steps[0]
                      : (int64_t)batch * z->steps[0] + (int64_t)row * z->steps[1] + (int64_t)other * z->steps[2];
            op_store_f64(&total, (char *)op_element(a->data[2], at_z, z->type), 1, z->type, 1);
        }
    }
}
