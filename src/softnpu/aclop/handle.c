/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of single operators: type, descriptors and attributes of calls that differ only in their buffers.
 *
 * Invariants: a handle has copies of its descriptors and attributes, which the caller may destroy.
 * Threads: a handle may be executed from several threads; nothing in it changes.
 * Failure: as aclopExecute; an unknown or destroyed handle gives 100000. */
#include "softnpu/aclop/aclop.h"

#include "abi/aclop_impl.h"
#include "base/slab.h"
#include "softnpu/runtime/error.h"

#include <stdlib.h>
#include <string.h>

struct aclopHandle {
    char *type;
    int input_count, output_count;
    aclTensorDesc **descs; /* inputs, then outputs */
    aclopAttr *attr;
};

static struct ms_slab handles = MS_SLAB_INIT(struct aclopHandle, 1 << 14);

static void release(aclopHandle *handle)
{
    for (int i = 0; handle->descs != NULL && i < handle->input_count + handle->output_count; i++) {
        aclDestroyTensorDescImpl(handle->descs[i]);
    }
    aclopDestroyAttrImpl(handle->attr);
    free(handle->descs);
    free(handle->type);
    ms_slab_free(&handles, handle);
}

static aclError create(const struct snpu_op_call *call, aclopHandle **out)
{
    if (out == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: handle is NULL", call->function);
    }
    aclError rc = snpu_op_find(call);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    aclopHandle *handle = ms_slab_alloc(&handles);
    if (handle == NULL) {
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: too many handles", call->function);
    }
    size_t inputs = (size_t)call->input_count, outputs = (size_t)call->output_count;
    handle->input_count = call->input_count;
    handle->output_count = call->output_count;
    handle->type = strdup(call->type);
    handle->descs = calloc(inputs + outputs + 1, sizeof(*handle->descs));
    bool ok = handle->type != NULL && handle->descs != NULL;
    for (size_t i = 0; ok && i < inputs + outputs; i++) {
        handle->descs[i] = snpu_desc_copy(i < inputs ? call->input_descs[i] : call->output_descs[i - inputs]);
        ok = handle->descs[i] != NULL;
    }
    if (ok && call->attr != NULL) {
        handle->attr = snpu_attrs_copy(call->attr);
        ok = handle->attr != NULL;
    }
    if (!ok) {
        release(handle);
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of host memory", call->function);
    }
    *out = handle;
    return ACL_SUCCESS;
}

aclError aclopCreateHandleImpl(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[],
                               int numOutputs, const aclTensorDesc *const outputDesc[], const aclopAttr *opAttr,
                               aclopHandle **handle)
{
    const struct snpu_op_call call = {"aclopCreateHandle", opType, numInputs, numOutputs, inputDesc, NULL,
                                      outputDesc,          NULL,   opAttr};
    return create(&call, handle);
}

aclError aclopCreateHandleForCastImpl(aclTensorDesc *srcDesc, aclTensorDesc *dstDesc, uint8_t truncate,
                                      aclopHandle **handle)
{
    if (!snpu_desc_alive(dstDesc)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclopCreateHandleForCast: %p is not a tensor descriptor",
                         (void *)dstDesc);
    }
    const aclTensorDesc *src = srcDesc, *dst = dstDesc;
    aclopAttr *attr = aclopCreateAttrImpl();
    aclError rc = attr != NULL ? aclopSetAttrIntImpl(attr, "dst_type", dst->type) : ACL_ERROR_BAD_ALLOC;
    const struct snpu_op_call call = {"aclopCreateHandleForCast", "Cast", 1, 1, &src, NULL, &dst, NULL, attr};
    rc = rc != ACL_SUCCESS ? rc : create(&call, handle);
    aclopDestroyAttrImpl(attr);
    return rc;
}

void aclopDestroyHandleImpl(aclopHandle *handle)
{
    if (ms_slab_check(&handles, handle)) {
        release(handle);
    } else if (handle != NULL) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "aclopDestroyHandle: %p is not a handle of an operator", (void *)handle);
    }
}

aclError aclopExecWithHandleImpl(aclopHandle *handle, int numInputs, const aclDataBuffer *const inputs[],
                                 int numOutputs, aclDataBuffer *const outputs[], aclrtStream stream)
{
    if (!ms_slab_check(&handles, handle)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclopExecWithHandle: %p is not a handle of an operator",
                         (void *)handle);
    }
    if (numInputs != handle->input_count || numOutputs != handle->output_count) {
        return snpu_fail(numInputs != handle->input_count ? ACL_ERROR_OP_INPUT_NOT_MATCH
                                                          : ACL_ERROR_OP_OUTPUT_NOT_MATCH,
                         "aclopExecWithHandle: operator %s has %d inputs and %d outputs, not %d and %d", handle->type,
                         handle->input_count, handle->output_count, numInputs, numOutputs);
    }
    const struct snpu_op_call call = {"aclopExecWithHandle",
                                      handle->type,
                                      numInputs,
                                      numOutputs,
                                      (const aclTensorDesc *const *)handle->descs,
                                      inputs,
                                      (const aclTensorDesc *const *)handle->descs + handle->input_count,
                                      outputs,
                                      handle->attr};
    return snpu_op_execute(&call, stream);
}
