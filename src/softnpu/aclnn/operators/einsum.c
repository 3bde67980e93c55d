/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products by an equation such as "bij,bjk->bik", for one or two tensors without repeated letters: letters of
 * both tensors and the result are the batch, letters of both tensors alone are summed by a matrix product, and letters
 * of one tensor alone are summed before. */
#include "softnpu/aclnn/operators/product.h"
#include "softnpu/aclnn/operators/reduce.h"

#include <ctype.h>
#include <string.h>

struct term {
    char letters[NN_DIMS + 1];
    struct nn_view view;
};

static aclnnStatus read_letters(struct nn_plan *p, const char **at, uint64_t rank, char *letters)
{
    uint64_t count = 0;
    for (; **at != '\0' && **at != ',' && **at != '-'; (*at)++) {
        if (**at == ' ') {
            continue;
        }
        if (!isalpha((unsigned char)**at) || count == NN_DIMS || memchr(letters, **at, count) != NULL) {
            return NN_INVALID(p, "equation '%.60s': '%c' is not a letter, or occurs twice in a term", nn_text(p, 1),
                              **at);
        }
        letters[count++] = **at;
    }
    letters[count] = '\0';
    if (count != rank) {
        return NN_INVALID(p, "equation '%.60s': a term has %llu letters, its tensor %llu dimensions", nn_text(p, 1),
                          (unsigned long long)count, (unsigned long long)rank);
    }
    return ACLNN_SUCCESS;
}

/* Sums over letters that occur in neither of the other terms. */
static aclnnStatus drop_letters(struct nn_plan *p, struct term *t, const char *other, const char *out)
{
    bool reduced[NN_DIMS] = {false}, any = false;
    struct term kept = {.view = t->view};
    kept.view.rank = 0;
    for (uint64_t i = 0; i < t->view.rank; i++) {
        const char letter = t->letters[i];
        reduced[i] = strchr(other, letter) == NULL && strchr(out, letter) == NULL;
        any = any || reduced[i];
        if (!reduced[i]) {
            kept.letters[kept.view.rank] = letter;
            kept.view.dims[kept.view.rank++] = t->view.dims[i];
        }
    }
    if (!any) {
        return ACLNN_SUCCESS;
    }
    struct nn_view sum;
    NN_CHECK(nn_workspace(p, t->view.type, kept.view.rank, kept.view.dims, &sum));
    NN_CHECK(nn_reduce(p, "ReduceSum", &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = &t->view, .z = &sum}, reduced));
    kept.view = sum;
    *t = kept;
    return ACLNN_SUCCESS;
}

/* The view with its dimensions in the order of the letters. */
static struct nn_view ordered(const struct term *t, const char *letters)
{
    struct nn_view view = t->view;
    view.rank = strlen(letters);
    for (uint64_t i = 0; i < view.rank; i++) {
        const uint64_t at = (uint64_t)(strchr(t->letters, letters[i]) - t->letters);
        view.dims[i] = t->view.dims[at];
        view.steps[i] = t->view.steps[at];
    }
    return view;
}

/* A dense copy of the groups batch, a, b of dimensions as [batch, a, b]. */
static aclnnStatus matrix_of(struct nn_plan *p, const struct term *t, const char *batch, const char *a, const char *b,
                             struct nn_view *matrix)
{
    char order[3 * NN_DIMS + 1];
    const char *const groups[] = {batch, a, b};
    strcpy(order, batch);
    strcat(order, a);
    strcat(order, b);
    const struct nn_view view = ordered(t, order);
    NN_CHECK(nn_dense_input(p, view.type, &view, matrix));
    uint64_t at = 0;
    for (int g = 0; g < 3; g++) {
        uint64_t size = 1;
        for (size_t i = 0; i < strlen(groups[g]); i++) {
            size *= view.dims[at++];
        }
        matrix->dims[g] = size;
    }
    matrix->rank = 3;
    matrix->steps[2] = 1;
    matrix->steps[1] = (int64_t)matrix->dims[2];
    matrix->steps[0] = (int64_t)(matrix->dims[1] * matrix->dims[2]);
    return ACLNN_SUCCESS;
}

static void append(char *letters, char letter)
{
    const size_t length = strlen(letters);
    if (length < NN_DIMS) {
        letters[length] = letter;
        letters[length + 1] = '\0';
    }
}

static aclnnStatus contract(struct nn_plan *p, const struct term *x, const struct term *y, const struct term *out)
{
    char batch[NN_DIMS + 1] = "", sum[NN_DIMS + 1] = "", left[NN_DIMS + 1] = "", right[NN_DIMS + 1] = "";
    for (const char *l = x->letters; *l != '\0'; l++) {
        const char *other = strchr(y->letters, *l);
        if (other != NULL && x->view.dims[l - x->letters] != y->view.dims[other - y->letters]) {
            return NN_INVALID(p, "the tensors have different sizes for the letter '%c'", *l);
        }
        char *const group = other == NULL ? left : strchr(out->letters, *l) != NULL ? batch : sum;
        append(group, *l);
    }
    for (const char *l = y->letters; *l != '\0'; l++) {
        if (strchr(x->letters, *l) == NULL) {
            append(right, *l);
        }
    }
    struct nn_view a, b, c, made;
    struct term result = {0};
    strcat(strcat(strcat(result.letters, batch), left), right);
    NN_CHECK(matrix_of(p, x, batch, left, sum, &a));
    NN_CHECK(matrix_of(p, y, batch, sum, right, &b));
    const struct nn_view wanted = ordered(out, result.letters);
    NN_CHECK(nn_workspace(p, out->view.type, wanted.rank, wanted.dims, &made));
    c = made;
    c.rank = 3;
    const uint64_t dims[] = {a.dims[0], a.dims[1], b.dims[2]};
    for (int i = 0; i < 3; i++) {
        c.dims[i] = dims[i];
        c.steps[i] = i == 2 ? 1 : (int64_t)(i == 1 ? dims[2] : dims[1] * dims[2]);
    }
    if (a.dims[0] * a.dims[1] * b.dims[2] != wanted.count) {
        return NN_INVALID(p, "output %s has other sizes than the tensors",
                          nn_shape_text(out->view.rank, out->view.dims));
    }
    NN_CHECK(nn_product(p, &a, &b, &c));
    return nn_move(p, &made, &wanted);
}

/* (tensors, equation, output) */
static aclnnStatus plan_einsum(struct nn_plan *p)
{
    struct term terms[2] = {0}, out = {0};
    uint64_t count;
    const char *at = nn_text(p, 1);
    NN_CHECK(nn_list(p, 0, &count));
    NN_CHECK(nn_tensor(p, 2, p->op->types, &out.view));
    if (count < 1 || count > 2) {
        return NN_INVALID(p, "%llu tensors are given, 1 or 2 are supported", (unsigned long long)count);
    }
    for (uint64_t i = 0; i < count; i++) {
        NN_CHECK(nn_list_tensor(p, 0, i, p->op->types, &terms[i].view));
        NN_CHECK(read_letters(p, &at, terms[i].view.rank, terms[i].letters));
        if (*at != (i + 1 < count ? ',' : '-') || (*at == '-' && at[1] != '>')) {
            return NN_INVALID(p, "equation '%.60s' must have %llu terms and '->'", nn_text(p, 1),
                              (unsigned long long)count);
        }
        at += *at == '-' ? 2 : 1;
    }
    NN_CHECK(read_letters(p, &at, out.view.rank, out.letters));
    for (uint64_t i = 0; i < out.view.rank; i++) {
        bool fits = false;
        for (uint64_t t = 0; t < MS_COUNT_OF(terms) && t < count; t++) {
            const char *from = strchr(terms[t].letters, out.letters[i]);
            fits = fits || (from != NULL && terms[t].view.dims[from - terms[t].letters] == out.view.dims[i]);
        }
        if (!fits) {
            return NN_INVALID(p, "output %s: the size of '%c' does not follow from the tensors",
                              nn_shape_text(out.view.rank, out.view.dims), out.letters[i]);
        }
    }
    if (out.view.count == 0) {
        return ACLNN_SUCCESS;
    }
    for (uint64_t i = 0; i < count; i++) {
        NN_CHECK(drop_letters(p, &terms[i], count == 2 ? terms[1 - i].letters : "", out.letters));
    }
    if (count == 2) {
        return contract(p, &terms[0], &terms[1], &out);
    }
    const struct nn_view from = ordered(&terms[0], out.letters);
    return nn_move(p, &from, &out.view);
}
NN_OPERATOR(Einsum, plan_einsum, .types = NN_REALS | NN_INTEGERS)
