/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products, element-wise kernels, casts, moves, reductions and random numbers against double-precision
 * references. The exported side (names, tiling keys, table) is checked on the binary itself. */
#include "kernels_fixture.h"

#include <dlfcn.h>

/* ---- matmul ---- */

static void check_matmul(uint64_t m, uint64_t n, uint64_t k, int ta, int tb, double alpha, double beta, uint64_t batch,
                         uint64_t heads)
{
    uint64_t problems = batch * heads;
    int64_t lda = (int64_t)(ta ? m : k) + 3, ldb = (int64_t)(tb ? k : n) + 5, ldc = (int64_t)n + 1;
    uint64_t a_size = (uint64_t)lda * (ta ? k : m), b_size = (uint64_t)ldb * (tb ? n : k), c_size = (uint64_t)ldc * m;
    float *a = random_array(problems * a_size), *b = random_array(problems * b_size);
    float *c = random_array(problems * c_size);
    if (beta == 0) {
        for (uint64_t i = 0; i < problems * c_size; i++) {
            c[i] = NAN; /* must not be read */
        }
    }
    float *old = malloc(problems * c_size * sizeof *old + 1);
    memcpy(old, c, problems * c_size * sizeof *old);
    struct tk_matmul_args args = {.a = a,
                                  .b = b,
                                  .c = c,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .trans_a = (uint64_t)ta,
                                  .trans_b = (uint64_t)tb,
                                  .lda = lda,
                                  .ldb = ldb,
                                  .ldc = ldc,
                                  .batch = batch,
                                  .heads = heads,
                                  .a_batch = (int64_t)(heads * a_size),
                                  .b_batch = (int64_t)(heads * b_size),
                                  .c_batch = (int64_t)(heads * c_size),
                                  .a_head = (int64_t)a_size,
                                  .b_head = (int64_t)b_size,
                                  .c_head = (int64_t)c_size,
                                  .alpha = alpha,
                                  .beta = beta};
    RUN(matmul, &args, c, problems * c_size);
    for (uint64_t p = 0; p < problems; p++) {
        for (uint64_t i = 0; i < m; i++) {
            for (uint64_t j = 0; j < n; j++) {
                double sum = 0;
                for (uint64_t l = 0; l < k; l++) {
                    double x = a[p * a_size + (ta ? l * (uint64_t)lda + i : i * (uint64_t)lda + l)];
                    double y = b[p * b_size + (tb ? j * (uint64_t)ldb + l : l * (uint64_t)ldb + j)];
                    sum += x * y;
                }
                uint64_t at = p * c_size + i * (uint64_t)ldc + j;
                assert_near(c[at], alpha * sum + (beta != 0 ? beta * old[at] : 0), 2e-5);
            }
            /* The gap between rows stays untouched. */
            uint64_t gap = p * c_size + i * (uint64_t)ldc + n;
            assert_memory_equal(&c[gap], &old[gap], sizeof(float));
        }
    }
    free(a);
    free(b);
    free(c);
    free(old);
}

static void matmul_matches_reference(void **state)
{
    for (int transposes = 0; transposes < 4; transposes++) {
        int ta = transposes & 1, tb = transposes >> 1;
        check_matmul(1, 1, 1, ta, tb, 1, 0, 1, 1);
        check_matmul(3, 17, 5, ta, tb, 1, 0, 1, 1);
        check_matmul(6, 16, 8, ta, tb, 2, 1, 1, 1);
        check_matmul(13, 33, 70, ta, tb, -1.5, 0.5, 3, 2);
        check_matmul(1, 100, 300, ta, tb, 1, 0, 1, 1);  /* B read in place, two slices of k */
        check_matmul(130, 20, 259, ta, tb, 1, 1, 1, 1); /* two slices of rows and of k */
        check_matmul(7, 530, 10, ta, tb, 1, 0, 1, 1);   /* two slices of columns */
    }
    check_matmul(4, 4, 0, 0, 0, 1, 0, 1, 1); /* empty sum: zeros */
    check_matmul(4, 4, 0, 0, 0, 1, 2, 1, 1);
    check_matmul(8, 8, 8, 0, 0, 1, 0, 37, 1); /* more problems than blocks */
}

/* Two heads inside rows of [token, head, channel]: no transposition needed. */
static void matmul_reads_heads_in_place(void **state)
{
    enum { TOKENS = 5, HEADS = 2, DIM = 3 };
    float q[TOKENS * HEADS * DIM], k[TOKENS * HEADS * DIM], s[HEADS * TOKENS * TOKENS] = {0};
    for (int i = 0; i < TOKENS * HEADS * DIM; i++) {
        q[i] = noise();
        k[i] = noise();
    }
    struct tk_matmul_args args = {.a = q,
                                  .b = k,
                                  .c = s,
                                  .m = TOKENS,
                                  .n = TOKENS,
                                  .k = DIM,
                                  .trans_b = 1,
                                  .lda = HEADS * DIM,
                                  .ldb = HEADS * DIM,
                                  .ldc = TOKENS,
                                  .batch = 1,
                                  .heads = HEADS,
                                  .a_head = DIM,
                                  .b_head = DIM,
                                  .c_head = TOKENS * TOKENS,
                                  .alpha = 1};
    RUN(matmul, &args, s, MS_COUNT_OF(s));
    for (int h = 0; h < HEADS; h++) {
        for (int i = 0; i < TOKENS; i++) {
            for (int j = 0; j < TOKENS; j++) {
                double sum = 0;
                for (int d = 0; d < DIM; d++) {
                    sum += (double)q[(i * HEADS + h) * DIM + d] * (double)k[(j * HEADS + h) * DIM + d];
                }
                assert_near(s[(h * TOKENS + i) * TOKENS + j], sum, 1e-6);
            }
        }
    }
}

/* ---- element-wise ---- */

static void add_mul_scale(void **state)
{
    enum { N = 777 };
    float *x = random_array(N), *y = random_array(N), *z = random_array(N);
    struct tk_add_args add = {x, y, z, N, 0.5, -2};
    RUN(add, &add, z, N);
    for (int i = 0; i < N; i++) {
        assert_near(z[i], 0.5 * x[i] - 2.0 * y[i], 1e-6);
    }
    struct tk_mul_args mul = {x, y, z, N};
    RUN(mul, &mul, z, N);
    for (int i = 0; i < N; i++) {
        assert_true(z[i] == x[i] * y[i]);
    }
    struct tk_scale_args scale = {x, z, N, 3, 1};
    RUN(scale, &scale, z, N);
    for (int i = 0; i < N; i++) {
        assert_near(z[i], 3.0 * x[i] + 1, 1e-6);
    }
    free(x);
    free(y);
    free(z);
}

/* ---- types, moves, reductions ---- */

enum {
    FLOAT = 0,
    FLOAT16 = 1,
    INT8 = 2,
    INT32 = 3,
    UINT8 = 4,
    INT64 = 9,
    UINT64 = 10,
    DOUBLE = 11,
    BOOL = 12,
    BF16 = 27
};

static void cast_half_round_trip(void **state)
{
    uint16_t *half = malloc(65536 * 2), *back = malloc(65536 * 2);
    float *wide = malloc(65536 * 4);
    for (uint32_t i = 0; i < 65536; i++) {
        half[i] = (uint16_t)i;
    }
    static const int64_t types[] = {FLOAT16, BF16};
    for (int t = 0; t < 2; t++) {
        struct tk_cast_args widen = {half, wide, 65536, types[t], FLOAT}, narrow = {wide, back, 65536, FLOAT, types[t]};
        RUN(cast, &widen, wide, 65536);
        RUN(cast, &narrow, back, 65536);
        for (uint32_t i = 0; i < 65536; i++) {
            if (isnan(wide[i])) {
                continue; /* payloads may change, but it stays a NaN: checked by the exponent below */
            }
            assert_int_equal(back[i], half[i]);
        }
        /* Through double, by the general path: the same. */
        double *twice = malloc(65536 * 8);
        struct tk_cast_args to_double = {half, twice, 65536, types[t], DOUBLE};
        struct tk_cast_args from_double = {twice, back, 65536, DOUBLE, types[t]};
        RUN(cast, &to_double, twice, 65536);
        RUN(cast, &from_double, back, 65536);
        for (uint32_t i = 0; i < 65536; i++) {
            assert_true(isnan(twice[i]) ? isnan(wide[i]) : twice[i] == (double)wide[i]);
            assert_true(isnan(twice[i]) || back[i] == half[i]);
        }
        free(twice);
    }
    free(half);
    free(back);
    free(wide);
}

static void cast_rounds_and_saturates(void **state)
{
    const float in[] = {65504,      65519.996f,     65520,          1e-8f, 0x1p-24f,
                        0x1.8p-24f, 1.00048828125f, 1.00146484375f, NAN,   -0.0f};
    const uint16_t want[] = {0x7bff, 0x7bff, 0x7c00, 0, 1, 2, 0x3c00, 0x3c02, 0x7e00, 0x8000};
    uint16_t out[MS_COUNT_OF(in)];
    launch(K_cast, &(struct tk_cast_args){in, out, MS_COUNT_OF(in), FLOAT, FLOAT16}, 1);
    assert_memory_equal(out, want, sizeof want);

    const double reals[] = {-1.9, 1.9, 300, -300, 1e30, -1e30, NAN, 0.25};
    int8_t i8[8];
    uint64_t u64[8];
    uint8_t flags[8];
    launch(K_cast, &(struct tk_cast_args){reals, i8, 8, DOUBLE, INT8}, 2);
    assert_memory_equal(i8, ((int8_t[]){-1, 1, 127, -128, 127, -128, 0, 0}), 8);
    launch(K_cast, &(struct tk_cast_args){reals, u64, 8, DOUBLE, UINT64}, 2);
    assert_memory_equal(u64, ((uint64_t[]){0, 1, 300, 0, UINT64_MAX, 0, 0, 0}), sizeof u64);
    launch(K_cast, &(struct tk_cast_args){reals, flags, 8, DOUBLE, BOOL}, 2);
    assert_memory_equal(flags, ((uint8_t[]){1, 1, 1, 1, 1, 1, 1, 1}), 8);

    const int64_t whole[] = {-1, 256, INT64_MAX, 16777217};
    uint8_t u8[4];
    float f32[4];
    launch(K_cast, &(struct tk_cast_args){whole, u8, 4, INT64, UINT8}, 1);
    assert_memory_equal(u8, ((uint8_t[]){255, 0, 255, 1}), 4);
    launch(K_cast, &(struct tk_cast_args){whole, f32, 4, INT64, FLOAT}, 1);
    assert_memory_equal(f32, ((float[]){-1, 256, 0x1p63f, 16777216}), sizeof f32);

    /* A tie in float16 that only the bits beyond float32 decide. */
    const double tie = 1.00048828125 + 0x1p-40;
    uint16_t decided;
    launch(K_cast, &(struct tk_cast_args){&tie, &decided, 1, DOUBLE, FLOAT16}, 1);
    assert_int_equal(decided, 0x3c01);

    /* Unknown types do nothing. */
    memset(u8, 7, sizeof u8);
    launch(K_cast, &(struct tk_cast_args){whole, u8, 4, INT64, 29}, 1);
    launch(K_cast, &(struct tk_cast_args){whole, u8, 4, -1, UINT8}, 1);
    assert_memory_equal(u8, ((uint8_t[]){7, 7, 7, 7}), 4);
}

static void fill_copy_permute(void **state)
{
    uint8_t bytes[999];
    for (uint64_t element_b = 1; element_b <= 8; element_b *= 2) {
        memset(bytes, 0xee, sizeof bytes);
        uint64_t count = 900 / element_b, pattern = 0x1122334455667788u;
        struct tk_fill_args fill = {bytes, count, element_b, pattern};
        RUN(fill, &fill, bytes, sizeof bytes);
        for (uint64_t i = 0; i < sizeof bytes; i++) {
            assert_int_equal(bytes[i], i < count * element_b ? ((uint8_t *)&pattern)[i % element_b] : 0xee);
        }
    }
    uint8_t src[50 * 20], dst[50 * 30];
    for (size_t i = 0; i < sizeof src; i++) {
        src[i] = (uint8_t)(i * 7);
    }
    memset(dst, 0, sizeof dst);
    struct tk_copy2d_args copy = {src, dst, 50, 17, 20, 30};
    RUN(copy2d, &copy, dst, sizeof dst);
    for (int r = 0; r < 50; r++) {
        assert_memory_equal(dst + r * 30, src + r * 20, 17);
        assert_int_equal(dst[r * 30 + 17], 0);
    }
    struct tk_copy2d_args dense = {src, dst, 1, sizeof src, sizeof src, sizeof src};
    RUN(copy2d, &dense, dst, sizeof src);
    assert_memory_equal(dst, src, sizeof src);

    /* [2, 35, 3, 33] -> [2, 3, 35, 33] (heads) and -> [33, 3, 35, 2] (everything reversed). */
    float *x = random_array(2 * 35 * 3 * 33), *y = random_array(2 * 35 * 3 * 33);
    struct tk_permute_args heads = {x, y, 2, 3, 35, 33, 35 * 3 * 33, 33, 3 * 33, 1};
    RUN(permute, &heads, y, 2 * 35 * 3 * 33);
    struct tk_permute_args reversed = {x, y, 33, 3, 35, 2, 1, 33, 3 * 33, 35 * 3 * 33};
    for (int pass = 0; pass < 2; pass++) {
        const struct tk_permute_args *p = pass == 0 ? &heads : &reversed;
        RUN(permute, p, y, 2 * 35 * 3 * 33);
        uint64_t at = 0;
        for (uint64_t i = 0; i < p->d0; i++) {
            for (uint64_t j = 0; j < p->d1; j++) {
                for (uint64_t k = 0; k < p->d2; k++) {
                    for (uint64_t l = 0; l < p->d3; l++) {
                        assert_true(
                            y[at++] ==
                            x[i * (uint64_t)p->s0 + j * (uint64_t)p->s1 + k * (uint64_t)p->s2 + l * (uint64_t)p->s3]);
                    }
                }
            }
        }
    }
    free(x);
    free(y);
}

static void reductions(void **state)
{
    static const uint64_t shapes[][3] = {{1, 1000, 1}, {7, 13, 1}, {1, 50, 130}, {3, 20, 65}, {2, 0, 3}, {5, 1, 1}};
    for (size_t s = 0; s < MS_COUNT_OF(shapes); s++) {
        uint64_t outer = shapes[s][0], count = shapes[s][1], inner = shapes[s][2];
        float *x = random_array(outer * count * inner), *y = random_array(outer * inner);
        for (uint64_t op = 0; op <= TK_REDUCE_SUM_SQUARES; op++) {
            if (count == 0 && op == TK_REDUCE_MEAN) {
                continue;
            }
            struct tk_reduce_args args = {x, y, outer, count, inner, op};
            RUN(reduce, &args, y, outer * inner);
            for (uint64_t o = 0; o < outer; o++) {
                for (uint64_t i = 0; i < inner; i++) {
                    double sum = 0, squares = 0, top = -INFINITY, bottom = INFINITY;
                    for (uint64_t j = 0; j < count; j++) {
                        double v = x[(o * count + j) * inner + i];
                        sum += v;
                        squares += v * v;
                        top = fmax(top, v);
                        bottom = fmin(bottom, v);
                    }
                    const double want[] = {sum, sum / (double)count, top, bottom, squares};
                    double got = y[o * inner + i];
                    assert_true(got == want[op] || fabs(got - want[op]) < 1e-6 * (1 + fabs(want[op])));
                }
            }
        }
        free(x);
        free(y);
    }
    const float rows[] = {1, 3, 3, 0, 2, NAN, 9, 1};
    int32_t best[2];
    struct tk_argmax_args argmax = {rows, best, 2, 4};
    RUN(argmax, &argmax, best, 2);
    assert_int_equal(best[0], 1);
    assert_int_equal(best[1], 1);
}

/* ---- random ---- */

static void random_is_philox(void **state)
{
    /* Known answers published by the authors of Philox4x32-10: counter 0, key 0, words 6627e8d5 e169c58d bc57ac4c
     * 9b00dbd8. */
    static const uint32_t words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    float y[4];
    launch(K_random_uniform, &(struct tk_random_uniform_args){y, 4, 0, 0, 0, 1}, 1);
    for (int i = 0; i < 4; i++) {
        assert_true(y[i] == (float)(words[i] >> 8) * 0x1p-24f);
    }
}

static void random_has_the_right_moments(void **state)
{
    enum { N = 100003 };
    float *y = random_array(N);
    struct tk_random_uniform_args uniform = {y, N, 42, 0, -2, 3};
    RUN(random_uniform, &uniform, y, N);
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        assert_true(y[i] >= -2 && y[i] < 3);
        sum += y[i];
        squares += (y[i] - 0.5) * (y[i] - 0.5);
    }
    assert_true(fabs(sum / N - 0.5) < 0.02);
    assert_true(fabs(squares / N - 25.0 / 12) < 0.03);

    struct tk_random_normal_args normal = {y, N, 42, 0, 1, 2};
    RUN(random_normal, &normal, y, N);
    double moment[5] = {0};
    for (int i = 0; i < N; i++) {
        double z = (y[i] - 1) / 2;
        assert_true(fabs(z) < 7);
        for (int k = 1; k <= 4; k++) {
            moment[k] += pow(z, k) / N;
        }
    }
    assert_true(fabs(moment[1]) < 0.02);
    assert_true(fabs(moment[2] - 1) < 0.03);
    assert_true(fabs(moment[3]) < 0.06);
    assert_true(fabs(moment[4] - 3) < 0.2);

    /* An offset continues the sequence; another seed is another sequence. */
    float tail[8], other[8];
    launch(K_random_normal, &(struct tk_random_normal_args){tail, 8, 42, 25, 1, 2}, 1);
    assert_memory_equal(tail, y + 100, sizeof tail);
    launch(K_random_normal, &(struct tk_random_normal_args){other, 8, 43, 25, 1, 2}, 1);
    assert_memory_not_equal(tail, other, sizeof tail);
    free(y);
}

/* ---- bad input ---- */

/* All-zero arguments: every pointer NULL, every size 0. */
static void empty_arguments_do_nothing(void **state)
{
    static const uint64_t zeros[64];
    for (size_t i = 0; i < MS_COUNT_OF(base_kernels); i++) {
        launch((enum kernel)i, zeros, 3);
    }
    /* Sizes but no memory. */
    uint64_t sizes[64];
    for (size_t i = 0; i < MS_COUNT_OF(sizes); i++) {
        sizes[i] = i < 6 ? 0 : 4;
    }
    launch(K_matmul, sizes, 2);
    launch(K_layer_norm, sizes, 2);
    launch(K_layer_norm_grad, sizes, 2);
    launch(K_layer_norm_param_grad, sizes, 2);
}

static void binary_exports_names_keys_and_table(void **state)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/built-in/op_impl/ai_core/tbe/kernel/transformer_kernels.so",
             getenv("ASCEND_OPP_PATH"));
    void *binary = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (binary == NULL) {
        fail_msg("%s", dlerror());
    }
    const struct tk_kernel_info *table = dlsym(binary, "transformer_kernels_table");
    const uint64_t *count = dlsym(binary, "transformer_kernels_count");
    assert_non_null(table);
    assert_int_equal(*count, MS_COUNT_OF(base_kernels));
    for (uint64_t i = 0; i < *count; i++) {
        char keyed[128];
        snprintf(keyed, sizeof keyed, "%s_%llu", table[i].name, (unsigned long long)table[i].tiling_key);
        void *function = dlsym(binary, table[i].name);
        assert_non_null(function);
        assert_ptr_equal(dlsym(binary, keyed), function);
    }
    void (*mul)(void *, uint32_t, uint32_t) = dlsym(binary, "mul");
    float x = 3, y = 5, z = 0;
    mul(&(struct tk_mul_args){&x, &y, &z, 1}, 0, 1);
    assert_true(z == 15);
    mul(NULL, 0, 1);
    dlclose(binary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_matches_reference),
        cmocka_unit_test(matmul_reads_heads_in_place),
        cmocka_unit_test(add_mul_scale),
        cmocka_unit_test(cast_half_round_trip),
        cmocka_unit_test(cast_rounds_and_saturates),
        cmocka_unit_test(fill_copy_permute),
        cmocka_unit_test(reductions),
        cmocka_unit_test(random_is_philox),
        cmocka_unit_test(random_has_the_right_moments),
        cmocka_unit_test(empty_arguments_do_nothing),
        cmocka_unit_test(binary_exports_names_keys_and_table),
    };
    int failed = cmocka_run_group_tests_name("kernels, base", tests, use_base, NULL);
    return failed + cmocka_run_group_tests_name("kernels, best of this machine", tests, use_best, NULL);
}
