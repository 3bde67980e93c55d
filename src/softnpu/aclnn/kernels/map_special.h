/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the C library lacks, in double precision, one element at a time. */
#ifndef SOFTNPU_ACLNN_MAP_SPECIAL_H
#define SOFTNPU_ACLNN_MAP_SPECIAL_H

#include <math.h>
#include <stdint.h>

/* Inverse of erf: a rough value from its logarithmic form, then Newton's method with the second derivative. */
static inline double special_erfinv(double y)
{
    const double a = fabs(y);
    if (!(a < 1)) {
        return a == 1 ? copysign((double)INFINITY, y) : (double)NAN;
    }
    if (a < 1e-8) {
        return y * 0.88622692545275801; /* sqrt(pi) / 2 */
    }
    const double l = log1p(-a * a), b = 4.3307467508 + 0.5 * l; /* 2 / (pi * 0.147) */
    double x = sqrt(sqrt(b * b - l / 0.147) - b);
    for (int i = 0; i < 3; i++) {
        /* Near 1 the difference of erfc keeps its digits. */
        const double error = a < 0.5 ? erf(x) - a : (1 - a) - erfc(x);
        const double step = error / (1.1283791670955126 * exp(-x * x));
        x -= step / (1 + x * step);
    }
    return copysign(x, y);
}

static inline double special_lgamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* Recurrence up to 10, then the asymptotic series; reflection for negative numbers. Poles give NaN, 0 an infinity of
 * the opposite sign. */
static inline double special_digamma(double x)
{
    double sum = 0;
    if (x == 0) {
        return copysign((double)INFINITY, -x);
    }
    if (x < 0) {
        if (x == floor(x)) {
            return (double)NAN;
        }
        const double part = x - floor(x);
        sum = -3.1415926535897931 / tan(3.1415926535897931 * part);
        x = 1 - x;
    }
    for (; x < 10; x++) {
        sum -= 1 / x;
    }
    const double z = 1 / (x * x);
    const double tail =
        z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (5.0 / 660 - z * 691.0 / 32760)))));
    return sum + log(x) - 0.5 / x - tail;
}

/* x^n in 64-bit integers (wrapping). A negative power of anything but 1 and -1 is 0. */
static inline int64_t special_power(int64_t x, int64_t n)
{
    if (n < 0) {
        return x == 1 ? 1 : x == -1 ? (n % 2 == 0 ? 1 : -1) : 0;
    }
    int64_t result = 1;
    for (; n > 0; n >>= 1, x *= x) {
        result *= n & 1 ? x : 1;
    }
    return result;
}

/* Division of integers; nothing traps: a divisor of 0 gives -1 as quotient and 0 as remainder. */
static inline int64_t special_quotient(int64_t x, int64_t y)
{
    return y == 0 ? -1 : y == -1 ? -x : x / y;
}

static inline int64_t special_rest(int64_t x, int64_t y)
{
    return y == 0 || y == -1 ? 0 : x % y;
}

static inline int64_t special_floor_quotient(int64_t x, int64_t y)
{
    const int64_t rest = special_rest(x, y);
    return special_quotient(x, y) - (rest != 0 && (rest < 0) != (y < 0));
}

static inline int64_t special_floor_rest(int64_t x, int64_t y)
{
    const int64_t rest = special_rest(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static inline int64_t special_gcd(int64_t x, int64_t y)
{
    while (y != 0) {
        const int64_t rest = special_rest(x, y);
        x = y;
        y = rest;
    }
    return x < 0 ? -x : x;
}

#endif
