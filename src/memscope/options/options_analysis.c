/* SPDX-License-Identifier: Apache-2.0 */
/* Options of analyses. Messages are those of msMemScope, which scripts search for; a rule changes nothing unless the
 * whole value is valid. */
#include "memscope/options/option_table.h"

#include "base/parse.h"

#include <stdio.h>
#include <string.h>

/* ---- analysis ---- */

static const struct ms_option_word analyses[] = {
#define X(NAME, word, bit, needed, argument) {word, bit},
    MS_ANALYSES(X)
#undef X
};
#define X(NAME, word, bit, needed, argument) word argument ", "
static const char analysis_help[] =
    MS_ANALYSES(X) "or none;\n"
                   "each implies the events that it needs. K: blocks to list, 1 to 1000 (10)";
#undef X

static int set_analysis(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint32_t bits = 0;
    uint64_t top_k = MS_OOM_TOP_K;
    bool none = false;
    const char *item;
    size_t length_b;
    while (ms_next_item(&value, &item, &length_b)) {
        const struct ms_option_word *word = ms_word_find(analyses, MS_COUNT_OF(analyses), item, length_b);
        if (ms_item_is(item, length_b, "none")) {
            none = true;
        } else if (length_b > 3 && memcmp(item, "oom:", 4) == 0) {
            if (!ms_read_digits(item + 4, length_b - 4, 1, 1000, &top_k)) {
                return ms_refuse(why, "invalid OOM top-K value '%.*s', valid range is [1, 1000].",
                                 (int)(length_b - 4 < 100 ? length_b - 4 : 100), item + 4);
            }
            bits |= MS_ANALYSIS_OOM;
        } else if (word == NULL) {
            return ms_refuse(why, "invalid analysis type input.");
        } else {
            bits |= word->value;
        }
    }
    if (none && bits != 0) {
        snprintf(why->warning, sizeof(why->warning),
                 "[msmemscope] Warn: 'none' mixed with other analysis types, all analysis cleared.");
    }
    s->analysis = none ? 0 : bits;
    s->oom_top_k = (uint32_t)top_k;
    return 0;
}

static void format_analysis(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    ms_settings_text_words(out, option->name, s->analysis & ~(uint32_t)MS_ANALYSIS_OOM, analyses, MS_COUNT_OF(analyses),
                           "");
    if ((s->analysis & MS_ANALYSIS_OOM) != 0) {
        ms_settings_text_add(out, ",oom:%u", s->oom_top_k);
    }
    ms_settings_text_add(out, "\n");
}

/* ---- watch ---- */

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

static int set_watch(struct ms_settings *s, const char *value, struct ms_why *why)
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
    if (rest == NULL) { /* END alone */
        rest = start;
        start_b = 0;
    }
    bool good = next_part(&rest, &end, &end_b) && end_b > 0 && end_b < MS_WATCH_OP_B;
    if (good && next_part(&rest, &word, &word_b)) {
        full = true;
        good = ms_item_is(word, word_b, "full-content") && rest == NULL;
    }
    const char *colon = memrchr(start, ':', start_b);
    if (good && colon != NULL) { /* msMemScope documents out0 but accepts 0: both are accepted here */
        const char *digits = colon + 1;
        size_t digits_b = start_b - (size_t)(digits - start);
        if (digits_b > 3 && memcmp(digits, "out", 3) == 0) {
            digits += 3;
            digits_b -= 3;
        }
        good = colon != start && ms_read_digits(digits, digits_b, 0, UINT32_MAX - 1, &id);
        start_b = (size_t)(colon - start);
    }
    const char *hash = good ? memrchr(start, '#', start_b) : NULL;
    if (hash != NULL && hash != start &&
        ms_read_digits(hash + 1, start_b - (size_t)(hash + 1 - start), 1, UINT32_MAX, &call)) {
        start_b = (size_t)(hash - start); /* otherwise the hash belongs to the name */
    }
    if (!good || start_b >= MS_WATCH_OP_B) {
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

static void format_watch(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    char watch[MS_WATCH_TEXT_B];
    ms_settings_watch_text(s, watch, sizeof(watch));
    ms_settings_text_add(out, "%s=%s\n", option->name, watch);
}

/* ---- comparing ---- */

static int set_fail_above(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint64_t size_b;
    if (ms_parse_size(value, &size_b) != 0) {
        return ms_refuse(why, "invalid --fail-above '%.100s': a size is needed, such as 64M.", value);
    }
    s->fail_above = true;
    s->fail_above_b = size_b;
    return 0;
}

/* ---- the rows ---- */

const struct ms_option ms_options_analysis[] = {
    {.name = "analysis",
     .argument = "LIST",
     .set = set_analysis,
     .format = format_analysis,
     .initial = MS_DEFAULT_ANALYSIS,
     .help = analysis_help},
    {.name = "watch",
     .argument = "OPS",
     .set = set_watch,
     .format = format_watch,
     .initial = "none",
     .shown = "off",
     .help = "[START[#CALL][:OUT],]END[,full-content]: check the outputs of operator START before\n"
             "and after every operator until END, to find the one that overwrites them.\n"
             "OUT: only that output; CALL: only that call of START"},
    {.name = "compare",
     MS_OPTION_FLAG_OF(compare),
     .help = "compare two recordings, see --input; with --steps=N one step of both,\n"
             "with --steps=N,M step N of the first and step M of the second"},
    {.name = "compare-legacy",
     MS_OPTION_FLAG_OF(compare_legacy),
     .later = true,
     .help = "compute the differences as early releases did"},
    {.name = "fail-above",
     .argument = "SIZE",
     .set = set_fail_above,
     .local = true,
     .later = true,
     .help = "with --compare: exit status 1 if the peak, or the memory in use at the end,\n"
             "is larger by more than SIZE (such as 64M) in the second recording"},
    {.name = NULL},
};
