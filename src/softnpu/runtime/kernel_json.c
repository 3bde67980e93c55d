/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts two things from JSON text: the values of the key "kernelName", and the keys of the outermost object.
 *
 * No tree is built: the text is read once, and the strings that matter are copied. Nesting is bounded, and every read
 * is checked against the end. The kernels are the "kernelName" values if there are any, otherwise the outermost keys,
 * as in the information libraries of AI CPU operators. */
#include "softnpu/runtime/kernel_json.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64
#define MAX_NAMES 65536
#define MAX_NAME  1024

struct json_names {
    char **list;
    size_t count;
};

struct json_walk {
    const char *at, *end;
    struct json_names kernels, outer;
    int error;
};

static void skip_space(struct json_walk *w)
{
    while (w->at < w->end && isspace((unsigned char)*w->at)) {
        w->at++;
    }
}

static bool take(struct json_walk *w, char c)
{
    skip_space(w);
    if (w->at < w->end && *w->at == c) {
        w->at++;
        return true;
    }
    return false;
}

static bool fail(struct json_walk *w, int error)
{
    w->error = w->error != 0 ? w->error : error;
    return false;
}

/* A string. Copied verbatim unless it has escapes, which kernel names never have. */
static bool string(struct json_walk *w, char out[MAX_NAME])
{
    size_t n = 0;
    if (!take(w, '"')) {
        return fail(w, -EINVAL);
    }
    bool plain = true;
    while (w->at < w->end && *w->at != '"') {
        if (*w->at == '\\') {
            plain = false;
            w->at++;
            if (w->at == w->end) {
                break;
            }
        }
        if (n + 1 < MAX_NAME) {
            out[n++] = *w->at;
        } else {
            plain = false;
        }
        w->at++;
    }
    if (!take(w, '"')) {
        return fail(w, -EINVAL);
    }
    out[plain ? n : 0] = '\0';
    if (memchr(out, '\0', n) != NULL) {
        out[0] = '\0';
    }
    return true;
}

static bool keep(struct json_walk *w, struct json_names *names, const char *name)
{
    if (name[0] == '\0' || names->count == MAX_NAMES) {
        return true;
    }
    if ((names->count & (names->count - 1)) == 0) {
        char **list = realloc(names->list, (names->count == 0 ? 1 : 2 * names->count) * sizeof(*list));
        if (list == NULL) {
            return fail(w, -ENOMEM);
        }
        names->list = list;
    }
    names->list[names->count] = strdup(name);
    if (names->list[names->count] == NULL) {
        return fail(w, -ENOMEM);
    }
    names->count++;
    return true;
}

static bool value(struct json_walk *w, const char *key, int depth);

static bool object(struct json_walk *w, int depth)
{
    char key[MAX_NAME];
    if (take(w, '}')) {
        return true;
    }
    do {
        if (!string(w, key) || !take(w, ':')) {
            return fail(w, -EINVAL);
        }
        if (depth == 0 && !keep(w, &w->outer, key)) {
            return false;
        }
        if (!value(w, key, depth + 1)) {
            return false;
        }
    } while (take(w, ','));
    return take(w, '}') || fail(w, -EINVAL);
}

static bool array(struct json_walk *w, int depth)
{
    if (take(w, ']')) {
        return true;
    }
    do {
        if (!value(w, "", depth + 1)) {
            return false;
        }
    } while (take(w, ','));
    return take(w, ']') || fail(w, -EINVAL);
}

static bool value(struct json_walk *w, const char *key, int depth)
{
    if (depth > MAX_DEPTH) {
        return fail(w, -EINVAL);
    }
    skip_space(w);
    if (w->at == w->end) {
        return fail(w, -EINVAL);
    }
    if (take(w, '{')) {
        return object(w, depth);
    }
    if (take(w, '[')) {
        return array(w, depth);
    }
    if (*w->at == '"') {
        bool is_name = strcmp(key, "kernelName") == 0;
        char text[MAX_NAME];
        return string(w, text) && (!is_name || keep(w, &w->kernels, text));
    }
    const char *start = w->at; /* a number, true, false, null */
    while (w->at < w->end && (isalnum((unsigned char)*w->at) || strchr("+-.", *w->at) != NULL) && *w->at != '\0') {
        w->at++;
    }
    return w->at > start || fail(w, -EINVAL);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct snpu_image_symbol *)a)->name, ((const struct snpu_image_symbol *)b)->name);
}

static int adopt(struct snpu_image *image, const struct json_names *names)
{
    size_t names_b = 0;
    for (size_t i = 0; i < names->count; i++) {
        names_b += strlen(names->list[i]) + 1;
    }
    if (names->count == 0) {
        return -EINVAL;
    }
    image->symbols = calloc(names->count, sizeof(*image->symbols));
    image->names = malloc(names_b);
    if (image->symbols == NULL || image->names == NULL) {
        return -ENOMEM;
    }
    char *name = image->names;
    for (size_t i = 0; i < names->count; i++) {
        size_t name_b = strlen(names->list[i]) + 1;
        memcpy(name, names->list[i], name_b);
        image->symbols[image->symbol_count++] = (struct snpu_image_symbol){.name = name, .function = true};
        name += name_b;
    }
    qsort(image->symbols, image->symbol_count, sizeof(*image->symbols), by_name);
    return 0;
}

static void names_free(struct json_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->list[i]);
    }
    free(names->list);
}

bool snpu__json_is(const void *text, size_t size_b)
{
    struct json_walk w = {.at = text, .end = (const char *)text + size_b};
    return take(&w, '{');
}

int snpu__json_names(struct snpu_image *image, const char *text, size_t size_b)
{
    struct json_walk w = {.at = text, .end = text + size_b};
    value(&w, "", 0);
    skip_space(&w);
    int result = w.error != 0    ? w.error
                 : w.at != w.end ? -EINVAL
                                 : adopt(image, w.kernels.count > 0 ? &w.kernels : &w.outer);
    names_free(&w.kernels);
    names_free(&w.outer);
    return result;
}
