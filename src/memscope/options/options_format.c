/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as lines that ms_options_apply_text understands: how the launcher hands them to the collector, and how a
 * trace remembers them. The output directory is not among them: its default need not obey the rules for given ones. */
#include "memscope/options/options.h"

#include "base/macros.h"
#include "memscope/options/option_table.h"

#include <stdarg.h>

struct text_out {
    char *out;
    size_t out_b, length_b;
};

static void MS_PRINTF(2, 3) add(struct text_out *to, const char *format, ...)
{
    size_t room = to->length_b < to->out_b ? to->out_b - to->length_b : 0;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(room > 0 ? to->out + to->length_b : NULL, room, format, args);
    va_end(args);
    to->length_b += n > 0 ? (size_t)n : 0;
}

static void add_words(struct text_out *to, const char *name, uint32_t bits, const char *const *words, size_t count,
                      const char *empty)
{
    add(to, "%s=%s", name, bits == 0 ? empty : "");
    for (size_t i = 0; i < count; i++) {
        if ((bits >> i & 1) != 0) {
            add(to, "%s%s", words[i], bits >> (i + 1) != 0 ? "," : "");
        }
    }
    add(to, "\n");
}

size_t ms_options_format(const struct ms_settings *s, char *out, size_t out_b)
{
    static const char *const events[] = {"alloc", "free", "launch", "access", "traceback"};
    static const char *const levels[] = {"op", "kernel"};
    static const char *const analyses[] = {"leaks", "decompose", "inefficient", "oom"};
    static const char *const logs[] = {"debug", "info", "warn", "error"};
    static const char *const exports[] = {"live", "end", "none"};
    struct text_out to = {out, out_b, 0};
    if (out_b > 0) {
        out[0] = '\0';
    }
    for (size_t i = 0; i < MS_OPTIONS; i++) {
        if (ms_options[i].action == FLAG && *(const bool *)((const char *)s + ms_options[i].flag)) {
            add(&to, "%s=\n", ms_options[i].name);
        }
    }
    add_words(&to, "events", s->events, events, MS_COUNT_OF(events), "none");
    add_words(&to, "level", s->level, levels, MS_COUNT_OF(levels), "");
    add(&to, "device=%s%s", s->all_npus ? "npu," : "", s->cpu ? "cpu," : "");
    for (unsigned i = 0; i < 32 && !s->all_npus; i++) {
        if ((s->npu_mask >> i & 1) != 0) {
            add(&to, "npu:%u,", i);
        }
    }
    add(&to, "\nsteps=");
    for (uint32_t i = 0; i < s->step_count; i++) {
        add(&to, "%u,", s->steps[i]);
    }
    add(&to, "\ncall-stack=none\n");
    if (s->c_stack) {
        add(&to, "call-stack=c:%s%u\n", s->frame_pointers ? "fp:" : "", s->c_depth);
    }
    if (s->python_stack) {
        add(&to, "call-stack=python:%u\n", s->python_depth);
    }
    add(&to, "collect-mode=%s\n", s->collect_mode == MS_COLLECT_IMMEDIATE ? "immediate" : "deferred");
    add_words(&to, "analysis", s->analysis & ~(uint32_t)MS_ANALYSIS_OOM, analyses, MS_COUNT_OF(analyses), "");
    if ((s->analysis & MS_ANALYSIS_OOM) != 0) {
        to.length_b -= to.length_b > 0; /* goes on the same line */
        add(&to, ",oom:%u\n", s->oom_top_k);
    }
    char watch[MS_WATCH_TEXT_B];
    ms_settings_watch_text(s, watch, sizeof(watch));
    add(&to, "watch=%s\n", watch);
    add(&to, "data-format=%s\n", s->format == MS_FORMAT_CSV ? "csv" : "db");
    if (s->log_level_given) {
        add(&to, "log-level=%s\n", logs[s->log_level]);
    }
    add(&to, "export=%s\nmax-trace-size=%llu\n", exports[s->export_mode], (unsigned long long)s->max_trace_b);
    if (s->full_wait_ms > 0) {
        add(&to, "on-full=wait:%u\n", s->full_wait_ms);
    } else {
        add(&to, "on-full=drop\n");
    }
    add(&to, "linger=%u\n", s->linger_ms / 1000);
    return to.length_b;
}
