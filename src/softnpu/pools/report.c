/* SPDX-License-Identifier: Apache-2.0 */
/* The mstx side of the pools.
 *
 * The functions are looked up in libms_tools_ext.so at the first report, as the frameworks do; the library is never
 * linked, so a program without tools does not load it. Descriptors are built as the frameworks build them: torch_npu and
 * MindSpore set the counts and the arrays of ranges, and nothing else. The members that they leave uninitialised hold
 * garbage here (OPEN_*), so that a tool that depends on them fails with the simulator as it fails in a real job.
 *
 * Threads: everything is decided once under pthread_once; afterwards read only. Callers hold their pool's lock. */
#include "report.h"

#include "common.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Values of the members that the frameworks leave uninitialised; the numbers were seen in a real job. The addresses are
 * not canonical: a tool that follows one crashes. */
#define OPEN_USAGE   ((mstxMemHeapUsageType)-160789168)
#define OPEN_TYPE    ((mstxMemType)32767)
#define OPEN_HEAP    ((mstxMemHeapHandle_t)0xa5a5a5a5a5a5a5a5)
#define OPEN_HANDLES ((mstxMemRegionHandle_t *)0x5a5a5a5a5a5a5a5a)

#define TOOL_LIBRARY "libms_tools_ext.so"
#define HOOK_LIBRARY "libascend_kernel_hook.so"

/* The functions that the pools use; the first element of each row is also the member of the table. */
#define FUNCTIONS(X)                                                                                                   \
    X(mstxDomainCreateA)                                                                                               \
    X(mstxDomainDestroy)                                                                                               \
    X(mstxMemHeapRegister)                                                                                             \
    X(mstxMemHeapUnregister)                                                                                           \
    X(mstxMemRegionsRegister)                                                                                          \
    X(mstxMemRegionsUnregister)

static struct {
#define DECLARE(name) __typeof__(&name) name##_;
    FUNCTIONS(DECLARE)
#undef DECLARE
} mstx;

static void *open_tool_library(void)
{
    void *handle = dlopen(TOOL_LIBRARY, RTLD_LAZY);
    const char *home = getenv("ASCEND_HOME_PATH");
    if (handle == NULL && home != NULL) {
        char path[PATH_MAX];
        if ((size_t)snprintf(path, sizeof(path), "%s/lib64/" TOOL_LIBRARY, home) < sizeof(path)) {
            handle = dlopen(path, RTLD_LAZY);
        }
    }
    return handle;
}

static void find_functions(void)
{
    void *handle = open_tool_library();
    if (handle == NULL) {
        return;
    }
    void *found;
#define FIND(name)                                                                                                     \
    found = dlsym(handle, #name);                                                                                      \
    memcpy(&mstx.name##_, &found, sizeof(found));
    FUNCTIONS(FIND)
#undef FIND
}

static void need_functions(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_functions);
}

static bool hook_is_preloaded(void)
{
    const char *preload = getenv("LD_PRELOAD");
    char *list = preload != NULL ? strdup(preload) : NULL;
    bool found = false;
    char *position = NULL;
    for (char *entry = list != NULL ? strtok_r(list, ": ", &position) : NULL; entry != NULL && !found;
         entry = strtok_r(NULL, ": ", &position)) {
        char real[PATH_MAX];
        if (realpath(entry, real) != NULL) {
            size_t length = strlen(real), name = strlen(HOOK_LIBRARY);
            found = length > name && strcmp(real + length - name, HOOK_LIBRARY) == 0;
        }
    }
    free(list);
    return found;
}

static bool tool_library_exists(void)
{
    const char *home = getenv("ASCEND_HOME_PATH");
    char path[PATH_MAX];
    return home != NULL && (size_t)snprintf(path, sizeof(path), "%s/lib64/" TOOL_LIBRARY, home) < sizeof(path) &&
           access(path, F_OK) == 0;
}

static bool reporting;

static void decide(void)
{
    reporting = hook_is_preloaded() && tool_library_exists();
}

bool npool_reporting(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, decide);
    return reporting;
}

/* ---- torch_npu --------------------------------------------------------------------------------------------------- */

static mstxDomainHandle_t create_domain(const char *name)
{
    return mstx.mstxDomainCreateA_ != NULL ? mstx.mstxDomainCreateA_(name) : NULL;
}

static mstxMemHeapHandle_t register_heap(mstxDomainHandle_t domain, int32_t device, const void *ptr, uint64_t size_b)
{
    if (mstx.mstxMemHeapRegister_ == NULL) {
        return NULL;
    }
    const mstxMemVirtualRangeDesc_t range = {.deviceId = (uint32_t)device, .ptr = ptr, .size = size_b};
    const mstxMemHeapDesc_t desc = {.usage = OPEN_USAGE, .type = OPEN_TYPE, .typeSpecificDesc = &range};
    return mstx.mstxMemHeapRegister_(domain, &desc);
}

static void register_region(mstxDomainHandle_t domain, int32_t device, const void *ptr, uint64_t size_b)
{
    if (mstx.mstxMemRegionsRegister_ == NULL) {
        return;
    }
    const mstxMemVirtualRangeDesc_t range = {.deviceId = (uint32_t)device, .ptr = ptr, .size = size_b};
    const mstxMemRegionsRegisterBatch_t batch = {.heap = OPEN_HEAP,
                                                 .regionType = OPEN_TYPE,
                                                 .regionCount = 1,
                                                 .regionDescArray = &range,
                                                 .regionHandleArrayOut = OPEN_HANDLES};
    mstx.mstxMemRegionsRegister_(domain, &batch);
}

static void unregister_region(mstxDomainHandle_t domain, const void *ptr)
{
    if (mstx.mstxMemRegionsUnregister_ == NULL) {
        return;
    }
    mstxMemRegionRef_t ref = {.refType = MSTX_MEM_REGION_REF_TYPE_POINTER};
    ref.pointer = ptr;
    const mstxMemRegionsUnregisterBatch_t batch = {.refCount = 1, .refArray = &ref};
    mstx.mstxMemRegionsUnregister_(domain, &batch);
}

static bool torch_reports(void)
{
    if (!npool_reporting()) {
        return false;
    }
    need_functions();
    return true;
}

void npool__report_alloc(const char *domain, int32_t device, const void *ptr, uint64_t size_b, uint64_t reserved_b)
{
    if (torch_reports()) {
        mstxDomainHandle_t handle = create_domain(domain);
        register_heap(handle, device, ptr, reserved_b);
        register_region(handle, device, ptr, size_b);
    }
}

void npool__report_free(const char *domain, int32_t device, const void *ptr, uint64_t reserved_b)
{
    if (torch_reports()) {
        mstxDomainHandle_t handle = create_domain(domain);
        register_heap(handle, device, ptr, reserved_b);
        unregister_region(handle, ptr);
    }
}

void npool__report_heap(const char *domain, int32_t device, const void *ptr, uint64_t reserved_b)
{
    if (torch_reports()) {
        register_heap(create_domain(domain), device, ptr, reserved_b);
    }
}

void npool__report_region(const char *domain, int32_t device, const void *ptr, uint64_t size_b)
{
    if (torch_reports()) {
        register_region(create_domain(domain), device, ptr, size_b);
    }
}

void npool__report_region_gone(const char *domain, const void *ptr)
{
    if (torch_reports()) {
        unregister_region(create_domain(domain), ptr);
    }
}

/* ---- MindSpore --------------------------------------------------------------------------------------------------- */

static mstxDomainHandle_t mindspore_domain;
static bool mindspore_complete;

static void open_mindspore_domain(void)
{
    need_functions();
    mindspore_complete = mstx.mstxDomainCreateA_ != NULL && mstx.mstxDomainDestroy_ != NULL &&
                         mstx.mstxMemHeapRegister_ != NULL && mstx.mstxMemRegionsRegister_ != NULL &&
                         mstx.mstxMemRegionsUnregister_ != NULL;
    if (mindspore_complete) {
        mindspore_domain = create_domain("mindsporeMemPool");
    }
}

static bool mindspore_reports(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!npool_reporting()) {
        return false;
    }
    pthread_once(&once, open_mindspore_domain);
    return mindspore_complete;
}

void npool__report_mindspore_alloc(int32_t device, const void *ptr, uint64_t size_b, uint64_t total_b)
{
    if (mindspore_reports()) {
        register_region(mindspore_domain, device, ptr, size_b);
        register_heap(mindspore_domain, device, ptr, total_b);
    }
}

void npool__report_mindspore_free(int32_t device, const void *ptr, uint64_t total_b)
{
    if (mindspore_reports()) {
        unregister_region(mindspore_domain, ptr);
        register_heap(mindspore_domain, device, ptr, total_b);
    }
}

/* ---- ATB --------------------------------------------------------------------------------------------------------- */

static mstxDomainHandle_t atb_domain;

static void open_atb_domain(void)
{
    need_functions();
    atb_domain = create_domain("atb");
}

mstxMemHeapHandle_t npool__report_atb_heap(int32_t device, const void *ptr, uint64_t size_b)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_atb_domain);
    return register_heap(atb_domain, device, ptr, size_b);
}

void npool__report_atb_heap_gone(mstxMemHeapHandle_t heap)
{
    if (mstx.mstxMemHeapUnregister_ != NULL) {
        mstx.mstxMemHeapUnregister_(atb_domain, heap);
    }
}

void npool__report_atb_regions(mstxMemHeapHandle_t heap, const mstxMemVirtualRangeDesc_t *regions, size_t count,
                               mstxMemRegionHandle_t *handles)
{
    if (mstx.mstxMemRegionsRegister_ != NULL) {
        const mstxMemRegionsRegisterBatch_t batch = {.heap = heap,
                                                     .regionType = OPEN_TYPE,
                                                     .regionCount = count,
                                                     .regionDescArray = regions,
                                                     .regionHandleArrayOut = handles};
        mstx.mstxMemRegionsRegister_(atb_domain, &batch);
    }
}

void npool__report_atb_regions_gone(const mstxMemRegionHandle_t *handles, size_t count)
{
    if (mstx.mstxMemRegionsUnregister_ == NULL || count == 0) {
        return;
    }
    mstxMemRegionRef_t *refs = calloc(count, sizeof(*refs));
    if (refs == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        refs[i].refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
        refs[i].handle = handles[i];
    }
    const mstxMemRegionsUnregisterBatch_t batch = {.refCount = count, .refArray = refs};
    mstx.mstxMemRegionsUnregister_(atb_domain, &batch);
    free(refs);
}
