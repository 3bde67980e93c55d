/* SPDX-License-Identifier: Apache-2.0 */
/* Message buffers shared with device-side queues. */
#ifndef ACL_RT_MBUF_H
#define ACL_RT_MBUF_H

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef void *aclrtMbuf;

aclError aclrtAllocBuf(aclrtMbuf *buf, size_t size);
aclError aclrtFreeBuf(aclrtMbuf buf);
aclError aclrtGetBufData(const aclrtMbuf buf, void **dataPtr, size_t *size);
aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t *len);
aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len);
aclError aclrtGetBufUserData(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset);
aclError aclrtSetBufUserData(aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset);
aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf *newBuf);
aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf);
aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t *num);
aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
