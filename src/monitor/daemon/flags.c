/* SPDX-License-Identifier: Apache-2.0 */
/* Flags: one row per flag, from flags_table.h; everything else here iterates over the rows.
 *
 * The rules are those of gflags, because flag files and start scripts of both families exist: `--flag=value`, `--flag
 * value`, one dash or two, `--noflag`, `-` and `_` equivalent, the last value wins, `--` ends the flags, other
 * arguments are ignored. In a flag file, a line without a dash is a list of patterns: the lines after it apply to
 * programs whose name matches one of them. In addition to gflags, a switch may be followed by the word true or false.
 * Failure policy: the first invalid flag ends the parse with a message that names it and what is expected. */
#include "monitor/daemon/flags_internal.h"

#include "base/macros.h"
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    NAME_MAX_B = 64,
    FILE_DEPTH = 8, /* nested flag files */
    FILE_MAX_B = 1 << 20,
    NOTES_MAX = 200,
};

#define ROW_SECTION(title) {.type = MON_FLAG_SECTION, .name = title},
#define ROW(type_, name_, where_, help_)                                                                               \
    .type = type_, .where = where_, .name = #name_, .at = offsetof(struct mon_flags, name_), .help = help_
#define ROW_BOOL(name, value, where, help) {ROW(MON_FLAG_BOOL, name, where, help), .number = value, .max = 1},
#define ROW_INT(name, value, least, most, where, help)                                                                 \
    {ROW(MON_FLAG_INT, name, where, help), .number = value, .min = least, .max = most},
#define ROW_TEXT(name, value, where, help) {ROW(MON_FLAG_TEXT, name, where, help), .text = value},
const struct mon_flag mon__flags[] = {MON_FLAG_TABLE(ROW_SECTION, ROW_BOOL, ROW_INT, ROW_TEXT)};
const size_t mon__flag_count = MS_COUNT_OF(mon__flags);

struct parse {
    struct mon_flags *flags;
    struct mon_flag_notes *notes;
    const char *program;
    char *error;
    size_t error_b;
    int depth;
};

static int refuse(struct parse *parse, const char *format, ...) MS_PRINTF(2, 3);
static int refuse(struct parse *parse, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(parse->error, parse->error_b, format, args);
    va_end(args);
    return -EINVAL;
}

static void note(struct parse *parse, const char *format, ...) MS_PRINTF(2, 3);
static void note(struct parse *parse, const char *format, ...)
{
    struct mon_flag_notes *notes = parse->notes;
    if (notes == NULL || notes->count >= NOTES_MAX) {
        return;
    }
    if (notes->count == notes->room) {
        size_t room = notes->room == 0 ? 8 : notes->room * 2;
        void *lines = realloc(notes->lines, room * sizeof(*notes->lines));
        if (lines == NULL) {
            return;
        }
        notes->lines = lines;
        notes->room = room;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(notes->lines[notes->count++], sizeof(*notes->lines), format, args);
    va_end(args);
}

static void *value_of(struct mon_flags *flags, const struct mon_flag *flag)
{
    return (char *)flags + flag->at;
}

int mon_flags_init(struct mon_flags *flags)
{
    memset(flags, 0, sizeof(*flags));
    for (size_t i = 0; i < mon__flag_count; i++) {
        const struct mon_flag *flag = &mon__flags[i];
        switch (flag->type) {
        case MON_FLAG_SECTION:
            break;
        case MON_FLAG_BOOL:
            *(bool *)value_of(flags, flag) = flag->number != 0;
            break;
        case MON_FLAG_INT:
            *(int32_t *)value_of(flags, flag) = (int32_t)flag->number;
            break;
        case MON_FLAG_TEXT:
            if ((*(char **)value_of(flags, flag) = strdup(flag->text)) == NULL) {
                mon_flags_free(flags);
                return -ENOMEM;
            }
            break;
        }
    }
    return 0;
}

void mon_flags_free(struct mon_flags *flags)
{
    for (size_t i = 0; i < mon__flag_count; i++) {
        if (mon__flags[i].type == MON_FLAG_TEXT) {
            free(*(char **)value_of(flags, &mon__flags[i]));
        }
    }
    memset(flags, 0, sizeof(*flags));
}

void mon_flag_notes_free(struct mon_flag_notes *notes)
{
    free(notes->lines);
    memset(notes, 0, sizeof(*notes));
}

/* Dashes and underscores are equivalent in names; the table has underscores. */
static bool same_name(const char *a, const char *b)
{
    for (; *a != '\0' && (*a == *b || (*a == '_' && *b == '-')); a++, b++) {
    }
    return *a == '\0' && *b == '\0';
}

static const struct mon_flag *find(const char *name)
{
    for (size_t i = 0; i < mon__flag_count; i++) {
        if (mon__flags[i].type != MON_FLAG_SECTION && same_name(mon__flags[i].name, name)) {
            return &mon__flags[i];
        }
    }
    return NULL;
}

/* Edit distance of two names. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[NAME_MAX_B + 1];
    size_t length = strnlen(b, NAME_MAX_B);
    for (size_t j = 0; j <= length; j++) {
        row[j] = (unsigned)j;
    }
    for (size_t i = 0; a[i] != '\0' && i < NAME_MAX_B; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < length; j++) {
            unsigned change = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            unsigned least = row[j] < diagonal ? row[j] : diagonal;
            row[j + 1] = least + 1 < change ? least + 1 : change;
        }
    }
    return row[length];
}

static int unknown(struct parse *parse, const char *name)
{
    const struct mon_flag *best = NULL;
    unsigned least = 4;
    for (size_t i = 0; i < mon__flag_count; i++) {
        if (mon__flags[i].type != MON_FLAG_SECTION && distance(name, mon__flags[i].name) < least) {
            best = &mon__flags[i];
            least = distance(name, mon__flags[i].name);
        }
    }
    if (best != NULL) {
        return refuse(parse, "unknown flag '%s'; did you mean --%s?", name, best->name);
    }
    return refuse(parse, "unknown flag '%s' (see --help)", name);
}

static int parse_bool(const char *text, bool *out)
{
    static const char *const yes[] = {"true", "t", "1", "yes", "y"}, *const no[] = {"false", "f", "0", "no", "n"};
    for (size_t i = 0; i < MS_COUNT_OF(yes); i++) {
        if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
            *out = strcasecmp(text, yes[i]) == 0;
            return 0;
        }
    }
    return -EINVAL;
}

static int set(struct parse *parse, const struct mon_flag *flag, const char *text)
{
    if ((flag->where & MON_FLAG_IGNORED) != 0) {
        note(parse, "--%s is accepted but has no effect (%s)", flag->name, flag->help);
    }
    switch (flag->type) {
    case MON_FLAG_SECTION:
        break;
    case MON_FLAG_BOOL:
        if (parse_bool(text, value_of(parse->flags, flag)) != 0) {
            return refuse(parse, "--%s=%.80s: must be true or false", flag->name, text);
        }
        break;
    case MON_FLAG_INT: {
        int64_t number;
        if (ms_parse_i64(text, flag->min, flag->max, &number) != 0) {
            return refuse(parse, "--%s=%.80s: must be a number from %lld to %lld", flag->name, text,
                          (long long)flag->min, (long long)flag->max);
        }
        *(int32_t *)value_of(parse->flags, flag) = (int32_t)number;
        break;
    }
    case MON_FLAG_TEXT: {
        char *copy = strdup(text);
        if (copy == NULL) {
            return refuse(parse, "--%s: out of memory", flag->name);
        }
        char **value = value_of(parse->flags, flag);
        free(*value);
        *value = copy;
        break;
    }
    }
    return 0;
}

static int parse_file(struct parse *parse, const char *path);

/* Flags that every gflags program has. 1: it was one of them. */
static int special(struct parse *parse, const char *name, const char *value)
{
    static const struct {
        const char *name;
        size_t at;
    } switches[] = {
        {"help", offsetof(struct mon_flags, help)},       {"helpfull", offsetof(struct mon_flags, help)},
        {"helpshort", offsetof(struct mon_flags, help)},  {"h", offsetof(struct mon_flags, help)},
        {"version", offsetof(struct mon_flags, version)}, {"help_markdown", offsetof(struct mon_flags, markdown)},
        {"help_man", offsetof(struct mon_flags, man)},
    };
    for (size_t i = 0; i < MS_COUNT_OF(switches); i++) {
        if (same_name(switches[i].name, name)) {
            *(bool *)((char *)parse->flags + switches[i].at) = true;
            return 1;
        }
    }
    if (strcmp(name, "flagfile") == 0) {
        char *list = strdup(value != NULL ? value : "");
        if (list == NULL) {
            return refuse(parse, "--flagfile: out of memory");
        }
        int result = list[0] == '\0' ? refuse(parse, "--flagfile requires a file name") : 1;
        char *rest = list;
        for (char *path; result == 1 && (path = strsep(&rest, ",")) != NULL;) {
            int error = *path != '\0' ? parse_file(parse, path) : 0;
            result = error != 0 ? error : 1;
        }
        free(list);
        return result;
    }
    return 0;
}

static bool takes_value(const char *name)
{
    const struct mon_flag *flag = find(name);
    return strcmp(name, "flagfile") == 0 || (flag != NULL && flag->type != MON_FLAG_BOOL);
}

/* Parses one flag without its dashes. `next` is the next argument or NULL; *used says whether it was the value. */
static int parse_flag(struct parse *parse, const char *argument, const char *next, bool *used)
{
    char name[NAME_MAX_B];
    const char *equals = strchr(argument, '=');
    size_t length = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    *used = false;
    if (length == 0 || length >= sizeof(name)) {
        return refuse(parse, "unknown flag '%.80s' (see --help)", argument);
    }
    memcpy(name, argument, length);
    name[length] = '\0';
    const char *value = equals != NULL ? equals + 1 : NULL;
    const struct mon_flag *flag = find(name);

    bool ignored;
    if (value == NULL && next != NULL &&
        (takes_value(name) || (flag != NULL && (strcasecmp(next, "true") == 0 || strcasecmp(next, "false") == 0) &&
                               parse_bool(next, &ignored) == 0))) {
        value = next;
        *used = true;
    }
    int result = special(parse, name, value);
    if (result != 0) {
        return result > 0 ? 0 : result;
    }
    if (flag == NULL && value == NULL && strncmp(name, "no", 2) == 0) {
        const struct mon_flag *negated = find(name + 2);
        if (negated != NULL && negated->type == MON_FLAG_BOOL) {
            return set(parse, negated, "false");
        }
    }
    if (flag == NULL) {
        return unknown(parse, name);
    }
    if (value == NULL && flag->type != MON_FLAG_BOOL) {
        return refuse(parse, "--%s requires a value", flag->name);
    }
    return set(parse, flag, value != NULL ? value : "true");
}

/* Whether one of the patterns in the line matches the program name. */
static bool section_matches(char *line, const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *base = slash != NULL ? slash + 1 : program;
    for (char *pattern; (pattern = strsep(&line, " \t")) != NULL;) {
        if (*pattern != '\0' && (fnmatch(pattern, base, 0) == 0 || fnmatch(pattern, program, FNM_PATHNAME) == 0)) {
            return true;
        }
    }
    return false;
}

static char *trim(char *line)
{
    while (isspace((unsigned char)*line)) {
        line++;
    }
    for (size_t n = strlen(line); n > 0 && isspace((unsigned char)line[n - 1]); n--) {
        line[n - 1] = '\0';
    }
    return line;
}

/* Parses the lines of a flag file; modifies the text. */
static int parse_lines(struct parse *parse, char *text)
{
    bool ours = true, in_patterns = false;
    for (char *rest = text, *raw; (raw = strsep(&rest, "\n")) != NULL;) {
        char *line = trim(raw);
        if (*line == '\0' || *line == '#') {
            continue;
        }
        if (*line != '-') { /* consecutive lines of patterns are one list */
            bool matches = section_matches(line, parse->program);
            ours = in_patterns ? ours || matches : matches;
            in_patterns = true;
            continue;
        }
        in_patterns = false;
        if (!ours) {
            continue;
        }
        line += line[1] == '-' ? 2 : 1;
        char *value = NULL;
        char *blank = line + strcspn(line, "= \t");
        if (isspace((unsigned char)*blank)) { /* "--flag value" */
            *blank = '\0';
            value = trim(blank + 1);
        }
        bool used;
        int result = parse_flag(parse, line, value, &used);
        if (result == 0 && value != NULL && !used) {
            result = refuse(parse, "--%s does not take the value '%.80s' after a blank", line, value);
        }
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

static int parse_file(struct parse *parse, const char *path)
{
    if (parse->depth >= FILE_DEPTH) {
        return refuse(parse, "flag file '%.200s': more than %d nested files", path, FILE_DEPTH);
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return refuse(parse, "flag file '%.200s': %s", path, strerror(errno));
    }
    char *text = malloc(FILE_MAX_B + 1);
    size_t used = text != NULL ? fread(text, 1, FILE_MAX_B + 1, file) : 0;
    bool failed = text == NULL || ferror(file) != 0;
    fclose(file);
    int result;
    if (failed) {
        result = refuse(parse, "cannot read flag file '%.200s'", path);
    } else if (used > FILE_MAX_B || memchr(text, '\0', used) != NULL) {
        result = refuse(parse, "'%.200s' is not a flag file: it must be a text of at most 1 MiB", path);
    } else {
        text[used] = '\0';
        parse->depth++;
        result = parse_lines(parse, text);
        parse->depth--;
        if (result != 0 && strncmp(parse->error, "flag file", 9) != 0) { /* name only the innermost file */
            char inner[256];
            snprintf(inner, sizeof(inner), "%s", parse->error);
            refuse(parse, "flag file '%.200s': %s", path, inner);
        }
    }
    free(text);
    return result;
}

int mon_flags_parse(struct mon_flags *flags, int argc, char *const *argv, struct mon_flag_notes *notes, char *error,
                    size_t error_b)
{
    struct parse parse = {flags, notes, argc > 0 ? argv[0] : "dynolog", error, error_b, 0};
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (strcmp(argument, "--") == 0) {
            break;
        }
        if (argument[0] != '-' || argument[1] == '\0') {
            note(&parse, "ignoring argument '%.80s': flags start with --", argument);
            continue;
        }
        bool used;
        int result =
            parse_flag(&parse, argument + (argument[1] == '-' ? 2 : 1), i + 1 < argc ? argv[i + 1] : NULL, &used);
        if (result != 0) {
            return result;
        }
        i += used;
    }
    return 0;
}

int mon_flags_parse_text(struct mon_flags *flags, const char *program, const char *text, size_t text_b,
                         struct mon_flag_notes *notes, char *error, size_t error_b)
{
    struct parse parse = {flags, notes, program, error, error_b, 0};
    char *copy = strndup(text, text_b);
    if (copy == NULL) {
        return refuse(&parse, "out of memory");
    }
    int result = parse_lines(&parse, copy);
    free(copy);
    return result;
}
