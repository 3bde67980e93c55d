/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of byte strings that the processes of a machine share. A queue is known by the device and its number. */
#ifndef SOFTNPU_TDT_SHARED_QUEUE_H
#define SOFTNPU_TDT_SHARED_QUEUE_H

#include "acl/acl_base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define SNPU_QUEUE_NAME      128
#define SNPU_QUEUE_DEPTH_MIN 2
#define SNPU_QUEUE_DEPTH_MAX 8192

/* All return an ACL code, with a message that begins with `function`. Timeouts are in milliseconds, -1: no limit. */
aclError snpu_queue_create(const char *function, uint32_t dev, const char *name, uint32_t depth, uint32_t *qid);
aclError snpu_queue_destroy(const char *function, uint32_t dev, uint32_t qid);
aclError snpu_queue_grant(const char *function, uint32_t dev, uint32_t qid, int32_t pid, uint32_t permission);
aclError snpu_queue_attach(const char *function, uint32_t dev, uint32_t qid, int32_t timeout, uint32_t *permission);

/* Appends the parts as one string. */
aclError snpu_queue_put(const char *function, uint32_t dev, uint32_t qid, const struct iovec *parts, int count,
                        int32_t timeout);
/* Takes the first string; the caller frees *bytes. A string longer than limit_b stays in the queue and gives 107000. */
aclError snpu_queue_take(const char *function, uint32_t dev, uint32_t qid, int32_t timeout, size_t limit_b,
                         void **bytes, size_t *size_b);

/* True if this process may use the queue: it created it or attached to it. */
bool snpu_queue_known(uint32_t dev, uint32_t qid);

#endif
