/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels used in training: forward against double-precision references, gradients against finite differences
 * of those references, optimizers against their papers. */
#include "kernels_fixture.h"

/* ---- element-wise ---- */

static double gelu_of(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static void activations_and_gradients(void **state)
{
    enum { N = 1061 };
    float *x = random_array(N), *dy = random_array(N), *y = random_array(N), *dx = random_array(N);
    for (int i = 0; i < N; i++) {
        x[i] *= 6;
    }
    x[0] = 50;
    x[1] = -50;
    x[2] = 0;
    struct tk_gelu_args gelu = {x, y, N};
    RUN(gelu, &gelu, y, N);
    struct tk_gelu_grad_args gelu_grad = {dy, x, dx, N};
    RUN(gelu_grad, &gelu_grad, dx, N);
    for (int i = 0; i < N; i++) {
        const double h = 1e-5;
        assert_near(y[i], gelu_of(x[i]), 1e-6);
        assert_near(dx[i], (double)dy[i] * (gelu_of(x[i] + h) - gelu_of(x[i] - h)) / (2 * h), 2e-6);
    }
    struct tk_relu_args relu = {x, y, N};
    RUN(relu, &relu, y, N);
    struct tk_relu_grad_args relu_grad = {dy, x, dx, N};
    RUN(relu_grad, &relu_grad, dx, N);
    for (int i = 0; i < N; i++) {
        assert_true(y[i] == fmaxf(x[i], 0));
        assert_true(dx[i] == (x[i] > 0 ? dy[i] : 0));
    }
    /* The same in place. */
    launch(K_gelu, &(struct tk_gelu_args){x, y, N}, 3);
    launch(K_gelu, &(struct tk_gelu_args){x, x, N}, 3);
    assert_memory_equal(x, y, N * sizeof *x);
    free(x);
    free(y);
    free(dy);
    free(dx);
}

static void bias_and_gradient(void **state)
{
    enum { ROWS = 131, COLS = 71 };
    float *x = random_array(ROWS * COLS), *bias = random_array(COLS), *y = random_array(ROWS * COLS);
    float *dbias = random_array(COLS), old[COLS];
    memcpy(old, dbias, sizeof old);
    struct tk_bias_add_args add = {x, bias, y, ROWS, COLS};
    RUN(bias_add, &add, y, ROWS * COLS);
    struct tk_bias_grad_args grad = {x, dbias, ROWS, COLS, 1};
    RUN(bias_grad, &grad, dbias, COLS);
    for (int c = 0; c < COLS; c++) {
        double sum = 0;
        for (int r = 0; r < ROWS; r++) {
            assert_true(y[r * COLS + c] == x[r * COLS + c] + bias[c]);
            sum += x[r * COLS + c];
        }
        assert_near(dbias[c], old[c] + sum, 1e-5);
    }
    dbias[0] = NAN;
    grad.beta = 0;
    RUN(bias_grad, &grad, dbias, COLS);
    assert_false(isnan(dbias[0]));
    free(x);
    free(bias);
    free(y);
    free(dbias);
}

/* ---- rows ---- */

static void softmax_of(const float *x, double *y, int n)
{
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++) {
        top = fmax(top, x[i]);
    }
    for (int i = 0; i < n; i++) {
        sum += y[i] = exp(x[i] - top);
    }
    for (int i = 0; i < n; i++) {
        y[i] /= sum;
    }
}

static void softmax_and_gradient(void **state)
{
    enum { ROWS = 29, COLS = 67 };
    float *x = random_array(ROWS * COLS), *y = random_array(ROWS * COLS);
    float *dy = random_array(ROWS * COLS), *dx = random_array(ROWS * COLS);
    for (int i = 0; i < ROWS * COLS; i++) {
        x[i] *= 20;
    }
    x[5] = 1000; /* no overflow */
    x[COLS + 3] = -1e30f;
    x[2 * COLS + 1] = -INFINITY;
    struct tk_softmax_args forward = {x, y, ROWS, COLS};
    RUN(softmax, &forward, y, ROWS * COLS);
    struct tk_softmax_grad_args backward = {dy, y, dx, ROWS, COLS};
    RUN(softmax_grad, &backward, dx, ROWS * COLS);
    for (int r = 0; r < ROWS; r++) {
        double p[COLS], dot = 0;
        softmax_of(x + r * COLS, p, COLS);
        for (int c = 0; c < COLS; c++) {
            assert_near(y[r * COLS + c], p[c], 1e-6);
            dot += p[c] * dy[r * COLS + c];
        }
        for (int c = 0; c < COLS; c++) {
            assert_near(dx[r * COLS + c], p[c] * (dy[r * COLS + c] - dot), 1e-6);
        }
    }
    free(x);
    free(y);
    free(dy);
    free(dx);
}

static void causal_mask_hides_the_future(void **state)
{
    enum { BATCH = 2, ROWS = 3, COLS = 5 };
    float s[BATCH * ROWS * COLS] = {0};
    struct tk_causal_mask_args args = {s, BATCH, ROWS, COLS, 2, -7};
    RUN(causal_mask, &args, s, MS_COUNT_OF(s));
    for (int b = 0; b < BATCH; b++) {
        for (int i = 0; i < ROWS; i++) {
            for (int j = 0; j < COLS; j++) {
                assert_true(s[(b * ROWS + i) * COLS + j] == (j > i + 2 ? -7.0f : 0.0f));
            }
        }
    }
}

/* Weighted sum of the outputs of layer norm in double precision, for finite differences. */
static double norm_objective(const double *x, const double *gamma, const double *beta, const float *weight, int n)
{
    double mean = 0, variance = 0, total = 0;
    for (int i = 0; i < n; i++) {
        mean += x[i] / n;
    }
    for (int i = 0; i < n; i++) {
        variance += (x[i] - mean) * (x[i] - mean) / n;
    }
    for (int i = 0; i < n; i++) {
        total += weight[i] * ((x[i] - mean) / sqrt(variance + 1e-5) * gamma[i] + beta[i]);
    }
    return total;
}

static void layer_norm_and_gradients(void **state)
{
    enum { ROWS = 70, COLS = 75 };
    float *x = random_array(ROWS * COLS), *gamma = random_array(COLS), *beta = random_array(COLS);
    float *y = random_array(ROWS * COLS), *dy = random_array(ROWS * COLS), *dx = random_array(ROWS * COLS);
    float mean[ROWS], rstd[ROWS], dgamma[COLS] = {0}, dbeta[COLS] = {0};
    struct tk_layer_norm_args forward = {x, gamma, beta, y, mean, rstd, ROWS, COLS, 1e-5};
    RUN(layer_norm, &forward, y, ROWS * COLS);
    struct tk_layer_norm_grad_args backward = {dy, x, gamma, mean, rstd, dx, ROWS, COLS, 0};
    RUN(layer_norm_grad, &backward, dx, ROWS * COLS);
    struct tk_layer_norm_param_grad_args params = {dy, x, mean, rstd, dgamma, dbeta, ROWS, COLS, 0};
    RUN(layer_norm_param_grad, &params, dgamma, COLS);
    RUN(layer_norm_param_grad, &params, dbeta, COLS);

    double want_gamma[COLS] = {0}, want_beta[COLS] = {0}, g[COLS], b[COLS];
    for (int c = 0; c < COLS; c++) {
        g[c] = gamma[c];
        b[c] = beta[c];
    }
    for (int r = 0; r < ROWS; r++) {
        double row[COLS];
        const double h = 1e-5;
        for (int c = 0; c < COLS; c++) {
            row[c] = x[r * COLS + c];
        }
        for (int c = 0; c < COLS; c++) {
            float unit[COLS] = {0};
            unit[c] = 1;
            assert_near(y[r * COLS + c], norm_objective(row, g, b, unit, COLS), 1e-5);
            double here = row[c];
            row[c] = here + h;
            double above = norm_objective(row, g, b, dy + r * COLS, COLS);
            row[c] = here - h;
            double below = norm_objective(row, g, b, dy + r * COLS, COLS);
            row[c] = here;
            assert_near(dx[r * COLS + c], (above - below) / (2 * h), 1e-4);
            want_gamma[c] += ((y[r * COLS + c] - b[c]) / g[c]) * dy[r * COLS + c];
            want_beta[c] += dy[r * COLS + c];
        }
    }
    for (int c = 0; c < COLS; c++) {
        assert_near(dgamma[c], want_gamma[c], 1e-3);
        assert_near(dbeta[c], want_beta[c], 1e-5);
    }

    /* Adding to an existing gradient; without gamma and beta. */
    float *before = malloc(ROWS * COLS * sizeof *before);
    memcpy(before, dx, ROWS * COLS * sizeof *before);
    backward.accumulate = 1;
    RUN(layer_norm_grad, &backward, dx, ROWS * COLS);
    for (int i = 0; i < ROWS * COLS; i++) {
        assert_near(dx[i], 2.0 * before[i], 1e-6);
    }
    struct tk_layer_norm_args plain = {.x = x, .y = y, .rows = ROWS, .cols = COLS, .eps = 1e-5};
    RUN(layer_norm, &plain, y, ROWS * COLS);
    for (int i = 0; i < ROWS * COLS; i++) {
        assert_near(y[i], ((double)x[i] - mean[i / COLS]) * rstd[i / COLS], 1e-5);
    }
    free(before);
    free(x);
    free(gamma);
    free(beta);
    free(y);
    free(dy);
    free(dx);
}

static void embedding_and_gradient(void **state)
{
    enum { COUNT = 12, VOCAB = 7, DIM = 37, PERIOD = 4 };
    const int32_t ids[COUNT] = {0, 3, 6, 3, -1, 7, 2, 3, 1 << 30, 5, 5, 0};
    float *table = random_array(VOCAB * DIM), *positions = random_array(PERIOD * DIM), *y = random_array(COUNT * DIM);
    struct tk_embedding_args forward = {table, ids, positions, y, COUNT, VOCAB, DIM, PERIOD};
    RUN(embedding, &forward, y, COUNT * DIM);
    float *dy = random_array(COUNT * DIM), dtable[VOCAB * DIM] = {0}, dpositions[PERIOD * DIM] = {0};
    struct tk_embedding_grad_args backward = {dy, ids, dtable, dpositions, COUNT, VOCAB, DIM, PERIOD};
    RUN(embedding_grad, &backward, dtable, VOCAB * DIM);
    memset(dpositions, 0, sizeof dpositions);
    RUN(embedding_grad, &backward, dpositions, PERIOD * DIM);
    double want[VOCAB * DIM] = {0}, want_positions[PERIOD * DIM] = {0};
    for (int i = 0; i < COUNT; i++) {
        bool known = ids[i] >= 0 && ids[i] < VOCAB;
        for (int c = 0; c < DIM; c++) {
            float position = positions[i % PERIOD * DIM + c];
            assert_true(y[i * DIM + c] == (known ? table[ids[i] * DIM + c] + position : position));
            if (known) {
                want[ids[i] * DIM + c] += dy[i * DIM + c];
            }
            want_positions[i % PERIOD * DIM + c] += dy[i * DIM + c];
        }
    }
    /* The launches for dpositions also added to dtable: compare a fresh one. */
    memset(dtable, 0, sizeof dtable);
    backward.dpositions = NULL;
    launch(K_embedding_grad, &backward, 3);
    for (int i = 0; i < VOCAB * DIM; i++) {
        assert_near(dtable[i], want[i], 1e-6);
    }
    for (int i = 0; i < PERIOD * DIM; i++) {
        assert_near(dpositions[i], want_positions[i], 1e-6);
    }
    free(table);
    free(positions);
    free(y);
    free(dy);
}

static void cross_entropy_and_gradient(void **state)
{
    enum { ROWS = 21, CLASSES = 301 };
    float *x = random_array(ROWS * CLASSES), *dx = random_array(ROWS * CLASSES), row_loss[ROWS], loss;
    int32_t targets[ROWS];
    for (int i = 0; i < ROWS * CLASSES; i++) {
        x[i] *= 8;
    }
    for (int r = 0; r < ROWS; r++) {
        targets[r] = r * 13 % CLASSES;
    }
    targets[4] = -100;
    targets[5] = CLASSES;
    struct tk_cross_entropy_args args = {x, targets, row_loss, dx, ROWS, CLASSES, 2};
    RUN(cross_entropy, &args, dx, ROWS * CLASSES);
    RUN(cross_entropy, &args, row_loss, ROWS);
    struct tk_cross_entropy_mean_args mean = {row_loss, targets, &loss, ROWS, CLASSES};
    RUN(cross_entropy_mean, &mean, &loss, 1);
    double total = 0;
    for (int r = 0; r < ROWS; r++) {
        double p[CLASSES];
        softmax_of(x + r * CLASSES, p, CLASSES);
        bool valid = r != 4 && r != 5;
        double want = valid ? -log(p[targets[r]]) : 0;
        total += want;
        assert_near(row_loss[r], want, 2e-6);
        for (int c = 0; c < CLASSES; c++) {
            double slope = valid ? 2.0 / (ROWS - 2) * (p[c] - (c == targets[r])) : 0;
            assert_near(dx[r * CLASSES + c], slope, 1e-6);
        }
    }
    assert_near(loss, total / (ROWS - 2), 1e-6);
    free(x);
    free(dx);
}

/* ---- optimizers ---- */

static void adam_follows_the_paper(void **state)
{
    enum { N = 300 };
    for (int decoupled = 0; decoupled < 2; decoupled++) {
        float *p = random_array(3 * N), *g = random_array(N), *m = p + N,
              *v = p + 2 * N; /* one array: one comparison */
        memset(m, 0, 2 * N * sizeof *m);
        double P[N], M[N] = {0}, V[N] = {0};
        for (int i = 0; i < N; i++) {
            P[i] = p[i];
        }
        struct tk_adamw_args args = {p, g, m, v, N, 0, (uint64_t)decoupled, 0.01, 0.9, 0.999, 1e-8, 0.1, 0.5};
        for (args.step = 1; args.step <= 5; args.step++) {
            launch(K_adamw, &args, (uint32_t)args.step * 3);
            for (int i = 0; i < N; i++) {
                double grad = 0.5 * g[i] + (decoupled ? 0 : 0.1 * P[i]);
                M[i] = 0.9 * M[i] + 0.1 * grad;
                V[i] = 0.999 * V[i] + 0.001 * grad * grad;
                double mean = M[i] / (1 - pow(0.9, (double)args.step));
                double spread = V[i] / (1 - pow(0.999, (double)args.step));
                P[i] = P[i] * (decoupled ? 1 - 0.01 * 0.1 : 1) - 0.01 * mean / (sqrt(spread) + 1e-8);
            }
        }
        for (int i = 0; i < N; i++) {
            assert_near(p[i], P[i], 2e-6);
            assert_near(m[i], M[i], 1e-6);
            assert_near(v[i], V[i], 1e-6);
        }
        args.step = 6;
        RUN(adamw, &args, p, 3 * N);
        free(p);
        free(g);
    }
}

static void sgd_with_and_without_momentum(void **state)
{
    enum { N = 300 };
    float *p = random_array(N), *g = random_array(N), *velocity = calloc(N, sizeof *velocity), old[N];
    memcpy(old, p, sizeof old);
    struct tk_sgd_args args = {p, g, NULL, N, 0.1, 0, 0.01};
    RUN(sgd, &args, p, N);
    for (int i = 0; i < N; i++) {
        assert_near(p[i], old[i] - 0.1 * (g[i] + 0.01 * old[i]), 1e-6);
    }
    memcpy(p, old, sizeof old);
    args = (struct tk_sgd_args){p, g, velocity, N, 0.1, 0.9, 0};
    launch(K_sgd, &args, 2);
    launch(K_sgd, &args, 2);
    for (int i = 0; i < N; i++) {
        assert_near(velocity[i], 1.9 * g[i], 1e-6);
        assert_near(p[i], old[i] - 0.1 * g[i] - 0.1 * 1.9 * g[i], 1e-6);
    }
    free(p);
    free(g);
    free(velocity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_and_gradients),     cmocka_unit_test(bias_and_gradient),
        cmocka_unit_test(softmax_and_gradient),          cmocka_unit_test(causal_mask_hides_the_future),
        cmocka_unit_test(layer_norm_and_gradients),      cmocka_unit_test(embedding_and_gradient),
        cmocka_unit_test(cross_entropy_and_gradient),    cmocka_unit_test(adam_follows_the_paper),
        cmocka_unit_test(sgd_with_and_without_momentum),
    };
    int failed = cmocka_run_group_tests_name("kernels of training, base", tests, use_base, NULL);
    return failed + cmocka_run_group_tests_name("kernels of training, best of this machine", tests, use_best, NULL);
}
