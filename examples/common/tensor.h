/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in the pool, and operators as a tool sees them.
 *
 * Between op_begin and op_end an operator allocates its results and launches its kernels. If a tool is attached, marks
 * report, in the format of the framework's dispatcher: the begin of the operator, the tensors it reads, the tensors it
 * writes, its end. */
#ifndef EXAMPLES_COMMON_TENSOR_H
#define EXAMPLES_COMMON_TENSOR_H

#include "npu.h"

enum { TENSOR_DIMS_MAX = 4 };

enum dtype { DTYPE_FLOAT32, DTYPE_INT32 };

struct tensor {
    enum dtype dtype;
    uint32_t dim_count;
    int64_t dims[TENSOR_DIMS_MAX];
    size_t count, size_b;
    union {
        void *data;
        float *f32;
        int32_t *i32;
    };
};

/* Dimensions end at the first 0. NULL if out of memory (npool_last_error); tensor_new ends the program instead. */
struct tensor *tensor_try_new(struct npu *npu, enum dtype dtype, const int64_t dims[TENSOR_DIMS_MAX]);
struct tensor *tensor_new(struct npu *npu, enum dtype dtype, const int64_t dims[TENSOR_DIMS_MAX]);
#define TENSOR(npu, ...)     tensor_new((npu), DTYPE_FLOAT32, (const int64_t[TENSOR_DIMS_MAX]){__VA_ARGS__})
#define INT_TENSOR(npu, ...) tensor_new((npu), DTYPE_INT32, (const int64_t[TENSOR_DIMS_MAX]){__VA_ARGS__})
struct tensor *tensor_like(struct npu *npu, const struct tensor *other);
/* Frees the memory and sets the pointer to NULL; NULL is allowed. */
void tensor_free(struct npu *npu, struct tensor **tensor);

/* Queues a copy; the host data may be changed as soon as this returns. */
void tensor_upload(struct npu *npu, struct tensor *tensor, const void *host);
/* Waits for the stream. */
void tensor_download(struct npu *npu, const struct tensor *tensor, void *host);

/* name without "torch._ops.aten."; the tensors in the list (which ends with NULL) are read. */
void op_begin(struct npu *npu, const char *name, const struct tensor *const *inputs);
/* These were written: results, or operands that the operator changed in place. */
void op_end(struct npu *npu, const struct tensor *const *outputs);
#define TENSORS(...) ((const struct tensor *const[]){__VA_ARGS__, NULL})
/* One more access, inside an operator. */
void op_access(struct npu *npu, const struct tensor *tensor, bool written, bool output);

#endif
