/* SPDX-License-Identifier: Apache-2.0 */
/* Models: capture, building, replay, queries, branches. Stateless. */
#include "softnpu/acl/impl.h"

#include "softnpu/runtime/model.h"

#include <stdbool.h>
#include <string.h>

#define BIND_HEAD    0u          /* the stream starts with the model */
#define BIND_DEFAULT 0x7fffffffu /* aclrtActiveStream or aclrtSwitchStream starts it */

/* ---- capture ---- */

aclError aclmdlRICaptureBeginImpl(aclrtStream stream, aclmdlRICaptureMode mode)
{
    return snpu_capture_begin("aclmdlRICaptureBegin", stream, NULL, (int)mode);
}

aclError aclmdlRICaptureToModelRIBeginImpl(aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode)
{
    SNPU_ACL_NOT_NULL(modelRI);
    return snpu_capture_begin("aclmdlRICaptureToModelRIBegin", stream, modelRI, (int)mode);
}

aclError aclmdlRICaptureGetInfoImpl(aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI)
{
    SNPU_ACL_NOT_NULL(status);
    int have = 0;
    aclError ret = snpu_capture_info("aclmdlRICaptureGetInfo", stream, &have, modelRI);
    if (ret == ACL_SUCCESS) {
        *status = (aclmdlRICaptureStatus)have;
    }
    return ret;
}

aclError aclmdlRICaptureEndImpl(aclrtStream stream, aclmdlRI *modelRI)
{
    SNPU_ACL_NOT_NULL(modelRI);
    return snpu_capture_end("aclmdlRICaptureEnd", stream, modelRI);
}

aclError aclmdlRICaptureThreadExchangeModeImpl(aclmdlRICaptureMode *mode)
{
    SNPU_ACL_NOT_NULL(mode);
    int both = (int)*mode;
    aclError ret = snpu_capture_exchange_mode("aclmdlRICaptureThreadExchangeMode", &both);
    if (ret == ACL_SUCCESS) {
        *mode = (aclmdlRICaptureMode)both;
    }
    return ret;
}

aclError aclmdlRICaptureTaskGrpBeginImpl(aclrtStream stream)
{
    return snpu_group_begin("aclmdlRICaptureTaskGrpBegin", stream);
}

aclError aclmdlRICaptureTaskGrpEndImpl(aclrtStream stream, aclrtTaskGrp *handle)
{
    SNPU_ACL_NOT_NULL(handle);
    return snpu_group_end("aclmdlRICaptureTaskGrpEnd", stream, handle);
}

aclError aclmdlRICaptureTaskUpdateBeginImpl(aclrtStream stream, aclrtTaskGrp handle)
{
    SNPU_ACL_NOT_NULL(handle);
    return snpu_update_begin("aclmdlRICaptureTaskUpdateBegin", stream, handle);
}

aclError aclmdlRICaptureTaskUpdateEndImpl(aclrtStream stream)
{
    return snpu_update_end("aclmdlRICaptureTaskUpdateEnd", stream);
}

/* ---- building ---- */

aclError aclmdlRIBuildBeginImpl(aclmdlRI *modelRI, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_PROF_RT_CALL(MODEL_CREATE);
    if (flag != 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIBuildBegin: invalid flag %u", flag);
    }
    return snpu_model_build_begin("aclmdlRIBuildBegin", modelRI);
}

aclError aclmdlRIBindStreamImpl(aclmdlRI modelRI, aclrtStream stream, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(stream);
    SNPU_PROF_RT_CALL(MODEL_BIND_STREAM);
    if (flag != BIND_HEAD && flag != BIND_DEFAULT) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIBindStream: invalid flag 0x%x", flag);
    }
    return snpu_model_bind("aclmdlRIBindStream", modelRI, stream, flag == BIND_HEAD);
}

aclError aclmdlRIEndTaskImpl(aclmdlRI modelRI, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(stream);
    return snpu_model_end_task("aclmdlRIEndTask", modelRI, stream);
}

aclError aclmdlRIBuildEndImpl(aclmdlRI modelRI, void *reserve)
{
    SNPU_ACL_NOT_NULL(modelRI);
    (void)reserve;
    return snpu_model_build_end("aclmdlRIBuildEnd", modelRI);
}

aclError aclmdlRIUnbindStreamImpl(aclmdlRI modelRI, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(stream);
    SNPU_PROF_RT_CALL(MODEL_UNBIND_STREAM);
    return snpu_model_unbind("aclmdlRIUnbindStream", modelRI, stream);
}

/* ---- execution and lifetime ---- */

aclError aclmdlRIExecuteImpl(aclmdlRI modelRI, int32_t timeout)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_PROF_RT_CALL(MODEL_EXECUTE_SYNC);
    return snpu_model_execute("aclmdlRIExecute", modelRI, timeout);
}

aclError aclmdlRIExecuteAsyncImpl(aclmdlRI modelRI, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_PROF_RT_CALL(MODEL_EXECUTE_ASYNC);
    return snpu_model_execute_async("aclmdlRIExecuteAsync", modelRI, stream);
}

aclError aclmdlRIAbortImpl(aclmdlRI modelRI)
{
    SNPU_ACL_NOT_NULL(modelRI);
    return snpu_model_abort("aclmdlRIAbort", modelRI);
}

aclError aclmdlRIUpdateImpl(aclmdlRI modelRI)
{
    SNPU_ACL_NOT_NULL(modelRI);
    return snpu_model_apply("aclmdlRIUpdate", modelRI);
}

aclError aclmdlRIDestroyImpl(aclmdlRI modelRI)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_PROF_RT_CALL(MODEL_DESTROY);
    return snpu_model_destroy("aclmdlRIDestroy", modelRI);
}

aclError aclmdlRIDestroyRegisterCallbackImpl(aclmdlRI modelRI, aclrtCallback func, void *userData)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(func);
    return snpu_model_on_destroy("aclmdlRIDestroyRegisterCallback", modelRI, func, userData, true);
}

aclError aclmdlRIDestroyUnregisterCallbackImpl(aclmdlRI modelRI, aclrtCallback func)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(func);
    return snpu_model_on_destroy("aclmdlRIDestroyUnregisterCallback", modelRI, func, NULL, false);
}

/* ---- queries ---- */

aclError aclmdlRISetNameImpl(aclmdlRI modelRI, const char *name)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(name);
    return snpu_model_set_name("aclmdlRISetName", modelRI, name);
}

aclError aclmdlRIGetNameImpl(aclmdlRI modelRI, uint32_t maxLen, char *name)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(name);
    return snpu_model_get_name("aclmdlRIGetName", modelRI, maxLen, name);
}

aclError aclmdlRIGetIdImpl(aclmdlRI modelRI, uint32_t *modelRIId)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(modelRIId);
    return snpu_model_id("aclmdlRIGetId", modelRI, modelRIId);
}

aclError aclmdlRIDebugPrintImpl(aclmdlRI modelRI)
{
    SNPU_ACL_NOT_NULL(modelRI);
    return snpu_model_print("aclmdlRIDebugPrint", modelRI, NULL, true);
}

aclError aclmdlRIDebugJsonPrintImpl(aclmdlRI modelRI, const char *path, uint32_t flags)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(path);
    if (flags > ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIDebugJsonPrint: invalid flags %u", flags);
    }
    return snpu_model_print("aclmdlRIDebugJsonPrint", modelRI, path, flags == ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE);
}

aclError aclmdlRIGetStreamsImpl(aclmdlRI modelRI, aclrtStream *streams, uint32_t *numStreams)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(numStreams);
    return snpu_model_streams("aclmdlRIGetStreams", modelRI, streams, numStreams);
}

aclError aclmdlRIGetTasksByStreamImpl(aclrtStream stream, aclmdlRITask *tasks, uint32_t *numTasks)
{
    SNPU_ACL_NOT_NULL(stream);
    SNPU_ACL_NOT_NULL(numTasks);
    return snpu_model_tasks("aclmdlRIGetTasksByStream", stream, tasks, numTasks);
}

/* ---- tasks ---- */

aclError aclmdlRITaskGetSeqIdImpl(aclmdlRITask task, uint32_t *id)
{
    SNPU_ACL_NOT_NULL(task);
    SNPU_ACL_NOT_NULL(id);
    return snpu_node_seq("aclmdlRITaskGetSeqId", task, id);
}

aclError aclmdlRITaskGetTypeImpl(aclmdlRITask task, aclmdlRITaskType *type)
{
    SNPU_ACL_NOT_NULL(task);
    SNPU_ACL_NOT_NULL(type);
    int have = 0;
    aclError ret = snpu_node_type("aclmdlRITaskGetType", task, &have);
    if (ret == ACL_SUCCESS) {
        *type = (aclmdlRITaskType)have;
    }
    return ret;
}

aclError aclmdlRITaskGetParamsImpl(aclmdlRITask task, aclmdlRITaskParams *params)
{
    SNPU_ACL_NOT_NULL(task);
    SNPU_ACL_NOT_NULL(params);
    return snpu_node_get("aclmdlRITaskGetParams", task, params);
}

aclError aclmdlRITaskSetParamsImpl(aclmdlRITask task, aclmdlRITaskParams *params)
{
    SNPU_ACL_NOT_NULL(task);
    SNPU_ACL_NOT_NULL(params);
    return snpu_node_set("aclmdlRITaskSetParams", task, params);
}

aclError aclmdlRIKernelTaskGetAttributeImpl(aclmdlRITask task, aclrtLaunchKernelAttrId attrId,
                                            aclrtLaunchKernelAttrValue *attrValue)
{
    SNPU_ACL_NOT_NULL(task);
    SNPU_ACL_NOT_NULL(attrValue);
    aclmdlRITaskParams params;
    aclError ret = snpu_node_get("aclmdlRIKernelTaskGetAttribute", task, &params);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    if (params.type != ACL_MODEL_RI_TASK_KERNEL || attrId < ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE ||
        attrId > ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM,
                         "aclmdlRIKernelTaskGetAttribute: no attribute %d for a task of type %d", (int)attrId,
                         (int)params.type);
    }
    memset(attrValue, 0, sizeof(*attrValue)); /* not specified at the launch */
    const aclrtLaunchKernelCfg *cfg = params.kernelTaskParams.cfg;
    for (size_t i = 0; cfg != NULL && cfg->attrs != NULL && i < cfg->numAttrs; i++) {
        if (cfg->attrs[i].id == attrId) {
            *attrValue = cfg->attrs[i].value;
        }
    }
    return ACL_SUCCESS;
}

aclError aclmdlRITaskDisableImpl(aclmdlRITask task)
{
    SNPU_ACL_NOT_NULL(task);
    return snpu_node_disable("aclmdlRITaskDisable", task);
}

/* ---- conditional bodies ---- */

aclError aclmdlRICondHandleCreateImpl(aclmdlRI modelRI, uint32_t defaultLaunchValue, aclmdlRICondHandleFlag flag,
                                      aclmdlRICondHandle *handle)
{
    SNPU_ACL_NOT_NULL(modelRI);
    SNPU_ACL_NOT_NULL(handle);
    if ((uint32_t)flag > ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICondHandleCreate: invalid flag %d", (int)flag);
    }
    return snpu_cond_create("aclmdlRICondHandleCreate", modelRI, defaultLaunchValue,
                            flag == ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, handle);
}

aclError aclmdlRICondHandleGetCondPtrImpl(aclmdlRICondHandle handle, uint64_t **ptr)
{
    SNPU_ACL_NOT_NULL(handle);
    SNPU_ACL_NOT_NULL(ptr);
    return snpu_cond_pointer("aclmdlRICondHandleGetCondPtr", handle, ptr);
}

aclError aclmdlRIAddCondTaskImpl(aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags)
{
    SNPU_ACL_NOT_NULL(params.handle);
    SNPU_ACL_NOT_NULL(params.modelRIArray);
    if (flags != 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIAddCondTask: invalid flags %u", flags);
    }
    return snpu_cond_add("aclmdlRIAddCondTask", params.handle, (int)params.type, params.size, params.modelRIArray,
                         stream);
}

/* ---- branches of built models ---- */

aclError aclrtActiveStreamImpl(aclrtStream activeStream, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(activeStream);
    return snpu_stream_activate("aclrtActiveStream", activeStream, stream);
}

aclError aclrtSwitchStreamImpl(void *leftValue, aclrtCondition cond, void *rightValue, aclrtCompareDataType dataType,
                               aclrtStream trueStream, aclrtStream falseStream, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(leftValue);
    SNPU_ACL_NOT_NULL(rightValue);
    SNPU_ACL_NOT_NULL(trueStream);
    const struct snpu_switch what = {leftValue, rightValue, (int)cond, (int)dataType};
    return snpu_stream_switch("aclrtSwitchStream", &what, trueStream, falseStream, stream);
}

aclError aclrtCreateLabelImpl(aclrtLabel *label)
{
    SNPU_ACL_NOT_NULL(label);
    return snpu_label_create("aclrtCreateLabel", label);
}

aclError aclrtSetLabelImpl(aclrtLabel label, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(label);
    return snpu_label_set("aclrtSetLabel", label, stream);
}

aclError aclrtDestroyLabelImpl(aclrtLabel label)
{
    SNPU_ACL_NOT_NULL(label);
    return snpu_label_destroy("aclrtDestroyLabel", label);
}

aclError aclrtCreateLabelListImpl(aclrtLabel *labels, size_t num, aclrtLabelList *labelList)
{
    SNPU_ACL_NOT_NULL(labels);
    SNPU_ACL_NOT_NULL(labelList);
    if (num == 0 || num > UINT16_MAX) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateLabelList: invalid num %zu", num);
    }
    return snpu_label_list_create("aclrtCreateLabelList", labels, num, labelList);
}

aclError aclrtDestroyLabelListImpl(aclrtLabelList labelList)
{
    SNPU_ACL_NOT_NULL(labelList);
    return snpu_label_list_destroy("aclrtDestroyLabelList", labelList);
}

aclError aclrtSwitchLabelByIndexImpl(void *ptr, uint32_t maxValue, aclrtLabelList labelList, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(ptr);
    SNPU_ACL_NOT_NULL(labelList);
    return snpu_label_switch("aclrtSwitchLabelByIndex", ptr, maxValue, labelList, stream);
}
