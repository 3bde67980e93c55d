/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: training (forward and backward) and inference, from one plan.
 *
 * Roles, one character per parameter:
 *   q k v  query, key, value     K V  the same as lists of one tensor     p  position bias   d  dropout mask
 *   a  attention mask   L U  lengths of queries and keys   f  scale   g  keep probability   b c  tokens before, after
 *   n N  heads of queries, of keys   l  layout   m  sparse mode   t  order of bias and scale   M S  max and sum of rows
 *   z  output   E  log of the sum of exponentials   e  whether E is wanted   y  gradient of the output
 *   x w u s  gradients of query, key, value, bias   X  not supported, must be NULL or empty   -  without effect
 *
 * Layouts: B batch, S sequence, N heads, D columns, H heads and columns together, T all sequences one after another. A
 * view [batch, heads, sequence, columns] with steps represents each of them. */
#include "softnpu/aclnn/operators/layout.h"

#include <string.h>

enum { MASK_GIVEN, MASK_ALL, MASK_LEFT_UP, MASK_RIGHT_DOWN, MASK_BAND, MASK_PREFIX, MASK_MODES };
enum { ATT_INFER = 1, ATT_GRAD = 2, ATT_ONE_ROW = 4 };

struct attention {
    struct nn_view view[OP_ATT_OPERANDS], drop;
    const int64_t *lengths[2]; /* of queries, of keys; cumulative for T layouts */
    uint64_t length_count[2];
    int64_t heads, kv_heads, before, after, mode, bias_order;
    double scale, keep;
    bool wants_lse, joined; /* joined: a T layout */
    char layout[8], out_layout[8];
};

/* ---- parameters ---- */

static int operand_of(char role)
{
    static const char roles[] = "qkvpazMSEyxwus"; /* in the order of OP_ATT_Q ... */
    const char *at = strchr(roles, role);
    return at != NULL ? (int)(at - roles) : -1;
}

static aclnnStatus read_list(struct nn_plan *p, uint32_t param, struct nn_view *view)
{
    uint64_t count;
    NN_CHECK(nn_list(p, param, &count));
    if (count != 1) {
        return NN_INVALID(p, "%s has %llu tensors, 1 is supported", p->params[param].name, (unsigned long long)count);
    }
    return nn_list_tensor(p, param, 0, NN_FLOATS16_32, view);
}

static aclnnStatus read_lengths(struct nn_plan *p, uint32_t param, struct attention *t, int which)
{
    if (!nn_given(p, param)) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_ints(p, param, &t->lengths[which], &t->length_count[which]));
    return ACLNN_SUCCESS;
}

static aclnnStatus read_layout(struct nn_plan *p, uint32_t param, struct attention *t)
{
    const char *text = nn_text(p, param), *cut = strchr(text, '_');
    const size_t length = cut != NULL ? (size_t)(cut - text) : strlen(text);
    static const char *const known[] = {"BSH", "SBH", "BSND", "BNSD", "TND", "BNSD_BSND", "BSH_BSND"};
    for (size_t i = 0; i < MS_COUNT_OF(known); i++) {
        if (strcmp(text, known[i]) == 0) {
            memcpy(t->layout, text, length);
            strcpy(t->out_layout, cut != NULL ? cut + 1 : t->layout);
            t->joined = t->layout[0] == 'T';
            return ACLNN_SUCCESS;
        }
    }
    return NN_INVALID(p, "inputLayout '%.20s' is not supported", text);
}

static aclnnStatus read_param(struct nn_plan *p, uint32_t i, struct attention *t)
{
    const char role = p->op->roles[i];
    const int operand = operand_of(role);
    const nn_types masks = NN_MASK, types = role == 'a' ? masks : NN_FLOATS16_32;
    struct nn_view view;
    switch (role) {
    case 'K':
        return read_list(p, i, &t->view[OP_ATT_K]);
    case 'V':
        return read_list(p, i, &t->view[OP_ATT_V]);
    case 'd':
        return nn_tensor_optional(p, i, NN_TYPE(ACL_UINT8) | NN_TYPE(ACL_INT8) | NN_TYPE(ACL_BOOL), &t->drop);
    case 'L':
        return read_lengths(p, i, t, 0);
    case 'U':
        return read_lengths(p, i, t, 1);
    case 'f':
        t->scale = nn_real(p, i);
        return ACLNN_SUCCESS;
    case 'g':
        t->keep = nn_real(p, i);
        return ACLNN_SUCCESS;
    case 'b':
        t->before = nn_whole(p, i);
        return ACLNN_SUCCESS;
    case 'c':
        t->after = nn_whole(p, i);
        return ACLNN_SUCCESS;
    case 'n':
        t->heads = nn_whole(p, i);
        return ACLNN_SUCCESS;
    case 'N':
        t->kv_heads = nn_whole(p, i);
        return ACLNN_SUCCESS;
    case 'm':
        t->mode = nn_whole(p, i);
        return ACLNN_SUCCESS;
    case 't':
        t->bias_order = nn_whole(p, i);
        return ACLNN_SUCCESS;
    case 'e':
        t->wants_lse = nn_whole(p, i) != 0;
        return ACLNN_SUCCESS;
    case 'l':
        return read_layout(p, i, t);
    case 'X':
        NN_CHECK(nn_tensor_optional(p, i, UINT32_MAX, &view));
        return view.count > 0 && nn_is_there(&view) ? NN_INVALID(p, "%s is not supported", p->params[i].name)
                                                    : ACLNN_SUCCESS;
    case 'q':
    case 'k':
    case 'v':
    case 'y':
    case 'z':
    case 'x':
    case 'w':
    case 'u':
        return nn_tensor(p, i, types, &t->view[operand]);
    default:
        return operand < 0 ? ACLNN_SUCCESS : nn_tensor_optional(p, i, types, &t->view[operand]);
    }
}

/* ---- shapes ---- */

/* [batch, heads, sequence, columns] of a tensor in a layout; heads divide H. */
static aclnnStatus arrange(struct nn_plan *p, const char *name, const char *layout, uint64_t heads,
                           struct nn_view *view)
{
    struct nn_view made = *view;
    if (view->rank != strlen(layout)) {
        return NN_INVALID(p, "%s has the shape %s, which is not the layout %s", name,
                          nn_shape_text(view->rank, view->dims), layout);
    }
    const char *const order = "BNSD";
    made.rank = 4;
    for (int i = 0; i < 4; i++) {
        const char letter = layout[0] == 'T' && order[i] == 'S' ? 'T' : order[i];
        const char *at = strchr(layout, letter), *both = strchr(layout, 'H');
        if (at != NULL) {
            made.dims[i] = view->dims[at - layout];
            made.steps[i] = view->steps[at - layout];
        } else if (both != NULL && letter != 'B') {
            const uint64_t whole = view->dims[both - layout], columns = heads > 0 ? whole / heads : 0;
            if (heads == 0 || whole % heads != 0) {
                return NN_INVALID(p, "%s: %llu columns are not a multiple of %llu heads", name,
                                  (unsigned long long)whole, (unsigned long long)heads);
            }
            made.dims[i] = letter == 'N' ? heads : columns;
            made.steps[i] = view->steps[both - layout] * (letter == 'N' ? (int64_t)columns : 1);
        } else {
            made.dims[i] = 1; /* the batch of a T layout */
            made.steps[i] = 0;
        }
    }
    *view = made;
    return ACLNN_SUCCESS;
}

static aclnnStatus arrange_all(struct nn_plan *p, struct attention *t)
{
    static const struct {
        int operand;
        const char *name;
        bool is_key, is_out;
    } operands[] = {
        {OP_ATT_Q, "query", false, false}, {OP_ATT_K, "key", true, false},
        {OP_ATT_V, "value", true, false},  {OP_ATT_OUT, "attentionOut", false, true},
        {OP_ATT_DY, "dy", false, false},   {OP_ATT_DQ, "dq", false, false},
        {OP_ATT_DK, "dk", true, false},    {OP_ATT_DV, "dv", true, false},
    };
    if (t->heads < 1 || t->kv_heads < 0 || t->heads > INT32_MAX || t->kv_heads > t->heads) {
        return NN_INVALID(p, "%lld heads of queries and %lld of keys are not supported", (long long)t->heads,
                          (long long)t->kv_heads);
    }
    NN_CHECK(arrange(p, "query", t->layout, (uint64_t)t->heads, &t->view[OP_ATT_Q]));
    const struct nn_view *q = &t->view[OP_ATT_Q];
    if (t->kv_heads == 0) {
        /* Follows from the key: its heads, or its columns and those of a head of the query. */
        const struct nn_view *k = &t->view[OP_ATT_K];
        const char *heads = strchr(t->layout, 'N'), *both = strchr(t->layout, 'H');
        if (k->rank != strlen(t->layout)) {
            return NN_INVALID(p, "key has the shape %s, which is not the layout %s", nn_shape_text(k->rank, k->dims),
                              t->layout);
        }
        t->kv_heads = heads != NULL    ? (int64_t)k->dims[heads - t->layout]
                      : q->dims[3] > 0 ? (int64_t)(k->dims[both - t->layout] / q->dims[3])
                                       : 0;
        if ((p->op->flags & ATT_INFER) != 0 && heads == NULL) {
            t->kv_heads = t->heads;
        }
    }
    for (size_t i = 1; i < MS_COUNT_OF(operands); i++) {
        struct nn_view *view = &t->view[operands[i].operand];
        if (nn_is_there(view)) {
            NN_CHECK(arrange(p, operands[i].name, operands[i].is_out ? t->out_layout : t->layout,
                             (uint64_t)(operands[i].is_key ? t->kv_heads : t->heads), view));
        }
    }
    const struct nn_view *k = &t->view[OP_ATT_K], *v = &t->view[OP_ATT_V];
    const uint64_t *d = q->dims;
    if (t->kv_heads < 1 || d[1] != (uint64_t)t->heads || t->heads % t->kv_heads != 0) {
        return NN_INVALID(p, "query has %llu heads; %lld heads of queries and %lld of keys do not fit",
                          (unsigned long long)d[1], (long long)t->heads, (long long)t->kv_heads);
    }
    NN_CHECK(nn_expect_shape(p, "key (batch, heads, sequence, columns)", k, 4,
                             (const uint64_t[]){d[0], (uint64_t)t->kv_heads, k->dims[2], d[3]}));
    NN_CHECK(nn_expect_shape(p, "value (batch, heads, sequence, columns)", v, 4,
                             (const uint64_t[]){d[0], (uint64_t)t->kv_heads, k->dims[2], v->dims[3]}));
    const uint64_t out[] = {d[0], d[1], d[2], v->dims[3]};
    if (nn_is_there(&t->view[OP_ATT_OUT])) {
        NN_CHECK(nn_expect_shape(p, "attentionOut (batch, heads, sequence, columns)", &t->view[OP_ATT_OUT], 4, out));
    }
    if ((p->op->flags & ATT_GRAD) != 0) {
        NN_CHECK(nn_expect_shape(p, "dy", &t->view[OP_ATT_DY], 4, out));
        NN_CHECK(nn_expect_shape(p, "dq", &t->view[OP_ATT_DQ], 4, q->dims));
        NN_CHECK(nn_expect_shape(p, "dk", &t->view[OP_ATT_DK], 4, k->dims));
        NN_CHECK(nn_expect_shape(p, "dv", &t->view[OP_ATT_DV], 4, v->dims));
    }
    return ACLNN_SUCCESS;
}

/* A bias or mask broadcast to the scores [batch, heads, rows, cols]; larger ones in the last two dimensions are cut. */
static aclnnStatus spread(struct nn_plan *p, const char *name, const struct nn_view *given, const uint64_t *scores,
                          bool one_row, struct nn_view *out)
{
    struct nn_view view = *given;
    if (one_row && (view.rank == 2 || view.rank == 3)) {
        /* [batch, keys] or [batch, 1, keys]: one row for every sequence. */
        struct nn_view row = view;
        row.rank = 4;
        row.dims[0] = view.dims[0];
        row.steps[0] = view.steps[0];
        row.dims[1] = row.dims[2] = 1;
        row.steps[1] = row.steps[2] = 0;
        row.dims[3] = view.dims[view.rank - 1];
        row.steps[3] = view.steps[view.rank - 1];
        view = row;
    } else if (view.rank == 3) {
        view = nn_unsqueezed(&view, 1);
    }
    for (uint64_t i = 1; i <= 2 && i <= view.rank; i++) {
        if (view.dims[view.rank - i] > scores[4 - i]) {
            view.dims[view.rank - i] = scores[4 - i];
        }
    }
    if (!nn_broadcast(&view, 4, scores, out)) {
        return NN_INVALID(p, "%s has the shape %s, the scores are %s", name, nn_shape_text(given->rank, given->dims),
                          nn_shape_text(4, scores));
    }
    return ACLNN_SUCCESS;
}

/* A row statistic as [batch, heads, sequence, copies]. */
static aclnnStatus arrange_rows(struct nn_plan *p, const struct attention *t, const char *name, struct nn_view *view)
{
    if (!nn_is_there(view) || view->count == 0) {
        *view = (struct nn_view){0};
        return ACLNN_SUCCESS;
    }
    const uint64_t *d = t->view[OP_ATT_Q].dims;
    if (t->joined && view->rank == 3) {
        struct nn_view made = *view;
        made.rank = 4;
        made.dims[0] = 1;
        made.steps[0] = 0;
        made.dims[1] = view->dims[1];
        made.steps[1] = view->steps[1];
        made.dims[2] = view->dims[0];
        made.steps[2] = view->steps[0];
        made.dims[3] = view->dims[2];
        made.steps[3] = view->steps[2];
        *view = made;
    }
    if (view->type != ACL_FLOAT || view->rank != 4) {
        return NN_INVALID(p, "%s must be FLOAT with the dimensions batch, heads, sequence, copies; it is %s", name,
                          nn_shape_text(view->rank, view->dims));
    }
    return nn_expect_shape(p, name, view, 4, (const uint64_t[]){d[0], d[1], d[2], view->dims[3]});
}

/* ---- launches ---- */

/* Which columns a row may use, by the mode. */
static void set_band(const struct attention *t, uint64_t q_len, uint64_t kv_len, struct op_attention_args *args)
{
    const int64_t shift = (int64_t)kv_len - (int64_t)q_len, far = (int64_t)1 << 40;
    args->low = -far;
    args->high = far;
    const int64_t before = t->before < far ? t->before : far, after = t->after < far ? t->after : far;
    if (t->mode == MASK_LEFT_UP) {
        args->high = 0;
    } else if (t->mode == MASK_RIGHT_DOWN) {
        args->high = shift;
    } else if (t->mode == MASK_BAND) {
        args->low = shift - before;
        args->high = shift + after;
    } else if (t->mode == MASK_GIVEN && nn_is_there(&t->view[OP_ATT_MASK])) {
        args->low = -before;
        args->high = after;
    }
}

/* Attention of the sequences in the views, which are all of the same length. */
static aclnnStatus launch(struct nn_plan *p, const struct attention *t, const struct nn_view *views, uint64_t first_bit,
                          const struct nn_view *scratch)
{
    const uint64_t *q = views[OP_ATT_Q].dims, *v = views[OP_ATT_V].dims;
    if (q[0] == 0 || q[2] == 0 || q[1] == 0) {
        return ACLNN_SUCCESS;
    }
    struct op_attention_args args = {
        .batch = q[0],
        .heads = q[1],
        .kv_heads = (uint64_t)t->kv_heads,
        .q_len = q[2],
        .kv_len = v[2],
        .q_cols = q[3],
        .v_cols = v[3],
        .drop_first = first_bit,
        .scratch_block = scratch->dims[1],
        .pse_first = t->bias_order == 1,
        .copies = views[OP_ATT_MAX].dims[3],
        .scale = t->scale,
        .keep = t->keep,
    };
    const struct nn_address *addresses[OP_ATT_OPERANDS + 2];
    for (int i = 0; i < OP_ATT_OPERANDS; i++) {
        addresses[i] = &views[i].address;
        args.at[i].type = views[i].type;
        memcpy(args.at[i].steps, views[i].steps, sizeof args.at[i].steps);
    }
    const struct nn_view none = {0};
    addresses[OP_ATT_OPERANDS] = t->keep < 1 ? &t->drop.address : &none.address;
    addresses[OP_ATT_OPERANDS + 1] = &scratch->address;
    set_band(t, args.q_len, args.kv_len, &args);
    return nn_launch(p, p->op->kernel, &args, sizeof args, addresses, OP_ATT_OPERANDS + 2,
                     args.batch * args.heads * args.q_len * (args.kv_len * (args.q_cols + args.v_cols) / 16 + 1));
}

/* The part of every operand that belongs to one sequence: rows of queries and of keys. */
static aclnnStatus launch_part(struct nn_plan *p, const struct attention *t, const struct nn_view *views,
                               const uint64_t *batch, const uint64_t *queries, const uint64_t *keys, uint64_t first_bit,
                               const struct nn_view *scratch)
{
    static const bool is_key[OP_ATT_OPERANDS] = {
        [OP_ATT_K] = true, [OP_ATT_V] = true, [OP_ATT_DK] = true, [OP_ATT_DV] = true};
    struct nn_view parts[OP_ATT_OPERANDS];
    for (int i = 0; i < OP_ATT_OPERANDS; i++) {
        parts[i] = views[i];
        const bool is_score = i == OP_ATT_PSE || i == OP_ATT_MASK || i == OP_ATT_DPSE;
        if (nn_is_there(&views[i])) {
            parts[i] = nn_part(&parts[i], 0, batch[0], 1, batch[1]);
            if (!is_score) {
                const uint64_t *range = is_key[i] ? keys : queries;
                parts[i] = nn_part(&parts[i], 2, range[0], 1, range[1]);
            }
        }
    }
    return launch(p, t, parts, first_bit, scratch);
}

/* Ends of all sequences in T layouts. */
static aclnnStatus run_joined(struct nn_plan *p, const struct attention *t, const struct nn_view *views,
                              const struct nn_view *scratch)
{
    const uint64_t count = t->length_count[0], batch[] = {0, 1};
    uint64_t q_at = 0, kv_at = 0, bit = 0;
    if (count == 0 || t->length_count[1] != count) {
        return NN_INVALID(p, "the layout TND requires the ends of all sequences of queries and of keys");
    }
    for (uint64_t i = 0; i < count; i++) {
        const int64_t q_end = t->lengths[0][i], kv_end = t->lengths[1][i];
        if (q_end < (int64_t)q_at || q_end > (int64_t)views[OP_ATT_Q].dims[2] || kv_end < (int64_t)kv_at ||
            kv_end > (int64_t)views[OP_ATT_K].dims[2]) {
            return NN_INVALID(p, "sequence %llu ends at %lld and %lld, which is before its start or after the tensor",
                              (unsigned long long)i, (long long)q_end, (long long)kv_end);
        }
        const struct nn_view *mask = &views[OP_ATT_MASK];
        if (nn_is_there(mask) && ((uint64_t)q_end - q_at > mask->dims[2] || (uint64_t)kv_end - kv_at > mask->dims[3])) {
            return NN_INVALID(p, "attenMask is smaller than sequence %llu", (unsigned long long)i);
        }
        const uint64_t q_range[] = {q_at, (uint64_t)q_end - q_at}, kv_range[] = {kv_at, (uint64_t)kv_end - kv_at};
        NN_CHECK(launch_part(p, t, views, batch, q_range, kv_range, bit, scratch));
        bit += (uint64_t)t->heads * q_range[1] * kv_range[1];
        q_at = (uint64_t)q_end;
        kv_at = (uint64_t)kv_end;
    }
    return ACLNN_SUCCESS;
}

/* Length of one sequence; an array of one length is for all of them. */
static aclnnStatus length_of(struct nn_plan *p, const struct attention *t, int which, uint64_t i, uint64_t most,
                             uint64_t *length)
{
    *length = most;
    const uint64_t count = t->length_count[which];
    if (count == 0) {
        return ACLNN_SUCCESS;
    }
    if (count != 1 && i >= count) {
        return NN_INVALID(p, "%llu lengths are given, sequence %llu has none", (unsigned long long)count,
                          (unsigned long long)i);
    }
    const int64_t value = t->lengths[which][count == 1 ? 0 : i];
    if (value < 0 || (uint64_t)value > most) {
        return NN_INVALID(p, "the length %lld of a sequence is not between 0 and %llu", (long long)value,
                          (unsigned long long)most);
    }
    *length = (uint64_t)value;
    return ACLNN_SUCCESS;
}

static aclnnStatus run_padded(struct nn_plan *p, const struct attention *t, const struct nn_view *views,
                              const struct nn_view *scratch)
{
    NN_CHECK(nn_fill(p, "ZerosLike", &t->view[OP_ATT_OUT], &(struct op_number){0, 0}, ACL_FLOAT));
    for (uint64_t i = 0; i < views[OP_ATT_Q].dims[0]; i++) {
        uint64_t batch[] = {i, 1}, queries[] = {0, 0}, keys[] = {0, 0};
        NN_CHECK(length_of(p, t, 0, i, views[OP_ATT_Q].dims[2], &queries[1]));
        NN_CHECK(length_of(p, t, 1, i, views[OP_ATT_K].dims[2], &keys[1]));
        NN_CHECK(launch_part(p, t, views, batch, queries, keys, 0, scratch));
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus check_options(struct nn_plan *p, const struct attention *t)
{
    if (t->mode < 0 || t->mode >= MASK_MODES) {
        return NN_INVALID(p, "sparseMode %lld is not supported", (long long)t->mode);
    }
    if (t->bias_order < 0 || t->bias_order > 1) {
        return NN_INVALID(p, "pseType %lld is not supported", (long long)t->bias_order);
    }
    if (!(t->keep >= 0 && t->keep <= 1)) {
        return NN_INVALID(p, "keepProb %g is not between 0 and 1", t->keep);
    }
    uint64_t bits = 1;
    const uint64_t *q = t->view[OP_ATT_Q].dims;
    if (t->keep < 1 && (!nn_is_there(&t->drop) || !nn_is_dense(&t->drop) ||
                        __builtin_mul_overflow(q[0] * q[1] * q[2], t->view[OP_ATT_K].dims[2], &bits) ||
                        (!t->joined && t->drop.count < (bits + 7) / 8))) {
        return NN_INVALID(p, "keepProb %g requires a contiguous dropMask with a bit for each of %llu scores", t->keep,
                          (unsigned long long)bits);
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus plan_attention(struct nn_plan *p)
{
    struct attention t = {.keep = 1,
                          .bias_order = (p->op->flags & ATT_INFER) != 0 ? 0 : 1,
                          .before = INT64_MAX / 4,
                          .after = INT64_MAX / 4};
    for (uint32_t i = 0; p->op->roles[i] != '\0'; i++) {
        NN_CHECK(read_param(p, i, &t));
    }
    NN_CHECK(arrange_all(p, &t));
    NN_CHECK(check_options(p, &t));
    const bool grad = (p->op->flags & ATT_GRAD) != 0, one_row = (p->op->flags & ATT_ONE_ROW) != 0;
    const uint64_t *q = t.view[OP_ATT_Q].dims, kv_len = t.view[OP_ATT_K].dims[2];
    const uint64_t scores[] = {q[0], q[1], q[2], kv_len};
    struct nn_view *const mask = &t.view[OP_ATT_MASK], *const pse = &t.view[OP_ATT_PSE];
    struct nn_view views[OP_ATT_OPERANDS], scratch;
    /* Compressed masks of the causal modes repeat what the mode says. */
    if (t.mode == MASK_LEFT_UP || t.mode == MASK_RIGHT_DOWN || t.mode == MASK_BAND || mask->count == 0) {
        *mask = (struct nn_view){0};
    }
    if (pse->count == 0) {
        *pse = (struct nn_view){0};
    }
    if (t.joined && (nn_is_there(pse) || (nn_is_there(mask) && mask->rank < 2))) {
        return NN_INVALID(p, "the layout TND does not support a bias or masks of one dimension");
    }
    if (nn_is_there(mask)) {
        /* All sequences of a T layout share the mask of the longest one. */
        const uint64_t own[] = {q[0], q[1], mask->dims[mask->rank > 1 ? mask->rank - 2 : 0],
                                mask->dims[mask->rank > 0 ? mask->rank - 1 : 0]};
        NN_CHECK(spread(p, "attenMask", mask, t.joined ? own : scores, one_row, mask));
    }
    if (nn_is_there(pse)) {
        NN_CHECK(spread(p, "pse", pse, scores, false, pse));
    }
    if (!t.wants_lse || t.view[OP_ATT_LSE].count == 0) {
        t.view[OP_ATT_LSE] = (struct nn_view){0};
    }
    if (!grad) {
        NN_CHECK(arrange_rows(p, &t, "softmaxMax", &t.view[OP_ATT_MAX]));
        NN_CHECK(arrange_rows(p, &t, "softmaxSum", &t.view[OP_ATT_SUM]));
        NN_CHECK(arrange_rows(p, &t, "softmaxLse", &t.view[OP_ATT_LSE]));
    } else {
        t.view[OP_ATT_MAX] = t.view[OP_ATT_SUM] = (struct nn_view){0};
    }
    if (t.view[OP_ATT_DPSE].count == 0 || !nn_is_there(&t.view[OP_ATT_PSE])) {
        t.view[OP_ATT_DPSE] = (struct nn_view){0};
    } else {
        NN_CHECK(nn_expect_shape(p, "dpse", &t.view[OP_ATT_DPSE], 4, scores));
        NN_CHECK(nn_fill(p, "ZerosLike", &t.view[OP_ATT_DPSE], &(struct op_number){0, 0}, ACL_FLOAT));
    }
    memcpy(views, t.view, sizeof views);
    for (int i = OP_ATT_DQ; i <= OP_ATT_DV && grad; i++) {
        if (views[i].type != ACL_FLOAT) {
            NN_CHECK(nn_workspace(p, ACL_FLOAT, 4, t.view[i].dims, &views[i]));
        }
    }
    const uint64_t other = grad ? kv_len : t.view[OP_ATT_V].dims[3];
    const uint64_t block[] = {NN_MAX_BLOCKS, OP_ATT_ROWS * (kv_len + other) + 16};
    NN_CHECK(nn_workspace(p, ACL_FLOAT, 2, block, &scratch));
    if (t.joined) {
        NN_CHECK(run_joined(p, &t, views, &scratch));
    } else if ((p->op->flags & ATT_INFER) != 0 && t.length_count[0] + t.length_count[1] > 0) {
        NN_CHECK(run_padded(p, &t, views, &scratch));
    } else {
        NN_CHECK(launch(p, &t, views, 0, &scratch));
    }
    for (int i = OP_ATT_DQ; i <= OP_ATT_DV && grad; i++) {
        if (views[i].type != t.view[i].type) {
            NN_CHECK(nn_move(p, &views[i], &t.view[i]));
        }
    }
    return ACLNN_SUCCESS;
}

#define NN_ATTENTION(name, role_text, kernel_name, flag_bits)                                                          \
    NN_OPERATOR(name, plan_attention, .roles = role_text, .kernel = kernel_name, .types = NN_FLOATS16_32,              \
                .flags = flag_bits)

NN_ATTENTION(FlashAttentionScore, "qkvpd-a-fgbcnl-mMS-z", "FlashAttentionScore", 0)
NN_ATTENTION(FlashAttentionScoreV2, "qkvpd-a---fgbcnl-mtMS-z", "FlashAttentionScore", 0)
NN_ATTENTION(FlashAttentionVarLenScore, "qkvpd-a-LUfgbcnl-mMS-z", "FlashAttentionScore", 0)
NN_ATTENTION(FlashAttentionVarLenScoreV2, "qkvpd-a-LU--fgbcnl-mtMS-z", "FlashAttentionScore", 0)
NN_ATTENTION(FlashAttentionVarLenScoreV4, "qkvpd-a-LUfgbcnl-m-MS-z", "FlashAttentionScore", 0)
NN_ATTENTION(FlashAttentionScoreGrad, "qkvypd-a-----fgbcnl-mxwus", "FlashAttentionScoreGrad", ATT_GRAD)
NN_ATTENTION(FlashAttentionScoreGradV2, "qkvypd-a-------fgbcnl-mtxwus", "FlashAttentionScoreGrad", ATT_GRAD)
NN_ATTENTION(FlashAttentionUnpaddingScoreGrad, "qkvypd-a-----LUfgbcnl-mxwus", "FlashAttentionScoreGrad", ATT_GRAD)
NN_ATTENTION(FlashAttentionUnpaddingScoreGradV2, "qkvypd-a-----LU--fgbcnl-mtxwus", "FlashAttentionScoreGrad", ATT_GRAD)
NN_ATTENTION(FlashAttentionUnpaddingScoreGradV4, "qkvypd-a-----LUfgbcnl-mxwus-", "FlashAttentionScoreGrad", ATT_GRAD)
NN_ATTENTION(FusedInferAttentionScore, "qKVpaLUXXXXXXXXXXnfbclNm---ezE", "FusedInferAttentionScore", ATT_INFER)
NN_ATTENTION(FusedInferAttentionScoreV2, "qKVpaLUXXXXXXXXXXXXXXXX-nfbclNm---e--zE", "FusedInferAttentionScore",
             ATT_INFER)
NN_ATTENTION(FusedInferAttentionScoreV3, "qKVpaLUXXXXXXXXXXXXXXXX-XXXnfbclNm---e--zE", "FusedInferAttentionScore",
             ATT_INFER)
NN_ATTENTION(PromptFlashAttention, "qkvpaLnfbclNz", "PromptFlashAttention", ATT_INFER)
NN_ATTENTION(PromptFlashAttentionV2, "qkvpaLUXXXXXnfbclNmz", "PromptFlashAttention", ATT_INFER)
NN_ATTENTION(PromptFlashAttentionV3, "qkvpaLUXXXXXnfbclNm-z", "PromptFlashAttention", ATT_INFER)
NN_ATTENTION(IncreFlashAttention, "qKVpaUnflNz", "IncreFlashAttention", ATT_INFER | ATT_ONE_ROW)
NN_ATTENTION(IncreFlashAttentionV2, "qKVpaUXXXXXnflNz", "IncreFlashAttention", ATT_INFER | ATT_ONE_ROW)
NN_ATTENTION(IncreFlashAttentionV3, "qKVpaUXXXXXXXXnflN--z", "IncreFlashAttention", ATT_INFER | ATT_ONE_ROW)
NN_ATTENTION(IncreFlashAttentionV4, "qKVpaUXXXXXXXXXnflN--z", "IncreFlashAttention", ATT_INFER | ATT_ONE_ROW)
