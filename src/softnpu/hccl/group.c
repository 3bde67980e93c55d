/* SPDX-License-Identifier: Apache-2.0 */
/* HcclGroupStart, HcclGroupEnd: calls of one thread that are queued together.
 *
 * Sends and receives of a group that go to the same stream and communicator become one task, so that their order does
 * not matter, as in HcclBatchSendRecv. It takes the position of the first of them; collectives keep theirs. Nothing
 * is queued before the outermost group ends, and nothing at all if a call in it failed. State is per thread. */
#include "softnpu/hccl/queue.h"

#include "base/macros.h"

#include <stdlib.h>
#include <string.h>

struct group_entry {
    struct group_entry *next;
    struct hccl_request request; /* holds a reference to its communicator */
    uint64_t data[];             /* vectors or transfers */
};

static __thread struct {
    uint32_t depth;
    HcclResult spoilt;
    struct group_entry *first, **last;
} group;

bool hccl_group_open(void)
{
    return group.depth != 0;
}

void hccl_group_spoil(HcclResult result)
{
    if (group.depth != 0 && group.spoilt == HCCL_SUCCESS) {
        group.spoilt = result;
    }
}

HcclResult hccl_group_add(const struct hccl_request *request)
{
    uint32_t n = request->comm->link.n, vectors = request->n_transfers == 0 ? hccl_kind_vectors(request->op.kind) : 0;
    size_t transfers_b = request->n_transfers * sizeof(*request->transfers);
    struct group_entry *e = calloc(1, sizeof(*e) + transfers_b + (size_t)vectors * n * sizeof(uint64_t));
    if (e == NULL) {
        return HCCL_FAIL(HCCL_E_MEMORY, "%s: out of memory", request->function);
    }
    e->request = *request;
    if (request->n_transfers != 0) {
        memcpy(e->data, request->transfers, transfers_b);
        e->request.transfers = (struct hccl_transfer *)e->data;
    }
    for (uint32_t v = 0; v < vectors; v++) {
        memcpy(e->data + (size_t)v * n, request->op.vector[v], n * sizeof(uint64_t));
        e->request.op.vector[v] = e->data + (size_t)v * n;
    }
    hccl_comm_keep(request->comm);
    hccl_comm_enter_again(request->comm);
    *group.last = e;
    group.last = &e->next;
    return HCCL_SUCCESS;
}

static bool same_place(const struct hccl_request *a, const struct hccl_request *b)
{
    return a->n_transfers != 0 && b->n_transfers != 0 && a->comm == b->comm && a->stream == b->stream;
}

/* Queues an entry together with the later ones of the same list, and empties those. */
static HcclResult queue_merged(struct group_entry *first)
{
    struct hccl_request merged = first->request;
    uint32_t total = 0;
    for (struct group_entry *e = first; e != NULL; e = e->next) {
        total += same_place(&first->request, &e->request) ? e->request.n_transfers : 0;
    }
    if (total == merged.n_transfers) {
        return hccl_queue_now(&merged);
    }
    if (total > hccl_queue_most_transfers()) {
        return HCCL_FAIL(HCCL_E_PARA, "HcclGroupEnd: %u transfers, at most %u are supported", total,
                         hccl_queue_most_transfers());
    }
    struct hccl_transfer *list = malloc(total * sizeof(*list));
    if (list == NULL) {
        return HCCL_FAIL(HCCL_E_MEMORY, "HcclGroupEnd: out of memory");
    }
    total = 0;
    merged.count = 0;
    for (struct group_entry *e = first; e != NULL; e = e->next) {
        if (same_place(&first->request, &e->request)) {
            memcpy(list + total, e->request.transfers, e->request.n_transfers * sizeof(*list));
            total += e->request.n_transfers;
            merged.count += e->request.count;
            e->request.stream = e != first ? NULL : e->request.stream;
        }
    }
    merged.transfers = list;
    merged.n_transfers = total;
    merged.function = "HcclGroupEnd";
    merged.label = "hcom_batchSendRecv_";
    HcclResult result = hccl_queue_now(&merged);
    free(list);
    return result;
}

HcclResult HcclGroupStart(void)
{
    if (group.depth++ == 0) {
        group.spoilt = HCCL_SUCCESS;
        group.first = NULL;
        group.last = &group.first;
    }
    return HCCL_SUCCESS;
}

HcclResult HcclGroupEnd(void)
{
    if (group.depth == 0) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: no group was started", __func__);
    }
    if (--group.depth != 0) {
        return HCCL_SUCCESS;
    }
    HcclResult result = group.spoilt;
    for (struct group_entry *e = group.first; e != NULL && result == HCCL_SUCCESS; e = e->next) {
        if (e->request.stream != NULL) {
            result = e->request.n_transfers != 0 ? queue_merged(e) : hccl_queue_now(&e->request);
        }
    }
    while (group.first != NULL) {
        struct group_entry *e = group.first;
        group.first = e->next;
        hccl_comm_put(e->request.comm);
        free(e);
    }
    return result;
}
