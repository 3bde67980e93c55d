/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's end of a communicator, below the stream engine: waiting for peers, failing together, starting over.
 *
 * A link knows no streams and no device memory; an operation is a function call on the calling thread, with the way to
 * sleep passed along. At most one collective and, per ordered pair of ranks, one transfer may run on a link at a time;
 * the communicator above sees to that. */
#ifndef SOFTNPU_HCCL_LINK_H
#define SOFTNPU_HCCL_LINK_H

#include "softnpu/hccl/segment.h"

struct hccl_link {
    struct hccl_segment seg;
    uint32_t rank, n;
    int64_t exec_timeout_ms; /* longest wait for a peer inside an operation; <= 0: no limit */
    uint32_t spins;          /* looks at a word before sleeping */
    uint32_t stop;           /* HcclResult that ends this rank's waits (suspended, being destroyed); 0: none */
    /* Collectives: the same on all ranks between two operations. */
    uint32_t phase; /* last step published */
    uint32_t index; /* collectives begun */
    uint32_t slot;  /* staging slot that no peer reads any more */
    uint32_t resumes;
    uint8_t mail_backed[HCCL_MAX_RANKS]; /* channel to this peer has memory */
};

/* One operation under way. */
struct hccl_run {
    struct hccl_link *link;
    const struct hccl_waiter *waiter;
    char why[HCCL_WHY_B];
};

void hccl_link_open(struct hccl_link *link, const struct hccl_segment *segment, int64_t exec_timeout_ms);
void hccl_link_close(struct hccl_link *link);

/* Ends every operation of all ranks with this result, now and later. The first one counts. */
void hccl_link_fail(struct hccl_link *link, HcclResult result);
/* What has ended the communicator, or this rank's part in it; HCCL_SUCCESS while all is well. */
HcclResult hccl_link_error(const struct hccl_link *link);
/* A peer that died without leaving; n if there is none. */
uint32_t hccl_link_dead_peer(const struct hccl_link *link);
/* Ends waits of this rank only; HCCL_SUCCESS lets it go on. */
void hccl_link_stop(struct hccl_link *link, HcclResult result);

/* All ranks must call it; none may be inside an operation. Afterwards nothing is left of what was under way. */
HcclResult hccl_link_resume(struct hccl_link *link, int64_t timeout_ms, char why[HCCL_WHY_B]);

/* End of an operation: a failure is made known to the other ranks. Returns the result. */
HcclResult hccl_run_failed(struct hccl_run *run, HcclResult result);

/* Publishes one more step of this rank, and waits until all have published as many as this one. */
void hccl_publish(struct hccl_link *link);
HcclResult hccl_await_all(struct hccl_run *run);

/* Waits for a change of this rank's door; peers: who must be alive for a change to come (NULL: nobody). Returns
 * HCCL_SUCCESS when there may be something to look at, or what ended the wait. since_ns: when this rank last got on. */
HcclResult hccl_await_door(struct hccl_run *run, uint32_t seen, const uint8_t *peers, uint64_t since_ns);

#endif
