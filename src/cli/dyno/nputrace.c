/* SPDX-License-Identifier: Apache-2.0 */
/* dyno nputrace: detailed traces of some steps of NPU jobs. */
#include "cli/dyno/cli.h"

#include <string.h>

static enum dyno_exit check(struct dyno_run *run)
{
    if (run->cluster && run->hosts.count > 1 && strcmp(dyno_value(run, "start-step"), "-1") == 0) {
        fputs("WARNING: --start-step -1 starts at a different step on each node; give a future step so that all "
              "nodes trace the same steps\n",
              stderr);
    }
    return dyno_check_log_dir(run);
}

static void report(const struct dyno_run *run, const json_t *answer)
{
    dyno_report_matches(run, answer, false);
}

/* Clients before 8.2 do not report, so delivery is all that is known. */
static bool done(const struct dyno_run *run, const json_t *process, const char *stage)
{
    const char *client = json_string_value(json_object_get(process, "client"));
    (void)run;
    return strcmp(stage, "completed") == 0 || strcmp(stage, "cancelled") == 0 ||
           (client != NULL && strcmp(client, "npu") == 0 && strcmp(stage, "delivered") == 0);
}

/* The trace must have been active: right after the command, the state is still the previous one. */
static bool state_done(const struct dyno_run *run, const char *state, bool was_active)
{
    (void)run;
    return was_active && strcmp(state, "Running") != 0 && strcmp(state, "Ready") != 0;
}

static const struct dyno_column columns[] = {
    {"STATUS", "commandStatus"}, {"MATCHED", "processesMatched"}, {"TRIGGERED", "activityProfilersTriggered"}};

const struct dyno_command dyno_nputrace = {
    .name = "nputrace",
    .summary = "collect a detailed trace of some steps of NPU jobs",
    .details = "Training processes collect --iterations steps from --start-step on and write their results to\n"
               "--log-file. Stop npu-monitor first: both use the same part of the device.",
    .example = "dyno nputrace --start-step 10 --iterations 2 --activities CPU,NPU --analyse \\\n"
               "    --data-simplification false --log-file /tmp/profile_data",
    .config = &mon_config_nputrace,
    .columns = columns,
    .column_count = MS_COUNT_OF(columns),
    .check = check,
    .request = dyno_on_demand_request,
    .judge = dyno_on_demand_judge,
    .report = report,
    .done = done,
    .state_key = "nputrace",
    .state_done = state_done,
};
