/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens in the order of the experts that process them, and back. A token has `top_k` copies; sortedIndices[t * top_k +
 * k] is the row of copy k of token t. */
#include "softnpu/aclnn/operators/index.h"
#include "softnpu/aclnn/operators/layout.h"
#include "softnpu/aclnn/operators/map.h"
#include "softnpu/aclnn/operators/reduce.h"

/* The indices of copy k of all tokens. */
static struct nn_view copy_index(const struct nn_view *sorted, uint64_t tokens, uint64_t top_k, uint64_t k)
{
    return nn_part(sorted, 0, k, (int64_t)top_k, tokens);
}

/* to[t] = rows[index[t]]; a row that was dropped is 0. */
static aclnnStatus take_rows(struct nn_plan *p, const struct nn_view *rows, const struct nn_view *index,
                             const struct nn_view *to)
{
    struct nn_index_call call = NN_INDEX_CALL;
    NN_CHECK(nn_index_rows(p, &call, rows, 0, index));
    call.other = *to;
    return nn_gather(p, "GatherV2", &call);
}

static aclnnStatus check_sorted(struct nn_plan *p, const struct nn_view *sorted, uint64_t tokens, uint64_t top_k)
{
    uint64_t rows;
    if (sorted->rank != 1 || top_k == 0 || __builtin_mul_overflow(tokens, top_k, &rows) || sorted->count != rows) {
        return NN_INVALID(p, "sortedIndices has the shape %s for %llu tokens with %llu experts each",
                          nn_shape_text(sorted->rank, sorted->dims), (unsigned long long)tokens,
                          (unsigned long long)top_k);
    }
    return ACLNN_SUCCESS;
}

/* Fails for the modes that the vendor does not support either. */
static aclnnStatus check_mode(struct nn_plan *p, uint32_t param)
{
    return nn_whole(p, param) == 0 ? ACLNN_SUCCESS : NN_INVALID(p, "paddedMode true is not supported");
}

/* (tokens, indices, numOutTokens, paddedMode, permuteTokensOut, sortedIndicesOut) */
static aclnnStatus plan_permute(struct nn_plan *p)
{
    struct nn_view tokens, experts, z, sorted, keys, order, scratch, source;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &tokens));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &experts));
    NN_CHECK(check_mode(p, 3));
    NN_CHECK(nn_tensor(p, 4, p->op->types, &z));
    NN_CHECK(nn_tensor(p, 5, NN_INDEX, &sorted));
    const uint64_t top_k = experts.rank == 2 ? experts.dims[1] : 1;
    if (tokens.rank < 1 || experts.rank < 1 || experts.rank > 2 || experts.dims[0] != tokens.dims[0] ||
        z.rank != tokens.rank || z.dims[0] > experts.count || z.type != tokens.type) {
        return NN_INVALID(p, "tokens %s, indices %s and permuteTokensOut %s do not fit",
                          nn_shape_text(tokens.rank, tokens.dims), nn_shape_text(experts.rank, experts.dims),
                          nn_shape_text(z.rank, z.dims));
    }
    NN_CHECK(check_sorted(p, &sorted, tokens.dims[0], top_k));
    if (experts.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_dense_input(p, ACL_INT64, &experts, &keys));
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, &experts.count, &order));
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, &experts.count, &scratch));
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, &experts.count, &source));
    const struct op_expert_args args = {.count = experts.count, .top_k = top_k};
    NN_CHECK(nn_launch(p, "MoeTokenPermute", &args, sizeof args,
                       (const struct nn_address *[]){&keys.address, &order.address, &scratch.address, &source.address},
                       4, 1));
    NN_CHECK(nn_move(p, &scratch, &sorted));
    const struct nn_view kept = nn_part(&source, 0, 0, 1, z.dims[0]);
    struct nn_index_call call = NN_INDEX_CALL;
    NN_CHECK(nn_index_rows(p, &call, &tokens, 0, &kept));
    NN_CHECK(nn_expect_shape(p, "permuteTokensOut", &z, call.target.rank, call.target.dims));
    call.other = z;
    return nn_gather(p, "GatherV2", &call);
}
NN_OPERATOR(MoeTokenPermute, plan_permute, .types = NN_FLOATS16_32)

/* out[t] = sum over k of probs[t, k] * rows[sorted[t, k]]; without probs of the rows. */
static aclnnStatus combine(struct nn_plan *p, const struct nn_view *rows, const struct nn_view *sorted,
                           const struct nn_view *probs, uint64_t top_k, const struct nn_view *out)
{
    struct nn_view wide, sum, part;
    const double one = 1;
    NN_CHECK(check_mode(p, 3));
    if (rows->rank != 2 || out->rank != 2 || rows->dims[1] != out->dims[1]) {
        return NN_INVALID(p, "the rows have the shape %s, out %s", nn_shape_text(rows->rank, rows->dims),
                          nn_shape_text(out->rank, out->dims));
    }
    NN_CHECK(check_sorted(p, sorted, out->dims[0], top_k));
    NN_CHECK(nn_as_type(p, ACL_FLOAT, rows, &wide));
    NN_CHECK(nn_workspace(p, ACL_FLOAT, 2, out->dims, &sum));
    NN_CHECK(nn_workspace(p, ACL_FLOAT, 2, out->dims, &part));
    NN_CHECK(nn_fill(p, "ZerosLike", &sum, &(const struct op_number){0, 0}, ACL_INT64));
    for (uint64_t k = 0; k < top_k && out->count > 0; k++) {
        const struct nn_view index = copy_index(sorted, out->dims[0], top_k, k);
        NN_CHECK(take_rows(p, &wide, &index, &part));
        struct nn_view factor = {0};
        if (probs != NULL) {
            factor = nn_part(probs, 1, k, 1, 1);
            nn_broadcast(&factor, out->rank, out->dims, &factor);
        }
        const struct nn_map_input inputs[] = {
            {.view = &sum}, {.view = &part}, {.view = probs != NULL ? &factor : NULL, .constant = {1, 1}}};
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(Addcmul), ACL_FLOAT, inputs, 3, &one, 1, &sum));
    }
    return nn_move(p, &sum, out);
}

/* (permutedOutputGrad, sortedIndices, numTopk, paddedMode, out) */
static aclnnStatus plan_permute_grad(struct nn_plan *p)
{
    struct nn_view rows, sorted, z;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &rows));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &sorted));
    NN_CHECK(nn_tensor(p, 4, p->op->types, &z));
    return combine(p, &rows, &sorted, NULL, nn_whole(p, 2) > 0 ? (uint64_t)nn_whole(p, 2) : 0, &z);
}
NN_OPERATOR(MoeTokenPermuteGrad, plan_permute_grad, .types = NN_FLOATS16_32)

static aclnnStatus take_probs(struct nn_plan *p, uint32_t param, uint64_t tokens, struct nn_view *probs,
                              uint64_t *top_k)
{
    NN_CHECK(nn_tensor_optional(p, param, p->op->types, probs));
    *top_k = nn_is_there(probs) && probs->rank == 2 ? probs->dims[1] : 1;
    return !nn_is_there(probs) || (probs->rank == 2 && probs->dims[0] == tokens)
               ? ACLNN_SUCCESS
               : NN_INVALID(p, "probs has the shape %s for %llu tokens", nn_shape_text(probs->rank, probs->dims),
                            (unsigned long long)tokens);
}

/* (permutedTokens, sortedIndices, probsOptional, paddedMode, restoreShapeOptional, out) */
static aclnnStatus plan_unpermute(struct nn_plan *p)
{
    struct nn_view rows, sorted, probs, z;
    uint64_t top_k;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &rows));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &sorted));
    NN_CHECK(nn_tensor(p, 5, p->op->types, &z));
    NN_CHECK(take_probs(p, 2, z.rank > 0 ? z.dims[0] : 0, &probs, &top_k));
    return combine(p, &rows, &sorted, nn_is_there(&probs) ? &probs : NULL, top_k, &z);
}
NN_OPERATOR(MoeTokenUnpermute, plan_unpermute, .types = NN_FLOATS16_32)

/* (permuteTokens, unpermutedTokensGrad, sortedIndices, probsOptional, paddedMode, restoreShapeOptional,
 * permutedTokensGradOut, probsGradOut) */
static aclnnStatus plan_unpermute_grad(struct nn_plan *p)
{
    struct nn_view rows, grad, sorted, probs, z, of_probs, wide, part;
    uint64_t top_k;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &rows));
    NN_CHECK(nn_tensor(p, 1, p->op->types, &grad));
    NN_CHECK(nn_tensor(p, 2, NN_INDEX, &sorted));
    NN_CHECK(check_mode(p, 4));
    NN_CHECK(nn_tensor(p, 6, p->op->types, &z));
    if (rows.rank != 2 || grad.rank != 2 || rows.dims[1] != grad.dims[1]) {
        return NN_INVALID(p, "permuteTokens %s and unpermutedTokensGrad %s do not fit",
                          nn_shape_text(rows.rank, rows.dims), nn_shape_text(grad.rank, grad.dims));
    }
    NN_CHECK(take_probs(p, 3, grad.dims[0], &probs, &top_k));
    NN_CHECK(check_sorted(p, &sorted, grad.dims[0], top_k));
    NN_CHECK(nn_expect_shape(p, "permutedTokensGradOut", &z, rows.rank, rows.dims));
    const bool scaled = nn_is_there(&probs);
    if (scaled) {
        NN_CHECK(nn_tensor(p, 7, p->op->types, &of_probs));
        NN_CHECK(nn_expect_shape(p, "probsGradOut", &of_probs, probs.rank, probs.dims));
    }
    NN_CHECK(nn_as_type(p, ACL_FLOAT, &rows, &wide));
    NN_CHECK(nn_workspace(p, ACL_FLOAT, 2, grad.dims, &part));
    NN_CHECK(nn_fill(p, "ZerosLike", &z, &(const struct op_number){0, 0}, ACL_INT64));
    for (uint64_t k = 0; k < top_k && grad.count > 0; k++) {
        const struct nn_view index = copy_index(&sorted, grad.dims[0], top_k, k);
        struct nn_view factor = {0}, values;
        if (scaled) {
            factor = nn_part(&probs, 1, k, 1, 1);
            nn_broadcast(&factor, grad.rank, grad.dims, &factor);
        }
        const struct nn_map_input scale[] = {{.view = &grad}, {.view = scaled ? &factor : NULL, .constant = {1, 1}}};
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(Mul), ACL_FLOAT, scale, 2, NULL, 0, &part));
        NN_CHECK(nn_as_type(p, z.type, &part, &values));
        struct nn_index_call call = NN_INDEX_CALL;
        NN_CHECK(nn_index_rows(p, &call, &z, 0, &index));
        call.other = values;
        NN_CHECK(nn_scatter(p, "ScatterUpdate", &call));
        if (scaled) {
            const struct nn_view column = nn_pick(&of_probs, 1, k);
            NN_CHECK(take_rows(p, &wide, &index, &part));
            const struct nn_map_input product[] = {{.view = &part}, {.view = &grad}};
            NN_CHECK(nn_map(p, NN_MAP_KERNEL(Mul), ACL_FLOAT, product, 2, NULL, 0, &part));
            const struct nn_reduce sum = {.code = OP_REDUCE_SUM, .x = &part, .z = &column};
            NN_CHECK(nn_reduce(p, "ReduceSum", &sum, (const bool[NN_DIMS]){false, true}));
        }
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(MoeTokenUnpermuteGrad, plan_unpermute_grad, .types = NN_FLOATS16_32)
