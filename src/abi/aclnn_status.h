/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes of the aclnn operators. The vendor documents them, but declares them in no public header. */
#ifndef ABI_ACLNN_STATUS_H
#define ABI_ACLNN_STATUS_H

enum {
    ACLNN_SUCCESS = 0,
    ACLNN_ERR_PARAM_NULLPTR = 161001,
    ACLNN_ERR_PARAM_INVALID = 161002,
    ACLNN_ERR_RUNTIME_ERROR = 361001,
    ACLNN_ERR_INNER = 561000,
    ACLNN_ERR_INNER_FIND_KERNEL = 561003,
    ACLNN_ERR_INNER_CREATE_EXECUTOR = 561101,
    ACLNN_ERR_INNER_NULLPTR = 561103,
};

#endif
