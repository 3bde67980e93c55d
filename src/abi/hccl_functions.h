/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libhccl.so.
 *     HCCL_FN(status, result, name, (parameters))        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
/* communicators */
HCCL_FN(IMPLEMENTED, HcclResult, HcclGetRootInfo, (HcclRootInfo *rootInfo))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommInitRootInfo, (uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
        HcclComm *comm))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommInitRootInfoConfig, (uint32_t nRanks, const HcclRootInfo *rootInfo,
        uint32_t rank, const HcclCommConfig *config, HcclComm *comm))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommInitClusterInfo, (const char *clusterInfo, uint32_t rank, HcclComm *comm))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommInitClusterInfoConfig, (const char *clusterInfo, uint32_t rank,
        HcclCommConfig *config, HcclComm *comm))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommInitAll, (uint32_t ndev, int32_t *devices, HcclComm *comms))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCreateSubCommConfig, (HcclComm *comm, uint32_t rankNum, uint32_t *rankIds,
        uint64_t subCommId, uint32_t subCommRankId, HcclCommConfig *config, HcclComm *subComm))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommDestroy, (HcclComm comm))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommSuspend, (HcclComm comm))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommResume, (HcclComm comm))
HCCL_FN(IMPLEMENTED, HcclResult, HcclGetRankSize, (HcclComm comm, uint32_t *rankSize))
HCCL_FN(IMPLEMENTED, HcclResult, HcclGetRankId, (HcclComm comm, uint32_t *rank))
HCCL_FN(IMPLEMENTED, HcclResult, HcclGetCommName, (HcclComm comm, char *commName))
HCCL_FN(IMPLEMENTED, HcclResult, HcclGetCommAsyncError, (HcclComm comm, HcclResult *asyncError))
HCCL_FN(IMPLEMENTED, const char *, HcclGetErrorString, (HcclResult code))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommWorkingDevNicSet, (HcclComm comm, uint32_t *ranks, bool *useBackup,
        uint32_t nRanks))

/* options */
HCCL_FN(IMPLEMENTED, HcclResult, HcclSetConfig, (HcclConfig config, HcclConfigValue configValue))
HCCL_FN(IMPLEMENTED, HcclResult, HcclGetConfig, (HcclConfig config, HcclConfigValue *configValue))
HCCL_FN(IMPLEMENTED, HcclResult, HcclSetCommConfig, (HcclComm comm, HcclConfig config, HcclConfigValue configValue))
HCCL_FN(IMPLEMENTED, HcclResult, HcclGetCommConfig, (HcclComm comm, HcclConfig config, HcclConfigValue *configValue))
HCCL_FN(IMPLEMENTED, uint32_t, HcclGetCommConfigCapability, (void))

/* collectives */
HCCL_FN(IMPLEMENTED, HcclResult, HcclAllReduce, (void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
        HcclReduceOp op, HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclReduce, (void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
        HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclBroadcast, (void *buf, uint64_t count, HcclDataType dataType, uint32_t root,
        HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclScatter, (void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType,
        uint32_t root, HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclAllGather, (void *sendBuf, void *recvBuf, uint64_t sendCount,
        HcclDataType dataType, HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclAllGatherV, (void *sendBuf, uint64_t sendCount, void *recvBuf,
        const void *recvCounts, const void *recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclReduceScatter, (void *sendBuf, void *recvBuf, uint64_t recvCount,
        HcclDataType dataType, HcclReduceOp op, HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclReduceScatterV, (void *sendBuf, const void *sendCounts, const void *sendDispls,
        void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclAlltoAll, (const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
        const void *recvBuf, uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclAlltoAllV, (const void *sendBuf, const void *sendCounts, const void *sdispls,
        HcclDataType sendType, const void *recvBuf, const void *recvCounts, const void *rdispls, HcclDataType recvType,
        HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclAlltoAllVC, (const void *sendBuf, const void *sendCountMatrix,
        HcclDataType sendType, const void *recvBuf, HcclDataType recvType, HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclBarrier, (HcclComm comm, aclrtStream stream))

/* point to point */
HCCL_FN(IMPLEMENTED, HcclResult, HcclSend, (void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
        HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclRecv, (void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
        HcclComm comm, aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclBatchSendRecv, (HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm,
        aclrtStream stream))
HCCL_FN(IMPLEMENTED, HcclResult, HcclGroupStart, (void))
HCCL_FN(IMPLEMENTED, HcclResult, HcclGroupEnd, (void))

/* memory registered with a communicator */
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommRegister, (HcclComm comm, void *addr, uint64_t size, void **handle,
        uint32_t flag))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommDeregister, (HcclComm comm, void *handle))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommExchangeMem, (HcclComm comm, void *windowHandle, uint32_t *peerRanks,
        uint32_t peerRankNum))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommSetMemoryRange, (HcclComm comm, void *baseVirPtr, size_t size,
        size_t alignment, uint64_t flags))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommUnsetMemoryRange, (HcclComm comm, void *baseVirPtr))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommActivateCommMemory, (HcclComm comm, void *virPtr, size_t size, size_t offset,
        aclrtDrvMemHandle handle, uint64_t flags))
HCCL_FN(IMPLEMENTED, HcclResult, HcclCommDeactivateCommMemory, (HcclComm comm, void *virPtr))

/* clang-format on */

#undef HCCL_FN
