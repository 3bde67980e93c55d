/* SPDX-License-Identifier: Apache-2.0 */
/* Small objects that other processes can open: the state of notifies and of IPC events.
 *
 * Each process has one arena of slots behind a memfd. A key names (process, descriptor, slot, cookie); a process that
 * has the key opens the other process's descriptor and maps its arena. */
#ifndef SOFTNPU_RUNTIME_IPC_H
#define SOFTNPU_RUNTIME_IPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNPU_IPC_PIDS_MAX 96

struct ipc_slot {
    uint64_t cookie; /* random, 0 when free: a stale key does not match */
    uint32_t kind;   /* enum ipc_kind */
    uint32_t dev;    /* owner's driver id */
    /* Their meaning depends on the kind; words are futexes across processes. */
    uint32_t word;     /* notify: 0 or 1.  event: sequence number of the latest completed record */
    uint32_t recorded; /* event: sequence number of the latest record that was queued */
    uint64_t counter;  /* event: device counter of the completed record */
    int32_t code;      /* event: why the latest completed record was discarded, or 0 */
    /* Access control. */
    uint32_t open_to_all;
    uint32_t pid_count;
    int32_t pids[SNPU_IPC_PIDS_MAX];
};

enum ipc_kind { SNPU_IPC_FREE, SNPU_IPC_NOTIFY, SNPU_IPC_EVENT };

struct ipc_peer; /* another process's arena */

struct ipc_key {
    int32_t pid;
    int32_t fd;
    uint32_t index;
    uint32_t kind;
    uint64_t cookie;
};

/* A slot of this process, NULL if out of memory. */
struct ipc_slot *snpu__ipc_alloc(enum ipc_kind kind, uint32_t dev);
void snpu__ipc_free(struct ipc_slot *slot);

void snpu__ipc_key_of(const struct ipc_slot *slot, struct ipc_key *key);

/* 0 and the slot (peer is NULL if the slot is this process's own), or an ACL code with a message. */
int32_t snpu__ipc_open(const char *function, const struct ipc_key *key, struct ipc_slot **slot, struct ipc_peer **peer);
void snpu__ipc_close(struct ipc_peer *peer);

#endif
