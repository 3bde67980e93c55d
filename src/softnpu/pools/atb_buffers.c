/* SPDX-License-Identifier: Apache-2.0 */
/* ATB's buffers: the workspace of an operation, and the parts of it that each kernel uses.
 *
 * ATB allocates little itself; it reports to tools how operations divide memory among their kernels. The workspace of
 * an execution is a heap; the parts that one kernel uses are a batch of regions in it that exist as long as the kernel
 * runs. Tools return handles, by which both are deregistered. One lock for the object; executions do not nest. */
#include "common.h"
#include "report.h"

#include <pthread.h>
#include <stdlib.h>

#define ALIGN_B ((size_t)512)

enum atb_phase { PHASE_IDLE, PHASE_OPERATION, PHASE_KERNEL };

struct npool_atb {
    pthread_mutex_t lock;
    int32_t device;
    enum atb_phase phase;
    bool silent; /* a tool once returned no heap handle */
    void *workspace;
    size_t workspace_b;
    mstxMemHeapHandle_t heap;
    mstxMemVirtualRangeDesc_t *regions;
    mstxMemRegionHandle_t *handles;
    size_t count, capacity;
};

npool_atb *npool_atb_create(void)
{
    int32_t device;
    if (npool__current_device(&device) != ACL_SUCCESS) {
        return NULL;
    }
    npool_atb *atb = calloc(1, sizeof(*atb));
    if (atb == NULL) {
        (void)npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for ATB buffers");
        return NULL;
    }
    atb->device = device;
    pthread_mutex_init(&atb->lock, NULL);
    return atb;
}

static const char *const phase_names[] = {"no operation", "an operation", "a kernel"};

static aclError wrong_phase(const npool_atb *atb, const char *function)
{
    return npool__fail(ACL_ERROR_INVALID_PARAM, "%s: called while %s is in progress", function,
                       phase_names[atb->phase]);
}

static void begin_heap(npool_atb *atb, void *workspace, size_t workspace_b)
{
    if (!atb->silent) {
        atb->heap = npool__report_atb_heap(atb->device, workspace, workspace_b);
        atb->silent = atb->heap == NULL;
    }
    atb->phase = PHASE_OPERATION;
}

static aclError grow_workspace(npool_atb *atb, size_t size_b, aclrtStream stream)
{
    size_t rounded_b = MS_ROUND_UP(size_b, ALIGN_B);
    if (atb->workspace != NULL) {
        (void)aclrtSynchronizeStream(stream);
        (void)aclrtFree(atb->workspace);
        atb->workspace = NULL;
        atb->workspace_b = 0;
    }
    aclError ret = aclrtMalloc(&atb->workspace, rounded_b, ACL_MEM_MALLOC_HUGE_FIRST);
    if (ret != ACL_SUCCESS) {
        atb->workspace = NULL;
        return npool__fail_acl(ret, "ATB workspace of %zu bytes", rounded_b);
    }
    atb->workspace_b = rounded_b;
    return ACL_SUCCESS;
}

aclError npool_atb_begin(npool_atb *atb, size_t workspace_b, aclrtStream stream, void **workspace)
{
    if (atb == NULL || workspace == NULL || workspace_b > NPOOL_SIZE_LIMIT) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_atb_begin: NULL argument, or no device has %zu bytes",
                           workspace_b);
    }
    pthread_mutex_lock(&atb->lock);
    aclError ret = ACL_SUCCESS;
    if (atb->phase != PHASE_IDLE) {
        ret = wrong_phase(atb, "npool_atb_begin");
    } else if (workspace_b > atb->workspace_b) {
        ret = grow_workspace(atb, workspace_b, stream);
    }
    if (ret == ACL_SUCCESS) {
        *workspace = workspace_b > 0 ? atb->workspace : NULL;
        begin_heap(atb, *workspace, workspace_b);
    }
    pthread_mutex_unlock(&atb->lock);
    return ret;
}

aclError npool_atb_begin_external(npool_atb *atb, void *workspace, size_t workspace_b)
{
    if (atb == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_atb_begin_external: no object");
    }
    pthread_mutex_lock(&atb->lock);
    aclError ret = ACL_SUCCESS;
    if (atb->phase != PHASE_IDLE) {
        ret = wrong_phase(atb, "npool_atb_begin_external");
    } else {
        begin_heap(atb, workspace, workspace_b);
    }
    pthread_mutex_unlock(&atb->lock);
    return ret;
}

static bool make_room(npool_atb *atb, size_t count)
{
    if (count <= atb->capacity) {
        return true;
    }
    mstxMemVirtualRangeDesc_t *regions = realloc(atb->regions, count * sizeof(*regions));
    if (regions != NULL) {
        atb->regions = regions;
    }
    mstxMemRegionHandle_t *handles = realloc(atb->handles, count * sizeof(void *));
    if (handles != NULL) {
        atb->handles = handles;
    }
    if (regions == NULL || handles == NULL) {
        return false;
    }
    atb->capacity = count;
    return true;
}

aclError npool_atb_kernel_begin(npool_atb *atb, const struct npool_atb_region *regions, size_t count)
{
    if (atb == NULL || (regions == NULL && count > 0) || count > 4096) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_atb_kernel_begin: NULL argument, or %zu regions", count);
    }
    pthread_mutex_lock(&atb->lock);
    aclError ret = ACL_SUCCESS;
    if (atb->phase != PHASE_OPERATION) {
        ret = wrong_phase(atb, "npool_atb_kernel_begin");
    } else if (!make_room(atb, count)) {
        ret = npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for %zu regions", count);
    } else {
        atb->phase = PHASE_KERNEL;
        atb->count = count;
        for (size_t i = 0; i < count; i++) {
            atb->regions[i] = (mstxMemVirtualRangeDesc_t){.deviceId = (uint32_t)atb->device,
                                                          .ptr = regions[i].ptr,
                                                          .size = MS_ROUND_UP(regions[i].size_b, ALIGN_B)};
            atb->handles[i] = NULL;
        }
        if (!atb->silent && count > 0) {
            npool__report_atb_regions(atb->heap, atb->regions, count, atb->handles);
        }
    }
    pthread_mutex_unlock(&atb->lock);
    return ret;
}

aclError npool_atb_kernel_end(npool_atb *atb)
{
    if (atb == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_atb_kernel_end: no object");
    }
    pthread_mutex_lock(&atb->lock);
    aclError ret = ACL_SUCCESS;
    if (atb->phase != PHASE_KERNEL) {
        ret = wrong_phase(atb, "npool_atb_kernel_end");
    } else {
        atb->phase = PHASE_OPERATION;
        if (!atb->silent) {
            npool__report_atb_regions_gone(atb->handles, atb->count);
        }
    }
    pthread_mutex_unlock(&atb->lock);
    return ret;
}

aclError npool_atb_end(npool_atb *atb)
{
    if (atb == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_atb_end: no object");
    }
    pthread_mutex_lock(&atb->lock);
    aclError ret = ACL_SUCCESS;
    if (atb->phase != PHASE_OPERATION) {
        ret = wrong_phase(atb, "npool_atb_end");
    } else {
        atb->phase = PHASE_IDLE;
        if (!atb->silent) {
            npool__report_atb_heap_gone(atb->heap);
        }
        atb->heap = NULL;
    }
    pthread_mutex_unlock(&atb->lock);
    return ret;
}

bool npool_atb_reporting(const npool_atb *atb)
{
    return atb != NULL && !atb->silent;
}

void npool_atb_destroy(npool_atb *atb)
{
    if (atb == NULL) {
        return;
    }
    if (atb->workspace != NULL) {
        (void)aclrtFree(atb->workspace);
    }
    free(atb->regions);
    free(atb->handles);
    pthread_mutex_destroy(&atb->lock);
    free(atb);
}
