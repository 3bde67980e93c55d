/* SPDX-License-Identifier: Apache-2.0 */
/* acltdt*Queue and acltdt*Buf: queues of chains of message buffers on the current device. The buffers are those of
 * aclrtAllocBuf; a queue stores copies of them.
 *
 * Invariants: an enqueued chain belongs to the queue, so its buffers are freed.
 * Threads: a slab of attributes; the queues have their own locks.
 * Failure: see shared_queue.h. */
#include "acl/acl_rt.h"
#include "acl/acl_tdt_queue.h"
#include "base/slab.h"
#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/tdt/shared_queue.h"

#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX     128
#define USER_B        96
#define DEPTH_DEFAULT 2

struct tagMemQueueAttr {
    char name[SNPU_QUEUE_NAME];
    uint32_t depth;
};

/* In front of the data of each buffer in a queue. */
struct stored {
    uint64_t count; /* of buffers, in the first */
    uint64_t size_b, length_b;
    char user[USER_B];
};

static struct ms_slab attrs = MS_SLAB_INIT(struct tagMemQueueAttr, 1 << 10);

static aclError current(const char *function, uint32_t *dev)
{
    struct snpu_ctx *ctx;
    aclError rc = snpu_ctx_need(function, &ctx);
    if (rc == ACL_SUCCESS) {
        *dev = ctx->dev;
    }
    return rc;
}

static aclError not_null(const char *function, const void *pointer, const char *name)
{
    return pointer != NULL ? ACL_SUCCESS : snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", function, name);
}

/* ---- attributes ---- */
acltdtQueueAttr *acltdtCreateQueueAttr(void)
{
    acltdtQueueAttr *attr = ms_slab_alloc(&attrs);
    if (attr == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "acltdtCreateQueueAttr: too many attributes");
    } else {
        attr->depth = DEPTH_DEFAULT;
    }
    return attr;
}

static aclError check_attr(const char *function, const acltdtQueueAttr *attr)
{
    return ms_slab_check(&attrs, attr) ? ACL_SUCCESS
                                       : snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not an attribute of queues",
                                                   function, (const void *)attr);
}

aclError acltdtDestroyQueueAttr(const acltdtQueueAttr *attr)
{
    aclError rc = check_attr("acltdtDestroyQueueAttr", attr);
    if (rc == ACL_SUCCESS) {
        ms_slab_free(&attrs, (void *)(uintptr_t)attr);
    }
    return rc;
}

aclError acltdtSetQueueAttr(acltdtQueueAttr *attr, acltdtQueueAttrType type, size_t len, const void *param)
{
    static const char function[] = "acltdtSetQueueAttr";
    aclError rc = check_attr(function, attr);
    rc = rc != ACL_SUCCESS ? rc : not_null(function, param, "param");
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    if (type == ACL_TDT_QUEUE_NAME_PTR && len == sizeof(char *)) { /* a pointer to the pointer to the name */
        const char *name;
        memcpy(&name, param, sizeof(name));
        rc = not_null(function, name, "the name");
        if (rc == ACL_SUCCESS && strnlen(name, SNPU_QUEUE_NAME) == SNPU_QUEUE_NAME) {
            rc = snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the name is longer than 127 characters", function);
        }
        if (rc == ACL_SUCCESS) {
            strcpy(attr->name, name);
        }
        return rc;
    }
    if (type == ACL_TDT_QUEUE_DEPTH_UINT32 && len == sizeof(uint32_t)) {
        uint32_t depth;
        memcpy(&depth, param, sizeof(depth));
        if (depth < SNPU_QUEUE_DEPTH_MIN || depth > SNPU_QUEUE_DEPTH_MAX) {
            return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the depth must be %d to %d, not %u", function,
                             SNPU_QUEUE_DEPTH_MIN, SNPU_QUEUE_DEPTH_MAX, depth);
        }
        attr->depth = depth;
        return ACL_SUCCESS;
    }
    return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: unknown attribute %d, or %zu bytes are not its length", function,
                     (int)type, len);
}

aclError acltdtGetQueueAttr(const acltdtQueueAttr *attr, acltdtQueueAttrType type, size_t len, size_t *paramRetSize,
                            void *param)
{
    static const char function[] = "acltdtGetQueueAttr";
    aclError rc = check_attr(function, attr);
    rc = rc != ACL_SUCCESS ? rc : not_null(function, param, "param");
    rc = rc != ACL_SUCCESS ? rc : not_null(function, paramRetSize, "paramRetSize");
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    const char *name = attr->name;
    const void *from = type == ACL_TDT_QUEUE_NAME_PTR ? (const void *)&name : &attr->depth;
    size_t size = type == ACL_TDT_QUEUE_NAME_PTR ? sizeof(name) : sizeof(attr->depth);
    if ((type != ACL_TDT_QUEUE_NAME_PTR && type != ACL_TDT_QUEUE_DEPTH_UINT32) || len < size) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: unknown attribute %d, or %zu bytes are too few", function,
                         (int)type, len);
    }
    memcpy(param, from, size);
    *paramRetSize = size;
    return ACL_SUCCESS;
}

/* ---- queues ---- */
aclError acltdtCreateQueue(const acltdtQueueAttr *attr, uint32_t *qid)
{
    static const char function[] = "acltdtCreateQueue";
    uint32_t dev;
    aclError rc = check_attr(function, attr);
    rc = rc != ACL_SUCCESS ? rc : not_null(function, qid, "qid");
    rc = rc != ACL_SUCCESS ? rc : current(function, &dev);
    return rc != ACL_SUCCESS ? rc : snpu_queue_create(function, dev, attr->name, attr->depth, qid);
}

aclError acltdtDestroyQueue(uint32_t qid)
{
    uint32_t dev;
    aclError rc = current("acltdtDestroyQueue", &dev);
    return rc != ACL_SUCCESS ? rc : snpu_queue_destroy("acltdtDestroyQueue", dev, qid);
}

aclError acltdtGrantQueue(uint32_t qid, int32_t pid, uint32_t permission, int32_t timeout)
{
    uint32_t dev;
    aclError rc = current("acltdtGrantQueue", &dev);
    return rc != ACL_SUCCESS ? rc : snpu_queue_grant("acltdtGrantQueue", dev, qid, pid, permission);
}

aclError acltdtAttachQueue(uint32_t qid, int32_t timeout, uint32_t *permission)
{
    static const char function[] = "acltdtAttachQueue";
    uint32_t dev;
    aclError rc = not_null(function, permission, "permission");
    rc = rc != ACL_SUCCESS ? rc : current(function, &dev);
    return rc != ACL_SUCCESS ? rc : snpu_queue_attach(function, dev, qid, timeout, permission);
}

aclError acltdtEnqueue(uint32_t qid, acltdtBuf buf, int32_t timeout)
{
    static const char function[] = "acltdtEnqueue";
    struct stored heads[CHAIN_MAX];
    struct iovec parts[2 * CHAIN_MAX];
    uint32_t count = 0, dev;
    aclError rc = current(function, &dev);
    rc = rc != ACL_SUCCESS ? rc : aclrtGetBufChainNum(buf, &count);
    for (uint32_t i = 0; rc == ACL_SUCCESS && i < count && i < CHAIN_MAX; i++) {
        aclrtMbuf one = NULL;
        void *data = NULL;
        size_t size = 0, length = 0;
        rc = aclrtGetBufFromChain(buf, i, &one);
        rc = rc != ACL_SUCCESS ? rc : aclrtGetBufData(one, &data, &size);
        rc = rc != ACL_SUCCESS ? rc : aclrtGetBufDataLen(one, &length);
        rc = rc != ACL_SUCCESS ? rc : aclrtGetBufUserData(one, heads[i].user, USER_B, 0);
        heads[i].count = count;
        heads[i].size_b = size;
        heads[i].length_b = length;
        parts[2 * i] = (struct iovec){&heads[i], sizeof(heads[i])};
        parts[2 * i + 1] = (struct iovec){data, size};
    }
    rc = rc != ACL_SUCCESS ? rc : snpu_queue_put(function, dev, qid, parts, (int)(2 * count), timeout);
    return rc != ACL_SUCCESS ? rc : aclrtFreeBuf(buf);
}

aclError acltdtEnqueueData(uint32_t qid, const void *data, size_t dataSize, const void *userData, size_t userDataSize,
                           int32_t timeout, uint32_t rsv)
{
    static const char function[] = "acltdtEnqueueData";
    struct stored head = {.count = 1, .size_b = dataSize, .length_b = dataSize};
    uint32_t dev;
    if (data == NULL || dataSize == 0 || userDataSize > USER_B || (userDataSize > 0 && userData == NULL)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %s", function,
                         data == NULL || dataSize == 0 ? "no data" : "the user data are NULL or longer than 96 bytes");
    }
    if (userDataSize > 0) {
        memcpy(head.user, userData, userDataSize);
    }
    const struct iovec parts[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)data, dataSize}};
    aclError rc = current(function, &dev);
    return rc != ACL_SUCCESS ? rc : snpu_queue_put(function, dev, qid, parts, 2, timeout);
}

/* The head at `at`, or NULL if the string ends before its data do: other processes write the strings. */
static const struct stored *stored_at(const char *bytes, size_t size_b, size_t at, struct stored *head)
{
    if (at > size_b || size_b - at < sizeof(*head)) {
        return NULL;
    }
    memcpy(head, bytes + at, sizeof(*head));
    return head->size_b <= size_b - at - sizeof(*head) && head->length_b <= head->size_b ? head : NULL;
}

aclError acltdtDequeueData(uint32_t qid, void *data, size_t dataSize, size_t *retDataSize, void *userData,
                           size_t userDataSize, int32_t timeout)
{
    static const char function[] = "acltdtDequeueData";
    uint32_t dev;
    void *bytes = NULL;
    size_t size_b = 0;
    struct stored head;
    aclError rc = not_null(function, data, "data");
    rc = rc != ACL_SUCCESS ? rc : not_null(function, retDataSize, "retDataSize");
    if (rc == ACL_SUCCESS && (userDataSize > USER_B || (userDataSize > 0 && userData == NULL))) {
        rc = snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: userData is NULL or longer than 96 bytes", function);
    }
    rc = rc != ACL_SUCCESS ? rc : current(function, &dev);
    size_t limit = dataSize < SIZE_MAX - sizeof(head) ? dataSize + sizeof(head) : SIZE_MAX;
    rc = rc != ACL_SUCCESS ? rc : snpu_queue_take(function, dev, qid, timeout, limit, &bytes, &size_b);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    if (stored_at(bytes, size_b, 0, &head) == NULL || head.size_b > dataSize) {
        rc = snpu_fail(ACL_ERROR_RT_INTERNAL_ERROR, "%s: queue %u: the entry is damaged", function, qid);
    } else {
        memcpy(data, (const char *)bytes + sizeof(head), head.length_b);
        *retDataSize = head.length_b;
        if (userDataSize > 0) {
            memcpy(userData, head.user, userDataSize);
        }
    }
    free(bytes);
    return rc;
}

/* A new buffer with the data behind the head. */
static aclError restore(const struct stored *head, const char *data, aclrtMbuf *out)
{
    void *to = NULL;
    size_t size = 0;
    aclError rc = aclrtAllocBuf(out, head->size_b);
    rc = rc != ACL_SUCCESS ? rc : aclrtGetBufData(*out, &to, &size);
    if (rc == ACL_SUCCESS) {
        memcpy(to, data, head->size_b < size ? head->size_b : size);
        rc = aclrtSetBufDataLen(*out, head->length_b);
    }
    return rc != ACL_SUCCESS ? rc : aclrtSetBufUserData(*out, head->user, USER_B, 0);
}

aclError acltdtDequeue(uint32_t qid, acltdtBuf *buf, int32_t timeout)
{
    static const char function[] = "acltdtDequeue";
    uint32_t dev;
    void *bytes = NULL;
    size_t size_b = 0, at = 0;
    aclrtMbuf first = NULL;
    aclError rc = not_null(function, buf, "buf");
    rc = rc != ACL_SUCCESS ? rc : current(function, &dev);
    rc = rc != ACL_SUCCESS ? rc : snpu_queue_take(function, dev, qid, timeout, SIZE_MAX, &bytes, &size_b);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    struct stored head;
    for (uint64_t i = 0, count = 1; rc == ACL_SUCCESS && i < count; i++) {
        aclrtMbuf one = NULL;
        if (stored_at(bytes, size_b, at, &head) == NULL || head.count == 0 || head.count > CHAIN_MAX) {
            rc = snpu_fail(ACL_ERROR_RT_INTERNAL_ERROR, "%s: queue %u: the entry is damaged", function, qid);
            break;
        }
        count = head.count;
        rc = restore(&head, (const char *)bytes + at + sizeof(head), &one);
        at += sizeof(head) + head.size_b;
        if (first == NULL) {
            first = one;
        } else {
            rc = rc != ACL_SUCCESS ? rc : aclrtAppendBufChain(first, one);
        }
    }
    free(bytes);
    if (rc != ACL_SUCCESS) {
        if (first != NULL) {
            (void)aclrtFreeBuf(first);
        }
        return rc;
    }
    *buf = first;
    return ACL_SUCCESS;
}

/* ---- message buffers: those of aclrtAllocBuf ---- */
aclError acltdtAllocBuf(size_t size, uint32_t type, acltdtBuf *buf)
{
    if (type != ACL_TDT_NORMAL_MEM && type != ACL_TDT_DVPP_MEM) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "acltdtAllocBuf: unknown type %u", type);
    }
    return aclrtAllocBuf(buf, size);
}

aclError acltdtFreeBuf(acltdtBuf buf)
{
    return aclrtFreeBuf(buf);
}

aclError acltdtGetBufData(const acltdtBuf buf, void **dataPtr, size_t *size)
{
    return aclrtGetBufData(buf, dataPtr, size);
}

aclError acltdtSetBufDataLen(acltdtBuf buf, size_t len)
{
    return aclrtSetBufDataLen(buf, len);
}

aclError acltdtGetBufDataLen(acltdtBuf buf, size_t *len)
{
    return aclrtGetBufDataLen(buf, len);
}

aclError acltdtAppendBufChain(acltdtBuf headBuf, acltdtBuf buf)
{
    return aclrtAppendBufChain(headBuf, buf);
}

aclError acltdtGetBufChainNum(acltdtBuf headBuf, uint32_t *num)
{
    return aclrtGetBufChainNum(headBuf, num);
}

aclError acltdtGetBufFromChain(acltdtBuf headBuf, uint32_t index, acltdtBuf *buf)
{
    return aclrtGetBufFromChain(headBuf, index, buf);
}

aclError acltdtGetBufUserData(const acltdtBuf buf, void *dataPtr, size_t size, size_t offset)
{
    return aclrtGetBufUserData(buf, dataPtr, size, offset);
}

aclError acltdtSetBufUserData(acltdtBuf buf, const void *dataPtr, size_t size, size_t offset)
{
    return aclrtSetBufUserData(buf, dataPtr, size, offset);
}

aclError acltdtCopyBufRef(const acltdtBuf buf, acltdtBuf *newBuf)
{
    return aclrtCopyBufRef(buf, newBuf);
}
