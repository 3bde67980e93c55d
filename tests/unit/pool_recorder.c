/* SPDX-License-Identifier: Apache-2.0 */
/* A tool that tests inject to see what pools report. Behaves like the memory tools: no heap handles except for ATB,
 * whose regions get handles too; nothing is written for the other domains. */
#define MSTX_NO_IMPL
#include "mstx/ms_tools_ext.h"

#include "pool_recorder.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

__attribute__((visibility("default"))) struct pool_recorder pool_recorder;

int InitInjectionMstx(mstxGetModuleFuncTableFunc get_table);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char domains[8][32]; /* a domain's handle is its name */
static char heaps[16], regions[256];
static unsigned heap_count, region_count;

static void add(const struct pool_event *event)
{
    if (pool_recorder.count < POOL_EVENTS_MAX) {
        pool_recorder.events[pool_recorder.count] = *event;
    }
    pool_recorder.count++;
}

static struct pool_event event_of(enum pool_event_kind kind, const void *domain)
{
    struct pool_event event = {.kind = kind};
    if (domain != NULL) {
        snprintf(event.domain, sizeof(event.domain), "%.31s", (const char *)domain);
    }
    return event;
}

static mstxDomainHandle_t domain_create(const char *name)
{
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i + 1 < sizeof(domains) / sizeof(domains[0]) && domains[i][0] != '\0' && strcmp(domains[i], name) != 0) {
        i++;
    }
    snprintf(domains[i], sizeof(domains[i]), "%s", name);
    struct pool_event event = event_of(POOL_DOMAIN, domains[i]);
    add(&event);
    pthread_mutex_unlock(&lock);
    return (mstxDomainHandle_t)(void *)domains[i];
}

static mstxMemHeapHandle_t heap_register(mstxDomainHandle_t domain, const mstxMemHeapDesc_t *desc)
{
    pthread_mutex_lock(&lock);
    const mstxMemVirtualRangeDesc_t *range = desc->typeSpecificDesc;
    struct pool_event event = event_of(POOL_HEAP, domain);
    event.device = range->deviceId;
    event.ptr = range->ptr;
    event.size = range->size;
    if (strcmp(event.domain, "atb") == 0 && !pool_recorder.refuse_heaps) {
        event.heap = &heaps[heap_count++ % sizeof(heaps)];
    }
    add(&event);
    pthread_mutex_unlock(&lock);
    return (mstxMemHeapHandle_t)(void *)(uintptr_t)event.heap;
}

static void heap_unregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap)
{
    pthread_mutex_lock(&lock);
    struct pool_event event = event_of(POOL_HEAP_GONE, domain);
    event.heap = heap;
    add(&event);
    pthread_mutex_unlock(&lock);
}

static void regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t *batch)
{
    pthread_mutex_lock(&lock);
    const mstxMemVirtualRangeDesc_t *ranges = batch->regionDescArray;
    for (size_t i = 0; i < batch->regionCount; i++) {
        struct pool_event event = event_of(POOL_REGION, domain);
        event.device = ranges[i].deviceId;
        event.ptr = ranges[i].ptr;
        event.size = ranges[i].size;
        event.batch = batch->regionCount;
        if (strcmp(event.domain, "atb") == 0) {
            event.heap = batch->heap;
            batch->regionHandleArrayOut[i] = (mstxMemRegionHandle_t)(void *)&regions[region_count++ % sizeof(regions)];
        }
        add(&event);
    }
    pthread_mutex_unlock(&lock);
}

static void regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t *batch)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < batch->refCount; i++) {
        struct pool_event event = event_of(POOL_REGION_GONE, domain);
        event.ref_type = batch->refArray[i].refType;
        event.ptr = batch->refArray[i].pointer;
        event.batch = batch->refCount;
        add(&event);
    }
    pthread_mutex_unlock(&lock);
}

#define FILL(table, id, function) *((table)[id]) = (mstxFuncPointer)(function)

__attribute__((visibility("default"))) int InitInjectionMstx(mstxGetModuleFuncTableFunc get_table)
{
    mstxFuncTable table;
    unsigned int size;
    if (get_table(MSTX_API_MODULE_CORE_DOMAIN, &table, &size) != MSTX_SUCCESS) {
        return MSTX_FAIL;
    }
    FILL(table, MSTX_API_CORE2_DOMAIN_CREATE_A, domain_create);
    if (get_table(MSTX_API_MODULE_CORE_MEM, &table, &size) != MSTX_SUCCESS) {
        return MSTX_FAIL;
    }
    FILL(table, MSTX_API_CORE_MEMHEAP_REGISTER, heap_register);
    FILL(table, MSTX_API_CORE_MEMHEAP_UNREGISTER, heap_unregister);
    FILL(table, MSTX_API_CORE_MEM_REGIONS_REGISTER, regions_register);
    FILL(table, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, regions_unregister);
    return MSTX_SUCCESS;
}
