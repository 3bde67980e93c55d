/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACLNNOP_ACLNN_COPY_H
#define ACLNNOP_ACLNN_COPY_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** @brief Copies src into selfRef, converting types and following strides. First phase: checks the arguments and
 * returns the workspace size. */
aclnnStatus aclnnInplaceCopyGetWorkspaceSize(aclTensor *selfRef, const aclTensor *src, uint64_t *workspaceSize,
                                             aclOpExecutor **executor);
/** @brief Second phase: queues the work and consumes the executor. */
aclnnStatus aclnnInplaceCopy(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
