/* SPDX-License-Identifier: Apache-2.0 */
/* libascendcl.so and libacl_rt.so: the public names, each a call of its Impl twin through the PLT.
 *
 * Two libraries are made from this file because programs of different ages link different ones. They hold no state, so
 * it does not matter which of them a name is bound to when both are loaded. The call is reported to profilers here,
 * around the twin, if one asked for ACL calls; otherwise it costs one load and one branch more than the twin itself
 * (the reporting half stands apart, so that the other needs no stack frame). */
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
