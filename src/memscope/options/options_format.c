/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as lines that ms_options_apply_text understands: the launcher passes them to the collector, and traces store
 * them. Flags come first, then values; the output directory is not included. */
#include "memscope/options/options.h"

#include "memscope/options/option_table.h"

#include <stdarg.h>

struct ms_settings_text {
    char *out;
    size_t out_b, length_b; /* length_b: of the whole text, even if it does not fit */
};

void ms_settings_text_add(struct ms_settings_text *to, const char *format, ...)
{
    size_t left_b = to->length_b < to->out_b ? to->out_b - to->length_b : 0;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(left_b > 0 ? to->out + to->length_b : NULL, left_b, format, args);
    va_end(args);
    to->length_b += n > 0 ? (size_t)n : 0;
}

void ms_settings_text_words(struct ms_settings_text *to, const char *name, uint32_t bits,
                            const struct ms_option_word *words, size_t count, const char *empty)
{
    const char *separator = "";
    ms_settings_text_add(to, "%s=%s", name, bits == 0 ? empty : "");
    for (size_t i = 0; i < count; i++) {
        if ((bits & words[i].value) != 0) {
            ms_settings_text_add(to, "%s%s", separator, words[i].text);
            separator = ",";
            bits &= ~words[i].value;
        }
    }
}

size_t ms_options_format(const struct ms_settings *s, char *out, size_t out_b)
{
    struct ms_settings_text to = {out, out_b, 0};
    const struct ms_option *option;
    if (out_b > 0) {
        out[0] = '\0';
    }
    for (size_t i = 0; (option = ms_option_at(i)) != NULL; i++) {
        if (option->action == MS_OPTION_FLAG && *(const bool *)((const char *)s + option->flag)) {
            ms_settings_text_add(&to, "%s=\n", option->name);
        }
    }
    for (size_t i = 0; (option = ms_option_at(i)) != NULL; i++) {
        if (option->format != NULL) {
            option->format(option, s, &to);
        }
    }
    return to.length_b;
}
