/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of hosts: any text results in a bounded list of safe names, or in an error message. */
#include "cli/dyno/hosts.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dyno_hosts hosts = {0};
    char why[DYNO_WHY_B] = "", *text = strndup((const char *)data, size);
    int rc = dyno_hosts_expand(&hosts, text, why);
    if ((rc != 0) != (why[0] != '\0') || hosts.count > DYNO_HOSTS_MAX || (rc == 0 && hosts.count == 0)) {
        abort();
    }
    dyno_hosts_unique(&hosts);
    for (size_t i = 0; i < hosts.count; i++) {
        const char *name = hosts.list[i].name;
        if (name[0] == '\0' || name[0] == '-' || strlen(name) >= DYNO_HOST_MAX_B ||
            strpbrk(name, " ;$`'\"\n,[]/") != NULL) {
            abort();
        }
    }
    dyno_hosts_free(&hosts);
    free(text);
    return 0;
}
