/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor descriptors and single operators: functions of libascendcl.so that libacl_rt.so does not have.
 *     ACLOP_FN(status, result, name, (parameters), (arguments))        status: IMPLEMENTED or UNSUPPORTED
 * As in acl_functions.h, nameImpl is defined in libascendcl_impl.so. Define the macro before including this file; it is
 * undefined at the end. */

/* clang-format off */
/* ==== tensor descriptors (acl_base.h) ==== */
ACLOP_FN(IMPLEMENTED, aclTensorDesc *, aclCreateTensorDesc, (aclDataType dataType, int numDims, const int64_t *dims,
         aclFormat format), (dataType, numDims, dims, format))
ACLOP_FN(IMPLEMENTED, void, aclDestroyTensorDesc, (const aclTensorDesc *desc), (desc))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorShapeRange, (aclTensorDesc *desc, size_t dimsCount, int64_t
         dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM]), (desc, dimsCount, dimsRange))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorValueRange, (aclTensorDesc *desc, size_t valueCount, int64_t
         valueRange[][ACL_TENSOR_VALUE_RANGE_NUM]), (desc, valueCount, valueRange))
ACLOP_FN(IMPLEMENTED, aclDataType, aclGetTensorDescType, (const aclTensorDesc *desc), (desc))
ACLOP_FN(IMPLEMENTED, aclFormat, aclGetTensorDescFormat, (const aclTensorDesc *desc), (desc))
ACLOP_FN(IMPLEMENTED, size_t, aclGetTensorDescSize, (const aclTensorDesc *desc), (desc))
ACLOP_FN(IMPLEMENTED, size_t, aclGetTensorDescElementCount, (const aclTensorDesc *desc), (desc))
ACLOP_FN(IMPLEMENTED, size_t, aclGetTensorDescNumDims, (const aclTensorDesc *desc), (desc))
ACLOP_FN(IMPLEMENTED, int64_t, aclGetTensorDescDim, (const aclTensorDesc *desc, size_t index), (desc, index))
ACLOP_FN(IMPLEMENTED, aclError, aclGetTensorDescDimV2, (const aclTensorDesc *desc, size_t index, int64_t *dimSize),
         (desc, index, dimSize))
ACLOP_FN(IMPLEMENTED, aclError, aclGetTensorDescDimRange, (const aclTensorDesc *desc, size_t index, size_t dimRangeNum,
         int64_t *dimRange), (desc, index, dimRangeNum, dimRange))
ACLOP_FN(IMPLEMENTED, void, aclSetTensorDescName, (aclTensorDesc *desc, const char *name), (desc, name))
ACLOP_FN(IMPLEMENTED, const char *, aclGetTensorDescName, (aclTensorDesc *desc), (desc))
ACLOP_FN(UNSUPPORTED, aclError, aclTransTensorDescFormat, (const aclTensorDesc *srcDesc, aclFormat dstFormat,
         aclTensorDesc **dstDesc), (srcDesc, dstFormat, dstDesc))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorStorageFormat, (aclTensorDesc *desc, aclFormat format), (desc, format))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorStorageShape, (aclTensorDesc *desc, int numDims, const int64_t *dims),
         (desc, numDims, dims))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorFormat, (aclTensorDesc *desc, aclFormat format), (desc, format))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorShape, (aclTensorDesc *desc, int numDims, const int64_t *dims), (desc,
         numDims, dims))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorOriginFormat, (aclTensorDesc *desc, aclFormat format), (desc, format))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorOriginShape, (aclTensorDesc *desc, int numDims, const int64_t *dims), (desc,
         numDims, dims))
ACLOP_FN(IMPLEMENTED, aclTensorDesc *, aclGetTensorDescByIndex, (aclTensorDesc *desc, size_t index), (desc, index))
ACLOP_FN(IMPLEMENTED, void *, aclGetTensorDescAddress, (const aclTensorDesc *desc), (desc))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorDynamicInput, (aclTensorDesc *desc, const char *dynamicInputName), (desc,
         dynamicInputName))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorConst, (aclTensorDesc *desc, void *dataBuffer, size_t length), (desc,
         dataBuffer, length))
ACLOP_FN(IMPLEMENTED, aclError, aclSetTensorPlaceMent, (aclTensorDesc *desc, aclMemType memType), (desc, memType))

/* ==== single operators (acl_op.h) ==== */
ACLOP_FN(UNSUPPORTED, aclError, aclopSetModelDir, (const char *modelDir), (modelDir))
ACLOP_FN(UNSUPPORTED, aclError, aclopLoad, (const void *model, size_t modelSize), (model, modelSize))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetMaxOpQueueNum, (uint64_t maxOpNum), (maxOpNum))
ACLOP_FN(IMPLEMENTED, aclopAttr *, aclopCreateAttr, (void), ())
ACLOP_FN(IMPLEMENTED, void, aclopDestroyAttr, (const aclopAttr *attr), (attr))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrBool, (aclopAttr *attr, const char *attrName, uint8_t attrValue), (attr,
         attrName, attrValue))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrInt, (aclopAttr *attr, const char *attrName, int64_t attrValue), (attr,
         attrName, attrValue))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrFloat, (aclopAttr *attr, const char *attrName, float attrValue), (attr,
         attrName, attrValue))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrString, (aclopAttr *attr, const char *attrName, const char *attrValue),
         (attr, attrName, attrValue))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrDataType, (aclopAttr *attr, const char *attrName, aclDataType attrValue),
         (attr, attrName, attrValue))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrListDataType, (aclopAttr *attr, const char *attrName, int numValues, const
         aclDataType values[]), (attr, attrName, numValues, values))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrListBool, (aclopAttr *attr, const char *attrName, int numValues, const
         uint8_t *values), (attr, attrName, numValues, values))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrListInt, (aclopAttr *attr, const char *attrName, int numValues, const
         int64_t *values), (attr, attrName, numValues, values))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrListFloat, (aclopAttr *attr, const char *attrName, int numValues, const
         float *values), (attr, attrName, numValues, values))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrListString, (aclopAttr *attr, const char *attrName, int numValues, const
         char **values), (attr, attrName, numValues, values))
ACLOP_FN(IMPLEMENTED, aclError, aclopSetAttrListListInt, (aclopAttr *attr, const char *attrName, int numLists, const int
         *numValues, const int64_t *const values[]), (attr, attrName, numLists, numValues, values))
ACLOP_FN(IMPLEMENTED, aclError, aclopExecute, (const char *opType, int numInputs, const aclTensorDesc *const
         inputDesc[], const aclDataBuffer *const inputs[], int numOutputs, const aclTensorDesc *const outputDesc[],
         aclDataBuffer *const outputs[], const aclopAttr *attr, aclrtStream stream), (opType, numInputs, inputDesc,
         inputs, numOutputs, outputDesc, outputs, attr, stream))
ACLOP_FN(IMPLEMENTED, aclError, aclopExecuteV2, (const char *opType, int numInputs, aclTensorDesc *inputDesc[],
         aclDataBuffer *inputs[], int numOutputs, aclTensorDesc *outputDesc[], aclDataBuffer *outputs[], aclopAttr
         *attr, aclrtStream stream), (opType, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr,
         stream))
ACLOP_FN(IMPLEMENTED, aclError, aclopCreateHandle, (const char *opType, int numInputs, const aclTensorDesc *const
         inputDesc[], int numOutputs, const aclTensorDesc *const outputDesc[], const aclopAttr *opAttr, aclopHandle
         **handle), (opType, numInputs, inputDesc, numOutputs, outputDesc, opAttr, handle))
ACLOP_FN(IMPLEMENTED, void, aclopDestroyHandle, (aclopHandle *handle), (handle))
ACLOP_FN(IMPLEMENTED, aclError, aclopExecWithHandle, (aclopHandle *handle, int numInputs, const aclDataBuffer *const
         inputs[], int numOutputs, aclDataBuffer *const outputs[], aclrtStream stream), (handle, numInputs, inputs,
         numOutputs, outputs, stream))
ACLOP_FN(IMPLEMENTED, aclError, aclopCast, (const aclTensorDesc *srcDesc, const aclDataBuffer *srcBuffer, const
         aclTensorDesc *dstDesc, aclDataBuffer *dstBuffer, uint8_t truncate, aclrtStream stream), (srcDesc, srcBuffer,
         dstDesc, dstBuffer, truncate, stream))
ACLOP_FN(IMPLEMENTED, aclError, aclopCreateHandleForCast, (aclTensorDesc *srcDesc, aclTensorDesc *dstDesc, uint8_t
         truncate, aclopHandle **handle), (srcDesc, dstDesc, truncate, handle))
ACLOP_FN(UNSUPPORTED, aclError, aclopInferShape, (const char *opType, int numInputs, aclTensorDesc *inputDesc[],
         aclDataBuffer *inputs[], int numOutputs, aclTensorDesc *outputDesc[], aclopAttr *attr), (opType, numInputs,
         inputDesc, inputs, numOutputs, outputDesc, attr))
ACLOP_FN(UNSUPPORTED, aclError, aclopCreateKernel, (const char *opType, const char *kernelId, const char *kernelName,
         void *binData, int binSize, aclopEngineType enginetype, aclDataDeallocator deallocator), (opType, kernelId,
         kernelName, binData, binSize, enginetype, deallocator))
ACLOP_FN(UNSUPPORTED, aclError, aclopRegisterCompileFunc, (const char *opType, aclopCompileFunc func), (opType, func))
ACLOP_FN(UNSUPPORTED, aclError, aclopUnregisterCompileFunc, (const char *opType), (opType))
ACLOP_FN(UNSUPPORTED, aclError, aclopSetKernelArgs, (aclopKernelDesc *kernelDesc, const char *kernelId, uint32_t
         blockDim, const void *args, uint32_t argSize), (kernelDesc, kernelId, blockDim, args, argSize))
ACLOP_FN(UNSUPPORTED, aclError, aclopSetKernelWorkspaceSizes, (aclopKernelDesc *kernelDesc, int numWorkspaces, size_t
         *workspaceSizes), (kernelDesc, numWorkspaces, workspaceSizes))
ACLOP_FN(UNSUPPORTED, aclError, aclopUpdateParams, (const char *opType, int numInputs, const aclTensorDesc *const
         inputDesc[], int numOutputs, const aclTensorDesc *const outputDesc[], const aclopAttr *attr), (opType,
         numInputs, inputDesc, numOutputs, outputDesc, attr))
ACLOP_FN(UNSUPPORTED, aclError, aclopStartDumpArgs, (uint32_t dumpType, const char *path), (dumpType, path))
ACLOP_FN(UNSUPPORTED, aclError, aclopStopDumpArgs, (uint32_t dumpType), (dumpType))
/* clang-format on */

#undef ACLOP_FN
