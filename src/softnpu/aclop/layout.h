/* SPDX-License-Identifier: Apache-2.0 */
/* Private formats: tensors that are stored in blocks of 16 along two of their dimensions. */
#ifndef SOFTNPU_ACLOP_LAYOUT_H
#define SOFTNPU_ACLOP_LAYOUT_H

#include "softnpu/aclop/aclop.h"

enum { SNPU_LAYOUT_DIMS = 8 };

/* The blocks as a dense array of `rank` dimensions, and the place of its elements in a plain tensor whose dimensions
 * are rounded up to whole blocks; the logical tensor is a part of that. */
struct snpu_layout {
    uint32_t rank, plain_rank;
    int64_t dims[SNPU_LAYOUT_DIMS], steps[SNPU_LAYOUT_DIMS];
    int64_t plain_dims[SNPU_LAYOUT_DIMS], plain_steps[SNPU_LAYOUT_DIMS];
    uint64_t count; /* elements in storage, and in the plain tensor */
};

/* True if the elements lie in the order of the dimensions. */
bool snpu_format_plain(aclFormat format);

/* False if the format is not known, or storage and shape do not belong together. */
bool snpu_layout_of(const aclTensorDesc *desc, struct snpu_layout *layout);

#endif
