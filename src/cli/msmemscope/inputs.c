/* SPDX-License-Identifier: Apache-2.0 */
/* See inputs.h. */
#include "cli/msmemscope/inputs.h"

#include "cli/msmemscope/recordings.h"

#include <stdio.h>

static void print_problem(void *argument, const struct ms_problem *problem)
{
    (void)argument;
    progress_end();
    fprintf(stderr, "msmemscope: %s:", problem->file);
    if (problem->line != 0) {
        fprintf(stderr, "%llu:", (unsigned long long)problem->line);
    } else if (problem->offset != 0) {
        fprintf(stderr, "%s %llu:", problem->lost ? "at" : "from", (unsigned long long)problem->offset);
    }
    fprintf(stderr, " %s\n", problem->reason);
}

static void show_progress(void *argument, uint64_t bytes_read, uint64_t bytes_total)
{
    (void)argument;
    progress_show("reading", bytes_read, bytes_total);
}

int input_open(const char *path, bool dumps, struct ms_source **out)
{
    struct ms_source_options options = {.dumps = dumps, .problem = print_problem, .progress = show_progress};
    return ms_source_open(path, &options, out);
}

bool input_close(struct ms_source *source, const char *path)
{
    struct ms_source_stats stats;
    ms_source_stats(source, &stats);
    progress_end();
    if (stats.partial) {
        char left_out[48] = "";
        if (stats.bad_rows != 0) {
            snprintf(left_out, sizeof(left_out), " (%llu rows left out)", (unsigned long long)stats.bad_rows);
        }
        fprintf(stderr, "[msmemscope] Warn: %s could not be read completely%s; the result is partial.\n", path,
                left_out);
    }
    if (stats.unknown_rows != 0) {
        fprintf(stderr, "[msmemscope] Warn: %s has %llu rows of unknown kinds.\n", path,
                (unsigned long long)stats.unknown_rows);
    }
    ms_source_close(source);
    return stats.partial;
}
