/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators: the object behind HcclComm. */
#ifndef SOFTNPU_HCCL_COMM_H
#define SOFTNPU_HCCL_COMM_H

#include "hccl/hccl.h"
#include "softnpu/hccl/link.h"
#include "softnpu/runtime/error.h"

#include <pthread.h>

/* Serialises operations: all collectives of a communicator, or all transfers of one channel. Tickets are drawn when
 * operations are queued, because that order is the same on all ranks, while the order in which several streams reach
 * them is not. A replayed model has no ticket; it enters when the gate is free. */
struct hccl_gate {
    uint32_t next; /* ticket of the next operation that is queued */
    uint32_t done; /* operations that have passed */
    bool busy;
};

#define HCCL_WINDOWS 256

struct hccl_window {
    char *base;
    uint64_t size_b;
    uint32_t kind; /* 0: free; see window.c */
};

struct hccl_comm {
    struct hccl_link link;
    uint32_t dev; /* driver number */
    char name[COMM_NAME_MAX_LENGTH];
    void *buffers[2]; /* device memory that the real library works in; only allocated here */
    uint64_t buffer_b;
    int32_t deterministic, accelerator; /* HcclConfig; results are always deterministic */

    pthread_mutex_t order; /* makes drawing tickets and queueing one step; held while waiting for a full stream */
    pthread_mutex_t lock;  /* the members below; leaf, except for the lock of bells */
    struct hccl_gate collectives;
    struct hccl_gate channels[2][HCCL_MAX_RANKS]; /* by HcclSendRecvType and peer */
    struct hccl_bell gate_bell;
    struct hccl_window windows[HCCL_WINDOWS];
    char why[HCCL_WHY_B]; /* first failure of an operation */

    /* Under the lock of all communicators. */
    bool live;              /* the handle is valid */
    bool linked;            /* link is open */
    uint32_t refs;          /* references: handle, calls, queued tasks, tasks of models */
    struct hccl_bell users; /* users of the link: calls, operations queued or running */
};

/* For a failing call: keeps the text for aclGetRecentErrMsg. code is evaluated twice. */
#define HCCL_FAIL(code, ...) ((void)snpu_fail((int32_t)(code), __VA_ARGS__), (HcclResult)(code))

/* Resolves a handle. Until hccl_comm_put the communicator exists and its link is open, even if it is destroyed
 * in the meantime. NULL: HCCL_E_PTR, unknown: HCCL_E_PARA. */
HcclResult hccl_comm_get(const char *function, HcclComm handle, struct hccl_comm **out);
void hccl_comm_put(struct hccl_comm *comm);

/* The two halves of that, for tasks: holding the object, and using the link. Entering fails once it is destroyed. */
void hccl_comm_keep(struct hccl_comm *comm);
void hccl_comm_drop(struct hccl_comm *comm);
bool hccl_comm_enter(struct hccl_comm *comm);
void hccl_comm_enter_again(struct hccl_comm *comm); /* the caller must be inside */
void hccl_comm_leave(struct hccl_comm *comm);

/* A new communicator on a segment whose ranks have all joined; takes the segment over on success. The device buffers
 * must have been reserved by hccl_buffers_reserve. */
struct hccl_setup {
    uint32_t dev;
    uint64_t buffer_b;
    int64_t exec_timeout_ms;
    int64_t connect_timeout_ms;
    int32_t deterministic, accelerator;
    char name[COMM_NAME_MAX_LENGTH]; /* empty: the name of the segment */
    void *buffers[2];
};
HcclResult hccl_buffers_reserve(const char *function, struct hccl_setup *setup);
void hccl_buffers_release(void *buffers[2], uint64_t buffer_b);
HcclResult hccl_comm_create(const char *function, const struct hccl_segment *segment, const struct hccl_setup *setup,
                            HcclComm *out);

/* The error state of the communicator, for asynchronous errors and for calls that cannot proceed. */
HcclResult hccl_comm_error(struct hccl_comm *comm);
void hccl_comm_note(struct hccl_comm *comm, const char *why);

/* Longest time to wait for other ranks to arrive, in ms (HCCL_CONNECT_TIMEOUT). */
int64_t hccl_connect_timeout_ms(void);

#endif
