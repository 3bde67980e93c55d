/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills in all shapes. The rt functions are declared in the public headers; these are the ACL-only ones.
 * `function` names the caller in messages. Kinds are those of aclrtMemcpyKind. */
#ifndef SOFTNPU_RUNTIME_COPY_H
#define SOFTNPU_RUNTIME_COPY_H

#include "base/macros.h"

#include <stddef.h>
#include <stdint.h>

/* Rows of width_b bytes; a flat copy is one row. */
struct snpu_copy {
    void *dst;
    const void *src;
    uint64_t dst_pitch_b, src_pitch_b;
    uint64_t width_b, rows;
    int32_t kind;
};

MS_EXPORT int32_t snpu_copy_now(const char *function, const struct snpu_copy *copy);
MS_EXPORT int32_t snpu_copy_async(const char *function, const struct snpu_copy *copy, void *stream);
/* Like copy_async, but returns after the copy if pageable host memory takes part. */
MS_EXPORT int32_t snpu_copy_async_or_wait(const char *function, const struct snpu_copy *copy, void *stream);

/* Addresses that are read from memory when the copy runs. */
struct snpu_copy_indirect {
    void **dst;
    const void **src;
    uint64_t dst_off, src_off;
    uint64_t dst_max_b, size_b;
};
MS_EXPORT int32_t snpu_copy_indirect(const char *function, const struct snpu_copy_indirect *copy, void *stream);

/* A copy described in memory (64 bytes): written now, read when the copy runs. */
#define SNPU_COPY_DESC_B 64
MS_EXPORT int32_t snpu_copy_desc_write(void *desc, void *dst, const void *src, uint64_t size_b);
MS_EXPORT int32_t snpu_copy_desc_run(void *desc, void *stream);

/* count words of `value`. */
MS_EXPORT int32_t snpu_fill_words(const char *function, void *dst, uint32_t value, uint64_t count);
MS_EXPORT int32_t snpu_fill_words_async(const char *function, void *dst, uint32_t value, uint64_t count, void *stream);

/* dst[i] = dst[i] op src[i] over size_b bytes of an aclDataType; op is an aclrtReduceKind. */
MS_EXPORT int32_t snpu_reduce_async(void *dst, const void *src, uint64_t size_b, int32_t op, int32_t type,
                                    void *stream);

/* Cache maintenance. Memory is coherent: arguments are checked and order is kept, but nothing is done. */
MS_EXPORT int32_t snpu_cmo_async(const char *function, const void *src, uint64_t size_b, void *stream);
MS_EXPORT int32_t snpu_cmo_barrier(void *stream);

#endif
