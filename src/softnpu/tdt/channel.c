/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor channels: named queues of datasets on a device. All handles of one name on one device lead to the same queue,
 * so what one end sends the other receives, in order, within the process.
 *
 * Invariants: a queued dataset is a copy: the sender may reuse its memory at once. A queue lives as long as it has a
 * handle; the datasets that are left then are discarded.
 * Threads and locks: one lock and one condition for all channels; they are held only to move pointers.
 * Failure: 207013 or 207014 if a queue stays empty or full until the timeout, 500001 once a channel is stopped. */
#include "softnpu/tdt/item.h"

#include "acl/acl_rt.h"
#include "base/slab.h"
#include "softnpu/runtime/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CAPACITY_MIN     2
#define CAPACITY_MAX     8192
#define CAPACITY_DEFAULT 128 /* of channels created without one */

struct tdt_channel {
    struct tdt_channel *next;
    uint32_t device, handles;
    char name[SNPU_TDT_NAME];
    size_t capacity, head, count;
    acltdtDataset **sets; /* a ring of `capacity` */
};

struct acltdtChannelHandle {
    struct tdt_channel *channel;
    bool stopped;
};

static struct ms_slab handles = MS_SLAB_INIT(struct acltdtChannelHandle, 1 << 12);
static struct tdt_channel *channels;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

static void set_up(void)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attr);
    pthread_condattr_destroy(&attr);
}

/* ---- creation ---- */
/* Lock held. */
static struct tdt_channel *find_or_create(uint32_t device, const char *name, size_t capacity)
{
    struct tdt_channel *channel = channels;
    while (channel != NULL && (channel->device != device || strcmp(channel->name, name) != 0)) {
        channel = channel->next;
    }
    if (channel != NULL) {
        return channel;
    }
    channel = calloc(1, sizeof(*channel));
    acltdtDataset **sets = channel != NULL ? calloc(capacity, sizeof(acltdtDataset *)) : NULL;
    if (sets == NULL) {
        free(channel);
        return NULL;
    }
    channel->device = device;
    channel->capacity = capacity;
    channel->sets = sets;
    strcpy(channel->name, name);
    channel->next = channels;
    channels = channel;
    return channel;
}

static acltdtChannelHandle *create(const char *function, uint32_t device, const char *name, size_t capacity)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint32_t devices = 0;
    if (name == NULL || strlen(name) >= SNPU_TDT_NAME) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %s", function,
                  name == NULL ? "name is NULL" : "the name is longer than 127 characters");
        return NULL;
    }
    if (aclrtGetDeviceCount(&devices) != ACL_SUCCESS || device >= devices) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: channel '%s': device %u does not exist (%u devices)", function, name,
                  device, devices);
        return NULL;
    }
    if (capacity < CAPACITY_MIN || capacity > CAPACITY_MAX) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: channel '%s': the capacity must be %d to %d, not %zu", function, name,
                  CAPACITY_MIN, CAPACITY_MAX, capacity);
        return NULL;
    }
    pthread_once(&once, set_up);
    acltdtChannelHandle *handle = ms_slab_alloc(&handles);
    pthread_mutex_lock(&lock);
    struct tdt_channel *channel = handle != NULL ? find_or_create(device, name, capacity) : NULL;
    if (channel != NULL) {
        channel->handles++;
        handle->channel = channel;
    }
    pthread_mutex_unlock(&lock);
    if (channel == NULL) {
        if (handle != NULL) {
            ms_slab_free(&handles, handle);
        }
        snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: channel '%s': too many channels", function, name);
        return NULL;
    }
    return handle;
}

acltdtChannelHandle *acltdtCreateChannel(uint32_t deviceId, const char *name)
{
    return create("acltdtCreateChannel", deviceId, name, CAPACITY_DEFAULT);
}

acltdtChannelHandle *acltdtCreateChannelWithCapacity(uint32_t deviceId, const char *name, size_t capacity)
{
    return create("acltdtCreateChannelWithCapacity", deviceId, name, capacity);
}

static bool alive(const char *function, const acltdtChannelHandle *handle)
{
    if (ms_slab_check(&handles, handle)) {
        return true;
    }
    snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not a channel", function, (const void *)handle);
    return false;
}

/* Lock held. */
static void discard(struct tdt_channel *channel)
{
    for (; channel->count > 0; channel->count--) {
        (void)acltdtDestroyDataset(channel->sets[channel->head]);
        channel->head = (channel->head + 1) % channel->capacity;
    }
}

aclError acltdtStopChannel(acltdtChannelHandle *handle)
{
    if (!alive("acltdtStopChannel", handle)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    pthread_mutex_lock(&lock);
    handle->stopped = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

aclError acltdtDestroyChannel(acltdtChannelHandle *handle)
{
    if (!alive("acltdtDestroyChannel", handle)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    pthread_mutex_lock(&lock);
    struct tdt_channel *channel = handle->channel;
    handle->stopped = true;
    if (--channel->handles == 0) {
        struct tdt_channel **at = &channels;
        while (*at != channel) {
            at = &(*at)->next;
        }
        *at = channel->next;
        discard(channel);
        free(channel->sets);
        free(channel);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    ms_slab_free(&handles, handle);
    return ACL_SUCCESS;
}

aclError acltdtCleanChannel(acltdtChannelHandle *handle)
{
    if (!alive("acltdtCleanChannel", handle)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    pthread_mutex_lock(&lock);
    discard(handle->channel);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

aclError acltdtQueryChannelSize(const acltdtChannelHandle *handle, size_t *size)
{
    if (!alive("acltdtQueryChannelSize", handle)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    if (size == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "acltdtQueryChannelSize: size is NULL");
    }
    pthread_mutex_lock(&lock);
    *size = handle->channel->count;
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

/* ---- sending and receiving ---- */
static struct timespec deadline(int32_t timeout_ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += timeout_ms / 1000;
    at.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

/* Lock held. Waits until the queue has `wanted` (a dataset, or room); returns an ACL code. */
static aclError await(const char *function, const acltdtChannelHandle *handle, bool dataset, int32_t timeout)
{
    struct timespec until = deadline(timeout > 0 ? timeout : 0);
    for (;;) {
        if (!ms_slab_check(&handles, handle) || handle->stopped) {
            return snpu_fail(ACL_ERROR_FAILURE, "%s: the channel was stopped", function);
        }
        const struct tdt_channel *channel = handle->channel;
        if (dataset ? channel->count > 0 : channel->count < channel->capacity) {
            return ACL_SUCCESS;
        }
        int rc = timeout < 0 ? pthread_cond_wait(&changed, &lock) : pthread_cond_timedwait(&changed, &lock, &until);
        if (rc == ETIMEDOUT) {
            return snpu_fail(dataset ? ACL_ERROR_RT_QUEUE_EMPTY : ACL_ERROR_RT_QUEUE_FULL,
                             "%s: channel '%s' is %s after %d ms", function, channel->name, dataset ? "empty" : "full",
                             timeout);
        }
    }
}

static aclError check(const char *function, const acltdtChannelHandle *handle, const acltdtDataset *dataset,
                      int32_t timeout)
{
    if (!alive(function, handle) || !snpu_tdt_dataset_alive(function, dataset)) {
        return ACL_ERROR_INVALID_PARAM;
    }
    return timeout >= -1 ? ACL_SUCCESS
                         : snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the timeout %d is below -1", function, timeout);
}

aclError acltdtSendTensor(const acltdtChannelHandle *handle, const acltdtDataset *dataset, int32_t timeout)
{
    static const char function[] = "acltdtSendTensor";
    aclError rc = check(function, handle, dataset, timeout);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    if (dataset->count == 0 || !snpu_tdt_items_alive(dataset)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the dataset %s", function,
                         dataset->count == 0 ? "has no item" : "has an item that was destroyed");
    }
    acltdtDataset *copy = acltdtCreateDataset();
    rc = copy != NULL ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
    for (size_t i = 0; rc == ACL_SUCCESS && i < dataset->count; i++) {
        rc = snpu_tdt_copy_into(function, copy, dataset->items[i]);
    }
    pthread_mutex_lock(&lock);
    rc = rc != ACL_SUCCESS ? rc : await(function, handle, false, timeout);
    if (rc == ACL_SUCCESS) {
        struct tdt_channel *channel = handle->channel;
        strcpy(copy->name, channel->name);
        channel->sets[(channel->head + channel->count++) % channel->capacity] = copy;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    if (rc != ACL_SUCCESS && copy != NULL) {
        (void)acltdtDestroyDataset(copy);
    }
    return rc;
}

aclError acltdtReceiveTensor(const acltdtChannelHandle *handle, acltdtDataset *dataset, int32_t timeout)
{
    static const char function[] = "acltdtReceiveTensor";
    aclError rc = check(function, handle, dataset, timeout);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    if (dataset->count > 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the dataset has %zu items; it must be empty", function,
                         dataset->count);
    }
    acltdtDataset *taken = NULL;
    pthread_mutex_lock(&lock);
    rc = await(function, handle, true, timeout);
    if (rc == ACL_SUCCESS) {
        struct tdt_channel *channel = handle->channel;
        taken = channel->sets[channel->head];
        channel->head = (channel->head + 1) % channel->capacity;
        channel->count--;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    if (taken != NULL) { /* its items move to the caller's dataset */
        free(dataset->items);
        dataset->items = taken->items;
        dataset->count = taken->count;
        dataset->capacity = taken->capacity;
        memcpy(dataset->name, taken->name, sizeof(dataset->name));
        for (size_t i = 0; i < dataset->count; i++) {
            dataset->items[i]->owner = dataset;
        }
        taken->items = NULL;
        taken->count = taken->capacity = 0;
        (void)acltdtDestroyDataset(taken);
    }
    return rc;
}
