/* SPDX-License-Identifier: Apache-2.0 */
/* libascendcl.so and libacl_rt.so: the public names, each a call of its Impl function.
 *
 * This file is built into two libraries because older and newer programs link different ones. They hold no state, so
 * it does not matter which of them a name is bound to when both are loaded. */
#include "abi/acl_impl.h"
#include "softnpu/acl/front.h"

#define ACL_FN(status, ret, name, params, args) SNPU_ACL_FRONT(ret, name, params, args)
#define ACL_FN_FRONT(status, ret, name, params, args)
#include "abi/acl_functions.h"
