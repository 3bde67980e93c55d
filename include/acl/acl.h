/* SPDX-License-Identifier: Apache-2.0 */
/* The ACL headers that a program normally includes. */
#ifndef ACL_ACL_H
#define ACL_ACL_H

#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#include "acl/acl_mdl.h"

#endif
