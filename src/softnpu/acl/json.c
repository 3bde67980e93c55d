/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON checker: one pass, no allocation, bounded depth, so that a hostile file costs no more than its length. */
#include "softnpu/acl/json.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 64

static const char *skip_space(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') {
        p++;
    }
    return p;
}

/* Each returns true and moves *at past the value, or false with *at at the offending byte. */
static bool value(const char **at, int depth);

static bool string(const char **at)
{
    const char *p = *at + 1;
    while (*p != '"') {
        if ((unsigned char)*p < 0x20) {
            *at = p; /* the end of the text included */
            return false;
        }
        if (*p == '\\') {
            p++;
            if (*p == 'u') {
                for (int i = 0; i < 4; i++) {
                    if (!isxdigit((unsigned char)*++p)) {
                        *at = p;
                        return false;
                    }
                }
            } else if (*p == '\0' || strchr("\"\\/bfnrt", *p) == NULL) {
                *at = p;
                return false;
            }
        }
        p++;
    }
    *at = p + 1;
    return true;
}

static bool digits(const char **at)
{
    const char *p = *at;
    while (isdigit((unsigned char)*p)) {
        p++;
    }
    bool any = p != *at;
    *at = p;
    return any;
}

static bool number(const char **at)
{
    *at += **at == '-';
    if (**at == '0') {
        ++*at;
    } else if (!digits(at)) {
        return false;
    }
    if (**at == '.') {
        ++*at;
        if (!digits(at)) {
            return false;
        }
    }
    if (**at == 'e' || **at == 'E') {
        ++*at;
        *at += **at == '+' || **at == '-';
        return digits(at);
    }
    return true;
}

static bool members(const char **at, bool named, char end, int depth)
{
    const char *p = skip_space(*at + 1);
    bool ok = true;
    if (*p == end) {
        *at = p + 1;
        return true;
    }
    for (;;) {
        p = skip_space(p);
        if (named) {
            ok = *p == '"' && string(&p);
            p = ok ? skip_space(p) : p;
            ok = ok && *p == ':';
            p += ok;
        }
        ok = ok && value(&p, depth + 1);
        p = ok ? skip_space(p) : p;
        if (!ok || (*p != ',' && *p != end)) {
            *at = p;
            return false;
        }
        if (*p++ == end) {
            *at = p;
            return true;
        }
    }
}

static bool value(const char **at, int depth)
{
    *at = skip_space(*at);
    if (depth > DEPTH_MAX) {
        return false;
    }
    switch (**at) {
    case '{':
        return members(at, true, '}', depth);
    case '[':
        return members(at, false, ']', depth);
    case '"':
        return string(at);
    case 't':
    case 'f':
    case 'n': {
        static const char *const words[] = {"true", "false", "null"};
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            size_t length = strlen(words[i]);
            if (strncmp(*at, words[i], length) == 0) {
                *at += length;
                return true;
            }
        }
        return false;
    }
    default:
        return number(at);
    }
}

bool json_valid(const char *text, size_t *bad)
{
    const char *p = text;
    bool ok = value(&p, 0);
    p = ok ? skip_space(p) : p;
    *bad = (size_t)(p - text);
    return ok && *p == '\0';
}

const char *json_member(const char *text, const char *name)
{
    const char *p = skip_space(text);
    size_t length = strlen(name);
    if (*p != '{') {
        return NULL;
    }
    do {
        p = skip_space(p + 1);
        const char *key = p + 1;
        if (*p != '"' || !string(&p)) {
            return NULL; /* an empty object */
        }
        bool found = (size_t)(p - 1 - key) == length && strncmp(key, name, length) == 0;
        p = skip_space(skip_space(p) + 1); /* past the colon */
        if (found) {
            return p;
        }
        if (!value(&p, 0)) {
            return NULL;
        }
        p = skip_space(p);
    } while (*p == ',');
    return NULL;
}

bool json_scalar(const char *text, char *out, size_t out_b)
{
    const char *begin = skip_space(text), *end = begin;
    if (*begin == '{' || *begin == '[' || !value(&end, 0)) {
        return false;
    }
    bool quoted = *begin == '"';
    size_t n = (size_t)(end - begin) - (quoted ? 2 : 0);
    if (n >= out_b) {
        return false;
    }
    memcpy(out, begin + quoted, n);
    out[n] = '\0';
    return true;
}
