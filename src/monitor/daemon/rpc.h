/* The RPC server of the daemon: listens, reads frames, answers. */
#ifndef MS_DAEMON_RPC_H
#define MS_DAEMON_RPC_H

#include "monitor/daemon/daemon.h"

extern const struct ms_daemon_module ms_module_rpc;

#endif
