/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points that frameworks look up beside the operators: initialisation, the executor cache of torch_npu, and its
 * pool for host objects. There is nothing to cache here: the functions report that the cache is unavailable, and the
 * framework then calls the first phase each time. */
#include "softnpu/aclnn/nn.h"

#include "softnpu/aclnn/kernel_binary.h"

#pragma GCC visibility push(default)
int InitHugeMemThreadLocal(void *arg, bool sync);
void UnInitHugeMemThreadLocal(void *arg, bool sync);
void ReleaseHugeMem(void *arg, bool sync);
void InitPTACacheThreadLocal(void);
void UnInitPTACacheThreadLocal(void);
void SetPTAHashKey(uint64_t hash);
void SetPTACacheHashKey(uint8_t *key, size_t len);
void AddTensorAddrToCachedList(void *addr);
bool CanUsePTACache(const char *api);
aclOpExecutor *PTAGetExecCache(uint64_t hash, uint64_t *workspaceSize);
aclOpExecutor *PTAFindExecCache(uint8_t *key, size_t len, uint64_t *workspaceSize);
#pragma GCC visibility pop

aclnnStatus aclnnInit(const char *configPath)
{
    return ACLNN_SUCCESS;
}

aclnnStatus aclnnFinalize(void)
{
    nn_kernel_release();
    return ACLNN_SUCCESS;
}

int InitHugeMemThreadLocal(void *arg, bool sync)
{
    return 0;
}

void UnInitHugeMemThreadLocal(void *arg, bool sync)
{
}

void ReleaseHugeMem(void *arg, bool sync)
{
}

void InitPTACacheThreadLocal(void)
{
}

void UnInitPTACacheThreadLocal(void)
{
}

void SetPTAHashKey(uint64_t hash)
{
}

void SetPTACacheHashKey(uint8_t *key, size_t len)
{
}

void AddTensorAddrToCachedList(void *addr)
{
}

bool CanUsePTACache(const char *api)
{
    return false;
}

aclOpExecutor *PTAGetExecCache(uint64_t hash, uint64_t *workspaceSize)
{
    return NULL;
}

aclOpExecutor *PTAFindExecCache(uint8_t *key, size_t len, uint64_t *workspaceSize)
{
    return NULL;
}
