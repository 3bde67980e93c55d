/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor descriptors, attributes and compile options of the single-operator interface, and its errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "acl/acl.h"
#include "acl/acl_op.h"
#include "acl/acl_op_compiler.h"

#include <dlfcn.h>
#include <string.h>

static void assert_message(const char *text)
{
    const char *message = aclGetRecentErrMsg();
    assert_non_null(message);
    assert_non_null(strstr(message, text));
}

static void descriptors(void **state)
{
    (void)state;
    int64_t dims[] = {2, 3, 4}, stored[] = {2, 1, 3, 4, 16}, size = 0;
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT16, 3, dims, ACL_FORMAT_ND);
    assert_non_null(desc);
    dims[0] = 77; /* the dimensions were copied */
    assert_int_equal(aclGetTensorDescType(desc), ACL_FLOAT16);
    assert_int_equal(aclGetTensorDescFormat(desc), ACL_FORMAT_ND);
    assert_int_equal(aclGetTensorDescNumDims(desc), 3);
    assert_int_equal(aclGetTensorDescElementCount(desc), 24);
    assert_int_equal(aclGetTensorDescSize(desc), 48);
    assert_int_equal(aclGetTensorDescDim(desc, 0), 2);
    assert_int_equal(aclGetTensorDescDimV2(desc, 2, &size), ACL_SUCCESS);
    assert_int_equal(size, 4);
    assert_string_equal(aclGetTensorDescName(desc), "");
    aclSetTensorDescName(desc, "x");
    aclSetTensorDescName(desc, "y");
    assert_string_equal(aclGetTensorDescName(desc), "y");
    /* Storage does not change the logical view; the origin functions do. */
    assert_int_equal(aclSetTensorShape(desc, 5, stored), ACL_SUCCESS);
    assert_int_equal(aclSetTensorFormat(desc, ACL_FORMAT_NC1HWC0), ACL_SUCCESS);
    assert_int_equal(aclGetTensorDescElementCount(desc), 24);
    assert_int_equal(aclGetTensorDescFormat(desc), ACL_FORMAT_ND);
    assert_int_equal(aclSetTensorOriginShape(desc, 2, stored), ACL_SUCCESS);
    assert_int_equal(aclSetTensorOriginFormat(desc, ACL_FORMAT_NCHW), ACL_SUCCESS);
    assert_int_equal(aclGetTensorDescElementCount(desc), 2);
    assert_int_equal(aclGetTensorDescFormat(desc), ACL_FORMAT_NCHW);
    assert_int_equal(aclSetTensorPlaceMent(desc, ACL_MEMTYPE_HOST), ACL_SUCCESS);
    assert_int_equal(aclSetTensorConst(desc, dims, sizeof(dims)), ACL_SUCCESS);
    assert_ptr_equal(aclGetTensorDescByIndex(desc, 0), desc);
    aclDestroyTensorDesc(desc);

    aclTensorDesc *scalar = aclCreateTensorDesc(ACL_INT4, 0, NULL, ACL_FORMAT_ND);
    assert_int_equal(aclGetTensorDescElementCount(scalar), 1);
    assert_int_equal(aclGetTensorDescSize(scalar), 1);
    aclDestroyTensorDesc(scalar);
}

static void unknown_shapes(void **state)
{
    (void)state;
    int64_t open[] = {-1, 3}, rank[] = {-2}, range[2][ACL_TENSOR_SHAPE_RANGE_NUM] = {{1, 8}, {3, 3}}, got[2] = {0};
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT, 2, open, ACL_FORMAT_ND);
    assert_int_equal(aclGetTensorDescElementCount(desc), 0);
    assert_int_equal(aclGetTensorDescDim(desc, 0), -1);
    assert_int_equal(aclGetTensorDescDimRange(desc, 0, 2, got), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclSetTensorShapeRange(desc, 1, range), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclSetTensorShapeRange(desc, 2, range), ACL_SUCCESS);
    assert_int_equal(aclGetTensorDescDimRange(desc, 0, 2, got), ACL_SUCCESS);
    assert_int_equal(got[1], 8);
    assert_int_equal(aclSetTensorValueRange(desc, 2, range), ACL_SUCCESS);
    aclDestroyTensorDesc(desc);
    desc = aclCreateTensorDesc(ACL_FLOAT, 1, rank, ACL_FORMAT_ND);
    assert_true(aclGetTensorDescNumDims(desc) == ACL_UNKNOWN_RANK);
    aclDestroyTensorDesc(desc);
    int64_t huge[] = {INT64_MAX, 4};
    desc = aclCreateTensorDesc(ACL_FLOAT, 2, huge, ACL_FORMAT_ND);
    assert_int_equal(aclGetTensorDescSize(desc), 0);
    aclDestroyTensorDesc(desc);
}

static void bad_descriptors(void **state)
{
    (void)state;
    int64_t dims[] = {1, -3}, size;
    assert_null(aclCreateTensorDesc(ACL_FLOAT, -1, dims, ACL_FORMAT_ND));
    assert_null(aclCreateTensorDesc(ACL_FLOAT, 200, dims, ACL_FORMAT_ND));
    assert_null(aclCreateTensorDesc(ACL_FLOAT, 1, NULL, ACL_FORMAT_ND));
    assert_null(aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND));
    assert_message("dimension 1 is -3");
    aclDestroyTensorDesc(NULL);
    assert_int_equal(aclGetTensorDescType(NULL), ACL_DT_UNDEFINED);
    assert_message("not a tensor descriptor");
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
    assert_int_equal(aclGetTensorDescDimV2(desc, 1, &size), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclSetTensorConst(desc, NULL, 4), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclSetTensorPlaceMent(desc, (aclMemType)9), ACL_ERROR_INVALID_PARAM);
    aclDestroyTensorDesc(desc);
    aclDestroyTensorDesc(desc);
    assert_message("aclDestroyTensorDesc");
    assert_int_equal(aclGetTensorDescNumDims((aclTensorDesc *)dims), 0);
}

static void attributes(void **state)
{
    (void)state;
    int64_t a[] = {1, 2}, b[] = {3};
    const int64_t *lists[] = {a, b};
    const int counts[] = {2, 1};
    const char *texts[] = {"one", "two"}, *broken[] = {"one", NULL};
    uint8_t flags[] = {1, 0};
    float reals[] = {0.5f};
    aclDataType types[] = {ACL_FLOAT, ACL_INT32};
    aclopAttr *attr = aclopCreateAttr();
    assert_non_null(attr);
    assert_int_equal(aclopSetAttrBool(attr, "b", 1), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrBool(attr, "b", 0), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrInt(attr, "i", -5), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrFloat(attr, "f", 1.5f), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrString(attr, "s", "text"), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrDataType(attr, "t", ACL_BF16), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrListBool(attr, "lb", 2, flags), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrListInt(attr, "li", 2, a), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrListInt(attr, "empty", 0, NULL), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrListFloat(attr, "lf", 1, reals), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrListString(attr, "ls", 2, texts), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrListDataType(attr, "lt", 2, types), ACL_SUCCESS);
    assert_int_equal(aclopSetAttrListListInt(attr, "lli", 2, counts, lists), ACL_SUCCESS);
    /* bad values */
    assert_int_equal(aclopSetAttrInt(attr, NULL, 1), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclopSetAttrString(attr, "s", NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclopSetAttrListString(attr, "ls", 2, broken), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclopSetAttrListInt(attr, "li", -1, a), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclopSetAttrListInt(attr, "li", 1, NULL), ACL_ERROR_INVALID_PARAM);
    assert_message("'li'");
    assert_int_equal(aclopSetAttrListListInt(attr, "lli", 2, NULL, lists), ACL_ERROR_INVALID_PARAM);
    aclopDestroyAttr(attr);
    assert_int_equal(aclopSetAttrInt(attr, "i", 1), ACL_ERROR_INVALID_PARAM);
    aclopDestroyAttr(attr);
    assert_message("aclopDestroyAttr");
    aclopDestroyAttr(NULL);
}

static void compile_options(void **state)
{
    (void)state;
    char value[16];
    assert_int_equal(aclGetCompileoptSize(ACL_OP_JIT_COMPILE), sizeof("disable"));
    assert_int_equal(aclGetCompileopt(ACL_OP_JIT_COMPILE, value, sizeof("disable") - 1), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclGetCompileopt(ACL_OP_JIT_COMPILE, value, sizeof(value)), ACL_SUCCESS);
    assert_string_equal(value, "disable");
    assert_int_equal(aclSetCompileopt(ACL_OP_JIT_COMPILE, "enable"), ACL_SUCCESS);
    assert_int_equal(aclGetCompileopt(ACL_OP_JIT_COMPILE, value, sizeof(value)), ACL_SUCCESS);
    assert_string_equal(value, "enable");
    assert_int_equal(aclGetCompileoptSize(ACL_PRECISION_MODE), 1);
    assert_int_equal(aclGetCompileoptSize((aclCompileOpt)99), 0);
    assert_int_equal(aclSetCompileopt((aclCompileOpt)99, "1"), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclSetCompileopt(ACL_AICORE_NUM, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclopSetCompileFlag(ACL_OP_COMPILE_FUZZ), ACL_SUCCESS);
    assert_int_equal(aclopSetCompileFlag((aclOpCompileFlag)2), ACL_ERROR_INVALID_PARAM);
    aclGraphDumpOption *dump = aclCreateGraphDumpOpt();
    assert_int_equal(aclDestroyGraphDumpOpt(dump), ACL_SUCCESS);
    assert_int_equal(aclDestroyGraphDumpOpt(dump), ACL_ERROR_INVALID_PARAM);
}

static void unknown_operator(void **state)
{
    (void)state;
    assert_int_equal(aclopExecuteV2("NoSuchOperator", 0, NULL, NULL, 0, NULL, NULL, NULL, NULL),
                     ACL_ERROR_OP_NOT_FOUND);
    assert_message("NoSuchOperator");
    assert_int_equal(aclopCompileAndExecute("NoSuchOperator", 0, NULL, NULL, 0, NULL, NULL, NULL, ACL_ENGINE_SYS,
                                            ACL_COMPILE_SYS, NULL, NULL),
                     ACL_ERROR_OP_NOT_FOUND);
    assert_message("aclopCompileAndExecute");
    assert_int_equal(aclopExecuteV2(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclopExecuteV2("Add", 2, NULL, NULL, 0, NULL, NULL, NULL, NULL), ACL_ERROR_INVALID_PARAM);
    aclTensorDesc *none[] = {NULL};
    assert_int_equal(aclopExecuteV2("Add", 1, none, NULL, 0, NULL, NULL, NULL, NULL), ACL_ERROR_INVALID_PARAM);
    assert_message("input 0");
}

/* Frameworks look names up in the handle of one library and find them in another. */
static void names_are_found_through_the_handles_in_use(void **state)
{
    static const char *const found[][2] = {
        {"libacl_op_compiler.so", "aclrtCtxSetSysParamOpt"},
        {"libacl_op_compiler.so", "aclopSetAttrListListInt"},
        {"libascendcl.so", "aclprofInit"},
        {"libascendcl.so", "aclopCreateAttr"},
        {"libge_runner.so", "aclInit"},
        {"libgraph.so", "aclInit"},
        {"libacl_tdt_channel.so", "aclInit"},
        {"libacl_tdt_queue.so", "aclInit"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        void *handle = dlopen(found[i][0], RTLD_LAZY);
        assert_non_null(handle);
        assert_non_null(dlsym(handle, found[i][1]));
        dlclose(handle);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors),
        cmocka_unit_test(unknown_shapes),
        cmocka_unit_test(bad_descriptors),
        cmocka_unit_test(attributes),
        cmocka_unit_test(compile_options),
        cmocka_unit_test(unknown_operator),
        cmocka_unit_test(names_are_found_through_the_handles_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
