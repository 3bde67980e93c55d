/* SPDX-License-Identifier: Apache-2.0 */
/* Views of views. */
#include "softnpu/aclnn/operators/layout.h"

#include <string.h>

static void advance(struct nn_view *view, int64_t elements)
{
    view->address.offset_b += (uint64_t)(elements * (int64_t)aclDataTypeSize(view->type));
}

static void recount(struct nn_view *view)
{
    view->count = 1;
    for (uint64_t i = 0; i < view->rank; i++) {
        view->count *= view->dims[i];
    }
}

struct nn_view nn_part(const struct nn_view *view, uint64_t axis, uint64_t start, int64_t step, uint64_t length)
{
    struct nn_view part = *view;
    if (length > 0) {
        advance(&part, (int64_t)start * view->steps[axis]);
    }
    part.dims[axis] = length;
    part.steps[axis] *= step;
    recount(&part);
    return part;
}

struct nn_view nn_pick(const struct nn_view *view, uint64_t axis, uint64_t at)
{
    struct nn_view part = nn_part(view, axis, at, 1, 1);
    part.rank--;
    memmove(part.dims + axis, part.dims + axis + 1, (part.rank - axis) * sizeof *part.dims);
    memmove(part.steps + axis, part.steps + axis + 1, (part.rank - axis) * sizeof *part.steps);
    return part;
}

struct nn_view nn_diagonal(const struct nn_view *view, int64_t offset)
{
    struct nn_view part = *view;
    const uint64_t row = view->rank - 2, column = view->rank - 1;
    const int64_t first_row = offset < 0 ? -offset : 0, first_column = offset > 0 ? offset : 0;
    const int64_t rows = (int64_t)view->dims[row] - first_row, columns = (int64_t)view->dims[column] - first_column;
    const int64_t length = rows < columns ? rows : columns;
    part.rank--;
    part.dims[row] = length > 0 ? (uint64_t)length : 0;
    part.steps[row] = view->steps[row] + view->steps[column];
    if (length > 0) {
        advance(&part, first_row * view->steps[row] + first_column * view->steps[column]);
    }
    recount(&part);
    return part;
}

struct nn_view nn_flat(const struct nn_view *view)
{
    struct nn_view flat = *view;
    flat.rank = 1;
    flat.dims[0] = view->count;
    flat.steps[0] = 1;
    return flat;
}

struct nn_view nn_unsqueezed(const struct nn_view *view, uint64_t axis)
{
    struct nn_view more = *view;
    memmove(more.dims + axis + 1, more.dims + axis, (more.rank - axis) * sizeof *more.dims);
    memmove(more.steps + axis + 1, more.steps + axis, (more.rank - axis) * sizeof *more.steps);
    more.dims[axis] = 1;
    more.steps[axis] = 0;
    more.rank++;
    return more;
}
