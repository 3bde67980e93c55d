/* SPDX-License-Identifier: Apache-2.0 */
/* Options that select what is recorded. Messages are those of msMemScope, which scripts search for; a rule changes
 * nothing unless the whole value is valid. */
#include "memscope/options/option_table.h"

#include <stdio.h>
#include <string.h>

/* ---- events ---- */

static const struct ms_option_word events[] = {
#define X(NAME, word, bit, implied) {word, bit},
    MS_WANTED_EVENTS(X)
#undef X
};
#define X(NAME, word, bit, implied) word ", "
static const char events_help[] = MS_WANTED_EVENTS(X) "or none.\n"
                                                      "alloc and free imply each other; access implies both";
#undef X

static int set_events(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint32_t bits = 0;
    bool none = false;
    const char *item;
    size_t length_b;
    while (ms_next_item(&value, &item, &length_b)) {
        const struct ms_option_word *word = ms_word_find(events, MS_COUNT_OF(events), item, length_b);
        if (ms_item_is(item, length_b, "none")) {
            none = true;
        } else if (word == NULL) {
            return ms_refuse(why, "invalid event trace type input.");
        } else {
            bits |= word->value;
        }
    }
    if (none && bits != 0) {
        snprintf(why->warning, sizeof(why->warning),
                 "[msmemscope] Warn: 'none' mixed with other event types, all events cleared.");
    }
    s->events = none ? 0 : bits;
    return 0;
}

static void format_events(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    ms_settings_text_words(out, option->name, s->events, events, MS_COUNT_OF(events), "none");
    ms_settings_text_add(out, "\n");
}

/* ---- level ---- */

static const struct ms_option_word levels[] = {
    {"op", MS_LEVEL_OP}, {"0", MS_LEVEL_OP}, {"kernel", MS_LEVEL_KERNEL}, {"1", MS_LEVEL_KERNEL}};

static int set_level(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint32_t bits = 0;
    const char *item;
    size_t length_b;
    while (ms_next_item(&value, &item, &length_b)) {
        const struct ms_option_word *word = ms_word_find(levels, MS_COUNT_OF(levels), item, length_b);
        if (word == NULL) {
            return ms_refuse(why, "invalid data trace level input.");
        }
        bits |= word->value;
    }
    if (bits == 0) {
        return ms_refuse(why, "invalid data trace level input.");
    }
    s->level = bits;
    return 0;
}

static void format_level(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    ms_settings_text_words(out, option->name, s->level, levels, MS_COUNT_OF(levels), "");
    ms_settings_text_add(out, "\n");
}

/* ---- device ---- */

static int set_device(struct ms_settings *s, const char *value, struct ms_why *why)
{
    bool all = false, cpu = false;
    uint32_t mask = 0;
    const char *item;
    size_t length_b;
    while (ms_next_item(&value, &item, &length_b)) {
        uint64_t id;
        if (ms_item_is(item, length_b, "npu")) {
            all = true;
        } else if (ms_item_is(item, length_b, "cpu")) {
            cpu = true;
        } else if (length_b > 4 && memcmp(item, "npu:", 4) == 0 && ms_read_digits(item + 4, length_b - 4, 0, 31, &id)) {
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

static void format_device(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    ms_settings_text_add(out, "%s=%s%s", option->name, s->all_npus ? "npu," : "", s->cpu ? "cpu," : "");
    for (unsigned i = 0; i < 32 && !s->all_npus; i++) {
        if ((s->npu_mask >> i & 1) != 0) {
            ms_settings_text_add(out, "npu:%u,", i);
        }
    }
    ms_settings_text_add(out, "\n");
}

/* ---- steps ---- */

static int set_steps(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint32_t steps[MS_STEPS_MAX] = {0}, count = 0;
    const char *item;
    size_t length_b;
    while (ms_next_item(&value, &item, &length_b)) {
        uint64_t step;
        if (count == MS_STEPS_MAX || !ms_read_digits(item, length_b, 1, UINT32_MAX, &step)) {
            return ms_refuse(why, "invalid steps input.");
        }
        steps[count++] = (uint32_t)step;
    }
    memcpy(s->steps, steps, sizeof(steps));
    s->step_count = count;
    return 0;
}

static void format_steps(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    ms_settings_text_add(out, "%s=", option->name);
    for (uint32_t i = 0; i < s->step_count; i++) {
        ms_settings_text_add(out, "%u,", s->steps[i]);
    }
    ms_settings_text_add(out, "\n");
}

/* ---- call-stack ---- */

static int set_call_stack(struct ms_settings *s, const char *value, struct ms_why *why)
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
        bool c = ms_item_is(item, word_b, "c"), python = ms_item_is(item, word_b, "python"), fp = false;
        uint64_t depth = MS_STACK_DEPTH;
        if (ms_item_is(item, length_b, "none")) {
            none = true;
            continue;
        }
        if (c && colon != NULL) { /* c:fp, c:fp:DEPTH */
            const char *rest = colon + 1, *end = item + length_b;
            fp = end - rest >= 2 && memcmp(rest, "fp", 2) == 0 && (end - rest == 2 || rest[2] == ':');
            colon = !fp ? colon : end - rest == 2 ? NULL : rest + 2;
        }
        if ((!c && !python) ||
            (colon != NULL && !ms_read_digits(colon + 1, (size_t)(item + length_b - colon - 1), 0, 1000, &depth))) {
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

/* Values add up, so "none" comes first to clear what the settings had before. */
static void format_call_stack(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    ms_settings_text_add(out, "%s=none\n", option->name);
    if (s->c_stack) {
        ms_settings_text_add(out, "%s=c:%s%u\n", option->name, s->frame_pointers ? "fp:" : "", s->c_depth);
    }
    if (s->python_stack) {
        ms_settings_text_add(out, "%s=python:%u\n", option->name, s->python_depth);
    }
}

/* ---- collect-mode ---- */

static const struct ms_option_word collect_modes[] = {{"immediate", MS_COLLECT_IMMEDIATE},
                                                      {"deferred", MS_COLLECT_DEFERRED}};

static int set_collect_mode(struct ms_settings *s, const char *value, struct ms_why *why)
{
    const struct ms_option_word *word = ms_word_find(collect_modes, MS_COUNT_OF(collect_modes), value, strlen(value));
    if (word == NULL) {
        return ms_refuse(why, "--collect-mode param is invalid. Collect mode can only be set to immediate,deferred.");
    }
    s->collect_mode = (enum ms_collect_mode)word->value;
    return 0;
}

static void format_collect_mode(const struct ms_option *option, const struct ms_settings *s,
                                struct ms_settings_text *out)
{
    ms_settings_text_add(out, "%s=%s\n", option->name,
                         ms_word_of(collect_modes, MS_COUNT_OF(collect_modes), s->collect_mode)->text);
}

/* ---- the rows ---- */

const struct ms_option ms_options_collection[] = {
    {.name = "events",
     .argument = "LIST",
     .set = set_events,
     .format = format_events,
     .initial = MS_DEFAULT_EVENTS,
     .help = events_help},
    {.name = "events-only",
     MS_OPTION_FLAG_OF(events_only),
     .later = true,
     .help = "write only the events that --events names, not those that they or the analyses imply"},
    {.name = "level",
     .argument = "LIST",
     .set = set_level,
     .format = format_level,
     .initial = MS_DEFAULT_LEVEL,
     .help = "op (or 0): operators; kernel (or 1): kernels"},
    {.name = "device",
     .argument = "LIST",
     .set = set_device,
     .format = format_device,
     .initial = MS_DEFAULT_DEVICE,
     .help = "npu: all NPUs; npu:N: NPU number N (0 to 31); cpu: host memory"},
    {.name = "steps",
     .argument = "LIST",
     .set = set_steps,
     .format = format_steps,
     .shown = "all steps",
     .help = "write only the events of these steps: one to five numbers"},
    {.name = "call-stack",
     .argument = "LIST",
     .set = set_call_stack,
     .format = format_call_stack,
     .initial = MS_DEFAULT_CALL_STACK,
     .help = "c[:DEPTH], python[:DEPTH]: stacks of memory events, DEPTH 0 to 1000 (50);\n"
             "c:fp[:DEPTH]: unwind by frame pointers, for programs built with them"},
    {.name = "collect-mode",
     .argument = "MODE",
     .set = set_collect_mode,
     .format = format_collect_mode,
     .initial = "immediate",
     .help = "immediate: from the start of the program; deferred: from msmemscope.start()"},
    {.name = "no-children",
     MS_OPTION_FLAG_OF(no_children),
     .later = true,
     .help = "record only the program, not the processes that it starts"},
    {.name = NULL},
};
