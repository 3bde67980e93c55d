/* SPDX-License-Identifier: Apache-2.0 */
/* Options about input and output files. Messages are those of msMemScope, which scripts search for; a rule changes
 * nothing unless the whole value is valid. */
#include "memscope/options/option_table.h"

#include "memscope/options/paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- output ---- */

static int set_output(struct ms_settings *s, const char *value, struct ms_why *why)
{
    static const char advice[] = "\nPlease use correct output path!";
    char path[MS_PATH_MAX_B + 1];
    if (strlen(value) > MS_PATH_MAX_B) {
        snprintf(
            why->warning, sizeof(why->warning),
            "[msmemscope] Error: Parameter --output length exceeds the maximum length:%d output path will be set to "
            "default(./" MS_OUTPUT_DEFAULT ").",
            MS_PATH_MAX_B);
        ms_path_absolute("./" MS_OUTPUT_DEFAULT, s->output);
        return 0;
    }
    if (value[strspn(value, " \t\n\v\f\r")] == '\0') {
        snprintf(why->error, sizeof(why->error), "[msmemscope] Warn: empty output path.%s", advice);
        return -EINVAL;
    }
    if (!ms_path_characters_ok(value) || !ms_path_absolute(value, path) || !ms_path_shape_ok(path)) {
        return ms_refuse(why, "invalid output path.%s", advice);
    }
    memcpy(s->output, path, strlen(path) + 1);
    return 0;
}

/* ---- input ---- */

/* Why the input cannot be read; NULL: it can. */
static const char *input_fault(const char *path)
{
    struct stat st;
    char absolute[MS_PATH_MAX_B + 1];
    if (!ms_path_absolute(path, absolute) || !ms_path_shape_ok(absolute)) {
        return "the path is too long or too deep";
    }
    if (lstat(path, &st) != 0 || access(path, R_OK) != 0) {
        return strerror(errno);
    }
    return S_ISLNK(st.st_mode)                            ? "soft link is not allowed"
           : !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) ? "neither a file nor a directory"
                                                          : NULL;
}

static int set_input(struct ms_settings *s, const char *value, struct ms_why *why)
{
    char inputs[2][MS_PATH_MAX_B + 1];
    uint32_t count = 0;
    const char *item;
    size_t length_b;
    if (strlen(value) > MS_PATH_MAX_B) {
        return ms_refuse(why, "Parameter --input length exceeds the maximum length:%d.", MS_PATH_MAX_B);
    }
    while (ms_next_item(&value, &item, &length_b)) {
        if (s->input_count + count == MS_COUNT_OF(inputs)) {
            return ms_refuse(why, "invalid paths input.");
        }
        memcpy(inputs[count], item, length_b);
        inputs[count][length_b] = '\0';
        const char *fault = input_fault(inputs[count++]);
        if (fault != NULL) {
            return ms_refuse(why, "invalid paths input.\n%.300s: %s.", inputs[count - 1], fault);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(s->inputs[s->input_count++], inputs[i], sizeof(inputs[i]));
    }
    return 0;
}

/* ---- data-format ---- */

static const struct ms_option_word formats[] = {{"csv", MS_FORMAT_CSV}, {"db", MS_FORMAT_DB}};

static int set_format(struct ms_settings *s, const char *value, struct ms_why *why)
{
    const struct ms_option_word *word = ms_word_find(formats, MS_COUNT_OF(formats), value, strlen(value));
    if (word == NULL) {
        return ms_refuse(why, "--data-format param is invalid. DATA_FORMAT can only be set csv,db.");
    }
    s->format = (enum ms_format)word->value;
    return 0;
}

static void format_format(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    ms_settings_text_add(out, "%s=%s\n", option->name, ms_word_of(formats, MS_COUNT_OF(formats), s->format)->text);
}

/* ---- the rows ---- */

const struct ms_option ms_options_files[] = {
    /* The output directory is not part of the settings' text: its default need not follow the rules for given paths. */
    {.name = "output",
     .alias = "output-path",
     .letters = "o",
     .argument = "DIR",
     .set = set_output,
     .local = true,
     .shown = "./" MS_OUTPUT_DEFAULT,
     .help = "output directory"},
    {.name = "data-format",
     .alias = "format",
     .argument = "FORMAT",
     .set = set_format,
     .format = format_format,
     .initial = "csv",
     .help = "csv, or db for MindStudio Insight"},
    {.name = "input",
     .alias = "input-path",
     .letters = "i",
     .argument = "A,B",
     .set = set_input,
     .local = true,
     .help = "what to compare: dump files (csv, db) or directories with recordings;\n"
             "a single one only with --steps=N,M"},
    {.name = "strict-paths",
     MS_OPTION_FLAG_OF(strict_paths),
     .later = true,
     .help = "refuse symbolic links, other owners and directories that others can write to"},
    {.name = NULL},
};
