/* SPDX-License-Identifier: Apache-2.0 */
/* The operator binary: its location, and its functions by name. */
#ifndef SOFTNPU_ACLNN_KERNEL_BINARY_H
#define SOFTNPU_ACLNN_KERNEL_BINARY_H

#include "aclnn/acl_meta.h"

/* The function handle of a kernel; loads the binary at first use. ACLNN_ERR_RUNTIME_ERROR with a message on failure. */
aclnnStatus nn_kernel_find(const char *name, void **function);

/* Unloads the binary. */
void nn_kernel_release(void);

#endif
