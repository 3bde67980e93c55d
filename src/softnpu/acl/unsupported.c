/* SPDX-License-Identifier: Apache-2.0 */
/* Names that exist so that every program loads, but have no meaning on a software device. One function per
 * UNSUPPORTED row of the table: it returns 207000 (0 or NULL if its result is not an error code) and sets a message
 * that names it. */
#include "abi/acl_impl.h"

#include "softnpu/runtime/error.h"

#define DEFINE_IMPLEMENTED(ret, name, params)
#define DEFINE_UNSUPPORTED(ret, name, params)                                                                          \
    ret name##Impl params                                                                                              \
    {                                                                                                                  \
        snpu_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s is not supported by softnpu", #name);                          \
        return (ret) _Generic((ret)0, aclError : ACL_ERROR_RT_FEATURE_NOT_SUPPORT, default : 0);                       \
    }

#define ACL_FN(status, ret, name, params, args) DEFINE_##status(ret, name, params)
#define ACL_FN_FRONT(status, ret, name, params, args)
#include "abi/acl_functions.h"
