/* SPDX-License-Identifier: Apache-2.0 */
/* torch_npu's workspace allocator: scratch memory of operators.
 *
 * Work on a stream runs in order, so one block per device and stream serves all its requests, if it is large enough for
 * the largest one. "Allocated" is the sum of the blocks in use. Requests are released in reverse order. One lock for
 * the object, held during ACL and mstx calls; it may be taken inside the lock of a caching allocator's device (out of
 * memory), never the other way round. */
#include "common.h"
#include "report.h"

#include <pthread.h>
#include <stdlib.h>

#define ROUND_B (2 * NPOOL_MIB)

struct stream_block {
    aclrtStream stream;
    void *ptr;
    size_t size_b;
    uint32_t out; /* requests not yet released */
    struct stream_block *next;
};

struct workspace_request {
    struct stream_block *block;
    void *ptr; /* as returned: the block may have grown since */
    size_t size_b;
    struct workspace_request *next;
};

struct device_state {
    struct stream_block *blocks;
    struct workspace_request *latest;
    struct npool_workspace_stats stats;
};

struct npool_workspace {
    pthread_mutex_t lock;
    struct device_state devices[NPOOL_DEVICES_MAX];
};

npool_workspace *npool_workspace_create(void)
{
    npool_workspace *workspace = calloc(1, sizeof(*workspace));
    if (workspace == NULL) {
        (void)npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for a workspace");
        return NULL;
    }
    pthread_mutex_init(&workspace->lock, NULL);
    return workspace;
}

static void release(struct device_state *state, int32_t device, struct stream_block *block)
{
    if (block->ptr != NULL) {
        (void)aclrtFree(block->ptr);
        state->stats.reserved_b -= block->size_b;
        npool__report_heap(NPOOL_DOMAIN_WORKSPACE, device, block->ptr, state->stats.reserved_b);
        block->ptr = NULL;
        block->size_b = 0;
    }
}

static struct stream_block *block_of(struct device_state *state, aclrtStream stream)
{
    struct stream_block *block = state->blocks;
    while (block != NULL && block->stream != stream) {
        block = block->next;
    }
    if (block == NULL && (block = calloc(1, sizeof(*block))) != NULL) {
        block->stream = stream;
        block->next = state->blocks;
        state->blocks = block;
    }
    return block;
}

static aclError grow(struct device_state *state, int32_t device, struct stream_block *block, size_t size_b)
{
    if (block->ptr != NULL) {
        (void)aclrtSynchronizeDevice(); /* queued operators still use it */
        release(state, device, block);
    }
    aclError ret = npool__malloc_align32(&block->ptr, size_b, ACL_MEM_MALLOC_HUGE_ONLY);
    if (ret != ACL_SUCCESS) {
        block->ptr = NULL;
        return npool__fail_acl(ret, "workspace of %zu bytes", size_b);
    }
    block->size_b = size_b;
    state->stats.reserved_b += size_b;
    state->stats.grown++;
    npool__report_heap(NPOOL_DOMAIN_WORKSPACE, device, block->ptr, state->stats.reserved_b);
    return ACL_SUCCESS;
}

aclError npool_workspace_get(npool_workspace *workspace, void **ptr, size_t size_b, aclrtStream stream)
{
    if (workspace == NULL || ptr == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_workspace_get: NULL argument");
    }
    if (size_b > NPOOL_SIZE_LIMIT) {
        return npool__fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "npool_workspace_get: no device has %zu bytes", size_b);
    }
    int32_t device;
    aclError ret = npool__current_device(&device);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    size_t need_b = MS_ROUND_UP(size_b + NPOOL_PADDING_B, ROUND_B);
    pthread_mutex_lock(&workspace->lock);
    struct device_state *state = &workspace->devices[device];
    struct workspace_request *request = calloc(1, sizeof(*request));
    struct stream_block *block = block_of(state, stream);
    if (request == NULL || block == NULL) {
        ret = npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for a workspace request");
        goto out;
    }
    if (block->size_b < need_b) {
        ret = grow(state, device, block, need_b);
        if (ret != ACL_SUCCESS) {
            goto out;
        }
    }
    block->out++;
    *request =
        (struct workspace_request){.block = block, .ptr = block->ptr, .size_b = block->size_b, .next = state->latest};
    state->latest = request;
    request = NULL;
    state->stats.allocated_b += block->size_b;
    state->stats.requests++;
    npool__report_region(NPOOL_DOMAIN_WORKSPACE, device, block->ptr, state->stats.allocated_b);
    *ptr = block->ptr;
out:
    free(request);
    pthread_mutex_unlock(&workspace->lock);
    return ret;
}

aclError npool_workspace_put(npool_workspace *workspace)
{
    if (workspace == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_workspace_put: no workspace");
    }
    int32_t device;
    aclError ret = npool__current_device(&device);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    pthread_mutex_lock(&workspace->lock);
    struct device_state *state = &workspace->devices[device];
    struct workspace_request *request = state->latest;
    if (request == NULL) {
        ret = npool__fail(ACL_ERROR_INVALID_PARAM, "npool_workspace_put: no request is pending on device %d", device);
    } else {
        state->latest = request->next;
        request->block->out--;
        state->stats.allocated_b -= request->size_b;
        npool__report_region_gone(NPOOL_DOMAIN_WORKSPACE, request->ptr);
        free(request);
    }
    pthread_mutex_unlock(&workspace->lock);
    return ret;
}

aclError npool_workspace_empty(npool_workspace *workspace)
{
    if (workspace == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_workspace_empty: no workspace");
    }
    int32_t device;
    aclError ret = npool__current_device(&device);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    (void)aclrtSynchronizeDevice();
    pthread_mutex_lock(&workspace->lock);
    struct device_state *state = &workspace->devices[device];
    for (struct stream_block **link = &state->blocks; *link != NULL;) {
        struct stream_block *block = *link;
        if (block->out > 0) {
            link = &block->next;
            continue;
        }
        release(state, device, block);
        *link = block->next;
        free(block);
    }
    pthread_mutex_unlock(&workspace->lock);
    return ACL_SUCCESS;
}

aclError npool_workspace_get_stats(npool_workspace *workspace, int32_t device, struct npool_workspace_stats *out)
{
    if (workspace == NULL || out == NULL || device < 0 || device >= NPOOL_DEVICES_MAX) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_workspace_get_stats: NULL argument or no device %d", device);
    }
    pthread_mutex_lock(&workspace->lock);
    *out = workspace->devices[device].stats;
    pthread_mutex_unlock(&workspace->lock);
    return ACL_SUCCESS;
}

void npool_workspace_destroy(npool_workspace *workspace)
{
    if (workspace == NULL) {
        return;
    }
    for (int32_t id = 0; id < NPOOL_DEVICES_MAX; id++) {
        struct device_state *state = &workspace->devices[id];
        while (state->latest != NULL) {
            struct workspace_request *request = state->latest;
            state->latest = request->next;
            request->block->out--;
            free(request);
        }
        struct npool_device_scope scope;
        if (state->blocks != NULL && npool__enter_device(id, &scope) == ACL_SUCCESS) {
            (void)npool_workspace_empty(workspace);
            npool__leave_device(&scope);
        }
    }
    pthread_mutex_destroy(&workspace->lock);
    free(workspace);
}
