/* SPDX-License-Identifier: Apache-2.0 */
/* mstx: memory pools. A heap is a block that a sub-allocator manages, a region is a part of it that is allocated. */
#include "ms_tools_ext.h" /* before the guard: it includes this file at the right place */

#ifndef MSTX_MS_TOOLS_EXT_MEM_H
#define MSTX_MS_TOOLS_EXT_MEM_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct mstxMemHeap_st;
typedef struct mstxMemHeap_st mstxMemHeap_t;
typedef mstxMemHeap_t *mstxMemHeapHandle_t;

struct mstxMemRegion_st;
typedef struct mstxMemRegion_st mstxMemRegion_t;
typedef mstxMemRegion_t *mstxMemRegionHandle_t;

/* The domain of functions without a domain argument. */
static const mstxDomainHandle_t globalDomain = (mstxDomainHandle_t)0;

typedef enum mstxMemHeapUsageType {
    MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR = 0,
} mstxMemHeapUsageType;

typedef enum mstxMemType {
    MSTX_MEM_TYPE_VIRTUAL_ADDRESS = 0,
} mstxMemType;

/* Descriptor of MSTX_MEM_TYPE_VIRTUAL_ADDRESS. */
typedef struct mstxMemVirtualRangeDesc_t {
    uint32_t deviceId;
    const void *ptr;
    uint64_t size;
} mstxMemVirtualRangeDesc_t;

typedef struct mstxMemHeapDesc_t {
    mstxMemHeapUsageType usage;
    mstxMemType type;
    const void *typeSpecificDesc;
} mstxMemHeapDesc_t;

typedef struct mstxMemRegionsRegisterBatch_t {
    mstxMemHeapHandle_t heap;
    mstxMemType regionType;
    size_t regionCount;
    const void *regionDescArray;
    mstxMemRegionHandle_t *regionHandleArrayOut;
} mstxMemRegionsRegisterBatch_t;

typedef enum mstxMemRegionRefType {
    MSTX_MEM_REGION_REF_TYPE_POINTER = 0,
    MSTX_MEM_REGION_REF_TYPE_HANDLE = 1,
} mstxMemRegionRefType;

typedef struct mstxMemRegionRef_t {
    mstxMemRegionRefType refType;
    __extension__ union {
        const void *pointer;
        mstxMemRegionHandle_t handle;
    };
} mstxMemRegionRef_t;

typedef struct mstxMemRegionsUnregisterBatch_t {
    size_t refCount;
    const mstxMemRegionRef_t *refArray;
} mstxMemRegionsUnregisterBatch_t;

#define MSTX_MEM_PERMISSIONS_REGION_FLAGS_NONE   0x0
#define MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ   0x1
#define MSTX_MEM_PERMISSIONS_REGION_FLAGS_WRITE  0x2
#define MSTX_MEM_PERMISSIONS_REGION_FLAGS_SHARED 0x4

typedef struct mstxMemPermissionsAssignRegionsDesc_t {
    uint32_t flags;
    mstxMemRegionRef_t region;
} mstxMemPermissionsAssignRegionsDesc_t;

typedef struct mstxMemPermissionsAssignBatch_t {
    size_t regionCount;
    const mstxMemPermissionsAssignRegionsDesc_t *regionDescArray;
} mstxMemPermissionsAssignBatch_t;

/** @brief NULL without a tool, or if the tool does not track heaps by handle. */
MSTX_DECL mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, const mstxMemHeapDesc_t *desc);
MSTX_DECL void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);
MSTX_DECL void mstxMemRegionsRegister(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t *desc);
MSTX_DECL void mstxMemRegionsUnregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t *desc);
MSTX_DECL void mstxMemPermissionsAssign(mstxDomainHandle_t domain, const mstxMemPermissionsAssignBatch_t *desc);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
