/* SPDX-License-Identifier: Apache-2.0 */
/* RPC framing, see frame.h. Pure functions: no state, no locks, no allocation. */
#include "monitor/wire/frame.h"

#include <string.h>

/* First bytes of other protocols that often reach this port. Read as lengths, all of them exceed the limit. */
static const struct {
    const char *bytes;
    size_t length_b;
    enum mon_frame_verdict verdict;
} other_protocols[] = {
    {"\x16\x03", 2, MON_FRAME_TLS}, {"GET ", 4, MON_FRAME_HTTP}, {"HEAD", 4, MON_FRAME_HTTP},
    {"POST", 4, MON_FRAME_HTTP},    {"HTTP", 4, MON_FRAME_HTTP},
};

enum mon_frame_verdict mon_frame_look(const void *data, size_t have_b, size_t limit_b, size_t *body_b)
{
    int32_t length;
    if (have_b < MON_FRAME_HEADER_B) {
        *body_b = 0;
        return MON_FRAME_MORE;
    }
    memcpy(&length, data, sizeof(length));
    if (length <= 0) {
        return MON_FRAME_EMPTY;
    }
    if ((size_t)length > limit_b) {
        for (size_t i = 0; i < sizeof(other_protocols) / sizeof(other_protocols[0]); i++) {
            if (memcmp(data, other_protocols[i].bytes, other_protocols[i].length_b) == 0) {
                return other_protocols[i].verdict;
            }
        }
        return MON_FRAME_TOO_LONG;
    }
    *body_b = (size_t)length;
    return have_b - MON_FRAME_HEADER_B >= (size_t)length ? MON_FRAME_READY : MON_FRAME_MORE;
}

const char *mon_frame_reason(enum mon_frame_verdict verdict)
{
    static const char *const reasons[] = {
        [MON_FRAME_MORE] = "the message is shorter than its header says",
        [MON_FRAME_READY] = "the message is complete",
        [MON_FRAME_EMPTY] = "the length in the header is not positive",
        [MON_FRAME_TOO_LONG] = "the length in the header exceeds the limit",
        [MON_FRAME_TLS] =
            ("TLS handshake received on a port without certificates; start dynolog with --certs_dir, or dyno with "
             "--certs-dir NO_CERTS"),
        [MON_FRAME_HTTP] = "HTTP request received on the RPC port; metrics are served on --prometheus_port",
    };
    return (unsigned)verdict < sizeof(reasons) / sizeof(reasons[0]) ? reasons[verdict] : "unknown";
}

void mon_frame_header(size_t body_b, unsigned char out[MON_FRAME_HEADER_B])
{
    int32_t length = (int32_t)body_b;
    memcpy(out, &length, sizeof(length));
}

unsigned mon_frame_depth(const char *text, size_t length_b)
{
    unsigned depth = 0, deepest = 0;
    int in_string = 0;
    for (size_t i = 0; i < length_b; i++) {
        switch (text[i]) {
        case '"':
            in_string = !in_string;
            break;
        case '\\':
            i += in_string ? 1 : 0;
            break;
        case '{':
        case '[':
            if (!in_string && ++depth > deepest) {
                deepest = depth;
            }
            break;
        case '}':
        case ']':
            if (!in_string && depth > 0) {
                depth--;
            }
            break;
        default:
            break;
        }
    }
    return deepest;
}
