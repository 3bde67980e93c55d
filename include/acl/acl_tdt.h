/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor channels between host and device (libacl_tdt_channel.so). */
#ifndef ACL_ACL_TDT_H
#define ACL_ACL_TDT_H

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum acltdtTensorType {
    ACL_TENSOR_DATA_UNDEFINED = -1,
    ACL_TENSOR_DATA_TENSOR = 0,
    ACL_TENSOR_DATA_END_OF_SEQUENCE = 1,
    ACL_TENSOR_DATA_ABNORMAL = 2,
    ACL_TENSOR_DATA_SLICE_TENSOR = 3,
    ACL_TENSOR_DATA_END_TENSOR = 4,
} acltdtTensorType;

typedef struct acltdtDataItem acltdtDataItem;
typedef struct acltdtDataset acltdtDataset;
typedef struct acltdtChannelHandle acltdtChannelHandle;

/* ---- data items; those of a program refer to its memory ---- */
acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem *dataItem);
aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem *dataItem);
void *acltdtGetDataAddrFromItem(const acltdtDataItem *dataItem);
size_t acltdtGetDataSizeFromItem(const acltdtDataItem *dataItem);
size_t acltdtGetDimNumFromItem(const acltdtDataItem *dataItem);
aclError acltdtGetSliceInfoFromItem(const acltdtDataItem *dataItem, size_t *sliceNum, size_t *sliceId);
aclError acltdtGetDimsFromItem(const acltdtDataItem *dataItem, int64_t *dims, size_t dimNum);
acltdtDataItem *acltdtCreateDataItem(acltdtTensorType tdtType, const int64_t *dims, size_t dimNum, aclDataType dataType,
                                     void *data, size_t size);
aclError acltdtDestroyDataItem(acltdtDataItem *dataItem);
acltdtDataItem *acltdtGetDataItem(const acltdtDataset *dataset, size_t index);
aclError acltdtAddDataItem(acltdtDataset *dataset, acltdtDataItem *dataItem);

/* ---- datasets; a received one owns its items ---- */
acltdtDataset *acltdtCreateDataset(void);
aclError acltdtDestroyDataset(acltdtDataset *dataset);
size_t acltdtGetDatasetSize(const acltdtDataset *dataset);
const char *acltdtGetDatasetName(const acltdtDataset *dataset);

/* ---- channels; timeouts in milliseconds, -1: no limit ---- */
aclError acltdtStopChannel(acltdtChannelHandle *handle);
acltdtChannelHandle *acltdtCreateChannel(uint32_t deviceId, const char *name);
acltdtChannelHandle *acltdtCreateChannelWithCapacity(uint32_t deviceId, const char *name, size_t capacity);
aclError acltdtDestroyChannel(acltdtChannelHandle *handle);
aclError acltdtCleanChannel(acltdtChannelHandle *handle);
aclError acltdtSendTensor(const acltdtChannelHandle *handle, const acltdtDataset *dataset, int32_t timeout);
aclError acltdtReceiveTensor(const acltdtChannelHandle *handle, acltdtDataset *dataset, int32_t timeout);
aclError acltdtQueryChannelSize(const acltdtChannelHandle *handle, size_t *size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
