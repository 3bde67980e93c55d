/* SPDX-License-Identifier: Apache-2.0 */
/* Models: capture, building, replay, questions, branches. Stateless. */
#include "softnpu/acl/impl.h"

#include "softnpu/runtime/model.h"

#include <stdbool.h>
#include <string.h>

#define BIND_HEAD    0u          /* the stream starts with the model */
#define BIND_DEFAULT 0x7fffffffu /* it is started by aclrtActiveStream or aclrtSwitchStream */

/* ---- capture ---- */

aclError aclmdlRICaptureBeginImpl(aclrtStream stream, aclmdlRICaptureMode mode)
{
    return snpu_capture_begin("aclmdlRICaptureBegin", stream, NULL, (int)mode);
}

aclError aclmdlRICaptureToModelRIBeginImpl(aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode)
{
    ACL_NEED(aclmdlRICaptureToModelRIBegin, modelRI);
    return snpu_capture_begin("aclmdlRICaptureToModelRIBegin", stream, modelRI, (int)mode);
}

aclError aclmdlRICaptureGetInfoImpl(aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI)
{
    ACL_NEED(aclmdlRICaptureGetInfo, status);
    int have = 0;
    aclError ret = snpu_capture_info("aclmdlRICaptureGetInfo", stream, &have, modelRI);
    if (ret == ACL_SUCCESS) {
        *status = (aclmdlRICaptureStatus)have;
    }
    return ret;
}

aclError aclmdlRICaptureEndImpl(aclrtStream stream, aclmdlRI *modelRI)
{
    ACL_NEED(aclmdlRICaptureEnd, modelRI);
    return snpu_capture_end("aclmdlRICaptureEnd", stream, modelRI);
}

aclError aclmdlRICaptureThreadExchangeModeImpl(aclmdlRICaptureMode *mode)
{
    ACL_NEED(aclmdlRICaptureThreadExchangeMode, mode);
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
    ACL_NEED(aclmdlRICaptureTaskGrpEnd, handle);
    return snpu_group_end("aclmdlRICaptureTaskGrpEnd", stream, handle);
}

aclError aclmdlRICaptureTaskUpdateBeginImpl(aclrtStream stream, aclrtTaskGrp handle)
{
    ACL_NEED(aclmdlRICaptureTaskUpdateBegin, handle);
    return snpu_update_begin("aclmdlRICaptureTaskUpdateBegin", stream, handle);
}

aclError aclmdlRICaptureTaskUpdateEndImpl(aclrtStream stream)
{
    return snpu_update_end("aclmdlRICaptureTaskUpdateEnd", stream);
}

/* ---- building ---- */

aclError aclmdlRIBuildBeginImpl(aclmdlRI *modelRI, uint32_t flag)
{
    ACL_NEED(aclmdlRIBuildBegin, modelRI);
    SNPU_PROF_RT_CALL(MODEL_CREATE);
    if (flag != 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIBuildBegin: flag %u", flag);
    }
    return snpu_model_build_begin("aclmdlRIBuildBegin", modelRI);
}

aclError aclmdlRIBindStreamImpl(aclmdlRI modelRI, aclrtStream stream, uint32_t flag)
{
    ACL_NEED(aclmdlRIBindStream, modelRI);
    ACL_NEED(aclmdlRIBindStream, stream);
    SNPU_PROF_RT_CALL(MODEL_BIND_STREAM);
    if (flag != BIND_HEAD && flag != BIND_DEFAULT) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIBindStream: flag 0x%x", flag);
    }
    return snpu_model_bind("aclmdlRIBindStream", modelRI, stream, flag == BIND_HEAD);
}

aclError aclmdlRIEndTaskImpl(aclmdlRI modelRI, aclrtStream stream)
{
    ACL_NEED(aclmdlRIEndTask, modelRI);
    ACL_NEED(aclmdlRIEndTask, stream);
    return snpu_model_end_task("aclmdlRIEndTask", modelRI, stream);
}

aclError aclmdlRIBuildEndImpl(aclmdlRI modelRI, void *reserve)
{
    ACL_NEED(aclmdlRIBuildEnd, modelRI);
    (void)reserve;
    return snpu_model_build_end("aclmdlRIBuildEnd", modelRI);
}

aclError aclmdlRIUnbindStreamImpl(aclmdlRI modelRI, aclrtStream stream)
{
    ACL_NEED(aclmdlRIUnbindStream, modelRI);
    ACL_NEED(aclmdlRIUnbindStream, stream);
    SNPU_PROF_RT_CALL(MODEL_UNBIND_STREAM);
    return snpu_model_unbind("aclmdlRIUnbindStream", modelRI, stream);
}

/* ---- running and life ---- */

aclError aclmdlRIExecuteImpl(aclmdlRI modelRI, int32_t timeout)
{
    ACL_NEED(aclmdlRIExecute, modelRI);
    SNPU_PROF_RT_CALL(MODEL_EXECUTE_SYNC);
    return snpu_model_execute("aclmdlRIExecute", modelRI, timeout);
}

aclError aclmdlRIExecuteAsyncImpl(aclmdlRI modelRI, aclrtStream stream)
{
    ACL_NEED(aclmdlRIExecuteAsync, modelRI);
    SNPU_PROF_RT_CALL(MODEL_EXECUTE_ASYNC);
    return snpu_model_execute_async("aclmdlRIExecuteAsync", modelRI, stream);
}

aclError aclmdlRIAbortImpl(aclmdlRI modelRI)
{
    ACL_NEED(aclmdlRIAbort, modelRI);
    return snpu_model_abort("aclmdlRIAbort", modelRI);
}

aclError aclmdlRIUpdateImpl(aclmdlRI modelRI)
{
    ACL_NEED(aclmdlRIUpdate, modelRI);
    return snpu_model_apply("aclmdlRIUpdate", modelRI);
}

aclError aclmdlRIDestroyImpl(aclmdlRI modelRI)
{
    ACL_NEED(aclmdlRIDestroy, modelRI);
    SNPU_PROF_RT_CALL(MODEL_DESTROY);
    return snpu_model_destroy("aclmdlRIDestroy", modelRI);
}

aclError aclmdlRIDestroyRegisterCallbackImpl(aclmdlRI modelRI, aclrtCallback func, void *userData)
{
    ACL_NEED(aclmdlRIDestroyRegisterCallback, modelRI);
    ACL_NEED(aclmdlRIDestroyRegisterCallback, func);
    return snpu_model_on_destroy("aclmdlRIDestroyRegisterCallback", modelRI, func, userData, true);
}

aclError aclmdlRIDestroyUnregisterCallbackImpl(aclmdlRI modelRI, aclrtCallback func)
{
    ACL_NEED(aclmdlRIDestroyUnregisterCallback, modelRI);
    ACL_NEED(aclmdlRIDestroyUnregisterCallback, func);
    return snpu_model_on_destroy("aclmdlRIDestroyUnregisterCallback", modelRI, func, NULL, false);
}

/* ---- questions ---- */

aclError aclmdlRISetNameImpl(aclmdlRI modelRI, const char *name)
{
    ACL_NEED(aclmdlRISetName, modelRI);
    ACL_NEED(aclmdlRISetName, name);
    return snpu_model_set_name("aclmdlRISetName", modelRI, name);
}

aclError aclmdlRIGetNameImpl(aclmdlRI modelRI, uint32_t maxLen, char *name)
{
    ACL_NEED(aclmdlRIGetName, modelRI);
    ACL_NEED(aclmdlRIGetName, name);
    return snpu_model_get_name("aclmdlRIGetName", modelRI, maxLen, name);
}

aclError aclmdlRIGetIdImpl(aclmdlRI modelRI, uint32_t *modelRIId)
{
    ACL_NEED(aclmdlRIGetId, modelRI);
    ACL_NEED(aclmdlRIGetId, modelRIId);
    return snpu_model_id("aclmdlRIGetId", modelRI, modelRIId);
}

aclError aclmdlRIDebugPrintImpl(aclmdlRI modelRI)
{
    ACL_NEED(aclmdlRIDebugPrint, modelRI);
    return snpu_model_print("aclmdlRIDebugPrint", modelRI, NULL, true);
}

aclError aclmdlRIDebugJsonPrintImpl(aclmdlRI modelRI, const char *path, uint32_t flags)
{
    ACL_NEED(aclmdlRIDebugJsonPrint, modelRI);
    ACL_NEED(aclmdlRIDebugJsonPrint, path);
    if (flags > ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIDebugJsonPrint: flags %u", flags);
    }
    return snpu_model_print("aclmdlRIDebugJsonPrint", modelRI, path, flags == ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE);
}

aclError aclmdlRIGetStreamsImpl(aclmdlRI modelRI, aclrtStream *streams, uint32_t *numStreams)
{
    ACL_NEED(aclmdlRIGetStreams, modelRI);
    ACL_NEED(aclmdlRIGetStreams, numStreams);
    return snpu_model_streams("aclmdlRIGetStreams", modelRI, streams, numStreams);
}

aclError aclmdlRIGetTasksByStreamImpl(aclrtStream stream, aclmdlRITask *tasks, uint32_t *numTasks)
{
    ACL_NEED(aclmdlRIGetTasksByStream, stream);
    ACL_NEED(aclmdlRIGetTasksByStream, numTasks);
    return snpu_model_tasks("aclmdlRIGetTasksByStream", stream, tasks, numTasks);
}

/* ---- tasks ---- */

aclError aclmdlRITaskGetSeqIdImpl(aclmdlRITask task, uint32_t *id)
{
    ACL_NEED(aclmdlRITaskGetSeqId, task);
    ACL_NEED(aclmdlRITaskGetSeqId, id);
    return snpu_node_seq("aclmdlRITaskGetSeqId", task, id);
}

aclError aclmdlRITaskGetTypeImpl(aclmdlRITask task, aclmdlRITaskType *type)
{
    ACL_NEED(aclmdlRITaskGetType, task);
    ACL_NEED(aclmdlRITaskGetType, type);
    int have = 0;
    aclError ret = snpu_node_type("aclmdlRITaskGetType", task, &have);
    if (ret == ACL_SUCCESS) {
        *type = (aclmdlRITaskType)have;
    }
    return ret;
}

aclError aclmdlRITaskGetParamsImpl(aclmdlRITask task, aclmdlRITaskParams *params)
{
    ACL_NEED(aclmdlRITaskGetParams, task);
    ACL_NEED(aclmdlRITaskGetParams, params);
    return snpu_node_get("aclmdlRITaskGetParams", task, params);
}

aclError aclmdlRITaskSetParamsImpl(aclmdlRITask task, aclmdlRITaskParams *params)
{
    ACL_NEED(aclmdlRITaskSetParams, task);
    ACL_NEED(aclmdlRITaskSetParams, params);
    return snpu_node_set("aclmdlRITaskSetParams", task, params);
}

aclError aclmdlRIKernelTaskGetAttributeImpl(aclmdlRITask task, aclrtLaunchKernelAttrId attrId,
                                            aclrtLaunchKernelAttrValue *attrValue)
{
    ACL_NEED(aclmdlRIKernelTaskGetAttribute, task);
    ACL_NEED(aclmdlRIKernelTaskGetAttribute, attrValue);
    aclmdlRITaskParams params;
    aclError ret = snpu_node_get("aclmdlRIKernelTaskGetAttribute", task, &params);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    if (params.type != ACL_MODEL_RI_TASK_KERNEL || attrId < ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE ||
        attrId > ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIKernelTaskGetAttribute: attribute %d, task of type %d",
                         (int)attrId, (int)params.type);
    }
    memset(attrValue, 0, sizeof(*attrValue)); /* what was not given at the launch */
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
    ACL_NEED(aclmdlRITaskDisable, task);
    return snpu_node_disable("aclmdlRITaskDisable", task);
}

/* ---- conditional bodies ---- */

aclError aclmdlRICondHandleCreateImpl(aclmdlRI modelRI, uint32_t defaultLaunchValue, aclmdlRICondHandleFlag flag,
                                      aclmdlRICondHandle *handle)
{
    ACL_NEED(aclmdlRICondHandleCreate, modelRI);
    ACL_NEED(aclmdlRICondHandleCreate, handle);
    if ((uint32_t)flag > ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRICondHandleCreate: flag %d", (int)flag);
    }
    return snpu_cond_create("aclmdlRICondHandleCreate", modelRI, defaultLaunchValue,
                            flag == ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, handle);
}

aclError aclmdlRICondHandleGetCondPtrImpl(aclmdlRICondHandle handle, uint64_t **ptr)
{
    ACL_NEED(aclmdlRICondHandleGetCondPtr, handle);
    ACL_NEED(aclmdlRICondHandleGetCondPtr, ptr);
    return snpu_cond_pointer("aclmdlRICondHandleGetCondPtr", handle, ptr);
}

aclError aclmdlRIAddCondTaskImpl(aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags)
{
    ACL_NEED(aclmdlRIAddCondTask, params.handle);
    ACL_NEED(aclmdlRIAddCondTask, params.modelRIArray);
    if (flags != 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlRIAddCondTask: flags %u", flags);
    }
    return snpu_cond_add("aclmdlRIAddCondTask", params.handle, (int)params.type, params.size, params.modelRIArray,
                         stream);
}

/* ---- branches of built models ---- */

aclError aclrtActiveStreamImpl(aclrtStream activeStream, aclrtStream stream)
{
    ACL_NEED(aclrtActiveStream, activeStream);
    return snpu_stream_activate("aclrtActiveStream", activeStream, stream);
}

aclError aclrtSwitchStreamImpl(void *leftValue, aclrtCondition cond, void *rightValue, aclrtCompareDataType dataType,
                               aclrtStream trueStream, aclrtStream falseStream, aclrtStream stream)
{
    ACL_NEED(aclrtSwitchStream, leftValue);
    ACL_NEED(aclrtSwitchStream, rightValue);
    ACL_NEED(aclrtSwitchStream, trueStream);
    const struct snpu_switch what = {leftValue, rightValue, (int)cond, (int)dataType};
    return snpu_stream_switch("aclrtSwitchStream", &what, trueStream, falseStream, stream);
}

aclError aclrtCreateLabelImpl(aclrtLabel *label)
{
    ACL_NEED(aclrtCreateLabel, label);
    return snpu_label_create("aclrtCreateLabel", label);
}

aclError aclrtSetLabelImpl(aclrtLabel label, aclrtStream stream)
{
    ACL_NEED(aclrtSetLabel, label);
    return snpu_label_set("aclrtSetLabel", label, stream);
}

aclError aclrtDestroyLabelImpl(aclrtLabel label)
{
    ACL_NEED(aclrtDestroyLabel, label);
    return snpu_label_destroy("aclrtDestroyLabel", label);
}

aclError aclrtCreateLabelListImpl(aclrtLabel *labels, size_t num, aclrtLabelList *labelList)
{
    ACL_NEED(aclrtCreateLabelList, labels);
    ACL_NEED(aclrtCreateLabelList, labelList);
    if (num == 0 || num > UINT16_MAX) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateLabelList: num %zu", num);
    }
    return snpu_label_list_create("aclrtCreateLabelList", labels, num, labelList);
}

aclError aclrtDestroyLabelListImpl(aclrtLabelList labelList)
{
    ACL_NEED(aclrtDestroyLabelList, labelList);
    return snpu_label_list_destroy("aclrtDestroyLabelList", labelList);
}

aclError aclrtSwitchLabelByIndexImpl(void *ptr, uint32_t maxValue, aclrtLabelList labelList, aclrtStream stream)
{
    ACL_NEED(aclrtSwitchLabelByIndex, ptr);
    ACL_NEED(aclrtSwitchLabelByIndex, labelList);
    return snpu_label_switch("aclrtSwitchLabelByIndex", ptr, maxValue, labelList, stream);
}
