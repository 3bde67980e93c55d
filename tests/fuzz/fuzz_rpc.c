/* SPDX-License-Identifier: Apache-2.0 */
/* RPC requests: every text gets an answer, and every answer is one JSON object. */
#include "monitor/daemon/functions.h"
#include "monitor/daemon/registry_internal.h"

#include <stdlib.h>

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mon_registry *registry;
    if (registry == NULL) {
        registry = mon_registry_new("fuzz");
    }
    struct mon_rpc_call call = {.registry = registry, .peer = "fuzz"};
    struct ms_buffer answer = {0};
    mon_rpc_answer(&call, (const char *)data, size, &answer);
    json_t *json = json_loadb(answer.s, answer.used, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(json) || (call.function == NULL) == (call.refused == NULL)) {
        abort();
    }
    json_decref(json);
    ms_buffer_free(&answer);
    return 0;
}
