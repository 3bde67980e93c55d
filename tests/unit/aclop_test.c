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

#include "own_machine.h"

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

/* ---- offline models and dumps ---- */
static void model_datasets(void **state)
{
    (void)state;
    int64_t dims[] = {2};
    char data[8];
    aclDataBuffer *buffer = aclCreateDataBuffer(data, sizeof(data));
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
    aclmdlDataset *dataset = aclmdlCreateDataset();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(aclmdlAddDatasetBuffer(dataset, buffer), ACL_SUCCESS);
    }
    assert_int_equal(aclmdlGetDatasetNumBuffers(dataset), 20);
    assert_ptr_equal(aclmdlGetDatasetBuffer(dataset, 19), buffer);
    assert_null(aclmdlGetDatasetBuffer(dataset, 20));
    assert_null(aclmdlGetDatasetTensorDesc(dataset, 3));
    assert_int_equal(aclmdlSetDatasetTensorDesc(dataset, desc, 3), ACL_SUCCESS);
    aclDestroyTensorDesc(desc);
    assert_int_equal(aclGetTensorDescElementCount(aclmdlGetDatasetTensorDesc(dataset, 3)), 2);
    assert_int_equal(aclmdlSetDatasetTensorDesc(dataset, desc, 3), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclmdlSetDatasetTensorDesc(dataset, NULL, 20), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclmdlAddDatasetBuffer(dataset, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclmdlDestroyDataset(dataset), ACL_SUCCESS);
    assert_int_equal(aclmdlDestroyDataset(dataset), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(aclDestroyDataBuffer(buffer), 0);
}

static void models_are_refused(void **state)
{
    (void)state;
    uint32_t id = 7;
    aclmdlDesc *desc = aclmdlCreateDesc();
    assert_int_equal(aclmdlLoadFromFile("model.om", &id), 545001);
    assert_message("aclmdlLoadFromFile");
    assert_int_equal(id, 7);
    assert_int_equal(aclmdlExecute(7, NULL, NULL), 145003);
    assert_int_equal(aclmdlGetDesc(desc, 7), 145003);
    assert_int_equal(aclmdlGetNumInputs(desc), 0);
    assert_int_equal(aclmdlGetInputDataType(desc, 0), ACL_DT_UNDEFINED);
    assert_int_equal(aclmdlGetOutputFormat(desc, 0), ACL_FORMAT_UNDEFINED);
    assert_null(aclmdlCreateAIPP(1));
    assert_message("aclmdlCreateAIPP");
    assert_int_equal(aclmdlDestroyDesc(desc), ACL_SUCCESS);
    assert_int_equal(aclmdlDestroyDesc(desc), ACL_ERROR_INVALID_PARAM);
}

static int32_t on_dump(const acldumpChunk *chunk, int32_t length)
{
    (void)chunk;
    return length;
}

static void dumps_are_not_written(void **state)
{
    (void)state;
    char path[16];
    int64_t data = 0;
    acldumpTensorInfo tensor = {.tensorSize = 8, .tensorAddr = &data, .shapeNum = 1};
    assert_int_equal(acldumpRegCallback(NULL, 0), ACL_ERROR_FAILURE);
    assert_int_equal(acldumpRegCallback(on_dump, 1), ACL_ERROR_FAILURE);
    assert_int_equal(acldumpRegCallback(on_dump, 0), ACL_SUCCESS);
    acldumpUnregCallback();
    assert_null(acldumpGetPath(DATA_DUMP));
    assert_message("not enabled");
    assert_int_equal(acldumpSaveExceptionInfo("../x", NULL, &tensor, 1), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acldumpSaveExceptionInfo("x", NULL, &tensor, 1), ACL_ERROR_DUMP_NOT_RUN);
    tensor.shapeNum = 26;
    assert_int_equal(acldumpSaveExceptionInfo("x", NULL, &tensor, 1), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acldumpGetExceptionInfoPath(NULL, 16), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acldumpGetExceptionInfoPath(path, sizeof(path)), ACL_ERROR_DUMP_NOT_RUN);
}

/* ---- execution ---- */
static aclrtStream stream;

static int start_device(void **state)
{
    (void)state;
    return aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0;
}

static int stop_device(void **state)
{
    (void)state;
    return aclrtDestroyStream(stream) != 0 || aclrtResetDeviceForce(0) != 0 || aclFinalize() != 0;
}

struct side {
    aclTensorDesc *desc;
    aclDataBuffer *buffer;
    void *device;
};

static struct side tensor(aclDataType type, int rank, const int64_t *dims, const void *values)
{
    struct side t = {.desc = aclCreateTensorDesc(type, rank, dims, ACL_FORMAT_ND)};
    size_t bytes = aclGetTensorDescSize(t.desc);
    assert_int_equal(aclrtMalloc(&t.device, bytes + 32, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    if (values != NULL) {
        assert_int_equal(aclrtMemcpy(t.device, bytes, values, bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    }
    t.buffer = aclCreateDataBuffer(t.device, bytes);
    return t;
}

static void drop(struct side t)
{
    aclDestroyTensorDesc(t.desc);
    assert_int_equal(aclDestroyDataBuffer(t.buffer), 0);
    assert_int_equal(aclrtFree(t.device), 0);
}

static aclError call(const char *type, int inputs, const struct side *in, struct side *out, aclopAttr *attr)
{
    aclTensorDesc *descs[4], *out_desc[] = {out->desc};
    aclDataBuffer *buffers[4], *out_buffer[] = {out->buffer};
    for (int i = 0; i < inputs; i++) {
        descs[i] = in[i].desc, buffers[i] = in[i].buffer;
    }
    return aclopCompileAndExecuteV2(type, inputs, descs, buffers, 1, out_desc, out_buffer, attr, ACL_ENGINE_SYS,
                                    ACL_COMPILE_SYS, NULL, stream);
}

static void expect_floats(const struct side *t, size_t count, const float *expected)
{
    float got[16];
    assert_int_equal(aclrtSynchronizeStream(stream), 0);
    assert_int_equal(aclrtMemcpy(got, sizeof(got), t->device, count * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST), 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(got[i] == expected[i]);
    }
}

static const float six[] = {1, 2, 3, 4, 5, 6};
static const int64_t two_three[] = {2, 3}, three_two[] = {3, 2}, two_two[] = {2, 2}, four_three[] = {4, 3};

static void operators_compute(void **state)
{
    (void)state;
    struct side x[] = {tensor(ACL_FLOAT, 2, two_three, six), tensor(ACL_FLOAT, 2, two_three, six)};
    struct side y = tensor(ACL_FLOAT, 2, two_three, NULL), z = tensor(ACL_FLOAT, 2, two_two, NULL);
    assert_int_equal(call("Add", 2, x, &y, NULL), ACL_SUCCESS);
    expect_floats(&y, 6, (float[]){2, 4, 6, 8, 10, 12});
    assert_int_equal(call("Sub", 2, x, &y, NULL), ACL_SUCCESS);
    expect_floats(&y, 6, (float[]){0, 0, 0, 0, 0, 0});
    assert_int_equal(call("Neg", 1, x, &y, NULL), ACL_SUCCESS);
    expect_floats(&y, 6, (float[]){-1, -2, -3, -4, -5, -6});

    aclopAttr *attr = aclopCreateAttr();
    assert_int_equal(aclopSetAttrFloat(attr, "value", 0.5f), ACL_SUCCESS);
    assert_int_equal(call("Muls", 1, x, &y, attr), ACL_SUCCESS);
    expect_floats(&y, 6, (float[]){0.5f, 1, 1.5f, 2, 2.5f, 3});
    assert_int_equal(aclopSetAttrBool(attr, "transpose_x2", 1), ACL_SUCCESS);
    assert_int_equal(call("MatMul", 2, x, &z, attr), ACL_SUCCESS); /* x times its transpose */
    expect_floats(&z, 4, (float[]){14, 32, 32, 77});
    int64_t perm[] = {1, 0};
    struct side turned = tensor(ACL_FLOAT, 2, three_two, NULL), joined = tensor(ACL_FLOAT, 2, four_three, NULL);
    assert_int_equal(aclopSetAttrListInt(attr, "perm", 2, perm), ACL_SUCCESS);
    assert_int_equal(call("TransposeD", 1, x, &turned, attr), ACL_SUCCESS);
    expect_floats(&turned, 6, (float[]){1, 4, 2, 5, 3, 6});
    assert_int_equal(aclopSetAttrInt(attr, "concat_dim", 0), ACL_SUCCESS);
    assert_int_equal(call("ConcatD", 2, x, &joined, attr), ACL_SUCCESS);
    expect_floats(&joined, 12, (float[]){1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
    aclopDestroyAttr(attr);
    for (int i = 0; i < 2; i++) {
        drop(x[i]);
    }
    drop(y);
    drop(z);
    drop(turned);
    drop(joined);
}

/* The axes of a reduction in device memory, in host memory and as a constant. */
static void numbers_come_from_inputs(void **state)
{
    (void)state;
    static const int64_t one[] = {1}, two[] = {2};
    int64_t axis = 1;
    struct side in[] = {tensor(ACL_FLOAT, 2, two_three, six), tensor(ACL_INT64, 1, one, &axis)};
    struct side y = tensor(ACL_FLOAT, 1, two, NULL);
    assert_int_equal(call("ReduceSum", 2, in, &y, NULL), ACL_SUCCESS);
    expect_floats(&y, 2, (float[]){6, 15});
    assert_int_equal(aclUpdateDataBuffer(in[1].buffer, &axis, sizeof(axis)), 0);
    assert_int_equal(aclSetTensorPlaceMent(in[1].desc, ACL_MEMTYPE_HOST), 0);
    assert_int_equal(call("ReduceSum", 2, in, &y, NULL), ACL_SUCCESS);
    expect_floats(&y, 2, (float[]){6, 15});
    assert_int_equal(aclUpdateDataBuffer(in[1].buffer, NULL, 0), 0);
    assert_int_equal(call("ReduceSum", 2, in, &y, NULL), ACL_ERROR_OP_INPUT_NOT_MATCH);
    assert_int_equal(aclSetTensorConst(in[1].desc, &axis, sizeof(axis)), 0);
    assert_int_equal(call("ReduceSum", 2, in, &y, NULL), ACL_SUCCESS);
    expect_floats(&y, 2, (float[]){6, 15});
    /* A tensor operand in host memory; the caller may overwrite it after the call. */
    float host[] = {10, 20};
    struct side sum[] = {y, tensor(ACL_FLOAT, 1, two, NULL)}, z = tensor(ACL_FLOAT, 1, two, NULL);
    assert_int_equal(aclUpdateDataBuffer(sum[1].buffer, host, sizeof(host)), 0);
    assert_int_equal(aclSetTensorPlaceMent(sum[1].desc, ACL_MEMTYPE_HOST), 0);
    assert_int_equal(call("Add", 2, sum, &z, NULL), ACL_SUCCESS);
    host[0] = host[1] = -1;
    expect_floats(&z, 2, (float[]){16, 35});
    drop(in[0]);
    drop(in[1]);
    drop(sum[0]);
    drop(sum[1]);
    drop(z);
}

/* A matrix of 2 x 3 in blocks of 16 x 16 and back; the rest of the block becomes 0. */
static void private_formats(void **state)
{
    (void)state;
    static const int64_t block[] = {1, 1, 16, 16}, wrong[] = {2, 1, 16, 16};
    float got[256], expected[256] = {[0] = 1, [1] = 2, [2] = 3, [16] = 4, [17] = 5, [18] = 6};
    struct side x = tensor(ACL_FLOAT, 2, two_three, six), blocks = tensor(ACL_FLOAT, 4, block, NULL);
    struct side y = tensor(ACL_FLOAT, 2, two_three, NULL), stored = blocks;
    stored.desc = aclCreateTensorDesc(ACL_FLOAT, 2, two_three, ACL_FORMAT_ND);
    assert_int_equal(aclSetTensorFormat(stored.desc, ACL_FORMAT_FRACTAL_NZ), 0);
    assert_int_equal(aclSetTensorShape(stored.desc, 4, wrong), 0);
    assert_int_equal(call("Identity", 1, &x, &stored, NULL), ACL_ERROR_FORMAT_NOT_MATCH);
    assert_message("storage format 29 for this shape");
    assert_int_equal(aclSetTensorShape(stored.desc, 4, block), 0);
    assert_int_equal(call("Identity", 1, &x, &stored, NULL), ACL_SUCCESS);
    assert_int_equal(
        aclrtMemcpy(got, sizeof(got), aclGetDataBufferAddr(blocks.buffer), sizeof(got), ACL_MEMCPY_DEVICE_TO_HOST), 0);
    assert_memory_equal(got, expected, sizeof(got));
    assert_int_equal(call("Neg", 1, &stored, &y, NULL), ACL_SUCCESS);
    expect_floats(&y, 6, (float[]){-1, -2, -3, -4, -5, -6});
    aclDestroyTensorDesc(stored.desc);
    drop(x);
    drop(y);
    drop(blocks);
}

/* A 3 x 3 filter over an image of 2 x 2 with one row of padding around it, and the gradient of the image. */
static void convolution(void **state)
{
    (void)state;
    static const int64_t image[] = {1, 1, 2, 2}, filter[] = {1, 1, 3, 3}, ones[] = {1, 1, 1, 1}, four[] = {4};
    static const float weights[] = {0, 0, 0, 0, 1, 2, 0, 0, 0};
    static const int32_t size[] = {1, 1, 2, 2};
    const float bias_value = 10;
    static const int64_t one[] = {1};
    struct side in[] = {tensor(ACL_FLOAT, 4, image, six), tensor(ACL_FLOAT, 4, filter, weights),
                        tensor(ACL_FLOAT, 1, one, &bias_value)};
    struct side y = tensor(ACL_FLOAT, 4, image, NULL), shape = tensor(ACL_INT32, 1, four, size);
    aclopAttr *attr = aclopCreateAttr();
    assert_int_equal(aclopSetAttrListInt(attr, "strides", 4, ones), 0);
    assert_int_equal(aclopSetAttrListInt(attr, "pads", 4, ones), 0);
    assert_int_equal(call("Conv2D", 2, in, &y, attr), ACL_ERROR_OP_ATTR_NOT_MATCH);
    assert_message("attribute 'dilations' is missing");
    assert_int_equal(aclopSetAttrListInt(attr, "dilations", 4, ones), 0);
    assert_int_equal(call("Conv2D", 1, in, &y, attr), ACL_ERROR_OP_INPUT_NOT_MATCH);
    assert_int_equal(call("Conv2D", 2, in, &y, attr), ACL_SUCCESS);
    expect_floats(&y, 4, (float[]){5, 2, 11, 4});
    assert_int_equal(call("Conv2D", 3, in, &y, attr), ACL_SUCCESS);
    expect_floats(&y, 4, (float[]){15, 12, 21, 14});
    struct side back[] = {shape, in[1], in[0]};
    assert_int_equal(call("Conv2DBackpropInput", 3, back, &y, attr), ACL_SUCCESS);
    expect_floats(&y, 4, (float[]){1, 4, 3, 10});
    aclopDestroyAttr(attr);
    drop(in[0]);
    drop(in[1]);
    drop(in[2]);
    drop(y);
    drop(shape);
}

/* The inputs of Cdist are expanded to one shape: [P, R, M] from [P, M] and [R, M]. */
static void inputs_that_repeat_themselves(void **state)
{
    (void)state;
    static const int64_t expanded[] = {2, 3, 1}, two_by_three[] = {2, 3};
    const float a[] = {1, 1, 1, 5, 5, 5}, b[] = {0, 2, 9, 0, 2, 9};
    struct side in[] = {tensor(ACL_FLOAT, 3, expanded, a), tensor(ACL_FLOAT, 3, expanded, b)};
    struct side y = tensor(ACL_FLOAT, 2, two_by_three, NULL);
    aclopAttr *attr = aclopCreateAttr();
    assert_int_equal(aclopSetAttrFloat(attr, "p", 1.0f), ACL_SUCCESS);
    assert_int_equal(call("Cdist", 2, in, &y, attr), ACL_SUCCESS);
    expect_floats(&y, 6, (float[]){1, 1, 8, 5, 3, 4});
    aclopDestroyAttr(attr);
    drop(in[0]);
    drop(in[1]);
    drop(y);
}

static void handles_and_casts(void **state)
{
    (void)state;
    struct side x = tensor(ACL_FLOAT, 2, two_three, six), y = tensor(ACL_INT32, 2, two_three, NULL);
    const aclTensorDesc *descs[] = {x.desc, x.desc}, *out[] = {x.desc};
    const aclDataBuffer *buffers[] = {x.buffer, x.buffer};
    aclDataBuffer *result[] = {x.buffer};
    int32_t whole[6];
    assert_int_equal(aclopCast(x.desc, x.buffer, y.desc, y.buffer, 0, stream), ACL_SUCCESS);
    assert_int_equal(aclrtSynchronizeStream(stream), 0);
    assert_int_equal(aclrtMemcpy(whole, sizeof(whole), y.device, sizeof(whole), ACL_MEMCPY_DEVICE_TO_HOST), 0);
    assert_int_equal(whole[5], 6);
    aclopHandle *handle = NULL;
    assert_int_equal(aclopCreateHandle("NoSuchOperator", 2, descs, 1, out, NULL, &handle), ACL_ERROR_OP_NOT_FOUND);
    assert_int_equal(aclopCreateHandle("Add", 1, descs, 1, out, NULL, &handle), ACL_ERROR_OP_INPUT_NOT_MATCH);
    assert_int_equal(aclopCreateHandle("Add", 2, descs, 1, out, NULL, &handle), ACL_SUCCESS);
    aclDestroyTensorDesc(x.desc);
    x.desc = NULL;
    assert_int_equal(aclopExecWithHandle(handle, 2, buffers, 1, result, stream), ACL_SUCCESS);
    expect_floats(&x, 6, (float[]){2, 4, 6, 8, 10, 12});
    assert_int_equal(aclopExecWithHandle(handle, 1, buffers, 1, result, stream), ACL_ERROR_OP_INPUT_NOT_MATCH);
    aclopDestroyHandle(handle);
    aclopDestroyHandle(handle);
    assert_message("aclopDestroyHandle");
    assert_int_equal(aclopExecWithHandle(handle, 2, buffers, 1, result, stream), ACL_ERROR_INVALID_PARAM);
    drop(x);
    drop(y);
}

static void bad_calls_name_what_is_wrong(void **state)
{
    (void)state;
    int64_t open[] = {-1, 3};
    struct side x[] = {tensor(ACL_FLOAT, 2, two_three, six), tensor(ACL_FLOAT, 2, three_two, six)};
    struct side y = tensor(ACL_FLOAT, 2, two_three, NULL), small = tensor(ACL_FLOAT, 2, two_two, NULL);
    assert_int_equal(call("Add", 1, x, &y, NULL), ACL_ERROR_OP_INPUT_NOT_MATCH);
    assert_message("operator Add has 2 input(s), not 1");
    assert_int_equal(call("Muls", 1, x, &y, NULL), ACL_ERROR_OP_ATTR_NOT_MATCH);
    assert_message("attribute 'value' is missing");
    aclopAttr *attr = aclopCreateAttr();
    assert_int_equal(aclopSetAttrString(attr, "value", "half"), ACL_SUCCESS);
    assert_int_equal(call("Muls", 1, x, &y, attr), ACL_ERROR_OP_ATTR_NOT_MATCH);
    aclopDestroyAttr(attr);
    assert_int_equal(call("Add", 2, x, &y, NULL), ACL_ERROR_GE_FAILURE); /* shapes that do not broadcast */
    assert_message("operator Add");
    assert_int_equal(aclUpdateDataBuffer(small.buffer, small.device, 4), 0);
    assert_int_equal(call("MatMul", 2, x, &small, NULL), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
    assert_message("output 0 needs 16 bytes");
    assert_int_equal(aclSetTensorFormat(x[0].desc, ACL_FORMAT_FRACTAL_NZ), ACL_SUCCESS);
    assert_int_equal(call("Neg", 1, x, &y, NULL), ACL_ERROR_FORMAT_NOT_MATCH);
    assert_int_equal(aclSetTensorFormat(x[0].desc, ACL_FORMAT_ND), ACL_SUCCESS);
    assert_int_equal(aclSetTensorOriginShape(x[0].desc, 2, open), ACL_SUCCESS);
    assert_int_equal(call("Neg", 1, x, &y, NULL), ACL_ERROR_OP_UNSUPPORTED_DYNAMIC);
    aclTensorDesc *descs[] = {x[1].desc};
    assert_int_equal(aclopExecuteV2("Neg", 1, descs, NULL, 1, descs, NULL, NULL, stream), ACL_ERROR_INVALID_PARAM);
    aclDataBuffer *none[] = {NULL};
    assert_int_equal(aclopExecuteV2("Neg", 1, descs, none, 1, descs, none, NULL, stream), ACL_ERROR_OP_INPUT_NOT_MATCH);
    drop(x[0]);
    drop(x[1]);
    drop(y);
    drop(small);
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
    own_machine_use("1", NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_datasets),
        cmocka_unit_test(models_are_refused),
        cmocka_unit_test(dumps_are_not_written),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(unknown_shapes),
        cmocka_unit_test(bad_descriptors),
        cmocka_unit_test(attributes),
        cmocka_unit_test(compile_options),
        cmocka_unit_test(unknown_operator),
        cmocka_unit_test(names_are_found_through_the_handles_in_use),
        cmocka_unit_test_setup_teardown(operators_compute, start_device, stop_device),
        cmocka_unit_test_setup_teardown(numbers_come_from_inputs, start_device, stop_device),
        cmocka_unit_test_setup_teardown(private_formats, start_device, stop_device),
        cmocka_unit_test_setup_teardown(convolution, start_device, stop_device),
        cmocka_unit_test_setup_teardown(inputs_that_repeat_themselves, start_device, stop_device),
        cmocka_unit_test_setup_teardown(handles_and_casts, start_device, stop_device),
        cmocka_unit_test_setup_teardown(bad_calls_name_what_is_wrong, start_device, stop_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
