/* SPDX-License-Identifier: Apache-2.0 */
/* Data items and datasets of tensor channels.
 *
 * Invariants: an item of a program refers to the program's memory; a received item has its own, and its dataset frees
 * it. A program may also destroy a received item itself, before the dataset.
 * Threads: an item and a dataset belong to one thread at a time.
 * Failure: 100000 or an empty value for handles that do not exist, with a message. */
#include "softnpu/tdt/item.h"

#include "base/slab.h"
#include "softnpu/runtime/error.h"

#include <stdlib.h>
#include <string.h>

static struct ms_slab items = MS_SLAB_INIT(struct acltdtDataItem, 1 << 16);
static struct ms_slab datasets = MS_SLAB_INIT(struct acltdtDataset, 1 << 16);

static bool alive(const char *function, const acltdtDataItem *item)
{
    if (ms_slab_check(&items, item)) {
        return true;
    }
    snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not a data item", function, (const void *)item);
    return false;
}

bool snpu_tdt_dataset_alive(const char *function, const acltdtDataset *dataset)
{
    if (ms_slab_check(&datasets, dataset)) {
        return true;
    }
    snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not a dataset", function, (const void *)dataset);
    return false;
}

bool snpu_tdt_items_alive(const acltdtDataset *dataset)
{
    for (size_t i = 0; i < dataset->count; i++) {
        if (!ms_slab_check(&items, dataset->items[i])) {
            return false;
        }
    }
    return true;
}

/* ---- items ---- */
static acltdtDataItem *new_item(const char *function, acltdtTensorType type, const int64_t *dims, size_t dim_count,
                                aclDataType data_type, void *data, size_t size_b)
{
    acltdtDataItem *item = ms_slab_alloc(&items);
    if (item == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: too many data items", function);
        return NULL;
    }
    *item =
        (acltdtDataItem){.type = type, .data_type = data_type, .dim_count = dim_count, .size_b = size_b, .data = data};
    if (dim_count > 0) {
        memcpy(item->dims, dims, dim_count * sizeof(*dims));
    }
    return item;
}

acltdtDataItem *acltdtCreateDataItem(acltdtTensorType tdtType, const int64_t *dims, size_t dimNum, aclDataType dataType,
                                     void *data, size_t size)
{
    static const char function[] = "acltdtCreateDataItem";
    if (tdtType < ACL_TENSOR_DATA_TENSOR || tdtType > ACL_TENSOR_DATA_END_TENSOR) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: unknown type %d", function, (int)tdtType);
        return NULL;
    }
    if (dimNum > SNPU_TDT_DIMS || (dimNum > 0 && dims == NULL)) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %zu dimensions: %s", function, dimNum,
                  dims == NULL ? "dims is NULL" : "the limit is 128");
        return NULL;
    }
    if (size > 0 && data == NULL) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %zu bytes, but data is NULL", function, size);
        return NULL;
    }
    return new_item(function, tdtType, dims, dimNum, dataType, data, size);
}

static void free_item(acltdtDataItem *item)
{
    if (item->owner != NULL) {
        free(item->data);
    }
    ms_slab_free(&items, item);
}

aclError acltdtDestroyDataItem(acltdtDataItem *dataItem)
{
    if (!alive("acltdtDestroyDataItem", dataItem)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    free_item(dataItem);
    return ACL_SUCCESS;
}

acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem *dataItem)
{
    return alive("acltdtGetTensorTypeFromItem", dataItem) ? dataItem->type : ACL_TENSOR_DATA_UNDEFINED;
}

aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem *dataItem)
{
    return alive("acltdtGetDataTypeFromItem", dataItem) ? dataItem->data_type : ACL_DT_UNDEFINED;
}

void *acltdtGetDataAddrFromItem(const acltdtDataItem *dataItem)
{
    return alive("acltdtGetDataAddrFromItem", dataItem) ? dataItem->data : NULL;
}

size_t acltdtGetDataSizeFromItem(const acltdtDataItem *dataItem)
{
    return alive("acltdtGetDataSizeFromItem", dataItem) ? dataItem->size_b : 0;
}

size_t acltdtGetDimNumFromItem(const acltdtDataItem *dataItem)
{
    return alive("acltdtGetDimNumFromItem", dataItem) ? dataItem->dim_count : 0;
}

/* softnpu does not cut tensors into slices. */
aclError acltdtGetSliceInfoFromItem(const acltdtDataItem *dataItem, size_t *sliceNum, size_t *sliceId)
{
    if (!alive("acltdtGetSliceInfoFromItem", dataItem)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    if (sliceNum == NULL || sliceId == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "acltdtGetSliceInfoFromItem: %s is NULL",
                         sliceNum == NULL ? "sliceNum" : "sliceId");
    }
    *sliceNum = *sliceId = 0;
    return ACL_SUCCESS;
}

aclError acltdtGetDimsFromItem(const acltdtDataItem *dataItem, int64_t *dims, size_t dimNum)
{
    if (!alive("acltdtGetDimsFromItem", dataItem)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    if (dimNum < dataItem->dim_count || (dimNum > 0 && dims == NULL)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "acltdtGetDimsFromItem: the item has %zu dimensions, dims has %zu",
                         dataItem->dim_count, dims != NULL ? dimNum : 0);
    }
    if (dataItem->dim_count > 0) {
        memcpy(dims, dataItem->dims, dataItem->dim_count * sizeof(*dims));
    }
    return ACL_SUCCESS;
}

/* ---- datasets ---- */
acltdtDataset *acltdtCreateDataset(void)
{
    acltdtDataset *dataset = ms_slab_alloc(&datasets);
    if (dataset == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "acltdtCreateDataset: too many datasets");
    }
    return dataset;
}

aclError acltdtDestroyDataset(acltdtDataset *dataset)
{
    if (!snpu_tdt_dataset_alive("acltdtDestroyDataset", dataset)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    for (size_t i = 0; i < dataset->count; i++) {
        if (ms_slab_check(&items, dataset->items[i]) && dataset->items[i]->owner == dataset) {
            free_item(dataset->items[i]);
        }
    }
    free(dataset->items);
    ms_slab_free(&datasets, dataset);
    return ACL_SUCCESS;
}

static aclError add(const char *function, acltdtDataset *dataset, acltdtDataItem *item)
{
    if (dataset->count == SNPU_TDT_ITEMS) {
        return snpu_fail(ACL_ERROR_STORAGE_OVER_LIMIT, "%s: a dataset has at most %d items", function, SNPU_TDT_ITEMS);
    }
    if (dataset->count == dataset->capacity) {
        size_t capacity = dataset->capacity > 0 ? dataset->capacity * 2 : 4;
        acltdtDataItem **grown = realloc(dataset->items, capacity * sizeof(*grown));
        if (grown == NULL) {
            return snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of host memory", function);
        }
        dataset->items = grown;
        dataset->capacity = capacity;
    }
    dataset->items[dataset->count++] = item;
    return ACL_SUCCESS;
}

aclError acltdtAddDataItem(acltdtDataset *dataset, acltdtDataItem *dataItem)
{
    static const char function[] = "acltdtAddDataItem";
    if (!snpu_tdt_dataset_alive(function, dataset) || !alive(function, dataItem)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    return add(function, dataset, dataItem);
}

aclError snpu_tdt_copy_into(const char *function, acltdtDataset *dataset, const acltdtDataItem *item)
{
    void *data = malloc(item->size_b > 0 ? item->size_b : 1);
    acltdtDataItem *copy =
        data != NULL ? new_item(function, item->type, item->dims, item->dim_count, item->data_type, data, item->size_b)
                     : NULL;
    if (copy == NULL) {
        free(data);
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of host memory for a tensor of %zu bytes", function,
                         item->size_b);
    }
    copy->owner = dataset;
    if (item->size_b > 0) {
        memcpy(data, item->data, item->size_b);
    }
    aclError rc = add(function, dataset, copy);
    if (rc != ACL_SUCCESS) {
        free_item(copy);
    }
    return rc;
}

acltdtDataItem *acltdtGetDataItem(const acltdtDataset *dataset, size_t index)
{
    if (!snpu_tdt_dataset_alive("acltdtGetDataItem", dataset)) {
        return NULL;
    }
    if (index >= dataset->count) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "acltdtGetDataItem: item %zu of %zu", index, dataset->count);
        return NULL;
    }
    return dataset->items[index];
}

size_t acltdtGetDatasetSize(const acltdtDataset *dataset)
{
    return snpu_tdt_dataset_alive("acltdtGetDatasetSize", dataset) ? dataset->count : 0;
}

const char *acltdtGetDatasetName(const acltdtDataset *dataset)
{
    return snpu_tdt_dataset_alive("acltdtGetDatasetName", dataset) ? dataset->name : NULL;
}
