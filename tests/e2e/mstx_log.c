/* SPDX-License-Identifier: Apache-2.0 */
/* A tool for the tests: writes every mstx call to the file $MSTX_LOG.<pid>, one line each. Addresses are decimal.
 *   mark TEXT      start ID TEXT      end ID      heap DOMAIN DEVICE PTR SIZE      region DOMAIN DEVICE PTR SIZE
 *   gone DOMAIN PTR */
#define MSTX_NO_IMPL
#include "mstx/ms_tools_ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static FILE *log_file(void)
{
    static FILE *file;
    if (file == NULL) {
        char path[4096];
        snprintf(path, sizeof(path), "%s.%d", getenv("MSTX_LOG"), (int)getpid());
        file = fopen(path, "w");
        if (file == NULL) {
            abort();
        }
    }
    return file;
}

static void mark(const char *message, aclrtStream stream)
{
    (void)stream;
    fprintf(log_file(), "mark %s\n", message);
}

static mstxRangeId range_start(const char *message, aclrtStream stream)
{
    static mstxRangeId last;
    (void)stream;
    fprintf(log_file(), "start %lu %s\n", (unsigned long)++last, message);
    return last;
}

static void range_end(mstxRangeId id)
{
    fprintf(log_file(), "end %lu\n", (unsigned long)id);
}

/* A domain's handle is its name; the names of the pools are constants. */
static mstxDomainHandle_t domain_create(const char *name)
{
    return (mstxDomainHandle_t)(void *)(uintptr_t)name;
}

static void print_range(const char *what, mstxDomainHandle_t domain, const mstxMemVirtualRangeDesc_t *range)
{
    fprintf(log_file(), "%s %s %u %lu %lu\n", what, (const char *)domain, range->deviceId, (unsigned long)range->ptr,
            (unsigned long)range->size);
}

static mstxMemHeapHandle_t heap_register(mstxDomainHandle_t domain, const mstxMemHeapDesc_t *desc)
{
    print_range("heap", domain, desc->typeSpecificDesc);
    return NULL;
}

static void regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t *batch)
{
    const mstxMemVirtualRangeDesc_t *ranges = batch->regionDescArray;
    for (size_t i = 0; i < batch->regionCount; i++) {
        print_range("region", domain, &ranges[i]);
    }
}

static void regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t *batch)
{
    for (size_t i = 0; i < batch->refCount; i++) {
        fprintf(log_file(), "gone %s %lu\n", (const char *)domain, (unsigned long)batch->refArray[i].pointer);
    }
}

int InitInjectionMstx(mstxGetModuleFuncTableFunc get_table)
{
    mstxFuncTable core, domain, memory;
    unsigned int size;
    if (get_table(MSTX_API_MODULE_CORE, &core, &size) != MSTX_SUCCESS ||
        get_table(MSTX_API_MODULE_CORE_DOMAIN, &domain, &size) != MSTX_SUCCESS ||
        get_table(MSTX_API_MODULE_CORE_MEM, &memory, &size) != MSTX_SUCCESS) {
        return MSTX_FAIL;
    }
    *core[MSTX_API_CORE_MARK_A] = (mstxFuncPointer)mark;
    *core[MSTX_API_CORE_RANGE_START_A] = (mstxFuncPointer)range_start;
    *core[MSTX_API_CORE_RANGE_END] = (mstxFuncPointer)range_end;
    *domain[MSTX_API_CORE2_DOMAIN_CREATE_A] = (mstxFuncPointer)domain_create;
    *memory[MSTX_API_CORE_MEMHEAP_REGISTER] = (mstxFuncPointer)heap_register;
    *memory[MSTX_API_CORE_MEM_REGIONS_REGISTER] = (mstxFuncPointer)regions_register;
    *memory[MSTX_API_CORE_MEM_REGIONS_UNREGISTER] = (mstxFuncPointer)regions_unregister;
    return MSTX_SUCCESS;
}
