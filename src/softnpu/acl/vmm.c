/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual addresses, physical memory and its sharing: converts ACL's properties and locations to the driver's, and
 * the program's device numbers to driver ids. Threads: no state. */
#include "abi/acl_impl.h"
#include "softnpu/acl/check.h"
#include "softnpu/runtime/context.h"
#include "softnpu/runtime/memory.h"
#include "softnpu/runtime/vmm.h"

#include "ascend_hal.h"
#include "runtime/rt.h"

#include <string.h>

/* ---- properties ---- */
static const struct attr {
    bool known;
    uint8_t pages;
    uint8_t memory;
} attrs[] = {
    [ACL_DDR_MEM_HUGE] = {true, MEM_HUGE_PAGE_TYPE, MEM_DDR_TYPE},
    [ACL_DDR_MEM_NORMAL] = {true, MEM_NORMAL_PAGE_TYPE, MEM_DDR_TYPE},
    [ACL_HBM_MEM_HUGE] = {true, MEM_HUGE_PAGE_TYPE, MEM_HBM_TYPE},
    [ACL_HBM_MEM_NORMAL] = {true, MEM_NORMAL_PAGE_TYPE, MEM_HBM_TYPE},
    [ACL_DDR_MEM_P2P_HUGE] = {true, MEM_HUGE_PAGE_TYPE, MEM_P2P_DDR_TYPE},
    [ACL_DDR_MEM_P2P_NORMAL] = {true, MEM_NORMAL_PAGE_TYPE, MEM_P2P_DDR_TYPE},
    [ACL_HBM_MEM_P2P_HUGE] = {true, MEM_HUGE_PAGE_TYPE, MEM_P2P_HBM_TYPE},
    [ACL_HBM_MEM_P2P_NORMAL] = {true, MEM_NORMAL_PAGE_TYPE, MEM_P2P_HBM_TYPE},
    [ACL_HBM_MEM_HUGE1G] = {true, MEM_GIANT_PAGE_TYPE, MEM_HBM_TYPE},
    [ACL_HBM_MEM_P2P_HUGE1G] = {true, MEM_GIANT_PAGE_TYPE, MEM_P2P_HBM_TYPE},
    [ACL_MEM_NORMAL] = {true, MEM_NORMAL_PAGE_TYPE, MEM_HBM_TYPE},
    [ACL_MEM_HUGE] = {true, MEM_HUGE_PAGE_TYPE, MEM_HBM_TYPE},
    [ACL_MEM_HUGE1G] = {true, MEM_GIANT_PAGE_TYPE, MEM_HBM_TYPE},
    [ACL_MEM_P2P_NORMAL] = {true, MEM_NORMAL_PAGE_TYPE, MEM_P2P_HBM_TYPE},
    [ACL_MEM_P2P_HUGE] = {true, MEM_HUGE_PAGE_TYPE, MEM_P2P_HBM_TYPE},
    [ACL_MEM_P2P_HUGE1G] = {true, MEM_GIANT_PAGE_TYPE, MEM_P2P_HBM_TYPE},
};

/* Side by location type; -1: memory cannot be there. */
static const int8_t sides[] = {
    [ACL_MEM_LOCATION_TYPE_HOST] = MEM_HOST_SIDE,
    [ACL_MEM_LOCATION_TYPE_DEVICE] = MEM_DEV_SIDE,
    [ACL_MEM_LOCATION_TYPE_UNREGISTERED] = -1,
    [ACL_MEM_LOCATION_TYPE_MANAGED] = -1,
    [ACL_MEM_LOCATION_TYPE_HOST_NUMA] = MEM_HOST_NUMA_SIDE,
};

static aclError side_of(const char *function, const aclrtMemLocation *location, uint32_t *side, uint32_t *id)
{
    if ((uint32_t)location->type >= MS_COUNT_OF(sides) || sides[location->type] < 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unsupported location type %d", function, (int)location->type);
    }
    *side = (uint32_t)sides[location->type];
    *id = location->id;
    return *side == MEM_DEV_SIDE ? snpu_dev_from_user(function, (int32_t)location->id, id) : ACL_SUCCESS;
}

static aclError to_driver(const char *function, const aclrtPhysicalMemProp *prop, struct drv_mem_prop *out)
{
    if (prop->handleType != ACL_MEM_HANDLE_TYPE_NONE || prop->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED ||
        (uint32_t)prop->memAttr >= MS_COUNT_OF(attrs) || !attrs[prop->memAttr].known) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "%s: unsupported handle type %d, allocation type %d or memory attribute %d", function,
                         (int)prop->handleType, (int)prop->allocationType, (int)prop->memAttr);
    }
    *out = (struct drv_mem_prop){
        .module_id = SNPU_MODULE_APP,
        .pg_type = attrs[prop->memAttr].pages,
        .mem_type = attrs[prop->memAttr].memory,
    };
    return side_of(function, &prop->location, &out->side, &out->devid);
}

static aclrtMemAttr attr_of(const struct drv_mem_prop *prop)
{
    for (uint32_t i = 0; i < MS_COUNT_OF(attrs); i++) {
        if (attrs[i].known && attrs[i].pages == prop->pg_type && attrs[i].memory == prop->mem_type) {
            return (aclrtMemAttr)i;
        }
    }
    return ACL_HBM_MEM_NORMAL;
}

static aclError to_location(uint32_t side, uint32_t id, aclrtMemLocation *out)
{
    int32_t user_dev = (int32_t)id;
    aclError code = side == MEM_DEV_SIDE ? snpu_dev_to_user(id, &user_dev) : ACL_SUCCESS;
    out->id = (uint32_t)user_dev;
    out->type = side == MEM_DEV_SIDE         ? ACL_MEM_LOCATION_TYPE_DEVICE
                : side == MEM_HOST_NUMA_SIDE ? ACL_MEM_LOCATION_TYPE_HOST_NUMA
                                             : ACL_MEM_LOCATION_TYPE_HOST;
    return code;
}

/* ---- addresses and memory ---- */
aclError aclrtReserveMemAddressImpl(void **virPtr, size_t size, size_t alignment, void *expectPtr, uint64_t flags)
{
    SNPU_ACL_NOT_NULL(virPtr);
    SNPU_ACL_REQUIRE(size > 0, "aclrtReserveMemAddress: size is 0");
    return rtReserveMemAddress(virPtr, size, alignment, expectPtr, flags);
}

aclError aclrtReserveMemAddressNoUCMemoryImpl(void **virPtr, size_t size, size_t alignment, void *expectPtr,
                                              uint64_t flags)
{
    SNPU_ACL_NOT_NULL(virPtr);
    SNPU_ACL_REQUIRE(size > 0, "aclrtReserveMemAddressNoUCMemory: size is 0");
    return rtReserveMemAddress(virPtr, size, alignment, expectPtr, flags);
}

aclError aclrtReleaseMemAddressImpl(void *virPtr)
{
    SNPU_ACL_NOT_NULL(virPtr);
    return rtReleaseMemAddress(virPtr);
}

_Static_assert(sizeof(rtDrvMemProp_t) == sizeof(struct drv_mem_prop), "properties are passed on as they are");

aclError aclrtMallocPhysicalImpl(aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop,
                                 uint64_t flags)
{
    struct drv_mem_prop wanted;
    SNPU_ACL_NOT_NULL(handle);
    SNPU_ACL_NOT_NULL(prop);
    SNPU_ACL_REQUIRE(size > 0, "aclrtMallocPhysical: size is 0");
    if (flags != 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMallocPhysical: flags must be 0");
    }
    aclError code = to_driver("aclrtMallocPhysical", prop, &wanted);
    rtDrvMemProp_t passed;
    memcpy(&passed, &wanted, sizeof(passed));
    return code != 0 ? code : rtMallocPhysical(handle, size, &passed, flags);
}

aclError aclrtFreePhysicalImpl(aclrtDrvMemHandle handle)
{
    SNPU_ACL_NOT_NULL(handle);
    return rtFreePhysical(handle);
}

aclError aclrtMapMemImpl(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags)
{
    SNPU_ACL_NOT_NULL(virPtr);
    SNPU_ACL_NOT_NULL(handle);
    return rtMapMem(virPtr, size, offset, handle, flags);
}

/* Mapped without access until aclrtMemSetAccess. */
aclError aclrtMemMapNoAccessImpl(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags)
{
    SNPU_ACL_NOT_NULL(virPtr);
    SNPU_ACL_NOT_NULL(handle);
    struct drv_mem_prop prop;
    aclError code = snpu_vmm_properties(handle, &prop);
    if (code == 0) {
        code = rtMapMem(virPtr, size, offset, handle, flags);
    }
    if (code != 0) {
        return code;
    }
    struct drv_mem_access_desc none = {.type = MEM_ACCESS_TYPE_NONE,
                                       .location = {.id = prop.devid, .side = (enum drv_mem_side)prop.side}};
    code = snpu_vmm_set_access(virPtr, size, &none, 1);
    if (code != 0) {
        rtUnmapMem(virPtr);
    }
    return code;
}

aclError aclrtUnmapMemImpl(void *virPtr)
{
    SNPU_ACL_NOT_NULL(virPtr);
    return rtUnmapMem(virPtr);
}

/* ---- access ---- */
#define MAX_ACCESS_DESCS 256

aclError aclrtMemSetAccessImpl(void *virPtr, size_t size, aclrtMemAccessDesc *desc, size_t count)
{
    struct drv_mem_access_desc wanted[MAX_ACCESS_DESCS];
    SNPU_ACL_NOT_NULL(virPtr);
    SNPU_ACL_NOT_NULL(desc);
    SNPU_ACL_REQUIRE(count > 0 && count <= MAX_ACCESS_DESCS, "aclrtMemSetAccess: invalid number of descriptors %zu",
                     count);
    for (size_t i = 0; i < count; i++) {
        uint32_t side;
        memset(&wanted[i], 0, sizeof(wanted[i]));
        wanted[i].type = (drv_mem_access_type)desc[i].flags;
        aclError code = side_of("aclrtMemSetAccess", &desc[i].location, &side, &wanted[i].location.id);
        if (code != 0) {
            return code;
        }
        wanted[i].location.side = (enum drv_mem_side)side;
    }
    return snpu_vmm_set_access(virPtr, size, wanted, count);
}

aclError aclrtMemGetAccessImpl(void *virPtr, aclrtMemLocation *location, uint64_t *flag)
{
    uint32_t side;
    struct drv_mem_location where;
    SNPU_ACL_NOT_NULL(virPtr);
    SNPU_ACL_NOT_NULL(location);
    SNPU_ACL_NOT_NULL(flag);
    aclError code = side_of("aclrtMemGetAccess", location, &side, &where.id);
    if (code != 0) {
        return code;
    }
    where.side = (enum drv_mem_side)side;
    return snpu_vmm_get_access(virPtr, &where, flag);
}

/* ---- queries ---- */
aclError aclrtMemGetAllocationGranularityImpl(aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option,
                                              size_t *granularity)
{
    struct drv_mem_prop wanted;
    SNPU_ACL_NOT_NULL(prop);
    SNPU_ACL_NOT_NULL(granularity);
    aclError code = to_driver("aclrtMemGetAllocationGranularity", prop, &wanted);
    return code != 0 ? code : snpu_vmm_granularity(&wanted, (int32_t)option, granularity);
}

aclError aclrtMemGetAddressRangeImpl(void *ptr, void **pbase, size_t *psize)
{
    SNPU_ACL_NOT_NULL(ptr);
    SNPU_ACL_REQUIRE(pbase != NULL || psize != NULL, "aclrtMemGetAddressRange: pbase and psize are both NULL");
    return snpu_vmm_address_range(ptr, pbase, psize);
}

aclError aclrtMemRetainAllocationHandleImpl(void *virPtr, aclrtDrvMemHandle *handle)
{
    SNPU_ACL_NOT_NULL(virPtr);
    SNPU_ACL_NOT_NULL(handle);
    return snpu_vmm_retain(virPtr, handle);
}

aclError aclrtMemGetAllocationPropertiesFromHandleImpl(aclrtDrvMemHandle handle, aclrtPhysicalMemProp *prop)
{
    struct drv_mem_prop found;
    SNPU_ACL_NOT_NULL(handle);
    SNPU_ACL_NOT_NULL(prop);
    aclError code = snpu_vmm_properties(handle, &found);
    if (code != 0) {
        return code;
    }
    memset(prop, 0, sizeof(*prop));
    prop->handleType = ACL_MEM_HANDLE_TYPE_NONE;
    prop->allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    prop->memAttr = attr_of(&found);
    return to_location(found.side, found.devid, &prop->location);
}

/* ---- sharing physical memory ---- */
aclError aclrtMemExportToShareableHandleImpl(aclrtDrvMemHandle handle, aclrtMemHandleType handleType, uint64_t flags,
                                             uint64_t *shareableHandle)
{
    SNPU_ACL_NOT_NULL(handle);
    SNPU_ACL_NOT_NULL(shareableHandle);
    struct snpu_vmm_share share = {0};
    if (handleType != ACL_MEM_HANDLE_TYPE_NONE || flags > ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "aclrtMemExportToShareableHandle: unsupported handle type %d or flags %llu", (int)handleType,
                         (unsigned long long)flags);
    }
    aclError code = snpu_vmm_export(handle, flags, &share);
    if (code == 0) {
        *shareableHandle = share.number;
    }
    return code;
}

static aclError known_share_type(const char *function, aclrtMemSharedHandleType type)
{
    return type == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT || type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC
               ? ACL_SUCCESS
               : snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unsupported handle type %d", function, (int)type);
}

/* Handles of the second interface version: a number, or 128 bytes, by type. */
static struct snpu_vmm_share share_at(void *handle, aclrtMemSharedHandleType type)
{
    struct snpu_vmm_share share = {0};
    if (type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) {
        share.fabric = handle;
    } else {
        memcpy(&share.number, handle, sizeof(share.number));
    }
    return share;
}

aclError aclrtMemExportToShareableHandleV2Impl(aclrtDrvMemHandle handle, uint64_t flags,
                                               aclrtMemSharedHandleType shareType, void *shareableHandle)
{
    static const char function[] = "aclrtMemExportToShareableHandleV2";
    SNPU_ACL_NOT_NULL(handle);
    SNPU_ACL_NOT_NULL(shareableHandle);
    aclError code = known_share_type(function, shareType);
    if (code == 0 && flags > ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
        code = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid flags %llu", function, (unsigned long long)flags);
    }
    if (code != 0) {
        return code;
    }
    struct snpu_vmm_share share = {.fabric = shareType == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC ? shareableHandle : NULL};
    code = snpu_vmm_export(handle, flags, &share);
    if (code == 0 && share.fabric == NULL) {
        memcpy(shareableHandle, &share.number, sizeof(share.number));
    }
    return code;
}

aclError aclrtMemImportFromShareableHandleImpl(uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle *handle)
{
    uint32_t dev;
    SNPU_ACL_NOT_NULL(handle);
    const struct snpu_vmm_share share = {.number = shareableHandle};
    aclError code = snpu_dev_from_user("aclrtMemImportFromShareableHandle", deviceId, &dev);
    return code != 0 ? code : snpu_vmm_import(&share, dev, handle);
}

aclError aclrtMemImportFromShareableHandleV2Impl(void *shareableHandle, aclrtMemSharedHandleType shareType,
                                                 uint64_t flags, aclrtDrvMemHandle *handle)
{
    static const char function[] = "aclrtMemImportFromShareableHandleV2";
    struct snpu_ctx *ctx;
    SNPU_ACL_NOT_NULL(shareableHandle);
    SNPU_ACL_NOT_NULL(handle);
    aclError code = known_share_type(function, shareType);
    if (code == 0 && flags != 0) {
        code = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flags must be 0", function);
    }
    if (code == 0) {
        code = snpu_ctx_need(function, &ctx);
    }
    if (code != 0) {
        return code;
    }
    const struct snpu_vmm_share share = share_at(shareableHandle, shareType);
    return snpu_vmm_import(&share, ctx->dev, handle);
}

aclError aclrtMemSetPidToShareableHandleImpl(uint64_t shareableHandle, int32_t *pid, size_t pidNum)
{
    SNPU_ACL_NOT_NULL(pid);
    SNPU_ACL_REQUIRE(pidNum > 0 && pidNum <= UINT32_MAX,
                     "aclrtMemSetPidToShareableHandle: invalid number of processes %zu", pidNum);
    const struct snpu_vmm_share share = {.number = shareableHandle};
    return snpu_vmm_set_pids(&share, pid, pidNum);
}

aclError aclrtMemSetPidToShareableHandleV2Impl(void *shareableHandle, aclrtMemSharedHandleType shareType, int32_t *pid,
                                               size_t pidNum)
{
    SNPU_ACL_NOT_NULL(shareableHandle);
    SNPU_ACL_NOT_NULL(pid);
    SNPU_ACL_REQUIRE(pidNum > 0 && pidNum <= UINT32_MAX,
                     "aclrtMemSetPidToShareableHandleV2: invalid number of processes %zu", pidNum);
    aclError code = known_share_type("aclrtMemSetPidToShareableHandleV2", shareType);
    if (code != 0) {
        return code;
    }
    const struct snpu_vmm_share share = share_at(shareableHandle, shareType);
    return snpu_vmm_set_pids(&share, pid, pidNum);
}

/* ---- sharing allocations ---- */
aclError aclrtIpcMemGetExportKeyImpl(void *devPtr, size_t size, char *key, size_t len, uint64_t flags)
{
    SNPU_ACL_NOT_NULL(devPtr);
    SNPU_ACL_NOT_NULL(key);
    return snpu_ipc_export(devPtr, size, key, len, flags);
}

aclError aclrtIpcMemImportByKeyImpl(void **devPtr, const char *key, uint64_t flags)
{
    SNPU_ACL_NOT_NULL(devPtr);
    SNPU_ACL_NOT_NULL(key);
    return snpu_ipc_import(devPtr, key, flags);
}

aclError aclrtIpcMemSetImportPidImpl(const char *key, int32_t *pid, size_t num)
{
    SNPU_ACL_NOT_NULL(key);
    SNPU_ACL_NOT_NULL(pid);
    return snpu_ipc_set_pids(key, pid, num);
}

aclError aclrtIpcMemCloseImpl(const char *key)
{
    SNPU_ACL_NOT_NULL(key);
    return snpu_ipc_close(key);
}

aclError aclrtIpcMemSetAttrImpl(const char *key, aclrtIpcMemAttrType type, uint64_t attr)
{
    SNPU_ACL_NOT_NULL(key);
    SNPU_ACL_REQUIRE(type == ACL_RT_IPC_MEM_ATTR_ACCESS_LINK &&
                         attr <= ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_UB_MULTI_PORT_PATH,
                     "aclrtIpcMemSetAttr: unsupported attribute %d = %llu", (int)type, (unsigned long long)attr);
    return snpu_ipc_known(key); /* there is only one path between devices, and it is always used */
}
