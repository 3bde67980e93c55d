/* SPDX-License-Identifier: Apache-2.0 */
/* Data buffers, sizes of data types, half precision. Nothing here needs a device.
 *
 * A data buffer is a pair of address and size that model interfaces pass around; it does not own the memory. */
#include "abi/acl_impl.h"
#include "base/half.h"
#include "base/slab.h"
#include "softnpu/acl/check.h"

struct aclDataBuffer {
    void *data;
    uint64_t size;
};

static struct ms_slab buffers = MS_SLAB_INIT(struct aclDataBuffer, 1 << 20);

static bool alive(const char *function, const aclDataBuffer *buffer)
{
    if (ms_slab_check(&buffers, buffer)) {
        return true;
    }
    snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not a data buffer", function, (const void *)buffer);
    return false;
}

aclDataBuffer *aclCreateDataBufferImpl(void *data, size_t size)
{
    aclDataBuffer *buffer = ms_slab_alloc(&buffers);
    if (buffer == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "aclCreateDataBuffer: too many buffers");
        return NULL;
    }
    buffer->data = data;
    buffer->size = size;
    return buffer;
}

aclError aclDestroyDataBufferImpl(const aclDataBuffer *dataBuffer)
{
    SNPU_ACL_NOT_NULL(dataBuffer);
    if (!alive("aclDestroyDataBuffer", dataBuffer)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    ms_slab_free(&buffers, (void *)(uintptr_t)dataBuffer);
    return ACL_SUCCESS;
}

aclError aclUpdateDataBufferImpl(aclDataBuffer *dataBuffer, void *data, size_t size)
{
    SNPU_ACL_NOT_NULL(dataBuffer);
    if (!alive("aclUpdateDataBuffer", dataBuffer)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    dataBuffer->data = data;
    dataBuffer->size = size;
    return ACL_SUCCESS;
}

void *aclGetDataBufferAddrImpl(const aclDataBuffer *dataBuffer)
{
    return alive("aclGetDataBufferAddr", dataBuffer) ? dataBuffer->data : NULL;
}

uint32_t aclGetDataBufferSizeImpl(const aclDataBuffer *dataBuffer)
{
    return alive("aclGetDataBufferSize", dataBuffer) ? (uint32_t)dataBuffer->size : 0;
}

size_t aclGetDataBufferSizeV2Impl(const aclDataBuffer *dataBuffer)
{
    return alive("aclGetDataBufferSizeV2", dataBuffer) ? dataBuffer->size : 0;
}

/* Bytes per element; 0 for strings and types smaller than a byte. */
size_t aclDataTypeSizeImpl(aclDataType dataType)
{
    switch (dataType) {
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
        return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
        return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
        return 4;
    case ACL_DOUBLE:
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_COMPLEX64:
        return 8;
    case ACL_COMPLEX128:
        return 16;
    default:
        return 0;
    }
}

float aclFloat16ToFloatImpl(aclFloat16 value)
{
    return ms_half_to_float(value);
}

aclFloat16 aclFloatToFloat16Impl(float value)
{
    return ms_float_to_half(value);
}
