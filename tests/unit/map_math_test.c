/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions of the element-wise kernels against the C library in double precision, in units in the last place. */
#include "softnpu/aclnn/kernels/map_math.h"

#include "base/macros.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SAMPLES = 200000 };

/* The distance of a float from the exact value; 0 for equal infinities and for two NaN. */
static double distance(float got, double want)
{
    const float nearest = (float)want;
    if (isnan(nearest) || isnan(got)) {
        return isnan(nearest) && isnan(got) ? 0 : INFINITY;
    }
    if (isinf(nearest) || isinf(got)) {
        return got == nearest ? 0 : isinf(nearest) && fabsf(got) > 3.4e38f ? 1 : INFINITY;
    }
    int exponent;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

struct function {
    const char *name;
    float (*single)(float x);
    double (*exact)(double x);
    float low, high;
    double ulps;
};

static const struct function functions[] = {
    {"exp", exp_f32, exp, -103, 89, 2},
    {"exp2", exp2_f32, exp2, -149, 129, 1},
    {"expm1", expm1_f32, expm1, -120, 89, 2},
    {"log", log_f32, log, 0, 3e38f, 1.5},
    {"log near 1", log_f32, log, 0, 4, 1.5},
    {"log2", log2_f32, log2, 0, 4, 2},
    {"log10", log10_f32, log10, 0, 4, 2},
    {"log1p", log1p_f32, log1p, -1, 4, 2},
    {"log1p on the unit interval", log1p_unit_f32, log1p, 0, 1, 2},
    {"sin", sin_f32, sin, -100, 100, 2},
    {"sin of large numbers", sin_f32, sin, -1e6f, 1e6f, 2},
    {"cos", cos_f32, cos, -100, 100, 2},
    {"tan", tan_f32, tan, -100, 100, 4},
    {"asin", asin_f32, asin, -1, 1, 1},
    {"acos", acos_f32, acos, -1, 1, 1},
    {"atan", atan_f32, atan, -50, 50, 1},
    {"sinh", sinh_f32, sinh, -89, 89, 1},
    {"cosh", cosh_f32, cosh, -89, 89, 1},
    {"tanh", tanh_f32, tanh, -15, 15, 3},
    {"asinh", asinh_f32, asinh, -50, 50, 1},
    {"acosh", acosh_f32, acosh, 1, 50, 1},
    {"atanh", atanh_f32, atanh, -1, 1, 1},
    {"erf", erf_f32, erf, -5, 5, 4},
    {"erfc", erfc_f32, erfc, -5, 10, 1},
};

static void functions_are_exact_to_a_few_ulps(void **state)
{
    (void)state;
    for (size_t i = 0; i < MS_COUNT_OF(functions); i++) {
        const struct function *f = &functions[i];
        for (int k = 0; k <= SAMPLES; k++) {
            const float x = f->low + (f->high - f->low) * ((float)k / SAMPLES);
            const double off = distance(f->single(x), f->exact((double)x));
            if (off > f->ulps) {
                fail_msg("%s(%.9g) = %.9g is %.2f ulp from %.17g", f->name, (double)x, (double)f->single(x), off,
                         f->exact((double)x));
            }
        }
    }
}

static const float special[] = {0,     -0.0f,    1,         -1,  2,      -2,     3,     -3,       0.5f,
                                -0.5f, INFINITY, -INFINITY, NAN, 1e-40f, 1e-20f, 1e20f, 16777217, 16777216};

static void special_values_are_those_of_the_c_library(void **state)
{
    (void)state;
    for (size_t i = 0; i < MS_COUNT_OF(functions); i++) {
        for (size_t k = 0; k < MS_COUNT_OF(special); k++) {
            const struct function *f = &functions[i];
            const double want = f->exact((double)special[k]);
            if (f->single == log1p_unit_f32 && !(special[k] >= 0 && special[k] <= 1)) {
                continue;
            }
            if (fabsf(special[k]) > 1e15f && !isinf(special[k])) {
                continue; /* too large for a reduction by pi */
            }
            if (!(distance(f->single(special[k]), want) <= 4)) {
                fail_msg("%s(%g) = %g, expected %g", f->name, (double)special[k], (double)f->single(special[k]), want);
            }
        }
    }
}

static void powers_and_angles_of_special_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < MS_COUNT_OF(special); i++) {
        for (size_t k = 0; k < MS_COUNT_OF(special); k++) {
            const float x = special[i], y = special[k];
            const double power = pow((double)x, (double)y), angle = atan2((double)x, (double)y);
            const float p = pow_f32(x, y), a = atan2_f32(x, y);
            if (!(distance(p, power) <= 1) || (!isnan(p) && signbit(p) != signbit((float)power))) {
                fail_msg("pow(%g, %g) = %g, expected %g", (double)x, (double)y, (double)p, power);
            }
            if (!(distance(a, angle) <= 1) || (!isnan(a) && signbit(a) != signbit((float)angle))) {
                fail_msg("atan2(%g, %g) = %g, expected %g", (double)x, (double)y, (double)a, angle);
            }
        }
    }
}

static void integers_do_not_trap(void **state)
{
    (void)state;
    assert_true(special_quotient(7, 0) == -1 && special_rest(7, 0) == 0);
    assert_true(special_quotient(INT64_MAX, -1) == -INT64_MAX && special_rest(INT64_MIN, -1) == 0);
    assert_true(special_floor_quotient(-7, 2) == -4 && special_floor_rest(-7, 2) == 1);
    assert_true(special_floor_quotient(7, -2) == -4 && special_floor_rest(7, -2) == -1);
    assert_true(special_power(3, 4) == 81 && special_power(-1, -3) == -1 && special_power(2, -1) == 0);
    assert_true(special_gcd(12, -18) == 6 && special_gcd(0, 0) == 0);
}

static void inverse_error_function_inverts(void **state)
{
    (void)state;
    for (double y = -0.999; y < 1; y += 0.001) {
        assert_true(fabs(erf(special_erfinv(y)) - y) < 1e-14);
    }
    assert_true(isinf(special_erfinv(1)) && isnan(special_erfinv(1.5)));
    assert_true(fabs(special_digamma(1) + 0.57721566490153286) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_exact_to_a_few_ulps),
        cmocka_unit_test(special_values_are_those_of_the_c_library),
        cmocka_unit_test(powers_and_angles_of_special_values),
        cmocka_unit_test(integers_do_not_trap),
        cmocka_unit_test(inverse_error_function_inverts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
