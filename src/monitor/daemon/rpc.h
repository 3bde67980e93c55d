/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's RPC server: listens, reads frames, answers. */
#ifndef MON_DAEMON_RPC_H
#define MON_DAEMON_RPC_H

#include "monitor/daemon/daemon.h"

extern const struct mon_daemon_module mon_module_rpc;

#endif
