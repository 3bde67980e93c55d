/* SPDX-License-Identifier: Apache-2.0 */
/* A program that reports marks to a tool, if there is one. */
#include "mstx/ms_tools_ext.h"

#include "check.h"

int main(void)
{
    aclrtStream stream;
    void *pool;
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    mstxMarkA("start", NULL);
    mstxRangeId step = mstxRangeStartA("step start", stream);
    mstxDomainHandle_t domain = mstxDomainCreateA("pool");
    mstxDomainMarkA(domain, "inside", stream);
    mstxRangeId inner = mstxDomainRangeStartA(domain, "work", NULL);
    OK(aclrtMalloc(&pool, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    mstxMemVirtualRangeDesc_t whole = {.deviceId = 0, .ptr = pool, .size = 1 << 20};
    mstxMemHeapDesc_t heap_desc = {.usage = MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR,
                                   .type = MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                   .typeSpecificDesc = &whole};
    mstxMemHeapHandle_t heap = mstxMemHeapRegister(domain, &heap_desc);
    mstxMemVirtualRangeDesc_t parts[2] = {{0, pool, 512}, {0, (char *)pool + 512, 512}};
    mstxMemRegionHandle_t regions[2] = {0};
    mstxMemRegionsRegisterBatch_t batch = {.heap = heap,
                                           .regionType = MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                           .regionCount = 2,
                                           .regionDescArray = parts,
                                           .regionHandleArrayOut = regions};
    mstxMemRegionsRegister(domain, &batch);
    mstxMemRegionRef_t refs[2] = {{.refType = MSTX_MEM_REGION_REF_TYPE_POINTER, .pointer = parts[0].ptr},
                                  {.refType = MSTX_MEM_REGION_REF_TYPE_POINTER, .pointer = parts[1].ptr}};
    mstxMemRegionsUnregisterBatch_t gone = {.refCount = 2, .refArray = refs};
    mstxMemRegionsUnregister(domain, &gone);
    mstxMemHeapUnregister(domain, heap);
    mstxDomainRangeEnd(domain, inner);
    mstxDomainDestroy(domain);
    mstxRangeEnd(step);
    OK(aclrtFree(pool));
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    puts("marks: all good");
    return 0;
}
