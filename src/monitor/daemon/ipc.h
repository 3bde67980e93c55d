/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the IPC fabric. ipc.c handles control messages; data messages go to registered handlers. */
#ifndef MON_DAEMON_IPC_H
#define MON_DAEMON_IPC_H

#include "monitor/daemon/daemon.h"

extern const struct mon_daemon_module mon_module_ipc;

/* The sender of a data message. pid and uid come from the kernel; process is the registered process that the sender
 * belongs to (by pid, or by the nearest registered relative), or NULL. */
struct mon_ipc_sender {
    int32_t pid;
    uid_t uid;
    const struct mon_process *process;
};

/* Handles the payload of one data message. 0, or -errno: counted and logged as malformed. */
typedef int mon_ipc_data_handler(struct mon_daemon *daemon, const struct mon_ipc_sender *sender, const void *payload,
                                 size_t payload_b);

/* Sets the handler of a type (MON_FABRIC_DATA: JSON text; MON_FABRIC_OPSTATS: wire/opstats.h); NULL: none. Call it from
 * start(). */
void mon_ipc_set_data_handler(enum mon_fabric_type type, mon_ipc_data_handler *handler);

#endif
