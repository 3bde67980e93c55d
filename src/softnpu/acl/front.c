/* SPDX-License-Identifier: Apache-2.0 */
/* libascendcl.so and libacl_rt.so: the public names, each a call of its Impl function through the PLT.
 *
 * This file is built into two libraries because older and newer programs link different ones. They hold no state, so
 * it does not matter which of them a name is bound to when both are loaded. If a profiler has requested ACL calls,
 * the call is reported here, around the Impl function; otherwise it costs one load and one branch more than the Impl
 * function itself (the reporting path is a separate function, so that the fast path needs no stack frame). */
#include "abi/acl_impl.h"

#include "softnpu/runtime/prof.h"

#define ACL_FN(status, ret, name, params, args)                                                                        \
    static __attribute__((noinline, cold)) ret name##_reported params                                                  \
    {                                                                                                                  \
        SNPU_PROF_ACL_CALL(#name);                                                                                     \
        return name##Impl args;                                                                                        \
    }                                                                                                                  \
    ret name params                                                                                                    \
    {                                                                                                                  \
        return snpu_prof_host_on(SNPU_PROF_ACL_API) ? name##_reported args : name##Impl args;                          \
    }
#define ACL_FN_FRONT(status, ret, name, params, args)
#include "abi/acl_functions.h"
