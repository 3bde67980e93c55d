/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products for plans. */
#ifndef SOFTNPU_ACLNN_OPERATORS_PRODUCT_H
#define SOFTNPU_ACLNN_OPERATORS_PRODUCT_H

#include "softnpu/aclnn/op.h"

/* out = x * y over the last two dimensions, leading dimensions broadcast; a vector is a row (x) or a column (y). */
aclnnStatus nn_product(struct nn_plan *p, const struct nn_view *x, const struct nn_view *y, const struct nn_view *out);

/* out = alpha * x * y + beta * add; `add` broadcasts to out, may be out itself, and is not read if it is NULL or beta is
 * 0. */
struct nn_product_terms {
    const struct nn_view *add;
    struct op_number alpha, beta;
};
aclnnStatus nn_product_add(struct nn_plan *p, const struct nn_view *x, const struct nn_view *y,
                           const struct nn_product_terms *terms, const struct nn_view *out);

/* Fails unless cubeMathType is known and allowed for the type. */
aclnnStatus nn_check_math(struct nn_plan *p, int64_t math, aclDataType type);

#endif
