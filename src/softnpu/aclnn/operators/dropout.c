/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout with masks of one bit per element, in bytes; the number of bits is a multiple of 128. */
#include "softnpu/aclnn/operators/layout.h"

static aclnnStatus check_probability(struct nn_plan *p, double probability)
{
    return probability >= 0 && probability <= 1
               ? ACLNN_SUCCESS
               : NN_INVALID(p, "the probability is %g, it must be in [0, 1]", probability);
}

static aclnnStatus check_mask(struct nn_plan *p, const struct nn_view *mask, uint64_t elements)
{
    const uint64_t bytes = elements / 128 * 16 + (elements % 128 != 0 ? 16 : 0);
    return mask->count >= bytes
               ? ACLNN_SUCCESS
               : NN_INVALID(p, "the mask has %llu bytes, %llu are required for %llu elements",
                            (unsigned long long)mask->count, (unsigned long long)bytes, (unsigned long long)elements);
}

/* seed_at and offset_at are NULL if the host knows both. */
static aclnnStatus generate(struct nn_plan *p, double drop, const struct op_random_seed *from,
                            const struct nn_view *seed_at, const struct nn_view *offset_at, const struct nn_view *mask)
{
    static const struct nn_address nowhere = {.from = NN_NOWHERE};
    NN_CHECK(check_probability(p, drop));
    if (mask->count == 0) {
        return ACLNN_SUCCESS;
    }
    if (drop == 0 || drop == 1) {
        const struct op_number all = {drop == 0 ? 255 : 0, drop == 0 ? 255 : 0};
        return nn_fill(p, "Fill", mask, &all, ACL_INT64);
    }
    struct op_random_args args = {.first = drop, .from = *from};
    nn_tile(&args.loop, (struct op_side *[]){&args.z_side}, (const struct nn_view *[]){mask}, 1);
    return nn_launch(p, "StatelessDropOutGenMask", &args, sizeof args,
                     (const struct nn_address *[]){&mask->address, seed_at != NULL ? &seed_at->address : &nowhere,
                                                   offset_at != NULL ? &offset_at->address : &nowhere, &nowhere,
                                                   &nowhere},
                     5, 16 * mask->count);
}

/* (shape, prob, seed, offset, [probDataType], out), or with tensors: (shape, prob, seedTensor, offsetTensor, offset,
 * probDataType, out) */
static aclnnStatus plan_gen_mask(struct nn_plan *p)
{
    const int64_t *shape;
    uint64_t rank, elements = 1;
    struct nn_view mask, seed, offset;
    NN_CHECK(nn_ints(p, 0, &shape, &rank));
    NN_CHECK(nn_tensor(p, p->count - 1, p->op->types, &mask));
    for (uint64_t i = 0; i < rank; i++) {
        if (shape[i] < 0 || __builtin_mul_overflow(elements, (uint64_t)shape[i], &elements)) {
            return NN_INVALID(p, "size %lld in shape is out of range", (long long)shape[i]);
        }
    }
    NN_CHECK(check_mask(p, &mask, elements));
    if (p->count < 7) {
        const struct op_random_seed from = {(uint64_t)nn_whole(p, 2), (uint64_t)nn_whole(p, 3)};
        return generate(p, nn_real(p, 1), &from, NULL, NULL, &mask);
    }
    const struct op_random_seed from = {0, (uint64_t)nn_whole(p, 4)};
    NN_CHECK(nn_tensor(p, 2, NN_TYPE(ACL_INT64), &seed));
    NN_CHECK(nn_tensor(p, 3, NN_TYPE(ACL_INT64), &offset));
    return seed.count == 1 && offset.count == 1 ? generate(p, nn_real(p, 1), &from, &seed, &offset, &mask)
                                                : NN_INVALID(p, "seed and offset must have one element");
}
#define NN_GEN_MASK(name) NN_OPERATOR(name, plan_gen_mask, .types = NN_TYPE(ACL_UINT8))
NN_GEN_MASK(DropoutGenMask)
NN_GEN_MASK(DropoutGenMaskV2)
NN_GEN_MASK(DropoutGenMaskV2Tensor)

static aclnnStatus apply_mask(struct nn_plan *p, const struct nn_view *x, const struct nn_view *mask, double scale,
                              const struct nn_view *z)
{
    struct nn_view dense;
    NN_CHECK(nn_expect_shape(p, "out", z, x->rank, x->dims));
    NN_CHECK(check_mask(p, mask, x->count));
    if (x->count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_dense_input(p, mask->type, mask, &dense));
    struct op_do_mask_args args = {.scale = scale};
    nn_tile(&args.loop, (struct op_side *[]){&args.x_side, &args.z_side}, (const struct nn_view *[]){x, z}, 2);
    return nn_launch(p, "DropOutDoMask", &args, sizeof args,
                     (const struct nn_address *[]){&x->address, &dense.address, &z->address}, 3, x->count);
}

static double scale_of(double drop)
{
    return drop < 1 ? 1 / (1 - drop) : 0;
}

/* (self, mask, prob, out); code 1: the third parameter is the scale. */
static aclnnStatus plan_do_mask(struct nn_plan *p)
{
    struct nn_view x, mask, z;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, 1, NN_TYPE(ACL_UINT8), &mask));
    NN_CHECK(nn_tensor(p, 3, p->op->types, &z));
    if (!p->op->code) {
        NN_CHECK(check_probability(p, nn_real(p, 2)));
    }
    return apply_mask(p, &x, &mask, p->op->code ? nn_real(p, 2) : scale_of(nn_real(p, 2)), &z);
}
NN_OPERATOR(DropoutDoMask, plan_do_mask, .types = NN_REALS)
NN_OPERATOR(DropoutBackward, plan_do_mask, .types = NN_REALS, .code = 1)
NN_OPERATOR(DropoutV3Grad, plan_do_mask, .types = NN_REALS, .code = 1)

/* (input, p, train, seed, offset, out, maskOut); V3: (input, noiseShape, p, seed, offset, out, maskOut) */
static aclnnStatus plan_dropout(struct nn_plan *p)
{
    struct nn_view x, z, mask;
    const bool v3 = p->op->code;
    const double drop = nn_real(p, v3 ? 2 : 1);
    const struct op_random_seed from = {(uint64_t)nn_whole(p, 3), (uint64_t)nn_whole(p, 4)};
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, 5, p->op->types, &z));
    NN_CHECK(nn_tensor(p, 6, NN_TYPE(ACL_UINT8), &mask));
    NN_CHECK(check_probability(p, drop));
    const bool off = !v3 && !nn_whole(p, 2);
    NN_CHECK(check_mask(p, &mask, x.count));
    NN_CHECK(generate(p, off ? 0 : drop, &from, NULL, NULL, &mask));
    return apply_mask(p, &x, &mask, off ? 1 : scale_of(drop), &z);
}
NN_OPERATOR(Dropout, plan_dropout, .types = NN_REALS)
NN_OPERATOR(DropoutV3, plan_dropout, .types = NN_REALS, .code = 1)
