/* SPDX-License-Identifier: Apache-2.0 */
/* Token and position embedding. The gradient scatters; each block owns a strip of columns, so every sum is taken in
 * token order whatever the number of blocks. */
#include "softnpu/kernels/kernel.h"

static bool in_table(int32_t id, uint64_t vocab)
{
    return id >= 0 && (uint64_t)id < vocab;
}

TK_KERNEL(embedding)
{
    if (a->table == NULL || a->ids == NULL || a->y == NULL || (a->positions != NULL && a->period == 0)) {
        return;
    }
    const struct tk_range r = tk_share(a->count, 1, block, num_blocks);
    const uint64_t dim = a->dim;
    for (uint64_t i = r.begin; i < r.end; i++) {
        const int32_t id = a->ids[i];
        float *y = a->y + i * dim;
        if (in_table(id, a->vocab)) {
            memcpy(y, a->table + (uint64_t)id * dim, dim * sizeof(float));
        } else {
            memset(y, 0, dim * sizeof(float));
        }
        if (a->positions != NULL) {
            const float *position = a->positions + i % a->period * dim;
            TK_INDEPENDENT
            for (uint64_t c = 0; c < dim; c++) {
                y[c] += position[c];
            }
        }
    }
}

TK_KERNEL(embedding_grad)
{
    if (a->dy == NULL || a->ids == NULL || (a->dpositions != NULL && a->period == 0)) {
        return;
    }
    enum { STRIP = 16 };
    const struct tk_range r = tk_share(a->dim, STRIP, block, num_blocks);
    if (r.begin == r.end) {
        return;
    }
    for (uint64_t i = 0; i < a->count; i++) {
        const int32_t id = a->ids[i];
        const float *dy = a->dy + i * a->dim;
        if (a->dtable != NULL && in_table(id, a->vocab)) {
            float *to = a->dtable + (uint64_t)id * a->dim;
            TK_INDEPENDENT
            for (uint64_t c = r.begin; c < r.end; c++) {
                to[c] += dy[c];
            }
        }
        if (a->dpositions != NULL) {
            float *to = a->dpositions + i % a->period * a->dim;
            TK_INDEPENDENT
            for (uint64_t c = r.begin; c < r.end; c++) {
                to[c] += dy[c];
            }
        }
    }
}
