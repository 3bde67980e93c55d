/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's end of a communicator, below the stream engine: waiting for peers, common failure, restart.
 *
 * A link does not know streams or device memory; an operation is a function call on the calling thread, with the way to
 * sleep as an argument. At most one collective and, per ordered pair of ranks, one transfer may run on a link at a
 * time; the communicator above ensures that. */
#ifndef SOFTNPU_HCCL_LINK_H
#define SOFTNPU_HCCL_LINK_H

#include "softnpu/hccl/segment.h"

struct hccl_link {
    struct hccl_segment seg;
    uint32_t rank, n;
    int64_t exec_timeout_ms; /* longest wait for a peer inside an operation; <= 0: no limit */
    uint32_t spins;          /* number of checks of a word before sleeping */
    uint32_t stop;           /* HcclResult that ends this rank's waits (suspended, being destroyed); 0: none */
    /* Collectives: the same on all ranks between two operations. */
    uint32_t phase; /* last step published */
    uint32_t index; /* collectives started */
    uint32_t slot;  /* staging slot without readers */
    uint32_t resumes;
    uint8_t mail_backed[HCCL_MAX_RANKS]; /* the channel to this peer has memory */
};

/* One operation in progress. */
struct hccl_run {
    struct hccl_link *link;
    const struct hccl_waiter *waiter;
    char why[HCCL_WHY_B];
};

void hccl_link_open(struct hccl_link *link, const struct hccl_segment *segment, int64_t exec_timeout_ms);
void hccl_link_close(struct hccl_link *link);

/* Ends every operation of all ranks with this result, now and later. The first one counts. */
void hccl_link_fail(struct hccl_link *link, HcclResult result);
/* The error that ended the communicator, or this rank's part in it; HCCL_SUCCESS if there is none. */
HcclResult hccl_link_error(const struct hccl_link *link);
/* A peer that died without leaving; n if there is none. */
uint32_t hccl_link_dead_peer(const struct hccl_link *link);
/* Ends waits of this rank only; HCCL_SUCCESS lets it continue. */
void hccl_link_stop(struct hccl_link *link, HcclResult result);

/* All ranks must call it; none may be inside an operation. Discards all earlier operations. */
HcclResult hccl_link_resume(struct hccl_link *link, int64_t timeout_ms, char why[HCCL_WHY_B]);

/* End of an operation: reports a failure to the other ranks. Returns the result. */
HcclResult hccl_run_failed(struct hccl_run *run, HcclResult result);

/* Publishes one more step of this rank, and waits until all have published as many as this one. */
void hccl_publish(struct hccl_link *link);
HcclResult hccl_await_all(struct hccl_run *run);

/* Waits for a change of this rank's door; peers: the ranks that must be alive for a change to come (NULL: none).
 * Returns HCCL_SUCCESS if there may be a change, or the error that ended the wait. since_ns: time of this rank's last
 * progress. */
HcclResult hccl_await_door(struct hccl_run *run, uint32_t seen, const uint8_t *peers, uint64_t since_ns);

#endif
