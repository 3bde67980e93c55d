/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope --compare: two recordings or dumps, or two steps of one. Exit status 0; 1 if memory
 * grew by more than --fail-above, or an input was read only partially; 2 if there is nothing to compare. */
#include "memscope/analyze/compare.h"
#include "base/parse.h"
#include "cli/msmemscope/inputs.h"
#include "cli/msmemscope/recordings.h"
#include "memscope/options/options.h"
#include "memscope/recording/project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_ABOVE = 1, EXIT_PARTIAL = 1, EXIT_FAILED = 2 };

struct compare_reading {
    struct ms_compare *compare;
    struct ms_source *source;
    int side;
};

static int begin_model(void *argument, uint32_t pid, struct ms_model *model)
{
    struct compare_reading *reading = argument;
    (void)pid;
    return ms_compare_begin(reading->compare, reading->side, model, ms_source_stacks(reading->source));
}

static int read_side(struct ms_compare *compare, int side, const char *path, bool legacy, bool *partial)
{
    struct compare_reading reading = {.compare = compare, .side = side};
    int rc = input_open(path, false, &reading.source);
    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; rc == 0 && i < ms_source_count(reading.source); i++) {
        if (legacy) {
            struct ms_consumer rows = ms_compare_legacy_rows(compare, side);
            rc = ms_source_rows(reading.source, i, MS_ORDER_TIME, &rows);
        } else {
            struct ms_source_listener listener = {.argument = &reading, .begin = begin_model};
            struct ms_model_options options;
            ms_compare_model_options(&options);
            rc = ms_source_feed(reading.source, i, &options, &listener);
        }
    }
    *partial = input_close(reading.source, path) || *partial;
    return rc;
}

/* ---- files ---- */

static int make_directories(const char *path)
{
    char part[MS_PATH_MAX_B + 16];
    snprintf(part, sizeof(part), "%s", path);
    for (char *slash = part + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(part, 0750);
        *slash = '/';
    }
    return mkdir(part, 0750) == 0 || errno == EEXIST ? 0 : -errno;
}

static int write_file(const struct ms_compare *compare, const char *directory, const char *stem, const char *when,
                      int (*write_to)(const struct ms_compare *compare, int fd))
{
    char path[MS_PATH_MAX_B + 128];
    int fd = -1;
    for (int i = 0; fd < 0 && i < 1000; i++) { /* never overwrites a file */
        char number[16] = "";
        if (i != 0) {
            snprintf(number, sizeof(number), "_%d", i);
        }
        snprintf(path, sizeof(path), "%s/%s_%s%s.csv", directory, stem, when, number);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST) {
            break;
        }
    }
    int rc = fd >= 0 ? write_to(compare, fd) : -errno;
    if (fd >= 0) {
        close(fd);
    }
    if (rc != 0) {
        fprintf(stderr, "[msmemscope] Error: open file %s failed: %s.\n", path, strerror(-rc));
    } else {
        printf("[msmemscope] Info: create file %s.\n", path);
    }
    return rc;
}

static int write_files(const struct ms_compare *compare, const struct ms_settings *settings)
{
    char directory[MS_PATH_MAX_B + 16], when[16];
    snprintf(directory, sizeof(directory), "%s/compare", settings->output);
    ms_time_text(time(NULL), when);
    int rc = make_directories(directory);
    if (rc != 0) {
        fprintf(stderr, "[msmemscope] Error: cannot use %s: %s.\n", directory, strerror(-rc));
        return rc;
    }
    rc = write_file(compare, directory, "memory_compare", when, ms_compare_write);
    if (rc == 0 && !settings->compare_legacy) {
        rc = write_file(compare, directory, "compare_items", when, ms_compare_write_items);
    }
    return rc;
}

/* ---- the command ---- */

static int fail(const char *why)
{
    if (why[0] != '\0') {
        fprintf(stderr, "msmemscope: %s\n", why);
    }
    fputs("[msmemscope] ERROR: Memory comparison failed!\n", stderr);
    return EXIT_FAILED;
}

static int judge(const struct ms_compare *compare, const struct ms_settings *settings)
{
    struct ms_compare_result result;
    ms_compare_result(compare, &result);
    if (!settings->fail_above || result.growth_b <= 0 || (uint64_t)result.growth_b <= settings->fail_above_b) {
        return 0;
    }
    char growth[16], limit[16];
    ms_format_size((uint64_t)result.growth_b, growth);
    ms_format_size(settings->fail_above_b, limit);
    fprintf(stderr, "[msmemscope] Error: memory grew by %s, more than %s (--fail-above).\n", growth, limit);
    return EXIT_ABOVE;
}

static void say(const char *line)
{
    fprintf(stderr, "%s\n", line);
}

int cmd_compare(int argc, char **argv)
{
    static struct ms_settings settings;
    struct ms_why why;
    int program;
    ms_settings_init(&settings);
    if (ms_options_parse(argc - 1, argv + 1, &settings, &program, &why, say) != MS_OPTIONS_RUN || !settings.compare) {
        fprintf(stderr, "%s\n", why.error);
        return EXIT_FAILED;
    }
    const char *paths[] = {settings.inputs[0], settings.input_count == 2 ? settings.inputs[1] : settings.inputs[0]};
    uint32_t levels = ms_settings_levels(&settings);
    struct ms_compare_options options = {
        .legacy = settings.compare_legacy, .levels = levels, .names = {paths[0], paths[1]}};
    if (settings.step_count > 2 || (settings.compare_legacy && settings.step_count != 0)) {
        return fail(settings.compare_legacy ? "--compare-legacy cannot compare steps."
                                            : "--steps: name one step of both, or one step of each.");
    }
    if (settings.step_count != 0) {
        options.steps[0] = settings.steps[0];
        options.steps[1] = settings.steps[settings.step_count - 1];
    }
    struct ms_compare *compare;
    bool partial = false;
    int rc = ms_compare_new(&options, &compare);
    if (rc != 0) {
        return fail(strerror(-rc));
    }
    for (int side = 0; rc == 0 && side < MS_COMPARE_SIDES; side++) {
        rc = read_side(compare, side, paths[side], settings.compare_legacy, &partial);
    }
    rc = rc != 0 ? rc : ms_compare_finish(compare);
    rc = rc != 0 ? rc : write_files(compare, &settings);
    int status;
    if (rc == 0) {
        ms_compare_print(compare, stdout);
        status = judge(compare, &settings);
        status = partial ? EXIT_PARTIAL : status;
    } else {
        const char *reason = ms_compare_error(compare);
        status = fail(reason[0] != '\0' ? reason : rc == -EPROTO || rc == -ENOENT ? "" : strerror(-rc));
    }
    ms_compare_free(compare);
    return status;
}
