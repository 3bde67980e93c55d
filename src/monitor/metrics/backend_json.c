/* SPDX-License-Identifier: Apache-2.0 */
/* Records as JSON lines in the log (--use_JSON), two lines each. Rotation is left to the log. */
#include "monitor/metrics/backend_json.h"

#include "monitor/daemon/logger.h"
#include "monitor/metrics/modules.h"
#include "monitor/store/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

static void put_time(uint64_t time_ns, struct ms_buffer *out)
{
    time_t seconds = (time_t)(time_ns / 1000000000u);
    struct tm local;
    char text[48];
    localtime_r(&seconds, &local);
    size_t used = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &local);
    used += (size_t)snprintf(text + used, sizeof(text) - used, ".%03uZ", (unsigned)(time_ns / 1000000u % 1000u));
    ms_buffer_add(out, text, used);
}

static void put_value(const struct mon_record *record, const struct mon_field *field, struct ms_buffer *out)
{
    char number[64];
    switch (field->type) {
    case MON_FIELD_INT:
        ms_buffer_add(out, number, (size_t)snprintf(number, sizeof(number), "%" PRId64, field->i));
        return;
    case MON_FIELD_UINT:
        ms_buffer_u64(out, field->u);
        return;
    case MON_FIELD_FLOAT: { /* at most 20 digits before the point: no measured value is larger */
        double shown = isfinite(field->f) && fabs(field->f) < 1e20 ? field->f : 0;
        ms_buffer_add(out, number, (size_t)snprintf(number, sizeof(number), "\"%.3f\"", shown));
        return;
    }
    case MON_FIELD_TEXT: {
        const char *text = mon_record_string(record, field);
        ms_buffer_char(out, '"');
        ms_buffer_json(out, text, strlen(text));
        ms_buffer_char(out, '"');
        return;
    }
    }
}

size_t mon_json_line(const struct mon_record *record, size_t first, struct ms_buffer *out)
{
    size_t start = out->used, i;
    MS_BUFFER_TEXT(out, "time = ");
    put_time(record->time_ns, out);
    MS_BUFFER_TEXT(out, " data = {");
    for (i = first; i < record->count; i++) {
        const char *key = mon_record_key(record, &record->field[i]);
        size_t before = out->used;
        if (i > first) {
            ms_buffer_char(out, ',');
        }
        ms_buffer_char(out, '"');
        ms_buffer_json(out, key, strlen(key));
        MS_BUFFER_TEXT(out, "\":");
        put_value(record, &record->field[i], out);
        if (out->used - start > MON_JSON_LINE_MAX_B - 1 && i > first) {
            out->used = before;
            break;
        }
    }
    ms_buffer_char(out, '}');
    return i;
}

static struct ms_buffer line;

static void write_record(void *context, const struct mon_record *record)
{
    for (size_t first = 0, next; first < record->count; first = next) {
        line.used = 0;
        next = mon_json_line(record, first, &line);
        if (line.failed || line.used > MON_JSON_LINE_MAX_B) {
            const char *reason = line.failed ? "memory" : "length";
            mon_metric_record(MON_METRIC_BACKEND_DROPPED, MON_LABELS(.sink = "json", .reason = reason), 1);
            ms_buffer_free(&line);
            continue;
        }
        MON_LOG_INFO("Logging : %zu values", next - first);
        MON_LOG_INFO("%.*s", (int)line.used, line.s);
    }
}

static int start(struct mon_daemon *daemon)
{
    if (!daemon->flags.use_JSON) {
        return 0;
    }
    return mon_record_add_backend(
        &(struct mon_record_backend){.name = "json", .write = write_record, .context = &line});
}

static void stop(struct mon_daemon *daemon)
{
    mon_record_remove_backend(&line);
    ms_buffer_free(&line);
}

const struct mon_daemon_module mon_module_json = {.name = "JSON log", .start = start, .stop = stop};
