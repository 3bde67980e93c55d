/* SPDX-License-Identifier: Apache-2.0 */
/* mstx: marks, ranges, domains and memory pools that a program reports to a tool.
 *
 * By default everything is in the headers: a program links nothing but the C library, and each shared object has one
 * small context. With MSTX_NO_IMPL defined the functions are only declared and must be linked from
 * libms_tools_ext.so. Without a tool every call is a no-op. */
#ifndef MSTX_MS_TOOLS_EXT_H
#define MSTX_MS_TOOLS_EXT_H

#include <stddef.h>
#include <stdint.h>

#ifndef MSTX_DECL
#ifdef MSTX_NO_IMPL
#define MSTX_DECL extern
#else
#define MSTX_DECL static inline __attribute__((unused))
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef void *aclrtStream;

#define MSTX_SUCCESS             0
#define MSTX_FAIL                1

#define MSTX_INVALID_RANGE_ID    0

#define MSTX_TOOL_INVALID_ID     0x0
#define MSTX_TOOL_MSPROF_ID      0x1000
#define MSTX_TOOL_MSOPPROF_ID    0x1001
#define MSTX_TOOL_MSSANITIZER_ID 0x1002
#define MSTX_TOOL_MSLEAKS_ID     0x1003

typedef uint64_t mstxRangeId;

struct mstxDomainRegistration_st;
typedef struct mstxDomainRegistration_st mstxDomainRegistration_t;
typedef mstxDomainRegistration_t *mstxDomainHandle_t;

/* ---- marks and ranges; a NULL stream marks only the host ---- */
MSTX_DECL void mstxMarkA(const char *message, aclrtStream stream);
/** @brief Returns 0 without a tool. */
MSTX_DECL mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream);
MSTX_DECL void mstxRangeEnd(mstxRangeId id);
/** @brief One of MSTX_TOOL_*; unchanged without a tool. */
MSTX_DECL void mstxGetToolId(uint64_t *id);

/* ---- the same in a domain ---- */
MSTX_DECL mstxDomainHandle_t mstxDomainCreateA(const char *name);
MSTX_DECL void mstxDomainDestroy(mstxDomainHandle_t domain);
MSTX_DECL void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message, aclrtStream stream);
MSTX_DECL mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char *message, aclrtStream stream);
MSTX_DECL void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id);

/* ---- the tool's interface ----
 * The first call of any function looks for InitInjectionMstx in the library named by MSTX_INJECTION_PATH, or else in
 * the global scope, and calls it with a function that returns tables of slots. A tool stores its functions with
 * *(table[id]) = fn, for ids below the table's size. */
typedef void (*mstxFuncPointer)(void);
typedef mstxFuncPointer **mstxFuncTable;
typedef int (*mstxGetModuleFuncTableFunc)(int module, mstxFuncTable *outTable, unsigned int *outSize);
typedef int (*MstxInitInjectionFunc)(mstxGetModuleFuncTableFunc getModuleFuncTable);

typedef enum mstxFuncModule {
    MSTX_API_MODULE_INVALID = 0,
    MSTX_API_MODULE_CORE = 1,
    MSTX_API_MODULE_CORE_DOMAIN = 2,
    MSTX_API_MODULE_CORE_MEM = 3,
    MSTX_API_MODULE_SIZE,
} mstxFuncModule;

typedef enum mstxImplCoreFuncId {
    MSTX_API_CORE_INVALID = 0,
    MSTX_API_CORE_MARK_A = 1,
    MSTX_API_CORE_RANGE_START_A = 2,
    MSTX_API_CORE_RANGE_END = 3,
    MSTX_API_CORE_GET_TOOL_ID = 4,
    MSTX_API_CORE_SIZE,
} mstxImplCoreFuncId;

typedef enum mstxImplCoreDomainFuncId {
    MSTX_API_CORE2_INVALID = 0,
    MSTX_API_CORE2_DOMAIN_CREATE_A = 1,
    MSTX_API_CORE2_DOMAIN_DESTROY = 2,
    MSTX_API_CORE2_DOMAIN_MARK_A = 3,
    MSTX_API_CORE2_DOMAIN_RANGE_START_A = 4,
    MSTX_API_CORE2_DOMAIN_RANGE_END = 5,
    MSTX_API_CORE2_SIZE,
} mstxImplCoreDomainFuncId;

typedef enum mstxImplCoreMemFuncId {
    MSTX_API_CORE_MEM_INVALID = 0,
    MSTX_API_CORE_MEMHEAP_REGISTER = 1,
    MSTX_API_CORE_MEMHEAP_UNREGISTER = 2,
    MSTX_API_CORE_MEM_REGIONS_REGISTER = 3,
    MSTX_API_CORE_MEM_REGIONS_UNREGISTER = 4,
    MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN = 5,
    MSTX_API_CORE_MEM_SIZE,
} mstxImplCoreMemFuncId;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#include "ms_tools_ext_mem.h"

#ifndef MSTX_NO_IMPL
#include "ms_tools_ext_impl.h"
#endif

#endif
