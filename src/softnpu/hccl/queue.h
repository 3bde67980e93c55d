/* SPDX-License-Identifier: Apache-2.0 */
/* Operations as tasks of streams. */
#ifndef SOFTNPU_HCCL_QUEUE_H
#define SOFTNPU_HCCL_QUEUE_H

#include "softnpu/hccl/collective.h"
#include "softnpu/hccl/comm.h"
#include "softnpu/hccl/p2p.h"

struct snpu_stream;

/* A call that has been checked. Vectors and transfers belong to the caller. */
struct hccl_request {
    const char *function; /* for messages */
    const char *label;    /* for profiles: "hcom_allReduce_" */
    struct hccl_comm *comm;
    struct snpu_stream *stream;
    /* Either a collective ... */
    struct hccl_collective op;
    uint64_t send_b, recv_b; /* bytes accessed from op.send and op.recv */
    /* ... or transfers. */
    struct hccl_transfer *transfers; /* gets its tickets when it is queued */
    uint32_t n_transfers;            /* 0: collective */
    /* For profiles. */
    uint64_t count;
    uint32_t dtype;
};

/* Largest list of transfers in one task. */
uint32_t hccl_queue_most_transfers(void);

/* Queues the request on its stream, or keeps it until the end of the group that this thread has opened. */
HcclResult hccl_queue(const struct hccl_request *request);
HcclResult hccl_queue_now(const struct hccl_request *request);

/* True if [p, p + size_b) is memory that an operation may use, for writing or for reading. */
bool hccl_memory_usable(const void *p, uint64_t size_b, bool write);

/* group.c */
bool hccl_group_open(void);
HcclResult hccl_group_add(const struct hccl_request *request);
/* A call inside a group failed, so the group fails. */
void hccl_group_spoil(HcclResult result);

#endif
