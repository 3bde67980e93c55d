/* SPDX-License-Identifier: Apache-2.0 */
/* Framework allocators: functions that operator libraries use for a stream's workspaces instead of aclrtMalloc. The
 * runtime stores them and returns them to callers; it never calls them.
 *
 * Threads and locks: allocators.lock protects the list of registrations. Failure: unknown descriptors return 107000. */
#include "softnpu/runtime/allocator.h"

#include "base/slab.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/task.h"

#include "acl/acl.h"

#include <pthread.h>
#include <stdlib.h>

struct allocator_registration {
    struct allocator_registration *next;
    const struct snpu_stream *stream;
    void *desc;
    struct snpu_allocator allocator; /* copied at registration */
};

static struct ms_slab descs = MS_SLAB_INIT(struct snpu_allocator, 4096);

static struct {
    pthread_mutex_t lock;
    struct allocator_registration *list;
} allocators = {.lock = PTHREAD_MUTEX_INITIALIZER};

void *snpu_allocator_new(void)
{
    void *desc = ms_slab_alloc(&descs);
    if (desc == NULL) {
        snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "aclrtAllocatorCreateDesc: too many descriptors");
    }
    return desc;
}

struct snpu_allocator *snpu_allocator_of(const char *function, void *desc)
{
    if (ms_slab_check(&descs, desc)) {
        return desc;
    }
    snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not an allocator descriptor", function, desc);
    return NULL;
}

int32_t snpu_allocator_free(void *desc)
{
    if (snpu_allocator_of("aclrtAllocatorDestroyDesc", desc) == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    ms_slab_free(&descs, desc);
    return 0;
}

static struct allocator_registration **find(const struct snpu_stream *stream)
{
    struct allocator_registration **link = &allocators.list;
    while (*link != NULL && (*link)->stream != stream) {
        link = &(*link)->next;
    }
    return link;
}

int32_t snpu_allocator_register(void *handle, void *desc)
{
    static const char function[] = "aclrtAllocatorRegister";
    struct snpu_stream *stream;
    const struct snpu_allocator *allocator = snpu_allocator_of(function, desc);
    if (allocator == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (allocator->object == NULL || allocator->alloc == NULL || allocator->free == NULL ||
        allocator->address == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: object, alloc, free and address functions are required",
                         function);
    }
    int32_t code = snpu_stream_resolve(function, handle, &stream);
    if (code != 0) {
        return code;
    }
    pthread_mutex_lock(&allocators.lock);
    struct allocator_registration **link = find(stream);
    if (*link == NULL) {
        *link = calloc(1, sizeof(**link));
    }
    if (*link != NULL) {
        (*link)->stream = stream;
        (*link)->desc = desc;
        (*link)->allocator = *allocator;
    } else {
        code = snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", function);
    }
    pthread_mutex_unlock(&allocators.lock);
    return code;
}

int32_t snpu_allocator_get(void *handle, void **desc, struct snpu_allocator *out)
{
    static const char function[] = "aclrtAllocatorGetByStream";
    struct snpu_stream *stream;
    int32_t code = snpu_stream_resolve(function, handle, &stream);
    if (code != 0) {
        return code;
    }
    pthread_mutex_lock(&allocators.lock);
    const struct allocator_registration *found = *find(stream);
    if (found != NULL) {
        *desc = found->desc;
        *out = found->allocator;
    }
    pthread_mutex_unlock(&allocators.lock);
    return found != NULL ? 0 : snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the stream has no allocator", function);
}

int32_t snpu_allocator_unregister(void *handle)
{
    static const char function[] = "aclrtAllocatorUnregister";
    struct snpu_stream *stream;
    int32_t code = snpu_stream_resolve(function, handle, &stream);
    if (code != 0) {
        return code;
    }
    pthread_mutex_lock(&allocators.lock);
    struct allocator_registration **link = find(stream);
    struct allocator_registration *gone = *link;
    bool known = gone != NULL;
    if (known) {
        *link = gone->next;
    }
    pthread_mutex_unlock(&allocators.lock);
    free(gone);
    return known ? 0 : snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the stream has no allocator", function);
}
