/* RPC framing, see frame.h. Pure functions: no state, no locks, no allocation. */
#include "monitor/wire/frame.h"

#include <string.h>

/* First bytes of what often knocks on the wrong port. Read as lengths they would all be far too long. */
static const struct {
    const char *bytes;
    size_t length_b;
    enum ms_frame_verdict verdict;
} strangers[] = {
    {"\x16\x03", 2, MS_FRAME_TLS}, {"GET ", 4, MS_FRAME_HTTP}, {"HEAD", 4, MS_FRAME_HTTP},
    {"POST", 4, MS_FRAME_HTTP},    {"HTTP", 4, MS_FRAME_HTTP},
};

enum ms_frame_verdict ms_frame_look(const void *data, size_t have_b, size_t limit_b, size_t *body_b)
{
    int32_t length;
    if (have_b < MS_FRAME_HEADER_B) {
        *body_b = 0;
        return MS_FRAME_MORE;
    }
    memcpy(&length, data, sizeof(length));
    if (length <= 0) {
        return MS_FRAME_EMPTY;
    }
    if ((size_t)length > limit_b) {
        for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
            if (memcmp(data, strangers[i].bytes, strangers[i].length_b) == 0) {
                return strangers[i].verdict;
            }
        }
        return MS_FRAME_TOO_LONG;
    }
    *body_b = (size_t)length;
    return have_b - MS_FRAME_HEADER_B >= (size_t)length ? MS_FRAME_READY : MS_FRAME_MORE;
}

const char *ms_frame_reason(enum ms_frame_verdict verdict)
{
    static const char *const reasons[] = {
        [MS_FRAME_MORE] = "the message ends before its announced length",
        [MS_FRAME_READY] = "the message is complete",
        [MS_FRAME_EMPTY] = "the announced length is not positive",
        [MS_FRAME_TOO_LONG] = "the announced length is over the limit",
        [MS_FRAME_TLS] = ("a TLS handshake arrived on a port without certificates; start dynolog with --certs_dir, or "
                           "dyno with --certs-dir NO_CERTS"),
        [MS_FRAME_HTTP] = "HTTP arrived on the RPC port; metrics are served on --prometheus_port",
    };
    return (unsigned)verdict < sizeof(reasons) / sizeof(reasons[0]) ? reasons[verdict] : "unknown";
}

void ms_frame_header(size_t body_b, unsigned char out[MS_FRAME_HEADER_B])
{
    int32_t length = (int32_t)body_b;
    memcpy(out, &length, sizeof(length));
}

unsigned ms_frame_depth(const char *text, size_t length_b)
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
