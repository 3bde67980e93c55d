/* SPDX-License-Identifier: Apache-2.0 */
/* dyno cancel: take back a command that no process has fetched yet. Known to our daemon only. */
#include "cli/dyno/cli.h"

#include <string.h>

static const struct mon_option options[] = {
    {.name = "job-id",
     .argument = "ID",
     .fallback = "0",
     .check = mon_option_u64,
     .min = 0,
     .max = INT64_MAX,
     .help = "job whose processes are meant; 0: those that registered without one"},
    {.name = "pids",
     .argument = "LIST",
     .fallback = "0",
     .check = mon_option_numbers,
     .min = 0,
     .max = INT32_MAX,
     .help = "comma list of pids, of processes or of their ancestors; 0: all of the job"},
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
    .summary = "take back a command that has not reached its processes yet",
    .details = "What a process has already fetched runs to its end.",
    .example = "dyno cancel --job-id 4711",
    .own = options,
    .own_count = MS_COUNT_OF(options),
    .columns = columns,
    .column_count = MS_COUNT_OF(columns),
    .request = request,
    .judge = dyno_on_demand_judge,
};
