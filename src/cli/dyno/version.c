/* SPDX-License-Identifier: Apache-2.0 */
/* dyno version: shows the protocol version of a daemon. */
#include "cli/dyno/cli.h"

static void request(const struct dyno_run *run, const char *host, struct ms_buffer *out)
{
    (void)run;
    (void)host;
    MS_BUFFER_TEXT(out, "{\"fn\":\"getVersion\"}");
}

static enum dyno_exit judge(const struct dyno_run *run, const json_t *answer)
{
    (void)run;
    return json_object_get(answer, "version") != NULL ? DYNO_OK : DYNO_FAILED;
}

static const struct dyno_column columns[] = {{"VERSION", "version"}};

const struct dyno_command dyno_version = {
    .name = "version",
    .summary = "show the version that the daemon reports",
    .details =
        "This is the version of dynolog whose protocol the daemon implements. `dyno --version` prints the version of "
        "dyno itself.",
    .example = "dyno version",
    .columns = columns,
    .column_count = MS_COUNT_OF(columns),
    .request = request,
    .judge = judge,
};
