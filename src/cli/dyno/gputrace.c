/* SPDX-License-Identifier: Apache-2.0 */
/* dyno gputrace: traces of PyTorch jobs with libkineto. */
#include "cli/dyno/cli.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* Nodes start at a common time, late enough for the slowest node to have polled and warmed up. */
static enum dyno_exit check(struct dyno_run *run)
{
    const char *job = dyno_global(run, "slurm-job");
    if (job != NULL && strcmp(dyno_value(run, "job-id"), "0") == 0) {
        char digits[40];
        snprintf(digits, sizeof(digits), "%.*s", (int)strspn(job, "0123456789"), job);
        dyno_set_value(run, "job-id", digits);
    }
    if (run->cluster && run->hosts.count > 1 && strcmp(dyno_value(run, "profile-start-time"), "0") == 0 &&
        atoll(dyno_value(run, "iterations")) <= 0) {
        char when[24];
        snprintf(when, sizeof(when), "%llu",
                 (unsigned long long)(ms_clock_ns(CLOCK_REALTIME) / 1000000 +
                                      strtoull(dyno_global(run, "start-delay"), NULL, 10) * 1000));
        dyno_set_value(run, "profile-start-time", when);
    }
    return DYNO_OK;
}

/* No match is an error only with upstream's option for it. */
static enum dyno_exit judge(const struct dyno_run *run, const json_t *answer)
{
    const json_t *matched = json_object_get(answer, "processesMatched");
    if (json_is_array(matched) && json_array_size(matched) == 0) {
        return dyno_switch(run, "fail-on-no-process") ? DYNO_FAILED : DYNO_OK;
    }
    return dyno_on_demand_judge(run, answer);
}

static void report(const struct dyno_run *run, const json_t *answer)
{
    dyno_report_matches(run, answer, dyno_switch(run, "profile-memory") && atoll(dyno_value(run, "iterations")) <= 0);
}

static bool done(const struct dyno_run *run, const json_t *process, const char *stage)
{
    (void)run;
    (void)process;
    return strcmp(stage, "completed") == 0 || strcmp(stage, "cancelled") == 0;
}

static const struct dyno_column columns[] = {
    {"STATUS", "commandStatus"}, {"MATCHED", "processesMatched"}, {"TRIGGERED", "activityProfilersTriggered"}};

const struct dyno_command dyno_gputrace = {
    .name = "gputrace",
    .summary = "collect a trace of PyTorch jobs with libkineto (KINETO_USE_DAEMON=1)",
    .details =
        "Traces for a time (--duration-ms) or a number of steps (--iterations). On several nodes, a trace for a time "
        "starts\neverywhere at the same moment, --start-delay seconds from now.",
    .example = "dyno gputrace --duration-ms 500 --log-file /tmp/trace.json\n"
               "dyno --slurm-job 4711 gputrace --process-limit 8 --log-file /shared/trace_%h.json",
    .config = &mon_config_gputrace,
    .upstream = true,
    .columns = columns,
    .column_count = MS_COUNT_OF(columns),
    .check = check,
    .request = dyno_on_demand_request,
    .judge = judge,
    .report = report,
    .done = done,
};
