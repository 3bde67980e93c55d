/* SPDX-License-Identifier: Apache-2.0 */
/* The public operations. All arguments are checked here, each check in one place; valid calls are queued. */
#include "softnpu/hccl/queue.h"

#include "base/macros.h"
#include "softnpu/hccl/dtype.h"
#include "softnpu/runtime/task.h"

#include <stdlib.h>
#include <string.h>

#define MAX_COUNT 0x7fffffffffull /* elements of one buffer, as in the real library; keeps products within 64 bits */

/* ---- checks: each sets the message and returns the result ---- */

static HcclResult check_type(const char *function, uint32_t dtype)
{
    if (hccl_dtype_size(dtype) == 0) {
        return HCCL_FAIL(HCCL_E_NOT_SUPPORT, "%s: invalid data type %u", function, dtype);
    }
    return HCCL_SUCCESS;
}

static HcclResult check_reduction(const char *function, uint32_t dtype, uint32_t op)
{
    if (!hccl_reduce_valid(op)) {
        return HCCL_FAIL(HCCL_E_NOT_SUPPORT, "%s: invalid reduction %u", function, op);
    }
    if (!hccl_dtype_reduces(dtype)) {
        return HCCL_FAIL(HCCL_E_NOT_SUPPORT, "%s: type %s cannot be reduced", function, hccl_dtype_name(dtype));
    }
    return HCCL_SUCCESS;
}

static HcclResult check_count(const char *function, uint64_t count)
{
    if (count > MAX_COUNT) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: count %llu is too large", function, (unsigned long long)count);
    }
    return HCCL_SUCCESS;
}

static HcclResult check_rank(const char *function, const char *what, uint32_t rank, const struct hccl_comm *comm)
{
    if (rank >= comm->link.n) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: %s %u is out of range, there are %u ranks", function, what, rank,
                         comm->link.n);
    }
    return HCCL_SUCCESS;
}

static HcclResult check_buffer(const char *function, const char *what, const void *p, uint64_t size_b, bool write)
{
    if (size_b == 0) {
        return HCCL_SUCCESS;
    }
    if (p == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: %s is NULL", function, what);
    }
    if (!hccl_memory_usable(p, size_b, write)) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: %s: no %llu bytes of device memory at %p", function, what,
                         (unsigned long long)size_b, p);
    }
    return HCCL_SUCCESS;
}

/* Resolves communicator and stream and fills them in. Holds a reference to the communicator. */
static HcclResult open_request(struct hccl_request *r, const char *function, HcclComm comm, aclrtStream stream)
{
    memset(r, 0, sizeof(*r));
    r->function = function;
    HcclResult result = hccl_comm_get(function, comm, &r->comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (stream == NULL) {
        result = HCCL_FAIL(HCCL_E_PTR, "%s: stream is NULL", function);
    } else if (snpu_stream_resolve_any(function, stream, &r->stream) != 0) { /* has set the message */
        result = HCCL_E_PARA;
    } else if (snpu_stream_dev(r->stream) != r->comm->dev) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: the stream belongs to device %u, the communicator to device %u", function,
                           snpu_stream_dev(r->stream), r->comm->dev);
    }
    if (result != HCCL_SUCCESS) {
        hccl_comm_put(r->comm);
        r->comm = NULL;
    }
    return result;
}

/* The end of every call. */
static HcclResult close_request(struct hccl_request *r, HcclResult result)
{
    if (r->comm != NULL) {
        hccl_comm_put(r->comm);
    }
    if (result != HCCL_SUCCESS) {
        hccl_group_spoil(result);
    }
    return result;
}

/* ---- collectives ---- */

/* Buffer sizes of collectives with equal blocks, in units of count elements: one, one per rank, only at the root. */
enum shape { NONE, ONE, ALL, ONE_AT_ROOT, ALL_AT_ROOT };

/* clang-format off */
static const struct {
    enum shape send, recv;
    bool rooted;
} shapes[HCCL_KIND_COUNT] = {
    [HCCL_KIND_BROADCAST]      = {ONE,         ONE,         true},
    [HCCL_KIND_SCATTER]        = {ALL_AT_ROOT, ONE,         true},
    [HCCL_KIND_ALL_GATHER]     = {ONE,         ALL,         false},
    [HCCL_KIND_ALL_REDUCE]     = {ONE,         ONE,         false},
    [HCCL_KIND_REDUCE]         = {ONE,         ONE_AT_ROOT, true},
    [HCCL_KIND_REDUCE_SCATTER] = {ALL,         ONE,         false},
    [HCCL_KIND_ALL_TO_ALL]     = {ALL,         ALL,         false},
};
/* clang-format on */

static uint64_t shape_b(enum shape shape, const struct hccl_request *r)
{
    bool at_root = r->comm->link.rank == r->op.root;
    uint64_t one = r->op.count * hccl_dtype_size(r->op.dtype);
    switch (shape) {
    case ONE:
        return one;
    case ALL:
        return one * r->comm->link.n;
    case ONE_AT_ROOT:
        return at_root ? one : 0;
    case ALL_AT_ROOT:
        return at_root ? one * r->comm->link.n : 0;
    default:
        return 0;
    }
}

/* All checks of a collective without vectors. */
static HcclResult collective(const char *function, const struct hccl_collective *op, HcclComm comm, aclrtStream stream)
{
    struct hccl_request r;
    HcclResult result = open_request(&r, function, comm, stream);
    if (result != HCCL_SUCCESS) {
        return close_request(&r, result);
    }
    r.op = *op;
    r.label = hccl_kind_label(op->kind);
    r.count = op->count;
    r.dtype = op->dtype;
    bool moves = op->kind != HCCL_KIND_BARRIER;
    if ((moves && (result = check_type(function, op->dtype)) != HCCL_SUCCESS) ||
        (result = check_count(function, op->count)) != HCCL_SUCCESS ||
        (hccl_kind_reduces(op->kind) && (result = check_reduction(function, op->dtype, op->reduce)) != HCCL_SUCCESS) ||
        (shapes[op->kind].rooted && (result = check_rank(function, "root", op->root, r.comm)) != HCCL_SUCCESS)) {
        return close_request(&r, result);
    }
    if (moves && op->count == 0) {
        return close_request(&r, HCCL_SUCCESS); /* the same on all ranks: nothing to wait for */
    }
    r.send_b = shape_b(shapes[op->kind].send, &r);
    r.recv_b = shape_b(shapes[op->kind].recv, &r);
    if ((result = check_buffer(function, "sendBuf", op->send, r.send_b, false)) == HCCL_SUCCESS &&
        (result = check_buffer(function, "recvBuf", op->recv, r.recv_b, true)) == HCCL_SUCCESS) {
        result = hccl_queue(&r);
    }
    return close_request(&r, result);
}

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                         HcclComm comm, aclrtStream stream)
{
    const struct hccl_collective c = {.kind = HCCL_KIND_ALL_REDUCE,
                                      .dtype = dataType,
                                      .reduce = op,
                                      .count = count,
                                      .send = sendBuf,
                                      .recv = recvBuf};
    return collective(__func__, &c, comm, stream);
}

HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                      uint32_t root, HcclComm comm, aclrtStream stream)
{
    const struct hccl_collective c = {.kind = HCCL_KIND_REDUCE,
                                      .dtype = dataType,
                                      .reduce = op,
                                      .root = root,
                                      .count = count,
                                      .send = sendBuf,
                                      .recv = recvBuf};
    return collective(__func__, &c, comm, stream);
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                         aclrtStream stream)
{
    const struct hccl_collective c = {
        .kind = HCCL_KIND_BROADCAST, .dtype = dataType, .root = root, .count = count, .send = buf, .recv = buf};
    return collective(__func__, &c, comm, stream);
}

HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root,
                       HcclComm comm, aclrtStream stream)
{
    const struct hccl_collective c = {.kind = HCCL_KIND_SCATTER,
                                      .dtype = dataType,
                                      .root = root,
                                      .count = recvCount,
                                      .send = sendBuf,
                                      .recv = recvBuf};
    return collective(__func__, &c, comm, stream);
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                         aclrtStream stream)
{
    const struct hccl_collective c = {
        .kind = HCCL_KIND_ALL_GATHER, .dtype = dataType, .count = sendCount, .send = sendBuf, .recv = recvBuf};
    return collective(__func__, &c, comm, stream);
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream)
{
    const struct hccl_collective c = {.kind = HCCL_KIND_REDUCE_SCATTER,
                                      .dtype = dataType,
                                      .reduce = op,
                                      .count = recvCount,
                                      .send = sendBuf,
                                      .recv = recvBuf};
    return collective(__func__, &c, comm, stream);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
    const struct hccl_collective c = {.kind = HCCL_KIND_BARRIER};
    return collective(__func__, &c, comm, stream);
}

static HcclResult same_type(const char *function, uint32_t send, uint32_t recv)
{
    if (send != recv) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: send type %s differs from receive type %s", function, hccl_dtype_name(send),
                         hccl_dtype_name(recv));
    }
    return HCCL_SUCCESS;
}

HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType, const void *recvBuf,
                        uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream)
{
    const struct hccl_collective c = {.kind = HCCL_KIND_ALL_TO_ALL,
                                      .dtype = sendType,
                                      .count = sendCount,
                                      .send = sendBuf,
                                      .recv = (void *)(uintptr_t)recvBuf};
    HcclResult result = same_type(__func__, sendType, recvType);
    if (result == HCCL_SUCCESS && sendCount != recvCount) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: sendCount %llu differs from recvCount %llu", __func__,
                           (unsigned long long)sendCount, (unsigned long long)recvCount);
    }
    if (result != HCCL_SUCCESS) {
        hccl_group_spoil(result);
        return result;
    }
    return collective(__func__, &c, comm, stream);
}

/* ---- collectives with vectors ---- */

/* Bytes from the start of a buffer to the end of its last block; false if the numbers are invalid. */
static bool extent(const uint64_t *counts, const uint64_t *places, uint32_t n, uint32_t size, uint64_t *out_b)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (counts[i] > MAX_COUNT || places[i] > MAX_COUNT) {
            return false;
        }
        if (counts[i] != 0 && counts[i] + places[i] > end) {
            end = counts[i] + places[i];
        }
    }
    *out_b = end * size;
    return true;
}

static uint64_t sum(const uint64_t *counts, uint32_t n)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        total += counts[i];
    }
    return total;
}

static HcclResult bad_vectors(const char *function)
{
    return HCCL_FAIL(HCCL_E_PARA, "%s: counts or displacements are too large", function);
}

static HcclResult vector_collective(struct hccl_request *r, uint64_t count)
{
    HcclResult result = check_buffer(r->function, "sendBuf", r->op.send, r->send_b, false);
    if (result == HCCL_SUCCESS) {
        result = check_buffer(r->function, "recvBuf", r->op.recv, r->recv_b, true);
    }
    r->label = hccl_kind_label(r->op.kind);
    r->dtype = r->op.dtype;
    r->count = count;
    return result == HCCL_SUCCESS ? hccl_queue(r) : result;
}

static HcclResult gather_v(struct hccl_request *r, uint64_t send_count)
{
    const uint64_t *counts = r->op.vector[0];
    uint32_t n = r->comm->link.n;
    HcclResult result = check_type(r->function, r->op.dtype);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (counts == NULL || r->op.vector[1] == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: recvCounts or recvDispls is NULL", r->function);
    }
    if (!extent(counts, r->op.vector[1], n, hccl_dtype_size(r->op.dtype), &r->recv_b)) {
        return bad_vectors(r->function);
    }
    if (send_count != counts[r->comm->link.rank]) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: sendCount %llu, but recvCounts[%u] is %llu", r->function,
                         (unsigned long long)send_count, r->comm->link.rank,
                         (unsigned long long)counts[r->comm->link.rank]);
    }
    r->send_b = send_count * hccl_dtype_size(r->op.dtype);
    return vector_collective(r, send_count);
}

HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
                          const void *recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream)
{
    struct hccl_request r;
    HcclResult result = open_request(&r, __func__, comm, stream);
    if (result == HCCL_SUCCESS) {
        r.op = (struct hccl_collective){.kind = HCCL_KIND_ALL_GATHER_V,
                                        .dtype = dataType,
                                        .send = sendBuf,
                                        .recv = recvBuf,
                                        .vector = {recvCounts, recvDispls}};
        result = gather_v(&r, sendCount);
    }
    return close_request(&r, result);
}

static HcclResult scatter_v(struct hccl_request *r, uint64_t recv_count)
{
    const uint64_t *counts = r->op.vector[0];
    uint32_t n = r->comm->link.n;
    HcclResult result = check_type(r->function, r->op.dtype);
    if (result == HCCL_SUCCESS) {
        result = check_reduction(r->function, r->op.dtype, r->op.reduce);
    }
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (counts == NULL || r->op.vector[1] == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: sendCounts or sendDispls is NULL", r->function);
    }
    if (!extent(counts, r->op.vector[1], n, hccl_dtype_size(r->op.dtype), &r->send_b)) {
        return bad_vectors(r->function);
    }
    if (recv_count != counts[r->comm->link.rank]) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: recvCount %llu, but sendCounts[%u] is %llu", r->function,
                         (unsigned long long)recv_count, r->comm->link.rank,
                         (unsigned long long)counts[r->comm->link.rank]);
    }
    r->recv_b = recv_count * hccl_dtype_size(r->op.dtype);
    return vector_collective(r, recv_count);
}

HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls, void *recvBuf,
                              uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                              aclrtStream stream)
{
    struct hccl_request r;
    HcclResult result = open_request(&r, __func__, comm, stream);
    if (result == HCCL_SUCCESS) {
        r.op = (struct hccl_collective){.kind = HCCL_KIND_REDUCE_SCATTER_V,
                                        .dtype = dataType,
                                        .reduce = op,
                                        .send = sendBuf,
                                        .recv = recvBuf,
                                        .vector = {sendCounts, sendDispls}};
        result = scatter_v(&r, recvCount);
    }
    return close_request(&r, result);
}

static HcclResult all_to_all_v(struct hccl_request *r, uint32_t recv_type)
{
    uint32_t n = r->comm->link.n;
    HcclResult result = check_type(r->function, r->op.dtype);
    if (result == HCCL_SUCCESS) {
        result = same_type(r->function, r->op.dtype, recv_type);
    }
    if (result != HCCL_SUCCESS) {
        return result;
    }
    for (int v = 0; v < 4; v++) {
        if (r->op.vector[v] == NULL) {
            return HCCL_FAIL(HCCL_E_PTR, "%s: a vector of counts or displacements is NULL", r->function);
        }
    }
    uint32_t size = hccl_dtype_size(r->op.dtype);
    if (!extent(r->op.vector[0], r->op.vector[1], n, size, &r->send_b) ||
        !extent(r->op.vector[2], r->op.vector[3], n, size, &r->recv_b)) {
        return bad_vectors(r->function);
    }
    return vector_collective(r, sum(r->op.vector[0], n));
}

HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls, HcclDataType sendType,
                         const void *recvBuf, const void *recvCounts, const void *rdispls, HcclDataType recvType,
                         HcclComm comm, aclrtStream stream)
{
    struct hccl_request r;
    HcclResult result = open_request(&r, __func__, comm, stream);
    if (result == HCCL_SUCCESS) {
        r.op = (struct hccl_collective){.kind = HCCL_KIND_ALL_TO_ALL_V,
                                        .dtype = sendType,
                                        .send = sendBuf,
                                        .recv = (void *)(uintptr_t)recvBuf,
                                        .vector = {sendCounts, sdispls, recvCounts, rdispls}};
        result = all_to_all_v(&r, recvType);
    }
    return close_request(&r, result);
}

/* The matrix of all counts, by rows: this rank sends by its row and receives by its column, blocks in order. */
static HcclResult all_to_all_matrix(struct hccl_request *r, const uint64_t *matrix, uint32_t recv_type)
{
    uint32_t n = r->comm->link.n, rank = r->comm->link.rank;
    uint64_t v[4][HCCL_MAX_RANKS];
    uint64_t sent = 0, received = 0;
    if (matrix == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: sendCountMatrix is NULL", r->function);
    }
    for (uint32_t i = 0; i < n; i++) {
        v[0][i] = matrix[(size_t)rank * n + i];
        v[2][i] = matrix[(size_t)i * n + rank];
        if (v[0][i] > MAX_COUNT || v[2][i] > MAX_COUNT) {
            return bad_vectors(r->function);
        }
        v[1][i] = sent;
        v[3][i] = received;
        sent += v[0][i];
        received += v[2][i];
    }
    for (int i = 0; i < 4; i++) {
        r->op.vector[i] = v[i];
    }
    return all_to_all_v(r, recv_type);
}

HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType, const void *recvBuf,
                          HcclDataType recvType, HcclComm comm, aclrtStream stream)
{
    struct hccl_request r;
    HcclResult result = open_request(&r, __func__, comm, stream);
    if (result == HCCL_SUCCESS) {
        r.op = (struct hccl_collective){
            .kind = HCCL_KIND_ALL_TO_ALL_VC, .dtype = sendType, .send = sendBuf, .recv = (void *)(uintptr_t)recvBuf};
        result = all_to_all_matrix(&r, sendCountMatrix, recvType);
    }
    return close_request(&r, result);
}

/* ---- point to point ---- */

static HcclResult check_transfer(const struct hccl_request *r, const struct hccl_transfer *t)
{
    HcclResult result = check_rank(r->function, "remote rank", t->peer, r->comm);
    if (result == HCCL_SUCCESS) {
        result = check_type(r->function, t->dtype);
    }
    if (result == HCCL_SUCCESS) {
        result = check_count(r->function, t->count);
    }
    if (result == HCCL_SUCCESS) {
        result = check_buffer(r->function, t->receive ? "recvBuf" : "sendBuf", t->buffer,
                              t->count * hccl_dtype_size(t->dtype), t->receive);
    }
    return result;
}

static HcclResult transfer(const char *function, struct hccl_transfer *t, HcclComm comm, aclrtStream stream)
{
    struct hccl_request r;
    HcclResult result = open_request(&r, function, comm, stream);
    if (result == HCCL_SUCCESS) {
        result = check_transfer(&r, t);
    }
    if (result == HCCL_SUCCESS && t->peer == r.comm->link.rank && !hccl_group_open()) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: remote rank %u is this rank itself", function, t->peer);
    }
    if (result == HCCL_SUCCESS && t->count != 0) {
        r.transfers = t;
        r.n_transfers = 1;
        r.count = t->count;
        r.dtype = t->dtype;
        r.label = t->receive ? "hcom_receive_" : "hcom_send_";
        result = hccl_queue(&r);
    }
    return close_request(&r, result);
}

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                    aclrtStream stream)
{
    struct hccl_transfer t = {.receive = 0, .peer = destRank, .dtype = dataType, .count = count, .buffer = sendBuf};
    return transfer(__func__, &t, comm, stream);
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                    aclrtStream stream)
{
    struct hccl_transfer t = {.receive = 1, .peer = srcRank, .dtype = dataType, .count = count, .buffer = recvBuf};
    return transfer(__func__, &t, comm, stream);
}

static HcclResult batch(struct hccl_request *r, const HcclSendRecvItem *items, uint32_t n, struct hccl_transfer *list)
{
    int64_t to_self = 0;
    uint32_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct hccl_transfer *t = &list[used];
        if ((uint32_t)items[i].sendRecvType > HCCL_RECV) {
            return HCCL_FAIL(HCCL_E_PARA, "%s: item %u neither sends nor receives", r->function, i);
        }
        *t = (struct hccl_transfer){.receive = items[i].sendRecvType,
                                    .peer = items[i].remoteRank,
                                    .dtype = items[i].dataType,
                                    .count = items[i].count,
                                    .buffer = items[i].buf};
        HcclResult result = check_transfer(r, t);
        if (result != HCCL_SUCCESS) {
            return result;
        }
        to_self += t->peer == r->comm->link.rank ? (t->receive ? -1 : 1) : 0;
        r->count += t->count;
        r->dtype = t->dtype;
        used += t->count != 0;
    }
    if (to_self != 0) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: sends of this rank to itself do not match its receives from itself",
                         r->function);
    }
    r->transfers = list;
    r->n_transfers = used;
    r->label = "hcom_batchSendRecv_";
    return used != 0 ? hccl_queue(r) : HCCL_SUCCESS;
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream)
{
    struct hccl_request r;
    HcclResult result = open_request(&r, __func__, comm, stream);
    if (result != HCCL_SUCCESS) {
        return close_request(&r, result);
    }
    struct hccl_transfer *list = NULL;
    if (sendRecvInfo == NULL) {
        result = HCCL_FAIL(HCCL_E_PTR, "%s: sendRecvInfo is NULL", __func__);
    } else if (itemNum == 0 || itemNum > hccl_queue_most_transfers()) {
        result =
            HCCL_FAIL(HCCL_E_PARA, "%s: %u items, must be 1 to %u", __func__, itemNum, hccl_queue_most_transfers());
    } else if ((list = calloc(itemNum, sizeof(*list))) == NULL) {
        result = HCCL_FAIL(HCCL_E_MEMORY, "%s: out of memory", __func__);
    } else {
        result = batch(&r, sendRecvInfo, itemNum, list);
    }
    free(list);
    return close_request(&r, result);
}
