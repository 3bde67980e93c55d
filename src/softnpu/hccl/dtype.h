/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and reductions: one table for sizes, names and arithmetic. */
#ifndef SOFTNPU_HCCL_DTYPE_H
#define SOFTNPU_HCCL_DTYPE_H

#include "hccl/hccl_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of one element; 0 for an invalid type. */
uint32_t hccl_dtype_size(uint32_t dtype);
const char *hccl_dtype_name(uint32_t dtype);
bool hccl_dtype_reduces(uint32_t dtype);

const char *hccl_reduce_name(uint32_t op);
bool hccl_reduce_valid(uint32_t op);

/* dst[i] = src[0][i] op src[1][i] op ... in exactly this order, so that the result does not depend on which rank
 * computes it, or when. FP16 and BFP16 are added up in float and rounded once (to nearest, ties to even). dst and copy
 * (either may be NULL) may be the same memory as one of the sources, but must not overlap one otherwise. n_src >= 1. */
void hccl_reduce(uint32_t dtype, uint32_t op, const void *const *src, uint32_t n_src, size_t count, void *dst,
                 void *copy);

#endif
