/* SPDX-License-Identifier: Apache-2.0 */
/* What every operator header needs. */
#ifndef ACLNN_ACLNN_BASE_H
#define ACLNN_ACLNN_BASE_H

#include "aclnn/acl_meta.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** @brief Prepares the operators alone; aclInit does so too. */
aclnnStatus aclnnInit(const char *configPath);
aclnnStatus aclnnFinalize(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
