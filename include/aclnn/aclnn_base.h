/* SPDX-License-Identifier: Apache-2.0 */
/* Included by every operator header. */
#ifndef ACLNN_ACLNN_BASE_H
#define ACLNN_ACLNN_BASE_H

#include "aclnn/acl_meta.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** @brief Initialises only the operators; aclInit does so too. */
aclnnStatus aclnnInit(const char *configPath);
aclnnStatus aclnnFinalize(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
