/* SPDX-License-Identifier: Apache-2.0 */
/* The mstx front end: finds a tool once and forwards calls to it. Included by ms_tools_ext.h.
 *
 * One context per shared object: weak and hidden, so that all source files of an object share it and no other object
 * does. The first call initialises it, on whichever thread; other threads wait meanwhile. A tool that itself calls
 * mstx while it is being initialised finds all slots empty instead of waiting for itself. Once initialised, the
 * context stays so: a call then costs one load with acquire order, one load of the slot, one branch. */
#include "ms_tools_ext.h"

#ifndef MSTX_MS_TOOLS_EXT_IMPL_H
#define MSTX_MS_TOOLS_EXT_IMPL_H

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MSTX_IMPL_FRESH, MSTX_IMPL_BUSY, MSTX_IMPL_READY };

/* Every module has as many slots as the largest; slot 0 is never used. */
enum { MSTX_IMPL_SLOTS = 8 };

typedef struct mstxImplContext {
    int state;
    pthread_t initializer; /* while BUSY; 0 until known */
    mstxFuncPointer slots[MSTX_API_MODULE_SIZE][MSTX_IMPL_SLOTS];
    mstxFuncPointer *tables[MSTX_API_MODULE_SIZE][MSTX_IMPL_SLOTS];
} mstxImplContext;

extern __attribute__((weak, visibility("hidden"))) mstxImplContext mstxImplContext_v1;
__attribute__((weak, visibility("hidden"))) mstxImplContext mstxImplContext_v1;

static inline __attribute__((unused)) int mstxImplGetModuleFuncTable(int module, mstxFuncTable *outTable,
                                                                     unsigned int *outSize)
{
    static const unsigned int sizes[MSTX_API_MODULE_SIZE] = {0, MSTX_API_CORE_SIZE, MSTX_API_CORE2_SIZE,
                                                             MSTX_API_CORE_MEM_SIZE};
    mstxImplContext *context = &mstxImplContext_v1;
    unsigned int id;

    if (module <= MSTX_API_MODULE_INVALID || module >= MSTX_API_MODULE_SIZE || !outTable) {
        return MSTX_FAIL;
    }
    for (id = 0; id < MSTX_IMPL_SLOTS; id++) {
        context->tables[module][id] = &context->slots[module][id];
    }
    *outTable = context->tables[module];
    if (outSize) {
        *outSize = sizes[module];
    }
    return MSTX_SUCCESS;
}

static inline __attribute__((unused)) void mstxImplLoadTool(mstxImplContext *context)
{
    const char *path = getenv("MSTX_INJECTION_PATH");
    /* If the library cannot be opened, this is NULL, and the global scope is searched. */
    void *library = path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    union {
        void *object;
        MstxInitInjectionFunc function;
    } init;
    unsigned int module, id;

    init.object = dlsym(library, "InitInjectionMstx");
    if (init.object && init.function(mstxImplGetModuleFuncTable) == MSTX_SUCCESS) {
        return;
    }
    for (module = 0; module < MSTX_API_MODULE_SIZE; module++) {
        for (id = 0; id < MSTX_IMPL_SLOTS; id++) {
            __atomic_store_n(&context->slots[module][id], (mstxFuncPointer)0, __ATOMIC_RELAXED);
        }
    }
}

static __attribute__((noinline, cold, unused)) int mstxImplSetUp(mstxImplContext *context)
{
    int seen = MSTX_IMPL_FRESH;

    if (__atomic_compare_exchange_n(&context->state, &seen, MSTX_IMPL_BUSY, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&context->initializer, pthread_self(), __ATOMIC_RELAXED);
        mstxImplLoadTool(context);
        __atomic_store_n(&context->state, MSTX_IMPL_READY, __ATOMIC_RELEASE);
        return 1;
    }
    while (seen == MSTX_IMPL_BUSY) {
        if (pthread_equal(__atomic_load_n(&context->initializer, __ATOMIC_RELAXED), pthread_self())) {
            return 0;
        }
        sched_yield();
        seen = __atomic_load_n(&context->state, __ATOMIC_ACQUIRE);
    }
    return 1;
}

/* The tool's function, or NULL. */
static inline __attribute__((unused)) mstxFuncPointer mstxImplSlot(int module, int id)
{
    mstxImplContext *context = &mstxImplContext_v1;

    if (__builtin_expect(__atomic_load_n(&context->state, __ATOMIC_ACQUIRE) != MSTX_IMPL_READY, 0) &&
        !mstxImplSetUp(context)) {
        return (mstxFuncPointer)0;
    }
    return __atomic_load_n(&context->slots[module][id], __ATOMIC_RELAXED);
}

#define MSTX_IMPL_CALL(module, id, none, ret, params, args)                                                            \
    do {                                                                                                               \
        mstxFuncPointer slot = mstxImplSlot(MSTX_API_MODULE_##module, MSTX_API_##id);                                  \
        return slot ? ((ret(*) params)slot)args : none;                                                                \
    } while (0)

#define MSTX_IMPL_CALL_VOID(module, id, params, args)                                                                  \
    do {                                                                                                               \
        mstxFuncPointer slot = mstxImplSlot(MSTX_API_MODULE_##module, MSTX_API_##id);                                  \
        if (slot) {                                                                                                    \
            ((void(*) params)slot) args;                                                                               \
        }                                                                                                              \
    } while (0)

MSTX_DECL void mstxMarkA(const char *message, aclrtStream stream)
{
    MSTX_IMPL_CALL_VOID(CORE, CORE_MARK_A, (const char *, aclrtStream), (message, stream));
}

MSTX_DECL mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream)
{
    MSTX_IMPL_CALL(CORE, CORE_RANGE_START_A, MSTX_INVALID_RANGE_ID, mstxRangeId, (const char *, aclrtStream),
                   (message, stream));
}

MSTX_DECL void mstxRangeEnd(mstxRangeId id)
{
    MSTX_IMPL_CALL_VOID(CORE, CORE_RANGE_END, (mstxRangeId), (id));
}

MSTX_DECL void mstxGetToolId(uint64_t *id)
{
    MSTX_IMPL_CALL_VOID(CORE, CORE_GET_TOOL_ID, (uint64_t *), (id));
}

MSTX_DECL mstxDomainHandle_t mstxDomainCreateA(const char *name)
{
    MSTX_IMPL_CALL(CORE_DOMAIN, CORE2_DOMAIN_CREATE_A, NULL, mstxDomainHandle_t, (const char *), (name));
}

MSTX_DECL void mstxDomainDestroy(mstxDomainHandle_t domain)
{
    MSTX_IMPL_CALL_VOID(CORE_DOMAIN, CORE2_DOMAIN_DESTROY, (mstxDomainHandle_t), (domain));
}

MSTX_DECL void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message, aclrtStream stream)
{
    MSTX_IMPL_CALL_VOID(CORE_DOMAIN, CORE2_DOMAIN_MARK_A, (mstxDomainHandle_t, const char *, aclrtStream),
                        (domain, message, stream));
}

MSTX_DECL mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char *message, aclrtStream stream)
{
    MSTX_IMPL_CALL(CORE_DOMAIN, CORE2_DOMAIN_RANGE_START_A, MSTX_INVALID_RANGE_ID, mstxRangeId,
                   (mstxDomainHandle_t, const char *, aclrtStream), (domain, message, stream));
}

MSTX_DECL void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id)
{
    MSTX_IMPL_CALL_VOID(CORE_DOMAIN, CORE2_DOMAIN_RANGE_END, (mstxDomainHandle_t, mstxRangeId), (domain, id));
}

MSTX_DECL mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, const mstxMemHeapDesc_t *desc)
{
    MSTX_IMPL_CALL(CORE_MEM, CORE_MEMHEAP_REGISTER, NULL, mstxMemHeapHandle_t,
                   (mstxDomainHandle_t, const mstxMemHeapDesc_t *), (domain, desc));
}

MSTX_DECL void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap)
{
    MSTX_IMPL_CALL_VOID(CORE_MEM, CORE_MEMHEAP_UNREGISTER, (mstxDomainHandle_t, mstxMemHeapHandle_t), (domain, heap));
}

MSTX_DECL void mstxMemRegionsRegister(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t *desc)
{
    MSTX_IMPL_CALL_VOID(CORE_MEM, CORE_MEM_REGIONS_REGISTER,
                        (mstxDomainHandle_t, const mstxMemRegionsRegisterBatch_t *), (domain, desc));
}

MSTX_DECL void mstxMemRegionsUnregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t *desc)
{
    MSTX_IMPL_CALL_VOID(CORE_MEM, CORE_MEM_REGIONS_UNREGISTER,
                        (mstxDomainHandle_t, const mstxMemRegionsUnregisterBatch_t *), (domain, desc));
}

MSTX_DECL void mstxMemPermissionsAssign(mstxDomainHandle_t domain, const mstxMemPermissionsAssignBatch_t *desc)
{
    MSTX_IMPL_CALL_VOID(CORE_MEM, CORE_MEM_PERMISSIONS_ASSIGN,
                        (mstxDomainHandle_t, const mstxMemPermissionsAssignBatch_t *), (domain, desc));
}

#undef MSTX_IMPL_CALL
#undef MSTX_IMPL_CALL_VOID

#ifdef __cplusplus
}
#endif

#endif
