/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of all values except paths. Messages are the original's, so that scripts which look for them keep working.
 * A rule changes nothing unless the whole value is good. */
#include "memscope/options/settings.h"

#include "base/macros.h"
#include "base/parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- helpers of the rules ---- */

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

static bool item_is(const char *item, size_t length_b, const char *word)
{
    return strlen(word) == length_b && memcmp(item, word, length_b) == 0;
}

/* Decimal digits without sign, blank or leading zero. */
static bool read_digits(const char *text, size_t length_b, uint64_t min, uint64_t max, uint64_t *out)
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

struct word {
    const char *text;
    uint32_t bit;
};

/* One of the words, or of their bits nothing. */
static uint32_t word_bit(const struct word *words, size_t count, const char *item, size_t length_b)
{
    for (size_t i = 0; i < count; i++) {
        if (item_is(item, length_b, words[i].text)) {
            return words[i].bit;
        }
    }
    return 0;
}

/* ---- rules ---- */

int ms_set_steps(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint32_t steps[MS_STEPS_MAX] = {0}, count = 0;
    const char *item;
    size_t length_b;
    while (ms_next_item(&value, &item, &length_b)) {
        uint64_t step;
        if (count == MS_STEPS_MAX || !read_digits(item, length_b, 1, UINT32_MAX, &step)) {
            return ms_refuse(why, "invalid steps input.");
        }
        steps[count++] = (uint32_t)step;
    }
    memcpy(s->steps, steps, sizeof(steps));
    s->step_count = count;
    return 0;
}

int ms_set_device(struct ms_settings *s, const char *value, struct ms_why *why)
{
    bool all = false, cpu = false;
    uint32_t mask = 0;
    const char *item;
    size_t length_b;
    while (ms_next_item(&value, &item, &length_b)) {
        uint64_t id;
        if (item_is(item, length_b, "npu")) {
            all = true;
        } else if (item_is(item, length_b, "cpu")) {
            cpu = true;
        } else if (length_b > 4 && memcmp(item, "npu:", 4) == 0 && read_digits(item + 4, length_b - 4, 0, 31, &id)) {
            mask |= 1u << id;
        } else {
            return ms_refuse(why, "invalid device.");
        }
    }
    if (!all && !cpu && mask == 0) {
        return ms_refuse(why, "invalid device.");
    }
    s->all_npus = all;
    s->cpu = cpu;
    s->npu_mask = all ? 0 : mask;
    return 0;
}

int ms_set_level(struct ms_settings *s, const char *value, struct ms_why *why)
{
    static const struct word words[] = {
        {"0", MS_LEVEL_OP}, {"op", MS_LEVEL_OP}, {"1", MS_LEVEL_KERNEL}, {"kernel", MS_LEVEL_KERNEL}};
    uint32_t level = 0;
    const char *item;
    size_t length_b;
    while (ms_next_item(&value, &item, &length_b)) {
        uint32_t bit = word_bit(words, MS_COUNT_OF(words), item, length_b);
        if (bit == 0) {
            return ms_refuse(why, "invalid data trace level input.");
        }
        level |= bit;
    }
    if (level == 0) {
        return ms_refuse(why, "invalid data trace level input.");
    }
    s->level = level;
    return 0;
}

/* "none" wins over what stands beside it, with a warning. */
static uint32_t unless_none(bool none, uint32_t bits, const char *what, struct ms_why *why)
{
    if (none && bits != 0) {
        snprintf(why->warning, sizeof(why->warning), "[msmemscope] Warn: 'none' mixed with other %s cleared.", what);
    }
    return none ? 0 : bits;
}

int ms_set_events(struct ms_settings *s, const char *value, struct ms_why *why)
{
    static const struct word words[] = {{"alloc", MS_WANT_ALLOC},
                                        {"free", MS_WANT_FREE},
                                        {"launch", MS_WANT_LAUNCH},
                                        {"access", MS_WANT_ACCESS},
                                        {"traceback", MS_WANT_TRACEBACK}};
    uint32_t events = 0;
    bool none = false;
    const char *item;
    size_t length_b;
    while (ms_next_item(&value, &item, &length_b)) {
        uint32_t bit = word_bit(words, MS_COUNT_OF(words), item, length_b);
        if (item_is(item, length_b, "none")) {
            none = true;
        } else if (bit == 0) {
            return ms_refuse(why, "invalid event trace type input.");
        }
        events |= bit;
    }
    s->events = unless_none(none, events, "event types, all events", why);
    return 0;
}

int ms_set_call_stack(struct ms_settings *s, const char *value, struct ms_why *why)
{
    struct ms_settings new = *s;
    bool none = false;
    const char *item;
    size_t length_b;
    if (*value == '\0') {
        none = true;
    }
    while (ms_next_item(&value, &item, &length_b)) {
        const char *colon = memchr(item, ':', length_b);
        size_t word_b = colon != NULL ? (size_t)(colon - item) : length_b;
        bool c = item_is(item, word_b, "c"), python = item_is(item, word_b, "python"), fp = false;
        uint64_t depth = MS_STACK_DEPTH;
        if (item_is(item, length_b, "none")) {
            none = true;
            continue;
        }
        if (c && colon != NULL) { /* c:fp, c:fp:DEPTH */
            const char *rest = colon + 1, *end = item + length_b;
            fp = end - rest >= 2 && memcmp(rest, "fp", 2) == 0 && (end - rest == 2 || rest[2] == ':');
            colon = !fp ? colon : end - rest == 2 ? NULL : rest + 2;
        }
        if ((!c && !python) ||
            (colon != NULL && !read_digits(colon + 1, (size_t)(item + length_b - colon - 1), 0, 1000, &depth))) {
            return ms_refuse(why, "invalid call-stack depth input.");
        }
        if (c) {
            new.c_stack = true;
            new.c_depth = (uint32_t)depth;
            new.frame_pointers = fp;
        } else {
            new.python_stack = true;
            new.python_depth = (uint32_t)depth;
        }
    }
    if (none) {
        new.c_stack = new.python_stack = new.frame_pointers = false;
        new.c_depth = new.python_depth = 0;
    }
    *s = new;
    return 0;
}

int ms_set_collect_mode(struct ms_settings *s, const char *value, struct ms_why *why)
{
    if (strcmp(value, "immediate") == 0) {
        s->collect_mode = MS_COLLECT_IMMEDIATE;
    } else if (strcmp(value, "deferred") == 0) {
        s->collect_mode = MS_COLLECT_DEFERRED;
    } else {
        return ms_refuse(why, "--collect-mode param is invalid. Collect mode can only be set to immediate,deferred.");
    }
    return 0;
}

int ms_set_analysis(struct ms_settings *s, const char *value, struct ms_why *why)
{
    static const struct word words[] = {{"leaks", MS_ANALYSIS_LEAKS},
                                        {"decompose", MS_ANALYSIS_DECOMPOSE},
                                        {"inefficient", MS_ANALYSIS_INEFFICIENT},
                                        {"oom", MS_ANALYSIS_OOM}};
    uint32_t analysis = 0;
    uint64_t top_k = MS_OOM_TOP_K;
    bool none = false;
    const char *item;
    size_t length_b;
    while (ms_next_item(&value, &item, &length_b)) {
        uint32_t bit = word_bit(words, MS_COUNT_OF(words), item, length_b);
        if (item_is(item, length_b, "none")) {
            none = true;
        } else if (length_b > 3 && memcmp(item, "oom:", 4) == 0) {
            if (!read_digits(item + 4, length_b - 4, 1, 1000, &top_k)) {
                return ms_refuse(why, "invalid OOM top-K value '%.*s', valid range is [1, 1000].",
                                 (int)(length_b - 4 < 100 ? length_b - 4 : 100), item + 4);
            }
            bit = MS_ANALYSIS_OOM;
        } else if (bit == 0) {
            return ms_refuse(why, "invalid analysis type input.");
        }
        analysis |= bit;
    }
    s->analysis = unless_none(none, analysis, "analysis types, all analysis", why);
    s->oom_top_k = (uint32_t)top_k;
    return 0;
}

/* One part up to a comma of either width; unlike items, parts may be empty. False: nothing is left. */
static bool next_part(const char **rest, const char **part, size_t *length_b)
{
    if (*rest == NULL) {
        return false;
    }
    const char *half = strchr(*rest, ','), *wide = strstr(*rest, "\xef\xbc\x8c");
    const char *end = half == NULL ? wide : wide == NULL || half < wide ? half : wide;
    *part = *rest;
    *length_b = end != NULL ? (size_t)(end - *rest) : strlen(*rest);
    *rest = end == NULL ? NULL : end + (end == half ? 1 : 3);
    return true;
}

int ms_set_watch(struct ms_settings *s, const char *value, struct ms_why *why)
{
    const char *start, *end, *word, *rest = value;
    size_t start_b, end_b, word_b;
    uint64_t id = UINT32_MAX, call = 0;
    bool full = false;
    if (*value == '\0' || strcmp(value, "none") == 0) {
        memset(&s->watch, 0, sizeof(s->watch));
        s->watch.output_id = UINT32_MAX;
        return 0;
    }
    next_part(&rest, &start, &start_b);
    if (rest == NULL) { /* `end` alone */
        rest = start;
        start_b = 0;
    }
    bool good = next_part(&rest, &end, &end_b) && end_b > 0 && end_b < MS_WATCH_NAME_B;
    if (good && next_part(&rest, &word, &word_b)) {
        full = true;
        good = item_is(word, word_b, "full-content") && rest == NULL;
    }
    const char *colon = memrchr(start, ':', start_b);
    if (good && colon != NULL) { /* the documentation writes out0, the original takes 0 */
        const char *digits = colon + 1;
        size_t digits_b = start_b - (size_t)(digits - start);
        if (digits_b > 3 && memcmp(digits, "out", 3) == 0) {
            digits += 3;
            digits_b -= 3;
        }
        good = colon != start && read_digits(digits, digits_b, 0, UINT32_MAX - 1, &id);
        start_b = (size_t)(colon - start);
    }
    const char *hash = good ? memrchr(start, '#', start_b) : NULL;
    if (hash != NULL && hash != start &&
        read_digits(hash + 1, start_b - (size_t)(hash + 1 - start), 1, UINT32_MAX, &call)) {
        start_b = (size_t)(hash - start); /* else it belongs to the name */
    }
    if (!good || start_b >= MS_WATCH_NAME_B) {
        return ms_refuse(why, "invalid watch config.");
    }
    memset(&s->watch, 0, sizeof(s->watch));
    s->watch.on = true;
    s->watch.full_content = full;
    s->watch.output_id = (uint32_t)id;
    s->watch.call = (uint32_t)call;
    memcpy(s->watch.start, start, start_b);
    memcpy(s->watch.end, end, end_b);
    return 0;
}

int ms_set_format(struct ms_settings *s, const char *value, struct ms_why *why)
{
    if (strcmp(value, "csv") != 0 && strcmp(value, "db") != 0) {
        return ms_refuse(why, "--data-format param is invalid. DATA_FORMAT can only be set csv,db.");
    }
    s->format = *value == 'c' ? MS_FORMAT_CSV : MS_FORMAT_DB;
    return 0;
}

int ms_set_log_level(struct ms_settings *s, const char *value, struct ms_why *why)
{
    static const struct {
        const char *word;
        enum ms_log_level level;
    } words[] = {{"debug", MS_LOG_DEBUG},
                 {"info", MS_LOG_INFO},
                 {"warn", MS_LOG_WARN},
                 {"warning", MS_LOG_WARN},
                 {"error", MS_LOG_ERROR}};
    for (size_t i = 0; i < MS_COUNT_OF(words); i++) {
        if (strcmp(value, words[i].word) == 0) {
            s->log_level = words[i].level;
            s->log_level_given = true;
            return 0;
        }
    }
    return ms_refuse(why, "--log-level param is invalid. Log level: debug|info|warning|error.");
}

int ms_set_max_trace_size(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint64_t size_b;
    if (ms_parse_size(value, &size_b) != 0 || (size_b != 0 && size_b < (16u << 20))) {
        return ms_refuse(
            why, "invalid --max-trace-size '%.100s': a size of at least 16M is needed, such as 2G, or 0 for no limit.",
            value);
    }
    s->max_trace_b = size_b;
    return 0;
}

int ms_set_fail_above(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint64_t size_b;
    if (ms_parse_size(value, &size_b) != 0) {
        return ms_refuse(why, "invalid --fail-above '%.100s': a size is needed, such as 64M.", value);
    }
    s->fail_above = true;
    s->fail_above_b = size_b;
    return 0;
}

int ms_set_on_full(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint64_t wait_ms = 20;
    bool wait = strcmp(value, "wait") == 0;
    if (strncmp(value, "wait:", 5) == 0) {
        wait = read_digits(value + 5, strlen(value + 5), 1, 1000, &wait_ms);
    }
    if (!wait && strcmp(value, "drop") != 0) {
        return ms_refuse(why, "invalid --on-full '%.100s': wait, wait:MILLISECONDS (1 to 1000) or drop is needed.",
                         value);
    }
    s->full_wait_ms = wait ? (uint32_t)wait_ms : 0;
    return 0;
}

int ms_set_export(struct ms_settings *s, const char *value, struct ms_why *why)
{
    static const char *const words[] = {[MS_EXPORT_LIVE] = "live", [MS_EXPORT_END] = "end", [MS_EXPORT_NONE] = "none"};
    for (size_t i = 0; i < MS_COUNT_OF(words); i++) {
        if (strcmp(value, words[i]) == 0) {
            s->export_mode = (enum ms_export_mode)i;
            return 0;
        }
    }
    return ms_refuse(why, "invalid --export '%.100s': live, end or none is needed.", value);
}

int ms_set_linger(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint64_t seconds;
    if (!read_digits(value, strlen(value), 0, 86400, &seconds)) {
        return ms_refuse(why, "invalid --linger '%.100s': seconds from 0 to 86400 are needed.", value);
    }
    s->linger_ms = (uint32_t)seconds * 1000;
    return 0;
}
