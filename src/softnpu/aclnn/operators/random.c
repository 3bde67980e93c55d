/* SPDX-License-Identifier: Apache-2.0 */
/* Random values from Philox4x32-10, determined by seed and offset; both may come from tensors, which captured graphs
 * use. */
#include "softnpu/aclnn/operators/layout.h"

#include <math.h>

/* Where seed and offset are: `seed` is the index of the first of their parameters. Two whole numbers, or two tensors and
 * a whole number that is added to the second. */
struct seed_params {
    struct nn_view seed_at, offset_at;
    struct op_random_seed from;
};

static aclnnStatus take_seed(struct nn_plan *p, uint32_t param, struct seed_params *s)
{
    *s = (struct seed_params){0};
    if (p->params[param].kind != NN_P_TENSOR) {
        s->from = (struct op_random_seed){(uint64_t)nn_whole(p, param), (uint64_t)nn_whole(p, param + 1)};
        return ACLNN_SUCCESS;
    }
    s->from.offset = (uint64_t)nn_whole(p, param + 2);
    NN_CHECK(nn_tensor(p, param, NN_TYPE(ACL_INT64), &s->seed_at));
    NN_CHECK(nn_tensor(p, param + 1, NN_TYPE(ACL_INT64), &s->offset_at));
    return s->seed_at.count == 1 && s->offset_at.count == 1 ? ACLNN_SUCCESS
                                                            : NN_INVALID(p, "seed and offset must have one element");
}

/* first and second are parameters of the distribution; NULL: the numbers in args. */
static aclnnStatus launch(struct nn_plan *p, const char *kernel, const struct nn_view *z, struct seed_params *s,
                          struct op_random_args *args, struct nn_view *first, struct nn_view *second)
{
    static const struct nn_address nowhere = {.from = NN_NOWHERE};
    if (z->count == 0) {
        return ACLNN_SUCCESS;
    }
    args->from = s->from;
    const struct nn_view *views[3] = {z};
    struct op_side *sides[3] = {&args->z_side};
    uint32_t count = 1;
    struct nn_view *parameters[2] = {first, second};
    for (int i = 0; i < 2; i++) {
        if (parameters[i] != NULL) {
            if (!nn_broadcast(parameters[i], z->rank, z->dims, parameters[i])) {
                return NN_INVALID(p, "a parameter of shape %s does not broadcast to out, %s",
                                  nn_shape_text(parameters[i]->rank, parameters[i]->dims),
                                  nn_shape_text(z->rank, z->dims));
            }
            views[count] = parameters[i];
            sides[count++] = i == 0 ? &args->first_side : &args->second_side;
        }
    }
    nn_tile(&args->loop, sides, views, count);
    return nn_launch(p, kernel, args, sizeof *args,
                     (const struct nn_address *[]){&z->address, &s->seed_at.address, &s->offset_at.address,
                                                   first != NULL ? &first->address : &nowhere,
                                                   second != NULL ? &second->address : &nowhere},
                     5, 4 * z->count);
}

/* ---- uniform and normal ---- */

/* (selfRef, first, second, seed, offset); code 1: normal */
static aclnnStatus plan_random(struct nn_plan *p)
{
    struct nn_view z;
    struct seed_params s;
    struct op_random_args args = {.first = nn_real(p, 1), .second = nn_real(p, 2)};
    NN_CHECK(nn_tensor(p, 0, p->op->types, &z));
    NN_CHECK(take_seed(p, 3, &s));
    if (!(p->op->code ? args.second >= 0 : args.first <= args.second)) {
        return NN_INVALID(p, "%g and %g are not valid parameters of the distribution", args.first, args.second);
    }
    return launch(p, p->op->kernel, &z, &s, &args, NULL, NULL);
}
#define NN_UNIFORM(name) NN_OPERATOR(name, plan_random, .kernel = "StatelessRandomUniformV2", .types = NN_ARITHMETIC)
#define NN_NORMAL(name)                                                                                                \
    NN_OPERATOR(name, plan_random, .kernel = "StatelessRandomNormalV2", .types = NN_ARITHMETIC, .code = 1)
NN_UNIFORM(InplaceUniform)
NN_UNIFORM(InplaceUniformTensor)
NN_NORMAL(InplaceNormal)
NN_NORMAL(InplaceNormalTensor)

/* (mean, std, seed, offset, out), each of mean and std a number or a tensor */
static aclnnStatus plan_normal_of(struct nn_plan *p)
{
    struct nn_view z, parts[2], *given[2] = {NULL, NULL};
    struct seed_params s;
    struct op_random_args args = {0};
    double *numbers[] = {&args.first, &args.second};
    NN_CHECK(nn_tensor(p, 4, p->op->types, &z));
    NN_CHECK(take_seed(p, 2, &s));
    for (uint32_t i = 0; i < 2; i++) {
        if (p->params[i].kind == NN_P_TENSOR) {
            NN_CHECK(nn_tensor(p, i, NN_ARITHMETIC, &parts[i]));
            given[i] = &parts[i];
        } else {
            *numbers[i] = nn_real(p, i);
        }
    }
    if (given[1] == NULL && !(args.second >= 0)) {
        return NN_INVALID(p, "std is %g", args.second);
    }
    return launch(p, "StatelessRandomNormalV2", &z, &s, &args, given[0], given[1]);
}
NN_OPERATOR(NormalFloatFloat, plan_normal_of, .types = NN_REALS)
NN_OPERATOR(NormalFloatTensor, plan_normal_of, .types = NN_REALS)
NN_OPERATOR(NormalTensorFloat, plan_normal_of, .types = NN_REALS)
NN_OPERATOR(NormalTensorTensor, plan_normal_of, .types = NN_REALS)

/* ---- Bernoulli ---- */

/* (selfRef, prob, seed, offset), or (self, prob, seed, offset, out); prob is a scalar or a tensor. */
static aclnnStatus plan_bernoulli(struct nn_plan *p)
{
    struct nn_view x, z, prob;
    struct seed_params s;
    struct op_random_args args = {0};
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, p->count == 5 ? 4 : 0, p->op->types, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    NN_CHECK(take_seed(p, 2, &s));
    if (p->params[1].kind == NN_P_TENSOR) {
        NN_CHECK(nn_tensor(p, 1, NN_ARITHMETIC, &prob));
        return launch(p, "StatelessBernoulli", &z, &s, &args, &prob, NULL);
    }
    struct op_number number;
    aclDataType type;
    NN_CHECK(nn_scalar(p, 1, NN_MOVABLE, &number, &type));
    args.first = number.real;
    if (!(args.first >= 0 && args.first <= 1)) {
        return NN_INVALID(p, "prob is %g, it must be in [0, 1]", args.first);
    }
    return launch(p, "StatelessBernoulli", &z, &s, &args, NULL, NULL);
}
NN_OPERATOR(Bernoulli, plan_bernoulli, .types = NN_ARITHMETIC)
NN_OPERATOR(BernoulliTensor, plan_bernoulli, .types = NN_ARITHMETIC)
NN_OPERATOR(InplaceBernoulli, plan_bernoulli, .types = NN_ARITHMETIC)
NN_OPERATOR(InplaceBernoulliTensor, plan_bernoulli, .types = NN_ARITHMETIC)

/* ---- whole numbers ---- */

/* The numbers from 0 on that a type represents without gaps. */
static uint64_t whole_range(aclDataType type)
{
    switch (type) {
    case ACL_FLOAT:
        return (uint64_t)1 << 24;
    case ACL_FLOAT16:
        return (uint64_t)1 << 11;
    case ACL_BF16:
        return (uint64_t)1 << 8;
    case ACL_DOUBLE:
        return (uint64_t)1 << 53;
    case ACL_BOOL:
        return 2;
    case ACL_UINT8:
        return 256;
    default:
        return (uint64_t)1 << (8 * aclDataTypeSize(type) - 1);
    }
}

/* (selfRef, from, to, seed, offset); code 1: without from and to */
static aclnnStatus plan_whole(struct nn_plan *p)
{
    struct nn_view z;
    struct seed_params s;
    struct op_random_args args = {0};
    NN_CHECK(nn_tensor(p, 0, p->op->types, &z));
    NN_CHECK(take_seed(p, p->op->code ? 1 : 3, &s));
    if (p->op->code) {
        args.range = whole_range(z.type);
    } else {
        args.low = nn_whole(p, 1);
        args.range = (uint64_t)nn_whole(p, 2) - (uint64_t)args.low;
        if (nn_whole(p, 2) <= args.low) {
            return NN_INVALID(p, "from is %lld, to is %lld", (long long)args.low, (long long)nn_whole(p, 2));
        }
    }
    return launch(p, "StatelessRandomUniformInt", &z, &s, &args, NULL, NULL);
}
NN_OPERATOR(InplaceRandom, plan_whole, .types = NN_ARITHMETIC)
NN_OPERATOR(InplaceRandomTensor, plan_whole, .types = NN_ARITHMETIC)
NN_OPERATOR(InplaceRandomWithoutFromTo, plan_whole, .types = NN_ARITHMETIC, .code = 1)
NN_OPERATOR(InplaceRandomWithoutFromToTensor, plan_whole, .types = NN_ARITHMETIC, .code = 1)

/* (n, seed, offset, out) */
static aclnnStatus plan_randperm(struct nn_plan *p)
{
    struct nn_view z, dense;
    struct seed_params s;
    const int64_t n = nn_whole(p, 0);
    NN_CHECK(take_seed(p, 1, &s));
    NN_CHECK(nn_tensor(p, p->count - 1, p->op->types, &z));
    if (n < 0 || z.rank != 1 || z.count != (uint64_t)n) {
        return NN_INVALID(p, "n is %lld, out has the shape %s", (long long)n, nn_shape_text(z.rank, z.dims));
    }
    NN_CHECK(nn_dense_output(p, ACL_INT64, &z, &dense));
    struct op_random_args args = {.range = (uint64_t)n};
    NN_CHECK(launch(p, "StatelessRandperm", &dense, &s, &args, NULL, NULL));
    return nn_dense_output_done(p, &dense, &z);
}
NN_OPERATOR(Randperm, plan_randperm, .types = NN_REALS | NN_INTEGERS)

/* (self, numsamples, replacement, seed, offset, out) */
static aclnnStatus plan_multinomial(struct nn_plan *p)
{
    struct nn_view x, z, weights, dense;
    struct seed_params s;
    const int64_t samples = nn_whole(p, 1);
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(take_seed(p, 3, &s));
    NN_CHECK(nn_tensor(p, p->count - 1, NN_TYPE(ACL_INT64), &z));
    if ((x.rank != 1 && x.rank != 2) || samples < 1 || (!nn_whole(p, 2) && (uint64_t)samples > x.dims[x.rank - 1]) ||
        x.dims[x.rank - 1] == 0) {
        return NN_INVALID(p, "%lld samples from a tensor of shape %s", (long long)samples,
                          nn_shape_text(x.rank, x.dims));
    }
    struct nn_view shape = x;
    shape.dims[x.rank - 1] = (uint64_t)samples;
    NN_CHECK(nn_expect_shape(p, "out", &z, shape.rank, shape.dims));
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_workspace(p, ACL_DOUBLE, x.rank, x.dims, &weights));
    NN_CHECK(nn_move(p, &x, &weights));
    NN_CHECK(nn_dense_output(p, ACL_INT64, &z, &dense));
    const struct op_multinomial_args args = {
        .from = s.from,
        .rows = x.rank == 2 ? x.dims[0] : 1,
        .count = x.dims[x.rank - 1],
        .samples = (uint64_t)samples,
        .replacement = nn_whole(p, 2) != 0,
    };
    NN_CHECK(nn_launch(
        p, "Multinomial", &args, sizeof args,
        (const struct nn_address *[]){&weights.address, &dense.address, &s.seed_at.address, &s.offset_at.address}, 4,
        args.rows * args.count * args.samples));
    return nn_dense_output_done(p, &dense, &z);
}
NN_OPERATOR(Multinomial, plan_multinomial, .types = NN_REALS)
NN_OPERATOR(MultinomialTensor, plan_multinomial, .types = NN_REALS)
