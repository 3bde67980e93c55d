/* SPDX-License-Identifier: Apache-2.0 */
/* dyno dcgm-pause, dcgm-resume: for daemons that profile GPUs with DCGM. npuscope's daemon answers that it does not. */
#include "cli/dyno/cli.h"

#include <string.h>

static const struct mon_option pause_options[] = {
    {.name = "duration-s",
     .argument = "S",
     .fallback = "300",
     .check = mon_option_i64,
     .min = INT32_MIN,
     .max = INT32_MAX,
     .help = "seconds after which profiling resumes automatically"},
};

static void pause_request(const struct dyno_run *run, const char *host, struct ms_buffer *out)
{
    const char *duration = dyno_value(run, "duration-s");
    (void)host;
    MS_BUFFER_TEXT(out, "{\"fn\":\"dcgmProfPause\",\"duration_s\":");
    ms_buffer_add(out, duration, strlen(duration));
    MS_BUFFER_TEXT(out, "}");
}

static void resume_request(const struct dyno_run *run, const char *host, struct ms_buffer *out)
{
    (void)run;
    (void)host;
    MS_BUFFER_TEXT(out, "{\"fn\":\"dcgmProfResume\"}");
}

static enum dyno_exit judge(const struct dyno_run *run, const json_t *answer)
{
    const json_t *status = json_object_get(answer, "status");
    (void)run;
    return json_is_true(status) ? DYNO_OK : json_is_false(status) ? DYNO_INEFFECTIVE : DYNO_FAILED;
}

static const struct dyno_column columns[] = {{"STATUS", "status"}};

const struct dyno_command dyno_dcgm_pause = {
    .name = "dcgm-pause",
    .summary = "pause DCGM profiling, so that other profilers can use the GPUs",
    .details = "Only upstream's daemon on machines with GPUs profiles with DCGM; others answer false.",
    .example = "dyno dcgm-pause --duration-s 600",
    .own = pause_options,
    .own_count = MS_COUNT_OF(pause_options),
    .upstream = true,
    .columns = columns,
    .column_count = MS_COUNT_OF(columns),
    .request = pause_request,
    .judge = judge,
};

const struct dyno_command dyno_dcgm_resume = {
    .name = "dcgm-resume",
    .summary = "resume DCGM profiling",
    .details = "Only upstream's daemon on machines with GPUs profiles with DCGM; others answer false.",
    .example = "dyno dcgm-resume",
    .upstream = true,
    .columns = columns,
    .column_count = MS_COUNT_OF(columns),
    .request = resume_request,
    .judge = judge,
};
