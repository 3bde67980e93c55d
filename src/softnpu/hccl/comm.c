/* SPDX-License-Identifier: Apache-2.0 */
/* Life cycle of communicators.
 *
 * A handle is valid while its object is in the slab and `live`; the object stays until the last task that refers to it
 * is gone (a recorded model may keep one for long). The link to the other ranks is closed when the communicator is
 * destroyed and nothing is queued or running on it any more: from then on the other ranks see this rank as gone.
 *
 * Threads and locks: comm->order (rank 1) is held while queueing; all_lock (rank 2) guards liveness, counts and the
 * slab; comm->lock (leaf) guards gates and windows. A forked child has no communicators: their locks in shared memory
 * belong to the parent and must end with it. Failure policy: destroying works in any state of the communicator or its
 * peers. */
#include "softnpu/hccl/comm.h"

#include "ascend_hal.h"
#include "base/clock.h"
#include "base/slab.h"
#include "softnpu/hal/hal_ext.h"

#include <stdio.h>
#include <string.h>

#define MAX_COMMS    4096
#define ABORT_MS     3000 /* wait for cancelled operations to end */
#define MODULE_HCCL  (3ull << 56)
#define BUFFER_FLAGS 0x924400ull /* device memory, HBM, huge pages, aligned to 512 */

static struct ms_slab comms = MS_SLAB_INIT(struct hccl_comm, MAX_COMMS);
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- fork ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&all_lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&all_lock);
}

static void after_fork_child(void)
{
    for (uint32_t i = 0; i < comms.used_slots; i++) {
        struct hccl_comm *comm = ms_slab_at(&comms, i);
        if (comm != NULL && comm->linked) {
            hccl_segment_forget(&comm->link.seg);
            comm->live = comm->linked = false;
        }
    }
    pthread_mutex_unlock(&all_lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- device buffers ---- */

HcclResult hccl_buffers_reserve(const char *function, struct hccl_setup *setup)
{
    for (int i = 0; i < 2; i++) {
        drvError_t error = halMemAlloc(&setup->buffers[i], setup->buffer_b, MODULE_HCCL | BUFFER_FLAGS | setup->dev);
        if (error != DRV_ERROR_NONE) {
            setup->buffers[i] = NULL;
            hccl_buffers_release(setup->buffers, setup->buffer_b);
            return HCCL_FAIL(error == DRV_ERROR_OUT_OF_MEMORY ? HCCL_E_OOM : HCCL_E_DRV,
                             "%s: device %u has no room for two buffers of %llu MiB (HCCL_BUFFSIZE): driver error %d",
                             function, setup->dev, (unsigned long long)(setup->buffer_b >> 20), (int)error);
        }
    }
    return HCCL_SUCCESS;
}

void hccl_buffers_release(void *buffers[2], uint64_t buffer_b)
{
    for (int i = 0; i < 2; i++) {
        struct snpu_range range;
        /* A device reset has already freed them, and the address may have been reused. */
        if (buffers[i] != NULL && snpu_hal_lookup(buffers[i], &range) && range.kind == SNPU_RANGE_DEVICE &&
            range.base == (uintptr_t)buffers[i] && range.size_b >= buffer_b) {
            halMemFree(buffers[i]);
        }
        buffers[i] = NULL;
    }
}

/* ---- handles ---- */

HcclResult hccl_comm_get(const char *function, HcclComm handle, struct hccl_comm **out)
{
    if (handle == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: comm is NULL", function);
    }
    struct hccl_comm *comm = handle;
    pthread_mutex_lock(&all_lock);
    bool good = ms_slab_check(&comms, comm) && comm->live;
    if (good) {
        comm->refs++;
        hccl_bell_bump(&comm->users);
    }
    pthread_mutex_unlock(&all_lock);
    if (!good) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: %p is not a communicator, or was destroyed", function, handle);
    }
    *out = comm;
    return HCCL_SUCCESS;
}

void hccl_comm_put(struct hccl_comm *comm)
{
    hccl_comm_leave(comm);
    hccl_comm_drop(comm);
}

void hccl_comm_keep(struct hccl_comm *comm)
{
    pthread_mutex_lock(&all_lock);
    comm->refs++;
    pthread_mutex_unlock(&all_lock);
}

void hccl_comm_drop(struct hccl_comm *comm)
{
    pthread_mutex_lock(&all_lock);
    bool last = --comm->refs == 0;
    bool linked = comm->linked;
    pthread_mutex_unlock(&all_lock);
    if (!last) {
        return;
    }
    if (linked) {
        hccl_link_close(&comm->link);
    }
    pthread_mutex_destroy(&comm->order);
    pthread_mutex_destroy(&comm->lock);
    ms_slab_free(&comms, comm);
}

bool hccl_comm_enter(struct hccl_comm *comm)
{
    pthread_mutex_lock(&all_lock);
    bool good = comm->live;
    if (good) {
        hccl_bell_bump(&comm->users);
    }
    pthread_mutex_unlock(&all_lock);
    return good;
}

void hccl_comm_enter_again(struct hccl_comm *comm)
{
    pthread_mutex_lock(&all_lock);
    hccl_bell_bump(&comm->users);
    pthread_mutex_unlock(&all_lock);
}

void hccl_comm_leave(struct hccl_comm *comm)
{
    pthread_mutex_lock(&all_lock);
    hccl_bell_set(&comm->users, hccl_bell_read(&comm->users) - 1);
    pthread_mutex_unlock(&all_lock);
}

/* Waits until only the caller uses the link. */
static bool await_idle(struct hccl_comm *comm, int64_t timeout_ms)
{
    uint64_t deadline = ms_clock_raw_ns() + (uint64_t)timeout_ms * 1000000u;
    uint32_t seen;
    while ((seen = hccl_bell_read(&comm->users)) > 1 && ms_clock_raw_ns() < deadline) {
        hccl_bell_sleep(&comm->users, seen, &hccl_plain_waiter, HCCL_SLICE_MS);
    }
    return seen <= 1;
}

HcclResult hccl_comm_create(const char *function, const struct hccl_segment *segment, const struct hccl_setup *setup,
                            HcclComm *out)
{
    struct hccl_comm *comm = ms_slab_alloc(&comms);
    if (comm == NULL) {
        return HCCL_FAIL(HCCL_E_MEMORY, "%s: too many communicators (%d)", function, MAX_COMMS);
    }
    hccl_link_open(&comm->link, segment, setup->exec_timeout_ms);
    comm->dev = setup->dev;
    comm->buffer_b = setup->buffer_b;
    memcpy(comm->buffers, setup->buffers, sizeof(comm->buffers));
    comm->deterministic = setup->deterministic;
    comm->accelerator = setup->accelerator;
    snprintf(comm->name, sizeof(comm->name), "%s", setup->name[0] != '\0' ? setup->name : segment->head->name);
    pthread_mutex_init(&comm->order, NULL);
    pthread_mutex_init(&comm->lock, NULL);
    comm->refs = 1;
    pthread_mutex_lock(&all_lock);
    comm->linked = true;
    comm->live = true;
    pthread_mutex_unlock(&all_lock);
    *out = comm;
    return HCCL_SUCCESS;
}

/* Waits for queued operations, which end because their waits time out. Only a stream that never reaches them can keep
 * them from ending; then they are cancelled, and the last one closes the link. */
HcclResult HcclCommDestroy(HcclComm handle)
{
    struct hccl_comm *comm;
    HcclResult result = hccl_comm_get(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    pthread_mutex_lock(&all_lock);
    bool mine = comm->live;
    comm->live = false;
    pthread_mutex_unlock(&all_lock);
    if (!mine) {
        hccl_comm_put(comm);
        return HCCL_FAIL(HCCL_E_PARA, "%s: another thread is destroying this communicator", __func__);
    }
    bool idle = await_idle(comm, hccl_connect_timeout_ms());
    if (!idle) {
        hccl_link_stop(&comm->link, HCCL_E_SUSPENDING);
        idle = await_idle(comm, ABORT_MS);
    }
    hccl_buffers_release(comm->buffers, comm->buffer_b);
    if (idle) {
        pthread_mutex_lock(&all_lock);
        comm->linked = false;
        pthread_mutex_unlock(&all_lock);
        hccl_link_close(&comm->link);
    }
    hccl_comm_drop(comm); /* the reference of the handle */
    hccl_comm_put(comm);
    return HCCL_SUCCESS;
}

/* ---- state ---- */

void hccl_comm_note(struct hccl_comm *comm, const char *why)
{
    pthread_mutex_lock(&comm->lock);
    if (comm->why[0] == '\0') {
        snprintf(comm->why, sizeof(comm->why), "%s", why);
    }
    pthread_mutex_unlock(&comm->lock);
}

HcclResult hccl_comm_error(struct hccl_comm *comm)
{
    HcclResult error = hccl_link_error(&comm->link);
    uint32_t dead = error == HCCL_SUCCESS ? hccl_link_dead_peer(&comm->link) : comm->link.n;
    if (dead != comm->link.n) {
        char why[HCCL_WHY_B];
        hccl_explain(why, HCCL_E_REMOTE, "rank %u (process %d) is gone", dead, comm->link.seg.ranks[dead].pid);
        hccl_comm_note(comm, why);
        hccl_link_fail(&comm->link, HCCL_E_REMOTE);
        error = HCCL_E_REMOTE;
    }
    return error;
}

HcclResult HcclGetCommAsyncError(HcclComm handle, HcclResult *asyncError)
{
    struct hccl_comm *comm;
    HcclResult result = hccl_comm_get(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (asyncError == NULL) {
        result = HCCL_FAIL(HCCL_E_PTR, "%s: asyncError is NULL", __func__);
    } else {
        *asyncError = hccl_comm_error(comm);
        if (*asyncError != HCCL_SUCCESS) {
            pthread_mutex_lock(&comm->lock);
            HCCL_FAIL(*asyncError, "communicator %s: %s", comm->name,
                      comm->why[0] != '\0' ? comm->why : HcclGetErrorString(*asyncError));
            pthread_mutex_unlock(&comm->lock);
        }
    }
    hccl_comm_put(comm);
    return result;
}

HcclResult HcclCommSuspend(HcclComm handle)
{
    struct hccl_comm *comm;
    HcclResult result = hccl_comm_get(__func__, handle, &comm);
    if (result == HCCL_SUCCESS) {
        hccl_link_stop(&comm->link, HCCL_E_SUSPENDING);
        hccl_bell_bump(&comm->gate_bell);
        hccl_comm_put(comm);
    }
    return result;
}

static HcclResult resume(const char *function, struct hccl_comm *comm)
{
    if (hccl_link_error(&comm->link) == HCCL_SUCCESS) {
        return HCCL_SUCCESS;
    }
    /* Queued operations fail as soon as their stream reaches them. */
    if (!await_idle(comm, hccl_connect_timeout_ms())) {
        return HCCL_FAIL(HCCL_E_AGAIN, "%s: operations of %s are still queued", function, comm->name);
    }
    pthread_mutex_lock(&comm->order);
    pthread_mutex_lock(&comm->lock);
    memset(&comm->collectives, 0, sizeof(comm->collectives));
    memset(comm->channels, 0, sizeof(comm->channels));
    comm->why[0] = '\0';
    pthread_mutex_unlock(&comm->lock);
    char why[HCCL_WHY_B] = "";
    HcclResult result = hccl_link_resume(&comm->link, hccl_connect_timeout_ms(), why);
    pthread_mutex_unlock(&comm->order);
    return result == HCCL_SUCCESS ? result : HCCL_FAIL(result, "%s: %s", function, why);
}

HcclResult HcclCommResume(HcclComm handle)
{
    struct hccl_comm *comm;
    HcclResult result = hccl_comm_get(__func__, handle, &comm);
    if (result == HCCL_SUCCESS) {
        result = resume(__func__, comm);
        hccl_comm_put(comm);
    }
    return result;
}

/* The communicator, for a function that returns its result in *out. */
static HcclResult get_to_answer(const char *function, HcclComm handle, const void *out, const char *name,
                                struct hccl_comm **comm)
{
    HcclResult result = hccl_comm_get(function, handle, comm);
    if (result == HCCL_SUCCESS && out == NULL) {
        hccl_comm_put(*comm);
        result = HCCL_FAIL(HCCL_E_PTR, "%s: %s is NULL", function, name);
    }
    return result;
}

HcclResult HcclGetRankSize(HcclComm handle, uint32_t *rankSize)
{
    struct hccl_comm *comm;
    HcclResult result = get_to_answer(__func__, handle, rankSize, "rankSize", &comm);
    if (result == HCCL_SUCCESS) {
        *rankSize = comm->link.n;
        hccl_comm_put(comm);
    }
    return result;
}

HcclResult HcclGetRankId(HcclComm handle, uint32_t *rank)
{
    struct hccl_comm *comm;
    HcclResult result = get_to_answer(__func__, handle, rank, "rank", &comm);
    if (result == HCCL_SUCCESS) {
        *rank = comm->link.rank;
        hccl_comm_put(comm);
    }
    return result;
}

HcclResult HcclGetCommName(HcclComm handle, char *commName)
{
    struct hccl_comm *comm;
    HcclResult result = get_to_answer(__func__, handle, commName, "commName", &comm);
    if (result == HCCL_SUCCESS) {
        snprintf(commName, COMM_NAME_MAX_LENGTH, "%s", comm->name);
        hccl_comm_put(comm);
    }
    return result;
}
