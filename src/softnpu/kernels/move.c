/* SPDX-License-Identifier: Apache-2.0 */
/* fill, copy2d, permute: kernels that move bytes. */
#include "softnpu/kernels/kernel.h"

TK_KERNEL(fill)
{
    if (a->dst == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    switch (a->element_b) {
    case 1:
        memset((uint8_t *)a->dst + r.begin, (int)(a->pattern & 0xff), r.end - r.begin);
        break;
    case 2:
        for (uint64_t i = r.begin; i < r.end; i++) {
            ((uint16_t *)a->dst)[i] = (uint16_t)a->pattern;
        }
        break;
    case 4:
        for (uint64_t i = r.begin; i < r.end; i++) {
            ((uint32_t *)a->dst)[i] = (uint32_t)a->pattern;
        }
        break;
    case 8:
        for (uint64_t i = r.begin; i < r.end; i++) {
            ((uint64_t *)a->dst)[i] = a->pattern;
        }
        break;
    default:
        break;
    }
}

TK_KERNEL(copy2d)
{
    if (a->src == NULL || a->dst == NULL) {
        return;
    }
    if (a->src_pitch_b == a->width_b && a->dst_pitch_b == a->width_b) {
        /* Dense: one run of bytes, divided evenly even if it is a single row. */
        const struct tk_range r = tk_share(a->rows * a->width_b, 4096, block, num_blocks);
        memmove((char *)a->dst + r.begin, (const char *)a->src + r.begin, r.end - r.begin);
        return;
    }
    const struct tk_range r = tk_share(a->rows, 1, block, num_blocks);
    for (uint64_t i = r.begin; i < r.end; i++) {
        memmove((char *)a->dst + i * a->dst_pitch_b, (const char *)a->src + i * a->src_pitch_b, a->width_b);
    }
}

/* The two inner dimensions of one outer index, in tiles that keep both sides in the first-level cache. */
static void permute_plane(const struct tk_permute_args *a, const float *src, float *dst)
{
    enum { TILE = 32 };
    if (a->s3 == 1) {
        for (uint64_t i = 0; i < a->d2; i++) {
            memcpy(dst + i * a->d3, src + (int64_t)i * a->s2, a->d3 * sizeof(float));
        }
        return;
    }
    for (uint64_t i0 = 0; i0 < a->d2; i0 += TILE) {
        const uint64_t i1 = i0 + TILE < a->d2 ? i0 + TILE : a->d2;
        for (uint64_t j0 = 0; j0 < a->d3; j0 += TILE) {
            const uint64_t j1 = j0 + TILE < a->d3 ? j0 + TILE : a->d3;
            for (uint64_t i = i0; i < i1; i++) {
                for (uint64_t j = j0; j < j1; j++) {
                    dst[i * a->d3 + j] = src[(int64_t)i * a->s2 + (int64_t)j * a->s3];
                }
            }
        }
    }
}

TK_KERNEL(permute)
{
    if (a->src == NULL || a->dst == NULL || a->d1 == 0) {
        return;
    }
    /* Few planes: divide their rows instead. */
    const uint64_t planes = a->d0 * a->d1;
    const bool by_row = planes < 4 * (uint64_t)num_blocks;
    const uint64_t cut = by_row ? 32 : a->d2;
    if (a->d2 == 0) {
        return;
    }
    const uint64_t strips = a->d2 / cut + (a->d2 % cut != 0);
    const struct tk_range r = tk_share(planes * strips, 1, block, num_blocks);
    for (uint64_t item = r.begin; item < r.end; item++) {
        const uint64_t plane = item / strips, first = item % strips * cut;
        struct tk_permute_args part = *a;
        part.d2 = a->d2 - first < cut ? a->d2 - first : cut;
        permute_plane(&part,
                      a->src + (int64_t)(plane / a->d1) * a->s0 + (int64_t)(plane % a->d1) * a->s1 +
                          (int64_t)first * a->s2,
                      a->dst + (plane * a->d2 + first) * a->d3);
    }
}
