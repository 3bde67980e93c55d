/* SPDX-License-Identifier: Apache-2.0 */
/* dyno npu-monitor: lightweight monitoring of operators of NPU jobs. */
#include "cli/dyno/cli.h"

#include <string.h>

static enum dyno_exit check(struct dyno_run *run)
{
    return dyno_value(run, "log-file")[0] != '\0' ? dyno_check_log_dir(run) : DYNO_OK;
}

/* A start is done when monitoring is running, a stop when it is not, a change of settings when it was delivered. */
static bool done(const struct dyno_run *run, const json_t *process, const char *stage)
{
    const char *state = json_string_value(json_object_get(process, "npumonitor"));
    const char *client = json_string_value(json_object_get(process, "client"));
    if (strcmp(stage, "pending") == 0 || state == NULL) {
        return false;
    }
    if (client != NULL && strcmp(client, "npu") == 0) {
        return true; /* clients before 8.2 do not report */
    }
    if (dyno_switch(run, "npu-monitor-stop")) {
        return strcmp(state, "Running") != 0;
    }
    return !dyno_switch(run, "npu-monitor-start") || strcmp(state, "Running") == 0 || strcmp(stage, "completed") == 0;
}

static bool state_done(const struct dyno_run *run, const char *state, bool was_active)
{
    (void)was_active;
    return (strcmp(state, "Running") == 0) != dyno_switch(run, "npu-monitor-stop");
}

static const struct dyno_column columns[] = {
    {"STATUS", "commandStatus"}, {"MATCHED", "processesMatched"}, {"TRIGGERED", "activityProfilersTriggered"}};

const struct dyno_command dyno_npu_monitor = {
    .name = "npu-monitor",
    .summary = "monitor operator durations of NPU jobs at low cost",
    .details = "Starts or stops monitoring, or changes its settings if neither is given. Every call sends all "
               "settings: omitted\noptions are reset to their defaults.",
    .example = "dyno npu-monitor --npu-monitor-start --report-interval-s 30 --mspti-activity-kind Kernel\n"
               "dyno npu-monitor --npu-monitor-stop",
    .config = &mon_config_npu_monitor,
    .columns = columns,
    .column_count = MS_COUNT_OF(columns),
    .check = check,
    .request = dyno_on_demand_request,
    .judge = dyno_on_demand_judge,
    .done = done,
    .state_key = "npumonitor",
    .state_done = state_done,
};
