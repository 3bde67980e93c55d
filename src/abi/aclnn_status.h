/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes of the aclnn operators. The vendor documents them, but declares them in no public header. */
#ifndef ABI_ACLNN_STATUS_H
#define ABI_ACLNN_STATUS_H

/* X(name, number), ascending. */
#define ABI_ACLNN_CODES(X)                                                                                             \
    X(ACLNN_ERR_PARAM_NULLPTR, 161001)                                                                                 \
    X(ACLNN_ERR_PARAM_INVALID, 161002)                                                                                 \
    X(ACLNN_ERR_RUNTIME_ERROR, 361001)                                                                                 \
    X(ACLNN_ERR_INNER, 561000)                                                                                         \
    X(ACLNN_ERR_INNER_FIND_KERNEL, 561003)                                                                             \
    X(ACLNN_ERR_INNER_CREATE_EXECUTOR, 561101)                                                                         \
    X(ACLNN_ERR_INNER_NULLPTR, 561103)

enum {
    ACLNN_SUCCESS = 0,
#define ABI_ACLNN_CODE(name, number) name = (number),
    ABI_ACLNN_CODES(ABI_ACLNN_CODE)
#undef ABI_ACLNN_CODE
};

#endif
