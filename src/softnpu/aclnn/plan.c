/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of an operator call: the first phase around an operator's row, and its launches.
 *
 * Threads: a plan belongs to one call. Failure policy: status codes with messages; a failed first phase leaves the
 * caller's outputs untouched and keeps nothing. */
#include "softnpu/aclnn/op.h"

#include "softnpu/kernels/convert.h"
#include "softnpu/runtime/prof.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Launches use one block per core of the device, fewer for small amounts of work. */
enum { WORK_PER_BLOCK = 8192 };

aclnnStatus nn_first_phase(const char *name, const struct nn_operator *op, const struct nn_param *params,
                           const union nn_arg *args, uint32_t count, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    if (workspaceSize == NULL || executor == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%sGetWorkspaceSize: workspaceSize or executor is NULL", name);
    }
    struct nn_plan plan = {.name = name, .op = op, .params = params, .args = args, .count = count};
    plan.executor = snpu_nn_executor_new(name);
    if (plan.executor == NULL) {
        return ACLNN_ERR_INNER_CREATE_EXECUTOR;
    }
    const aclnnStatus status = op->plan(&plan);
    if (status != ACLNN_SUCCESS) {
        snpu_nn_executor_drop(plan.executor);
        return status;
    }
    plan.executor->workspace_b = plan.workspace_b;
    *workspaceSize = plan.workspace_b;
    *executor = plan.executor;
    return ACLNN_SUCCESS;
}

aclnnStatus nn_missing(const char *name)
{
    return snpu_fail(ACLNN_ERR_INNER_FIND_KERNEL,
                     "%s: softnpu does not implement this operator; 'softnpu info --coverage' lists those that it has",
                     name);
}

aclnnStatus nn_invalid(const struct nn_plan *plan, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: %s", plan->name, text);
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

aclnnStatus nn_launch(struct nn_plan *p, const char *kernel, const void *args, size_t args_b,
                      const struct nn_address *const *addresses, uint32_t pointers, uint64_t work)
{
    struct nn_step *step = snpu_nn_executor_step(p->executor, pointers, args_b);
    if (step == NULL) {
        return snpu_fail(ACLNN_ERR_INNER, "%s: out of memory", p->name);
    }
    const uint64_t blocks = work / WORK_PER_BLOCK + 1;
    step->kernel = kernel;
    step->task_type = strstr(kernel, "MatMul") != NULL || strncmp(kernel, "Conv", 4) == 0 ? SNPU_TASK_KERNEL_AICORE
                                                                                          : SNPU_TASK_KERNEL_AIVEC;
    step->blocks = (uint32_t)(blocks < NN_MAX_BLOCKS ? blocks : NN_MAX_BLOCKS);
    for (uint32_t i = 0; i < pointers; i++) {
        step->addresses[i] = *addresses[i];
    }
    memcpy(step->args, args, args_b);
    return ACLNN_SUCCESS;
}

aclnnStatus nn_call(struct nn_plan *p, const char *kernel, const struct nn_view *const *views, uint32_t view_count,
                    const int64_t *whole, uint32_t whole_count, const double *real, uint32_t real_count, uint64_t work)
{
    struct op_call call = {.count = view_count};
    const struct nn_address *addresses[OP_OPERANDS] = {NULL};
    if (view_count > OP_OPERANDS || whole_count > OP_WHOLES || real_count > OP_REALS) {
        return snpu_fail(ACLNN_ERR_INNER, "%s: the launch of %s has too many arguments", p->name, kernel);
    }
    for (uint32_t i = 0; i < view_count; i++) {
        struct op_operand *operand = &call.at[i];
        addresses[i] = &views[i]->address;
        operand->type = views[i]->type;
        operand->rank = views[i]->rank;
        operand->count = views[i]->count;
        memcpy(operand->dims, views[i]->dims, sizeof operand->dims);
        memcpy(operand->steps, views[i]->steps, sizeof operand->steps);
    }
    if (whole_count > 0) {
        memcpy(call.whole, whole, whole_count * sizeof *whole);
    }
    if (real_count > 0) {
        memcpy(call.real, real, real_count * sizeof *real);
    }
    return nn_launch(p, kernel, &call, sizeof call, addresses, view_count, work);
}

aclnnStatus nn_move_as(struct nn_plan *p, const char *kernel, const struct nn_view *from, const struct nn_view *to)
{
    struct op_move_args args = {0};
    if (to->count == 0) {
        return ACLNN_SUCCESS;
    }
    nn_tile(&args.loop, (struct op_side *[]){&args.x_side, &args.z_side}, (const struct nn_view *[]){from, to}, 2);
    return nn_launch(p, kernel, &args, sizeof args, (const struct nn_address *[]){&from->address, &to->address}, 2,
                     to->count);
}

aclnnStatus nn_move(struct nn_plan *p, const struct nn_view *from, const struct nn_view *to)
{
    const bool same = from->type == to->type, dense = nn_is_dense(from) && nn_is_dense(to);
    return nn_move_as(p, !same ? "Cast" : dense ? "TensorMove" : "ViewCopy", from, to);
}

aclnnStatus nn_fill(struct nn_plan *p, const char *kernel, const struct nn_view *to, const struct op_number *value,
                    aclDataType value_type)
{
    struct op_fill_args args = {.value = *value, .kind = nn_is_real(value_type) ? TK_KIND_REAL : TK_KIND_SIGNED};
    if (to->count == 0) {
        return ACLNN_SUCCESS;
    }
    nn_tile(&args.loop, (struct op_side *[]){&args.z_side}, &to, 1);
    return nn_launch(p, kernel, &args, sizeof args, (const struct nn_address *[]){&to->address}, 1, to->count);
}
