/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary position embedding: x * cos + rotated x * sin, where the rotation exchanges the elements of pairs and negates
 * the first. The modes differ in where the elements of a pair are. */
#include "softnpu/aclnn/op.h"

#include <string.h>

enum { HALF, INTERLEAVE, QUARTER, INTERLEAVE_HALF, MODES };

static aclnnStatus check(struct nn_plan *p, const struct nn_view *x, struct nn_view *cos, struct nn_view *sin,
                         int64_t mode)
{
    if (mode < 0 || mode >= MODES) {
        return NN_INVALID(p, "mode %lld is not one of 0 to %d", (long long)mode, MODES - 1);
    }
    const uint64_t unit = mode == QUARTER ? 4 : 2;
    if (x->rank == 0 || x->dims[x->rank - 1] % unit != 0) {
        return NN_INVALID(p, "the last dimension of %s must be a multiple of %llu", nn_shape_text(x->rank, x->dims),
                          (unsigned long long)unit);
    }
    if (!nn_broadcast(cos, x->rank, x->dims, cos) || !nn_broadcast(sin, x->rank, x->dims, sin)) {
        return NN_INVALID(p, "cos %s and sin %s do not broadcast to %s", nn_shape_text(cos->rank, cos->dims),
                          nn_shape_text(sin->rank, sin->dims), nn_shape_text(x->rank, x->dims));
    }
    return ACLNN_SUCCESS;
}

/* z may be x, except in the mode INTERLEAVE_HALF. */
static aclnnStatus rotate(struct nn_plan *p, const struct nn_view *x, const struct nn_view *cos,
                          const struct nn_view *sin, int64_t mode, const struct nn_view *z)
{
    const struct nn_view *parts[OP_ROTARY_PARTS] = {x, cos, sin, z};
    const struct nn_address *addresses[] = {&x->address, &cos->address, &sin->address, &z->address};
    const uint64_t last = x->rank - 1, size = x->dims[last];
    struct op_rotary_args args = {.count = size / 2, .second = 1, .stride = 2};
    struct nn_view rows[OP_ROTARY_PARTS];
    const struct nn_view *row_of[OP_ROTARY_PARTS];
    struct op_side *sides[OP_ROTARY_PARTS];
    if (z->count == 0) {
        return ACLNN_SUCCESS;
    }
    for (int i = 0; i < OP_ROTARY_PARTS; i++) {
        rows[i] = *parts[i];
        rows[i].dims[last] = 1;
        row_of[i] = &rows[i];
        sides[i] = &args.side[i];
        args.step[i] = parts[i]->steps[last];
    }
    nn_tile(&args.loop, sides, row_of, OP_ROTARY_PARTS);
    if (mode == HALF || mode == QUARTER) {
        args.count = args.second = (int64_t)(mode == HALF ? size / 2 : size / 4);
        args.stride = 1;
    } else if (mode == INTERLEAVE_HALF) {
        args.z_half = (int64_t)(size / 2);
    }
    NN_CHECK(nn_launch(p, p->op->kernel, &args, sizeof args, addresses, OP_ROTARY_PARTS, 2 * z->count));
    if (mode == QUARTER) {
        args.first = (int64_t)(size / 2);
        args.second = (int64_t)(size / 4 * 3);
        return nn_launch(p, p->op->kernel, &args, sizeof args, addresses, OP_ROTARY_PARTS, 2 * z->count);
    }
    return ACLNN_SUCCESS;
}

/* (x, cos, sin, mode, out) */
static aclnnStatus plan_rotary(struct nn_plan *p)
{
    struct nn_view x, cos, sin, z, own;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, 1, p->op->types, &cos));
    NN_CHECK(nn_tensor(p, 2, p->op->types, &sin));
    NN_CHECK(nn_tensor(p, 4, p->op->types, &z));
    NN_CHECK(check(p, &x, &cos, &sin, nn_whole(p, 3)));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    if (nn_whole(p, 3) != INTERLEAVE_HALF) {
        return rotate(p, &x, &cos, &sin, nn_whole(p, 3), &z);
    }
    NN_CHECK(nn_workspace(p, z.type, z.rank, z.dims, &own)); /* out may be x */
    NN_CHECK(rotate(p, &x, &cos, &sin, nn_whole(p, 3), &own));
    return nn_move(p, &own, &z);
}
NN_OPERATOR(RotaryPositionEmbedding, plan_rotary, .kernel = "RotaryPositionEmbedding", .types = NN_FLOATS16_32)

/* (queryRef, keyRef, cos, sin, layout, rotaryMode of V2): in place */
static aclnnStatus plan_apply(struct nn_plan *p)
{
    const char *const names[] = {"half", "interleave", "quarter"};
    int64_t mode = HALF;
    if (p->count > 5) {
        for (mode = 0; mode < INTERLEAVE_HALF && strcmp(names[mode], nn_text(p, 5)) != 0; mode++) {
        }
        if (mode == INTERLEAVE_HALF) {
            return NN_INVALID(p, "rotaryMode '%s' is not half, interleave or quarter", nn_text(p, 5));
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct nn_view x, cos, sin;
        NN_CHECK(nn_tensor(p, i, p->op->types, &x));
        NN_CHECK(nn_tensor(p, 2, p->op->types, &cos));
        NN_CHECK(nn_tensor(p, 3, p->op->types, &sin));
        NN_CHECK(check(p, &x, &cos, &sin, mode));
        NN_CHECK(rotate(p, &x, &cos, &sin, mode, &x));
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(ApplyRotaryPosEmb, plan_apply, .kernel = "ApplyRotaryPosEmb", .types = NN_FLOATS16_32)
NN_OPERATOR(ApplyRotaryPosEmbV2, plan_apply, .kernel = "ApplyRotaryPosEmb", .types = NN_FLOATS16_32)
