/* SPDX-License-Identifier: Apache-2.0 */
/* Prototypes of the aclXImpl functions, for libascendcl_impl.so, which defines them, and for their callers. */
#ifndef ABI_ACL_IMPL_H
#define ABI_ACL_IMPL_H

#include "acl/acl.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define ACL_FN(status, ret, name, params, args) ret name##Impl params;
#define ACL_FN_FRONT(status, ret, name, params, args)
#include "abi/acl_functions.h"

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
