/* The registry as the message handling uses it: who may register, what a message changes, what waits for delivery. */
#ifndef MS_MONITOR_DAEMON_REGISTRY_INTERNAL_H
#define MS_MONITOR_DAEMON_REGISTRY_INTERNAL_H

#include "monitor/daemon/registry.h"

struct ms_registry *ms_registry_new(const char *host);
void ms_registry_free(struct ms_registry *registry);

#endif
