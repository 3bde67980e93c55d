/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libacl_tdt_channel.so.
 *     ACLTDT_FN(status, result, name, (parameters))        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
ACLTDT_FN(IMPLEMENTED, acltdtTensorType, acltdtGetTensorTypeFromItem, (const acltdtDataItem *dataItem))
ACLTDT_FN(IMPLEMENTED, aclDataType, acltdtGetDataTypeFromItem, (const acltdtDataItem *dataItem))
ACLTDT_FN(IMPLEMENTED, void *, acltdtGetDataAddrFromItem, (const acltdtDataItem *dataItem))
ACLTDT_FN(IMPLEMENTED, size_t, acltdtGetDataSizeFromItem, (const acltdtDataItem *dataItem))
ACLTDT_FN(IMPLEMENTED, size_t, acltdtGetDimNumFromItem, (const acltdtDataItem *dataItem))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtGetSliceInfoFromItem, (const acltdtDataItem *dataItem, size_t *sliceNum, size_t
          *sliceId))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtGetDimsFromItem, (const acltdtDataItem *dataItem, int64_t *dims, size_t dimNum))
ACLTDT_FN(IMPLEMENTED, acltdtDataItem *, acltdtCreateDataItem, (acltdtTensorType tdtType, const int64_t *dims, size_t
          dimNum, aclDataType dataType, void *data, size_t size))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtDestroyDataItem, (acltdtDataItem *dataItem))
ACLTDT_FN(IMPLEMENTED, acltdtDataset *, acltdtCreateDataset, (void))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtDestroyDataset, (acltdtDataset *dataset))
ACLTDT_FN(IMPLEMENTED, acltdtDataItem *, acltdtGetDataItem, (const acltdtDataset *dataset, size_t index))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtAddDataItem, (acltdtDataset *dataset, acltdtDataItem *dataItem))
ACLTDT_FN(IMPLEMENTED, size_t, acltdtGetDatasetSize, (const acltdtDataset *dataset))
ACLTDT_FN(IMPLEMENTED, const char *, acltdtGetDatasetName, (const acltdtDataset *dataset))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtStopChannel, (acltdtChannelHandle *handle))
ACLTDT_FN(IMPLEMENTED, acltdtChannelHandle *, acltdtCreateChannel, (uint32_t deviceId, const char *name))
ACLTDT_FN(IMPLEMENTED, acltdtChannelHandle *, acltdtCreateChannelWithCapacity, (uint32_t deviceId, const char *name,
          size_t capacity))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtDestroyChannel, (acltdtChannelHandle *handle))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtCleanChannel, (acltdtChannelHandle *handle))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtSendTensor, (const acltdtChannelHandle *handle, const acltdtDataset *dataset,
          int32_t timeout))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtReceiveTensor, (const acltdtChannelHandle *handle, acltdtDataset *dataset,
          int32_t timeout))
ACLTDT_FN(IMPLEMENTED, aclError, acltdtQueryChannelSize, (const acltdtChannelHandle *handle, size_t *size))
/* clang-format on */

#undef ACLTDT_FN
