/* SPDX-License-Identifier: Apache-2.0 */
/* libascendcl.so: the public names of offline models, which libacl_rt.so does not have. */
#include "abi/aclmdl_impl.h"
#include "softnpu/acl/front.h"

#define ACLMDL_FN(status, ret, name, params, args) SNPU_ACL_FRONT(ret, name, params, args)
#include "abi/aclmdl_functions.h"
