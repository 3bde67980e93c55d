/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the driver's modules, by their number in allocation flags and handle properties. */
#include "memscope/model/model.h"

#include "base/macros.h"

static const char *const names[] = {
    "SLOG",        "IDEDD",
    "IDEDH",       "HCCL",
    "FMK",         "HIAIENGINE",
    "DVPP",        "RUNTIME",
    "CCE",         "HDC",
    "DRV",         "MDCFUSION",
    "MDCLOCATION", "MDCPERCEPTION",
    "MDCFSM",      "MDCCOMMON",
    "MDCMONITOR",  "MDCBSWP",
    "MDCDEFAULT",  "MDCSC",
    "MDCPNC",      "MLL",
    "DEVMM",       "KERNEL",
    "LIBMEDIA",    "CCECPU",
    "ASCENDDK",    "ROS",
    "HCCP",        "ROCE",
    "TEFUSION",    "PROFILING",
    "DP",          "APP",
    "TS",          "TSDUMP",
    "AICPU",       "LP",
    "TDT",         "FE",
    "MD",          "MB",
    "ME",          "IMU",
    "IMP",         "GE",
    "MDCFUSA",     "CAMERA",
    "ASCENDCL",    "TEEOS",
    "ISP",         "SIS",
    "HSM",         "DSS",
    "PROCMGR",     "BBOX",
    "AIVECTOR",    "TBE",
    "FV",          "MDCMAP",
    "TUNE",        "HSS",
    "FFTS",        "OP",
    "UDF",         "HICAID",
    "TSYNC",       "AUDIO",
    "TPRT",        "ASCENDCKERNEL",
    "ASYS",        "ATRACE",
    "RTC",         "SYSMONITOR",
    "AML",         "INVLID_MOUDLE_ID", /* sic: the vendor's word */
};
_Static_assert(MS_COUNT_OF(names) == 76, "numbers 0 to 75");

const char *ms_module_name(unsigned module_id)
{
    return module_id < MS_COUNT_OF(names) ? names[module_id] : "UNKNOWN";
}
