/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that send a configuration to processes: the request, the evaluation of the answer, and the lines after it.
 * The request has the layout of msMonitor's command line, but with texts escaped. */
#include "cli/dyno/cli.h"

#include "monitor/wire/paths.h"

#include <stdlib.h>
#include <string.h>

/* Appends text with every `from` replaced. */
static void replace(struct ms_buffer *out, const char *text, const char *from, const char *to)
{
    for (const char *hit; (hit = strstr(text, from)) != NULL; text = hit + strlen(from)) {
        ms_buffer_add(out, text, (size_t)(hit - text));
        ms_buffer_add(out, to, strlen(to));
    }
    ms_buffer_add(out, text, strlen(text));
}

/* The configuration for one host; NULL: leave %h as it is. */
void dyno_config(const struct dyno_run *run, const char *host, struct ms_buffer *out)
{
    struct mon_option_values values = run->local;
    const struct mon_option *options = dyno_options(run->command);
    const struct mon_option *file =
        mon_option_find(options, dyno_option_count(run->command), "log-file", strlen("log-file"));
    struct ms_buffer path = {0};
    if (host != NULL && file != NULL && values.value[file - options] != NULL) {
        replace(&path, values.value[file - options], "%h", host);
        ms_buffer_char(&path, '\0');
        values.value[file - options] = path.failed ? values.value[file - options] : path.s;
    }
    mon_config_write(run->command->config, &values, out);
    ms_buffer_free(&path);
}

static void add_line(struct ms_buffer *out, const char *key, const char *before, const char *value, const char *after)
{
    const char *const parts[] = {",\n    \"", key, "\": ", before, value, after};
    for (size_t i = 0; i < MS_COUNT_OF(parts); i++) {
        ms_buffer_add(out, parts[i], strlen(parts[i]));
    }
}

void dyno_on_demand_request(const struct dyno_run *run, const char *host, struct ms_buffer *out)
{
    struct ms_buffer config = {0};
    dyno_config(run, host, &config);
    MS_BUFFER_TEXT(out, "\n{\n    \"fn\": \"setKinetOnDemandRequest\",\n    \"config\": \"");
    ms_buffer_json(out, config.s, config.used);
    MS_BUFFER_TEXT(out, "\"");
    add_line(out, "job_id", "", dyno_value(run, "job-id"), "");
    add_line(out, "pids", "[", dyno_value(run, "pids"), "]");
    add_line(out, "process_limit", "", dyno_value(run, "process-limit"), "");
    MS_BUFFER_TEXT(out, "\n}");
    ms_buffer_free(&config);
}

enum dyno_exit dyno_on_demand_judge(const struct dyno_run *run, const json_t *answer)
{
    const char *command = json_string_value(json_object_get(answer, "commandStatus"));
    const json_t *matched = json_object_get(answer, "processesMatched");
    (void)run;
    if (command != NULL) {
        return strcmp(command, "effective") == 0     ? DYNO_OK
               : strcmp(command, "ineffective") == 0 ? DYNO_INEFFECTIVE
                                                     : DYNO_UNDECIDED;
    }
    if (!json_is_array(matched)) {
        return DYNO_FAILED; /* {"status":"failed"...}, or an unrelated answer */
    }
    return json_array_size(matched) > 0 ? DYNO_OK : DYNO_INEFFECTIVE;
}

void dyno_report_matches(const struct dyno_run *run, const json_t *answer, bool memory)
{
    const json_t *matched = json_object_get(answer, "processesMatched");
    if (!json_is_array(matched)) {
        return;
    }
    if (json_array_size(matched) == 0) {
        puts("No processes were matched, please check --job-id or --pids flags");
        return;
    }
    printf("Matched %zu processes\nTrace output files will be written to:\n", json_array_size(matched));
    struct ms_buffer host_file = {0};
    replace(&host_file, dyno_value(run, "log-file"), "%h", run->hosts.list[0].name);
    ms_buffer_char(&host_file, '\0');
    for (size_t i = 0; i < json_array_size(matched); i++) {
        struct ms_buffer file = {0};
        char suffix[40];
        long long pid = json_integer_value(json_array_get(matched, i));
        snprintf(suffix, sizeof(suffix), "_%lld.json", pid);
        replace(&file, host_file.s, ".json", suffix);
        printf("    %.*s\n", (int)file.used, file.s);
        if (memory) {
            printf("      Or /tmp/memory_snapshot_%lld.pickle\n", pid);
        }
        ms_buffer_free(&file);
    }
    ms_buffer_free(&host_file);
    if (memory) {
        puts("Exporting a memory snapshot can take 4 to 5 minutes.");
    }
}

/* A relative directory is relative to ours: jobs have other working directories. */
enum dyno_exit dyno_check_log_dir(struct dyno_run *run)
{
    const char *dir = dyno_value(run, "log-file");
    struct mon_say say = {dyno_say, run};
    char clean[MON_PATH_MAX_B + 1];
    if (mon_path_check(dir, MON_PATH_OUTPUT, &say) != 0) {
        fputs("Error: CliError(\"--log-file must be a valid directory!\")\n", stderr);
        return DYNO_FAILED;
    }
    if (dir[0] != '/' && mon_path_clean(dir, clean) == 0) {
        dyno_set_value(run, "log-file", clean);
    }
    return DYNO_OK;
}
