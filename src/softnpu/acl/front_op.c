/* SPDX-License-Identifier: Apache-2.0 */
/* libascendcl.so: the public names of tensor descriptors and single operators, which libacl_rt.so does not have. */
#include "abi/aclop_impl.h"
#include "softnpu/acl/front.h"

#define ACLOP_FN(status, ret, name, params, args) SNPU_ACL_FRONT(ret, name, params, args)
#include "abi/aclop_functions.h"
