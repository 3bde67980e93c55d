/* SPDX-License-Identifier: Apache-2.0 */
/* Argument checks of the Impl functions. */
#ifndef SOFTNPU_ACL_CHECK_H
#define SOFTNPU_ACL_CHECK_H

#include "softnpu/runtime/error.h"

/* The public name of the current function, for "%.*s": "aclrtMallocImpl" without the suffix. */
#define SNPU_ACL_CALLER (int)(sizeof(__func__) - sizeof("Impl")), __func__

/* Returns 100000 from the current function if a pointer is NULL. */
#define SNPU_ACL_NOT_NULL(pointer)                                                                                     \
    do {                                                                                                               \
        if (MS_UNLIKELY((pointer) == NULL)) {                                                                          \
            return snpu_fail(ACL_ERROR_INVALID_PARAM, "%.*s: " #pointer " is NULL", SNPU_ACL_CALLER);                  \
        }                                                                                                              \
    } while (0)

/* Returns 100000 with the given message unless the condition holds. */
#define SNPU_ACL_REQUIRE(condition, ...)                                                                               \
    do {                                                                                                               \
        if (MS_UNLIKELY(!(condition))) {                                                                               \
            return snpu_fail(ACL_ERROR_INVALID_PARAM, __VA_ARGS__);                                                    \
        }                                                                                                              \
    } while (0)

#endif
