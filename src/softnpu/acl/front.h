/* SPDX-License-Identifier: Apache-2.0 */
/* How a front library defines a public name: a call of its Impl function through the PLT, which is reported if a
 * profiler has requested ACL calls. Otherwise it costs one load and one branch more than the Impl function itself (the
 * reporting path is a separate function, so that the fast path needs no stack frame). */
#ifndef SOFTNPU_ACL_FRONT_H
#define SOFTNPU_ACL_FRONT_H

#include "softnpu/runtime/prof.h"

#define SNPU_ACL_FRONT(ret, name, params, args)                                                                        \
    static __attribute__((noinline, cold)) ret name##_reported params                                                  \
    {                                                                                                                  \
        SNPU_PROF_ACL_CALL(#name);                                                                                     \
        return name##Impl args;                                                                                        \
    }                                                                                                                  \
    ret name params                                                                                                    \
    {                                                                                                                  \
        return snpu_prof_host_on(SNPU_PROF_ACL_API) ? name##_reported args : name##Impl args;                          \
    }

#endif
