/* SPDX-License-Identifier: Apache-2.0 */
/* The results of several hosts, one line each, and a summary line. */
#include "cli/dyno/cli.h"

#include <stdlib.h>
#include <string.h>

#define CELL_B 64

/* Formats a value of an answer; arrays as the number of their elements. */
static void cell(const json_t *value, char out[CELL_B])
{
    if (json_is_string(value)) {
        snprintf(out, CELL_B, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        snprintf(out, CELL_B, "%lld", (long long)json_integer_value(value));
    } else if (json_is_array(value)) {
        snprintf(out, CELL_B, "%zu", json_array_size(value));
    } else if (json_is_boolean(value)) {
        snprintf(out, CELL_B, "%s", json_is_true(value) ? "true" : "false");
    } else {
        snprintf(out, CELL_B, "-");
    }
}

static void host_cell(const struct dyno_host *host, char out[DYNO_HOST_MAX_B + 16])
{
    const char *format = host->port == 0 ? "%s" : strchr(host->name, ':') != NULL ? "[%s]:%u" : "%s:%u";
    snprintf(out, DYNO_HOST_MAX_B + 16, format, host->name, host->port);
}

void dyno_print_table(const struct dyno_run *run, const struct dyno_result *results)
{
    const struct dyno_command *command = run->command;
    size_t widths[16], host_width = strlen("HOST"), succeeded = 0;
    char text[CELL_B], host[DYNO_HOST_MAX_B + 16];
    for (size_t c = 0; c < command->column_count; c++) {
        widths[c] = strlen(command->columns[c].title);
    }
    for (size_t i = 0; i < run->hosts.count; i++) {
        host_cell(results[i].host, host);
        host_width = strlen(host) > host_width ? strlen(host) : host_width;
        for (size_t c = 0; c < command->column_count; c++) {
            cell(json_object_get(results[i].json, command->columns[c].key), text);
            widths[c] = strlen(text) > widths[c] ? strlen(text) : widths[c];
        }
    }
    printf("%-*s  %-11s", (int)host_width, "HOST", "RESULT");
    for (size_t c = 0; c < command->column_count; c++) {
        printf("  %-*s", (int)widths[c], command->columns[c].title);
    }
    puts("  DETAIL");
    for (size_t i = 0; i < run->hosts.count; i++) {
        const struct dyno_result *result = &results[i];
        host_cell(result->host, host);
        printf("%-*s  %-11s", (int)host_width, host, dyno_exit_word(result->status));
        for (size_t c = 0; c < command->column_count; c++) {
            cell(json_object_get(result->json, command->columns[c].key), text);
            printf("  %-*s", (int)widths[c], text);
        }
        printf("  %s\n", result->why[0] != '\0' ? result->why : result->waited[0] != '\0' ? result->waited : "-");
        succeeded += result->status == DYNO_OK;
    }
    printf("%zu of %zu hosts succeeded\n", succeeded, run->hosts.count);
}
