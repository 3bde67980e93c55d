/* SPDX-License-Identifier: Apache-2.0 */
/* Prototypes of the Impl functions of offline models. */
#ifndef ABI_ACLMDL_IMPL_H
#define ABI_ACLMDL_IMPL_H

#include "acl/acl_mdl.h"

#pragma GCC visibility push(default)

#define ACLMDL_FN(status, ret, name, params, args) ret name##Impl params;
#include "abi/aclmdl_functions.h"

#pragma GCC visibility pop

#endif
