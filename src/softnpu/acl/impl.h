/* SPDX-License-Identifier: Apache-2.0 */
/* What every file of libascendcl_impl.so includes. (Profilers are told of the call by front.c, for all functions
 * alike.) */
#ifndef SOFTNPU_ACL_IMPL_H
#define SOFTNPU_ACL_IMPL_H

#include "abi/acl_impl.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/prof.h"

/* Pointers that must not be NULL: 100000 with the argument's name. */
#define ACL_NEED(name, argument)                                                                                       \
    do {                                                                                                               \
        if ((argument) == NULL) {                                                                                      \
            return snpu_fail(ACL_ERROR_INVALID_PARAM, #name ": " #argument " is NULL");                                \
        }                                                                                                              \
    } while (0)

#endif
