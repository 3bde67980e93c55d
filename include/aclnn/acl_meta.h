/* Tensors, scalars and arrays handed to operators (libnnopbase.so). */
#ifndef ACLNN_ACL_META_H
#define ACLNN_ACL_META_H

#include "acl/acl_base.h"

#ifndef __cplusplus
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef int32_t aclnnStatus;

typedef struct aclOpExecutor aclOpExecutor;
typedef struct aclTensor aclTensor;
typedef struct aclScalar aclScalar;
typedef struct aclIntArray aclIntArray;
typedef struct aclFloatArray aclFloatArray;
typedef struct aclBoolArray aclBoolArray;
typedef struct aclFp16Array aclFp16Array;
typedef struct aclBf16Array aclBf16Array;
typedef struct aclTensorList aclTensorList;

/** @brief Describes memory of the caller: strides and offset in elements; storageDims is the shape of the memory. */
aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *data);
aclScalar *aclCreateScalar(void *value, aclDataType dataType);
aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size);
aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size);
aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size);
aclFp16Array *aclCreateFp16Array(const aclFloat16 *value, uint64_t size);
aclBf16Array *aclCreateBf16Array(const uint16_t *value, uint64_t size);
/** @brief The list owns its tensors from now on. */
aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size);

aclnnStatus aclDestroyTensor(const aclTensor *tensor);
aclnnStatus aclDestroyScalar(const aclScalar *scalar);
aclnnStatus aclDestroyIntArray(const aclIntArray *array);
aclnnStatus aclDestroyFloatArray(const aclFloatArray *array);
aclnnStatus aclDestroyBoolArray(const aclBoolArray *array);
aclnnStatus aclDestroyTensorList(const aclTensorList *list);
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
