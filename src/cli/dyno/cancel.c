/* SPDX-License-Identifier: Apache-2.0 */
/* dyno cancel: cancels a command that no process has fetched yet. Only supported by npuscope's daemon. */
#include "cli/dyno/cli.h"

#include <string.h>

static const struct mon_option options[] = {
    {.name = "job-id",
     .argument = "ID",
     .fallback = "0",
     .check = mon_option_u64,
     .min = 0,
     .max = INT64_MAX,
     .help = "job whose commands are cancelled; 0: processes that registered without a job"},
    {.name = "pids",
     .argument = "LIST",
     .fallback = "0",
     .check = mon_option_numbers,
     .min = 0,
     .max = INT32_MAX,
     .help = "comma-separated pids of processes or of their ancestors; 0: all processes of the job"},
};

static void request(const struct dyno_run *run, const char *host, struct ms_buffer *out)
{
    const char *const parts[] = {"{\"fn\":\"cancelOnDemandRequest\",\"job_id\":", dyno_value(run, "job-id"),
                                 ",\"pids\":[", dyno_value(run, "pids"), "]}"};
    (void)host;
    for (size_t i = 0; i < MS_COUNT_OF(parts); i++) {
        ms_buffer_add(out, parts[i], strlen(parts[i]));
    }
}

static const struct dyno_column columns[] = {
    {"STATUS", "commandStatus"}, {"MATCHED", "processesMatched"}, {"CANCELLED", "processesCancelled"}};

const struct dyno_command dyno_cancel = {
    .name = "cancel",
    .summary = "cancel a command that its processes have not fetched yet",
    .details = "A command that a process has already fetched runs to completion.",
    .example = "dyno cancel --job-id 4711",
    .own = options,
    .own_count = MS_COUNT_OF(options),
    .columns = columns,
    .column_count = MS_COUNT_OF(columns),
    .request = request,
    .judge = dyno_on_demand_judge,
};
