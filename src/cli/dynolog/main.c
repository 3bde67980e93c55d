/* SPDX-License-Identifier: Apache-2.0 */
/* dynolog: the monitoring daemon of a node, and the list of its modules. */
#include "monitor/daemon/daemon.h"
#include "monitor/daemon/ipc.h"
#include "monitor/daemon/rpc.h"
#include "monitor/daemon/service.h"
#include "monitor/metrics/modules.h"

#include <stddef.h>

/* In the order of data flow: a module that receives data starts after the modules that it passes the data to. */
static const struct mon_daemon_module *const modules[] = {
    &mon_module_service,
    /* metrics: the store, back ends, collectors */
    &mon_module_metrics,
    &mon_module_json,
    &mon_module_tensorboard,
    &mon_module_prometheus,
    &mon_module_otlp,
    &mon_module_kernel,
    &mon_module_process,
    &mon_module_pmu,
    &mon_module_dcmi,
    &mon_module_npu,
    /* IPC and RPC */
    &mon_module_ipc,
    &mon_module_rpc,
    NULL,
};

int main(int argc, char **argv)
{
    return mon_daemon_run(modules, argc, argv);
}
