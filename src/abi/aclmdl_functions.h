/* SPDX-License-Identifier: Apache-2.0 */
/* Offline models: functions of libascendcl.so that libacl_rt.so does not have. softnpu does not load offline models.
 *     ACLMDL_FN(status, result, name, (parameters), (arguments))        status: IMPLEMENTED or UNSUPPORTED
 * ACLMDL_FN_LOAD rows load or read a model, ACLMDL_FN_MODEL rows take the number of a loaded one; they have codes of
 * their own. As in acl_functions.h, nameImpl is defined in libascendcl_impl.so. Define ACLMDL_FN before including this
 * file; the other two default to it. All are undefined at the end. */
#ifndef ACLMDL_FN_LOAD
#define ACLMDL_FN_LOAD ACLMDL_FN
#endif
#ifndef ACLMDL_FN_MODEL
#define ACLMDL_FN_MODEL ACLMDL_FN
#endif

/* clang-format off */
ACLMDL_FN(IMPLEMENTED, aclmdlDesc *, aclmdlCreateDesc, (void), ())
ACLMDL_FN(IMPLEMENTED, aclError, aclmdlDestroyDesc, (aclmdlDesc *modelDesc), (modelDesc))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlGetDesc, (aclmdlDesc *modelDesc, uint32_t modelId), (modelDesc, modelId))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlGetDescFromFile, (aclmdlDesc *modelDesc, const char *modelPath), (modelDesc,
               modelPath))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlGetDescFromMem, (aclmdlDesc *modelDesc, const void *model, size_t
               modelSize), (modelDesc, model, modelSize))
ACLMDL_FN(UNSUPPORTED, size_t, aclmdlGetNumInputs, (aclmdlDesc *modelDesc), (modelDesc))
ACLMDL_FN(UNSUPPORTED, size_t, aclmdlGetNumOutputs, (aclmdlDesc *modelDesc), (modelDesc))
ACLMDL_FN(UNSUPPORTED, size_t, aclmdlGetInputSizeByIndex, (aclmdlDesc *modelDesc, size_t index), (modelDesc, index))
ACLMDL_FN(UNSUPPORTED, size_t, aclmdlGetOutputSizeByIndex, (aclmdlDesc *modelDesc, size_t index), (modelDesc, index))
ACLMDL_FN(UNSUPPORTED, aclmdlExecConfigHandle *, aclmdlCreateExecConfigHandle, (void), ())
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlDestroyExecConfigHandle, (const aclmdlExecConfigHandle *handle), (handle))
ACLMDL_FN(IMPLEMENTED, aclmdlDataset *, aclmdlCreateDataset, (void), ())
ACLMDL_FN(IMPLEMENTED, aclError, aclmdlDestroyDataset, (const aclmdlDataset *dataset), (dataset))
ACLMDL_FN(IMPLEMENTED, aclError, aclmdlAddDatasetBuffer, (aclmdlDataset *dataset, aclDataBuffer *dataBuffer), (dataset,
          dataBuffer))
ACLMDL_FN(IMPLEMENTED, aclError, aclmdlSetDatasetTensorDesc, (aclmdlDataset *dataset, aclTensorDesc *tensorDesc, size_t
          index), (dataset, tensorDesc, index))
ACLMDL_FN(IMPLEMENTED, aclTensorDesc *, aclmdlGetDatasetTensorDesc, (const aclmdlDataset *dataset, size_t index),
          (dataset, index))
ACLMDL_FN(IMPLEMENTED, size_t, aclmdlGetDatasetNumBuffers, (const aclmdlDataset *dataset), (dataset))
ACLMDL_FN(IMPLEMENTED, aclDataBuffer *, aclmdlGetDatasetBuffer, (const aclmdlDataset *dataset, size_t index), (dataset,
          index))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlLoadFromFile, (const char *modelPath, uint32_t *modelId), (modelPath,
               modelId))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlBundleLoadFromFile, (const char *modelPath, uint32_t *bundleId), (modelPath,
               bundleId))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlBundleLoadFromMem, (const void *model, size_t modelSize, uint32_t
               *bundleId), (model, modelSize, bundleId))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlBundleUnload, (uint32_t bundleId), (bundleId))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlBundleGetModelNum, (uint32_t bundleId, size_t *modelNum), (bundleId,
                modelNum))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlBundleGetModelId, (uint32_t bundleId, size_t index, uint32_t *modelId),
                (bundleId, index, modelId))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlLoadFromMem, (const void *model, size_t modelSize, uint32_t *modelId),
               (model, modelSize, modelId))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlLoadFromFileWithMem, (const char *modelPath, uint32_t *modelId, void
               *workPtr, size_t workSize, void *weightPtr, size_t weightSize), (modelPath, modelId, workPtr, workSize,
               weightPtr, weightSize))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlLoadFromMemWithMem, (const void *model, size_t modelSize, uint32_t *modelId,
               void *workPtr, size_t workSize, void *weightPtr, size_t weightSize), (model, modelSize, modelId, workPtr,
               workSize, weightPtr, weightSize))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlLoadFromFileWithQ, (const char *modelPath, uint32_t *modelId, const uint32_t
               *inputQ, size_t inputQNum, const uint32_t *outputQ, size_t outputQNum), (modelPath, modelId, inputQ,
               inputQNum, outputQ, outputQNum))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlLoadFromMemWithQ, (const void *model, size_t modelSize, uint32_t *modelId,
               const uint32_t *inputQ, size_t inputQNum, const uint32_t *outputQ, size_t outputQNum), (model, modelSize,
               modelId, inputQ, inputQNum, outputQ, outputQNum))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlExecute, (uint32_t modelId, const aclmdlDataset *input, aclmdlDataset
                *output), (modelId, input, output))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlExecuteV2, (uint32_t modelId, const aclmdlDataset *input, aclmdlDataset
                *output, aclrtStream stream, const aclmdlExecConfigHandle *handle), (modelId, input, output, stream,
                handle))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlUnload, (uint32_t modelId), (modelId))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlExecuteAsyncV2, (uint32_t modelId, const aclmdlDataset *input,
                aclmdlDataset *output, aclrtStream stream, const aclmdlExecConfigHandle *handle), (modelId, input,
                output, stream, handle))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlExecuteAsync, (uint32_t modelId, const aclmdlDataset *input, aclmdlDataset
                *output, aclrtStream stream), (modelId, input, output, stream))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlQuerySize, (const char *fileName, size_t *workSize, size_t *weightSize),
               (fileName, workSize, weightSize))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlQueryExeOMDesc, (const char *fileName, aclmdlExeOMDesc *mdlPartitionSize),
               (fileName, mdlPartitionSize))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlQuerySizeFromMem, (const void *model, size_t modelSize, size_t *workSize,
               size_t *weightSize), (model, modelSize, workSize, weightSize))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlSetDynamicBatchSize, (uint32_t modelId, aclmdlDataset *dataset, size_t
                index, uint64_t batchSize), (modelId, dataset, index, batchSize))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlSetDynamicHWSize, (uint32_t modelId, aclmdlDataset *dataset, size_t index,
                uint64_t height, uint64_t width), (modelId, dataset, index, height, width))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlSetInputDynamicDims, (uint32_t modelId, aclmdlDataset *dataset, size_t
                index, const aclmdlIODims *dims), (modelId, dataset, index, dims))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetInputDims, (const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims),
          (modelDesc, index, dims))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetInputDimsV2, (const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims),
          (modelDesc, index, dims))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetInputDimsRange, (const aclmdlDesc *modelDesc, size_t index, aclmdlIODimsRange
          *dimsRange), (modelDesc, index, dimsRange))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetOutputDims, (const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims),
          (modelDesc, index, dims))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetCurOutputDims, (const aclmdlDesc *modelDesc, size_t index, aclmdlIODims
          *dims), (modelDesc, index, dims))
ACLMDL_FN(UNSUPPORTED, const char *, aclmdlGetOpAttr, (aclmdlDesc *modelDesc, const char *opName, const char *attr),
          (modelDesc, opName, attr))
ACLMDL_FN(UNSUPPORTED, const char *, aclmdlGetInputNameByIndex, (const aclmdlDesc *modelDesc, size_t index), (modelDesc,
          index))
ACLMDL_FN(UNSUPPORTED, const char *, aclmdlGetOutputNameByIndex, (const aclmdlDesc *modelDesc, size_t index),
          (modelDesc, index))
ACLMDL_FN(IMPLEMENTED, aclFormat, aclmdlGetInputFormat, (const aclmdlDesc *modelDesc, size_t index), (modelDesc, index))
ACLMDL_FN(IMPLEMENTED, aclFormat, aclmdlGetOutputFormat, (const aclmdlDesc *modelDesc, size_t index), (modelDesc,
          index))
ACLMDL_FN(IMPLEMENTED, aclDataType, aclmdlGetInputDataType, (const aclmdlDesc *modelDesc, size_t index), (modelDesc,
          index))
ACLMDL_FN(IMPLEMENTED, aclDataType, aclmdlGetOutputDataType, (const aclmdlDesc *modelDesc, size_t index), (modelDesc,
          index))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetInputIndexByName, (const aclmdlDesc *modelDesc, const char *name, size_t
          *index), (modelDesc, name, index))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetOutputIndexByName, (const aclmdlDesc *modelDesc, const char *name, size_t
          *index), (modelDesc, name, index))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetDynamicBatch, (const aclmdlDesc *modelDesc, aclmdlBatch *batch), (modelDesc,
          batch))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetDynamicHW, (const aclmdlDesc *modelDesc, size_t index, aclmdlHW *hw),
          (modelDesc, index, hw))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetInputDynamicGearCount, (const aclmdlDesc *modelDesc, size_t index, size_t
          *gearCount), (modelDesc, index, gearCount))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetInputDynamicDims, (const aclmdlDesc *modelDesc, size_t index, aclmdlIODims
          *dims, size_t gearCount), (modelDesc, index, dims, gearCount))
ACLMDL_FN(UNSUPPORTED, aclmdlAIPP *, aclmdlCreateAIPP, (uint64_t batchSize), (batchSize))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlDestroyAIPP, (const aclmdlAIPP *aippParmsSet), (aippParmsSet))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlGetAippDataSize, (uint64_t batchSize, size_t *size), (batchSize, size))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPInputFormat, (aclmdlAIPP *aippParmsSet, aclAippInputFormat inputFormat),
          (aippParmsSet, inputFormat))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPCscParams, (aclmdlAIPP *aippParmsSet, int8_t cscSwitch, int16_t
          cscMatrixR0C0, int16_t cscMatrixR0C1, int16_t cscMatrixR0C2, int16_t cscMatrixR1C0, int16_t cscMatrixR1C1,
          int16_t cscMatrixR1C2, int16_t cscMatrixR2C0, int16_t cscMatrixR2C1, int16_t cscMatrixR2C2, uint8_t
          cscOutputBiasR0, uint8_t cscOutputBiasR1, uint8_t cscOutputBiasR2, uint8_t cscInputBiasR0, uint8_t
          cscInputBiasR1, uint8_t cscInputBiasR2), (aippParmsSet, cscSwitch, cscMatrixR0C0, cscMatrixR0C1,
          cscMatrixR0C2, cscMatrixR1C0, cscMatrixR1C1, cscMatrixR1C2, cscMatrixR2C0, cscMatrixR2C1, cscMatrixR2C2,
          cscOutputBiasR0, cscOutputBiasR1, cscOutputBiasR2, cscInputBiasR0, cscInputBiasR1, cscInputBiasR2))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPRbuvSwapSwitch, (aclmdlAIPP *aippParmsSet, int8_t rbuvSwapSwitch),
          (aippParmsSet, rbuvSwapSwitch))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPAxSwapSwitch, (aclmdlAIPP *aippParmsSet, int8_t axSwapSwitch),
          (aippParmsSet, axSwapSwitch))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPSrcImageSize, (aclmdlAIPP *aippParmsSet, int32_t srcImageSizeW, int32_t
          srcImageSizeH), (aippParmsSet, srcImageSizeW, srcImageSizeH))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPScfParams, (aclmdlAIPP *aippParmsSet, int8_t scfSwitch, int32_t
          scfInputSizeW, int32_t scfInputSizeH, int32_t scfOutputSizeW, int32_t scfOutputSizeH, uint64_t batchIndex),
          (aippParmsSet, scfSwitch, scfInputSizeW, scfInputSizeH, scfOutputSizeW, scfOutputSizeH, batchIndex))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPCropParams, (aclmdlAIPP *aippParmsSet, int8_t cropSwitch, int32_t
          cropStartPosW, int32_t cropStartPosH, int32_t cropSizeW, int32_t cropSizeH, uint64_t batchIndex),
          (aippParmsSet, cropSwitch, cropStartPosW, cropStartPosH, cropSizeW, cropSizeH, batchIndex))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPPaddingParams, (aclmdlAIPP *aippParmsSet, int8_t paddingSwitch, int32_t
          paddingSizeTop, int32_t paddingSizeBottom, int32_t paddingSizeLeft, int32_t paddingSizeRight, uint64_t
          batchIndex), (aippParmsSet, paddingSwitch, paddingSizeTop, paddingSizeBottom, paddingSizeLeft,
          paddingSizeRight, batchIndex))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPDtcPixelMean, (aclmdlAIPP *aippParmsSet, int16_t dtcPixelMeanChn0, int16_t
          dtcPixelMeanChn1, int16_t dtcPixelMeanChn2, int16_t dtcPixelMeanChn3, uint64_t batchIndex), (aippParmsSet,
          dtcPixelMeanChn0, dtcPixelMeanChn1, dtcPixelMeanChn2, dtcPixelMeanChn3, batchIndex))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPDtcPixelMin, (aclmdlAIPP *aippParmsSet, float dtcPixelMinChn0, float
          dtcPixelMinChn1, float dtcPixelMinChn2, float dtcPixelMinChn3, uint64_t batchIndex), (aippParmsSet,
          dtcPixelMinChn0, dtcPixelMinChn1, dtcPixelMinChn2, dtcPixelMinChn3, batchIndex))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetAIPPPixelVarReci, (aclmdlAIPP *aippParmsSet, float dtcPixelVarReciChn0, float
          dtcPixelVarReciChn1, float dtcPixelVarReciChn2, float dtcPixelVarReciChn3, uint64_t batchIndex),
          (aippParmsSet, dtcPixelVarReciChn0, dtcPixelVarReciChn1, dtcPixelVarReciChn2, dtcPixelVarReciChn3,
          batchIndex))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlSetInputAIPP, (uint32_t modelId, aclmdlDataset *dataset, size_t index,
                const aclmdlAIPP *aippParmsSet), (modelId, dataset, index, aippParmsSet))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlSetAIPPByInputIndex, (uint32_t modelId, aclmdlDataset *dataset, size_t
                index, const aclmdlAIPP *aippParmsSet), (modelId, dataset, index, aippParmsSet))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlGetAippType, (uint32_t modelId, size_t index, aclmdlInputAippType *type,
                size_t *dynamicAttachedDataIndex), (modelId, index, type, dynamicAttachedDataIndex))
ACLMDL_FN_MODEL(UNSUPPORTED, aclError, aclmdlGetFirstAippInfo, (uint32_t modelId, size_t index, aclAippInfo *aippInfo),
                (modelId, index, aippInfo))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlCreateAndGetOpDesc, (uint32_t deviceId, uint32_t streamId, uint32_t taskId, char
          *opName, size_t opNameLen, aclTensorDesc **inputDesc, size_t *numInputs, aclTensorDesc **outputDesc, size_t
          *numOutputs), (deviceId, streamId, taskId, opName, opNameLen, inputDesc, numInputs, outputDesc, numOutputs))
ACLMDL_FN_LOAD(UNSUPPORTED, aclError, aclmdlLoadWithConfig, (const aclmdlConfigHandle *handle, uint32_t *modelId),
               (handle, modelId))
ACLMDL_FN(UNSUPPORTED, aclmdlConfigHandle *, aclmdlCreateConfigHandle, (void), ())
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlDestroyConfigHandle, (aclmdlConfigHandle *handle), (handle))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetConfigOpt, (aclmdlConfigHandle *handle, aclmdlConfigAttr attr, const void
          *attrValue, size_t valueSize), (handle, attr, attrValue, valueSize))
ACLMDL_FN(UNSUPPORTED, aclError, aclmdlSetExecConfigOpt, (aclmdlExecConfigHandle *handle, aclmdlExecConfigAttr attr,
          const void *attrValue, size_t valueSize), (handle, attr, attrValue, valueSize))
ACLMDL_FN(UNSUPPORTED, const char *, aclmdlGetTensorRealName, (const aclmdlDesc *modelDesc, const char *name),
          (modelDesc, name))
ACLMDL_FN(UNSUPPORTED, aclError, aclRecoverAllHcclTasks, (int32_t deviceId), (deviceId))
/* clang-format on */

#undef ACLMDL_FN_LOAD
#undef ACLMDL_FN_MODEL
#undef ACLMDL_FN
