/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor descriptors: data type, shape and format of an operator's argument. They need no device.
 *
 * Invariants: a shape has at most SNPU_DESC_MAX_DIMS dimensions, each at least -2. Until aclSetTensorShape or
 * aclSetTensorFormat is called, the storage is the logical view.
 * Threads: a descriptor belongs to its caller; creating and destroying are safe from any thread.
 * Failure: NULL and destroyed descriptors give 100000 or an empty value, and a message. */
#include "softnpu/aclop/aclop.h"

#include "abi/acl_impl.h"
#include "abi/aclop_impl.h"
#include "base/slab.h"
#include "softnpu/runtime/error.h"

#include <stdlib.h>
#include <string.h>

static struct ms_slab descs = {.object_b = sizeof(struct aclTensorDesc),
                               .zero_b = offsetof(struct aclTensorDesc, zeroed),
                               .max_objects = 1 << 16,
                               .quarantine = 16,
                               .lock = PTHREAD_MUTEX_INITIALIZER};

bool snpu_desc_alive(const aclTensorDesc *desc)
{
    return ms_slab_check(&descs, desc);
}

static bool check(const char *function, const aclTensorDesc *desc)
{
    if (snpu_desc_alive(desc)) {
        return true;
    }
    snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not a tensor descriptor", function, (const void *)desc);
    return false;
}

static aclError set_shape(const char *function, struct snpu_shape *shape, int count, const int64_t *dims)
{
    if (count < 0 || count > SNPU_DESC_MAX_DIMS || (count > 0 && dims == NULL)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %s (%d dimensions; the limit is %d)", function,
                         count > 0 && count <= SNPU_DESC_MAX_DIMS ? "dims is NULL" : "invalid numDims", count,
                         SNPU_DESC_MAX_DIMS);
    }
    for (int i = 0; i < count; i++) {
        if (dims[i] < SNPU_DESC_UNKNOWN_RANK) {
            return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: dimension %d is %lld", function, i, (long long)dims[i]);
        }
    }
    shape->count = (uint32_t)count;
    if (count > 0) {
        memcpy(shape->dims, dims, (size_t)count * sizeof(*dims));
    }
    return ACL_SUCCESS;
}

/* ---- life ---- */
aclTensorDesc *aclCreateTensorDescImpl(aclDataType dataType, int numDims, const int64_t *dims, aclFormat format)
{
    struct snpu_shape shape;
    if (set_shape("aclCreateTensorDesc", &shape, numDims, dims) != ACL_SUCCESS) {
        return NULL;
    }
    aclTensorDesc *desc = ms_slab_alloc(&descs);
    if (desc == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "aclCreateTensorDesc: too many descriptors");
        return NULL;
    }
    desc->type = dataType;
    desc->format = desc->storage_format = format;
    desc->shape.count = shape.count;
    memcpy(desc->shape.dims, shape.dims, shape.count * sizeof(shape.dims[0]));
    return desc;
}

aclTensorDesc *snpu_desc_copy(const aclTensorDesc *desc)
{
    aclTensorDesc *copy = aclCreateTensorDescImpl(desc->type, (int)desc->shape.count, desc->shape.dims, desc->format);
    if (copy == NULL) {
        return NULL;
    }
    copy->storage_format = desc->storage_format;
    copy->placement = desc->placement;
    if (desc->constant != NULL && aclSetTensorConstImpl(copy, desc->constant, desc->constant_b) != ACL_SUCCESS) {
        aclDestroyTensorDescImpl(copy);
        return NULL;
    }
    return copy;
}

void aclDestroyTensorDescImpl(const aclTensorDesc *desc)
{
    if (desc == NULL || !check("aclDestroyTensorDesc", desc)) {
        return;
    }
    free(desc->name);
    free(desc->dynamic_input);
    free(desc->constant);
    free(desc->values);
    ms_slab_free(&descs, (void *)(uintptr_t)desc);
}

/* ---- what it says ---- */
aclDataType aclGetTensorDescTypeImpl(const aclTensorDesc *desc)
{
    return check("aclGetTensorDescType", desc) ? desc->type : ACL_DT_UNDEFINED;
}

aclFormat aclGetTensorDescFormatImpl(const aclTensorDesc *desc)
{
    return check("aclGetTensorDescFormat", desc) ? desc->format : ACL_FORMAT_UNDEFINED;
}

bool snpu_desc_elements(const aclTensorDesc *desc, uint64_t *count)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < desc->shape.count; i++) {
        if (desc->shape.dims[i] < 0 || __builtin_mul_overflow(n, (uint64_t)desc->shape.dims[i], &n)) {
            return false;
        }
    }
    *count = n;
    return true;
}

size_t aclGetTensorDescElementCountImpl(const aclTensorDesc *desc)
{
    uint64_t count = 0;
    return check("aclGetTensorDescElementCount", desc) && snpu_desc_elements(desc, &count) ? count : 0;
}

size_t aclGetTensorDescSizeImpl(const aclTensorDesc *desc)
{
    uint64_t count, bytes;
    if (!check("aclGetTensorDescSize", desc) || !snpu_desc_elements(desc, &count)) {
        return 0;
    }
    if (desc->type == ACL_INT4) {
        return count / 2 + count % 2;
    }
    if (desc->type == ACL_UINT1) {
        return count / 8 + (count % 8 != 0);
    }
    return __builtin_mul_overflow(count, aclDataTypeSizeImpl(desc->type), &bytes) ? 0 : bytes;
}

size_t aclGetTensorDescNumDimsImpl(const aclTensorDesc *desc)
{
    if (!check("aclGetTensorDescNumDims", desc)) {
        return 0;
    }
    bool unknown = desc->shape.count > 0 && desc->shape.dims[0] == SNPU_DESC_UNKNOWN_RANK;
    return unknown ? (size_t)ACL_UNKNOWN_RANK : desc->shape.count;
}

aclError aclGetTensorDescDimV2Impl(const aclTensorDesc *desc, size_t index, int64_t *dimSize)
{
    if (!check("aclGetTensorDescDimV2", desc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    if (dimSize == NULL || index >= desc->shape.count) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescDimV2: %s (dimension %zu of %u)",
                         dimSize == NULL ? "dimSize is NULL" : "no such dimension", index, desc->shape.count);
    }
    *dimSize = desc->shape.dims[index];
    return ACL_SUCCESS;
}

int64_t aclGetTensorDescDimImpl(const aclTensorDesc *desc, size_t index)
{
    int64_t size = -1;
    return aclGetTensorDescDimV2Impl(desc, index, &size) == ACL_SUCCESS ? size : -1;
}

aclError aclGetTensorDescDimRangeImpl(const aclTensorDesc *desc, size_t index, size_t dimRangeNum, int64_t *dimRange)
{
    if (!check("aclGetTensorDescDimRange", desc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    if (dimRange == NULL || dimRangeNum < ACL_TENSOR_SHAPE_RANGE_NUM || index >= desc->range_count) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescDimRange: %s (dimension %zu; %zu have a range)",
                         dimRange == NULL                           ? "dimRange is NULL"
                         : dimRangeNum < ACL_TENSOR_SHAPE_RANGE_NUM ? "dimRangeNum is less than 2"
                                                                    : "this dimension has no range",
                         index, desc->range_count);
    }
    memcpy(dimRange, desc->range[index], sizeof(desc->range[index]));
    return ACL_SUCCESS;
}

const char *aclGetTensorDescNameImpl(aclTensorDesc *desc)
{
    return check("aclGetTensorDescName", desc) && desc->name != NULL ? desc->name : "";
}

aclTensorDesc *aclGetTensorDescByIndexImpl(aclTensorDesc *desc, size_t index)
{
    if (!check("aclGetTensorDescByIndex", desc)) {
        return NULL;
    }
    if (index > 0) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescByIndex: the descriptor is a single one; index %zu", index);
        return NULL;
    }
    return desc;
}

/* The address of the elements, where a descriptor carries one; those of a program do not. */
void *aclGetTensorDescAddressImpl(const aclTensorDesc *desc)
{
    return check("aclGetTensorDescAddress", desc) ? desc->constant : NULL;
}

/* ---- changes ---- */
static aclError set_text(const char *function, char **text, const char *value)
{
    char *copy = strdup(value);
    if (copy == NULL) {
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of host memory", function);
    }
    free(*text);
    *text = copy;
    return ACL_SUCCESS;
}

void aclSetTensorDescNameImpl(aclTensorDesc *desc, const char *name)
{
    if (check("aclSetTensorDescName", desc)) {
        (void)set_text("aclSetTensorDescName", &desc->name, name != NULL ? name : "");
    }
}

aclError aclSetTensorDynamicInputImpl(aclTensorDesc *desc, const char *dynamicInputName)
{
    if (!check("aclSetTensorDynamicInput", desc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    if (dynamicInputName == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorDynamicInput: dynamicInputName is NULL");
    }
    return set_text("aclSetTensorDynamicInput", &desc->dynamic_input, dynamicInputName);
}

static aclError set_storage_shape(const char *function, aclTensorDesc *desc, int count, const int64_t *dims)
{
    if (!check(function, desc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    aclError rc = set_shape(function, &desc->storage, count, dims);
    desc->stored = desc->stored || rc == ACL_SUCCESS;
    return rc;
}

static aclError set_storage_format(const char *function, aclTensorDesc *desc, aclFormat format)
{
    if (!check(function, desc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    desc->storage_format = format;
    return ACL_SUCCESS;
}

aclError aclSetTensorFormatImpl(aclTensorDesc *desc, aclFormat format)
{
    return set_storage_format("aclSetTensorFormat", desc, format);
}

aclError aclSetTensorStorageFormatImpl(aclTensorDesc *desc, aclFormat format)
{
    return set_storage_format("aclSetTensorStorageFormat", desc, format);
}

aclError aclSetTensorShapeImpl(aclTensorDesc *desc, int numDims, const int64_t *dims)
{
    return set_storage_shape("aclSetTensorShape", desc, numDims, dims);
}

aclError aclSetTensorStorageShapeImpl(aclTensorDesc *desc, int numDims, const int64_t *dims)
{
    return set_storage_shape("aclSetTensorStorageShape", desc, numDims, dims);
}

aclError aclSetTensorOriginFormatImpl(aclTensorDesc *desc, aclFormat format)
{
    if (!check("aclSetTensorOriginFormat", desc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    desc->format = format;
    return ACL_SUCCESS;
}

aclError aclSetTensorOriginShapeImpl(aclTensorDesc *desc, int numDims, const int64_t *dims)
{
    return check("aclSetTensorOriginShape", desc) ? set_shape("aclSetTensorOriginShape", &desc->shape, numDims, dims)
                                                  : ACL_ERROR_INVALID_PARAM;
}

aclError aclSetTensorShapeRangeImpl(aclTensorDesc *desc, size_t dimsCount,
                                    int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM])
{
    if (!check("aclSetTensorShapeRange", desc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    bool unknown = desc->shape.count > 0 && desc->shape.dims[0] == SNPU_DESC_UNKNOWN_RANK;
    if (dimsRange == NULL || dimsCount > SNPU_DESC_MAX_DIMS || (!unknown && dimsCount != desc->shape.count)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorShapeRange: %s (%zu ranges, %u dimensions)",
                         dimsRange == NULL ? "dimsRange is NULL" : "each dimension needs one range", dimsCount,
                         desc->shape.count);
    }
    memcpy(desc->range, dimsRange, dimsCount * sizeof(desc->range[0]));
    desc->range_count = dimsCount;
    return ACL_SUCCESS;
}

aclError aclSetTensorValueRangeImpl(aclTensorDesc *desc, size_t valueCount,
                                    int64_t valueRange[][ACL_TENSOR_VALUE_RANGE_NUM])
{
    if (!check("aclSetTensorValueRange", desc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    size_t bytes;
    if (valueRange == NULL || valueCount == 0 || __builtin_mul_overflow(valueCount, sizeof(valueRange[0]), &bytes)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorValueRange: %s (%zu ranges)",
                         valueRange == NULL ? "valueRange is NULL" : "invalid number of ranges", valueCount);
    }
    void *copy = malloc(bytes);
    if (copy == NULL) {
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "aclSetTensorValueRange: out of host memory (%zu bytes)", bytes);
    }
    free(desc->values);
    desc->values = memcpy(copy, valueRange, bytes);
    desc->value_count = valueCount;
    return ACL_SUCCESS;
}

aclError aclSetTensorConstImpl(aclTensorDesc *desc, void *dataBuffer, size_t length)
{
    if (!check("aclSetTensorConst", desc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    if (dataBuffer == NULL || length == 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorConst: %s",
                         dataBuffer == NULL ? "dataBuffer is NULL" : "length is 0");
    }
    void *copy = malloc(length);
    if (copy == NULL) {
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "aclSetTensorConst: out of host memory (%zu bytes)", length);
    }
    free(desc->constant);
    desc->constant = memcpy(copy, dataBuffer, length);
    desc->constant_b = length;
    return ACL_SUCCESS;
}

aclError aclSetTensorPlaceMentImpl(aclTensorDesc *desc, aclMemType memType)
{
    if (!check("aclSetTensorPlaceMent", desc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    if (memType < ACL_MEMTYPE_DEVICE || memType > ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclSetTensorPlaceMent: unknown memory type %d", (int)memType);
    }
    desc->placement = memType;
    return ACL_SUCCESS;
}
