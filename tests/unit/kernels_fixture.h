/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of transformer_kernels.so: calls kernels as functions, in every variant that this machine can
 * run, and checks that results are bit-equal for any number of blocks. */
#ifndef KERNELS_FIXTURE_H
#define KERNELS_FIXTURE_H

#include "base/macros.h"
#include "softnpu/kernels/variant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- variants ---- */

typedef void (*kernel_fn)(const void *args, uint32_t block, uint32_t num_blocks);

#define DECLARE(name, key) TK_VARIANTS_OF(name)
TK_KERNELS(DECLARE)

enum kernel {
#define NUMBER(name, key) K_##name,
    TK_KERNELS(NUMBER)
};
static const kernel_fn base_kernels[] = {
#define BASE(name, key) (kernel_fn) name##_base,
    TK_KERNELS(BASE)};
#ifdef TK_HAVE_V3
static const kernel_fn v3_kernels[] = {
#define V3(name, key) (kernel_fn) name##_v3,
    TK_KERNELS(V3)};
#endif
static const kernel_fn *kernels = base_kernels;

static inline int use_base(void **state)
{
    kernels = base_kernels;
    return 0;
}

static inline int use_best(void **state)
{
#ifdef TK_HAVE_V3
    kernels = tk_machine_is_v3() ? v3_kernels : base_kernels;
#endif
    return 0;
}

static inline void launch(enum kernel kernel, const void *args, uint32_t blocks)
{
    for (uint32_t i = blocks; i-- > 0;) { /* the result must not depend on the order of blocks either */
        kernels[kernel](args, i, blocks);
    }
}

/* Runs with 1 block into `out`, then with several numbers of blocks, from the same start value of out, and compares. */
static inline void launch_invariant(enum kernel kernel, const void *args, void *out, size_t out_b)
{
    static const uint32_t counts[] = {2, 3, 7, 24, 1000};
    void *start = malloc(out_b + 1), *expected = malloc(out_b + 1);
    memcpy(start, out, out_b);
    launch(kernel, args, 1);
    memcpy(expected, out, out_b);
    for (size_t i = 0; i < MS_COUNT_OF(counts); i++) {
        memcpy(out, start, out_b);
        launch(kernel, args, counts[i]);
        assert_memory_equal(out, expected, out_b);
    }
    free(start);
    free(expected);
}
#define RUN(name, args, out, count) launch_invariant(K_##name, args, out, (count) * sizeof(*(out)))

/* ---- data ---- */

static uint32_t noise_state = 12345;

static inline float noise(void)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return (float)(noise_state >> 8) * 0x1p-23f - 1.0f;
}

static inline float *random_array(uint64_t n)
{
    float *x = malloc((n + 1) * sizeof *x);
    assert_non_null(x);
    for (uint64_t i = 0; i < n; i++) {
        x[i] = noise();
    }
    return x;
}

#define assert_near(got, want, tolerance)                                                                              \
    do {                                                                                                               \
        double g_ = (got), w_ = (want);                                                                                \
        if (!(fabs(g_ - w_) <= (tolerance) * (1 + fabs(w_)))) {                                                        \
            fail_msg("%s:%d: got %.9g, want %.9g", __FILE__, __LINE__, g_, w_);                                        \
        }                                                                                                              \
    } while (0)

#endif
