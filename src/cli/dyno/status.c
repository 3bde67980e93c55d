/* SPDX-License-Identifier: Apache-2.0 */
/* dyno status: shows what the jobs of a node are doing. */
#include "cli/dyno/cli.h"

static void request(const struct dyno_run *run, const char *host, struct ms_buffer *out)
{
    (void)run;
    (void)host;
    MS_BUFFER_TEXT(out, "{\"fn\":\"getStatus\"}");
}

static enum dyno_exit judge(const struct dyno_run *run, const json_t *answer)
{
    (void)run;
    return json_object_get(answer, "nputrace") != NULL || json_object_get(answer, "status") != NULL ? DYNO_OK
                                                                                                    : DYNO_FAILED;
}

static const struct dyno_column columns[] = {{"NPUTRACE", "nputrace"}, {"NPUMONITOR", "npumonitor"},
                                             {"STEP", "current_step"}, {"START", "start_step"},
                                             {"STOP", "stop_step"},    {"JOBS", "jobs"}};

const struct dyno_command dyno_status = {
    .name = "status",
    .summary = "show what the jobs of a node are doing",
    .details =
        "The first keys describe the most recently active job; `jobs` lists every job, process and rank, and the\n"
        "progress of the last command for each.",
    .example = "dyno status\ndyno --json status\ndyno --hosts 'n[01-64]' status",
    .columns = columns,
    .column_count = MS_COUNT_OF(columns),
    .request = request,
    .judge = judge,
};
