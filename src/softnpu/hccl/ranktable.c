/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of rank tables, template "server_list", versions 1.0 and 1.2:
 *
 *     { "status": "completed", "version": "1.0", "server_count": "1",
 *       "server_list": [ { "server_id": "node_0",
 *                          "device": [ { "device_id": "0", "device_ip": "192.168.1.8", "rank_id": "0" } ] } ] }
 *
 * Strict JSON with numbers as such or in quotes; members without a meaning here (addresses, ports, super pods)
 * are checked for syntax and skipped. One pass over the text, no tree, bounded depth; the text is untrusted. */
#include "softnpu/hccl/ranktable.h"

#include "base/macros.h"
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_B (4u << 20)
#define MAX_DEPTH  32
#define TEXT_B     256

struct table_reader {
    const char *at, *end, *begin;
    int depth;
    bool failed;
    char *why;
    /* Found so far. */
    struct hccl_ranktable *table;
    bool seen[HCCL_MAX_RANKS];
    bool has_list;
    char status[TEXT_B], version[TEXT_B];
    uint64_t server_count, servers;
    /* The server and device being read. */
    uint64_t server_hash;
    bool has_server_id;
    uint64_t device_id, rank_id;
};

#define NOT_GIVEN UINT64_MAX

static void fail(struct table_reader *r, const char *what)
{
    if (!r->failed) {
        unsigned line = 1;
        for (const char *p = r->begin; p < r->at; p++) {
            line += *p == '\n';
        }
        hccl_explain(r->why, HCCL_E_PARA, "line %u: %s", line, what);
        r->failed = true;
    }
}

/* ---- JSON ---- */

static char peek(struct table_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) {
        r->at++;
    }
    return r->at < r->end ? *r->at : '\0';
}

static bool take(struct table_reader *r, char c)
{
    if (peek(r) != c || r->at == r->end) {
        return false;
    }
    r->at++;
    return true;
}

static void expect(struct table_reader *r, char c)
{
    if (!take(r, c)) {
        char what[32];
        snprintf(what, sizeof(what), "'%c' expected", c);
        fail(r, what);
    }
}

static void put(char out[TEXT_B], size_t *n, char c)
{
    if (*n + 1 < TEXT_B) { /* a longer text cannot match any known name */
        out[(*n)++] = c;
    }
}

static void escape(struct table_reader *r, char out[TEXT_B], size_t *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : '\0';
    const char *known = c != '\0' ? strchr(from, c) : NULL;
    if (known != NULL) {
        put(out, n, to[known - from]);
    } else if (c == 'u') {
        unsigned code = 0;
        for (int i = 0; i < 4; i++) {
            if (r->at == r->end || !isxdigit((unsigned char)*r->at)) {
                fail(r, "four hexadecimal digits expected after \\u");
                return;
            }
            char digit[2] = {*r->at++, '\0'};
            code = code * 16 + (unsigned)strtoul(digit, NULL, 16);
        }
        put(out, n, code > 0 && code < 128 ? (char)code : '?'); /* known names are ASCII; other strings are skipped */
    } else {
        fail(r, "unknown escape in a string");
    }
}

static void string(struct table_reader *r, char out[TEXT_B])
{
    size_t n = 0;
    out[0] = '\0';
    if (peek(r) != '"') {
        fail(r, "string expected");
        return;
    }
    r->at++;
    while (!r->failed) {
        if (r->at == r->end || (unsigned char)*r->at < 0x20) {
            fail(r, "unterminated string");
            return;
        }
        char c = *r->at++;
        if (c == '"') {
            out[n] = '\0';
            return;
        }
        if (c == '\\') {
            escape(r, out, &n);
        } else {
            put(out, &n, c);
        }
    }
}

static size_t digits(struct table_reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && isdigit((unsigned char)*r->at)) {
        r->at++;
    }
    return (size_t)(r->at - start);
}

static void number(struct table_reader *r, char out[TEXT_B])
{
    const char *start = r->at;
    r->at += *r->at == '-';
    bool zero = r->at < r->end && *r->at == '0';
    size_t n = digits(r);
    bool good = n > 0 && (!zero || n == 1);
    if (good && r->at < r->end && *r->at == '.') {
        r->at++;
        good = digits(r) > 0;
    }
    if (good && r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        r->at += r->at < r->end && (*r->at == '+' || *r->at == '-');
        good = digits(r) > 0;
    }
    if (!good) {
        fail(r, "malformed number");
        return;
    }
    snprintf(out, TEXT_B, "%.*s", (int)(r->at - start < TEXT_B ? r->at - start : TEXT_B - 1), start);
}

typedef void (*member_fn)(struct table_reader *r, const char *name);
typedef void (*element_fn)(struct table_reader *r);

static bool go_down(struct table_reader *r)
{
    if (++r->depth > MAX_DEPTH) {
        fail(r, "nested too deeply");
    }
    return !r->failed;
}

static void object(struct table_reader *r, member_fn member)
{
    expect(r, '{');
    if (!go_down(r)) {
        return;
    }
    if (!take(r, '}')) {
        do {
            char name[TEXT_B];
            string(r, name);
            expect(r, ':');
            if (!r->failed) {
                member(r, name);
            }
        } while (!r->failed && take(r, ','));
        if (!r->failed) {
            expect(r, '}');
        }
    }
    r->depth--;
}

static void array(struct table_reader *r, element_fn element)
{
    expect(r, '[');
    if (!go_down(r)) {
        return;
    }
    if (!take(r, ']')) {
        do {
            element(r);
        } while (!r->failed && take(r, ','));
        if (!r->failed) {
            expect(r, ']');
        }
    }
    r->depth--;
}

static void skip(struct table_reader *r);

static void skip_member(struct table_reader *r, const char *name)
{
    skip(r);
}

static void word(struct table_reader *r, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) {
        fail(r, "value expected");
        return;
    }
    r->at += n;
}

static void skip(struct table_reader *r)
{
    char text[TEXT_B];
    char c = peek(r);
    if (c == '{') {
        object(r, skip_member);
    } else if (c == '[') {
        array(r, skip);
    } else if (c == '"') {
        string(r, text);
    } else if (c == '-' || isdigit((unsigned char)c)) {
        number(r, text);
    } else {
        word(r, c == 't' ? "true" : c == 'f' ? "false" : "null");
    }
}

/* A string or a number, as text. */
static void scalar(struct table_reader *r, char out[TEXT_B])
{
    char c = peek(r);
    if (c == '-' || isdigit((unsigned char)c)) {
        number(r, out);
    } else {
        string(r, out);
    }
}

static uint64_t integer(struct table_reader *r, uint64_t max)
{
    char text[TEXT_B] = "";
    uint64_t value = NOT_GIVEN;
    scalar(r, text);
    if (!r->failed && ms_parse_u64(text, 0, max, &value) != 0) {
        fail(r, "number expected, or it is out of range");
    }
    return value;
}

/* ---- rank table ---- */

static void device_member(struct table_reader *r, const char *name)
{
    if (strcmp(name, "device_id") == 0) {
        r->device_id = integer(r, UINT16_MAX);
    } else if (strcmp(name, "rank_id") == 0) {
        r->rank_id = integer(r, UINT32_MAX);
    } else {
        skip(r);
    }
}

static void device(struct table_reader *r)
{
    r->device_id = r->rank_id = NOT_GIVEN;
    object(r, device_member);
    if (r->failed) {
        return;
    }
    if (r->device_id == NOT_GIVEN || r->rank_id == NOT_GIVEN) {
        fail(r, "a device needs device_id and rank_id");
    } else if (r->rank_id >= HCCL_MAX_RANKS) {
        fail(r, "rank_id is too large");
    } else if (r->seen[r->rank_id]) {
        fail(r, "duplicate rank_id");
    } else {
        r->seen[r->rank_id] = true;
        r->table->rank[r->rank_id].device = (uint32_t)r->device_id;
        r->table->rank[r->rank_id].server_hash = NOT_GIVEN; /* until the server has been read completely */
        r->table->n++;
    }
}

static void server_member(struct table_reader *r, const char *name)
{
    if (strcmp(name, "server_id") == 0) {
        char text[TEXT_B] = "";
        scalar(r, text);
        r->server_hash = hccl_hash(7, text, strlen(text)) >> 1;
        r->has_server_id = true;
    } else if (strcmp(name, "device") == 0) {
        array(r, device);
    } else {
        skip(r);
    }
}

static void server(struct table_reader *r)
{
    r->has_server_id = false;
    object(r, server_member);
    if (!r->failed && !r->has_server_id) {
        fail(r, "a server needs server_id");
    }
    for (uint32_t i = 0; i < HCCL_MAX_RANKS; i++) {
        if (r->seen[i] && r->table->rank[i].server_hash == NOT_GIVEN) {
            r->table->rank[i].server_hash = r->server_hash;
        }
    }
    r->servers++;
}

static void top_member(struct table_reader *r, const char *name)
{
    if (strcmp(name, "status") == 0) {
        scalar(r, r->status);
    } else if (strcmp(name, "version") == 0) {
        scalar(r, r->version);
    } else if (strcmp(name, "server_count") == 0) {
        r->server_count = integer(r, UINT32_MAX);
    } else if (strcmp(name, "server_list") == 0) {
        if (r->has_list) {
            fail(r, "duplicate server_list");
            return;
        }
        r->has_list = true;
        array(r, server);
    } else {
        skip(r);
    }
}

static void check_whole(struct table_reader *r)
{
    if (!r->has_list) {
        fail(r, "no server_list");
    } else if (strcmp(r->version, "1.0") != 0 && strcmp(r->version, "1.2") != 0) {
        fail(r, "version must be 1.0 or 1.2");
    } else if (strcmp(r->status, "completed") != 0) {
        fail(r, "status is not completed");
    } else if (r->server_count != NOT_GIVEN && r->server_count != r->servers) {
        fail(r, "server_count is not the number of servers");
    } else if (r->table->n == 0) {
        fail(r, "no device");
    }
    for (uint32_t i = 0; i < r->table->n && !r->failed; i++) {
        if (!r->seen[i]) {
            fail(r, "rank ids are not 0, 1, 2 ... without gaps");
        }
        for (uint32_t j = 0; j < i && !r->failed; j++) {
            const struct hccl_rank_entry *a = &r->table->rank[i], *b = &r->table->rank[j];
            if (a->device == b->device && a->server_hash == b->server_hash) {
                fail(r, "two ranks have the same device");
            }
        }
    }
}

HcclResult hccl_ranktable_parse(const char *text, size_t size_b, struct hccl_ranktable *out, char why[HCCL_WHY_B])
{
    struct table_reader r = {
        .at = text, .begin = text, .end = text + size_b, .why = why, .table = out, .server_count = NOT_GIVEN};
    memset(out, 0, sizeof(*out));
    object(&r, top_member);
    if (!r.failed && (peek(&r) != '\0' || r.at != r.end)) {
        fail(&r, "unexpected text after the table");
    }
    if (!r.failed) {
        check_whole(&r);
    }
    return r.failed ? HCCL_E_PARA : HCCL_SUCCESS;
}

HcclResult hccl_ranktable_load(const char *path, struct hccl_ranktable *out, char why[HCCL_WHY_B])
{
    HcclResult result;
    char *text = NULL;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not block on a pipe */
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        result = hccl_explain(why, HCCL_E_OPEN_FILE_FAILURE, "cannot read the rank table %s: %s", path,
                              fd < 0 ? strerror(errno) : "not a file");
        goto out;
    }
    if (st.st_size > MAX_FILE_B) {
        result = hccl_explain(why, HCCL_E_PARA, "the rank table %s is larger than 4 MiB", path);
        goto out;
    }
    text = malloc((size_t)st.st_size + 1);
    ssize_t size = text != NULL ? pread(fd, text, (size_t)st.st_size, 0) : -1;
    if (size < 0) {
        result = hccl_explain(why, text == NULL ? HCCL_E_MEMORY : HCCL_E_OPEN_FILE_FAILURE,
                              "cannot read the rank table %s", path);
        goto out;
    }
    char found[HCCL_WHY_B];
    result = hccl_ranktable_parse(text, (size_t)size, out, found);
    if (result != HCCL_SUCCESS) {
        hccl_explain(why, result, "rank table %.100s, %.120s", path, found);
    }
out:
    free(text);
    if (fd >= 0) {
        close(fd);
    }
    return result;
}
