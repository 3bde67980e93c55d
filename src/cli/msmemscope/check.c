/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope check: analyses of dumps, also available in the Python package. Exit status 0; 1: leaks were found, a
 * device has too few marks, or rows are missing; 2: wrong usage, or the dump is unusable. */
#include "base/parse.h"
#include "cli/msmemscope/recordings.h"
#include "memscope/analyze/api.h"
#include "memscope/model/columns.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_FOUND = 1, EXIT_WRONG = 2 };

static const char usage[] =
    "usage: msmemscope check leaks FILE --mark TEXT [--start N]\n"
    "       msmemscope check inefficient FILE [--min-size SIZE] [--type LIST] [--idle N]\n\n"
    "FILE is a dump, .csv or .db, written by npuscope or msMemScope.\n\n"
    "leaks: driver memory that was allocated between mark TEXT number N (from 0) and the next one, and was not freed\n"
    "before the one after that. Exits 1 if leaks are found.\n"
    "inefficient: finds blocks that are allocated too early, freed too late, or idle in between, and writes\n"
    "inefficient_type into their rows of FILE. The original file is kept as FILE.orig.\n"
    "  --min-size SIZE   blocks of at least this size (0), such as 512K\n"
    "  --type LIST       " MS_EARLY_ALLOCATION "," MS_LATE_DEALLOCATION "," MS_TEMPORARY_IDLENESS " (all)\n"
    "  --idle N          operators without an access before a block is idle (3000)\n";

static void print_line(void *argument, const char *line)
{
    (void)argument;
    progress_end();
    puts(line);
}

static uint64_t problems;

static void print_problem(void *argument, const char *line)
{
    (void)argument;
    problems++;
    progress_end();
    fprintf(stderr, "msmemscope: %s\n", line);
}

static int show_progress(void *argument, uint64_t done, uint64_t total)
{
    (void)argument;
    progress_show("reading", done, total);
    return 0;
}

struct arguments {
    const char *file, *mark, *start, *min_size, *types, *idle;
};

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "msmemscope check: %s%s%s%s; see msmemscope check --help\n", what, value != NULL ? " '" : "",
            value != NULL ? value : "", value != NULL ? "'" : "");
    return EXIT_WRONG;
}

static bool read_types(const char *text, unsigned *out)
{
    *out = 0;
    while (*text != '\0') {
        size_t length_b = strcspn(text, ",");
        unsigned type = 0;
        for (unsigned i = MS_INEFFICIENT_EARLY; i <= MS_INEFFICIENT_IDLE; i++) {
            const char *name = ms_inefficient_name(i);
            bool same = strlen(name) == length_b && memcmp(name, text, length_b) == 0;
            type = same ? MS_CHECK_TYPE(i) : type;
        }
        if (type == 0) {
            return false;
        }
        *out |= type;
        text += length_b + (text[length_b] == ',');
    }
    return *out != 0;
}

static int fail(const char *why)
{
    progress_end();
    fprintf(stderr, "[msmemscope] Error: %s.\n", why);
    return EXIT_WRONG;
}

/* Warns about missing rows. checked: there were rows to check. */
static bool is_incomplete(const struct arguments *a, uint64_t left_out, bool checked)
{
    if (problems != 0) {
        fprintf(stderr,
                "[msmemscope] Warn: %s could not be read completely (%llu rows left out); the result is partial.\n",
                a->file, (unsigned long long)left_out);
    } else if (!checked) {
        fprintf(stderr, "[msmemscope] Warn: %s has no rows to check.\n", a->file);
    }
    return problems != 0 || !checked;
}

static int check_leaks(const struct arguments *a, const struct ms_analyze_io *io)
{
    char why[MS_ANALYZE_WHY_B];
    struct ms_check_leaks_result result;
    uint64_t start = 0;
    if (a->mark == NULL) {
        return wrong("no mark given (--mark TEXT)", NULL);
    }
    if (a->start != NULL && ms_parse_u64(a->start, 0, UINT64_MAX, &start) != 0) {
        return wrong("--start: not a number:", a->start);
    }
    if (ms_check_leaks(a->file, a->mark, start, io, &result, why, sizeof(why)) != 0) {
        return fail(why);
    }
    progress_end();
    bool incomplete = is_incomplete(a, result.rows_left_out, result.devices + result.skipped != 0);
    return incomplete || result.leaks != 0 || result.skipped != 0 ? EXIT_FOUND : 0;
}

static int check_inefficient(const struct arguments *a, const struct ms_analyze_io *io)
{
    char why[MS_ANALYZE_WHY_B];
    struct ms_check_inefficient_result result;
    uint64_t min_size_b = 0, idle = 3000;
    unsigned types = MS_CHECK_ALL;
    if (a->min_size != NULL && ms_parse_size(a->min_size, &min_size_b) != 0) {
        return wrong("--min-size: not a size:", a->min_size);
    }
    if (a->idle != NULL && ms_parse_u64(a->idle, 1, UINT64_MAX, &idle) != 0) {
        return wrong("--idle: not a number greater than 0:", a->idle);
    }
    if (a->types != NULL && !read_types(a->types, &types)) {
        return wrong("--type: unknown:", a->types);
    }
    if (ms_check_inefficient(a->file, min_size_b, types, idle, io, &result, why, sizeof(why)) != 0) {
        return fail(why);
    }
    progress_end();
    static const char *const names[] = {"allocated early", "freed late", "idle"};
    for (unsigned i = 0; i < 3; i++) {
        if (result.blocks[i] != 0) {
            char size[16];
            ms_format_size(result.bytes[i], size);
            printf("%-16s %llu blocks, %s\n", names[i], (unsigned long long)result.blocks[i], size);
        }
    }
    if (result.kept[0] != '\0') {
        printf("%llu rows changed; the original file is %s\n", (unsigned long long)result.rows_changed, result.kept);
    } else {
        puts("no row changed");
    }
    return is_incomplete(a, result.rows_left_out, result.rows != 0) ? EXIT_FOUND : 0;
}

int cmd_check(int argc, char **argv)
{
    struct arguments a = {0};
    const struct {
        const char *name;
        const char **value;
    } options[] = {{"--mark", &a.mark},
                   {"--start", &a.start},
                   {"--min-size", &a.min_size},
                   {"--type", &a.types},
                   {"--idle", &a.idle}};
    const char *what = argc > 2 ? argv[2] : "";
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        }
    }
    for (int i = 3; i < argc; i++) {
        bool known = false;
        for (size_t j = 0; j < sizeof(options) / sizeof(options[0]) && !known; j++) {
            size_t name_b = strlen(options[j].name);
            if (strcmp(argv[i], options[j].name) == 0 && i + 1 < argc) {
                *options[j].value = argv[++i];
                known = true;
            } else if (strncmp(argv[i], options[j].name, name_b) == 0 && argv[i][name_b] == '=') {
                *options[j].value = argv[i] + name_b + 1;
                known = true;
            }
        }
        if (!known && argv[i][0] != '-' && a.file == NULL) {
            a.file = argv[i];
        } else if (!known) {
            return wrong("unexpected", argv[i]);
        }
    }
    if (a.file == NULL) {
        return wrong("no file given", NULL);
    }
    struct ms_analyze_io io = {
        .sz = sizeof(io), .line = print_line, .problem = print_problem, .progress = show_progress};
    if (strcmp(what, "leaks") == 0) {
        return check_leaks(&a, &io);
    }
    return strcmp(what, "inefficient") == 0 ? check_inefficient(&a, &io) : wrong("unknown check", what);
}
