/* SPDX-License-Identifier: Apache-2.0 */
/* memcpy for large pieces that are read from, or written to, the staging area.
 *
 * The C library copies up to some hundred KiB with `rep movsb` where the processor claims that to be fast. On AMD Zen
 * that drops from 16 to 2.8 GB/s when the destination is a few bytes after the source modulo a page, which is the case
 * between page-aligned slots and unaligned buffers. Plain 16-byte loads and stores take 10 % longer than the good case,
 * at any alignment. */
#ifndef SOFTNPU_HCCL_COPY_H
#define SOFTNPU_HCCL_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HCCL_COPY_PLAIN_B 1024 /* up to this size the C library does not use that instruction */

/* Keeps the compiler from turning the loop back into memcpy. */
__attribute__((noinline, unused, optimize("no-tree-loop-distribute-patterns"))) static void hccl_copy(void *to,
                                                                                                      const void *from,
                                                                                                      size_t size_b)
{
    typedef uint64_t vector __attribute__((vector_size(16), aligned(1), may_alias));
    char *d = to;
    const char *s = from;
    size_t i = 0;
    if (size_b >= HCCL_COPY_PLAIN_B && ((uintptr_t)d - (uintptr_t)s) % 64 != 0) {
        for (; i + 64 <= size_b; i += 64) {
            vector a = *(const vector *)(s + i), b = *(const vector *)(s + i + 16);
            vector c = *(const vector *)(s + i + 32), e = *(const vector *)(s + i + 48);
            *(vector *)(d + i) = a;
            *(vector *)(d + i + 16) = b;
            *(vector *)(d + i + 32) = c;
            *(vector *)(d + i + 48) = e;
        }
    }
    memcpy(d + i, s + i, size_b - i);
}

#endif
