/* SPDX-License-Identifier: Apache-2.0 */
/* A tool injected by MSTX_INJECTION_PATH: prints every call to standard output, one line each. */
#include "mstx/ms_tools_ext.h"

#include <stdio.h>
#include <string.h>

static int domains, ranges;

static void mark(const char *message, aclrtStream stream)
{
    printf("mark %s%s\n", message, stream != NULL ? " on a stream" : "");
}

static mstxRangeId range_start(const char *message, aclrtStream stream)
{
    printf("range %d begins: %s%s\n", ++ranges, message, stream != NULL ? " on a stream" : "");
    return (mstxRangeId)ranges;
}

static void range_end(mstxRangeId id)
{
    printf("range %d ends\n", (int)id);
}

static mstxDomainHandle_t domain_create(const char *name)
{
    printf("domain %d: %s\n", ++domains, name);
    return (mstxDomainHandle_t)(size_t)domains;
}

static void domain_destroy(mstxDomainHandle_t domain)
{
    printf("domain %d ends\n", (int)(size_t)domain);
}

static void domain_mark(mstxDomainHandle_t domain, const char *message, aclrtStream stream)
{
    (void)stream;
    printf("mark %s in domain %d\n", message, (int)(size_t)domain);
}

static mstxRangeId domain_range_start(mstxDomainHandle_t domain, const char *message, aclrtStream stream)
{
    (void)stream;
    printf("range %d begins: %s in domain %d\n", ++ranges, message, (int)(size_t)domain);
    return (mstxRangeId)ranges;
}

static void domain_range_end(mstxDomainHandle_t domain, mstxRangeId id)
{
    printf("range %d ends in domain %d\n", (int)id, (int)(size_t)domain);
}

static mstxMemHeapHandle_t heap_register(mstxDomainHandle_t domain, const mstxMemHeapDesc_t *desc)
{
    const mstxMemVirtualRangeDesc_t *range = (const mstxMemVirtualRangeDesc_t *)desc->typeSpecificDesc;
    printf("heap of %llu bytes in domain %d\n", (unsigned long long)range->size, (int)(size_t)domain);
    return (mstxMemHeapHandle_t)(size_t)7;
}

static void heap_unregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap)
{
    printf("heap %d ends in domain %d\n", (int)(size_t)heap, (int)(size_t)domain);
}

static void regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t *batch)
{
    const mstxMemVirtualRangeDesc_t *range = (const mstxMemVirtualRangeDesc_t *)batch->regionDescArray;
    printf("%d regions in heap %d of domain %d, the first of %llu bytes\n", (int)batch->regionCount,
           (int)(size_t)batch->heap, (int)(size_t)domain, (unsigned long long)range->size);
}

static void regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t *batch)
{
    printf("%d regions end in domain %d\n", (int)batch->refCount, (int)(size_t)domain);
}

int InitInjectionMstx(mstxGetModuleFuncTableFunc get);
int InitInjectionMstx(mstxGetModuleFuncTableFunc get)
{
    static const struct {
        int module;
        unsigned int id;
        mstxFuncPointer function;
    } mine[] = {
        {MSTX_API_MODULE_CORE, MSTX_API_CORE_MARK_A, (mstxFuncPointer)mark},
        {MSTX_API_MODULE_CORE, MSTX_API_CORE_RANGE_START_A, (mstxFuncPointer)range_start},
        {MSTX_API_MODULE_CORE, MSTX_API_CORE_RANGE_END, (mstxFuncPointer)range_end},
        {MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_CREATE_A, (mstxFuncPointer)domain_create},
        {MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_DESTROY, (mstxFuncPointer)domain_destroy},
        {MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_MARK_A, (mstxFuncPointer)domain_mark},
        {MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_RANGE_START_A, (mstxFuncPointer)domain_range_start},
        {MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_RANGE_END, (mstxFuncPointer)domain_range_end},
        {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEMHEAP_REGISTER, (mstxFuncPointer)heap_register},
        {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEMHEAP_UNREGISTER, (mstxFuncPointer)heap_unregister},
        {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEM_REGIONS_REGISTER, (mstxFuncPointer)regions_register},
        {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, (mstxFuncPointer)regions_unregister},
    };
    for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++) {
        mstxFuncTable table = NULL;
        unsigned int size = 0;
        if (get(mine[i].module, &table, &size) != MSTX_SUCCESS || mine[i].id >= size) {
            return MSTX_FAIL;
        }
        *table[mine[i].id] = mine[i].function;
    }
    return MSTX_SUCCESS;
}
