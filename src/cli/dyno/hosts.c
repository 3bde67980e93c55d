/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of hosts, see hosts.h. A pattern such as n[1-999999999] fails at DYNO_HOSTS_MAX hosts, before memory is
 * allocated for the rest. */
#include "cli/dyno/hosts.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 9
#define LINE_MAX_B 65536

struct expansion {
    struct dyno_hosts *hosts;
    const char *pattern; /* the whole pattern, for messages */
    char *why;
    char name[DYNO_HOST_MAX_B];
};

static int fail(struct expansion *x, int rc, const char *reason)
{
    snprintf(x->why, DYNO_WHY_B, "hosts '%.200s': %s", x->pattern, reason);
    return rc;
}

static bool host_character(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
}

/* Removes ":port" from the end of a name; an address with several colons has no port. */
static int split_port(struct expansion *x, char *name, uint16_t *port)
{
    char *colon = strchr(name, ':');
    *port = 0;
    if (name[0] == '[') {
        char *end = strchr(name, ']');
        colon = end[1] == ':' ? end + 1 : NULL;
        if (end[1] != '\0' && colon == NULL) {
            return fail(x, -EINVAL, "unexpected characters after the ']' of an address");
        }
        *end = '\0';
        memmove(name, name + 1, strlen(name + 1) + 1);
    } else if (colon == NULL || strchr(colon + 1, ':') != NULL) {
        return 0;
    } else {
        *colon = '\0';
    }
    if (colon != NULL) {
        const char *digits = colon + 1;
        long number = strspn(digits, "0123456789") == strlen(digits) && strlen(digits) <= 5 ? atol(digits) : 0;
        if (number < 1 || number > 65535) {
            return fail(x, -EINVAL, "a port must be a number from 1 to 65535");
        }
        *port = (uint16_t)number;
    }
    return 0;
}

static int add_host(struct expansion *x)
{
    struct dyno_hosts *hosts = x->hosts;
    uint16_t port;
    int rc = split_port(x, x->name, &port);
    if (rc != 0) {
        return rc;
    }
    if (x->name[0] == '\0') {
        return fail(x, -EINVAL, "empty host name");
    }
    if (x->name[0] == '-') {
        return fail(x, -EINVAL, "a host name starts with '-'");
    }
    for (const char *c = x->name; *c != '\0'; c++) {
        if (!host_character(*c)) {
            return fail(x, -EINVAL, "a host name contains an invalid character");
        }
    }
    if (hosts->count == DYNO_HOSTS_MAX) {
        return fail(x, -E2BIG, "more than 65536 hosts");
    }
    if (hosts->count == hosts->room) {
        size_t room = hosts->room != 0 ? 2 * hosts->room : 64;
        struct dyno_host *list = realloc(hosts->list, room * sizeof(*list));
        if (list == NULL) {
            return fail(x, -ENOMEM, "out of memory");
        }
        hosts->list = list;
        hosts->room = room;
    }
    char *name = strdup(x->name);
    if (name == NULL) {
        return fail(x, -ENOMEM, "out of memory");
    }
    hosts->list[hosts->count++] = (struct dyno_host){name, port};
    return 0;
}

static int expand(struct expansion *x, size_t used, const char *rest, const char *end);

/* "01-64" or "7": each number, padded to the width of the first, followed by the rest of the pattern. */
static int expand_range(struct expansion *x, size_t used, const char *range, size_t range_b, const char *rest,
                        const char *end)
{
    char text[2 * DIGITS_MAX + 2];
    if (range_b == 0 || range_b >= sizeof(text)) {
        return fail(x, -EINVAL, "a range in [] is empty or too long");
    }
    memcpy(text, range, range_b);
    text[range_b] = '\0';
    size_t width = strspn(text, "0123456789");
    const char *last = text[width] == '-' ? text + width + 1 : text;
    size_t last_width = strspn(last, "0123456789");
    if (width == 0 || width > DIGITS_MAX || last_width == 0 || last_width > DIGITS_MAX || last[last_width] != '\0') {
        return fail(x, -EINVAL, "[] must contain numbers and ranges, for example [01-64,70]");
    }
    long from = atol(text), to = atol(last);
    if (to < from) {
        return fail(x, -EINVAL, "a range ends before it starts");
    }
    for (long number = from; number <= to; number++) {
        size_t room = sizeof(x->name) - used;
        int n = snprintf(x->name + used, room, "%0*ld", (int)width, number);
        if ((size_t)n >= room) {
            return fail(x, -EINVAL, "a host name is longer than 255 characters");
        }
        int rc = expand(x, used + (size_t)n, rest, end);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

/* Adds every name that starts with the first `used` characters of x->name and continues as rest..end describes. */
static int expand(struct expansion *x, size_t used, const char *rest, const char *end)
{
    const char *bracket = memchr(rest, '[', (size_t)(end - rest));
    const char *stop = bracket != NULL ? bracket : end;
    size_t literal = (size_t)(stop - rest);
    if (used + literal >= sizeof(x->name)) {
        return fail(x, -EINVAL, "a host name is longer than 255 characters");
    }
    memcpy(x->name + used, rest, literal);
    used += literal;
    x->name[used] = '\0';
    if (bracket == NULL) {
        char whole[sizeof(x->name)];
        memcpy(whole, x->name, sizeof(whole)); /* add_host truncates the name at the port */
        int rc = add_host(x);
        memcpy(x->name, whole, sizeof(whole));
        return rc;
    }
    const char *close = memchr(bracket, ']', (size_t)(end - bracket));
    if (close == NULL) {
        return fail(x, -EINVAL, "missing ']'");
    }
    for (const char *range = bracket + 1; range <= close;) {
        const char *comma = memchr(range, ',', (size_t)(close - range));
        const char *range_end = comma != NULL ? comma : close;
        int rc = expand_range(x, used, range, (size_t)(range_end - range), close + 1, end);
        if (rc != 0) {
            return rc;
        }
        range = range_end + 1;
    }
    return 0;
}

/* "[fe80::1]:1778" is an address in brackets, not a range. */
static bool bracketed_address(const char *item, const char *end)
{
    const char *close = memchr(item, ']', (size_t)(end - item));
    return item < end && *item == '[' && close != NULL && memchr(item, ':', (size_t)(close - item)) != NULL;
}

static int expand_item(struct expansion *x, const char *item, const char *end)
{
    if (!bracketed_address(item, end)) {
        return expand(x, 0, item, end);
    }
    if ((size_t)(end - item) >= sizeof(x->name)) {
        return fail(x, -EINVAL, "an address is too long");
    }
    memcpy(x->name, item, (size_t)(end - item));
    x->name[end - item] = '\0';
    return add_host(x);
}

int dyno_hosts_expand(struct dyno_hosts *hosts, const char *pattern, char why[DYNO_WHY_B])
{
    struct expansion x = {.hosts = hosts, .pattern = pattern, .why = why};
    int depth = 0;
    const char *item = pattern;
    for (const char *c = pattern;; c++) {
        depth += (*c == '[') - (*c == ']');
        if (*c == '\0' || (*c == ',' && depth <= 0)) {
            const char *end = c;
            while (item < end && isblank((unsigned char)*item)) {
                item++;
            }
            while (end > item && isblank((unsigned char)end[-1])) {
                end--;
            }
            int rc = expand_item(&x, item, end);
            if (rc != 0) {
                return rc;
            }
            item = c + 1;
            depth = 0;
        }
        if (*c == '\0') {
            return 0;
        }
    }
}

int dyno_hosts_file(struct dyno_hosts *hosts, const char *path, char why[DYNO_WHY_B])
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    char *line = malloc(LINE_MAX_B);
    int rc = 0;
    if (file == NULL || line == NULL) {
        rc = file == NULL ? -errno : -ENOMEM;
        snprintf(why, DYNO_WHY_B, "--hostfile %.300s: %s", path, strerror(-rc));
    }
    for (unsigned number = 1; rc == 0 && fgets(line, LINE_MAX_B, file) != NULL; number++) {
        char *start = line + strspn(line, " \t");
        start[strcspn(start, "# \t\r\n")] = '\0';
        if (start[0] != '\0') {
            char inner[DYNO_WHY_B];
            rc = dyno_hosts_expand(hosts, start, inner);
            if (rc != 0) {
                snprintf(why, DYNO_WHY_B, "--hostfile %.150s, line %u: %.300s", path, number, inner);
            }
        }
    }
    if (file != NULL && file != stdin) {
        fclose(file);
    }
    free(line);
    return rc;
}

static int compare(const void *a, const void *b)
{
    const struct dyno_host *const *x = a, *const *y = b;
    int by_name = strcmp((*x)->name, (*y)->name);
    if (by_name != 0) {
        return by_name;
    }
    if ((*x)->port != (*y)->port) {
        return (*x)->port < (*y)->port ? -1 : 1;
    }
    return *x < *y ? -1 : *x > *y; /* keeps the first of equal hosts */
}

void dyno_hosts_unique(struct dyno_hosts *hosts)
{
    struct dyno_host **sorted = calloc(hosts->count + 1, sizeof(struct dyno_host *));
    if (sorted == NULL) {
        return; /* duplicates are queried twice */
    }
    for (size_t i = 0; i < hosts->count; i++) {
        sorted[i] = &hosts->list[i];
    }
    qsort(sorted, hosts->count, sizeof(struct dyno_host *), compare);
    for (size_t i = hosts->count; i-- > 1;) {
        if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0 && sorted[i]->port == sorted[i - 1]->port) {
            free(sorted[i]->name);
            sorted[i]->name = NULL;
            sorted[i] = sorted[i - 1];
        }
    }
    free(sorted);
    size_t kept = 0;
    for (size_t i = 0; i < hosts->count; i++) {
        if (hosts->list[i].name != NULL) {
            hosts->list[kept++] = hosts->list[i];
        }
    }
    hosts->count = kept;
}

void dyno_hosts_free(struct dyno_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        free(hosts->list[i].name);
    }
    free(hosts->list);
    memset(hosts, 0, sizeof(*hosts));
}
