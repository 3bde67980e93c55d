/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the IPC fabric. Control messages are handled in ipc.c; data messages go to whoever asked for them. */
#ifndef MON_DAEMON_IPC_H
#define MON_DAEMON_IPC_H

#include "monitor/daemon/daemon.h"

extern const struct mon_daemon_module mon_module_ipc;

/* Whom a data message is from. pid and uid are the kernel's word; process is the registered process that it belongs to
 * (by pid, or by the nearest registered relative), or NULL. */
struct mon_ipc_sender {
    int32_t pid;
    uid_t uid;
    const struct mon_process *process;
};

/* Takes the payload of one data message. 0, or -errno: counted and logged as malformed. */
typedef int mon_ipc_data_fn(struct mon_daemon *daemon, const struct mon_ipc_sender *sender, const void *payload,
                            size_t payload_b);

/* One taker per type (MON_FABRIC_DATA: JSON text; MON_FABRIC_OPSTATS: wire/opstats.h); call it from start(). NULL: none.
 */
void mon_ipc_take(enum mon_fabric_type type, mon_ipc_data_fn *taker);

#endif
