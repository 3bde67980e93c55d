/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of single operators by the name of their type. An operator that the table (src/abi/aclop_types.h) knows is
 * computed by a two-phase function of libopapi.so.
 *
 * Threads: no state.
 * Failure: 100000 for arguments that are not what they should be, 100021 to 100023 for inputs, outputs and attributes
 * that do not match, 100024 for an operator type that softnpu does not have, 500002 if the two-phase function refuses;
 * the message names the operator type. */
#include "softnpu/aclop/aclop.h"

#include "abi/acl_impl.h"
#include "abi/aclnn_status.h"
#include "abi/aclop_impl.h"
#include "aclnn/aclnn_base.h"
#include "softnpu/aclop/arguments.h"
#include "softnpu/aclop/layout.h"
#include "softnpu/runtime/error.h"

#include <stdio.h>
#include <string.h>

static const struct snpu_op_type types[] = {
#define ACLOP_TYPE(type, function, inputs, outputs, arguments) {type, function, inputs, outputs, arguments},
#include "abi/aclop_types.h"
};

static aclError check_descs(const struct snpu_op_call *call, const char *side, int count,
                            const aclTensorDesc *const *descs)
{
    if (count < 0 || (count > 0 && descs == NULL)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: operator %s: invalid array of %s descriptors (%d)",
                         call->function, call->type, side, count);
    }
    for (int i = 0; i < count; i++) {
        if (!snpu_desc_alive(descs[i])) {
            return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: operator %s: %s %d: %p is not a tensor descriptor",
                             call->function, call->type, side, i, (const void *)descs[i]);
        }
    }
    return ACL_SUCCESS;
}

static aclError check_shapes(const struct snpu_op_call *call, const char *side, int count,
                             const aclTensorDesc *const *descs)
{
    for (int i = 0; i < count; i++) {
        uint64_t elements;
        struct snpu_layout layout;
        if (!snpu_format_plain(descs[i]->storage_format) && !snpu_layout_of(descs[i], &layout)) {
            return snpu_fail(ACL_ERROR_FORMAT_NOT_MATCH,
                             "%s: operator %s: %s %d: softnpu does not know storage format %d for this shape",
                             call->function, call->type, side, i, (int)descs[i]->storage_format);
        }
        if (!snpu_desc_elements(descs[i], &elements)) {
            return snpu_fail(ACL_ERROR_OP_UNSUPPORTED_DYNAMIC, "%s: operator %s: the shape of %s %d is not known",
                             call->function, call->type, side, i);
        }
    }
    return ACL_SUCCESS;
}

/* more: how many may follow that are optional. */
static aclError check_count(const struct snpu_op_call *call, const char *side, int have, int want, int more, int code)
{
    bool right = want < 0 ? have > 0 : have >= want && have - want <= more;
    return right
               ? ACL_SUCCESS
               : snpu_fail(code, "%s: operator %s has %d %s(s), not %d", call->function, call->type, want, side, have);
}

/* Checks the call as far as it does not need buffers; finds the row. */
static aclError find(const struct snpu_op_call *call, const struct snpu_op_type **type)
{
    if (call->type == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: opType is NULL", call->function);
    }
    if (call->attr != NULL && !snpu_attrs_alive(call->attr)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: operator %s: %p is not an attribute set", call->function,
                         call->type, (const void *)call->attr);
    }
    aclError rc = check_descs(call, "input", call->input_count, call->input_descs);
    rc = rc != ACL_SUCCESS ? rc : check_descs(call, "output", call->output_count, call->output_descs);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    const struct snpu_op_type *found = NULL;
    for (size_t i = 0; i < MS_COUNT_OF(types); i++) {
        if (strcmp(types[i].type, call->type) == 0 && (found == NULL || types[i].inputs == call->input_count)) {
            found = &types[i];
        }
    }
    if (found == NULL || snpu_op_symbol("aclnn", found->function, "GetWorkspaceSize") == NULL) {
        return snpu_fail(ACL_ERROR_OP_NOT_FOUND, "%s: softnpu has no operator of type %s", call->function, call->type);
    }
    int optional = 0;
    for (const char *mark = strchr(found->arguments, '?'); mark != NULL; mark = strchr(mark + 1, '?')) {
        optional++;
    }
    rc = check_count(call, "input", call->input_count, found->inputs, optional, ACL_ERROR_OP_INPUT_NOT_MATCH);
    rc = rc != ACL_SUCCESS
             ? rc
             : check_count(call, "output", call->output_count, found->outputs, 0, ACL_ERROR_OP_OUTPUT_NOT_MATCH);
    *type = found;
    return rc;
}

aclError snpu_op_find(const struct snpu_op_call *call)
{
    const struct snpu_op_type *type = NULL;
    return find(call, &type);
}

/* Turns the answer of a two-phase function into that of this interface; the message is kept. */
static aclError refuse(const struct snpu_op_call *call, aclnnStatus status)
{
    char text[400];
    const char *reason = snpu_take_message();
    snprintf(text, sizeof(text), "%s", reason != NULL ? reason : "no message");
    return snpu_fail(status == ACLNN_ERR_INNER_FIND_KERNEL ? ACL_ERROR_OP_NOT_FOUND : ACL_ERROR_GE_FAILURE,
                     "%s: operator %s: %s", call->function, call->type, text);
}

/* Pointers and whole numbers travel in the same places, whatever their number. Reals travel in registers of their own,
 * in the calling conventions of both x86_64 and aarch64, wherever they are in the list. */
typedef aclnnStatus (*first_phase)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                                   intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                                   intptr_t, intptr_t, double, double, double, double);
typedef aclnnStatus (*second_phase)(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream);
_Static_assert(SNPU_OP_ARGUMENTS == 18 && SNPU_OP_REALS == 4, "first_phase has as many parameters");

static aclError run(const struct snpu_op_call *call, const struct snpu_op_type *type,
                    struct snpu_op_arguments *arguments, aclrtStream stream)
{
    first_phase plan = (first_phase)snpu_op_symbol("aclnn", type->function, "GetWorkspaceSize");
    second_phase launch = (second_phase)snpu_op_symbol("aclnn", type->function, "");
    uint64_t workspace_b = 0;
    aclOpExecutor *executor = NULL;
    void *workspace = NULL;
    intptr_t *v = arguments->values;
    const double *r = arguments->reals;
    v[arguments->count] = (intptr_t)&workspace_b;
    v[arguments->count + 1] = (intptr_t)&executor;
    aclnnStatus status = plan(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13],
                              v[14], v[15], v[16], v[17], r[0], r[1], r[2], r[3]);
    if (status != ACLNN_SUCCESS) {
        return refuse(call, status);
    }
    aclError rc = workspace_b > 0 ? aclrtMallocImpl(&workspace, workspace_b, ACL_MEM_MALLOC_HUGE_FIRST) : ACL_SUCCESS;
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    status = launch(workspace, workspace_b, executor, stream);
    rc = status != ACLNN_SUCCESS ? refuse(call, status) : snpu_op_arguments_store(call, arguments, stream);
    /* Memory that belongs to this call lives until the operator has run. */
    if (rc == ACL_SUCCESS && (workspace != NULL || arguments->staged)) {
        rc = aclrtSynchronizeStreamImpl(stream);
    }
    if (workspace != NULL) {
        (void)aclrtFreeImpl(workspace);
    }
    return rc;
}

aclError snpu_op_execute(const struct snpu_op_call *call, aclrtStream stream)
{
    const struct snpu_op_type *type = NULL;
    struct snpu_op_arguments arguments;
    aclError rc = find(call, &type);
    rc = rc != ACL_SUCCESS ? rc : check_shapes(call, "input", call->input_count, call->input_descs);
    rc = rc != ACL_SUCCESS ? rc : check_shapes(call, "output", call->output_count, call->output_descs);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    if ((call->input_count > 0 && call->inputs == NULL) || (call->output_count > 0 && call->outputs == NULL)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: operator %s: the array of data buffers is NULL", call->function,
                         call->type);
    }
    rc = snpu_op_arguments_build(call, type, stream, &arguments);
    if (rc == ACL_SUCCESS) {
        rc = run(call, type, &arguments, stream);
        snpu_op_arguments_free(&arguments);
    }
    return rc;
}

aclError aclopExecuteV2Impl(const char *opType, int numInputs, aclTensorDesc *inputDesc[], aclDataBuffer *inputs[],
                            int numOutputs, aclTensorDesc *outputDesc[], aclDataBuffer *outputs[], aclopAttr *attr,
                            aclrtStream stream)
{
    const struct snpu_op_call call = {"aclopExecuteV2",
                                      opType,
                                      numInputs,
                                      numOutputs,
                                      (const aclTensorDesc *const *)inputDesc,
                                      (const aclDataBuffer *const *)inputs,
                                      (const aclTensorDesc *const *)outputDesc,
                                      outputs,
                                      attr};
    return snpu_op_execute(&call, stream);
}

aclError aclopExecuteImpl(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[],
                          const aclDataBuffer *const inputs[], int numOutputs, const aclTensorDesc *const outputDesc[],
                          aclDataBuffer *const outputs[], const aclopAttr *attr, aclrtStream stream)
{
    const struct snpu_op_call call = {"aclopExecute", opType,     numInputs, numOutputs, inputDesc,
                                      inputs,         outputDesc, outputs,   attr};
    return snpu_op_execute(&call, stream);
}

aclError aclopCastImpl(const aclTensorDesc *srcDesc, const aclDataBuffer *srcBuffer, const aclTensorDesc *dstDesc,
                       aclDataBuffer *dstBuffer, uint8_t truncate, aclrtStream stream)
{
    if (!snpu_desc_alive(dstDesc)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclopCast: %p is not a tensor descriptor", (const void *)dstDesc);
    }
    aclopAttr *attr = aclopCreateAttrImpl();
    aclError rc = attr != NULL ? aclopSetAttrIntImpl(attr, "dst_type", dstDesc->type) : ACL_ERROR_BAD_ALLOC;
    const struct snpu_op_call call = {"aclopCast", "Cast", 1, 1, &srcDesc, &srcBuffer, &dstDesc, &dstBuffer, attr};
    rc = rc != ACL_SUCCESS ? rc : snpu_op_execute(&call, stream);
    aclopDestroyAttrImpl(attr);
    return rc;
}

/* Limits the cache of compiled operators, of which softnpu has none. */
aclError aclopSetMaxOpQueueNumImpl(uint64_t maxOpNum)
{
    return maxOpNum > 0 ? ACL_SUCCESS
                        : snpu_fail(ACL_ERROR_INVALID_PARAM, "aclopSetMaxOpQueueNum: maxOpNum must be at least 1");
}
