/* SPDX-License-Identifier: Apache-2.0 */
/* Executors: the prepared launches between the two phases of an operator.
 *
 * Invariants: one second phase at a time uses an executor. An executor that is not repeatable is destroyed by that
 * phase, so a second run finds a stale handle and is refused. Addresses are read as late as possible: from the tensor
 * if it still exists, so that a repeatable executor follows aclSetTensorAddr, otherwise from the first phase. Threads:
 * any; the flag `running` is the only state that two threads may share. Failure policy: status codes with messages. If
 * the runtime refuses a launch, the result is ACLNN_ERR_RUNTIME_ERROR and earlier launches of the operator stay
 * queued. */
#include "softnpu/aclnn/nn.h"

#include "base/slab.h"
#include "softnpu/aclnn/kernel_binary.h"
#include "softnpu/hal/hal_ext.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/prof.h"

#include <stdlib.h>
#include <string.h>

static struct ms_slab executors = MS_SLAB_INIT(struct aclOpExecutor, 1u << 16);

aclOpExecutor *snpu_nn_executor_new(const char *op)
{
    struct aclOpExecutor *executor = ms_slab_alloc(&executors);
    if (executor == NULL) {
        snpu_fail(ACLNN_ERR_INNER_CREATE_EXECUTOR, "%s: too many executors: %u wait for their second phase", op,
                  ms_slab_live(&executors));
        return NULL;
    }
    executor->op = op;
    executor->last_step = &executor->steps;
    return executor;
}

void snpu_nn_executor_drop(aclOpExecutor *executor)
{
    for (struct nn_step *step = executor->steps, *next; step != NULL; step = next) {
        next = step->next;
        free(step);
    }
    free(executor->tensors);
    ms_slab_free(&executors, executor);
}

bool snpu_nn_executor_tensor(aclOpExecutor *executor, const struct nn_tensor_ref *ref, uint32_t *index)
{
    if (executor->tensor_count == executor->tensor_room) {
        const uint32_t room = executor->tensor_room > 0 ? 2 * executor->tensor_room : 8;
        struct nn_tensor_ref *grown = realloc(executor->tensors, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        executor->tensors = grown;
        executor->tensor_room = room;
    }
    *index = executor->tensor_count;
    executor->tensors[executor->tensor_count++] = *ref;
    return true;
}

struct nn_step *snpu_nn_executor_step(aclOpExecutor *executor, uint32_t pointers, size_t args_b)
{
    const size_t args_room_b = MS_ROUND_UP(args_b, sizeof(uint64_t));
    struct nn_step *step = malloc(sizeof *step + args_room_b + pointers * sizeof *step->addresses);
    if (step != NULL) {
        *step = (struct nn_step){.pointers = pointers, .args_b = (uint32_t)args_b};
        step->addresses = (struct nn_address *)((char *)step->args + args_room_b);
        *executor->last_step = step;
        executor->last_step = &step->next;
    }
    return step;
}

bool snpu_nn_executor_late_shape(aclOpExecutor *executor, const struct nn_late_shape *late)
{
    if (executor->late_count == NN_LATE_SHAPES || late->rank > NN_DIMS) {
        return false;
    }
    executor->late[executor->late_count++] = *late;
    return true;
}

/* ---- second phase ---- */

static aclnnStatus refresh_addresses(struct aclOpExecutor *executor)
{
    for (uint32_t i = 0; i < executor->tensor_count; i++) {
        struct nn_tensor_ref *ref = &executor->tensors[i];
        const struct aclTensor *tensor = snpu_nn_tensor(ref->tensor);
        if (tensor != NULL && tensor->serial == ref->serial) {
            ref->data = tensor->data;
        }
        if (ref->end_b == ref->first_b) {
            continue; /* no elements: no memory is accessed */
        }
        if (ref->data == NULL) {
            return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: tensor %u has no memory", executor->op, i);
        }
        if (!snpu_hal_accessible((const char *)ref->data + ref->first_b, ref->end_b - ref->first_b)) {
            return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: tensor %u: %llu bytes at %p are not accessible memory",
                             executor->op, i, (unsigned long long)(ref->end_b - ref->first_b),
                             (void *)((char *)ref->data + ref->first_b));
        }
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus launch(struct aclOpExecutor *executor, struct nn_step *step, char *workspace, aclrtStream stream)
{
    void *function = NULL;
    aclnnStatus status = nn_kernel_find(step->kernel, &function);
    if (status != ACLNN_SUCCESS) {
        return status;
    }
    for (uint32_t i = 0; i < step->pointers; i++) {
        const struct nn_address *address = &step->addresses[i];
        char *base = address->from == NN_FROM_TENSOR      ? executor->tensors[address->tensor].data
                     : address->from == NN_FROM_WORKSPACE ? workspace
                                                          : NULL;
        step->args[i] = base != NULL ? (uintptr_t)(base + address->offset_b) : 0;
    }
    uint64_t begin = snpu_prof_node_begin();
    aclError error =
        aclrtLaunchKernelWithHostArgs(function, step->blocks, stream, NULL, step->args, step->args_b, NULL, 0);
    if (MS_UNLIKELY(begin != 0)) {
        snpu_prof_node_end(begin, nn_node_name(executor->op, step->kernel), step->kernel, step->task_type,
                           step->blocks);
    }
    if (error != ACL_SUCCESS) {
        /* Keep the runtime's own message: it has more detail. */
        return ACLNN_ERR_RUNTIME_ERROR;
    }
    return ACLNN_SUCCESS;
}

/* A tensor that was dense stays dense in its new shape; otherwise its strides stay. */
static void reshape(struct aclTensor *tensor, const int64_t *dims, uint64_t rank)
{
    int64_t expected = 1;
    bool dense = true;
    for (uint64_t i = tensor->rank; i-- > 0;) {
        dense = dense && (tensor->dims[i] <= 1 || tensor->strides[i] == expected);
        expected *= tensor->dims[i];
    }
    dense |= tensor->rank != rank;
    int64_t stride = 1;
    for (uint64_t i = rank; i-- > 0;) {
        tensor->dims[i] = dims[i];
        tensor->strides[i] = dense ? stride : tensor->strides[i];
        stride *= dims[i] > 0 ? dims[i] : 1;
    }
    tensor->rank = rank;
}

/* Waits for the stream, then sets the shapes that depend on data. A tensor that no longer exists is skipped. */
static aclnnStatus set_late_shapes(struct aclOpExecutor *executor, const char *workspace, aclrtStream stream)
{
    if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) {
        return ACLNN_ERR_RUNTIME_ERROR;
    }
    for (uint32_t i = 0; i < executor->late_count; i++) {
        const struct nn_late_shape *late = &executor->late[i];
        const struct nn_tensor_ref *ref = &executor->tensors[late->tensor];
        int64_t dims[NN_DIMS] = {0};
        if (late->rank > 0 && aclrtMemcpy(dims, sizeof dims, workspace + late->offset_b, late->rank * sizeof *dims,
                                          ACL_MEMCPY_DEVICE_TO_HOST) != ACL_SUCCESS) {
            return ACLNN_ERR_RUNTIME_ERROR;
        }
        if (snpu_nn_tensor(ref->tensor) != NULL && ref->tensor->serial == ref->serial) {
            reshape(ref->tensor, dims, late->rank);
        }
    }
    return ACLNN_SUCCESS;
}

aclnnStatus snpu_nn_execute(const char *function, void *workspace, uint64_t workspace_b, aclOpExecutor *executor,
                            aclrtStream stream)
{
    if (executor == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: executor is NULL", function);
    }
    if (!ms_slab_check(&executors, executor) || __atomic_exchange_n(&executor->running, true, __ATOMIC_ACQUIRE)) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: executor %p does not exist, was already used, or is in use",
                         function, (void *)executor);
    }
    aclnnStatus status = ACLNN_SUCCESS;
    if (workspace_b < executor->workspace_b || (executor->workspace_b > 0 && workspace == NULL)) {
        status = snpu_fail(workspace == NULL ? ACLNN_ERR_PARAM_NULLPTR : ACLNN_ERR_PARAM_INVALID,
                           "%s: workspace %p has %llu bytes, %llu are required", function, workspace,
                           (unsigned long long)workspace_b, (unsigned long long)executor->workspace_b);
    } else if (executor->workspace_b > 0 && !snpu_hal_accessible(workspace, executor->workspace_b)) {
        status = snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: workspace %p is not accessible memory", function, workspace);
    }
    if (status == ACLNN_SUCCESS) {
        status = refresh_addresses(executor);
    }
    for (struct nn_step *step = executor->steps; status == ACLNN_SUCCESS && step != NULL; step = step->next) {
        status = launch(executor, step, workspace, stream);
    }
    if (status == ACLNN_SUCCESS && executor->late_count > 0) {
        status = set_late_shapes(executor, workspace, stream);
    }
    __atomic_store_n(&executor->running, false, __ATOMIC_RELEASE);
    if (!executor->repeatable) {
        snpu_nn_executor_drop(executor);
    }
    return status;
}

/* ---- repeatable executors ---- */

static aclnnStatus check_executor(const char *function, const aclOpExecutor *executor)
{
    if (executor == NULL) {
        return snpu_fail(ACLNN_ERR_INNER_NULLPTR, "%s: executor is NULL", function);
    }
    if (!ms_slab_check(&executors, executor)) {
        return snpu_fail(ACLNN_ERR_INNER, "%s: executor %p does not exist or was already used", function,
                         (const void *)executor);
    }
    return ACLNN_SUCCESS;
}

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor)
{
    aclnnStatus status = check_executor("aclSetAclOpExecutorRepeatable", executor);
    if (status == ACLNN_SUCCESS) {
        executor->repeatable = true;
    }
    return status;
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor)
{
    aclnnStatus status = check_executor("aclDestroyAclOpExecutor", executor);
    if (status == ACLNN_SUCCESS) {
        snpu_nn_executor_drop(executor);
    }
    return status;
}

/* Changes the address in the tensor and in the executor, which needs it if the tensor is destroyed before the launch.
 * Identified by the tensor, not by the index: depending on the function, the vendor counts inputs and outputs together
 * or separately. */
static aclnnStatus set_address(const char *function, aclOpExecutor *executor, aclTensor *tensor, void *address)
{
    if (tensor == NULL) {
        return snpu_fail(ACLNN_ERR_INNER_NULLPTR, "%s: tensor is NULL", function);
    }
    aclnnStatus status = check_executor(function, executor);
    if (status != ACLNN_SUCCESS) {
        return status;
    }
    if (snpu_nn_tensor(tensor) == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: tensor %p does not exist", function, (void *)tensor);
    }
    bool known = false;
    for (uint32_t i = 0; i < executor->tensor_count; i++) {
        if (executor->tensors[i].tensor == tensor && executor->tensors[i].serial == tensor->serial) {
            executor->tensors[i].data = address;
            known = true;
        }
    }
    if (!known) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: tensor %p is not an argument of this %s", function,
                         (void *)tensor, executor->op);
    }
    tensor->data = address;
    return ACLNN_SUCCESS;
}

static aclnnStatus set_list_address(const char *function, aclOpExecutor *executor, size_t index, aclTensorList *list,
                                    void *address)
{
    const struct nn_array *array = snpu_nn_array(list, NN_TENSOR_LIST);
    if (list == NULL || array == NULL || index >= array->count) {
        return snpu_fail(list == NULL ? ACLNN_ERR_INNER_NULLPTR : ACLNN_ERR_PARAM_INVALID,
                         "%s: tensor list %p does not exist or has no entry %zu", function, (void *)list, index);
    }
    return set_address(function, executor, ((aclTensor *const *)array->data)[index], address);
}

/* Each function exists under two names. */
#define SET_ADDRESS(suffix)                                                                                            \
    aclnnStatus aclSet##suffix(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr)             \
    {                                                                                                                  \
        return set_address("aclSet" #suffix, executor, tensor, addr);                                                  \
    }                                                                                                                  \
    aclnnStatus AclSet##suffix(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr)             \
    {                                                                                                                  \
        return set_address("AclSet" #suffix, executor, tensor, addr);                                                  \
    }
SET_ADDRESS(InputTensorAddr)
SET_ADDRESS(OutputTensorAddr)
SET_ADDRESS(TensorAddr)

#define SET_LIST_ADDRESS(suffix)                                                                                       \
    aclnnStatus aclSet##suffix(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex,                    \
                               aclTensorList *tensors, void *addr)                                                     \
    {                                                                                                                  \
        return set_list_address("aclSet" #suffix, executor, relativeIndex, tensors, addr);                             \
    }                                                                                                                  \
    aclnnStatus AclSet##suffix(aclOpExecutor *executor, size_t irIndex, const size_t relativeIndex,                    \
                               aclTensorList *tensors, void *addr)                                                     \
    {                                                                                                                  \
        return set_list_address("AclSet" #suffix, executor, relativeIndex, tensors, addr);                             \
    }
SET_LIST_ADDRESS(DynamicInputTensorAddr)
SET_LIST_ADDRESS(DynamicOutputTensorAddr)
SET_LIST_ADDRESS(DynamicTensorAddr)
