/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives over the shared staging area. */
#ifndef SOFTNPU_HCCL_COLLECTIVE_H
#define SOFTNPU_HCCL_COLLECTIVE_H

#include "softnpu/hccl/link.h"

/* C function, name in profiles, how many vectors of n numbers follow, whether it computes */
#define HCCL_COLLECTIVES(X)                                                                                            \
    X(BARRIER, "HcclBarrier", "hcom_barrier_", 0, false)                                                               \
    X(BROADCAST, "HcclBroadcast", "hcom_broadcast_", 0, false)                                                         \
    X(SCATTER, "HcclScatter", "hcom_scatter_", 0, false)                                                               \
    X(ALL_GATHER, "HcclAllGather", "hcom_allGather_", 0, false)                                                        \
    X(ALL_GATHER_V, "HcclAllGatherV", "hcom_allGatherV_", 2, false)                                                    \
    X(ALL_REDUCE, "HcclAllReduce", "hcom_allReduce_", 0, true)                                                         \
    X(REDUCE, "HcclReduce", "hcom_reduce_", 0, true)                                                                   \
    X(REDUCE_SCATTER, "HcclReduceScatter", "hcom_reduceScatter_", 0, true)                                             \
    X(REDUCE_SCATTER_V, "HcclReduceScatterV", "hcom_reduceScatterV_", 2, true)                                         \
    X(ALL_TO_ALL, "HcclAlltoAll", "hcom_alltoall_", 0, false)                                                          \
    X(ALL_TO_ALL_V, "HcclAlltoAllV", "hcom_alltoallv_", 4, false)                                                      \
    X(ALL_TO_ALL_VC, "HcclAlltoAllVC", "hcom_alltoallvc_", 4, false)

enum hccl_kind {
#define KIND(id, function, label, vectors, reduces) HCCL_KIND_##id,
    HCCL_COLLECTIVES(KIND)
#undef KIND
        HCCL_KIND_COUNT,
};

const char *hccl_kind_function(uint32_t kind);
const char *hccl_kind_label(uint32_t kind);
uint32_t hccl_kind_vectors(uint32_t kind);
bool hccl_kind_reduces(uint32_t kind);

struct hccl_collective {
    uint32_t kind;
    uint32_t dtype;
    uint32_t reduce;
    uint32_t root;
    uint64_t count; /* elements of the buffer, or of one rank's block, as the C function counts them */
    const void *send;
    void *recv;
    /* Elements, n numbers each. ALL_GATHER_V: count and displacement of each rank's contribution. REDUCE_SCATTER_V:
     * count and displacement of each rank's result. ALL_TO_ALL_V(C): counts and displacements sent, then received. */
    const uint64_t *vector[4];
};

/* Runs one collective to completion. All ranks must run the same ones in the same order; otherwise all of them get
 * HCCL_E_PARA and nothing is transferred. Any failure but HCCL_E_SUSPENDING ends the communicator. */
HcclResult hccl_collective_run(struct hccl_run *run, const struct hccl_collective *op);

#endif
