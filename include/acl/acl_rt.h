/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime interface, by topic. */
#ifndef ACL_ACL_RT_H
#define ACL_ACL_RT_H

#include "acl/acl_base.h"
#include "acl/rt/system.h"
#include "acl/rt/device.h"
#include "acl/rt/memory.h"
#include "acl/rt/vmm.h"
#include "acl/rt/stream.h"
#include "acl/rt/event.h"
#include "acl/rt/kernel.h"
#include "acl/rt/graph.h"
#include "acl/rt/mbuf.h"
#include "acl/acl_rt_allocator.h"
#include "acl/acl_dump.h"

#endif
