/* SPDX-License-Identifier: Apache-2.0 */
/* Data items and datasets, as channels read and create them. */
#ifndef SOFTNPU_TDT_ITEM_H
#define SOFTNPU_TDT_ITEM_H

#include "acl/acl_tdt.h"

#include <stdbool.h>

#define SNPU_TDT_DIMS  128
#define SNPU_TDT_ITEMS 1024 /* of a dataset */
#define SNPU_TDT_NAME  128

struct acltdtDataItem {
    acltdtTensorType type;
    aclDataType data_type;
    size_t dim_count, size_b;
    int64_t dims[SNPU_TDT_DIMS];
    void *data;
    const acltdtDataset *owner; /* of a received item, whose data are its own; NULL: the program's */
};

struct acltdtDataset {
    size_t count, capacity;
    acltdtDataItem **items;
    char name[SNPU_TDT_NAME]; /* of the channel that it came from */
};

bool snpu_tdt_dataset_alive(const char *function, const acltdtDataset *dataset);

/* A copy of the item with its own data, owned by the dataset and added to it. Returns an ACL code. */
aclError snpu_tdt_copy_into(const char *function, acltdtDataset *dataset, const acltdtDataItem *item);

/* True if every item of the dataset still exists. */
bool snpu_tdt_items_alive(const acltdtDataset *dataset);

#endif
