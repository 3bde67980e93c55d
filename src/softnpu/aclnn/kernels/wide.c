/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of elements as double and as 64-bit integers, from and to every type. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_wide.h"

#define LOAD(name, ctype, own, kind_of, member)                                                                        \
    const ctype *name(ctype *buffer, const void *base, int64_t step, int64_t type, uint64_t n)                         \
    {                                                                                                                  \
        if (type == (own) && step == 1) {                                                                              \
            return base;                                                                                               \
        }                                                                                                              \
        for (uint64_t done = 0; done < n; done += TK_CHUNK) {                                                          \
            struct tk_chunk chunk;                                                                                     \
            const uint64_t part = n - done < TK_CHUNK ? n - done : TK_CHUNK;                                           \
            tk_chunk_load(&chunk, op_element(base, (int64_t)done *step, type), step, type, part);                      \
            tk_chunk_make(&chunk, kind_of, part);                                                                      \
            memcpy(buffer + done, chunk.member, part * sizeof *buffer);                                                \
        }                                                                                                              \
        return buffer;                                                                                                 \
    }
LOAD(op_load_f64, double, TK_DOUBLE, TK_KIND_REAL, real)
LOAD(op_load_i64, int64_t, TK_INT64, TK_KIND_SIGNED, i64)

#define STORE(name, ctype, kind_of, member)                                                                            \
    void name(const ctype *from, void *base, int64_t step, int64_t type, uint64_t n)                                   \
    {                                                                                                                  \
        for (uint64_t done = 0; done < n; done += TK_CHUNK) {                                                          \
            struct tk_chunk chunk;                                                                                     \
            const uint64_t part = n - done < TK_CHUNK ? n - done : TK_CHUNK;                                           \
            chunk.kind = kind_of;                                                                                      \
            memcpy(chunk.member, from + done, part * sizeof *from);                                                    \
            tk_chunk_store(&chunk, (void *)op_element(base, (int64_t)done *step, type), step, type, part);             \
        }                                                                                                              \
    }
STORE(op_store_f64, double, TK_KIND_REAL, real)
STORE(op_store_i64, int64_t, TK_KIND_SIGNED, i64)
