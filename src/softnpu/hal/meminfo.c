/* SPDX-License-Identifier: Apache-2.0 */
/* Memory capacity and use, per device and module, and pointer attributes.
 *
 * Pools. The real device divides its memory into a pool of normal pages and one of huge pages; here every page can
 * be either, and a rule keeps the reported figures consistent: the normal pool is 1/32 of the capacity, the huge
 * pool the rest. An allocation is booked in the pool of its page size (giant pages in the huge one) while that pool
 * has space, and beyond that in the other. So the totals add up to the capacity, the free sizes add up to what can
 * still be allocated, and no pool becomes negative. The giant pool is the huge one expressed in whole GiB; it is not
 * added to it. All processes count. These devices have no DDR: its pools are empty. Peer-to-peer memory is the same
 * HBM. */
#include "softnpu/hal/arena.h"
#include "softnpu/hal/process.h"
#include "softnpu/hal/spans.h"

#include "base/macros.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void fill_pools(uint32_t dev, struct MemPhyInfo *out)
{
    uint64_t used_b[SNPU_PAGE_TYPES];
    uint64_t capacity_b = snpu_hal_capacity_b(dev);
    uint64_t normal_b = capacity_b / 32 / SNPU_HUGE_B * SNPU_HUGE_B;
    uint64_t huge_b = capacity_b - normal_b;
    snpu_machine_used(snpu__machine(), dev, used_b);
    uint64_t small = min_u64(used_b[SNPU_PAGE_NORMAL], capacity_b);
    uint64_t large = min_u64(used_b[SNPU_PAGE_HUGE] + used_b[SNPU_PAGE_GIANT], capacity_b - small);
    uint64_t small_home = min_u64(small, normal_b), large_home = min_u64(large, huge_b);
    out->total = normal_b;
    out->huge_total = huge_b;
    out->free = normal_b - small_home - (large - large_home);
    out->huge_free = huge_b - large_home - (small - small_home);
    out->giant_total = huge_b / SNPU_GIANT_B * SNPU_GIANT_B;
    out->giant_free = out->huge_free / SNPU_GIANT_B * SNPU_GIANT_B;
}

/* Sets addr_info.flag to 1 if every address is memory of one of the requested types (bit = virtual type of
 * halMemAlloc). */
static drvError_t check_addresses(struct MemAddrInfo *info)
{
    if (info->addr == NULL || info->cnt == 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    info->flag = 1;
    for (unsigned i = 0; i < info->cnt; i++) {
        struct snpu_range range;
        unsigned type = 0;
        if (snpu_hal_lookup(info->addr[i], &range)) {
            bool device = !range.host_side && range.kind != SNPU_RANGE_MANAGED;
            type = range.dvpp                          ? MEM_DVPP >> MEM_VIRT_BIT
                   : range.kind == SNPU_RANGE_HOST     ? MEM_HOST >> MEM_VIRT_BIT
                   : range.kind == SNPU_RANGE_RESERVED ? 4 /* the check's own bit for reserved addresses */
                   : device                            ? MEM_DEV >> MEM_VIRT_BIT
                                                       : MEM_SVM >> MEM_VIRT_BIT;
            type = 1u << type;
        }
        if ((type & info->mem_type) == 0) {
            info->flag = 0;
            break;
        }
    }
    return DRV_ERROR_NONE;
}

DVresult halMemGetInfoEx(DVdevice device, unsigned int type, struct MemInfo *info)
{
    if (info == NULL || type == 0 || type >= MEM_INFO_TYPE_MAX) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!snpu__device_exists(device)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    switch (type) {
    case MEM_INFO_TYPE_HBM_SIZE:
    case MEM_INFO_TYPE_HBM_P2P_SIZE:
        fill_pools(device, &info->phy_info);
        return DRV_ERROR_NONE;
    case MEM_INFO_TYPE_DDR_SIZE:
    case MEM_INFO_TYPE_DDR_P2P_SIZE:
        memset(&info->phy_info, 0, sizeof(info->phy_info));
        return DRV_ERROR_NONE;
    case MEM_INFO_TYPE_ADDR_CHECK:
        return check_addresses(&info->addr_info);
    default:
        return DRV_ERROR_NOT_SUPPORT;
    }
}

DVresult halMemGetInfo(DVdevice device, unsigned int type, struct MemInfo *info)
{
    return halMemGetInfoEx(device, type, info);
}

/* ---- use by module ---- */

/* The driver's own names; ids that it does not name are "Reserved". */
static const char *const module_names[SNPU_MODULES] = {
    "UNKNOWN",
    "IDEDD",
    "IDEDH",
    "HCCL",
    "FMK",
    "HIAIENGINE",
    "DVPP",
    "RUNTIME",
    "CCE",
    "HLT",
    "DRV",
    "MDCFUSION",
    "MDCLOCATION",
    "MDCPERCEPTION",
    "MDCFSM",
    "MDCCOMMON",
    "MDCMONITOR",
    "MDCBSWP",
    "MDCDEFAULT",
    "MDCSC",
    "MDCPNC",
    "MLL",
    "DEVMM",
    "TSDRV",
    "LIBMEDIA",
    "CCECPU",
    "ASCENDDK",
    "HCCP_SCHEDULE",
    "HCCP",
    "ROCE",
    "TEFUSION",
    "PROFILING",
    "DP",
    "APP",
    "TS",
    "TSDUMP",
    "AICPU",
    "AICPU_SCHEDULE",
    "TDT",
    "FE",
    "MD",
    "MB",
    "ME",
    "IMU",
    "IMP",
    "GE",
    "MDCFUSA",
    "CAMERA",
    "ASCENDCL",
    "TEEOS",
    "ISP",
    "SIS",
    "HSM",
    "DSS",
    "PROCMGR",
    "BBOX",
    "AIVECTOR",
    "TBE",
    "FV",
    "MDCMAP",
    "TUNE",
    "HSS",
    "FFTS",
    "OP",
    "UDF",
    "HICAID",
    "TSYNC",
    "AUDIO",
    "TPRT",
    "ASCENDCKERNEL",
    "ASYS",
    "ATRACE",
    "RTC",
    "SYSMONITOR",
    "AML",
    "MBUFF",
    "CUSTOM_SCHEDULE",
};

const char *halGetMemModuleName(uint32_t module_id)
{
    return module_id < SNPU_MODULES ? module_names[module_id] : "Reserved";
}

/* The modules of this process that have or had memory on the device. */
drvError_t halGetMemUsageInfo(uint32_t dev_id, struct mem_module_usage *mem_usage, size_t in_num, size_t *out_num)
{
    if (mem_usage == NULL || out_num == NULL || in_num == 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!snpu__device_exists(dev_id)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    size_t filled = 0;
    for (uint32_t module = 0; module < SNPU_MODULES && filled < in_num; module++) {
        uint64_t now_b, peak_b;
        snpu_machine_module(snpu__machine(), dev_id, module, &now_b, &peak_b);
        if (peak_b == 0) {
            continue;
        }
        struct mem_module_usage *out = &mem_usage[filled++];
        memset(out, 0, sizeof(*out));
        snprintf(out->name, sizeof(out->name), "%s", module_names[module]);
        out->cur_mem_size = now_b;
        out->mem_peak_size = peak_b;
    }
    *out_num = filled;
    return DRV_ERROR_NONE;
}

/* ---- pointers ---- */

DVresult drvMemGetAttribute(DVdeviceptr vptr, struct DVattribute *attr)
{
    static const uint32_t types[] = {
        [SNPU_RANGE_NONE] = DV_MEM_USER_MALLOC,         [SNPU_RANGE_DEVICE] = DV_MEM_LOCK_DEV,
        [SNPU_RANGE_HOST] = DV_MEM_LOCK_HOST,           [SNPU_RANGE_MANAGED] = DV_MEM_SVM,
        [SNPU_RANGE_RESERVED] = DV_MEM_LOCK_DEV,        [SNPU_RANGE_MAPPED] = DV_MEM_LOCK_DEV,
        [SNPU_RANGE_REGISTERED] = DV_MEM_USER_REGISTER, [SNPU_RANGE_IMPORTED] = DV_MEM_LOCK_DEV,
    };
    struct snpu_range range;
    if (attr == NULL || vptr == 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    bool known = snpu_hal_lookup((const void *)(uintptr_t)vptr, &range);
    if (!known && snpu_arena_of((uintptr_t)vptr) != NULL) {
        return DRV_ERROR_INVALID_VALUE; /* in a device window, but not allocated */
    }
    memset(attr, 0, sizeof(*attr));
    attr->memType = range.dvpp                                           ? DV_MEM_LOCK_DEV_DVPP
                    : range.kind == SNPU_RANGE_MAPPED && range.host_side ? DV_MEM_LOCK_HOST
                                                                         : types[range.kind];
    attr->devId = range.dev;
    attr->pageSize = known ? range.page_b : (uint32_t)sysconf(_SC_PAGESIZE);
    return DRV_ERROR_NONE;
}

DVresult halMemGetAddressRange(DVdeviceptr ptr, DVdeviceptr *pbase, size_t *psize)
{
    struct snpu_range range;
    if ((pbase == NULL && psize == NULL) || !snpu_hal_lookup((const void *)(uintptr_t)ptr, &range)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (pbase != NULL) {
        *pbase = range.base;
    }
    if (psize != NULL) {
        *psize = range.size_b;
    }
    return DRV_ERROR_NONE;
}

/* The driver's tuning requests; none has a meaning here. */
drvError_t halMemCtl(int type, void *param_value, size_t param_value_size, void *out_value, size_t *out_size_ret)
{
    return DRV_ERROR_NOT_SUPPORT;
}
