/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers as a device task (aclrtRandomNumAsync). */
#ifndef SOFTNPU_RUNTIME_RANDOM_H
#define SOFTNPU_RUNTIME_RANDOM_H

#include "base/macros.h"

#include "acl/acl.h"

MS_EXPORT int32_t snpu_random_async(const aclrtRandomNumTaskInfo *info, void *stream);

#endif
