/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libacl_tdt_queue.so.
 *     ACLTDT_QUEUE_FN(status, result, name, (parameters))        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtCreateQueue, (const acltdtQueueAttr *attr, uint32_t *qid))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtDestroyQueue, (uint32_t qid))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtEnqueue, (uint32_t qid, acltdtBuf buf, int32_t timeout))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtDequeue, (uint32_t qid, acltdtBuf *buf, int32_t timeout))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtEnqueueData, (uint32_t qid, const void *data, size_t dataSize, const void
                *userData, size_t userDataSize, int32_t timeout, uint32_t rsv))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtDequeueData, (uint32_t qid, void *data, size_t dataSize, size_t
                *retDataSize, void *userData, size_t userDataSize, int32_t timeout))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtGrantQueue, (uint32_t qid, int32_t pid, uint32_t permission, int32_t
                timeout))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtAttachQueue, (uint32_t qid, int32_t timeout, uint32_t *permission))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtBindQueueRoutes, (acltdtQueueRouteList *qRouteList))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtUnbindQueueRoutes, (acltdtQueueRouteList *qRouteList))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtQueryQueueRoutes, (const acltdtQueueRouteQueryInfo *queryInfo,
                acltdtQueueRouteList *qRouteList))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtAllocBuf, (size_t size, uint32_t type, acltdtBuf *buf))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtFreeBuf, (acltdtBuf buf))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtGetBufData, (const acltdtBuf buf, void **dataPtr, size_t *size))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtSetBufDataLen, (acltdtBuf buf, size_t len))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtGetBufDataLen, (acltdtBuf buf, size_t *len))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtAppendBufChain, (acltdtBuf headBuf, acltdtBuf buf))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtGetBufChainNum, (acltdtBuf headBuf, uint32_t *num))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtGetBufFromChain, (acltdtBuf headBuf, uint32_t index, acltdtBuf *buf))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtGetBufUserData, (const acltdtBuf buf, void *dataPtr, size_t size, size_t
                offset))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtSetBufUserData, (acltdtBuf buf, const void *dataPtr, size_t size, size_t
                offset))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtCopyBufRef, (const acltdtBuf buf, acltdtBuf *newBuf))
ACLTDT_QUEUE_FN(IMPLEMENTED, acltdtQueueAttr *, acltdtCreateQueueAttr, (void))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtDestroyQueueAttr, (const acltdtQueueAttr *attr))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtSetQueueAttr, (acltdtQueueAttr *attr, acltdtQueueAttrType type, size_t len,
                const void *param))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtGetQueueAttr, (const acltdtQueueAttr *attr, acltdtQueueAttrType type,
                size_t len, size_t *paramRetSize, void *param))
ACLTDT_QUEUE_FN(IMPLEMENTED, acltdtQueueRoute *, acltdtCreateQueueRoute, (uint32_t srcId, uint32_t dstId))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtDestroyQueueRoute, (const acltdtQueueRoute *route))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtGetQueueRouteParam, (const acltdtQueueRoute *route,
                acltdtQueueRouteParamType type, size_t len, size_t *paramRetSize, void *param))
ACLTDT_QUEUE_FN(IMPLEMENTED, acltdtQueueRouteList *, acltdtCreateQueueRouteList, (void))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtDestroyQueueRouteList, (const acltdtQueueRouteList *routeList))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtAddQueueRoute, (acltdtQueueRouteList *routeList, const acltdtQueueRoute
                *route))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtGetQueueRoute, (const acltdtQueueRouteList *routeList, size_t index,
                acltdtQueueRoute *route))
ACLTDT_QUEUE_FN(IMPLEMENTED, size_t, acltdtGetQueueRouteNum, (const acltdtQueueRouteList *routeList))
ACLTDT_QUEUE_FN(IMPLEMENTED, acltdtQueueRouteQueryInfo *, acltdtCreateQueueRouteQueryInfo, (void))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtDestroyQueueRouteQueryInfo, (const acltdtQueueRouteQueryInfo *info))
ACLTDT_QUEUE_FN(IMPLEMENTED, aclError, acltdtSetQueueRouteQueryInfo, (acltdtQueueRouteQueryInfo *param,
                acltdtQueueRouteQueryInfoParamType type, size_t len, const void *value))
/* clang-format on */

#undef ACLTDT_QUEUE_FN
