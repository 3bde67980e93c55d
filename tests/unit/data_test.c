/* SPDX-License-Identifier: Apache-2.0 */
/* Data buffers, sizes of data types, half precision: a round trip of every half value, and rounding compared with
 * double-precision arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "acl/acl.h"
#include "base/half.h"

#include <math.h>

static void every_half_round_trips(void **state)
{
    (void)state;
    for (uint32_t h = 0; h <= 0xffff; h++) {
        float f = aclFloat16ToFloat((aclFloat16)h);
        uint32_t exponent = h >> 10 & 0x1f, mantissa = h & 0x3ff;
        if (exponent == 0x1f && mantissa != 0) {
            assert_true(isnan(f));
            assert_true(isnan(aclFloat16ToFloat(aclFloatToFloat16(f))));
            continue;
        }
        double expected = exponent == 0x1f ? INFINITY
                          : exponent == 0  ? ldexp(mantissa, -24)
                                           : ldexp(1024 + mantissa, (int)exponent - 25);
        expected = h & 0x8000 ? -expected : expected;
        assert_true((double)f == expected && (signbit(f) != 0) == (h >> 15 != 0));
        assert_int_equal(aclFloatToFloat16(f), h);
    }
}

/* The value that must result from rounding: nearest, ties to even. */
static uint16_t nearest(float value)
{
    uint16_t low = 0, high = 0x7c00; /* magnitudes are ordered like integers */
    double magnitude = fabs((double)value);
    while (high - low > 1) {
        uint16_t mid = (uint16_t)((low + high) / 2);
        if ((double)ms_half_to_float(mid) <= magnitude) {
            low = mid;
        } else {
            high = mid;
        }
    }
    double below = ms_half_to_float(low), above = high == 0x7c00 ? 65536.0 : (double)ms_half_to_float(high);
    uint16_t rounded = magnitude - below < above - magnitude   ? low
                       : magnitude - below > above - magnitude ? high
                                                               : (uint16_t)(low & 1 ? high : low);
    return (uint16_t)(rounded | (signbit(value) ? 0x8000 : 0));
}

static void rounding(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        /* Exponents around the range of half precision, all mantissas. */
        uint32_t exponent = 95 + (uint32_t)(random >> 40) % 50;
        float f = ms_bits_float((uint32_t)(random & 0x807fffff) | exponent << 23);
        assert_int_equal(aclFloatToFloat16(f), fabsf(f) >= 65520.0f ? (signbit(f) ? 0xfc00 : 0x7c00) : nearest(f));
    }
    static const float ties[] = {2049, 2051, 0x1p-25f, 0x1.8p-24f, 65519.996f, 65520.0f, -0.0f, 1e-30f};
    static const uint16_t results[] = {0x6800, 0x6802, 0, 2, 0x7bff, 0x7c00, 0x8000, 0};
    for (size_t i = 0; i < sizeof(ties) / sizeof(ties[0]); i++) {
        assert_int_equal(aclFloatToFloat16(ties[i]), results[i]);
    }
    assert_int_equal(aclFloatToFloat16(INFINITY), 0x7c00);
    assert_int_equal(aclFloatToFloat16(-INFINITY), 0xfc00);
    assert_int_equal(ms_float_to_bf16(ms_bits_float(0x3f808000)), 0x3f80);
    assert_int_equal(ms_float_to_bf16(ms_bits_float(0x3f818000)), 0x3f82);
    assert_int_equal(ms_float_to_bf16(ms_bits_float(0x7f7fffff)), 0x7f80);
    assert_true(isnan(ms_bf16_to_float(ms_float_to_bf16(ms_bits_float(0x7f800001)))));
}

static void sizes(void **state)
{
    (void)state;
    static const struct {
        aclDataType type;
        size_t size_b;
    } known[] = {{ACL_FLOAT, 4},  {ACL_FLOAT16, 2}, {ACL_INT8, 1},      {ACL_INT32, 4},       {ACL_UINT8, 1},
                 {ACL_INT16, 2},  {ACL_UINT16, 2},  {ACL_UINT32, 4},    {ACL_INT64, 8},       {ACL_UINT64, 8},
                 {ACL_DOUBLE, 8}, {ACL_BOOL, 1},    {ACL_COMPLEX64, 8}, {ACL_COMPLEX128, 16}, {ACL_BF16, 2}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_int_equal(aclDataTypeSize(known[i].type), known[i].size_b);
    }
    assert_int_equal(aclDataTypeSize(ACL_DT_UNDEFINED), 0);
    assert_int_equal(aclDataTypeSize((aclDataType)12345), 0);
}

static void buffers(void **state)
{
    (void)state;
    int x, y;
    aclDataBuffer *b = aclCreateDataBuffer(&x, (size_t)5 << 32);
    assert_non_null(b);
    assert_ptr_equal(aclGetDataBufferAddr(b), &x);
    assert_int_equal(aclGetDataBufferSizeV2(b), (size_t)5 << 32);
    assert_int_equal(aclUpdateDataBuffer(b, &y, 7), ACL_SUCCESS);
    assert_ptr_equal(aclGetDataBufferAddr(b), &y);
    assert_int_equal(aclGetDataBufferSize(b), 7);
    assert_int_equal(aclDestroyDataBuffer(b), ACL_SUCCESS);
    assert_int_equal(aclDestroyDataBuffer(b), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclUpdateDataBuffer(b, &y, 7), ACL_ERROR_INVALID_PARAM);
    assert_null(aclGetDataBufferAddr(b));
    assert_null(aclGetDataBufferAddr(NULL));
    assert_int_equal(aclGetDataBufferSizeV2((aclDataBuffer *)&x), 0);
    assert_int_equal(aclDestroyDataBuffer(NULL), ACL_ERROR_INVALID_PARAM);
    b = aclCreateDataBuffer(NULL, 0);
    assert_non_null(b);
    assert_int_equal(aclDestroyDataBuffer(b), ACL_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_round_trips),
        cmocka_unit_test(rounding),
        cmocka_unit_test(sizes),
        cmocka_unit_test(buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
