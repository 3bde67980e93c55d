/* SPDX-License-Identifier: Apache-2.0 */
/* Newer releases declare the memory pools in a separate header. */
#ifndef ACL_ACL_RT_MEMORY_SOMA_H
#define ACL_ACL_RT_MEMORY_SOMA_H

#include "acl/rt/vmm.h"

#endif
