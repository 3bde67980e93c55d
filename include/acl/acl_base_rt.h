/* SPDX-License-Identifier: Apache-2.0 */
/* Newer releases split the basic header; the types are the same. */
#ifndef ACL_ACL_BASE_RT_H
#define ACL_ACL_BASE_RT_H

#include "acl/acl_base.h"

#endif
