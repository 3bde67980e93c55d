/* SPDX-License-Identifier: Apache-2.0 */
/* Prototypes of the Impl functions of tensor descriptors and single operators. */
#ifndef ABI_ACLOP_IMPL_H
#define ABI_ACLOP_IMPL_H

#include "acl/acl_op.h"

#pragma GCC visibility push(default)

#define ACLOP_FN(status, ret, name, params, args) ret name##Impl params;
#include "abi/aclop_functions.h"

#pragma GCC visibility pop

#endif
