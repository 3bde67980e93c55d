/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to libnnopbase.so and libopapi.so: the structures of tensors, scalars, arrays and executors.
 *
 * An operator's first phase checks its arguments and builds an executor: a list of kernel launches whose argument bytes
 * are ready except for addresses, and the tensors that the addresses come from. The second phase fills in the addresses
 * and launches. Between the phases only the tensors' memory must stay valid. */
#ifndef SOFTNPU_ACLNN_NN_H
#define SOFTNPU_ACLNN_NN_H

#include "abi/aclnn_status.h"
#include "aclnn/aclnn_base.h"
#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NN_TENSOR_DIMS = 25, /* dimensions of a tensor, at most */
    NN_DIMS = 8,         /* dimensions that an operator accepts, at most */
    NN_LATE_SHAPES = 4,  /* outputs of an operator whose shape depends on data, at most */
};

struct aclTensor {
    uint64_t serial; /* unique, never 0: distinguishes tensors that reuse an address */
    aclDataType type;
    aclFormat format;
    uint64_t rank, storage_rank;
    int64_t dims[NN_TENSOR_DIMS], strides[NN_TENSOR_DIMS], storage_dims[NN_TENSOR_DIMS];
    int64_t offset;
    void *data;
};

struct aclScalar {
    aclDataType type;
    union {
        uint8_t bytes[16];
        float f32;
        double f64;
        int64_t i64;
        int32_t i32;
        int16_t i16;
        int8_t i8;
        uint64_t u64;
        uint32_t u32;
        uint16_t u16;
        uint8_t u8;
    };
};

enum nn_array_kind { NN_INTS = 1, NN_FLOATS, NN_BOOLS, NN_FP16S, NN_BF16S, NN_TENSOR_LIST, NN_SCALAR_LIST };

struct nn_array {
    enum nn_array_kind kind;
    uint64_t count;
    void *data; /* owned */
};

/* The object if it exists; NULL for any other pointer value. */
MS_EXPORT const struct aclTensor *snpu_nn_tensor(const aclTensor *handle);
MS_EXPORT const struct aclScalar *snpu_nn_scalar(const aclScalar *handle);
MS_EXPORT const struct nn_array *snpu_nn_array(const void *handle, enum nn_array_kind kind);

/* ---- executors ---- */

/* Where an address of a launch comes from. */
struct nn_address {
    enum { NN_NOWHERE, NN_FROM_TENSOR, NN_FROM_WORKSPACE } from;
    uint32_t tensor;   /* index into aclOpExecutor.tensors */
    uint64_t offset_b; /* added to the address of the tensor's storage or of the workspace */
};

struct nn_step {
    struct nn_step *next;
    const char *kernel; /* name in the operator binary; profilers show it too */
    uint32_t task_type; /* number used by profilers */
    uint32_t blocks;
    uint32_t pointers; /* the first fields of args */
    uint32_t args_b;
    struct nn_address *addresses; /* in the same allocation, as is args */
    uint64_t args[];
};

struct nn_tensor_ref {
    aclTensor *tensor; /* looked up again by serial, because it may be destroyed */
    uint64_t serial;
    void *data;              /* address in the first phase, or as updated later */
    uint64_t first_b, end_b; /* bytes of its storage that the operator accesses */
};

/* An output whose shape depends on data: the second phase waits for the stream and reads the shape. */
struct nn_late_shape {
    uint32_t tensor;   /* index into aclOpExecutor.tensors */
    uint32_t rank;     /* of the new shape */
    uint64_t offset_b; /* of the rank sizes, int64_t, in the workspace */
};

struct aclOpExecutor {
    const char *op; /* "aclnnAdd" */
    bool repeatable;
    bool running; /* held by a second phase */
    uint64_t workspace_b;
    uint32_t tensor_count, tensor_room;
    struct nn_tensor_ref *tensors;
    struct nn_step *steps, **last_step;
    uint32_t late_count;
    struct nn_late_shape late[NN_LATE_SHAPES];
};

/* A new, empty executor; NULL with a message if there are too many. */
MS_EXPORT aclOpExecutor *snpu_nn_executor_new(const char *op);
MS_EXPORT void snpu_nn_executor_drop(aclOpExecutor *executor);
/* Appends a tensor; its index through *index. False if memory is short. */
MS_EXPORT bool snpu_nn_executor_tensor(aclOpExecutor *executor, const struct nn_tensor_ref *ref, uint32_t *index);
/* Appends a launch with room for its addresses and arguments; NULL if memory is short. */
MS_EXPORT struct nn_step *snpu_nn_executor_step(aclOpExecutor *executor, uint32_t pointers, size_t args_b);
/* After the launches, the tensor gets the shape that they left in the workspace. False if there are too many. */
MS_EXPORT bool snpu_nn_executor_late_shape(aclOpExecutor *executor, const struct nn_late_shape *late);

/* The name of an operator's launch for profilers; valid until the process ends. */
const char *nn_node_name(const char *op, const char *kernel);

/* The second phase of every operator. Destroys an executor that is not repeatable, whatever the result. */
MS_EXPORT aclnnStatus snpu_nn_execute(const char *function, void *workspace, uint64_t workspace_b,
                                      aclOpExecutor *executor, aclrtStream stream);

#endif
