/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACLNNOP_ACLNN_FILL_SCALAR_H
#define ACLNNOP_ACLNN_FILL_SCALAR_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** @brief Sets every element to one value. First phase: checks the arguments and returns the workspace size. */
aclnnStatus aclnnInplaceFillScalarGetWorkspaceSize(aclTensor *selfRef, const aclScalar *value, uint64_t *workspaceSize,
                                                   aclOpExecutor **executor);
/** @brief Second phase: queues the work and consumes the executor. */
aclnnStatus aclnnInplaceFillScalar(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                   aclrtStream stream);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
