/* SPDX-License-Identifier: Apache-2.0 */
/* dynolog: the monitoring daemon of a node, and the list of its modules. */
#include "monitor/daemon/daemon.h"
#include "monitor/daemon/ipc.h"
#include "monitor/daemon/rpc.h"
#include "monitor/daemon/service.h"
#include "monitor/metrics/modules.h"

#include <stddef.h>

/* In the order of data flow: a module that receives data starts after the modules that it passes the data to. */
/* clang-format off */
static const struct mon_daemon_module *const modules[] = {
    &mon_module_service,
#define X(name) &mon_module_##name,
    MON_METRICS_MODULES(X)
#undef X
    &mon_module_ipc,
    &mon_module_rpc,
    NULL,
};
/* clang-format on */

int main(int argc, char **argv)
{
    return mon_daemon_run(modules, argc, argv);
}
