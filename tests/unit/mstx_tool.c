/* SPDX-License-Identifier: Apache-2.0 */
/* A tool that tests inject: fills the tables as MSTX_TOOL_FILL specifies and counts the calls.
 *   all   every slot          mark   only the mark slot          fail   every slot, but reports failure */
#include "mstx/ms_tools_ext.h"
#include "mstx_tool.h"

#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) struct mstx_tool mstx_tool;

static char a_domain, a_heap;

static void mark(const char *message, void *stream)
{
    __atomic_add_fetch(&mstx_tool.calls[MSTX_API_MODULE_CORE][MSTX_API_CORE_MARK_A], 1, __ATOMIC_RELAXED);
    __atomic_store_n(&mstx_tool.last_message, message, __ATOMIC_RELAXED); /* several threads mark in one test */
    __atomic_store_n(&mstx_tool.last_stream, stream, __ATOMIC_RELAXED);
}

static mstxRangeId range_start(const char *message, void *stream)
{
    mstx_tool.calls[MSTX_API_MODULE_CORE][MSTX_API_CORE_RANGE_START_A]++;
    mstx_tool.last_message = message;
    mstx_tool.last_stream = stream;
    return 42;
}

static void range_end(mstxRangeId id)
{
    mstx_tool.calls[MSTX_API_MODULE_CORE][MSTX_API_CORE_RANGE_END]++;
    mstx_tool.last_id = id;
}

static void tool_id(uint64_t *id)
{
    mstx_tool.calls[MSTX_API_MODULE_CORE][MSTX_API_CORE_GET_TOOL_ID]++;
    *id = MSTX_TOOL_MSLEAKS_ID;
}

static void *domain_create(const char *name)
{
    mstx_tool.calls[MSTX_API_MODULE_CORE_DOMAIN][MSTX_API_CORE2_DOMAIN_CREATE_A]++;
    mstx_tool.last_message = name;
    return &a_domain;
}

static void domain_destroy(void *domain)
{
    mstx_tool.calls[MSTX_API_MODULE_CORE_DOMAIN][MSTX_API_CORE2_DOMAIN_DESTROY]++;
    mstx_tool.last_domain = domain;
}

static void domain_mark(void *domain, const char *message, void *stream)
{
    mstx_tool.calls[MSTX_API_MODULE_CORE_DOMAIN][MSTX_API_CORE2_DOMAIN_MARK_A]++;
    mstx_tool.last_domain = domain;
    mstx_tool.last_message = message;
    mstx_tool.last_stream = stream;
}

static mstxRangeId domain_range_start(void *domain, const char *message, void *stream)
{
    mstx_tool.calls[MSTX_API_MODULE_CORE_DOMAIN][MSTX_API_CORE2_DOMAIN_RANGE_START_A]++;
    mstx_tool.last_domain = domain;
    mstx_tool.last_message = message;
    mstx_tool.last_stream = stream;
    return 43;
}

static void domain_range_end(void *domain, mstxRangeId id)
{
    mstx_tool.calls[MSTX_API_MODULE_CORE_DOMAIN][MSTX_API_CORE2_DOMAIN_RANGE_END]++;
    mstx_tool.last_domain = domain;
    mstx_tool.last_id = id;
}

static void *heap_register(void *domain, const void *desc)
{
    mstx_tool.calls[MSTX_API_MODULE_CORE_MEM][MSTX_API_CORE_MEMHEAP_REGISTER]++;
    mstx_tool.last_domain = domain;
    mstx_tool.last_desc = desc;
    return &a_heap;
}

static void heap_unregister(void *domain, void *heap)
{
    mstx_tool.calls[MSTX_API_MODULE_CORE_MEM][MSTX_API_CORE_MEMHEAP_UNREGISTER]++;
    mstx_tool.last_domain = domain;
    mstx_tool.last_desc = heap;
}

#define MEM_FUNCTION(function, id)                                                                                     \
    static void function(void *domain, const void *desc)                                                               \
    {                                                                                                                  \
        mstx_tool.calls[MSTX_API_MODULE_CORE_MEM][id]++;                                                               \
        mstx_tool.last_domain = domain;                                                                                \
        mstx_tool.last_desc = desc;                                                                                    \
    }
MEM_FUNCTION(regions_register, MSTX_API_CORE_MEM_REGIONS_REGISTER)
MEM_FUNCTION(regions_unregister, MSTX_API_CORE_MEM_REGIONS_UNREGISTER)
MEM_FUNCTION(permissions_assign, MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN)

static const mstxFuncPointer functions[4][6] = {
    [MSTX_API_MODULE_CORE] = {NULL, (mstxFuncPointer)mark, (mstxFuncPointer)range_start, (mstxFuncPointer)range_end,
                              (mstxFuncPointer)tool_id},
    [MSTX_API_MODULE_CORE_DOMAIN] = {NULL, (mstxFuncPointer)domain_create, (mstxFuncPointer)domain_destroy,
                                     (mstxFuncPointer)domain_mark, (mstxFuncPointer)domain_range_start,
                                     (mstxFuncPointer)domain_range_end},
    [MSTX_API_MODULE_CORE_MEM] = {NULL, (mstxFuncPointer)heap_register, (mstxFuncPointer)heap_unregister,
                                  (mstxFuncPointer)regions_register, (mstxFuncPointer)regions_unregister,
                                  (mstxFuncPointer)permissions_assign},
};

__attribute__((visibility("default"))) int InitInjectionMstx(mstxGetModuleFuncTableFunc get);

int InitInjectionMstx(mstxGetModuleFuncTableFunc get)
{
    const char *fill = getenv("MSTX_TOOL_FILL");
    __atomic_add_fetch(&mstx_tool.inits, 1, __ATOMIC_RELAXED);
    for (int module = -1; module <= 5; module++) {
        mstxFuncTable table = NULL;
        unsigned int size = 0;
        int rc = get(module, &table, &size);
        if (module < 1 || module > 3) {
            mstx_tool.refused_unknown_modules += rc != MSTX_SUCCESS;
            continue;
        }
        mstx_tool.table_size[module] = rc == MSTX_SUCCESS ? size : 0;
        for (unsigned int id = 1; rc == MSTX_SUCCESS && id < size && id < 6; id++) {
            if (fill == NULL || strcmp(fill, "mark") != 0 || (module == 1 && id == 1)) {
                *table[id] = functions[module][id];
            }
        }
    }
    return fill != NULL && strcmp(fill, "fail") == 0 ? MSTX_FAIL : MSTX_SUCCESS;
}
