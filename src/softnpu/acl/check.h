/* SPDX-License-Identifier: Apache-2.0 */
/* What nearly every Impl function checks first. */
#ifndef SOFTNPU_ACL_CHECK_H
#define SOFTNPU_ACL_CHECK_H

#include "softnpu/runtime/error.h"

/* The public name of the function that this stands in: "aclrtMallocImpl" without its ending, for "%.*s". */
#define ACL_CALLER (int)(sizeof(__func__) - sizeof("Impl")), __func__

/* Leaves the function with 100000 if a pointer that must be there is not. */
#define ACL_NOT_NULL(pointer)                                                                                          \
    do {                                                                                                               \
        if (MS_UNLIKELY((pointer) == NULL)) {                                                                          \
            return snpu_fail(ACL_ERROR_INVALID_PARAM, "%.*s: " #pointer " is NULL", ACL_CALLER);                       \
        }                                                                                                              \
    } while (0)

/* Leaves the function with 100000 and a text of its own unless the condition holds. */
#define ACL_REQUIRE(condition, ...)                                                                                    \
    do {                                                                                                               \
        if (MS_UNLIKELY(!(condition))) {                                                                               \
            return snpu_fail(ACL_ERROR_INVALID_PARAM, __VA_ARGS__);                                                    \
        }                                                                                                              \
    } while (0)

#endif
