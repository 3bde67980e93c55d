/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACLNNOP_ACLNN_CAST_H
#define ACLNNOP_ACLNN_CAST_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** @brief Converts to another data type. First phase: checks the arguments and returns the workspace size. */
aclnnStatus aclnnCastGetWorkspaceSize(const aclTensor *self, const aclDataType dtype, aclTensor *out,
                                      uint64_t *workspaceSize, aclOpExecutor **executor);
/** @brief Second phase: queues the work and consumes the executor. */
aclnnStatus aclnnCast(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
