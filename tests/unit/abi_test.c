/* SPDX-License-Identifier: Apache-2.0 */
/* The public headers against the published interface: prototypes, constants, and the coverage table. Layouts are
 * checked by src/abi/layout_check.c, which is linked in. */
#include "abi/coverage.h"
#include "abi/stars.h"

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "ascend_hal.h"
#include "base/macros.h"
#include "hccl/hccl.h"
#define MSTX_NO_IMPL
#include "mstx/ms_tools_ext.h"
#include "runtime/rt.h"
#include "toolchain/prof_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- prototypes: a difference between header and table does not compile ---- */
#define SAME_TYPE(ret, name, params)                                                                                   \
    _Static_assert(__builtin_types_compatible_p(__typeof__(name), ret params), "prototype of " #name);

#define ACL_FN(status, ret, name, params, args) SAME_TYPE(ret, name, params)
#include "abi/acl_functions.h"
#define RT_FN(status, ret, name, params) SAME_TYPE(ret, name, params)
#include "abi/rt_functions.h"
#define HAL_FN(status, ret, name, params) SAME_TYPE(ret, name, params)
#include "abi/hal_functions.h"
#define HCCL_FN(status, ret, name, params) SAME_TYPE(ret, name, params)
#include "abi/hccl_functions.h"
#define MSTX_FN(status, ret, name, params) SAME_TYPE(ret, name, params)
#include "abi/mstx_functions.h"
#define PROFAPI_FN(status, ret, name, params) SAME_TYPE(ret, name, params)
#include "abi/profapi_functions.h"
#define ACLPROF_FN(status, ret, name, params) SAME_TYPE(ret, name, params)
#include "abi/aclprof_functions.h"

/* ---- constants ---- */
static void constants_have_their_values(void **state)
{
    static const struct {
        const char *name;
        long long value, expected;
    } table[] = {
#define VALUE(expression, number) {#expression, (long long)(expression), number},
#include "abi_values.h"
    };
    (void)state;
    for (size_t i = 0; i < MS_COUNT_OF(table); i++) {
        if (table[i].value != table[i].expected) {
            fail_msg("%s is %lld, not %lld", table[i].name, table[i].value, table[i].expected);
        }
    }
}

/* ---- coverage ---- */
static const struct abi_library *library(const char *key)
{
    size_t count;
    const struct abi_library *all = abi_coverage(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].key, key) == 0) {
            return &all[i];
        }
    }
    fail_msg("no library %s", key);
    return NULL;
}

static size_t in_set(const struct abi_library *lib, enum abi_set set)
{
    return abi_coverage_count(lib, ABI_IMPLEMENTED, set) + abi_coverage_count(lib, ABI_UNSUPPORTED, set);
}

static void tables_are_complete(void **state)
{
    (void)state;
    /* 220 of the recommended level and 7 of the front; 178 others. */
    assert_int_equal(in_set(library("acl"), ABI_RECOMMENDED), 227);
    assert_int_equal(in_set(library("acl"), ABI_EXTRA), 178);
    assert_int_equal(library("rt")->count, 103 + 1);
    assert_int_equal(library("hal")->count, 72 + 4);
    assert_int_equal(library("hccl")->count, 45);
    assert_int_equal(library("mstx")->count, 14);
    assert_int_equal(library("profapi")->count, 31);
    assert_int_equal(library("aclprof")->count, 42);
    /* 26 tensor descriptors and 32 functions of acl_op.h; 98 of acl_mdl.h without the 14 of captured graphs and dumps. */
    assert_int_equal(library("aclop")->count, 26 + 32);
    assert_int_equal(library("aclmdl")->count, 84);
    assert_int_equal(in_set(library("aclcompiler"), ABI_RECOMMENDED), 10);
    assert_int_equal(library("acltdt")->count, 23);
    assert_int_equal(library("acltdt_queue")->count, 37);
    assert_true(library("aclnn")->count > 980);
    assert_int_equal(library("dvpp")->count, 177);
    assert_int_equal(abi_coverage_count(library("dvpp"), ABI_ABSENT, -1), 177);
}

static void names_are_unique(void **state)
{
    size_t count;
    const struct abi_library *all = abi_coverage(&count);
    (void)state;
    for (size_t l = 0; l < count; l++) {
        for (size_t i = 0; i < all[l].count; i++) {
            for (size_t k = 0; k < i; k++) {
                assert_string_not_equal(all[l].names[i].name, all[l].names[k].name);
            }
        }
    }
}

/* Bit fields have no offset that a compiler could check. */
static void task_log_bits(void **state)
{
    struct StarsSocLog old = {.funcType = 0x23, .cnt = 5, .sqeType = 0x15, .accId = 0x2a, .acsqId = 0x155};
    struct StarsSocLogV6 young = {.funcType = 0x23, .cnt = 5, .sqeType = 0x15, .accId = 0x2a, .acsqId = 0x155};
    uint16_t head, unit;
    (void)state;
    memcpy(&head, &old, sizeof(head));
    memcpy(&unit, (const char *)&old + 18, sizeof(unit));
    assert_int_equal(head, 0x23 | 5 << 6 | 0x15 << 10);
    assert_int_equal(unit, 0x2a | 0x155 << 6);
    memcpy(&head, &young, sizeof(head));
    memcpy(&unit, (const char *)&young + 18, sizeof(unit));
    assert_int_equal(head, 0x23 | 5 << 6 | 0x15 << 10);
    assert_int_equal(unit, 0x2a | 0x155 << 6);
}

static void communicator_options_start_unset(void **state)
{
    HcclCommConfig config;
    size_t size;
    uint32_t words[2];
    (void)state;
    memset(&config, 0xa5, sizeof(config));
    HcclCommConfigInit(&config);
    memcpy(&size, config.reserved, sizeof(size));
    memcpy(words, config.reserved + 8, sizeof(words));
    assert_int_equal(size, 2232);
    assert_int_equal(words[0], 0xf0f0f0f0);
    assert_int_equal(words[1], 10);
    assert_int_equal(config.hcclBufferSize, 0xffffffff);
    assert_int_equal(config.hcclExecTimeOut, -1);
    assert_int_equal(config.hcclQos, 0xffffffff);
    assert_int_equal(config.hcclCommName[0], 0);
    assert_int_equal(config.hcclJobID, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_have_their_values),
        cmocka_unit_test(tables_are_complete),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(task_log_bits),
        cmocka_unit_test(communicator_options_start_unset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
