#include "monitor/daemon/ipc.h"

static ms_ipc_data_fn *takers[MS_FABRIC_TYPE_COUNT];

void ms_ipc_take(enum ms_fabric_type type, ms_ipc_data_fn *taker)
{
    takers[type] = taker;
}

static int ipc_start(struct ms_daemon *daemon)
{
    (void)takers;
    return 0;
}

const struct ms_daemon_module ms_module_ipc = {"ipc", ipc_start, NULL, NULL};
