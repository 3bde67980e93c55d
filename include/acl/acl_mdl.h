/* SPDX-License-Identifier: Apache-2.0 */
/* Captured and hand-built models (aclmdlRI*) and the model dump. */
#ifndef ACL_ACL_MDL_H
#define ACL_ACL_MDL_H

#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#include "acl/rt/graph.h"
#include "acl/acl_dump.h"

#endif
