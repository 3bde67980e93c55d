/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. All values of cubeMathType compute in float32 here; mixed types are promoted. Products of double and
 * of integers run in the wide types. */
#include "softnpu/aclnn/operators/product.h"

#include "softnpu/kernels/convert.h"

aclnnStatus nn_check_math(struct nn_plan *p, int64_t math, aclDataType type)
{
    enum { USE_FP16 = 2, USE_HF32 = 3, LAST = 4 }; /* 0 keep, 1 lower float32, 4 exact sums */
    if (math < 0 || math > LAST || (math == USE_FP16 && type == ACL_BF16) || (math == USE_HF32 && type != ACL_FLOAT)) {
        return NN_INVALID(p, "cubeMathType %lld is not supported for %s", (long long)math, nn_type_name(type));
    }
    return ACLNN_SUCCESS;
}

/* A vector is a matrix of one row (left) or one column (right). */
static struct nn_view make_matrix(const struct nn_view *vector, bool is_left)
{
    struct nn_view view = *vector;
    if (view.rank == 1) {
        if (is_left) {
            view.dims[1] = view.dims[0];
            view.steps[1] = view.steps[0];
            view.dims[0] = 1;
            view.steps[0] = 0;
        } else {
            view.dims[1] = 1;
            view.steps[1] = 0;
        }
        view.rank = 2;
    }
    return view;
}

/* The leading dimensions of a view. */
static struct nn_view batch_of(const struct nn_view *view)
{
    struct nn_view batch = *view;
    batch.rank -= 2;
    return batch;
}

static bool is_float(aclDataType type)
{
    return (NN_TYPE(type) & NN_FLOATS16_32) != 0;
}

aclnnStatus nn_product_add(struct nn_plan *p, const struct nn_view *left, const struct nn_view *right,
                           const struct nn_product_terms *terms, const struct nn_view *out)
{
    const bool row_vector = left->rank == 1, column_vector = right->rank == 1;
    if (left->rank == 0 || right->rank == 0) {
        return NN_INVALID(p, "the operands of a product have %llu and %llu dimensions, at least 1 is required",
                          (unsigned long long)left->rank, (unsigned long long)right->rank);
    }
    const struct nn_view x = make_matrix(left, true), y = make_matrix(right, false);
    struct op_matmul_args args = {.m = x.dims[x.rank - 2], .k = x.dims[x.rank - 1], .n = y.dims[y.rank - 1]};
    if (y.dims[y.rank - 2] != args.k) {
        return NN_INVALID(p, "the left operand has %llu columns, the right one %llu rows", (unsigned long long)args.k,
                          (unsigned long long)y.dims[y.rank - 2]);
    }
    struct nn_view x_batch = batch_of(&x), y_batch = batch_of(&y), shape = {0};
    if (!nn_common_shape(&x_batch, &y_batch, &shape.rank, shape.dims)) {
        return NN_INVALID(p, "the batch dimensions %s and %s do not broadcast",
                          nn_shape_text(x_batch.rank, x_batch.dims), nn_shape_text(y_batch.rank, y_batch.dims));
    }
    const uint64_t batch_rank = shape.rank;
    if (!row_vector) {
        shape.dims[shape.rank++] = args.m;
    }
    if (!column_vector) {
        shape.dims[shape.rank++] = args.n;
    }
    NN_CHECK(nn_expect_shape(p, "out", out, shape.rank, shape.dims));
    if (out->count == 0) {
        return ACLNN_SUCCESS;
    }

    /* The fast kernel writes float32; other output types are converted afterwards. */
    const bool fast = is_float(x.type) && is_float(y.type) && is_float(out->type);
    struct nn_view c = *out;
    if (fast && out->type != ACL_FLOAT) {
        NN_CHECK(nn_workspace(p, ACL_FLOAT, out->rank, out->dims, &c));
    }
    args.kind = fast ? TK_KIND_NONE : nn_is_real(nn_promote(x.type, y.type)) ? TK_KIND_REAL : TK_KIND_SIGNED;
    args.alpha = terms->alpha;
    if (terms->add != NULL && (terms->beta.real != 0 || terms->beta.whole != 0)) {
        struct nn_view add;
        if (!nn_broadcast(terms->add, out->rank, out->dims, &add)) {
            return NN_INVALID(p, "the shape %s of the addend does not broadcast to %s",
                              nn_shape_text(terms->add->rank, terms->add->dims), nn_shape_text(out->rank, out->dims));
        }
        if (terms->add != out || c.address.from == NN_FROM_WORKSPACE) {
            NN_CHECK(nn_move(p, &add, &c));
        }
        args.beta = terms->beta;
    }
    struct nn_view c_batch = c;
    c_batch.rank = batch_rank;
    nn_broadcast(&x_batch, batch_rank, c.dims, &x_batch);
    nn_broadcast(&y_batch, batch_rank, c.dims, &y_batch);
    nn_tile(&args.batch, (struct op_side *[]){&args.a_side, &args.b_side, &args.c_side},
            (const struct nn_view *[]){&x_batch, &y_batch, &c_batch}, 3);
    args.a_row = x.steps[x.rank - 2];
    args.a_col = x.steps[x.rank - 1];
    args.b_row = y.steps[y.rank - 2];
    args.b_col = y.steps[y.rank - 1];
    args.c_row = row_vector ? 0 : c.steps[batch_rank];
    args.c_col = column_vector ? 0 : c.steps[c.rank - 1];
    const bool one = args.batch.rank == 1 && args.batch.dims[0] == 1;
    NN_CHECK(nn_launch(p, one ? "MatMulV2" : "BatchMatMulV2", &args, sizeof args,
                       (const struct nn_address *[]){&x.address, &y.address, &c.address}, 3,
                       out->count * (args.k / 16 + 1)));
    return nn_dense_output_done(p, &c, out);
}

aclnnStatus nn_product(struct nn_plan *p, const struct nn_view *x, const struct nn_view *y, const struct nn_view *out)
{
    return nn_product_add(p, x, y, &(struct nn_product_terms){.alpha = {1, 1}}, out);
}

/* ---- the operators ----
 *
 * Roles, one character per parameter: a, b operands; s addend; B its factor; A the factor of the product; o out; r
 * addend and out in one; m cubeMathType. */

/* Dimensions of both operands. */
#define RANKS(a, b) ((a) << 4 | (b))
enum { ANY_RANK = 0 };

enum {
    PRODUCT_OUTER = 1, /* the operands are a column and a row */
    PRODUCT_BATCH = 2, /* the products of a batch are added */
};

/* A column and a row from vectors. */
static void make_outer(struct nn_view *x, struct nn_view *y)
{
    x->rank = y->rank = 2;
    x->dims[1] = 1;
    x->steps[1] = 0;
    y->dims[1] = y->dims[0];
    y->steps[1] = y->steps[0];
    y->dims[0] = 1;
    y->steps[0] = 0;
}

/* Makes one product from the sum of a batch: [b, m, k] * [b, k, n] = [m, b * k] * [b * k, n]. */
static aclnnStatus join_batch(struct nn_plan *p, struct nn_view *x, struct nn_view *y)
{
    if (x->dims[0] != y->dims[0] || x->dims[2] != y->dims[1]) {
        return NN_INVALID(p, "the products of %s and %s are not defined", nn_shape_text(3, x->dims),
                          nn_shape_text(3, y->dims));
    }
    struct nn_view turned = *x, dense;
    turned.dims[0] = x->dims[1];
    turned.dims[1] = x->dims[0];
    turned.steps[0] = x->steps[1];
    turned.steps[1] = x->steps[0];
    NN_CHECK(nn_dense_input(p, turned.type, &turned, &dense));
    *x = dense;
    x->rank = 2;
    x->dims[1] = dense.dims[1] * dense.dims[2];
    x->steps[0] = (int64_t)x->dims[1];
    x->steps[1] = 1;
    NN_CHECK(nn_dense_input(p, y->type, y, &dense));
    *y = dense;
    y->rank = 2;
    y->dims[0] = dense.dims[0] * dense.dims[1];
    y->dims[1] = dense.dims[2];
    y->steps[0] = (int64_t)y->dims[1];
    y->steps[1] = 1;
    return ACLNN_SUCCESS;
}

static aclnnStatus check_rank(struct nn_plan *p, uint32_t param, const struct nn_view *view, uint64_t rank)
{
    if (p->op->code != ANY_RANK && view->rank != rank) {
        return NN_INVALID(p, "%s has %llu dimensions, %llu are required", p->params[param].name,
                          (unsigned long long)view->rank, (unsigned long long)rank);
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus read_factor(struct nn_plan *p, uint32_t param, struct op_number *number)
{
    aclDataType type;
    *number = (struct op_number){1, 1};
    return nn_given(p, param) || p->op->flags == 0 ? nn_scalar(p, param, NN_ARITHMETIC, number, &type) : ACLNN_SUCCESS;
}

static aclnnStatus plan_product(struct nn_plan *p)
{
    const nn_types types = p->op->types;
    struct nn_view x = {0}, y = {0}, add = {0}, out = {0};
    struct nn_product_terms terms = {.alpha = {1, 1}, .beta = {1, 1}};
    int64_t math = 0;
    for (uint32_t i = 0; p->op->roles[i] != '\0'; i++) {
        switch (p->op->roles[i]) {
        case 'a':
            NN_CHECK(nn_tensor(p, i, types, &x));
            NN_CHECK(check_rank(p, i, &x, p->op->code >> 4));
            break;
        case 'b':
            NN_CHECK(nn_tensor(p, i, types, &y));
            NN_CHECK(check_rank(p, i, &y, p->op->code & 15));
            break;
        case 's':
            NN_CHECK(nn_tensor(p, i, types, &add));
            terms.add = &add;
            break;
        case 'r':
            NN_CHECK(nn_tensor(p, i, types, &out));
            terms.add = &out;
            break;
        case 'o':
            NN_CHECK(nn_tensor(p, i, types, &out));
            break;
        case 'A':
            NN_CHECK(read_factor(p, i, &terms.alpha));
            break;
        case 'B':
            NN_CHECK(read_factor(p, i, &terms.beta));
            break;
        default:
            math = nn_whole(p, i);
            break;
        }
    }
    NN_CHECK(nn_check_math(p, math, nn_promote(x.type, y.type)));
    if ((p->op->flags & PRODUCT_OUTER) != 0) {
        make_outer(&x, &y);
    }
    if ((p->op->flags & PRODUCT_BATCH) != 0) {
        NN_CHECK(join_batch(p, &x, &y));
    }
    return nn_product_add(p, &x, &y, &terms, &out);
}

#define NN_PRODUCT(name, role_text, ranks, input_types, flag_bits)                                                     \
    NN_OPERATOR(name, plan_product, .roles = role_text, .code = ranks, .types = input_types, .flags = flag_bits)

NN_PRODUCT(Matmul, "abom", ANY_RANK, NN_REALS, 0)
NN_PRODUCT(MatmulWeightNz, "abom", ANY_RANK, NN_REALS, 0)
NN_PRODUCT(Mm, "abom", RANKS(2, 2), NN_REALS, 0)
NN_PRODUCT(Mv, "abom", RANKS(2, 1), NN_REALS, 0)
NN_PRODUCT(Dot, "abo", RANKS(1, 1), NN_REALS | NN_INTEGERS, 0)
NN_PRODUCT(Ger, "abo", RANKS(1, 1), NN_REALS | NN_INTEGERS, PRODUCT_OUTER)
NN_PRODUCT(BatchMatMul, "abom", RANKS(3, 3), NN_REALS, 0)
NN_PRODUCT(BatchMatMulWeightNz, "abom", RANKS(3, 3), NN_REALS, 0)
NN_PRODUCT(Addmm, "sabBAom", RANKS(2, 2), NN_REALS, 0)
NN_PRODUCT(AddmmWeightNz, "sabBAom", RANKS(2, 2), NN_REALS, 0)
NN_PRODUCT(InplaceAddmm, "rabBAm", RANKS(2, 2), NN_REALS, 0)
NN_PRODUCT(Addmv, "sabABom", RANKS(2, 1), NN_REALS, 0)
NN_PRODUCT(Addr, "sabBAo", RANKS(1, 1), NN_REALS | NN_INTEGERS, PRODUCT_OUTER)
NN_PRODUCT(AddrV2, "sabBAo", RANKS(1, 1), NN_REALS | NN_INTEGERS, PRODUCT_OUTER)
NN_PRODUCT(InplaceAddr, "rabBA", RANKS(1, 1), NN_REALS | NN_INTEGERS, PRODUCT_OUTER)
NN_PRODUCT(Baddbmm, "sabBAom", RANKS(3, 3), NN_REALS, 0)
NN_PRODUCT(InplaceBaddbmm, "rabBAm", RANKS(3, 3), NN_REALS, 0)
NN_PRODUCT(Addbmm, "sabBAom", RANKS(3, 3), NN_REALS, PRODUCT_BATCH)
NN_PRODUCT(InplaceAddbmm, "rabBAm", RANKS(3, 3), NN_REALS, PRODUCT_BATCH)
