#include "monitor/daemon/registry_internal.h"

#include <stdlib.h>

struct ms_registry {
    const char *host;
};

struct ms_registry *ms_registry_new(const char *host)
{
    struct ms_registry *registry = calloc(1, sizeof(*registry));
    if (registry != NULL) {
        registry->host = host;
    }
    return registry;
}

void ms_registry_free(struct ms_registry *registry)
{
    free(registry);
}
