/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of reductions: which dimensions, which arithmetic, how many pieces. */
#include "softnpu/aclnn/operators/reduce.h"

#include <math.h>
#include <string.h>

aclnnStatus nn_reduced_dims(struct nn_plan *p, uint32_t param, uint64_t rank, bool *reduced)
{
    const int64_t *dims;
    uint64_t count;
    NN_CHECK(nn_ints(p, param, &dims, &count));
    for (uint64_t i = 0; i < NN_DIMS; i++) {
        reduced[i] = count == 0 && i < rank;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t axis;
        NN_CHECK(nn_axis(p, dims[i], rank, &axis));
        if (reduced[axis]) {
            return NN_INVALID(p, "%s: dimension %lld appears twice", p->params[param].name, (long long)dims[i]);
        }
        reduced[axis] = true;
    }
    return ACLNN_SUCCESS;
}

void nn_split(const struct nn_view *x, const bool *reduced, struct nn_view *kept, struct nn_view *inner)
{
    *kept = *inner = (struct nn_view){.type = x->type, .count = 1};
    for (uint64_t i = 0; i < x->rank; i++) {
        struct nn_view *part = reduced[i] ? inner : kept;
        part->dims[part->rank] = x->dims[i];
        part->steps[part->rank++] = x->steps[i];
        part->count *= x->dims[i];
    }
}

aclnnStatus nn_reduced_out(struct nn_plan *p, const struct nn_view *x, const bool *reduced, bool keep,
                           struct nn_view *out)
{
    struct nn_view shape = {0}, squeezed = *out;
    squeezed.rank = 0;
    for (uint64_t i = 0; i < x->rank; i++) {
        if (!reduced[i]) {
            squeezed.dims[squeezed.rank] = x->dims[i];
            squeezed.steps[squeezed.rank++] = out->steps[shape.rank];
        }
        if (!reduced[i] || keep) {
            shape.dims[shape.rank++] = reduced[i] ? 1 : x->dims[i];
        }
    }
    const bool one_for_scalar = shape.rank == 0 && out->rank == 1 && out->dims[0] == 1; /* as the vendor's does */
    if (!one_for_scalar) {
        NN_CHECK(nn_expect_shape(p, "out", out, shape.rank, shape.dims));
    }
    *out = squeezed;
    return ACLNN_SUCCESS;
}

/* The type of arithmetic: integers of at most 16 bits are exact in float where nothing is added. */
static enum op_map_kind kind_of(enum op_reduce_code code, aclDataType x, aclDataType z)
{
    const bool narrow = x == ACL_BOOL || x == ACL_INT8 || x == ACL_UINT8 || x == ACL_INT16;
    const bool choice =
        code == OP_REDUCE_MAX || code == OP_REDUCE_MIN || code == OP_REDUCE_ANY || code == OP_REDUCE_EVERY;
    if (choice) {
        return x == ACL_DOUBLE ? OP_MAP_F64 : nn_is_real(x) || narrow ? OP_MAP_F32 : OP_MAP_I64;
    }
    if (!nn_is_real(z)) {
        return OP_MAP_I64;
    }
    return code != OP_REDUCE_PROD && x != ACL_DOUBLE && z != ACL_DOUBLE && (nn_is_real(x) || narrow) ? OP_MAP_F32
                                                                                                     : OP_MAP_F64;
}

/* Terms that combine the results of pieces. */
static enum op_reduce_code combine_of(enum op_reduce_code code)
{
    switch (code) {
    case OP_REDUCE_PROD:
        return OP_REDUCE_PROD;
    case OP_REDUCE_MAX:
    case OP_REDUCE_ANY:
    case OP_REDUCE_ABS_MAX:
        return OP_REDUCE_MAX;
    case OP_REDUCE_MIN:
    case OP_REDUCE_EVERY:
    case OP_REDUCE_ABS_MIN:
        return OP_REDUCE_MIN;
    default:
        return OP_REDUCE_SUM;
    }
}

/* Describes both loops of a launch. */
static void tile(struct op_reduce_args *args, const struct nn_reduce *r, const struct nn_view *kept,
                 const struct nn_view *inner)
{
    const struct nn_view *views[4] = {kept}, *more[] = {r->m, r->z, r->index};
    struct op_side *sides[4] = {&args->x_side}, *more_sides[] = {&args->m_side, &args->z_side, &args->index_side};
    uint32_t count = 1;
    for (int i = 0; i < 3; i++) {
        if (more[i] != NULL) {
            views[count] = more[i];
            sides[count++] = more_sides[i];
        }
    }
    nn_tile(&args->loop, sides, views, count);
    nn_tile(&args->inner, (struct op_side *[]){&args->x_inner}, &inner, 1);
    const int64_t step = args->x_inner.steps[args->inner.rank - 1];
    args->by_column =
        args->loop.dims[args->loop.rank - 1] >= 8 && (step != 1 || inner->count < 64) && inner->count < INT32_MAX;
}

static aclnnStatus launch(struct nn_plan *p, const char *kernel, const struct op_reduce_args *args,
                          const struct nn_reduce *r, const struct nn_view *x_index)
{
    static const struct nn_view none = {.address = {.from = NN_NOWHERE}};
    const struct nn_view *views[] = {r->x, r->m, x_index, r->z, r->index};
    const struct nn_address *addresses[5];
    for (int i = 0; i < 5; i++) {
        addresses[i] = views[i] != NULL ? &views[i]->address : &none.address;
    }
    return nn_launch(p, kernel, args, sizeof *args, addresses, 5, r->x->count);
}

/* Work that is worth a task of its own, and tasks that are enough for every core. */
enum { TASK_WORK = 16384, TASKS = 32 };

static void choose_pieces(struct op_reduce_args *args, const struct nn_view *kept, const struct nn_view *inner)
{
    const uint64_t side = args->loop.dims[args->loop.rank - 1];
    const uint64_t width = !args->by_column ? 1 : side < OP_REDUCE_COLUMNS ? side : OP_REDUCE_COLUMNS;
    const uint64_t tasks = kept->count / width, most = inner->count / (TASK_WORK / width + 1);
    uint64_t pieces = tasks < TASKS ? TASKS / tasks : 1;
    pieces = pieces < most ? pieces : most;
    pieces = kept->rank < NN_DIMS && pieces > 1 ? pieces : 1;
    args->piece_terms = inner->count / pieces + (inner->count % pieces != 0);
    args->pieces = inner->count / args->piece_terms + (inner->count % args->piece_terms != 0);
}

/* A part of the workspace for one value per output and piece, and the view of the first piece. */
static aclnnStatus piece_room(struct nn_plan *p, aclDataType type, const struct nn_view *kept, uint64_t pieces,
                              struct nn_view *all, struct nn_view *first)
{
    uint64_t dims[NN_DIMS] = {pieces};
    memcpy(dims + 1, kept->dims, kept->rank * sizeof *dims);
    NN_CHECK(nn_workspace(p, type, kept->rank + 1, dims, all));
    *first = *all;
    first->rank = kept->rank;
    first->count = kept->count;
    memcpy(first->dims, all->dims + 1, kept->rank * sizeof *dims);
    memcpy(first->steps, all->steps + 1, kept->rank * sizeof *dims);
    return ACLNN_SUCCESS;
}

/* Two launches: the pieces of every output, then their combination. */
static aclnnStatus reduce_pieces(struct nn_plan *p, const char *kernel, const struct op_reduce_args *chosen,
                                 const struct nn_reduce *r, const struct nn_view *kept, const struct nn_view *inner)
{
    const aclDataType wide = chosen->kind == OP_MAP_I64 ? ACL_INT64 : ACL_DOUBLE;
    struct nn_view all, z, all_index, index;
    struct nn_reduce one = *r, two = *r;
    NN_CHECK(piece_room(p, wide, kept, chosen->pieces, &all, &z));
    one.z = &z;
    if (r->index != NULL) {
        NN_CHECK(piece_room(p, ACL_INT64, kept, chosen->pieces, &all_index, &index));
        one.index = &index;
    }
    struct op_reduce_args first = *chosen, second = *chosen;
    first.finish = OP_FINISH_NONE;
    first.piece_step = kept->count;
    tile(&first, &one, kept, inner);
    NN_CHECK(launch(p, kernel, &first, &one, NULL));
    const struct nn_view terms = {
        .type = wide, .rank = 1, .dims = {chosen->pieces}, .steps = {(int64_t)kept->count}, .count = chosen->pieces};
    second.code = combine_of(r->code);
    second.kind = wide == ACL_INT64 ? OP_MAP_I64 : OP_MAP_F64;
    second.pieces = 1;
    second.piece_terms = chosen->pieces;
    two.x = &all;
    tile(&second, &two, &z, &terms);
    return launch(p, kernel, &second, &two, r->index != NULL ? &all_index : NULL);
}

/* The result of no terms. */
static aclnnStatus reduce_nothing(struct nn_plan *p, const struct nn_reduce *r)
{
    if (combine_of(r->code) != OP_REDUCE_SUM && r->code != OP_REDUCE_EVERY && r->code != OP_REDUCE_ANY &&
        r->code != OP_REDUCE_PROD) {
        return NN_INVALID(p, "a tensor of shape %s has no elements to choose from",
                          nn_shape_text(r->x->rank, r->x->dims));
    }
    const double empty = r->code == OP_REDUCE_EVERY || r->code == OP_REDUCE_PROD ? 1 : 0;
    const double real = r->finish == OP_FINISH_SCALE || r->finish == OP_FINISH_SCALE_SQRT ? NAN
                        : r->finish == OP_FINISH_LOG                                      ? -INFINITY
                                                                                          : empty;
    return nn_fill(p, "Fill", r->z, &(struct op_number){real, (int64_t)empty},
                   nn_is_real(r->z->type) ? ACL_DOUBLE : ACL_INT64);
}

aclnnStatus nn_reduce(struct nn_plan *p, const char *kernel, const struct nn_reduce *r, const bool *reduced)
{
    struct nn_view kept, inner;
    nn_split(r->x, reduced, &kept, &inner);
    if (kept.count == 0) {
        return ACLNN_SUCCESS;
    }
    if (inner.count == 0) {
        return reduce_nothing(p, r);
    }
    struct op_reduce_args args = {.code = r->code,
                                  .kind = kind_of(r->code, r->x->type, r->z != NULL ? r->z->type : r->x->type),
                                  .finish = r->finish,
                                  .p = r->p,
                                  .s = r->s,
                                  .t = r->t};
    tile(&args, r, &kept, &inner);
    choose_pieces(&args, &kept, &inner);
    return args.pieces > 1 ? reduce_pieces(p, kernel, &args, r, &kept, &inner) : launch(p, kernel, &args, r, NULL);
}
