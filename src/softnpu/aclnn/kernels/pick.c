/* SPDX-License-Identifier: Apache-2.0 */
/* NLLLoss and its gradient: one class is picked for every sample. A target outside the classes is ignored. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_wide.h"

/* The element of an operand at a linear index of its shape. */
static char *element(const struct op_call *a, int i, uint64_t linear)
{
    const struct op_operand *at = &a->at[i];
    int64_t offset = 0;
    for (uint64_t d = at->rank; d-- > 0; linear /= at->dims[d]) {
        offset += (int64_t)(linear % at->dims[d]) * at->steps[d];
    }
    return (char *)op_element(a->data[i], offset, at->type);
}

static double read_real(const struct op_call *a, int i, uint64_t linear)
{
    double value;
    return *op_load_f64(&value, element(a, i, linear), 1, a->at[i].type, 1);
}

struct choice {
    int64_t target; /* < 0: ignored */
    double weight;
};

/* Numbers: step between classes, number of classes, index to ignore. Operand 1: targets, 2: weights of classes. */
static struct choice choose(const struct op_call *a, uint64_t sample)
{
    int64_t target;
    target = *op_load_i64(&target, element(a, 1, sample), 1, a->at[1].type, 1);
    if (target == a->whole[2] || target < 0 || target >= a->whole[1]) {
        return (struct choice){-1, 0};
    }
    return (struct choice){target, a->data[2] == NULL ? 1 : read_real(a, 2, (uint64_t)target)};
}

/* Operand 0: x without its dimension of classes; 3: loss of each sample; 4: its weight. */
OP_KERNEL(NLLLoss, op_call)
{
    if (a->data[0] == NULL || a->data[1] == NULL || a->data[3] == NULL || a->data[4] == NULL) {
        return;
    }
    const struct tk_range mine = tk_share(a->at[1].count, TK_GRAIN, block, num_blocks);
    for (uint64_t i = mine.begin; i < mine.end; i++) {
        const struct choice c = choose(a, i);
        double value = 0, loss = 0;
        if (c.target >= 0) {
            const char *x = op_element(element(a, 0, i), c.target * a->whole[0], a->at[0].type);
            loss = -c.weight * *op_load_f64(&value, x, 1, a->at[0].type, 1);
        }
        op_store_f64(&loss, element(a, 3, i), 1, a->at[3].type, 1);
        op_store_f64(&c.weight, element(a, 4, i), 1, a->at[4].type, 1);
    }
}

/* Operand 0: dx, filled with zeros, without its dimension of classes; 3: dy, one for each sample or one for all;
 * 4: the total weight to divide by, or missing. */
OP_KERNEL(NLLLossGrad, op_call)
{
    if (a->data[0] == NULL || a->data[1] == NULL || a->data[3] == NULL) {
        return;
    }
    const double divisor = a->data[4] != NULL ? read_real(a, 4, 0) : 1;
    const struct tk_range mine = tk_share(a->at[1].count, TK_GRAIN, block, num_blocks);
    for (uint64_t i = mine.begin; i < mine.end; i++) {
        const struct choice c = choose(a, i);
        if (c.target >= 0) {
            const double dx = -c.weight * read_real(a, 3, i) / divisor;
            op_store_f64(&dx, (char *)op_element(element(a, 0, i), c.target * a->whole[0], a->at[0].type), 1,
                         a->at[0].type, 1);
        }
    }
}
