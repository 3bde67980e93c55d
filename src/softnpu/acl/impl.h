/* What every file of libascendcl_impl.so includes. */
#ifndef SOFTNPU_ACL_IMPL_H
#define SOFTNPU_ACL_IMPL_H

#include "abi/acl_impl.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/prof.h"

/* First line of an Impl function: profilers see the call. */
#define ACL_ENTER(name) SNPU_PROF_ACL_CALL(#name)

/* Pointers that must not be NULL: 100000 with the argument's name. */
#define ACL_NEED(name, argument)                                                                                       \
    do {                                                                                                               \
        if ((argument) == NULL) {                                                                                      \
            return snpu_fail(ACL_ERROR_INVALID_PARAM, #name ": " #argument " is NULL");                                \
        }                                                                                                              \
    } while (0)

#endif
