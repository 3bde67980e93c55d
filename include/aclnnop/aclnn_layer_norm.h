/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACLNNOP_ACLNN_LAYER_NORM_H
#define ACLNNOP_ACLNN_LAYER_NORM_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** @brief Normalises over the trailing dimensions given by normalizedShape. First phase: checks the arguments and
 * returns the workspace size. */
aclnnStatus aclnnLayerNormGetWorkspaceSize(const aclTensor *input, const aclIntArray *normalizedShape,
                                           const aclTensor *weightOrNull, const aclTensor *biasOrNull, double eps,
                                           aclTensor *out, aclTensor *meanOutOrNull, aclTensor *rstdOutOrNull,
                                           uint64_t *workspaceSize, aclOpExecutor **executor);
/** @brief Second phase: queues the work and consumes the executor. */
aclnnStatus aclnnLayerNorm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
