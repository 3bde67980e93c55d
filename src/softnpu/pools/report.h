/* SPDX-License-Identifier: Apache-2.0 */
/* How the pools report their memory: mstx calls in the order in which the frameworks make them. */
#ifndef NPUPOOL_REPORT_H
#define NPUPOOL_REPORT_H

#define MSTX_NO_IMPL /* the functions come from the library, by name */
#include "mstx/ms_tools_ext.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* torch_npu: each call creates its domain again. No effect unless npool_reporting(). */
#define NPOOL_DOMAIN_CACHING   "ptaCaching"
#define NPOOL_DOMAIN_WORKSPACE "ptaWorkspace"

/* domain, heap { reserved }, region { size } */
void npool__report_alloc(const char *domain, int32_t device, const void *ptr, uint64_t size_b, uint64_t reserved_b);
/* domain, heap { reserved }, unregister by pointer */
void npool__report_free(const char *domain, int32_t device, const void *ptr, uint64_t reserved_b);
/* The single calls, each after creating the domain. */
void npool__report_heap(const char *domain, int32_t device, const void *ptr, uint64_t reserved_b);
void npool__report_region(const char *domain, int32_t device, const void *ptr, uint64_t size_b);
void npool__report_region_gone(const char *domain, const void *ptr);

/* MindSpore: the region first, then the heap; one domain handle for the process. */
void npool__report_mindspore_alloc(int32_t device, const void *ptr, uint64_t size_b, uint64_t total_b);
void npool__report_mindspore_free(int32_t device, const void *ptr, uint64_t total_b);

/* ATB: handles. A NULL heap means that no tool is attached. */
mstxMemHeapHandle_t npool__report_atb_heap(int32_t device, const void *ptr, uint64_t size_b);
void npool__report_atb_heap_gone(mstxMemHeapHandle_t heap);
void npool__report_atb_regions(mstxMemHeapHandle_t heap, const mstxMemVirtualRangeDesc_t *regions, size_t count,
                               mstxMemRegionHandle_t *handles);
void npool__report_atb_regions_gone(const mstxMemRegionHandle_t *handles, size_t count);

#endif
