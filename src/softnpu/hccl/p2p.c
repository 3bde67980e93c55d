/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers between two ranks.
 *
 * A channel is one direction of one pair: two mail slots, counters of the sender and counters of the receiver.
 *
 *     sender:    count, dtype; announced++   (wait accepted)       chunk -> slot; produced++ ...   wait for consumed
 *     receiver:  (wait announced)            compare; accepted++   chunk <- slot; consumed++ ...
 *
 * The sender writes its first chunks without waiting for `accepted`: they go into the slots, which are empty between
 * messages. Each transfer is a small state machine that advances one chunk at a time; if no transfer of a list can
 * advance, the thread sleeps on the door of its rank, which a peer rings at every change. So a list cannot deadlock on
 * its own order, and a rank may send to itself. */
#include "softnpu/hccl/p2p.h"

#include "base/clock.h"
#include "softnpu/hccl/copy.h"
#include "softnpu/hccl/dtype.h"

#include <string.h>

enum { WAITING, BEGUN, MOVING, DONE };

static uint32_t load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Notifies the rank at the other end of a channel of a change. */
static void tell(struct hccl_run *run, const struct hccl_transfer *t, uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    hccl_bell_bump(&run->link->seg.ranks[t->peer].door);
}

static struct hccl_channel *channel_of(const struct hccl_link *link, const struct hccl_transfer *t)
{
    return t->receive ? hccl_channel(&link->seg, t->peer, link->rank) : hccl_channel(&link->seg, link->rank, t->peer);
}

static uint64_t size_of(const struct hccl_transfer *t)
{
    return t->count * hccl_dtype_size(t->dtype);
}

static uint64_t next_b(const struct hccl_link *link, const struct hccl_transfer *t)
{
    uint64_t left = size_of(t) - t->done_b;
    return left < link->seg.mail_b ? left : link->seg.mail_b;
}

static HcclResult begin(struct hccl_run *run, struct hccl_transfer *t, struct hccl_channel *c)
{
    struct hccl_link *link = run->link;
    if (t->receive) {
        t->message = load(&c->accepted) + 1;
    } else {
        if (!link->mail_backed[t->peer]) {
            int error = hccl_mail_back(&link->seg, link->rank, t->peer);
            if (error != 0) {
                return hccl_explain(run->why, HCCL_E_MEMORY, "cannot allocate shared memory: %s", strerror(-error));
            }
            link->mail_backed[t->peer] = 1;
        }
        t->message = load(&c->announced) + 1;
        c->count = t->count;
        c->dtype = t->dtype;
        tell(run, t, &c->announced, t->message);
    }
    t->state = BEGUN;
    return HCCL_SUCCESS;
}

static HcclResult accept(struct hccl_run *run, struct hccl_transfer *t, struct hccl_channel *c)
{
    if (c->count != t->count || c->dtype != t->dtype) {
        return hccl_explain(run->why, HCCL_E_PARA,
                            "rank %u sends %llu of type %s where this rank expects %llu of type %s", t->peer,
                            (unsigned long long)c->count, hccl_dtype_name(c->dtype), (unsigned long long)t->count,
                            hccl_dtype_name(t->dtype));
    }
    tell(run, t, &c->accepted, t->message);
    t->state = MOVING;
    return HCCL_SUCCESS;
}

static bool send_chunk(struct hccl_run *run, struct hccl_transfer *t, struct hccl_channel *c)
{
    struct hccl_link *link = run->link;
    uint64_t size = next_b(link, t);
    uint32_t produced = c->produced;
    if (size == 0 || produced - load(&c->consumed) >= 2) {
        return false;
    }
    hccl_copy(hccl_mail(&link->seg, link->rank, t->peer, produced), (const char *)t->buffer + t->done_b, size);
    t->done_b += size;
    tell(run, t, &c->produced, produced + 1);
    return true;
}

static bool receive_chunk(struct hccl_run *run, struct hccl_transfer *t, struct hccl_channel *c)
{
    struct hccl_link *link = run->link;
    uint64_t size = next_b(link, t);
    uint32_t consumed = c->consumed;
    if (size == 0 || load(&c->produced) == consumed) {
        return false;
    }
    hccl_copy((char *)t->buffer + t->done_b, hccl_mail(&link->seg, t->peer, link->rank, consumed), size);
    t->done_b += size;
    tell(run, t, &c->consumed, consumed + 1);
    return true;
}

/* Advances one transfer. Sets *moved if something changed. */
static HcclResult push(struct hccl_run *run, struct hccl_transfer *t, const struct hccl_turn *turn, bool *moved)
{
    struct hccl_channel *c = channel_of(run->link, t);
    HcclResult result = HCCL_SUCCESS;
    if (t->state == WAITING) {
        if (!turn->take(turn->arg, t)) {
            return HCCL_SUCCESS;
        }
        *moved = true;
        result = begin(run, t, c);
    }
    if (result == HCCL_SUCCESS && t->state == BEGUN) {
        if (t->receive && load(&c->announced) == t->message) {
            *moved = true;
            result = accept(run, t, c);
        } else if (!t->receive && load(&c->accepted) == t->message) {
            *moved = true;
            t->state = MOVING;
        }
    }
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (t->receive ? t->state == MOVING && receive_chunk(run, t, c) : send_chunk(run, t, c)) {
        *moved = true;
    }
    bool arrived = t->receive || load(&c->consumed) == c->produced;
    if (t->state == MOVING && t->done_b == size_of(t) && arrived) {
        *moved = true;
        t->state = DONE;
        turn->give(turn->arg, t);
    }
    return HCCL_SUCCESS;
}

/* One pass over the list. If a transfer cannot take its channel, later ones do not try it either. */
static HcclResult push_all(struct hccl_run *run, struct hccl_transfer *transfers, uint32_t n,
                           const struct hccl_turn *turn, uint8_t *peers, uint32_t *left, bool *moved)
{
    uint8_t queued[2][HCCL_MAX_RANKS] = {{0}};
    HcclResult result = HCCL_SUCCESS;
    *left = 0;
    for (uint32_t i = 0; i < n && result == HCCL_SUCCESS; i++) {
        struct hccl_transfer *t = &transfers[i];
        uint8_t *waiting = &queued[t->receive != 0][t->peer];
        if (t->state == DONE) {
            continue;
        }
        if (t->state != WAITING || !*waiting) {
            result = push(run, t, turn, moved);
        }
        *left += t->state != DONE;
        *waiting |= t->state == WAITING;
        peers[t->peer] |= t->state == BEGUN || t->state == MOVING;
    }
    return result;
}

HcclResult hccl_p2p_run(struct hccl_run *run, struct hccl_transfer *transfers, uint32_t n, const struct hccl_turn *turn)
{
    struct hccl_link *link = run->link;
    HcclResult result = hccl_link_error(link);
    if (result != HCCL_SUCCESS) {
        hccl_explain(run->why, result, "the communicator has failed or is suspended");
    }
    uint64_t since_ns = ms_clock_raw_ns();
    uint32_t left = n;
    while (left != 0 && result == HCCL_SUCCESS) {
        uint32_t seen = hccl_bell_read(&link->seg.ranks[link->rank].door);
        uint8_t peers[HCCL_MAX_RANKS] = {0};
        bool moved = false;
        result = push_all(run, transfers, n, turn, peers, &left, &moved);
        if (result == HCCL_SUCCESS && left != 0) {
            if (moved) {
                since_ns = ms_clock_raw_ns();
            } else {
                result = hccl_await_door(run, seen, peers, since_ns);
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) { /* after a failure */
        if (transfers[i].state == BEGUN || transfers[i].state == MOVING) {
            turn->give(turn->arg, &transfers[i]);
        }
    }
    return hccl_run_failed(run, result);
}
