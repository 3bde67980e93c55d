/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_MEM_H
#define RUNTIME_MEM_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- allocation: kind of memory, or'ed with a page policy ---- */
typedef uint32_t rtMemType_t;

#define RT_MEMORY_DEFAULT                      0x0U
#define RT_MEMORY_HBM                          0x2U
#define RT_MEMORY_DDR                          0x4U

#define RT_MEMORY_POLICY_NONE                  0x0U
#define RT_MEMORY_POLICY_HUGE_PAGE_FIRST       0x400U
#define RT_MEMORY_POLICY_HUGE_PAGE_ONLY        0x800U
#define RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY     0x1000U
#define RT_MEMORY_POLICY_HUGE_PAGE_FIRST_P2P   0x2000U
#define RT_MEMORY_POLICY_HUGE_PAGE_ONLY_P2P    0x4000U
#define RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY_P2P 0x8000U
#define RT_MEMORY_POLICY_HUGE1G_PAGE_ONLY      0x10000U
#define RT_MEMORY_POLICY_HUGE1G_PAGE_ONLY_P2P  0x20000U

typedef enum {
    RT_MEM_MALLOC_HUGE_FIRST = 0,
    RT_MEM_MALLOC_HUGE_ONLY = 1,
    RT_MEM_MALLOC_NORMAL_ONLY = 2,
    RT_MEM_MALLOC_HUGE_FIRST_P2P = 3,
    RT_MEM_MALLOC_HUGE_ONLY_P2P = 4,
    RT_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
    RT_MEM_MALLOC_HUGE1G_ONLY = 6,
    RT_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
    RT_MEM_TYPE_LOW_BAND_WIDTH = 0x100,
    RT_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
    RT_MEM_ACCESS_USER_SPACE_READONLY = 0x100000,
} rtMallocPolicy;

typedef enum {
    RT_MEM_ADVISE_NONE,
    RT_MEM_ADVISE_DVPP,
    RT_MEM_ADVISE_TS,
    RT_MEM_ADVISE_CACHED,
} rtMallocAdvise;

typedef enum {
    RT_MEM_MALLOC_ATTR_RSV,
    RT_MEM_MALLOC_ATTR_MODULE_ID,
    RT_MEM_MALLOC_ATTR_DEVICE_ID,
    RT_MEM_MALLOC_ATTR_VA_FLAG,
} rtMallocAttr;

typedef union {
    uint16_t moduleId;
    uint32_t deviceId;
    uint32_t vaFlag;
    uint8_t rsv[8];
} rtMallocAttrValue_t;

typedef struct {
    rtMallocAttr attr;
    rtMallocAttrValue_t value;
} rtMallocAttribute_t;

typedef struct {
    rtMallocAttribute_t *attrs;
    size_t numAttrs;
} rtMallocConfig_t;

rtError_t rtMalloc(void **devPtr, uint64_t size, rtMemType_t type, const uint16_t moduleId);
rtError_t rtMallocCached(void **devPtr, uint64_t size, rtMemType_t type, const uint16_t moduleId);
rtError_t rtFree(void *devPtr);
rtError_t rtMallocHost(void **hostPtr, uint64_t size, const uint16_t moduleId);
rtError_t rtFreeHost(void *hostPtr);
rtError_t rtsMalloc(void **devPtr, uint64_t size, rtMallocPolicy policy, rtMallocAdvise advise, rtMallocConfig_t *cfg);
rtError_t rtsMallocHost(void **hostPtr, uint64_t size, const rtMallocConfig_t *cfg);

/* ---- registered host memory ---- */
typedef enum {
    RT_HOST_REGISTER_MAPPED = 0,
    RT_HOST_REGISTER_IOMEMORY = 4,
    RT_HOST_REGISTER_READONLY = 8,
} rtHostRegisterType;

rtError_t rtsHostRegister(void *ptr, uint64_t size, rtHostRegisterType type, void **devPtr);
rtError_t rtsHostUnregister(void *ptr);

/* ---- copy and fill ---- */
typedef enum tagRtMemcpyKind {
    RT_MEMCPY_HOST_TO_HOST,
    RT_MEMCPY_HOST_TO_DEVICE,
    RT_MEMCPY_DEVICE_TO_HOST,
    RT_MEMCPY_DEVICE_TO_DEVICE,
    RT_MEMCPY_MANAGED,
    RT_MEMCPY_ADDR_DEVICE_TO_DEVICE,
    RT_MEMCPY_HOST_TO_DEVICE_EX,
    RT_MEMCPY_DEVICE_TO_HOST_EX,
    RT_MEMCPY_DEFAULT,
} rtMemcpyKind_t;

rtError_t rtMemcpy(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind);
rtError_t rtMemcpyAsync(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind,
                        rtStream_t stm);
rtError_t rtMemset(void *devPtr, uint64_t destMax, uint32_t val, uint64_t cnt);
rtError_t rtMemsetAsync(void *ptr, uint64_t destMax, uint32_t val, uint64_t cnt, rtStream_t stm);

/* ---- information ---- */
typedef enum tagRtMemInfoType {
    RT_MEMORYINFO_DDR,
    RT_MEMORYINFO_HBM,
    RT_MEMORYINFO_DDR_HUGE,
    RT_MEMORYINFO_DDR_NORMAL,
    RT_MEMORYINFO_HBM_HUGE,
    RT_MEMORYINFO_HBM_NORMAL,
    RT_MEMORYINFO_DDR_P2P_HUGE,
    RT_MEMORYINFO_DDR_P2P_NORMAL,
    RT_MEMORYINFO_HBM_P2P_HUGE,
    RT_MEMORYINFO_HBM_P2P_NORMAL,
    RT_MEMORYINFO_HBM_HUGE1G,
    RT_MEMORYINFO_HBM_P2P_HUGE1G,
    RT_MEMORYINFO_NORMAL,
    RT_MEMORYINFO_HUGE,
    RT_MEMORYINFO_HUGE1G,
    RT_MEMORYINFO_P2P_NORMAL,
    RT_MEMORYINFO_P2P_HUGE,
    RT_MEMORYINFO_P2P_HUGE1G,
} rtMemInfoType_t;

typedef enum tagRtMemoryType {
    RT_MEMORY_TYPE_HOST = 1,
    RT_MEMORY_TYPE_DEVICE = 2,
    RT_MEMORY_TYPE_SVM = 3,
    RT_MEMORY_TYPE_DVPP = 4,
    RT_MEMORY_TYPE_USER = 5,
} rtMemoryType_t;

typedef enum {
    RT_MEMORY_LOC_HOST,
    RT_MEMORY_LOC_DEVICE,
    RT_MEMORY_LOC_UNREGISTERED,
    RT_MEMORY_LOC_MANAGED,
    RT_MEMORY_LOC_HOST_NUMA,
} rtMemLocationType;

typedef struct tagRtPointerAttributes {
    rtMemoryType_t memoryType;
    rtMemoryType_t locationType;
    uint32_t deviceID;
    uint32_t pageSize;
} rtPointerAttributes_t;

rtError_t rtMemGetInfoEx(rtMemInfoType_t memInfoType, size_t *freeSize, size_t *totalSize);
rtError_t rtPointerGetAttributes(rtPointerAttributes_t *attributes, const void *ptr);

/* ---- virtual addresses and physical memory ---- */
typedef struct DrvMemProp {
    uint32_t side;
    uint32_t devid;
    uint32_t module_id;
    uint32_t pg_type;
    uint32_t mem_type;
    uint64_t reserve;
} rtDrvMemProp_t;

rtError_t rtReserveMemAddress(void **devPtr, size_t size, size_t alignment, void *devAddr, uint64_t flags);
rtError_t rtReleaseMemAddress(void *devPtr);
rtError_t rtMallocPhysical(rtDrvMemHandle *handle, size_t size, rtDrvMemProp_t *prop, uint64_t flags);
rtError_t rtFreePhysical(rtDrvMemHandle handle);
rtError_t rtMapMem(void *devPtr, size_t size, size_t offset, rtDrvMemHandle handle, uint64_t flags);
rtError_t rtUnmapMem(void *devPtr);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
