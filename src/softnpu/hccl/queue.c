/* SPDX-License-Identifier: Apache-2.0 */
/* Operations as tasks of streams.
 *
 * A task's payload is self-contained (vectors and transfers follow the head), so it can be recorded into a model
 * and run any number of times. An operation that is queued directly draws its tickets now and counts as a user of the
 * link; one that is recorded only holds the object, and enters the link each time it runs.
 *
 * If a task is discarded before it has run (aborted stream, lost device), the other ranks would wait for it: its
 * communicator ends. The same applies if it is cancelled while it runs.
 *
 * Buffers are validated again when the task runs, because they may have been freed since. On a real device a freed
 * buffer faults; here it is an error of the stream. */
#include "softnpu/hccl/queue.h"

#include "acl/acl_rt.h"
#include "softnpu/hal/hal_ext.h"
#include "softnpu/hccl/dtype.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/task.h"

#include <errno.h>
#include <string.h>

struct payload {
    struct hccl_comm *comm;
    bool recorded; /* part of a model: no tickets, may run again */
    bool ran;
    uint32_t ticket;      /* of a collective */
    uint32_t n_transfers; /* 0: collective */
    const char *function;
    struct hccl_collective op;
    uint64_t send_b, recv_b;
    /* collective: vectors of n numbers; otherwise: struct hccl_transfer[n_transfers] */
    uint64_t tail[];
};

uint32_t hccl_queue_most_transfers(void)
{
    return (SNPU_PAYLOAD_MAX - sizeof(struct payload)) / sizeof(struct hccl_transfer);
}

bool hccl_memory_usable(const void *p, uint64_t size_b, bool write)
{
    struct snpu_range range;
    if (size_b == 0) {
        return true;
    }
    return snpu_hal_lookup(p, &range) && range.kind != SNPU_RANGE_RESERVED && range.kind != SNPU_RANGE_NONE &&
           (write ? snpu_hal_writable(p, size_b) : snpu_hal_accessible(p, size_b));
}

/* ---- gates ---- */

static bool gate_take(struct hccl_comm *comm, struct hccl_gate *gate, uint32_t ticket, bool ticketless)
{
    pthread_mutex_lock(&comm->lock);
    bool free = !gate->busy && (ticketless || gate->done == ticket);
    gate->busy |= free;
    pthread_mutex_unlock(&comm->lock);
    return free;
}

static void gate_give(struct hccl_comm *comm, struct hccl_gate *gate, bool ticketless)
{
    pthread_mutex_lock(&comm->lock);
    gate->busy = false;
    gate->done += !ticketless;
    pthread_mutex_unlock(&comm->lock);
}

static HcclResult await_gate(struct hccl_run *run, struct payload *p)
{
    struct hccl_comm *comm = p->comm;
    for (;;) {
        uint32_t seen = hccl_bell_read(&comm->gate_bell);
        HcclResult error = hccl_link_error(&comm->link);
        if (error != HCCL_SUCCESS) {
            return hccl_explain(run->why, error, "the communicator has failed or is suspended");
        }
        if (gate_take(comm, &comm->collectives, p->ticket, p->recorded)) {
            return HCCL_SUCCESS;
        }
        if (hccl_bell_sleep(&comm->gate_bell, seen, run->waiter, HCCL_SLICE_MS) == -ECANCELED) {
            return hccl_run_failed(run, hccl_explain(run->why, HCCL_E_SUSPENDING, "the stream was aborted"));
        }
    }
}

static bool channel_take(void *arg, const struct hccl_transfer *t)
{
    struct payload *p = arg;
    return gate_take(p->comm, &p->comm->channels[t->receive][t->peer], t->ticket, p->recorded);
}

static void channel_give(void *arg, const struct hccl_transfer *t)
{
    struct payload *p = arg;
    gate_give(p->comm, &p->comm->channels[t->receive][t->peer], p->recorded);
    hccl_bell_bump(&p->comm->link.seg.ranks[p->comm->link.rank].door); /* other operations of this rank wait there */
}

/* ---- running ---- */

static HcclResult run_collective(struct hccl_run *run, struct payload *p)
{
    for (uint32_t v = 0; v < hccl_kind_vectors(p->op.kind); v++) {
        p->op.vector[v] = p->tail + (size_t)v * p->comm->link.n;
    }
    if (!hccl_memory_usable(p->op.send, p->send_b, false) || !hccl_memory_usable(p->op.recv, p->recv_b, true)) {
        return hccl_run_failed(run, hccl_explain(run->why, HCCL_E_MEMORY, "a buffer was freed before it was used"));
    }
    HcclResult result = await_gate(run, p);
    if (result == HCCL_SUCCESS) {
        result = hccl_collective_run(run, &p->op);
        gate_give(p->comm, &p->comm->collectives, p->recorded);
        hccl_bell_bump(&p->comm->gate_bell);
    }
    return result;
}

static HcclResult run_transfers(struct hccl_run *run, struct payload *p)
{
    struct hccl_transfer *list = (struct hccl_transfer *)p->tail;
    struct hccl_turn turn = {channel_take, channel_give, p};
    for (uint32_t i = 0; i < p->n_transfers; i++) {
        uint64_t size = list[i].count * hccl_dtype_size(list[i].dtype);
        if (!hccl_memory_usable(list[i].buffer, size, list[i].receive)) {
            return hccl_run_failed(run, hccl_explain(run->why, HCCL_E_MEMORY, "a buffer was freed before it was used"));
        }
        list[i].done_b = 0; /* this may be a repeated run */
        list[i].state = 0;
    }
    return hccl_p2p_run(run, list, p->n_transfers, &turn);
}

static int task_sleep(void *arg, const uint32_t *word, uint32_t expected, int32_t timeout_ms)
{
    return snpu_task_wait(arg, word, expected, timeout_ms);
}

/* The stream's message for a failed operation. */
static int32_t stream_code(HcclResult result)
{
    switch (result) {
    case HCCL_E_REMOTE:
        return ACL_ERROR_RT_SUSPECT_REMOTE_ERROR;
    case HCCL_E_TIMEOUT:
        return ACL_ERROR_RT_TASK_TIMEOUT;
    case HCCL_E_SUSPENDING:
        return ACL_ERROR_RT_DEVICE_TASK_ABORT;
    case HCCL_E_MEMORY:
        return ACL_ERROR_RT_DEVICE_MEM_ERROR;
    default:
        return ACL_ERROR_RT_AICPU_EXCEPTION;
    }
}

static int32_t run(struct snpu_task *task)
{
    struct payload *p = (struct payload *)task->payload;
    struct hccl_waiter waiter = {task_sleep, task};
    struct hccl_run op = {.link = &p->comm->link, .waiter = &waiter};
    p->ran = true;
    if (p->recorded && !hccl_comm_enter(p->comm)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the communicator was destroyed", p->function);
    }
    HcclResult result = p->n_transfers != 0 ? run_transfers(&op, p) : run_collective(&op, p);
    int32_t code = 0;
    if (result != HCCL_SUCCESS) {
        hccl_comm_note(p->comm, op.why);
        code = snpu_fail(stream_code(result), "%s on %s: %s", p->function, p->comm->name, op.why);
    }
    if (p->recorded) {
        hccl_comm_leave(p->comm);
    }
    return code;
}

static void release(void *payload)
{
    struct payload *p = payload;
    if (p->recorded) {
        hccl_comm_drop(p->comm);
        return;
    }
    if (!p->ran) {
        hccl_comm_note(p->comm, "an operation was discarded with its stream");
        hccl_link_fail(&p->comm->link, HCCL_E_REMOTE);
    }
    hccl_comm_put(p->comm);
}

static const struct snpu_task_kind kind = {
    .name = "FFTS_PLUS",
    .prof_type = SNPU_TASK_FFTS_PLUS,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = true,
    .run = run,
    .release = release,
};

/* ---- queueing ---- */

static void draw_tickets(struct hccl_comm *comm, struct payload *p, struct hccl_transfer *list)
{
    pthread_mutex_lock(&comm->lock);
    if (p->n_transfers == 0) {
        p->ticket = comm->collectives.next++;
    }
    for (uint32_t i = 0; i < p->n_transfers; i++) {
        list[i].ticket = comm->channels[list[i].receive][list[i].peer].next++;
    }
    pthread_mutex_unlock(&comm->lock);
}

static void return_tickets(struct hccl_comm *comm, const struct payload *p, const struct hccl_transfer *list)
{
    pthread_mutex_lock(&comm->lock);
    comm->collectives.next -= p->n_transfers == 0;
    for (uint32_t i = 0; i < p->n_transfers; i++) {
        comm->channels[list[i].receive][list[i].peer].next--;
    }
    pthread_mutex_unlock(&comm->lock);
}

/* The caller holds comm->order: tickets are drawn in queueing order. May write to tail. */
static int32_t submit(const struct hccl_request *r, struct payload *head, void *tail, size_t tail_b)
{
    struct hccl_comm *comm = r->comm;
    pthread_mutex_lock(&comm->order);
    head->recorded = snpu_stream_capturing(r->stream);
    hccl_comm_keep(comm);
    if (!head->recorded) {
        hccl_comm_enter_again(comm);
        draw_tickets(comm, head, tail);
    }
    int32_t code = snpu_stream_submit(r->stream, &kind, head, sizeof(*head), tail, tail_b, NULL);
    if (code != 0) {
        if (!head->recorded) {
            return_tickets(comm, head, tail);
            hccl_comm_leave(comm);
        }
        hccl_comm_drop(comm);
    }
    pthread_mutex_unlock(&comm->order);
    return code;
}

static const char *task_label(const struct hccl_request *r)
{
    if (r->n_transfers != 0) {
        return "Memcpy";
    }
    return hccl_kind_reduces(r->op.kind) ? "Reduce_Inline" : r->op.kind == HCCL_KIND_BARRIER ? "Notify_Wait" : "Memcpy";
}

HcclResult hccl_queue_now(const struct hccl_request *r)
{
    struct hccl_comm *comm = r->comm;
    HcclResult error = hccl_link_error(&comm->link);
    if (error != HCCL_SUCCESS) {
        pthread_mutex_lock(&comm->lock);
        HCCL_FAIL(error, "%s: communicator %s: %s", r->function, comm->name,
                  comm->why[0] != '\0' ? comm->why : HcclGetErrorString(error));
        pthread_mutex_unlock(&comm->lock);
        return error;
    }
    uint64_t begin = snpu_prof_hccl_begin();
    struct payload head = {.comm = comm,
                           .n_transfers = r->n_transfers,
                           .function = r->function,
                           .op = r->op,
                           .send_b = r->send_b,
                           .recv_b = r->recv_b};
    uint64_t vectors[4 * HCCL_MAX_RANKS];
    void *tail = vectors;
    size_t tail_b = 0;
    if (r->n_transfers != 0) {
        tail = r->transfers;
        tail_b = r->n_transfers * sizeof(*r->transfers);
    }
    for (uint32_t v = 0; r->n_transfers == 0 && v < hccl_kind_vectors(r->op.kind); v++) {
        memcpy((char *)vectors + tail_b, r->op.vector[v], comm->link.n * sizeof(uint64_t));
        tail_b += comm->link.n * sizeof(uint64_t);
    }
    uint64_t task_begin = begin != 0 ? snpu_prof_now() : 0;
    int32_t code = submit(r, &head, tail, tail_b);
    if (code != 0) {
        return HCCL_E_RUNTIME; /* the engine has set the message */
    }
    if (begin != 0) {
        struct snpu_prof_hccl_op report = {
            .name = r->label, .group = comm->name, .alg = "MESH", .count = r->count, .data_type = (uint8_t)r->dtype};
        snpu_prof_hccl_task(task_begin, task_label(r), true);
        snpu_prof_hccl_op(begin, &report);
    }
    return HCCL_SUCCESS;
}

HcclResult hccl_queue(const struct hccl_request *request)
{
    return hccl_group_open() ? hccl_group_add(request) : hccl_queue_now(request);
}
