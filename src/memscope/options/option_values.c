/* SPDX-License-Identifier: Apache-2.0 */
/* Reading values: what the parsers of several options share. */
#include "memscope/options/option_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int ms_refuse(struct ms_why *why, const char *format, ...)
{
    static const char prefix[] = "[msmemscope] Error: ";
    va_list args;
    va_start(args, format);
    memcpy(why->error, prefix, sizeof(prefix));
    vsnprintf(why->error + sizeof(prefix) - 1, sizeof(why->error) - sizeof(prefix) + 1, format, args);
    va_end(args);
    return -EINVAL;
}

bool ms_next_item(const char **rest, const char **item, size_t *length_b)
{
    static const char wide[] = "\xef\xbc\x8c"; /* U+FF0C */
    const char *p = *rest;
    while (*p != '\0') {
        const char *end = p;
        size_t separator_b = 0;
        for (; *end != '\0'; end++) {
            separator_b = *end == ',' ? 1 : strncmp(end, wide, 3) == 0 ? 3 : 0;
            if (separator_b != 0) {
                break;
            }
        }
        const char *begin = p;
        p = end + (*end != '\0' ? separator_b : 0);
        if (end != begin) {
            *item = begin;
            *length_b = (size_t)(end - begin);
            *rest = p;
            return true;
        }
    }
    *rest = p;
    return false;
}

bool ms_item_is(const char *item, size_t length_b, const char *word)
{
    return strlen(word) == length_b && memcmp(item, word, length_b) == 0;
}

bool ms_read_digits(const char *text, size_t length_b, uint64_t min, uint64_t max, uint64_t *out)
{
    if (length_b == 0 || length_b > 19 || (text[0] == '0' && length_b > 1)) {
        return false;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < length_b; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (value < min || value > max) {
        return false;
    }
    *out = value;
    return true;
}

const struct ms_option_word *ms_word_find(const struct ms_option_word *words, size_t count, const char *item,
                                          size_t length_b)
{
    for (size_t i = 0; i < count; i++) {
        if (ms_item_is(item, length_b, words[i].text)) {
            return &words[i];
        }
    }
    return NULL;
}

const struct ms_option_word *ms_word_of(const struct ms_option_word *words, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++) {
        if (words[i].value == value) {
            return &words[i];
        }
    }
    return NULL;
}
