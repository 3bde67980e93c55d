/* SPDX-License-Identifier: Apache-2.0 */
/* Prototypes of the aclXImpl twins, for those who define them (libascendcl_impl.so) and those who call them. */
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
