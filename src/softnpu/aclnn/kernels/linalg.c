/* SPDX-License-Identifier: Apache-2.0 */
/* Linear algebra on batches of small matrices: a matrix belongs to one block. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include <math.h>

static void swap_rows(double *x, double *y, uint64_t n)
{
    for (uint64_t j = 0; j < n; j++) {
        const double t = x[j];
        x[j] = y[j];
        y[j] = t;
    }
}

/* Eliminates below (and above, with a right side) the diagonal with the largest pivot of each column. Returns the sign
 * of the permutation. */
static double eliminate(double *m, double *right, uint64_t n)
{
    double sign = 1;
    for (uint64_t c = 0; c < n; c++) {
        uint64_t pivot = c;
        for (uint64_t r = c + 1; r < n; r++) {
            if (fabs(m[r * n + c]) > fabs(m[pivot * n + c])) {
                pivot = r;
            }
        }
        if (pivot != c) {
            sign = -sign;
            swap_rows(m + c * n, m + pivot * n, n);
            if (right != NULL) {
                swap_rows(right + c * n, right + pivot * n, n);
            }
        }
        if (m[c * n + c] == 0 && right == NULL) {
            continue;
        }
        for (uint64_t r = right != NULL ? 0 : c + 1; r < n; r++) {
            const double factor = r == c ? 0 : m[r * n + c] / m[c * n + c];
            if (factor == 0) {
                continue;
            }
            for (uint64_t j = c; j < n; j++) {
                m[r * n + j] -= factor * m[c * n + j];
            }
            for (uint64_t j = 0; j < n && right != NULL; j++) {
                right[r * n + j] -= factor * right[c * n + j];
            }
        }
    }
    return sign;
}

OP_KERNEL(MatrixInverse, op_linalg_args)
{
    if (a->a == NULL || a->b == NULL) {
        return;
    }
    const uint64_t n = a->n;
    const struct tk_range mine = tk_share(a->batch, 1, block, num_blocks);
    for (uint64_t i = mine.begin; i < mine.end; i++) {
        double *m = a->a + i * n * n, *x = a->b + i * n * n;
        for (uint64_t j = 0; j < n * n; j++) {
            x[j] = j % (n + 1) == 0 ? 1 : 0;
        }
        eliminate(m, x, n);
        for (uint64_t j = 0; j < n * n; j++) {
            x[j] /= m[j / n * (n + 1)];
        }
    }
}

OP_KERNEL(LogMatrixDeterminant, op_linalg_args)
{
    if (a->b == NULL || a->c == NULL) {
        return;
    }
    const uint64_t n = a->n;
    const struct tk_range mine = tk_share(a->batch, 1, block, num_blocks);
    for (uint64_t i = mine.begin; i < mine.end; i++) {
        double *m = a->a + i * n * n, log_sum = 0, sign = n > 0 ? eliminate(m, NULL, n) : 1;
        for (uint64_t j = 0; j < n; j++) {
            const double d = m[j * (n + 1)];
            sign = d == 0 ? 0 : d < 0 ? -sign : sign;
            log_sum += log(fabs(d));
        }
        a->b[i] = sign;
        a->c[i] = log_sum;
    }
}

/* Applies the reflection I - scale * v * v^T, v from row `first` on, to columns of a matrix. */
static void reflect(double *m, uint64_t cols, const double *v, uint64_t v_step, uint64_t first, uint64_t rows,
                    double scale, uint64_t col)
{
    for (uint64_t j = col; j < cols; j++) {
        double sum = m[first * cols + j];
        for (uint64_t r = first + 1; r < rows; r++) {
            sum += v[r * v_step] * m[r * cols + j];
        }
        sum *= scale;
        m[first * cols + j] -= sum;
        for (uint64_t r = first + 1; r < rows; r++) {
            m[r * cols + j] -= v[r * v_step] * sum;
        }
    }
}

/* Householder reflections, whose vectors (with a first element of 1) stay below the diagonal. */
static void decompose(double *m, uint64_t rows, uint64_t cols, double *scales)
{
    const uint64_t steps = rows < cols ? rows : cols;
    for (uint64_t c = 0; c < steps; c++) {
        double below = 0;
        for (uint64_t r = c + 1; r < rows; r++) {
            below += m[r * cols + c] * m[r * cols + c];
        }
        const double top = m[c * cols + c];
        scales[c] = 0;
        if (below == 0) {
            continue;
        }
        const double norm = sqrt(top * top + below), end = top < 0 ? norm : -norm;
        scales[c] = (end - top) / end;
        for (uint64_t r = c + 1; r < rows; r++) {
            m[r * cols + c] /= top - end;
        }
        m[c * cols + c] = end;
        reflect(m, cols, m + c, cols, c, rows, scales[c], c + 1);
    }
}

OP_KERNEL(Qr, op_linalg_args)
{
    if (a->a == NULL || a->c == NULL) {
        return;
    }
    const uint64_t steps = a->m < a->n ? a->m : a->n;
    const struct tk_range mine = tk_share(a->batch, 1, block, num_blocks);
    for (uint64_t i = mine.begin; i < mine.end; i++) {
        double *m = a->a + i * (a->m * a->n + steps), *scales = m + a->m * a->n, *r = a->c + i * a->k * a->n;
        decompose(m, a->m, a->n, scales);
        for (uint64_t j = 0; j < a->k * a->n; j++) {
            r[j] = j % a->n >= j / a->n ? m[j] : 0;
        }
        if (a->b == NULL) {
            continue;
        }
        double *q = a->b + i * a->m * a->k;
        for (uint64_t j = 0; j < a->m * a->k; j++) {
            q[j] = j / a->k == j % a->k ? 1 : 0;
        }
        for (uint64_t c = steps; c-- > 0;) {
            reflect(q, a->k, m + c, a->n, c, a->m, scales[c], 0);
        }
    }
}
