/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, scalars, arrays and lists: descriptions that a program hands to operators.
 *
 * Invariants: objects live in slabs, so unknown and destroyed handles are refused. A tensor describes memory of the
 * caller and owns none. A list owns its members: destroying it destroys them. Threads: objects may be created, read and
 * destroyed from any thread; changing one while an operator's first phase reads it is a race of the caller. Failure
 * policy: NULL, or a status code with a message. */
#include "softnpu/aclnn/nn.h"

#include "base/slab.h"
#include "softnpu/runtime/error.h"

#include <stdlib.h>
#include <string.h>

static struct ms_slab tensors = MS_SLAB_INIT(struct aclTensor, 1u << 20);
static struct ms_slab scalars = MS_SLAB_INIT(struct aclScalar, 1u << 20);
static struct ms_slab arrays = MS_SLAB_INIT(struct nn_array, 1u << 20);

const struct aclTensor *snpu_nn_tensor(const aclTensor *handle)
{
    return ms_slab_check(&tensors, handle) ? handle : NULL;
}

const struct aclScalar *snpu_nn_scalar(const aclScalar *handle)
{
    return ms_slab_check(&scalars, handle) ? handle : NULL;
}

const struct nn_array *snpu_nn_array(const void *handle, enum nn_array_kind kind)
{
    const struct nn_array *array = handle;
    return ms_slab_check(&arrays, array) && array->kind == kind ? array : NULL;
}

/* ---- tensors ---- */

static aclnnStatus describe(struct aclTensor *tensor, const char *function, const int64_t *view_dims,
                            uint64_t view_dims_num, aclDataType type, const int64_t *stride, int64_t offset,
                            aclFormat format, const int64_t *storage_dims, uint64_t storage_dims_num, void *data)
{
    if ((view_dims == NULL && view_dims_num > 0) || (storage_dims == NULL && storage_dims_num > 0)) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: dimensions are NULL", function);
    }
    if (view_dims_num > NN_TENSOR_DIMS || storage_dims_num > NN_TENSOR_DIMS) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: %llu dimensions, at most %d are supported", function,
                         (unsigned long long)(view_dims_num > storage_dims_num ? view_dims_num : storage_dims_num),
                         NN_TENSOR_DIMS);
    }
    for (uint64_t i = 0; i < view_dims_num; i++) {
        if (view_dims[i] < 0 || (stride != NULL && stride[i] < 0)) {
            return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: dimension %llu or its stride is negative", function,
                             (unsigned long long)i);
        }
    }
    for (uint64_t i = 0; i < storage_dims_num; i++) {
        if (storage_dims[i] < 0) {
            return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: storage dimension %llu is negative", function,
                             (unsigned long long)i);
        }
    }
    if (offset < 0) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: offset %lld is negative", function, (long long)offset);
    }
    static uint64_t serial;
    tensor->serial = __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED);
    tensor->type = type;
    tensor->format = format;
    tensor->rank = view_dims_num;
    tensor->storage_rank = storage_dims_num;
    tensor->offset = offset;
    tensor->data = data;
    uint64_t dense = 1;
    for (uint64_t i = view_dims_num; i-- > 0;) {
        tensor->dims[i] = view_dims[i];
        tensor->strides[i] = stride != NULL ? stride[i] : (int64_t)dense;
        dense *= (uint64_t)view_dims[i];
    }
    if (storage_dims_num > 0) {
        memcpy(tensor->storage_dims, storage_dims, storage_dims_num * sizeof *storage_dims);
    }
    return ACLNN_SUCCESS;
}

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *data)
{
    struct aclTensor described = {0};
    if (describe(&described, "aclCreateTensor", viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
                 storageDimsNum, data) != ACLNN_SUCCESS) {
        return NULL;
    }
    struct aclTensor *tensor = ms_slab_alloc(&tensors);
    if (tensor == NULL) {
        snpu_fail(ACLNN_ERR_INNER, "aclCreateTensor: too many tensors (%u)", ms_slab_live(&tensors));
        return NULL;
    }
    *tensor = described;
    return tensor;
}

aclnnStatus aclInitTensor(aclTensor *tensor, const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                          const int64_t *stride, int64_t offset, aclFormat format, const int64_t *storageDims,
                          uint64_t storageDimsNum, void *tensorDataAddr)
{
    if (snpu_nn_tensor(tensor) == NULL) {
        return snpu_fail(tensor == NULL ? ACLNN_ERR_PARAM_NULLPTR : ACLNN_ERR_PARAM_INVALID,
                         "aclInitTensor: tensor %p does not exist", (void *)tensor);
    }
    struct aclTensor described = {0};
    aclnnStatus status = describe(&described, "aclInitTensor", viewDims, viewDimsNum, dataType, stride, offset, format,
                                  storageDims, storageDimsNum, tensorDataAddr);
    if (status == ACLNN_SUCCESS) {
        *tensor = described;
    }
    return status;
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor)
{
    if (tensor == NULL) {
        return ACLNN_SUCCESS;
    }
    if (snpu_nn_tensor(tensor) == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "aclDestroyTensor: tensor %p does not exist", (const void *)tensor);
    }
    ms_slab_free(&tensors, (void *)tensor);
    return ACLNN_SUCCESS;
}

/* 0 if the tensor exists and no output pointer is NULL. */
static aclnnStatus check_getter(const char *function, const aclTensor *tensor, const void *out1, const void *out2)
{
    if (tensor == NULL || out1 == NULL || out2 == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: an argument is NULL", function);
    }
    if (snpu_nn_tensor(tensor) == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: tensor %p does not exist", function, (const void *)tensor);
    }
    return ACLNN_SUCCESS;
}

/* The vendor's getters return an array that the caller frees with delete[]; for int64_t operator new[] is malloc. */
static aclnnStatus give_numbers(const char *function, const int64_t *from, uint64_t count, int64_t **numbers,
                                uint64_t *numbers_num)
{
    int64_t *copy = malloc((count > 0 ? count : 1) * sizeof *copy);
    if (copy == NULL) {
        return snpu_fail(ACLNN_ERR_INNER_NULLPTR, "%s: out of memory", function);
    }
    memcpy(copy, from, count * sizeof *copy);
    *numbers = copy;
    *numbers_num = count;
    return ACLNN_SUCCESS;
}

#define NUMBERS_GETTER(function, field, size)                                                                          \
    aclnnStatus function(const aclTensor *tensor, int64_t **numbers, uint64_t *numbersNum)                             \
    {                                                                                                                  \
        aclnnStatus status = check_getter(#function, tensor, numbers, numbersNum);                                     \
        return status != ACLNN_SUCCESS ? status                                                                        \
                                       : give_numbers(#function, tensor->field, tensor->size, numbers, numbersNum);    \
    }
NUMBERS_GETTER(aclGetViewShape, dims, rank)
NUMBERS_GETTER(aclGetViewStrides, strides, rank)
NUMBERS_GETTER(aclGetStorageShape, storage_dims, storage_rank)

#define FIELD_GETTER(function, ctype, field)                                                                           \
    aclnnStatus function(const aclTensor *tensor, ctype *out)                                                          \
    {                                                                                                                  \
        aclnnStatus status = check_getter(#function, tensor, out, out);                                                \
        if (status == ACLNN_SUCCESS) {                                                                                 \
            *out = tensor->field;                                                                                      \
        }                                                                                                              \
        return status;                                                                                                 \
    }
FIELD_GETTER(aclGetViewOffset, int64_t, offset)
FIELD_GETTER(aclGetFormat, aclFormat, format)
FIELD_GETTER(aclGetDataType, aclDataType, type)
FIELD_GETTER(aclGetRawTensorAddr, void *, data)

aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr)
{
    aclnnStatus status = check_getter("aclSetRawTensorAddr", tensor, tensor, tensor);
    if (status == ACLNN_SUCCESS) {
        tensor->data = addr;
    }
    return status;
}

/* ---- scalars ---- */

aclScalar *aclCreateScalar(void *value, aclDataType dataType)
{
    size_t size_b = aclDataTypeSize(dataType);
    if (value == NULL || size_b == 0) {
        snpu_fail(value == NULL ? ACLNN_ERR_PARAM_NULLPTR : ACLNN_ERR_PARAM_INVALID,
                  "aclCreateScalar: invalid value %p or data type %d", value, (int)dataType);
        return NULL;
    }
    struct aclScalar *scalar = ms_slab_alloc(&scalars);
    if (scalar == NULL) {
        snpu_fail(ACLNN_ERR_INNER, "aclCreateScalar: too many scalars (%u)", ms_slab_live(&scalars));
        return NULL;
    }
    scalar->type = dataType;
    memcpy(scalar->bytes, value, size_b);
    return scalar;
}

aclnnStatus aclDestroyScalar(const aclScalar *scalar)
{
    if (scalar == NULL) {
        return ACLNN_SUCCESS;
    }
    if (snpu_nn_scalar(scalar) == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "aclDestroyScalar: scalar %p does not exist", (const void *)scalar);
    }
    ms_slab_free(&scalars, (void *)scalar);
    return ACLNN_SUCCESS;
}

/* ---- arrays and lists ---- */

static void *create_array(const char *function, enum nn_array_kind kind, const void *value, uint64_t count,
                          size_t element_b)
{
    if (value == NULL && count > 0) {
        snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: values are NULL", function);
        return NULL;
    }
    size_t size_b;
    void *data = __builtin_mul_overflow(count, element_b, &size_b) ? NULL : malloc(size_b > 0 ? size_b : 1);
    struct nn_array *array = data != NULL ? ms_slab_alloc(&arrays) : NULL;
    if (array == NULL) {
        free(data);
        snpu_fail(ACLNN_ERR_INNER, "%s: out of memory for %llu elements", function, (unsigned long long)count);
        return NULL;
    }
    if (size_b > 0) {
        memcpy(data, value, size_b);
    }
    array->kind = kind;
    array->count = count;
    array->data = data;
    return array;
}

static aclnnStatus destroy_array(const char *function, const void *handle, enum nn_array_kind kind)
{
    if (handle == NULL) {
        return ACLNN_SUCCESS;
    }
    struct nn_array *array = (struct nn_array *)snpu_nn_array(handle, kind);
    if (array == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: %p does not exist or is of another kind", function, handle);
    }
    free(array->data);
    ms_slab_free(&arrays, array);
    return ACLNN_SUCCESS;
}

static aclnnStatus array_size(const char *function, const void *handle, enum nn_array_kind kind, uint64_t *size)
{
    if (handle == NULL || size == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: an argument is NULL", function);
    }
    const struct nn_array *array = snpu_nn_array(handle, kind);
    if (array == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: %p does not exist or is of another kind", function, handle);
    }
    *size = array->count;
    return ACLNN_SUCCESS;
}

#define ARRAY(name, kind, ctype)                                                                                       \
    acl##name *aclCreate##name(const ctype *value, uint64_t size)                                                      \
    {                                                                                                                  \
        return create_array("aclCreate" #name, kind, value, size, sizeof(ctype));                                      \
    }                                                                                                                  \
    aclnnStatus aclDestroy##name(const acl##name *array)                                                               \
    {                                                                                                                  \
        return destroy_array("aclDestroy" #name, array, kind);                                                         \
    }
#define SIZE(name, kind)                                                                                               \
    aclnnStatus aclGet##name##Size(const acl##name *array, uint64_t *size)                                             \
    {                                                                                                                  \
        return array_size("aclGet" #name "Size", array, kind, size);                                                   \
    }
ARRAY(IntArray, NN_INTS, int64_t)
ARRAY(FloatArray, NN_FLOATS, float)
ARRAY(BoolArray, NN_BOOLS, bool)
ARRAY(Fp16Array, NN_FP16S, aclFloat16)
ARRAY(Bf16Array, NN_BF16S, uint16_t)
SIZE(IntArray, NN_INTS)
SIZE(FloatArray, NN_FLOATS)
SIZE(BoolArray, NN_BOOLS)

#define LIST(name, kind, member)                                                                                       \
    acl##name *aclCreate##name(const acl##member *const *value, uint64_t size)                                         \
    {                                                                                                                  \
        return create_array("aclCreate" #name, kind, value, size, sizeof(*value));                                     \
    }                                                                                                                  \
    aclnnStatus aclDestroy##name(const acl##name *list)                                                                \
    {                                                                                                                  \
        const struct nn_array *array = snpu_nn_array(list, kind);                                                      \
        for (uint64_t i = 0; array != NULL && i < array->count; i++) {                                                 \
            aclDestroy##member(((const acl##member *const *)array->data)[i]);                                          \
        }                                                                                                              \
        return destroy_array("aclDestroy" #name, list, kind);                                                          \
    }
LIST(TensorList, NN_TENSOR_LIST, Tensor)
LIST(ScalarList, NN_SCALAR_LIST, Scalar)
SIZE(TensorList, NN_TENSOR_LIST)
SIZE(ScalarList, NN_SCALAR_LIST)
