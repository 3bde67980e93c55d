/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools with stream-ordered allocation (aclrtMemPool*). */
#ifndef SOFTNPU_RUNTIME_MEMPOOL_H
#define SOFTNPU_RUNTIME_MEMPOOL_H

#include "base/macros.h"

#include <stddef.h>
#include <stdint.h>

MS_EXPORT int32_t snpu_mempool_create(void **pool, int32_t user_dev, uint64_t max_b);
MS_EXPORT int32_t snpu_mempool_destroy(void *pool);
/* attribute is an aclrtMemPoolAttr; value points to an int32_t for the three reuse flags, to a uint64_t otherwise. */
MS_EXPORT int32_t snpu_mempool_set(void *pool, int32_t attribute, const void *value);
MS_EXPORT int32_t snpu_mempool_get(void *pool, int32_t attribute, void *value);
MS_EXPORT int32_t snpu_mempool_alloc(void **ptr, size_t size_b, void *pool, void *stream);
MS_EXPORT int32_t snpu_mempool_free(void *ptr, void *stream);
MS_EXPORT int32_t snpu_mempool_trim(void *pool, size_t keep_b);

#endif
