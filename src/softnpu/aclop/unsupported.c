/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the single-operator interface that softnpu does not have: one per UNSUPPORTED row of the table. */
#include "abi/aclop_impl.h"

#include "softnpu/runtime/error.h"

#define DEFINE_IMPLEMENTED(ret, name, params)
#define DEFINE_UNSUPPORTED(ret, name, params)                                                                          \
    ret name##Impl params                                                                                              \
    {                                                                                                                  \
        return snpu_fail(ACL_ERROR_API_NOT_SUPPORT, "%s is not supported by softnpu", #name);                          \
    }

#define ACLOP_FN(status, ret, name, params, args) DEFINE_##status(ret, name, params)
#include "abi/aclop_functions.h"
