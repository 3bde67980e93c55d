/* Messages of the IPC fabric. Control messages are handled in ipc.c; data messages go to whoever asked for them. */
#ifndef MS_DAEMON_IPC_H
#define MS_DAEMON_IPC_H

#include "monitor/daemon/daemon.h"

extern const struct ms_daemon_module ms_module_ipc;

/* Whom a data message is from. pid and uid are the kernel's word; process is the registered process that it belongs to
 * (by pid, or by the nearest registered relative), or NULL. */
struct ms_ipc_sender {
    int32_t pid;
    uid_t uid;
    const struct ms_process *process;
};

/* Takes the payload of one data message. 0, or -errno: counted and logged as malformed. */
typedef int ms_ipc_data_fn(struct ms_daemon *daemon, const struct ms_ipc_sender *sender, const void *payload,
                            size_t payload_b);

/* One taker per type (MS_FABRIC_DATA: JSON text; MS_FABRIC_OPSTATS: wire/opstats.h); call it from start(). NULL: none.
 */
void ms_ipc_take(enum ms_fabric_type type, ms_ipc_data_fn *taker);

#endif
