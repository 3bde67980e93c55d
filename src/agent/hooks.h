/* The hooks, in one table. A hook is a symbol of a foreign library, our replacement of the same name, and a pointer to
 * the real function; bindings make the replacement take effect:
 *
 *     preload      the replacement is exported under the symbol's name
 *     GOT patching for programs that were started without us: ms_hooks[] says what to look for and what to put there
 *     mstx         the front end asks InitInjectionMstx for functions (hooks/mstx.c), nothing in this table
 *
 *     X(library, result, name, parameters, arguments, result if there is no real one, other name of the real one)
 *
 * Real functions are found at their first call (resolve.c): the symbol behind us in the search order, the other name,
 * the symbol in the library itself. */
#ifndef MS_AGENT_HOOKS_H
#define MS_AGENT_HOOKS_H

#include "ascend_hal.h"
#include "acl/acl.h"

#include <stdint.h>

/* Libraries by role; each lists the file names (SONAMEs) under which releases ship it. */
#define MS_LIBRARIES(X)                                                                                                \
    X(HAL, "libascend_hal.so", NULL)                                                                                   \
    X(ACL, "libascendcl.so", "libacl_rt.so")                                                                           \
    X(ACL_IMPL, "libascendcl_impl.so", "libacl_rt_impl.so")                                                            \
    X(RUNTIME, "libruntime.so", NULL)                                                                                  \
    X(PROFAPI, "libprofapi.so", NULL)

enum ms_library {
#define X(name, first, second) MS_LIBRARY_##name,
    MS_LIBRARIES(X)
#undef X
        MS_LIBRARY_COUNT
};

enum { MS_ACL_NO_ORIGINAL = 500000, MS_ACL_NO_LAUNCH = 500003 };

/* clang-format off */
#define MS_HOOKS_MEMORY(X)                                                                                             \
    X(HAL, drvError_t, halMemAlloc, (void **pp, unsigned long long size, unsigned long long flag), (pp, size, flag),   \
      DRV_ERROR_NOT_SUPPORT, "halMemAllocInner")                                                                       \
    X(HAL, drvError_t, halMemFree, (void *pp), (pp), DRV_ERROR_NOT_SUPPORT, "halMemFreeInner")                         \
    X(HAL, drvError_t, halMemCreate, (drv_mem_handle_t **handle, size_t size, const struct drv_mem_prop *prop,         \
      uint64_t flag), (handle, size, prop, flag), DRV_ERROR_RESERVED, "halMemCreateInner")                             \
    X(HAL, drvError_t, halMemRelease, (drv_mem_handle_t *handle), (handle), DRV_ERROR_RESERVED, "halMemReleaseInner")  \
    X(HAL, drvError_t, halMemAddressReserve, (void **ptr, size_t size, size_t alignment, void *addr, uint64_t flag),   \
      (ptr, size, alignment, addr, flag), DRV_ERROR_NOT_SUPPORT, NULL)                                                 \
    X(HAL, drvError_t, halMemAddressFree, (void *ptr), (ptr), DRV_ERROR_NOT_SUPPORT, NULL)                             \
    X(HAL, drvError_t, halMemMap, (void *ptr, size_t size, size_t offset, drv_mem_handle_t *handle, uint64_t flag),    \
      (ptr, size, offset, handle, flag), DRV_ERROR_NOT_SUPPORT, NULL)                                                  \
    X(HAL, drvError_t, halMemUnmap, (void *ptr), (ptr), DRV_ERROR_NOT_SUPPORT, NULL)                                   \
    X(ACL, aclError, aclrtHostRegisterV2, (void *ptr, uint64_t size, uint32_t flag), (ptr, size, flag),                \
      MS_ACL_NO_ORIGINAL, NULL)                                                                                        \
    X(ACL, aclError, aclrtHostUnregister, (void *ptr), (ptr), MS_ACL_NO_ORIGINAL, NULL)

#define MS_HOOKS_LIFE(X)                                                                                               \
    X(ACL, aclError, aclInit, (const char *configPath), (configPath), MS_ACL_NO_ORIGINAL, NULL)                        \
    X(ACL, aclError, aclFinalize, (void), (), MS_ACL_NO_ORIGINAL, NULL)                                                \
    X(ACL, aclError, aclrtSetDevice, (int32_t deviceId), (deviceId), MS_ACL_NO_ORIGINAL, NULL)
/* clang-format on */

#define MS_HOOKS(X)                                                                                                    \
    MS_HOOKS_MEMORY(X)                                                                                                 \
    MS_HOOKS_LIFE(X)

enum ms_hook_id {
#define X(library, result, name, parameters, arguments, missing, other) MS_HOOK_##name,
    MS_HOOKS(X)
#undef X
        MS_HOOK_COUNT
};

typedef void (*ms_function)(void);

struct ms_hook {
    const char *symbol;
    const char *other; /* name of the same function that nobody hooks; NULL: none */
    ms_function replacement;
    ms_function *real;
    enum ms_library library;
};
extern const struct ms_hook ms_hooks[MS_HOOK_COUNT];

/* The real function; looked up by its first call. */
#define X(library, result, name, parameters, arguments, missing, other) extern result(*ms_real_##name) parameters;
MS_HOOKS(X)
#undef X
#define MS_REAL(name) (*__atomic_load_n(&ms_real_##name, __ATOMIC_RELAXED))

/* Finds the real functions of all libraries that are loaded already; for the constructor. */
void ms_resolve_loaded(void);

/* A function that is called but not hooked; NULL if it is not to be had. Takes the loader's lock: not in a hot path. */
ms_function ms_resolve_symbol(enum ms_library library, const char *symbol);

#endif
