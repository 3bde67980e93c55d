/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets and descriptions of models: what exists without a model. A dataset is a list of data buffers, each with an
 * optional tensor descriptor; it owns neither. A description is empty, because no model is loaded.
 *
 * Threads: an object belongs to its caller; creating and destroying are safe from any thread.
 * Failure: 100000 or an empty value for handles that do not exist, with a message. */
#include "abi/aclmdl_impl.h"
#include "abi/aclop_impl.h"

#include "base/slab.h"
#include "softnpu/aclop/aclop.h"
#include "softnpu/runtime/error.h"

#include <stdlib.h>

struct entry {
    aclDataBuffer *buffer;
    aclTensorDesc *desc; /* the dataset's own copy, or NULL */
};

struct aclmdlDataset {
    size_t count, capacity;
    struct entry *entries;
};

struct aclmdlDesc {
    int unused;
};

static struct ms_slab datasets = MS_SLAB_INIT(struct aclmdlDataset, 1 << 14);
static struct ms_slab model_descs = MS_SLAB_INIT(struct aclmdlDesc, 1 << 12);

/* ---- descriptions ---- */
aclmdlDesc *aclmdlCreateDescImpl(void)
{
    aclmdlDesc *desc = ms_slab_alloc(&model_descs);
    if (desc == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "aclmdlCreateDesc: too many descriptions");
    }
    return desc;
}

static bool described(const char *function, const aclmdlDesc *desc)
{
    bool alive = ms_slab_check(&model_descs, desc);
    if (!alive) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not the description of a model", function, (const void *)desc);
    }
    return alive;
}

aclError aclmdlDestroyDescImpl(aclmdlDesc *modelDesc)
{
    if (!described("aclmdlDestroyDesc", modelDesc)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    ms_slab_free(&model_descs, modelDesc);
    return ACL_SUCCESS;
}

/* An empty description has no tensors. */
static void no_tensor(const char *function, const aclmdlDesc *desc, size_t index)
{
    if (described(function, desc)) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: tensor %zu: the description is empty", function, index);
    }
}

#define UNDEFINED(name, type, value)                                                                                   \
    type name##Impl(const aclmdlDesc *modelDesc, size_t index)                                                         \
    {                                                                                                                  \
        no_tensor(#name, modelDesc, index);                                                                            \
        return value;                                                                                                  \
    }

UNDEFINED(aclmdlGetInputFormat, aclFormat, ACL_FORMAT_UNDEFINED)
UNDEFINED(aclmdlGetOutputFormat, aclFormat, ACL_FORMAT_UNDEFINED)
UNDEFINED(aclmdlGetInputDataType, aclDataType, ACL_DT_UNDEFINED)
UNDEFINED(aclmdlGetOutputDataType, aclDataType, ACL_DT_UNDEFINED)

/* ---- datasets ---- */
static bool alive(const char *function, const aclmdlDataset *dataset)
{
    bool is = ms_slab_check(&datasets, dataset);
    if (!is) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not a dataset", function, (const void *)dataset);
    }
    return is;
}

aclmdlDataset *aclmdlCreateDatasetImpl(void)
{
    aclmdlDataset *dataset = ms_slab_alloc(&datasets);
    if (dataset == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "aclmdlCreateDataset: too many datasets");
    }
    return dataset;
}

aclError aclmdlDestroyDatasetImpl(const aclmdlDataset *dataset)
{
    if (!alive("aclmdlDestroyDataset", dataset)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    for (size_t i = 0; i < dataset->count; i++) {
        aclDestroyTensorDescImpl(dataset->entries[i].desc);
    }
    free(dataset->entries);
    ms_slab_free(&datasets, (void *)(uintptr_t)dataset);
    return ACL_SUCCESS;
}

aclError aclmdlAddDatasetBufferImpl(aclmdlDataset *dataset, aclDataBuffer *dataBuffer)
{
    if (!alive("aclmdlAddDatasetBuffer", dataset)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    if (dataBuffer == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclmdlAddDatasetBuffer: dataBuffer is NULL");
    }
    if (dataset->count == dataset->capacity) {
        size_t capacity = dataset->capacity > 0 ? dataset->capacity * 2 : 8;
        struct entry *grown = realloc(dataset->entries, capacity * sizeof(*grown));
        if (grown == NULL) {
            return snpu_fail(ACL_ERROR_BAD_ALLOC, "aclmdlAddDatasetBuffer: out of host memory");
        }
        dataset->entries = grown;
        dataset->capacity = capacity;
    }
    dataset->entries[dataset->count++] = (struct entry){dataBuffer, NULL};
    return ACL_SUCCESS;
}

static struct entry *entry_at(const char *function, const aclmdlDataset *dataset, size_t index)
{
    if (!alive(function, dataset)) {
        return NULL;
    }
    if (index >= dataset->count) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: buffer %zu of %zu", function, index, dataset->count);
        return NULL;
    }
    return &dataset->entries[index];
}

aclError aclmdlSetDatasetTensorDescImpl(aclmdlDataset *dataset, aclTensorDesc *tensorDesc, size_t index)
{
    static const char function[] = "aclmdlSetDatasetTensorDesc";
    struct entry *entry = entry_at(function, dataset, index);
    if (entry == NULL) {
        return ACL_ERROR_INVALID_PARAM;
    }
    aclTensorDesc *copy = NULL;
    if (tensorDesc != NULL) {
        if (!snpu_desc_alive(tensorDesc)) {
            return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not a tensor descriptor", function,
                             (void *)tensorDesc);
        }
        copy = snpu_desc_copy(tensorDesc);
        if (copy == NULL) {
            return ACL_ERROR_BAD_ALLOC;
        }
    }
    aclDestroyTensorDescImpl(entry->desc);
    entry->desc = copy;
    return ACL_SUCCESS;
}

aclTensorDesc *aclmdlGetDatasetTensorDescImpl(const aclmdlDataset *dataset, size_t index)
{
    struct entry *entry = entry_at("aclmdlGetDatasetTensorDesc", dataset, index);
    return entry != NULL ? entry->desc : NULL;
}

size_t aclmdlGetDatasetNumBuffersImpl(const aclmdlDataset *dataset)
{
    return alive("aclmdlGetDatasetNumBuffers", dataset) ? dataset->count : 0;
}

aclDataBuffer *aclmdlGetDatasetBufferImpl(const aclmdlDataset *dataset, size_t index)
{
    struct entry *entry = entry_at("aclmdlGetDatasetBuffer", dataset, index);
    return entry != NULL ? entry->buffer : NULL;
}
