/* SPDX-License-Identifier: Apache-2.0 */
/* Send and receive: any number of transfers that go on at the same time. */
#ifndef SOFTNPU_HCCL_P2P_H
#define SOFTNPU_HCCL_P2P_H

#include "softnpu/hccl/link.h"

struct hccl_transfer {
    uint32_t receive; /* HcclSendRecvType */
    uint32_t peer;
    uint32_t dtype;
    uint32_t ticket; /* of whoever decides when a transfer may start, see hccl_turn */
    uint64_t count;
    void *buffer;
    /* Set to zero by the caller. */
    uint64_t done_b;
    uint32_t state;
    uint32_t message;
};

/* Decides whose turn it is on a channel of this rank: several operations of one rank may want it. */
struct hccl_turn {
    bool (*take)(void *arg, const struct hccl_transfer *transfer); /* false: not yet; the door rings when it may be */
    void (*give)(void *arg, const struct hccl_transfer *transfer);
    void *arg;
};

/* Runs all transfers to their end; a transfer ends when the other side has ended it too. Transfers of one list with the
 * same peer and direction go in the order of the list. A count or type that differs from the peer's is HCCL_E_PARA on
 * both sides. Any failure but HCCL_E_SUSPENDING ends the communicator. */
HcclResult hccl_p2p_run(struct hccl_run *run, struct hccl_transfer *transfers, uint32_t n,
                        const struct hccl_turn *turn);

#endif
