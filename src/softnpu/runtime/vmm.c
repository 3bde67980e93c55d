/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual addresses and physical memory. Thin on purpose: the driver owns reservations, handles and mappings, and tools
 * watch the driver calls, so each call here is one driver call.
 *
 * Threads and locks: none. Failure: the driver's result as an ACL code. */
#include "softnpu/runtime/vmm.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/memory.h"

#include "acl/acl.h"
#include "ascend_hal.h"
#include "runtime/rt.h"

#include <stdio.h>
#include <string.h>

rtError_t rtReserveMemAddress(void **devPtr, size_t size, size_t alignment, void *devAddr, uint64_t flags)
{
    if (devPtr == NULL || size == 0 || alignment != 0 || flags > 1) {
        return snpu_fail(
            ACL_ERROR_RT_PARAM_INVALID,
            "rtReserveMemAddress: invalid argument: size %zu, alignment %zu (must be 0), flags %llu (0, 1), devPtr %p",
            size, alignment, (unsigned long long)flags, (void *)devPtr);
    }
    return snpu_from_drv(halMemAddressReserve(devPtr, size, alignment, devAddr, flags), "address reservation");
}

rtError_t rtReleaseMemAddress(void *devPtr)
{
    if (devPtr == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtReleaseMemAddress: the address is NULL");
    }
    return snpu_from_drv(halMemAddressFree(devPtr), "release of a reserved address");
}

rtError_t rtMallocPhysical(rtDrvMemHandle *handle, size_t size, rtDrvMemProp_t *prop, uint64_t flags)
{
    if (handle == NULL || prop == NULL || size == 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "rtMallocPhysical: invalid argument: handle %p, properties %p, size %zu", (void *)handle,
                         (void *)prop, size);
    }
    const struct drv_mem_prop wanted = {
        .side = prop->side,
        .devid = prop->devid,
        .module_id = prop->module_id,
        .pg_type = prop->pg_type,
        .mem_type = prop->mem_type,
        .reserve = prop->reserve,
    };
    drv_mem_handle_t *made = NULL;
    drvError_t result = halMemCreate(&made, size, &wanted, flags);
    if (result != DRV_ERROR_NONE) {
        char what[96];
        snprintf(what, sizeof(what), "%zu bytes of physical memory on device %u", size, prop->devid);
        return snpu_from_drv(result, what);
    }
    *handle = made;
    return 0;
}

rtError_t rtFreePhysical(rtDrvMemHandle handle)
{
    if (handle == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtFreePhysical: the handle is NULL");
    }
    return snpu_from_drv(halMemRelease(handle), "release of physical memory");
}

rtError_t rtMapMem(void *devPtr, size_t size, size_t offset, rtDrvMemHandle handle, uint64_t flags)
{
    if (devPtr == NULL || handle == NULL || size == 0 || flags != 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "rtMapMem: invalid argument: address %p, handle %p, size %zu, flags %llu (must be 0)", devPtr,
                         handle, size, (unsigned long long)flags);
    }
    return snpu_from_drv(halMemMap(devPtr, size, offset, handle, flags), "mapping of physical memory");
}

rtError_t rtUnmapMem(void *devPtr)
{
    if (devPtr == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtUnmapMem: the address is NULL");
    }
    return snpu_from_drv(halMemUnmap(devPtr), "unmapping of physical memory");
}

int32_t snpu_vmm_set_access(void *ptr, size_t size_b, struct drv_mem_access_desc *desc, size_t count)
{
    return snpu_from_drv(halMemSetAccess(ptr, size_b, desc, count), "halMemSetAccess");
}

int32_t snpu_vmm_get_access(void *ptr, struct drv_mem_location *where, uint64_t *flags)
{
    return snpu_from_drv(halMemGetAccess(ptr, where, flags), "halMemGetAccess");
}

int32_t snpu_vmm_granularity(const struct drv_mem_prop *prop, int32_t option, size_t *granularity)
{
    return snpu_from_drv(halMemGetAllocationGranularity(prop, (drv_mem_granularity_options)option, granularity),
                         "halMemGetAllocationGranularity");
}

int32_t snpu_vmm_address_range(void *ptr, void **base, size_t *size_b)
{
    DVdeviceptr start = 0;
    drvError_t result = halMemGetAddressRange((uintptr_t)ptr, &start, size_b);
    if (result == DRV_ERROR_NONE && base != NULL) {
        *base = (void *)(uintptr_t)start;
    }
    return snpu_from_drv(result, "halMemGetAddressRange");
}

int32_t snpu_vmm_retain(void *ptr, void **handle)
{
    drv_mem_handle_t *found = NULL;
    drvError_t result = halMemRetainAllocationHandle(&found, ptr);
    if (result == DRV_ERROR_NONE) {
        *handle = found;
    }
    return snpu_from_drv(result, "halMemRetainAllocationHandle");
}

int32_t snpu_vmm_properties(void *handle, struct drv_mem_prop *prop)
{
    return snpu_from_drv(halMemGetAllocationPropertiesFromHandle(prop, handle), "properties of physical memory");
}

int32_t snpu_vmm_export(void *handle, uint64_t flags, struct snpu_vmm_share *share)
{
    if (share->fabric != NULL) {
        return snpu_from_drv(halMemExportToShareableHandleV2(handle, MEM_HANDLE_TYPE_FABRIC, flags, share->fabric),
                             "export of physical memory");
    }
    return snpu_from_drv(halMemExportToShareableHandle(handle, MEM_HANDLE_TYPE_NONE, flags, &share->number),
                         "export of physical memory");
}

int32_t snpu_vmm_import(const struct snpu_vmm_share *share, uint32_t dev, void **handle)
{
    drv_mem_handle_t *found = NULL;
    drvError_t result = share->fabric != NULL
                            ? halMemImportFromShareableHandleV2(MEM_HANDLE_TYPE_FABRIC, share->fabric, dev, &found)
                            : halMemImportFromShareableHandle(share->number, dev, &found);
    if (result == DRV_ERROR_NOT_EXIST) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "import of physical memory: no process shares memory under this handle");
    }
    if (result == DRV_ERROR_NONE) {
        *handle = found;
    }
    return snpu_from_drv(result, "import of physical memory");
}

int32_t snpu_vmm_set_pids(const struct snpu_vmm_share *share, int32_t *pids, size_t count)
{
    uint64_t number = share->number;
    if (share->fabric != NULL) {
        uint32_t server;
        drvError_t result = halMemTransShareableHandle(MEM_HANDLE_TYPE_FABRIC, share->fabric, &server, &number);
        if (result != DRV_ERROR_NONE) {
            return snpu_from_drv(result, "halMemTransShareableHandle");
        }
    }
    return snpu_from_drv(halMemSetPidToShareableHandle(number, pids, (uint32_t)count),
                         "setting the processes allowed to import");
}
