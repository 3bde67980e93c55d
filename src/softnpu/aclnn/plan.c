/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of an operator call: views of its tensors, parts of the workspace, launches.
 *
 * Invariants: every size is checked for overflow when a view is made, so later arithmetic on counts and byte extents of
 * views is safe. Threads: a plan belongs to one call. Failure policy: status codes with messages. */
#include "softnpu/aclnn/op.h"

#include "softnpu/runtime/prof.h"

#include <string.h>

/* Launches use one block per core of the device, fewer for small amounts of work. */
enum { MAX_BLOCKS = 24, WORK_PER_BLOCK = 8192, WORKSPACE_ALIGN = 512 };

aclnnStatus nn_begin(struct nn_plan *plan, const char *op, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    *plan = (struct nn_plan){.op = op};
    if (workspaceSize == NULL || executor == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%sGetWorkspaceSize: workspaceSize or executor is NULL", op);
    }
    plan->executor = snpu_nn_executor_new(op);
    return plan->executor != NULL ? ACLNN_SUCCESS : ACLNN_ERR_INNER_CREATE_EXECUTOR;
}

void nn_abandon(struct nn_plan *plan)
{
    if (plan->executor != NULL) {
        snpu_nn_executor_drop(plan->executor);
        plan->executor = NULL;
    }
}

aclnnStatus nn_finish(struct nn_plan *plan, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    plan->executor->workspace_b = plan->workspace_b;
    *workspaceSize = plan->workspace_b;
    *executor = plan->executor;
    return ACLNN_SUCCESS;
}

/* ---- views ---- */

/* Number of elements of a view, and the distance from its first to its last element; false on overflow. */
static bool measure(const struct nn_view *view, uint64_t *count, uint64_t *reach)
{
    *count = 1;
    *reach = 0;
    bool empty = false;
    for (uint64_t i = 0; i < view->rank; i++) {
        empty |= view->dims[i] == 0;
    }
    for (uint64_t i = 0; i < view->rank && !empty; i++) {
        uint64_t part;
        if (__builtin_mul_overflow(*count, view->dims[i], count) ||
            __builtin_mul_overflow(view->dims[i] - 1, (uint64_t)view->steps[i], &part) ||
            __builtin_add_overflow(*reach, part, reach)) {
            return false;
        }
    }
    if (empty) {
        *count = 0;
    }
    return *count <= (uint64_t)INT64_MAX / 16 && *reach <= (uint64_t)INT64_MAX / 16;
}

aclnnStatus nn_view_optional(struct nn_plan *plan, const char *name, const aclTensor *tensor, nn_types types,
                             struct nn_view *view)
{
    *view = (struct nn_view){0};
    if (tensor == NULL) {
        return ACLNN_SUCCESS;
    }
    return nn_view(plan, name, tensor, types, view);
}

aclnnStatus nn_view(struct nn_plan *plan, const char *name, const aclTensor *tensor, nn_types types,
                    struct nn_view *view)
{
    if (tensor == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s is NULL", plan->op, name);
    }
    const struct aclTensor *t = snpu_nn_tensor(tensor);
    if (t == NULL) {
        return NN_INVALID(plan, "%s: tensor %p does not exist", name, (const void *)tensor);
    }
    if (t->type < 0 || t->type >= 32 || (NN_TYPE(t->type) & types) == 0) {
        return NN_INVALID(plan, "%s: tensors of type %s are not supported", name, nn_type_name(t->type));
    }
    if (t->rank > NN_DIMS) {
        return NN_INVALID(plan, "%s: %llu dimensions, at most %d are supported", name, (unsigned long long)t->rank,
                          NN_DIMS);
    }
    *view = (struct nn_view){.type = t->type, .rank = t->rank};
    for (uint64_t i = 0; i < t->rank; i++) {
        view->dims[i] = (uint64_t)t->dims[i];
        view->steps[i] = t->strides[i];
    }
    uint64_t reach;
    if (!measure(view, &view->count, &reach) || (uint64_t)t->offset > (uint64_t)INT64_MAX / 16) {
        return NN_INVALID(plan, "%s: shape, strides or offset are out of range", name);
    }
    struct aclOpExecutor *executor = plan->executor;
    if (executor->tensor_count == NN_TENSORS) {
        return snpu_fail(ACLNN_ERR_INNER, "%s: too many tensors", plan->op);
    }
    const uint64_t element_b = aclDataTypeSize(t->type), first_b = (uint64_t)t->offset * element_b;
    view->address = (struct nn_address){NN_FROM_TENSOR, executor->tensor_count, first_b};
    executor->tensors[executor->tensor_count++] = (struct nn_tensor_ref){
        .tensor = (aclTensor *)tensor,
        .serial = t->serial,
        .data = t->data,
        .first_b = first_b,
        .end_b = view->count > 0 ? first_b + (reach + 1) * element_b : first_b,
    };
    return ACLNN_SUCCESS;
}

bool nn_same_shape(const struct nn_view *a, const struct nn_view *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

bool nn_is_dense(const struct nn_view *view)
{
    int64_t step = 1;
    for (uint64_t i = view->rank; i-- > 0;) {
        if (view->dims[i] != 1 && view->steps[i] != step) {
            return false;
        }
        step *= (int64_t)view->dims[i];
    }
    return true;
}

bool nn_broadcast(const struct nn_view *view, uint64_t rank, const uint64_t *dims, struct nn_view *out)
{
    if (view->rank > rank) {
        return false;
    }
    struct nn_view stretched = *view;
    stretched.rank = rank;
    stretched.count = 1;
    for (uint64_t i = 0; i < rank; i++) {
        const bool missing = i < rank - view->rank;
        const uint64_t from = missing ? 0 : i - (rank - view->rank);
        if (!missing && view->dims[from] != dims[i] && view->dims[from] != 1) {
            return false;
        }
        stretched.dims[i] = dims[i];
        stretched.steps[i] = missing || (view->dims[from] == 1 && dims[i] != 1) ? 0 : view->steps[from];
        stretched.count *= dims[i];
    }
    *out = stretched;
    return true;
}

bool nn_common_shape(const struct nn_view *a, const struct nn_view *b, uint64_t *rank, uint64_t *dims)
{
    const struct nn_view *longer = a->rank >= b->rank ? a : b, *shorter = longer == a ? b : a;
    const uint64_t lead = longer->rank - shorter->rank;
    *rank = longer->rank;
    for (uint64_t i = 0; i < longer->rank; i++) {
        const uint64_t x = longer->dims[i], y = i < lead ? 1 : shorter->dims[i - lead];
        if (x != y && x != 1 && y != 1) {
            return false;
        }
        dims[i] = x == 1 ? y : x;
    }
    return true;
}

aclnnStatus nn_workspace(struct nn_plan *plan, aclDataType type, uint64_t rank, const uint64_t *dims,
                         struct nn_view *view)
{
    *view = (struct nn_view){.type = type, .rank = rank, .count = 1};
    for (uint64_t i = rank; i-- > 0;) {
        view->dims[i] = dims[i];
        view->steps[i] = (int64_t)view->count;
        if (__builtin_mul_overflow(view->count, dims[i], &view->count)) {
            return NN_INVALID(plan, "the workspace would exceed %llu elements", (unsigned long long)INT64_MAX);
        }
    }
    if (view->count > (uint64_t)INT64_MAX / 16) {
        return NN_INVALID(plan, "the workspace would have %llu elements", (unsigned long long)view->count);
    }
    view->address = (struct nn_address){NN_FROM_WORKSPACE, 0, plan->workspace_b};
    plan->workspace_b += MS_ROUND_UP(view->count * aclDataTypeSize(type), WORKSPACE_ALIGN);
    return ACLNN_SUCCESS;
}

/* ---- launches ---- */

void nn_tile(struct op_loop *loop, struct op_side *const *sides, const struct nn_view *const *views, uint32_t count)
{
    uint64_t rank = 0;
    for (uint64_t i = 0; i < views[0]->rank; i++) {
        const uint64_t size = views[0]->dims[i];
        if (size == 1) {
            continue;
        }
        /* Merges with the previous dimension if every operand traverses both as one. */
        bool merges = rank > 0;
        for (uint32_t v = 0; v < count && merges; v++) {
            merges = sides[v]->steps[rank - 1] == views[v]->steps[i] * (int64_t)size;
        }
        if (merges) {
            loop->dims[rank - 1] *= size;
        } else {
            loop->dims[rank++] = size;
        }
        for (uint32_t v = 0; v < count; v++) {
            sides[v]->steps[rank - 1] = views[v]->steps[i];
        }
    }
    if (rank == 0) {
        loop->dims[rank++] = 1;
    }
    loop->rank = rank;
    for (uint32_t v = 0; v < count; v++) {
        sides[v]->type = views[v]->type;
    }
}

aclnnStatus nn_launch(struct nn_plan *plan, const char *kernel, const char *node, const void *args, size_t args_b,
                      const struct nn_address *const *addresses, uint32_t pointers, uint64_t work)
{
    struct aclOpExecutor *executor = plan->executor;
    if (executor->step_count == NN_STEPS || args_b > NN_ARGS_B || pointers > NN_POINTERS) {
        return snpu_fail(ACLNN_ERR_INNER, "%s: the launch of %s exceeds the limits of an executor", plan->op, kernel);
    }
    struct nn_step *step = &executor->steps[executor->step_count++];
    const uint64_t blocks = work / WORK_PER_BLOCK + 1;
    step->kernel = kernel;
    step->node = node;
    step->task_type = strstr(kernel, "MatMul") != NULL ? SNPU_TASK_KERNEL_AICORE : SNPU_TASK_KERNEL_AIVEC;
    step->blocks = (uint32_t)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS);
    step->pointers = pointers;
    step->args_b = (uint32_t)args_b;
    for (uint32_t i = 0; i < pointers; i++) {
        step->addresses[i] = *addresses[i];
    }
    memcpy(step->args, args, args_b);
    return ACLNN_SUCCESS;
}

aclnnStatus nn_move(struct nn_plan *plan, const struct nn_move_nodes *nodes, const struct nn_view *from,
                    const struct nn_view *to)
{
    struct op_move_args args = {0};
    if (to->count == 0) {
        return ACLNN_SUCCESS;
    }
    nn_tile(&args.loop, (struct op_side *[]){&args.x_side, &args.z_side}, (const struct nn_view *[]){from, to}, 2);
    const bool same = from->type == to->type, dense = nn_is_dense(from) && nn_is_dense(to);
    return nn_launch(plan,
                     !same   ? "Cast"
                     : dense ? "TensorMove"
                             : "ViewCopy",
                     !same   ? nodes->cast
                     : dense ? nodes->move
                             : nodes->view_copy,
                     &args, sizeof args, (const struct nn_address *[]){&from->address, &to->address}, 2, to->count);
}
