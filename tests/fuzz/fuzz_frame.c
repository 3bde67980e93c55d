/* SPDX-License-Identifier: Apache-2.0 */
/* RPC frames split into pieces: however they are split, the same requests are found, and none exceeds the limit. The
 * bodies are then parsed as configurations, as in the daemon. */
#include "monitor/wire/config_text.h"
#include "monitor/wire/frame.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_B 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_body(const char *body, size_t body_b)
{
    size_t value_b = 0;
    const char *value = mon_config_find(body, body_b, "ACTIVITIES_LOG_FILE", &value_b);
    if (value != NULL && (value < body || value + value_b > body + body_b)) {
        abort();
    }
    if (mon_config_recognise(body, body_b) == NULL || mon_frame_depth(body, body_b) > body_b) {
        abort();
    }
    mon_config_unsafe(body, body_b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t used = 0;
    while (used < size) {
        size_t body_b = 0, first_b = 0;
        enum mon_frame_verdict verdict = mon_frame_look(data + used, size - used, LIMIT_B, &body_b);
        /* Every prefix yields MORE or the same verdict. */
        for (size_t have = 0; have < size - used && have < 16; have++) {
            char *part = malloc(have + 1);
            memcpy(part, data + used, have);
            enum mon_frame_verdict early = mon_frame_look(part, have, LIMIT_B, &first_b);
            if (early != MON_FRAME_MORE && early != verdict) {
                abort();
            }
            free(part);
        }
        if (verdict != MON_FRAME_READY) {
            break;
        }
        if (body_b == 0 || body_b > LIMIT_B || body_b > size - used - MON_FRAME_HEADER_B) {
            abort();
        }
        read_body((const char *)data + used + MON_FRAME_HEADER_B, body_b);
        used += MON_FRAME_HEADER_B + body_b;
    }
    return 0;
}
