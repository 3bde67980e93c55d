/* SPDX-License-Identifier: Apache-2.0 */
/* Included by the files of libascendcl_impl.so. (front.c reports calls to profilers, for all functions.) */
#ifndef SOFTNPU_ACL_IMPL_H
#define SOFTNPU_ACL_IMPL_H

#include "abi/acl_impl.h"
#include "softnpu/acl/check.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/prof.h"

#endif
