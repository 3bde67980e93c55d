/* SPDX-License-Identifier: Apache-2.0 */
#define MSTX_NO_IMPL
#include "mstx/ms_tools_ext.h"

#include "tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size_b;
} dtypes[] = {[DTYPE_FLOAT32] = {"torch.float32", 4}, [DTYPE_INT32] = {"torch.int32", 4}};

struct tensor *tensor_try_new(struct npu *npu, enum dtype dtype, const int64_t dims[TENSOR_DIMS_MAX])
{
    struct tensor *tensor = calloc(1, sizeof(*tensor));
    if (tensor == NULL) {
        fail("no host memory for a tensor");
    }
    tensor->dtype = dtype;
    tensor->count = 1;
    for (uint32_t i = 0; i < TENSOR_DIMS_MAX && dims[i] != 0; i++) {
        tensor->dims[i] = dims[i];
        tensor->dim_count = i + 1;
        tensor->count *= (size_t)dims[i];
    }
    tensor->size_b = tensor->count * dtypes[dtype].size_b;
    if (npool_malloc(npu->pool, &tensor->data, tensor->size_b, npu->stream) != ACL_SUCCESS) {
        free(tensor);
        return NULL;
    }
    return tensor;
}

struct tensor *tensor_new(struct npu *npu, enum dtype dtype, const int64_t dims[TENSOR_DIMS_MAX])
{
    struct tensor *tensor = tensor_try_new(npu, dtype, dims);
    if (tensor == NULL) {
        fail("%s", npool_last_error());
    }
    return tensor;
}

struct tensor *tensor_like(struct npu *npu, const struct tensor *other)
{
    return tensor_new(npu, other->dtype, other->dims);
}

void tensor_free(struct npu *npu, struct tensor **tensor)
{
    if (*tensor != NULL) {
        check_pool(npool_free(npu->pool, (*tensor)->data), "npool_free");
        free(*tensor);
        *tensor = NULL;
    }
}

void tensor_upload(struct npu *npu, struct tensor *tensor, const void *host)
{
    void *staging = NULL;
    check_pool(npool_pinned_malloc(npu->pinned, &staging, tensor->size_b), "pinned memory");
    memcpy(staging, host, tensor->size_b);
    check_acl(
        aclrtMemcpyAsync(tensor->data, tensor->size_b, staging, tensor->size_b, ACL_MEMCPY_HOST_TO_DEVICE, npu->stream),
        "aclrtMemcpyAsync to the device");
    check_pool(npool_pinned_record(npu->pinned, staging, npu->stream), "pinned memory");
    check_pool(npool_pinned_free(npu->pinned, staging), "pinned memory");
}

void tensor_download(struct npu *npu, const struct tensor *tensor, void *host)
{
    check_acl(
        aclrtMemcpyAsync(host, tensor->size_b, tensor->data, tensor->size_b, ACL_MEMCPY_DEVICE_TO_HOST, npu->stream),
        "aclrtMemcpyAsync from the device");
    npu_synchronize(npu);
}

static void announce_access(struct npu *npu, const struct tensor *tensor, bool written, bool output)
{
    char shape[128];
    size_t used = 0;
    for (uint32_t i = 0; i < tensor->dim_count; i++) {
        used += (size_t)snprintf(shape + used, sizeof(shape) - used, "%s%" PRId64, i > 0 ? ", " : "", tensor->dims[i]);
    }
    char text[512];
    snprintf(text, sizeof(text),
             "memscope-aten-ac:ptr=%" PRIuPTR ";is_write=%s;is_read=%s;is_output=%s;name=%s;shape=torch.Size([%s]);"
             "dtype=%s;tensor_size=%zu;device=npu:%d",
             (uintptr_t)tensor->data, written ? "True" : "False", written ? "False" : "True", output ? "True" : "False",
             npu->operator_name, shape, dtypes[tensor->dtype].name, tensor->size_b, npu->device);
    mstxMarkA(text, NULL);
}

void op_begin(struct npu *npu, const char *name, const struct tensor *const *inputs)
{
    snprintf(npu->operator_name, sizeof(npu->operator_name), "torch._ops.aten.%s", name);
    if (npu->announce) {
        char text[128];
        snprintf(text, sizeof(text), "memscope-aten-b: name=%s", npu->operator_name);
        mstxMarkA(text, NULL);
        for (; *inputs != NULL; inputs++) {
            announce_access(npu, *inputs, false, false);
        }
    }
}

void op_access(struct npu *npu, const struct tensor *tensor, bool written, bool output)
{
    if (npu->announce) {
        announce_access(npu, tensor, written, output);
    }
}

void op_end(struct npu *npu, const struct tensor *const *outputs)
{
    if (npu->announce) {
        for (; *outputs != NULL; outputs++) {
            announce_access(npu, *outputs, true, true);
        }
        char text[128];
        snprintf(text, sizeof(text), "memscope-aten-e: name=%s", npu->operator_name);
        mstxMarkA(text, NULL);
    }
    if (npu->hook != NULL) {
        npu->hook(npu, npu->operator_name, npu->hook_arg);
    }
}
