/* SPDX-License-Identifier: Apache-2.0 */
/* A preload library that does what tools do: it defines the names that tools hook, counts the calls, and passes them
 * on. At exit it writes "name count" lines to $SPY_OUTPUT.
 *
 * The real function is looked up as a tool should: RTLD_NEXT, then the library that is already loaded (a program may
 * have opened it with RTLD_LOCAL). */
#include <acl/acl.h>
#include <ascend_hal.h>
#include <runtime/rt.h>

#include "abi/acl_impl.h"
#include "base/macros.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct note {
    const char *name;
    atomic_ulong calls;
    struct note *_Atomic next;
};

static struct note *_Atomic notes;

static void note_call(struct note *note)
{
    if (atomic_fetch_add(&note->calls, 1) == 0) {
        struct note *head = atomic_load(&notes);
        do {
            atomic_store(&note->next, head);
        } while (!atomic_compare_exchange_weak(&notes, &head, note));
    }
}

static void *real_function(const char *library, const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (f == NULL) {
        void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
        f = handle != NULL ? dlsym(handle, name) : NULL;
    }
    if (f == NULL) {
        fprintf(stderr, "spy: the real %s was not found\n", name);
        abort();
    }
    return f;
}

__attribute__((destructor)) static void write_report(void)
{
    const char *path = getenv("SPY_OUTPUT");
    FILE *out = path != NULL ? fopen(path, "w") : NULL;
    if (out == NULL) {
        return;
    }
    for (struct note *n = atomic_load(&notes); n != NULL; n = atomic_load(&n->next)) {
        fprintf(out, "%s %lu\n", n->name, atomic_load(&n->calls));
    }
    fclose(out);
}

#define SPY(library, result, symbol, parameters, arguments)                                                            \
    MS_EXPORT result symbol parameters                                                                                 \
    {                                                                                                                  \
        static struct note note = {.name = #symbol};                                                                   \
        static void *_Atomic real;                                                                                     \
        note_call(&note);                                                                                              \
        if (atomic_load(&real) == NULL) {                                                                              \
            atomic_store(&real, real_function(library, #symbol));                                                      \
        }                                                                                                              \
        return ((result(*) parameters)atomic_load(&real))arguments;                                                    \
    }

/* Driver: the functions that memory tools hook. */
#define HAL(result, name, parameters, arguments) SPY("libascend_hal.so", result, name, parameters, arguments)
HAL(drvError_t, halMemAlloc, (void **pp, unsigned long long size, unsigned long long flag), (pp, size, flag))
HAL(drvError_t, halMemFree, (void *pp), (pp))
HAL(drvError_t, halMemCreate, (drv_mem_handle_t * *handle, size_t size, const struct drv_mem_prop *prop, uint64_t flag),
    (handle, size, prop, flag))
HAL(drvError_t, halMemRelease, (drv_mem_handle_t * handle), (handle))
HAL(drvError_t, halMemAddressReserve, (void **ptr, size_t size, size_t alignment, void *addr, uint64_t flag),
    (ptr, size, alignment, addr, flag))
HAL(drvError_t, halMemAddressFree, (void *ptr), (ptr))
HAL(drvError_t, halMemMap, (void *ptr, size_t size, size_t offset, drv_mem_handle_t *handle, uint64_t flag),
    (ptr, size, offset, handle, flag))
HAL(drvError_t, halMemUnmap, (void *ptr), (ptr))
HAL(drvError_t, halMemRetainAllocationHandle, (drv_mem_handle_t * *handle, void *ptr), (handle, ptr))

/* Runtime: allocation functions below ACL, and every launch function. */
#define RT(result, name, parameters, arguments) SPY("libruntime.so", result, name, parameters, arguments)
RT(rtError_t, rtMalloc, (void **p, uint64_t size, rtMemType_t type, const uint16_t module), (p, size, type, module))
RT(rtError_t, rtFree, (void *p), (p))
RT(rtError_t, rtMallocPhysical, (rtDrvMemHandle * handle, size_t size, rtDrvMemProp_t *prop, uint64_t flags),
   (handle, size, prop, flags))
RT(rtError_t, rtMapMem, (void *p, size_t size, size_t offset, rtDrvMemHandle handle, uint64_t flags),
   (p, size, offset, handle, flags))
RT(rtError_t, rtKernelLaunch,
   (const void *stub, uint32_t blocks, void *args, uint32_t size, rtSmDesc_t *sm, rtStream_t stream),
   (stub, blocks, args, size, sm, stream))
RT(rtError_t, rtKernelLaunchWithHandleV2,
   (void *hdl, const uint64_t key, uint32_t blocks, rtArgsEx_t *args, rtSmDesc_t *sm, rtStream_t stream,
    const rtTaskCfgInfo_t *cfg),
   (hdl, key, blocks, args, sm, stream, cfg))
RT(rtError_t, rtKernelLaunchWithFlagV2,
   (const void *stub, uint32_t blocks, rtArgsEx_t *args, rtSmDesc_t *sm, rtStream_t stream, uint32_t flags,
    const rtTaskCfgInfo_t *cfg),
   (stub, blocks, args, sm, stream, flags, cfg))
RT(rtError_t, rtAicpuKernelLaunchExWithArgs,
   (const uint32_t type, const char *const op, const uint32_t blocks, const rtAicpuArgsEx_t *args, rtSmDesc_t *const sm,
    const rtStream_t stream, const uint32_t flags),
   (type, op, blocks, args, sm, stream, flags))
RT(rtError_t, rtLaunchKernelByFuncHandleV3,
   (rtFuncHandle func, uint32_t blocks, const rtArgsEx_t *const args, rtStream_t stream,
    const rtTaskCfgInfo_t *const cfg),
   (func, blocks, args, stream, cfg))
RT(rtError_t, rtsLaunchKernelWithConfig,
   (rtFuncHandle func, uint32_t blocks, rtStream_t stream, rtKernelLaunchCfg_t *cfg, rtArgsHandle args, void *reserve),
   (func, blocks, stream, cfg, args, reserve))
RT(rtError_t, rtsLaunchKernelWithDevArgs,
   (rtFuncHandle func, uint32_t blocks, rtStream_t stream, rtKernelLaunchCfg_t *cfg, const void *args, uint32_t size,
    void *reserve),
   (func, blocks, stream, cfg, args, size, reserve))
RT(rtError_t, rtsLaunchKernelWithHostArgs,
   (rtFuncHandle func, uint32_t blocks, rtStream_t stream, rtKernelLaunchCfg_t *cfg, void *args, uint32_t size,
    rtPlaceHolderInfo_t *holders, uint32_t count),
   (func, blocks, stream, cfg, args, size, holders, count))

/* ACL: all public names and their Impl functions, from the table. */
#define ACL_FN(status, result, name, parameters, arguments)                                                            \
    SPY("libascendcl.so", result, name, parameters, arguments)                                                         \
    SPY("libascendcl_impl.so", result, name##Impl, parameters, arguments)
#define ACL_FN_FRONT(status, result, name, parameters, arguments)
#include "abi/acl_functions.h"
