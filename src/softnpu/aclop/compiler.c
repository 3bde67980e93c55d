/* SPDX-License-Identifier: Apache-2.0 */
/* libacl_op_compiler.so: operators that the vendor compiles on first use. softnpu has them ready, so compiling is
 * finding, and compile options are only stored.
 *
 * Threads: the options are protected by a lock; they belong to the process.
 * Failure: 100000 for bad arguments, 200001 for the graph dump. */
#include "acl/acl_op_compiler.h"
#include "base/slab.h"
#include "softnpu/aclop/aclop.h"
#include "softnpu/runtime/error.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS (ACL_OP_DEBUG_OPTION + 1)

/* ---- options ---- */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *options[OPTIONS];

/* The value before anything is set; that of chips which run precompiled operators. */
static const char *current(aclCompileOpt opt)
{
    return options[opt] != NULL ? options[opt] : opt == ACL_OP_JIT_COMPILE ? "disable" : "";
}

/* True if the option exists and its value has an address. */
static bool check_option(const char *function, aclCompileOpt opt, const char *value)
{
    if ((int)opt < 0 || (int)opt >= OPTIONS) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: unknown option %d", function, (int)opt);
        return false;
    }
    if (value == NULL) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: value is NULL", function);
        return false;
    }
    return true;
}

aclError aclSetCompileopt(aclCompileOpt opt, const char *value)
{
    if (!check_option("aclSetCompileopt", opt, value)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    char *copy = strdup(value);
    if (copy == NULL) {
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "aclSetCompileopt: out of host memory");
    }
    pthread_mutex_lock(&lock);
    free(options[opt]);
    options[opt] = copy;
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

size_t aclGetCompileoptSize(aclCompileOpt opt)
{
    if (!check_option("aclGetCompileoptSize", opt, "")) {
        return 0;
    }
    pthread_mutex_lock(&lock);
    size_t size = strlen(current(opt)) + 1;
    pthread_mutex_unlock(&lock);
    return size;
}

aclError aclGetCompileopt(aclCompileOpt opt, char *value, size_t length)
{
    if (!check_option("aclGetCompileopt", opt, value)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    pthread_mutex_lock(&lock);
    size_t size = strlen(current(opt)) + 1;
    if (size <= length) {
        memcpy(value, current(opt), size);
    }
    pthread_mutex_unlock(&lock);
    return size <= length
               ? ACL_SUCCESS
               : snpu_fail(ACL_ERROR_INVALID_PARAM, "aclGetCompileopt: option %d needs %zu bytes, the buffer has %zu",
                           (int)opt, size, length);
}

aclError aclopSetCompileFlag(aclOpCompileFlag flag)
{
    return flag == ACL_OP_COMPILE_DEFAULT || flag == ACL_OP_COMPILE_FUZZ
               ? ACL_SUCCESS
               : snpu_fail(ACL_ERROR_INVALID_PARAM, "aclopSetCompileFlag: unknown flag %d", (int)flag);
}

/* ---- operators ---- */
static aclError check_compile(const char *function, aclopEngineType engine, aclopCompileType type)
{
    if (engine < ACL_ENGINE_SYS || engine > ACL_ENGINE_VECTOR || type < ACL_COMPILE_SYS ||
        type > ACL_COMPILE_UNREGISTERED) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: unknown engine %d or compile type %d", function, (int)engine,
                         (int)type);
    }
    return ACL_SUCCESS;
}

aclError aclopCompile(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs,
                      const aclTensorDesc *const outputDesc[], const aclopAttr *attr, aclopEngineType engineType,
                      aclopCompileType compileFlag, const char *opPath)
{
    const struct snpu_op_call call = {"aclopCompile", opType,     numInputs, numOutputs, inputDesc,
                                      NULL,           outputDesc, NULL,      attr};
    aclError rc = check_compile(call.function, engineType, compileFlag);
    return rc != ACL_SUCCESS ? rc : snpu_op_find(&call);
}

aclError aclopCompileAndExecute(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[],
                                const aclDataBuffer *const inputs[], int numOutputs,
                                const aclTensorDesc *const outputDesc[], aclDataBuffer *const outputs[],
                                const aclopAttr *attr, aclopEngineType engineType, aclopCompileType compileFlag,
                                const char *opPath, aclrtStream stream)
{
    const struct snpu_op_call call = {
        "aclopCompileAndExecute", opType, numInputs, numOutputs, inputDesc, inputs, outputDesc, outputs, attr};
    aclError rc = check_compile(call.function, engineType, compileFlag);
    return rc != ACL_SUCCESS ? rc : snpu_op_execute(&call, stream);
}

aclError aclopCompileAndExecuteV2(const char *opType, int numInputs, aclTensorDesc *inputDesc[],
                                  aclDataBuffer *inputs[], int numOutputs, aclTensorDesc *outputDesc[],
                                  aclDataBuffer *outputs[], aclopAttr *attr, aclopEngineType engineType,
                                  aclopCompileType compileFlag, const char *opPath, aclrtStream stream)
{
    const struct snpu_op_call call = {"aclopCompileAndExecuteV2",
                                      opType,
                                      numInputs,
                                      numOutputs,
                                      (const aclTensorDesc *const *)inputDesc,
                                      (const aclDataBuffer *const *)inputs,
                                      (const aclTensorDesc *const *)outputDesc,
                                      outputs,
                                      attr};
    aclError rc = check_compile(call.function, engineType, compileFlag);
    return rc != ACL_SUCCESS ? rc : snpu_op_execute(&call, stream);
}

/* ---- graph dump ---- */
struct aclGraphDumpOption {
    int unused;
};

static struct ms_slab dump_options = MS_SLAB_INIT(struct aclGraphDumpOption, 1 << 10);

aclGraphDumpOption *aclCreateGraphDumpOpt(void)
{
    aclGraphDumpOption *option = ms_slab_alloc(&dump_options);
    if (option == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "aclCreateGraphDumpOpt: too many options");
    }
    return option;
}

aclError aclDestroyGraphDumpOpt(const aclGraphDumpOption *graphDumpOpt)
{
    if (!ms_slab_check(&dump_options, graphDumpOpt)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclDestroyGraphDumpOpt: %p is not a dump option",
                         (const void *)graphDumpOpt);
    }
    ms_slab_free(&dump_options, (void *)(uintptr_t)graphDumpOpt);
    return ACL_SUCCESS;
}

aclError aclGenGraphAndDumpForOp(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[],
                                 const aclDataBuffer *const inputs[], int numOutputs,
                                 const aclTensorDesc *const outputDesc[], aclDataBuffer *const outputs[],
                                 const aclopAttr *attr, aclopEngineType engineType, const char *graphDumpPath,
                                 const aclGraphDumpOption *graphDumpOpt)
{
    return snpu_fail(ACL_ERROR_API_NOT_SUPPORT,
                     "aclGenGraphAndDumpForOp: softnpu executes operator %s without a graph, so it has none to dump",
                     opType != NULL ? opType : "NULL");
}
