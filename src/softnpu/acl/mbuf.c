/* SPDX-License-Identifier: Apache-2.0 */
/* Message buffers: a block of memory with a length, a small user area, and a chain.
 *
 * Invariants: several buffers may refer to one block (aclrtCopyBufRef), which lives until the last of them is freed.
 * A buffer belongs to at most one chain; freeing the head frees the chain.
 *
 * Threads and locks: one lock for chains and counts; access to the data is up to the program.
 *
 * Failure policy: invalid handles, and ranges outside the buffer, return 100000. */
#include "softnpu/acl/impl.h"

#include "base/slab.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUFFERS_MAX 65536
#define CHAIN_MAX   128
#define USER_B      96
#define ALIGN_B     64

struct mbuf_block {
    uint32_t refs;
    size_t size_b;
    _Alignas(ALIGN_B) char data[];
};

struct mbuf {
    struct mbuf_block *block;
    size_t length_b;
    struct mbuf *head, *next; /* head NULL: not in a chain */
    char user[USER_B];
};

static struct ms_slab buffers = MS_SLAB_INIT(struct mbuf, BUFFERS_MAX);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static aclError resolve(const char *function, void *handle, struct mbuf **out)
{
    *out = NULL;
    if (!ms_slab_check(&buffers, handle)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not a message buffer", function, handle);
    }
    *out = handle;
    return ACL_SUCCESS;
}

aclError aclrtAllocBufImpl(aclrtMbuf *buf, size_t size)
{
    SNPU_ACL_NOT_NULL(buf);
    if (size == 0 || size > SIZE_MAX - sizeof(struct mbuf_block) - ALIGN_B) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtAllocBuf: invalid size %zu", size);
    }
    struct mbuf *mbuf = ms_slab_alloc(&buffers);
    struct mbuf_block *block =
        mbuf != NULL ? aligned_alloc(ALIGN_B, MS_ROUND_UP(sizeof(*block) + size, (size_t)ALIGN_B)) : NULL;
    if (block == NULL) {
        if (mbuf != NULL) {
            ms_slab_free(&buffers, mbuf);
        }
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "aclrtAllocBuf: out of memory (%zu bytes)", size);
    }
    block->refs = 1;
    block->size_b = size;
    mbuf->block = block;
    mbuf->length_b = size;
    *buf = mbuf;
    return ACL_SUCCESS;
}

static void free_one(struct mbuf *mbuf)
{
    if (--mbuf->block->refs == 0) {
        free(mbuf->block);
    }
    ms_slab_free(&buffers, mbuf);
}

aclError aclrtFreeBufImpl(aclrtMbuf buf)
{
    struct mbuf *mbuf;
    aclError ret = resolve("aclrtFreeBuf", buf, &mbuf);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    pthread_mutex_lock(&lock);
    if (mbuf->head != NULL && mbuf->head != mbuf) {
        ret = snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtFreeBuf: the buffer is in a chain and freed with its head");
    } else {
        while (mbuf != NULL) {
            struct mbuf *next = mbuf->next;
            free_one(mbuf);
            mbuf = next;
        }
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

aclError aclrtGetBufDataImpl(const aclrtMbuf buf, void **dataPtr, size_t *size)
{
    SNPU_ACL_NOT_NULL(dataPtr);
    SNPU_ACL_NOT_NULL(size);
    struct mbuf *mbuf;
    aclError ret = resolve("aclrtGetBufData", buf, &mbuf);
    if (ret == ACL_SUCCESS) {
        *dataPtr = mbuf->block->data;
        *size = mbuf->block->size_b;
    }
    return ret;
}

aclError aclrtGetBufDataLenImpl(aclrtMbuf buf, size_t *len)
{
    SNPU_ACL_NOT_NULL(len);
    struct mbuf *mbuf;
    aclError ret = resolve("aclrtGetBufDataLen", buf, &mbuf);
    if (ret == ACL_SUCCESS) {
        *len = mbuf->length_b;
    }
    return ret;
}

aclError aclrtSetBufDataLenImpl(aclrtMbuf buf, size_t len)
{
    struct mbuf *mbuf;
    aclError ret = resolve("aclrtSetBufDataLen", buf, &mbuf);
    if (ret == ACL_SUCCESS && len > mbuf->block->size_b) {
        ret = snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtSetBufDataLen: length %zu exceeds the buffer's %zu bytes", len,
                        mbuf->block->size_b);
    }
    if (ret == ACL_SUCCESS) {
        mbuf->length_b = len;
    }
    return ret;
}

static aclError user_area(const char *function, void *buf, const void *data, size_t size, size_t offset, char **area)
{
    struct mbuf *mbuf;
    aclError ret = resolve(function, buf, &mbuf);
    if (ret == ACL_SUCCESS && (data == NULL || offset > USER_B || size > USER_B - offset)) {
        ret = snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %zu bytes at offset %zu exceed the user area of %d bytes",
                        function, size, offset, USER_B);
    }
    if (ret == ACL_SUCCESS) {
        *area = mbuf->user + offset;
    }
    return ret;
}

aclError aclrtGetBufUserDataImpl(const aclrtMbuf buf, void *dataPtr, size_t size, size_t offset)
{
    char *area = NULL;
    aclError ret = user_area("aclrtGetBufUserData", buf, dataPtr, size, offset, &area);
    if (ret == ACL_SUCCESS) {
        memcpy(dataPtr, area, size);
    }
    return ret;
}

aclError aclrtSetBufUserDataImpl(aclrtMbuf buf, const void *dataPtr, size_t size, size_t offset)
{
    char *area = NULL;
    aclError ret = user_area("aclrtSetBufUserData", buf, dataPtr, size, offset, &area);
    if (ret == ACL_SUCCESS) {
        memcpy(area, dataPtr, size);
    }
    return ret;
}

aclError aclrtCopyBufRefImpl(const aclrtMbuf buf, aclrtMbuf *newBuf)
{
    SNPU_ACL_NOT_NULL(newBuf);
    struct mbuf *mbuf;
    aclError ret = resolve("aclrtCopyBufRef", buf, &mbuf);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    struct mbuf *copy = ms_slab_alloc(&buffers);
    if (copy == NULL) {
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "aclrtCopyBufRef: too many message buffers");
    }
    pthread_mutex_lock(&lock);
    mbuf->block->refs++;
    copy->block = mbuf->block;
    copy->length_b = mbuf->length_b;
    memcpy(copy->user, mbuf->user, USER_B);
    pthread_mutex_unlock(&lock);
    *newBuf = copy;
    return ACL_SUCCESS;
}

/* ---- chains ---- */

static uint32_t chain_length(const struct mbuf *head)
{
    uint32_t count = 0;
    for (; head != NULL; head = head->next) {
        count++;
    }
    return count;
}

aclError aclrtAppendBufChainImpl(aclrtMbuf headBuf, aclrtMbuf buf)
{
    struct mbuf *head, *mbuf = NULL;
    aclError ret = resolve("aclrtAppendBufChain", headBuf, &head);
    if (ret != ACL_SUCCESS || (ret = resolve("aclrtAppendBufChain", buf, &mbuf)) != ACL_SUCCESS) {
        return ret;
    }
    pthread_mutex_lock(&lock);
    if (mbuf->head != NULL || head == mbuf || (head->head != NULL && head->head != head) ||
        chain_length(head) >= CHAIN_MAX) {
        ret = snpu_fail(ACL_ERROR_INVALID_PARAM,
                        "aclrtAppendBufChain: not a head, already in a chain, or the chain has %d buffers", CHAIN_MAX);
    } else {
        struct mbuf **link = &head->next;
        while (*link != NULL) {
            link = &(*link)->next;
        }
        *link = mbuf;
        head->head = head;
        mbuf->head = head;
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

aclError aclrtGetBufChainNumImpl(aclrtMbuf headBuf, uint32_t *num)
{
    SNPU_ACL_NOT_NULL(num);
    struct mbuf *head;
    aclError ret = resolve("aclrtGetBufChainNum", headBuf, &head);
    if (ret == ACL_SUCCESS) {
        pthread_mutex_lock(&lock);
        *num = chain_length(head);
        pthread_mutex_unlock(&lock);
    }
    return ret;
}

aclError aclrtGetBufFromChainImpl(aclrtMbuf headBuf, uint32_t index, aclrtMbuf *buf)
{
    SNPU_ACL_NOT_NULL(buf);
    struct mbuf *mbuf;
    aclError ret = resolve("aclrtGetBufFromChain", headBuf, &mbuf);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < index && mbuf != NULL; i++) {
        mbuf = mbuf->next;
    }
    pthread_mutex_unlock(&lock);
    if (mbuf == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtGetBufFromChain: no buffer with index %u", index);
    }
    *buf = mbuf;
    return ACL_SUCCESS;
}
