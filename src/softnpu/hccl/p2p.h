/* SPDX-License-Identifier: Apache-2.0 */
/* Send and receive: any number of concurrent transfers. */
#ifndef SOFTNPU_HCCL_P2P_H
#define SOFTNPU_HCCL_P2P_H

#include "softnpu/hccl/link.h"

struct hccl_transfer {
    uint32_t receive; /* HcclSendRecvType */
    uint32_t peer;
    uint32_t dtype;
    uint32_t ticket; /* for hccl_turn, which decides when a transfer may start */
    uint64_t count;
    void *buffer;
    /* Set to zero by the caller. */
    uint64_t done_b;
    uint32_t state;
    uint32_t message;
};

/* Decides which operation may use a channel of this rank: several may compete for it. */
struct hccl_turn {
    bool (*take)(void *arg,
                 const struct hccl_transfer *transfer); /* false: not yet; the door rings when to ask again */
    void (*give)(void *arg, const struct hccl_transfer *transfer);
    void *arg;
};

/* Runs all transfers to completion; a transfer ends when the other side has ended it too. Transfers of one list with
 * the same peer and direction run in list order. A count or type that differs from the peer's is HCCL_E_PARA on both
 * sides. Any failure but HCCL_E_SUSPENDING ends the communicator. */
HcclResult hccl_p2p_run(struct hccl_run *run, struct hccl_transfer *transfers, uint32_t n,
                        const struct hccl_turn *turn);

#endif
