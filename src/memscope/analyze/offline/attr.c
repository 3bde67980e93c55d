/* SPDX-License-Identifier: Apache-2.0 */
/* Sets inefficient_type in the attributes of a row, "{k:v,k:v}" or JSON. All other bytes are preserved. */
#include "memscope/analyze/offline/offline.h"

#include "memscope/analyze/inefficient.h"

#include <string.h>

struct span {
    const char *begin, *end; /* NULL: absent */
};

/* The types that a value names, in its order. */
static uint8_t types_in(struct span value)
{
    uint8_t found = 0;
    for (const char *s = value.begin; s < value.end; s++) {
        for (unsigned type = MS_INEFFICIENT_EARLY; type <= MS_INEFFICIENT_IDLE; type++) {
            const char *name = ms_inefficient_name(type);
            if ((size_t)(value.end - s) >= strlen(name) && memcmp(s, name, strlen(name)) == 0) {
                found = ms_inefficient_add(found, type);
            }
        }
    }
    return found;
}

/* The value after "key:" or "\"key\":\"", at a position where a key is allowed. */
static struct span value_of(const char *s, const char *end, const char *key, bool json)
{
    size_t key_b = strlen(key);
    for (const char *at = s; (at = memmem(at, (size_t)(end - at), key, key_b)) != NULL; at++) {
        const char *after = at + key_b;
        if (json) {
            bool quoted = at > s && at[-1] == '"' && end - after > 3 && memcmp(after, "\":\"", 3) == 0;
            const char *value = after + 3;
            const char *close = quoted ? memchr(value, '"', (size_t)(end - value)) : NULL;
            if (close != NULL) {
                return (struct span){value, close};
            }
        } else if (at > s && (at[-1] == '{' || at[-1] == ',') && after < end && *after == ':') {
            /* its types are separated by commas: it ends at the last comma before the next key, or at the end of the
             * cell */
            const char *value = after + 1, *close = end - (end[-1] == '}');
            const char *colon = memchr(value, ':', (size_t)(close - value));
            const char *comma = colon != NULL ? memrchr(value, ',', (size_t)(colon - value)) : NULL;
            return (struct span){value, comma != NULL ? comma : close};
        }
    }
    return (struct span){NULL, NULL};
}

static void add_types(struct ms_buffer *out, uint8_t found)
{
    for (bool first = true; found != 0; found >>= 2, first = false) {
        const char *name = ms_inefficient_name(found & 3);
        if (!first) {
            ms_buffer_char(out, ',');
        }
        ms_buffer_add(out, name, strlen(name));
    }
}

bool ms_offline_attr(struct ms_buffer *out, const char *s, size_t length_b, uint8_t found)
{
    const char *end = s + length_b;
    bool json = length_b > 1 && s[0] == '{' && s[1] == '"';
    out->used = 0;
    if (length_b < 2 || s[0] != '{' || end[-1] != '}') {
        return false; /* unknown format */
    }
    struct span value = value_of(s, end, "inefficient_type", json);
    if (value.begin == NULL) {
        value = value_of(s, end, "inefficient", json);
    }
    uint8_t before = value.begin != NULL ? types_in(value) : 0, all = before;
    for (uint8_t rest = found; rest != 0; rest >>= 2) {
        all = ms_inefficient_add(all, rest & 3);
    }
    if (all == before) {
        return false;
    }
    if (value.begin == NULL) {
        ms_buffer_add(out, s, length_b - 1);
        if (length_b > 2) {
            ms_buffer_char(out, ',');
        }
        if (json) {
            MS_BUFFER_TEXT(out, "\"inefficient_type\":\"");
        } else {
            MS_BUFFER_TEXT(out, "inefficient_type:");
        }
        add_types(out, all);
        if (json) {
            ms_buffer_char(out, '"');
        }
        ms_buffer_char(out, '}');
    } else {
        ms_buffer_add(out, s, (size_t)(value.begin - s));
        add_types(out, all);
        ms_buffer_add(out, value.end, (size_t)(end - value.end));
    }
    return !out->failed;
}
