/* SPDX-License-Identifier: Apache-2.0 */
#include "ops.h"

#include <string.h>

/* The names under which operators are reported. */
#define NAMES(X)                                                                                                       \
    X(FILL, "fill_.Scalar")                                                                                            \
    X(NORMAL, "normal_.default")                                                                                       \
    X(EMBEDDING, "embedding.default")                                                                                  \
    X(EMBEDDING_BACKWARD, "embedding_dense_backward.default")                                                          \
    X(LAYER_NORM, "native_layer_norm.default")                                                                         \
    X(LAYER_NORM_BACKWARD, "native_layer_norm_backward.default")                                                       \
    X(ADDMM, "addmm.default")                                                                                          \
    X(MM, "mm.default")                                                                                                \
    X(SUM, "sum.dim_IntList")                                                                                          \
    X(BMM, "bmm.out")                                                                                                  \
    X(MASKED_FILL, "masked_fill_.Scalar")                                                                              \
    X(SOFTMAX, "_softmax.default")                                                                                     \
    X(SOFTMAX_BACKWARD, "_softmax_backward_data.default")                                                              \
    X(GELU, "gelu.default")                                                                                            \
    X(GELU_BACKWARD, "gelu_backward.default")                                                                          \
    X(ADD, "add.Tensor")                                                                                               \
    X(ADD_INPLACE, "add_.Tensor")                                                                                      \
    X(CROSS_ENTROPY, "cross_entropy_loss.default")                                                                     \
    X(ARGMAX, "argmax.default")                                                                                        \
    X(ADAMW, "_fused_adamw_.default")

#define PREFIX "torch._ops.aten."

enum name {
#define NUMBER(id, text) NAME_##id,
    NAMES(NUMBER)
#undef NUMBER
        NAME_COUNT
};

static const char *const names[] = {
#define TEXT(id, text) PREFIX text,
    NAMES(TEXT)
#undef TEXT
};

#define SHORT(id) (names[NAME_##id] + sizeof(PREFIX) - 1)

const char *op_find_name(const char *text)
{
    if (strncmp(text, PREFIX, sizeof(PREFIX) - 1) == 0) {
        text += sizeof(PREFIX) - 1;
    }
    for (size_t i = 0; i < NAME_COUNT; i++) {
        const char *name = names[i] + sizeof(PREFIX) - 1;
        size_t base = strcspn(name, ".");
        if (strcmp(text, name) == 0 || (strlen(text) == base && strncmp(text, name, base) == 0)) {
            return names[i];
        }
    }
    return NULL;
}

const char *op_all_names(void)
{
#define LISTED(id, text) text " "
    return NAMES(LISTED);
#undef LISTED
}

static uint64_t rows_of(const struct tensor *x)
{
    return x->count / (size_t)x->dims[x->dim_count - 1];
}

static uint64_t cols_of(const struct tensor *x)
{
    return (uint64_t)x->dims[x->dim_count - 1];
}

void op_fill_(struct npu *npu, struct tensor *x, float value)
{
    op_begin(npu, SHORT(FILL), TENSORS(NULL));
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    struct tk_fill_args args = {.dst = x->data, .count = x->count, .element_b = 4, .pattern = bits};
    NPU_LAUNCH(npu, fill, x->count, args);
    op_end(npu, TENSORS(x));
}

void op_normal_(struct npu *npu, struct tensor *x, uint64_t seed, double stddev)
{
    op_begin(npu, SHORT(NORMAL), TENSORS(NULL));
    struct tk_random_normal_args args = {.y = x->f32, .count = x->count, .seed = seed, .stddev = stddev};
    NPU_LAUNCH(npu, random_normal, 4 * x->count, args);
    op_end(npu, TENSORS(x));
}

struct tensor *op_embedding(struct npu *npu, const struct tensor *table, const struct tensor *positions, int64_t first,
                            const struct tensor *ids, int64_t period)
{
    op_begin(npu, SHORT(EMBEDDING), TENSORS(table, positions, ids));
    struct tensor *y = TENSOR(npu, (int64_t)ids->count, table->dims[1]);
    struct tk_embedding_args args = {.table = table->f32,
                                     .ids = ids->i32,
                                     .positions = positions->f32 + first * table->dims[1],
                                     .y = y->f32,
                                     .count = ids->count,
                                     .vocab = (uint64_t)table->dims[0],
                                     .dim = (uint64_t)table->dims[1],
                                     .period = (uint64_t)period};
    NPU_LAUNCH(npu, embedding, y->count, args);
    op_end(npu, TENSORS(y));
    return y;
}

void op_embedding_backward(struct npu *npu, const struct tensor *dy, const struct tensor *ids, struct tensor *dtable,
                           struct tensor *dpositions, int64_t period)
{
    op_begin(npu, SHORT(EMBEDDING_BACKWARD), TENSORS(dy, ids));
    struct tk_embedding_grad_args args = {.dy = dy->f32,
                                          .ids = ids->i32,
                                          .dtable = dtable->f32,
                                          .dpositions = dpositions->f32,
                                          .count = ids->count,
                                          .vocab = (uint64_t)dtable->dims[0],
                                          .dim = (uint64_t)dtable->dims[1],
                                          .period = (uint64_t)period};
    NPU_LAUNCH(npu, embedding_grad, dy->count, args);
    op_end(npu, TENSORS(dtable, dpositions));
}

struct norm op_layer_norm(struct npu *npu, const struct tensor *x, const struct tensor *gamma,
                          const struct tensor *beta)
{
    op_begin(npu, SHORT(LAYER_NORM), TENSORS(x, gamma, beta));
    int64_t rows = (int64_t)rows_of(x);
    struct norm norm = {.y = tensor_like(npu, x), .mean = TENSOR(npu, rows), .rstd = TENSOR(npu, rows)};
    struct tk_layer_norm_args args = {.x = x->f32,
                                      .gamma = gamma->f32,
                                      .beta = beta->f32,
                                      .y = norm.y->f32,
                                      .mean = norm.mean->f32,
                                      .rstd = norm.rstd->f32,
                                      .rows = (uint64_t)rows,
                                      .cols = cols_of(x),
                                      .eps = 1e-5};
    NPU_LAUNCH(npu, layer_norm, x->count, args);
    op_end(npu, TENSORS(norm.y, norm.mean, norm.rstd));
    return norm;
}

struct tensor *op_layer_norm_backward(struct npu *npu, const struct tensor *dy, const struct tensor *x,
                                      const struct norm *norm, const struct tensor *gamma, struct tensor **dgamma,
                                      struct tensor **dbeta)
{
    op_begin(npu, SHORT(LAYER_NORM_BACKWARD), TENSORS(dy, x, norm->mean, norm->rstd, gamma));
    struct tensor *dx = tensor_like(npu, x);
    *dgamma = tensor_like(npu, gamma);
    *dbeta = tensor_like(npu, gamma);
    struct tk_layer_norm_grad_args args = {.dy = dy->f32,
                                           .x = x->f32,
                                           .gamma = gamma->f32,
                                           .mean = norm->mean->f32,
                                           .rstd = norm->rstd->f32,
                                           .dx = dx->f32,
                                           .rows = rows_of(x),
                                           .cols = cols_of(x)};
    NPU_LAUNCH(npu, layer_norm_grad, x->count, args);
    struct tk_layer_norm_param_grad_args param_args = {.dy = dy->f32,
                                                       .x = x->f32,
                                                       .mean = norm->mean->f32,
                                                       .rstd = norm->rstd->f32,
                                                       .dgamma = (*dgamma)->f32,
                                                       .dbeta = (*dbeta)->f32,
                                                       .rows = rows_of(x),
                                                       .cols = cols_of(x)};
    NPU_LAUNCH(npu, layer_norm_param_grad, x->count, param_args);
    op_end(npu, TENSORS(dx, *dgamma, *dbeta));
    return dx;
}

/* c = op(a) op(b), dense matrices; m x n x k after transposition. */
static void launch_matmul(struct npu *npu, const struct tensor *a, bool trans_a, const struct tensor *b, bool trans_b,
                          struct tensor *c, uint64_t m, uint64_t n, uint64_t k)
{
    struct tk_matmul_args args = {.a = a->f32,
                                  .b = b->f32,
                                  .c = c->f32,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .trans_a = trans_a,
                                  .trans_b = trans_b,
                                  .lda = (int64_t)cols_of(a),
                                  .ldb = (int64_t)cols_of(b),
                                  .ldc = (int64_t)n,
                                  .batch = 1,
                                  .heads = 1,
                                  .alpha = 1.0};
    NPU_LAUNCH(npu, matmul, m * n * k / 8, args);
}

struct tensor *op_linear(struct npu *npu, const struct tensor *x, const struct tensor *w, const struct tensor *bias)
{
    uint64_t rows = rows_of(x), depth = cols_of(x), cols = cols_of(w);
    op_begin(npu, bias != NULL ? SHORT(ADDMM) : SHORT(MM), TENSORS(x, w, bias));
    struct tensor *y = TENSOR(npu, (int64_t)rows, (int64_t)cols);
    launch_matmul(npu, x, false, w, false, y, rows, cols, depth);
    if (bias != NULL) {
        struct tk_bias_add_args args = {.x = y->f32, .bias = bias->f32, .y = y->f32, .rows = rows, .cols = cols};
        NPU_LAUNCH(npu, bias_add, y->count, args);
    }
    op_end(npu, TENSORS(y));
    return y;
}

struct tensor *op_linear_backward_input(struct npu *npu, const struct tensor *dy, const struct tensor *w)
{
    uint64_t rows = rows_of(dy), cols = cols_of(dy), depth = rows_of(w);
    op_begin(npu, SHORT(MM), TENSORS(dy, w));
    struct tensor *dx = TENSOR(npu, (int64_t)rows, (int64_t)depth);
    launch_matmul(npu, dy, false, w, true, dx, rows, depth, cols);
    op_end(npu, TENSORS(dx));
    return dx;
}

struct tensor *op_linear_backward_weight(struct npu *npu, const struct tensor *x, const struct tensor *dy)
{
    uint64_t rows = rows_of(x), depth = cols_of(x), cols = cols_of(dy);
    op_begin(npu, SHORT(MM), TENSORS(x, dy));
    struct tensor *dw = TENSOR(npu, (int64_t)depth, (int64_t)cols);
    launch_matmul(npu, x, true, dy, false, dw, depth, cols, rows);
    op_end(npu, TENSORS(dw));
    return dw;
}

struct tensor *op_bias_backward(struct npu *npu, const struct tensor *dy)
{
    op_begin(npu, SHORT(SUM), TENSORS(dy));
    struct tensor *dbias = TENSOR(npu, (int64_t)cols_of(dy));
    struct tk_bias_grad_args args = {.dy = dy->f32, .dbias = dbias->f32, .rows = rows_of(dy), .cols = cols_of(dy)};
    NPU_LAUNCH(npu, bias_grad, dy->count, args);
    op_end(npu, TENSORS(dbias));
    return dbias;
}

void op_bmm_out(struct npu *npu, struct view a, struct view b, struct view c, struct batched_size size, double scale)
{
    op_begin(npu, SHORT(BMM), TENSORS(a.tensor, b.tensor));
    struct tk_matmul_args args = {.a = a.tensor->f32 + a.offset,
                                  .b = b.tensor->f32 + b.offset,
                                  .c = c.tensor->f32 + c.offset,
                                  .m = size.m,
                                  .n = size.n,
                                  .k = size.k,
                                  .trans_a = a.transposed,
                                  .trans_b = b.transposed,
                                  .lda = a.row_stride,
                                  .ldb = b.row_stride,
                                  .ldc = c.row_stride,
                                  .batch = size.batch,
                                  .heads = size.heads,
                                  .a_batch = a.batch_stride,
                                  .b_batch = b.batch_stride,
                                  .c_batch = c.batch_stride,
                                  .a_head = a.head_stride,
                                  .b_head = b.head_stride,
                                  .c_head = c.head_stride,
                                  .alpha = scale};
    NPU_LAUNCH(npu, matmul, size.m * size.n * size.k * size.batch * size.heads / 8, args);
    op_end(npu, TENSORS(c.tensor));
}

void op_causal_mask_(struct npu *npu, struct tensor *scores, int64_t matrices, int64_t rows, int64_t cols,
                     int64_t first)
{
    op_begin(npu, SHORT(MASKED_FILL), TENSORS(scores));
    struct tk_causal_mask_args args = {.s = scores->f32,
                                       .batch = (uint64_t)matrices,
                                       .rows = (uint64_t)rows,
                                       .cols = (uint64_t)cols,
                                       .first = first,
                                       .value = -1e30};
    NPU_LAUNCH(npu, causal_mask, scores->count, args);
    op_end(npu, TENSORS(scores));
}

struct tensor *op_softmax(struct npu *npu, const struct tensor *x)
{
    op_begin(npu, SHORT(SOFTMAX), TENSORS(x));
    struct tensor *y = tensor_like(npu, x);
    struct tk_softmax_args args = {.x = x->f32, .y = y->f32, .rows = rows_of(x), .cols = cols_of(x)};
    NPU_LAUNCH(npu, softmax, 4 * x->count, args);
    op_end(npu, TENSORS(y));
    return y;
}

struct tensor *op_softmax_backward(struct npu *npu, const struct tensor *dy, const struct tensor *y)
{
    op_begin(npu, SHORT(SOFTMAX_BACKWARD), TENSORS(dy, y));
    struct tensor *dx = tensor_like(npu, y);
    struct tk_softmax_grad_args args = {
        .dy = dy->f32, .y = y->f32, .dx = dx->f32, .rows = rows_of(y), .cols = cols_of(y)};
    NPU_LAUNCH(npu, softmax_grad, 2 * y->count, args);
    op_end(npu, TENSORS(dx));
    return dx;
}

struct tensor *op_gelu(struct npu *npu, const struct tensor *x)
{
    op_begin(npu, SHORT(GELU), TENSORS(x));
    struct tensor *y = tensor_like(npu, x);
    struct tk_gelu_args args = {.x = x->f32, .y = y->f32, .count = x->count};
    NPU_LAUNCH(npu, gelu, 4 * x->count, args);
    op_end(npu, TENSORS(y));
    return y;
}

struct tensor *op_gelu_backward(struct npu *npu, const struct tensor *dy, const struct tensor *x)
{
    op_begin(npu, SHORT(GELU_BACKWARD), TENSORS(dy, x));
    struct tensor *dx = tensor_like(npu, x);
    struct tk_gelu_grad_args args = {.dy = dy->f32, .x = x->f32, .dx = dx->f32, .count = x->count};
    NPU_LAUNCH(npu, gelu_grad, 4 * x->count, args);
    op_end(npu, TENSORS(dx));
    return dx;
}

static void launch_add(struct npu *npu, const struct tensor *x, const struct tensor *y, struct tensor *z)
{
    struct tk_add_args args = {.x = x->f32, .y = y->f32, .z = z->f32, .count = x->count, .alpha = 1.0, .beta = 1.0};
    NPU_LAUNCH(npu, add, x->count, args);
}

struct tensor *op_add(struct npu *npu, const struct tensor *x, const struct tensor *y)
{
    op_begin(npu, SHORT(ADD), TENSORS(x, y));
    struct tensor *z = tensor_like(npu, x);
    launch_add(npu, x, y, z);
    op_end(npu, TENSORS(z));
    return z;
}

void op_add_(struct npu *npu, struct tensor *x, const struct tensor *y)
{
    op_begin(npu, SHORT(ADD_INPLACE), TENSORS(y));
    launch_add(npu, x, y, x);
    op_end(npu, TENSORS(x));
}

struct tensor *op_cross_entropy(struct npu *npu, const struct tensor *logits, const struct tensor *targets,
                                struct tensor **dlogits)
{
    uint64_t rows = rows_of(logits), classes = cols_of(logits);
    op_begin(npu, SHORT(CROSS_ENTROPY), TENSORS(logits, targets));
    struct tensor *loss = TENSOR(npu, 1);
    if (dlogits != NULL) {
        *dlogits = tensor_like(npu, logits);
    }
    void *row_loss = NULL; /* only needed between the two kernels: scratch memory of the stream */
    check_pool(npool_workspace_get(npu->workspace, &row_loss, rows * sizeof(float), npu->stream), "workspace");
    struct tk_cross_entropy_args args = {.logits = logits->f32,
                                         .targets = targets->i32,
                                         .row_loss = row_loss,
                                         .dlogits = dlogits != NULL ? (*dlogits)->f32 : NULL,
                                         .rows = rows,
                                         .classes = classes,
                                         .grad_scale = 1.0};
    NPU_LAUNCH(npu, cross_entropy, 4 * logits->count, args);
    struct tk_cross_entropy_mean_args mean = {
        .row_loss = row_loss, .targets = targets->i32, .loss = loss->f32, .rows = rows, .classes = classes};
    NPU_LAUNCH(npu, cross_entropy_mean, 1, mean);
    check_pool(npool_workspace_put(npu->workspace), "workspace");
    op_end(npu, TENSORS(loss, dlogits != NULL ? *dlogits : NULL));
    return loss;
}

struct tensor *op_argmax(struct npu *npu, const struct tensor *x)
{
    op_begin(npu, SHORT(ARGMAX), TENSORS(x));
    struct tensor *index = INT_TENSOR(npu, (int64_t)rows_of(x));
    struct tk_argmax_args args = {.x = x->f32, .index = index->i32, .rows = rows_of(x), .cols = cols_of(x)};
    NPU_LAUNCH(npu, argmax, x->count, args);
    op_end(npu, TENSORS(index));
    return index;
}

void op_adamw_(struct npu *npu, struct tensor *param, const struct tensor *grad, struct tensor *m, struct tensor *v,
               const struct adam *adam)
{
    op_begin(npu, SHORT(ADAMW), TENSORS(grad));
    struct tk_adamw_args args = {.param = param->f32,
                                 .grad = grad->f32,
                                 .m = m->f32,
                                 .v = v->f32,
                                 .count = param->count,
                                 .step = adam->step,
                                 .decoupled = 1,
                                 .lr = adam->lr,
                                 .beta1 = 0.9,
                                 .beta2 = 0.99,
                                 .eps = 1e-8,
                                 .weight_decay = adam->weight_decay,
                                 .grad_scale = adam->grad_scale};
    NPU_LAUNCH(npu, adamw, 2 * param->count, args);
    op_end(npu, TENSORS(param, m, v));
}
