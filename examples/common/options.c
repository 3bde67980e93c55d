/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_int(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno == ERANGE || value < min || value > max) {
        return false;
    }
    *out = value;
    return true;
}

static bool read_size(const char *text, int64_t max, int64_t *out)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || value <= 0 || errno == ERANGE) {
        return false;
    }
    static const char units[] = "KMGT";
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;
    if ((*end != '\0' && (unit == NULL || end[1] != '\0')) || value > (max >> shift)) {
        return false;
    }
    *out = (int64_t)value << shift;
    return true;
}

static int refuse(const char *program, const struct option_spec *spec, const char *value)
{
    switch (spec->kind) {
    case OPTION_INT:
        fprintf(stderr, "%s: --%s: '%s' is not a whole number between %lld and %lld\n", program, spec->name, value,
                (long long)spec->min, (long long)spec->max);
        break;
    case OPTION_NUMBER:
        fprintf(stderr, "%s: --%s: '%s' is not a number greater than 0\n", program, spec->name, value);
        break;
    case OPTION_SIZE:
        fprintf(stderr, "%s: --%s: '%s' is not a size such as 4096, 64K or 16M\n", program, spec->name, value);
        break;
    default:
        fprintf(stderr, "%s: --%s: invalid value '%s'\n", program, spec->name, value);
        break;
    }
    return 2;
}

static bool store(const struct option_spec *spec, const char *value, void *options)
{
    void *at = (char *)options + spec->offset;
    char *end;
    switch (spec->kind) {
    case OPTION_INT:
        return read_int(value, spec->min, spec->max, at);
    case OPTION_NUMBER:
        *(double *)at = strtod(value, &end);
        return end != value && *end == '\0' && *(double *)at > 0 && *(double *)at < 1e30;
    case OPTION_TEXT:
        *(const char **)at = value;
        return *value != '\0';
    case OPTION_SIZE:
        return read_size(value, spec->max, at);
    case OPTION_FLAG:
        *(bool *)at = true;
        return true;
    }
    return false;
}

static void print_help(const char *program, const char *summary, const struct option_spec *specs, size_t count)
{
    printf("usage: %s [options]\n%s\n\noptions:\n", program, summary);
    for (size_t i = 0; i < count; i++) {
        const struct option_spec *spec = &specs[i];
        if (spec->help != NULL) {
            char name[64];
            bool optional = spec->value != NULL && spec->value[0] == '[';
            snprintf(name, sizeof(name), "--%s%s%s", spec->name, spec->value == NULL || optional ? "" : " ",
                     spec->value != NULL ? spec->value : "");
            printf("  %-22s %s\n", name, spec->help);
        }
    }
    printf("  %-22s %s\n", "--help", "print this help");
}

/* --name, --name=value or --name value. */
static const struct option_spec *find(const struct option_spec *specs, size_t count, const char *argument)
{
    size_t length = strcspn(argument, "=");
    for (size_t i = 0; i < count; i++) {
        if (strlen(specs[i].name) == length && strncmp(specs[i].name, argument, length) == 0) {
            return &specs[i];
        }
    }
    return NULL;
}

int options_parse(const char *program, const char *summary, const struct option_spec *specs, size_t count, int argc,
                  char **argv, void *options)
{
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            print_help(program, summary, specs, count);
            return -1;
        }
        const struct option_spec *spec = strncmp(argument, "--", 2) == 0 ? find(specs, count, argument + 2) : NULL;
        if (spec == NULL) {
            fprintf(stderr, "%s: unknown option '%s' (see --help)\n", program, argument);
            return 2;
        }
        const char *equals = strchr(argument, '=');
        const char *value = equals != NULL ? equals + 1 : NULL;
        if (spec->kind == OPTION_FLAG) {
            if (value != NULL) {
                fprintf(stderr, "%s: --%s does not take a value\n", program, spec->name);
                return 2;
            }
            value = "";
        } else if (value == NULL && spec->value[0] == '[') {
            *(int64_t *)((char *)options + spec->offset) = spec->preset;
            continue;
        } else if (value == NULL) {
            if (i + 1 == argc) {
                fprintf(stderr, "%s: --%s requires a value (%s)\n", program, spec->name, spec->value);
                return 2;
            }
            value = argv[++i];
        }
        if (!store(spec, value, options)) {
            return refuse(program, spec, value);
        }
    }
    return 0;
}
