/* SPDX-License-Identifier: Apache-2.0 */
/* An mstx tool that receives pool events and ignores them: measures the cost of the calls themselves. */
#define MSTX_NO_IMPL
#include "base/macros.h"
#include "mstx/ms_tools_ext_mem.h"

#include <stddef.h>

int InitInjectionMstx(mstxGetModuleFuncTableFunc getModuleFuncTable) MS_EXPORT;

static char a_domain;

static mstxDomainHandle_t domain_create(const char *name)
{
    (void)name;
    return (mstxDomainHandle_t)(void *)&a_domain;
}

static void regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t *batch)
{
    (void)domain;
    (void)batch;
}

static void regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t *batch)
{
    (void)domain;
    (void)batch;
}

int InitInjectionMstx(mstxGetModuleFuncTableFunc getModuleFuncTable)
{
    static const struct {
        int module;
        unsigned id;
        mstxFuncPointer function;
    } slots[] = {
        {MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_CREATE_A, (mstxFuncPointer)domain_create},
        {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEM_REGIONS_REGISTER, (mstxFuncPointer)regions_register},
        {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, (mstxFuncPointer)regions_unregister},
    };
    for (unsigned i = 0; i < MS_COUNT_OF(slots); i++) {
        mstxFuncTable table = NULL;
        unsigned size = 0;
        if (getModuleFuncTable(slots[i].module, &table, &size) == MSTX_SUCCESS && slots[i].id < size) {
            *table[slots[i].id] = slots[i].function;
        }
    }
    return MSTX_SUCCESS;
}
