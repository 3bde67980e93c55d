/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for peers, with detection of dead ones.
 *
 * A wait spins briefly, then sleeps in slices. After a slice without progress it checks whether the peer still holds
 * its lock; a dead peer fails the whole communicator, so that the other ranks need not detect it themselves. The word
 * is read once more after the peer was found dead, because the peer may have finished its part before it died. */
#include "softnpu/hccl/link.h"

#include "base/clock.h"
#include "base/macros.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define RELAX() __asm__ volatile("yield")
#else
#define RELAX() ((void)0)
#endif

#define SPINS 400 /* some microseconds: enough for a peer that is slightly behind, not for one that is busy */

void hccl_link_open(struct hccl_link *link, const struct hccl_segment *segment, int64_t exec_timeout_ms)
{
    memset(link, 0, sizeof(*link));
    link->seg = *segment;
    link->rank = segment->rank;
    link->n = segment->n;
    link->exec_timeout_ms = exec_timeout_ms;
    /* With more ranks than processors, the awaited peer needs the processor that would spin. */
    link->spins = sysconf(_SC_NPROCESSORS_ONLN) >= (long)segment->n ? SPINS : 0;
}

void hccl_link_close(struct hccl_link *link)
{
    __atomic_store_n(&link->seg.ranks[link->rank].presence, HCCL_LEFT, __ATOMIC_RELEASE);
    hccl_segment_leave(&link->seg);
}

static void wake_all(struct hccl_link *link)
{
    for (uint32_t r = 0; r < link->n; r++) {
        hccl_bell_wake(&link->seg.ranks[r].phase);
        hccl_bell_bump(&link->seg.ranks[r].door);
    }
}

void hccl_link_fail(struct hccl_link *link, HcclResult result)
{
    uint32_t none = HCCL_SUCCESS;
    __atomic_compare_exchange_n(&link->seg.head->error, &none, (uint32_t)result, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    wake_all(link);
}

HcclResult hccl_link_error(const struct hccl_link *link)
{
    uint32_t error = __atomic_load_n(&link->stop, __ATOMIC_ACQUIRE);
    return (HcclResult)(error != HCCL_SUCCESS ? error : __atomic_load_n(&link->seg.head->error, __ATOMIC_ACQUIRE));
}

uint32_t hccl_link_dead_peer(const struct hccl_link *link)
{
    for (uint32_t r = 0; r < link->n; r++) {
        if (__atomic_load_n(&link->seg.ranks[r].presence, __ATOMIC_ACQUIRE) == HCCL_PRESENT &&
            !hccl_segment_alive(&link->seg, r) &&
            __atomic_load_n(&link->seg.ranks[r].presence, __ATOMIC_ACQUIRE) == HCCL_PRESENT) {
            return r;
        }
    }
    return link->n;
}

void hccl_link_stop(struct hccl_link *link, HcclResult result)
{
    __atomic_store_n(&link->stop, (uint32_t)result, __ATOMIC_SEQ_CST);
    if (result != HCCL_SUCCESS) {
        wake_all(link);
    }
}

/* ---- one wait ---- */

struct patience {
    uint64_t since_ns;
    int64_t limit_ms;
    bool deaf; /* HcclCommResume: ignore the earlier error */
};

static bool reached(const struct hccl_bell *bell, uint32_t target)
{
    return (int32_t)(hccl_bell_read(bell) - target) >= 0; /* counts wrap around */
}

static HcclResult ended(struct hccl_run *run, bool deaf)
{
    HcclResult error = deaf ? HCCL_SUCCESS : hccl_link_error(run->link);
    if (error == HCCL_SUCCESS) {
        return HCCL_SUCCESS;
    }
    return hccl_explain(run->why, error,
                        error == HCCL_E_SUSPENDING ? "the communicator is suspended"
                                                   : "another rank ended the communicator");
}

/* After a sleep without a change. */
static HcclResult give_up(struct hccl_run *run, uint32_t peer, const struct patience *p)
{
    if (!hccl_segment_alive(&run->link->seg, peer)) {
        const struct hccl_rank *gone = &run->link->seg.ranks[peer];
        bool left = __atomic_load_n(&gone->presence, __ATOMIC_ACQUIRE) == HCCL_LEFT;
        return hccl_explain(run->why, HCCL_E_REMOTE, "rank %u (process %d) %s", peer, gone->pid,
                            left ? "has left the communicator" : "is gone");
    }
    if (p->limit_ms > 0 && ms_clock_raw_ns() - p->since_ns >= (uint64_t)p->limit_ms * 1000000u) {
        return hccl_explain(run->why, HCCL_E_TIMEOUT, "rank %u did not arrive within %lld s", peer,
                            (long long)(p->limit_ms / 1000));
    }
    return HCCL_SUCCESS;
}

static int32_t slice_of(const struct patience *p)
{
    return (int32_t)(p->limit_ms > 0 && p->limit_ms < HCCL_SLICE_MS ? p->limit_ms : HCCL_SLICE_MS);
}

static HcclResult await(struct hccl_run *run, uint32_t peer, struct hccl_bell *bell, uint32_t target, int64_t limit_ms,
                        bool deaf)
{
    for (uint32_t i = 0; i < run->link->spins; i++) {
        if (reached(bell, target)) {
            return HCCL_SUCCESS;
        }
        RELAX();
    }
    struct patience p = {ms_clock_raw_ns(), limit_ms, deaf};
    for (;;) {
        uint32_t seen = hccl_bell_read(bell);
        if ((int32_t)(seen - target) >= 0) {
            return HCCL_SUCCESS;
        }
        HcclResult result = ended(run, deaf);
        if (result == HCCL_SUCCESS) {
            int slept = hccl_bell_sleep(bell, seen, run->waiter, slice_of(&p));
            if (slept == -ECANCELED) {
                return hccl_explain(run->why, HCCL_E_SUSPENDING, "the stream was aborted");
            }
            result = slept == -ETIMEDOUT ? give_up(run, peer, &p) : HCCL_SUCCESS;
        }
        if (result != HCCL_SUCCESS) {
            if (reached(bell, target)) {
                return HCCL_SUCCESS;
            }
            HcclResult reason = ended(run, deaf); /* a peer that is gone may have set the reason after the check */
            return reason != HCCL_SUCCESS ? reason : result;
        }
    }
}

void hccl_publish(struct hccl_link *link)
{
    hccl_bell_set(&link->seg.ranks[link->rank].phase, ++link->phase);
}

HcclResult hccl_await_all(struct hccl_run *run)
{
    struct hccl_link *link = run->link;
    for (uint32_t i = 1; i < link->n; i++) {
        uint32_t peer = (link->rank + i) % link->n;
        HcclResult result = await(run, peer, &link->seg.ranks[peer].phase, link->phase, link->exec_timeout_ms, false);
        if (result != HCCL_SUCCESS) {
            return result;
        }
    }
    return HCCL_SUCCESS;
}

HcclResult hccl_await_door(struct hccl_run *run, uint32_t seen, const uint8_t *peers, uint64_t since_ns)
{
    struct hccl_link *link = run->link;
    struct hccl_bell *door = &link->seg.ranks[link->rank].door;
    for (uint32_t i = 0; i < link->spins; i++) {
        if (hccl_bell_read(door) != seen) {
            return HCCL_SUCCESS;
        }
        RELAX();
    }
    HcclResult result = ended(run, false);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    struct patience p = {since_ns, link->exec_timeout_ms, false};
    int slept = hccl_bell_sleep(door, seen, run->waiter, slice_of(&p));
    if (slept == -ECANCELED) {
        return hccl_explain(run->why, HCCL_E_SUSPENDING, "the stream was aborted");
    }
    if (slept == -ETIMEDOUT) {
        for (uint32_t peer = 0; peer < link->n; peer++) {
            if (peers[peer] != 0 && (result = give_up(run, peer, &p)) != HCCL_SUCCESS) {
                return hccl_bell_read(door) != seen ? HCCL_SUCCESS : result;
            }
        }
    }
    return HCCL_SUCCESS;
}

HcclResult hccl_run_failed(struct hccl_run *run, HcclResult result)
{
    struct hccl_link *link = run->link;
    if (result != HCCL_SUCCESS && __atomic_load_n(&link->stop, __ATOMIC_ACQUIRE) == HCCL_SUCCESS) {
        /* An aborted stream is local to this rank; for the others the rank is lost. */
        hccl_link_fail(link, result == HCCL_E_SUSPENDING ? HCCL_E_REMOTE : result);
    }
    return result;
}

/* ---- restart ---- */

static HcclResult resume_step(struct hccl_run *run, uint32_t step, int64_t timeout_ms)
{
    struct hccl_link *link = run->link;
    hccl_bell_set(&link->seg.ranks[link->rank].resume, step);
    for (uint32_t peer = 0; peer < link->n; peer++) {
        HcclResult result = await(run, peer, &link->seg.ranks[peer].resume, step, timeout_ms, true);
        if (result != HCCL_SUCCESS) {
            return result;
        }
    }
    return HCCL_SUCCESS;
}

/* Two steps: when all ranks have reached the first, the shared state is unused and each rank clears its own part; when
 * all have reached the second, all of it is clear. */
HcclResult hccl_link_resume(struct hccl_link *link, int64_t timeout_ms, char why[HCCL_WHY_B])
{
    struct hccl_run run = {.link = link, .waiter = &hccl_plain_waiter};
    HcclResult result = resume_step(&run, 2 * link->resumes + 1, timeout_ms);
    if (result == HCCL_SUCCESS) {
        for (uint32_t peer = 0; peer < link->n; peer++) {
            struct hccl_channel *to = hccl_channel(&link->seg, link->rank, peer);
            struct hccl_channel *from = hccl_channel(&link->seg, peer, link->rank);
            to->announced = to->produced = 0;
            from->accepted = from->consumed = 0;
        }
        link->phase = link->index = link->slot = 0;
        hccl_bell_set(&link->seg.ranks[link->rank].phase, 0);
        if (link->rank == 0) {
            __atomic_store_n(&link->seg.head->error, HCCL_SUCCESS, __ATOMIC_SEQ_CST);
        }
        result = resume_step(&run, 2 * link->resumes + 2, timeout_ms);
    }
    if (result == HCCL_SUCCESS) {
        link->resumes++;
        hccl_link_stop(link, HCCL_SUCCESS);
    } else {
        memcpy(why, run.why, HCCL_WHY_B);
    }
    return result;
}
