/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of option values, see config_text.h. Numbers are parsed as Rust parses them (no 0x, no blanks, a plus sign
 * allowed), because existing scripts rely on that. No state. */
#include "monitor/wire/config_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct mon_option *mon_option_find(const struct mon_option *options, size_t count, const char *name,
                                         size_t name_b)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(options[i].name) == name_b && memcmp(options[i].name, name, name_b) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

const char *mon_option_value(const struct mon_option *options, size_t count, const struct mon_option_values *values,
                             const char *name)
{
    const struct mon_option *option = mon_option_find(options, count, name, strlen(name));
    if (option == NULL) {
        return NULL;
    }
    const char *value = values->value[option - options];
    return value != NULL ? value : option->fallback;
}

static int refuse(char *why, const char *text)
{
    snprintf(why, MON_CONFIG_WHY_B, "%s", text);
    return -EINVAL;
}

/* The message for a number out of range, in the original's words where it has any. */
static int refuse_range(const struct mon_option *option, char *why)
{
    if (option->min == 1 && option->max == INT64_MAX) {
        return refuse(why, "Must be a positive integer");
    }
    if (option->min == -1 && option->max == INT64_MAX) {
        return refuse(why, "Must be non-negative integer or -1");
    }
    snprintf(why, MON_CONFIG_WHY_B, "must be an integer from %lld to %lld", (long long)option->min,
             (long long)option->max);
    return -EINVAL;
}

static bool whole_number(const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    return *digits != '\0' && strspn(digits, "0123456789") == strlen(digits);
}

int mon_option_i64(const struct mon_option *option, const char *text, struct ms_buffer *out, char why[MON_CONFIG_WHY_B])
{
    errno = 0;
    long long number = strtoll(text, NULL, 10);
    if (!whole_number(text) || errno != 0 || number < option->min || number > option->max) {
        return refuse_range(option, why);
    }
    char shown[24];
    ms_buffer_add(out, shown, (size_t)snprintf(shown, sizeof(shown), "%lld", number));
    return 0;
}

int mon_option_u64(const struct mon_option *option, const char *text, struct ms_buffer *out, char why[MON_CONFIG_WHY_B])
{
    errno = 0;
    unsigned long long number = strtoull(text, NULL, 10);
    uint64_t max = option->max == INT64_MAX ? UINT64_MAX : (uint64_t)option->max;
    if (!whole_number(text) || text[0] == '-' || errno != 0 || number < (uint64_t)option->min || number > max) {
        snprintf(why, MON_CONFIG_WHY_B, "must be an integer from %lld to %llu", (long long)option->min,
                 (unsigned long long)max);
        return -EINVAL;
    }
    ms_buffer_u64(out, number);
    return 0;
}

/* The shortest decimal text that reads back as the same float, never with an exponent: how Rust prints an f32. */
static void shortest_float(float number, struct ms_buffer *out)
{
    char scientific[32];
    int precision = 0;
    do {
        snprintf(scientific, sizeof(scientific), "%.*e", precision, (double)number);
    } while (strtof(scientific, NULL) != number && ++precision < 9);
    int exponent = atoi(strchr(scientific, 'e') + 1);
    /* Pad with zeros instead of printing digits of the binary value that a float does not hold. */
    char digits[16];
    int count = 0;
    for (const char *s = scientific; *s != 'e'; s++) {
        if (isdigit((unsigned char)*s)) {
            digits[count++] = *s;
        }
    }
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    if (exponent < 0) {
        MS_BUFFER_TEXT(out, "0.");
        for (int i = -1; i > exponent; i--) {
            ms_buffer_char(out, '0');
        }
    }
    for (int i = 0; i < count || (exponent >= 0 && i <= exponent); i++) {
        if (exponent >= 0 && i == exponent + 1) {
            ms_buffer_char(out, '.');
        }
        ms_buffer_char(out, i < count ? digits[i] : '0');
    }
}

int mon_option_float(const struct mon_option *option, const char *text, struct ms_buffer *out,
                     char why[MON_CONFIG_WHY_B])
{
    char *end;
    errno = 0;
    float number = strtof(text, &end);
    bool decimal = text[0] != '\0' && strspn(text, "+-.0123456789eE") == strlen(text);
    if (!decimal || *end != '\0' || !isfinite(number) || number < (float)option->min) {
        snprintf(why, MON_CONFIG_WHY_B, "must be a number of at least %lld", (long long)option->min);
        return -EINVAL;
    }
    shortest_float(number == 0 ? 0 : number, out);
    return 0;
}

static bool is_choice(const char *choices, const char *word, size_t word_b)
{
    for (const char *choice = choices; choice != NULL; choice = *choice != '\0' ? choice + 1 : NULL) {
        size_t n = strcspn(choice, "|");
        if (n == word_b && memcmp(choice, word, n) == 0) {
            return true;
        }
        choice += n;
        if (*choice == '\0') {
            break;
        }
    }
    return false;
}

static int refuse_choice(const struct mon_option *option, char *why, const char *what)
{
    int n = snprintf(why, MON_CONFIG_WHY_B, "%s: ", what);
    for (const char *s = option->choices; *s != '\0' && n < MON_CONFIG_WHY_B - 3; s++) {
        if (*s == '|') {
            why[n++] = ',';
            why[n++] = ' ';
        } else {
            why[n++] = *s;
        }
    }
    why[n] = '\0';
    return -EINVAL;
}

int mon_option_word(const struct mon_option *option, const char *text, struct ms_buffer *out,
                    char why[MON_CONFIG_WHY_B])
{
    if (!is_choice(option->choices, text, strlen(text))) {
        return refuse_choice(option, why, "possible values");
    }
    ms_buffer_add(out, text, strlen(text));
    return 0;
}

/* Calls `accept` for each comma-separated part, trimmed, and joins the accepted parts. */
static int each_part(const char *text, struct ms_buffer *out,
                     bool (*accept)(const void *context, const char *s, size_t), const void *context)
{
    bool first = true;
    for (const char *s = text;; s++) {
        size_t n = strcspn(s, ",");
        const char *end = s + n;
        const char *from = s, *to = end;
        while (from < to && isblank((unsigned char)*from)) {
            from++;
        }
        while (to > from && isblank((unsigned char)to[-1])) {
            to--;
        }
        if (!accept(context, from, (size_t)(to - from))) {
            return -EINVAL;
        }
        if (!first) {
            ms_buffer_char(out, ',');
        }
        ms_buffer_add(out, from, (size_t)(to - from));
        first = false;
        s = end;
        if (*s == '\0') {
            return 0;
        }
    }
}

static bool accept_word(const void *context, const char *s, size_t n)
{
    return is_choice(context, s, n);
}

static bool accept_number(const void *context, const char *s, size_t n)
{
    const struct mon_option *option = context;
    char digits[24], why[MON_CONFIG_WHY_B];
    struct ms_buffer ignored = {0};
    if (n == 0 || n >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, s, n);
    digits[n] = '\0';
    bool good = mon_option_i64(option, digits, &ignored, why) == 0;
    ms_buffer_free(&ignored);
    return good;
}

static int too_long(const char *text, char *why)
{
    if (strlen(text) > MON_CONFIG_VALUE_MAX_B) {
        snprintf(why, MON_CONFIG_WHY_B, "The input string is too long, max allowed: %d", MON_CONFIG_VALUE_MAX_B);
        return -EINVAL;
    }
    return 0;
}

int mon_option_words(const struct mon_option *option, const char *text, struct ms_buffer *out,
                     char why[MON_CONFIG_WHY_B])
{
    if (option->fallback != NULL && strcmp(text, option->fallback) == 0) {
        ms_buffer_add(out, text, strlen(text));
        return 0;
    }
    if (too_long(text, why) != 0) {
        return -EINVAL;
    }
    return each_part(text, out, accept_word, option->choices) == 0
               ? 0
               : refuse_choice(option, why, "must be a comma-separated list of");
}

int mon_option_numbers(const struct mon_option *option, const char *text, struct ms_buffer *out,
                       char why[MON_CONFIG_WHY_B])
{
    if (too_long(text, why) != 0) {
        return -EINVAL;
    }
    return each_part(text, out, accept_number, option) == 0
               ? 0
               : refuse(why, "must be a comma-separated list of integers, for example 0,1,7");
}

/* A configuration line has exactly one '=' and ends at the newline. Any other '=' or newline in a value would add keys
 * to the text, or make the process that reads it drop the line. */
int mon_option_text(const struct mon_option *option, const char *text, struct ms_buffer *out,
                    char why[MON_CONFIG_WHY_B])
{
    (void)option;
    if (too_long(text, why) != 0) {
        return -EINVAL;
    }
    for (const char *s = text; *s != '\0'; s++) {
        if ((unsigned char)*s < ' ' || *s == 0x7f) {
            return refuse(why, "line breaks and control characters are not allowed");
        }
        if (*s == '=') {
            return refuse(why, "'=' is not allowed: the training process would drop the whole line");
        }
    }
    ms_buffer_add(out, text, strlen(text));
    return 0;
}

/* Like a text, but with the length limit of paths; libkineto treats '#' as the start of a comment. */
int mon_option_path(const struct mon_option *option, const char *text, struct ms_buffer *out,
                    char why[MON_CONFIG_WHY_B])
{
    (void)option;
    if (strlen(text) > 4096) {
        return refuse(why, "the path is longer than 4096 bytes");
    }
    for (const char *s = text; *s != '\0'; s++) {
        if ((unsigned char)*s < ' ' || *s == 0x7f) {
            return refuse(why, "line breaks and control characters are not allowed");
        }
        if (*s == '=' || *s == '#') {
            return refuse(why, "'=' and '#' are not allowed: the training process would misread the line");
        }
    }
    ms_buffer_add(out, text, strlen(text));
    return 0;
}
