/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of single operators by the name of their type: the checks that do not depend on the operator.
 *
 * Threads: no state.
 * Failure: 100000 for arguments that are not what they should be, 100024 for an operator type that softnpu does not
 * have; the message names the operator type. */
#include "softnpu/aclop/aclop.h"

#include "abi/aclop_impl.h"
#include "softnpu/runtime/error.h"

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

aclError snpu_op_find(const struct snpu_op_call *call)
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
    return rc != ACL_SUCCESS ? rc
                             : snpu_fail(ACL_ERROR_OP_NOT_FOUND, "%s: softnpu has no operator of type %s",
                                         call->function, call->type);
}

aclError snpu_op_execute(const struct snpu_op_call *call, aclrtStream stream)
{
    return snpu_op_find(call);
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

/* Limits the cache of compiled operators, of which softnpu has none. */
aclError aclopSetMaxOpQueueNumImpl(uint64_t maxOpNum)
{
    return maxOpNum > 0 ? ACL_SUCCESS
                        : snpu_fail(ACL_ERROR_INVALID_PARAM, "aclopSetMaxOpQueueNum: maxOpNum must be at least 1");
}

void aclopDestroyHandleImpl(aclopHandle *handle)
{
    if (handle != NULL) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "aclopDestroyHandle: %p is not a handle of an operator", (void *)handle);
    }
}
