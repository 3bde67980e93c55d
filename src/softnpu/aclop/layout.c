/* SPDX-License-Identifier: Apache-2.0 */
/* Private formats of tensors. The vendor stores matrices and images in blocks of 16 x 16 or with 16 channels together:
 *     NC1HWC0        N, C / 16, H, W, 16                   from N, C, H, W
 *                    1, C / 16, 1, 1, 16                   from C
 *     FRACTAL_Z      C / 16 * H * W, N / 16, 16, 16        from N, C, H, W; the last two are N and C
 *     FRACTAL_NZ     ..., N / 16, M / 16, 16, 16           from ..., M, N; the last two are M and N
 * The block size is that of the storage shape.
 *
 * Threads: no state.
 * Failure: a shape that does not fit its storage is refused. */
#include "softnpu/aclop/layout.h"

#include <string.h>

bool snpu_format_plain(aclFormat format)
{
    switch (format) {
    case ACL_FORMAT_UNDEFINED:
    case ACL_FORMAT_NCHW:
    case ACL_FORMAT_NHWC:
    case ACL_FORMAT_ND:
    case ACL_FORMAT_HWCN:
    case ACL_FORMAT_NDHWC:
    case ACL_FORMAT_NCDHW:
    case ACL_FORMAT_NC:
    case ACL_FORMAT_NCL:
        return true;
    default:
        return false;
    }
}

static void set(int64_t *to, uint32_t count, const int64_t *values)
{
    memcpy(to, values, count * sizeof(*to));
}

/* How many blocks cover a dimension; 0 if there is no block size. */
static int64_t blocks_of(int64_t size, int64_t block)
{
    return block > 0 ? (size + block - 1) / block : 0;
}

static bool images(const aclTensorDesc *desc, struct snpu_layout *l)
{
    if (desc->shape.count == 1 && desc->storage.count == 5) { /* one number per channel */
        const int64_t c0 = desc->storage.dims[4];
        l->rank = 1;
        l->dims[0] = blocks_of(desc->shape.dims[0], c0) * c0;
        l->steps[0] = l->plain_steps[0] = 1;
        return true;
    }
    if (desc->shape.count != 4 || desc->storage.count != 5) {
        return false;
    }
    const int64_t n = desc->shape.dims[0], h = desc->shape.dims[2], w = desc->shape.dims[3];
    const int64_t c0 = desc->storage.dims[4], c1 = blocks_of(desc->shape.dims[1], c0), c = c1 * c0;
    l->rank = 5;
    set(l->dims, 5, (int64_t[]){n, c1, h, w, c0});
    set(l->steps, 5, (int64_t[]){c * h * w, c0 * h * w, w, 1, h * w});
    set(l->plain_steps, 4, (int64_t[]){c * h * w, h * w, w, 1});
    return true;
}

static bool filters(const aclTensorDesc *desc, struct snpu_layout *l)
{
    if (desc->shape.count != 4 || desc->storage.count != 4) {
        return false;
    }
    const int64_t h = desc->shape.dims[2], w = desc->shape.dims[3];
    const int64_t n0 = desc->storage.dims[2], n1 = blocks_of(desc->shape.dims[0], n0);
    const int64_t c0 = desc->storage.dims[3], c1 = blocks_of(desc->shape.dims[1], c0), filter = c1 * c0 * h * w;
    if (desc->storage.dims[0] != c1 * h * w) {
        return false;
    }
    l->rank = 6;
    set(l->dims, 6, (int64_t[]){c1, h, w, n1, n0, c0});
    set(l->steps, 6, (int64_t[]){c0 * h * w, w, 1, n0 * filter, filter, h * w});
    set(l->plain_steps, 4, (int64_t[]){filter, h * w, w, 1});
    return true;
}

static bool matrices(const aclTensorDesc *desc, struct snpu_layout *l)
{
    const uint32_t rank = desc->shape.count, lead = rank - 2;
    if (rank < 2 || rank + 2 > SNPU_LAYOUT_DIMS || desc->storage.count != rank + 2) {
        return false;
    }
    const int64_t m0 = desc->storage.dims[rank], m1 = blocks_of(desc->shape.dims[rank - 2], m0);
    const int64_t n0 = desc->storage.dims[rank + 1], n1 = blocks_of(desc->shape.dims[rank - 1], n0), row = n1 * n0;
    l->rank = rank + 2;
    set(l->dims, lead, desc->shape.dims);
    set(l->dims + lead, 4, (int64_t[]){n1, m1, m0, n0});
    set(l->steps + lead, 4, (int64_t[]){n0, m0 * row, row, 1});
    set(l->plain_steps + lead, 2, (int64_t[]){row, 1});
    int64_t step = m1 * m0 * row;
    for (uint32_t i = lead; i-- > 0; step *= l->dims[i]) {
        l->steps[i] = l->plain_steps[i] = step;
    }
    return true;
}

bool snpu_layout_of(const aclTensorDesc *desc, struct snpu_layout *layout)
{
    bool known = desc->storage_format == ACL_FORMAT_NC1HWC0      ? images(desc, layout)
                 : desc->storage_format == ACL_FORMAT_FRACTAL_Z  ? filters(desc, layout)
                 : desc->storage_format == ACL_FORMAT_FRACTAL_NZ ? matrices(desc, layout)
                                                                 : false;
    uint64_t stored = 1;
    layout->count = 1;
    for (uint32_t i = 0; known && i < layout->rank; i++) {
        known =
            layout->dims[i] >= 0 && !__builtin_mul_overflow(layout->count, (uint64_t)layout->dims[i], &layout->count);
    }
    for (uint32_t i = 0; known && i < desc->storage.count; i++) {
        known = !__builtin_mul_overflow(stored, (uint64_t)desc->storage.dims[i], &stored);
    }
    layout->plain_rank = desc->shape.count;
    if (!known || stored != layout->count) {
        return false;
    }
    set(layout->plain_dims, layout->plain_rank, desc->shape.dims);
    return true;
}
