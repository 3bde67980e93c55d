/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a program registers with a communicator. On real hardware this maps it into the peers to save copies;
 * here data always passes through the staging area, so only the bookkeeping remains: registered memory can be looked
 * up, checked and deregistered. */
#include "softnpu/hccl/queue.h"

#include "base/macros.h"

enum { FREE, WINDOW, RANGE, ACTIVE };

static struct hccl_window *find(struct hccl_comm *comm, uint32_t kind, const void *base)
{
    for (uint32_t i = 0; i < HCCL_WINDOWS; i++) {
        struct hccl_window *w = &comm->windows[i];
        if (w->kind == kind && (kind == FREE || w->base == base)) {
            return w;
        }
    }
    return NULL;
}

static bool inside(const struct hccl_window *w, const char *p, uint64_t size_b)
{
    return p >= w->base && (uint64_t)(p - w->base) <= w->size_b && size_b <= w->size_b - (uint64_t)(p - w->base);
}

static bool overlaps(struct hccl_comm *comm, uint32_t kind, const char *p, uint64_t size_b)
{
    for (uint32_t i = 0; i < HCCL_WINDOWS; i++) {
        const struct hccl_window *w = &comm->windows[i];
        if (w->kind == kind && p < w->base + w->size_b && w->base < p + size_b) {
            return true;
        }
    }
    return false;
}

static HcclResult add(const char *function, struct hccl_comm *comm, uint32_t kind, void *base, uint64_t size_b,
                      void **handle)
{
    struct hccl_window *w = find(comm, FREE, NULL);
    if (w == NULL) {
        return HCCL_FAIL(HCCL_E_UNAVAIL, "%s: too many registered ranges (%d)", function, HCCL_WINDOWS);
    }
    *w = (struct hccl_window){base, size_b, kind};
    if (handle != NULL) {
        *handle = w;
    }
    return HCCL_SUCCESS;
}

/* The communicator with its lock held, which guards the ranges. */
static HcclResult get_locked(const char *function, HcclComm handle, struct hccl_comm **comm)
{
    HcclResult result = hccl_comm_get(function, handle, comm);
    if (result == HCCL_SUCCESS) {
        pthread_mutex_lock(&(*comm)->lock);
    }
    return result;
}

static void put_locked(struct hccl_comm *comm)
{
    pthread_mutex_unlock(&comm->lock);
    hccl_comm_put(comm);
}

/* ---- windows ---- */

HcclResult HcclCommRegister(HcclComm handle, void *addr, uint64_t size, void **window, uint32_t flag)
{
    struct hccl_comm *comm;
    HcclResult result = hccl_comm_get(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (addr == NULL || window == NULL) {
        result = HCCL_FAIL(HCCL_E_PTR, "%s: %s is NULL", __func__, addr == NULL ? "addr" : "handle");
    } else if (size == 0 || !hccl_memory_usable(addr, size, true)) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: no %llu bytes of device memory at %p", __func__, (unsigned long long)size,
                           addr);
    } else {
        pthread_mutex_lock(&comm->lock);
        result = add(__func__, comm, WINDOW, addr, size, window);
        pthread_mutex_unlock(&comm->lock);
    }
    hccl_comm_put(comm);
    return result;
}

/* The handle may be any pointer. */
static struct hccl_window *window_of(struct hccl_comm *comm, const void *handle)
{
    for (uint32_t i = 0; i < HCCL_WINDOWS; i++) {
        if (&comm->windows[i] == handle && comm->windows[i].kind == WINDOW) {
            return &comm->windows[i];
        }
    }
    return NULL;
}

HcclResult HcclCommDeregister(HcclComm handle, void *window)
{
    struct hccl_comm *comm;
    HcclResult result = get_locked(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    struct hccl_window *w = window_of(comm, window);
    if (w != NULL) {
        w->kind = FREE;
    } else {
        result = HCCL_FAIL(window == NULL ? HCCL_E_PTR : HCCL_E_PARA, "%s: %p is not registered", __func__, window);
    }
    put_locked(comm);
    return result;
}

HcclResult HcclCommExchangeMem(HcclComm handle, void *windowHandle, uint32_t *peerRanks, uint32_t peerRankNum)
{
    struct hccl_comm *comm;
    HcclResult result = get_locked(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (windowHandle == NULL || peerRanks == NULL) {
        result = HCCL_FAIL(HCCL_E_PTR, "%s: %s is NULL", __func__, peerRanks == NULL ? "peerRanks" : "windowHandle");
    } else if (window_of(comm, windowHandle) == NULL) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: %p is not registered", __func__, windowHandle);
    }
    for (uint32_t i = 0; i < peerRankNum && result == HCCL_SUCCESS; i++) {
        if (peerRanks[i] >= comm->link.n) {
            result = HCCL_FAIL(HCCL_E_PARA, "%s: rank %u is out of range, there are %u", __func__, peerRanks[i],
                               comm->link.n);
        }
    }
    put_locked(comm);
    return result;
}

/* ---- address ranges, parts of which have memory ---- */

HcclResult HcclCommSetMemoryRange(HcclComm handle, void *baseVirPtr, size_t size, size_t alignment, uint64_t flags)
{
    struct hccl_comm *comm;
    HcclResult result = get_locked(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (baseVirPtr == NULL) {
        result = HCCL_FAIL(HCCL_E_PTR, "%s: baseVirPtr is NULL", __func__);
    } else if (size == 0 || (uintptr_t)baseVirPtr + size < size || overlaps(comm, RANGE, baseVirPtr, size)) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: the range is empty or overlaps another one", __func__);
    } else {
        result = add(__func__, comm, RANGE, baseVirPtr, size, NULL);
    }
    put_locked(comm);
    return result;
}

HcclResult HcclCommUnsetMemoryRange(HcclComm handle, void *baseVirPtr)
{
    struct hccl_comm *comm;
    HcclResult result = get_locked(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    struct hccl_window *w = find(comm, RANGE, baseVirPtr);
    if (baseVirPtr == NULL || w == NULL) {
        result = HCCL_FAIL(baseVirPtr == NULL ? HCCL_E_PTR : HCCL_E_NOT_FOUND, "%s: no range begins at %p", __func__,
                           baseVirPtr);
    } else if (overlaps(comm, ACTIVE, w->base, w->size_b)) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: memory of the range at %p is active", __func__, baseVirPtr);
    } else {
        w->kind = FREE;
    }
    put_locked(comm);
    return result;
}

static bool in_some_range(struct hccl_comm *comm, const char *p, uint64_t size_b)
{
    for (uint32_t i = 0; i < HCCL_WINDOWS; i++) {
        if (comm->windows[i].kind == RANGE && inside(&comm->windows[i], p, size_b)) {
            return true;
        }
    }
    return false;
}

HcclResult HcclCommActivateCommMemory(HcclComm handle, void *virPtr, size_t size, size_t offset,
                                      aclrtDrvMemHandle physical, uint64_t flags)
{
    struct hccl_comm *comm;
    HcclResult result = get_locked(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (virPtr == NULL || physical == NULL) {
        result = HCCL_FAIL(HCCL_E_PTR, "%s: %s is NULL", __func__, virPtr == NULL ? "virPtr" : "handle");
    } else if (size == 0 || !in_some_range(comm, virPtr, size)) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: %zu bytes at %p are not in a range of the communicator", __func__, size,
                           virPtr);
    } else if (overlaps(comm, ACTIVE, virPtr, size)) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: part of the memory at %p is already active", __func__, virPtr);
    } else {
        result = add(__func__, comm, ACTIVE, virPtr, size, NULL);
    }
    put_locked(comm);
    return result;
}

HcclResult HcclCommDeactivateCommMemory(HcclComm handle, void *virPtr)
{
    struct hccl_comm *comm;
    HcclResult result = get_locked(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    struct hccl_window *w = find(comm, ACTIVE, virPtr);
    if (virPtr == NULL || w == NULL) {
        result = HCCL_FAIL(virPtr == NULL ? HCCL_E_PTR : HCCL_E_NOT_FOUND, "%s: no active memory begins at %p",
                           __func__, virPtr);
    } else {
        w->kind = FREE;
    }
    put_locked(comm);
    return result;
}

/* ---- links ---- */

/* Ranks have one link to each other: staying on it succeeds, switching to a second one fails. */
HcclResult HcclCommWorkingDevNicSet(HcclComm handle, uint32_t *ranks, bool *useBackup, uint32_t nRanks)
{
    struct hccl_comm *comm;
    HcclResult result = hccl_comm_get(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (ranks == NULL || useBackup == NULL) {
        result = HCCL_FAIL(HCCL_E_PTR, "%s: %s is NULL", __func__, ranks == NULL ? "ranks" : "useBackup");
    } else if (nRanks == 0 || nRanks > comm->link.n) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: %u ranks, there are only %u", __func__, nRanks, comm->link.n);
    }
    for (uint32_t i = 0; i < nRanks && result == HCCL_SUCCESS; i++) {
        if (ranks[i] >= comm->link.n) {
            result =
                HCCL_FAIL(HCCL_E_PARA, "%s: rank %u is out of range, there are %u", __func__, ranks[i], comm->link.n);
        } else if (useBackup[i]) {
            result = HCCL_FAIL(HCCL_E_NOT_SUPPORT, "%s: rank %u has no second link", __func__, ranks[i]);
        }
    }
    hccl_comm_put(comm);
    return result;
}
