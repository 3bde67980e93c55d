/* dynolog: the monitoring daemon of a node, and the modules that it is made of. */
#include "monitor/daemon/daemon.h"
#include "monitor/daemon/ipc.h"
#include "monitor/daemon/rpc.h"
#include "monitor/daemon/service.h"
#include "monitor/metrics/modules.h"

#include <stddef.h>

/* The order of data: what receives comes after what it hands on to. */
static const struct ms_daemon_module *const modules[] = {
    &ms_module_service,
    /* metrics: the store, back ends, collectors */
    &ms_module_metrics,
    &ms_module_json,
    &ms_module_tensorboard,
    &ms_module_prometheus,
    &ms_module_otlp,
    &ms_module_kernel,
    &ms_module_process,
    &ms_module_pmu,
    &ms_module_dcmi,
    &ms_module_npu,
    /* what arrives */
    &ms_module_ipc,
    &ms_module_rpc,
    NULL,
};

int main(int argc, char **argv)
{
    return ms_daemon_run(modules, argc, argv);
}
