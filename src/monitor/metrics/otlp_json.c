/* SPDX-License-Identifier: Apache-2.0 */
/* See otlp_json.h. In this encoding, 64-bit integers are strings. Counters and histograms are cumulative since the
 * start of the daemon. */
#include "monitor/metrics/otlp_json.h"

#include "monitor/metrics/text_format.h"
#include "monitor/store/series.h"

#include <errno.h>

#define CUMULATIVE "\"aggregationTemporality\":2"

static void put(struct ms_buffer *out, const char *s)
{
    ms_buffer_add(out, s, strlen(s));
}

static void put_text(struct ms_buffer *out, const char *s)
{
    ms_buffer_char(out, '"');
    ms_buffer_json(out, s, strlen(s));
    ms_buffer_char(out, '"');
}

static void put_u64(struct ms_buffer *out, uint64_t value)
{
    ms_buffer_char(out, '"');
    ms_buffer_u64(out, value);
    ms_buffer_char(out, '"');
}

static void put_attribute(struct ms_buffer *out, const char *key, const char *value)
{
    MS_BUFFER_TEXT(out, "{\"key\":");
    put_text(out, key);
    MS_BUFFER_TEXT(out, ",\"value\":{\"stringValue\":");
    put_text(out, value);
    MS_BUFFER_TEXT(out, "}}");
}

static void put_point(struct ms_buffer *out, const struct mon_series *series, uint64_t now_ns)
{
    const struct mon_metric_info *info = &mon_metric_info[series->metric];
    bool first = true;
    MS_BUFFER_TEXT(out, "{\"attributes\":[");
    for (unsigned i = 0; i < MON_LABEL_COUNT; i++) {
        const char *value = mon_series_label(series, (enum mon_label)i);
        if (value[0] != '\0') { /* empty labels are omitted, as in Prometheus */
            if (!first) {
                ms_buffer_char(out, ',');
            }
            put_attribute(out, mon_label_info[i].name, value);
            first = false;
        }
    }
    MS_BUFFER_TEXT(out, "],\"timeUnixNano\":");
    put_u64(out, now_ns);
    if (info->type != MON_GAUGE) {
        MS_BUFFER_TEXT(out, ",\"startTimeUnixNano\":");
        put_u64(out, mon_metrics_start_ns());
    }
    if (series->histogram == NULL) {
        MS_BUFFER_TEXT(out, ",\"asDouble\":");
        mon_text_number(out, series->value);
        ms_buffer_char(out, '}');
        return;
    }
    MS_BUFFER_TEXT(out, ",\"count\":");
    put_u64(out, series->histogram->count);
    MS_BUFFER_TEXT(out, ",\"sum\":");
    mon_text_number(out, series->histogram->sum);
    MS_BUFFER_TEXT(out, ",\"bucketCounts\":[");
    for (size_t i = 0; i <= MON_HISTOGRAM_BOUNDS; i++) {
        put(out, i > 0 ? "," : "");
        put_u64(out, series->histogram->bucket[i]);
    }
    MS_BUFFER_TEXT(out, "],\"explicitBounds\":[");
    for (size_t i = 0; i < MON_HISTOGRAM_BOUNDS; i++) {
        put(out, i > 0 ? "," : "");
        mon_text_number(out, mon_histogram_bound(i));
    }
    MS_BUFFER_TEXT(out, "]}");
}

static void begin_request(struct ms_buffer *out, const struct mon_otlp_source *source)
{
    MS_BUFFER_TEXT(out, "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[");
    put_attribute(out, "service.name", source->service);
    ms_buffer_char(out, ',');
    put_attribute(out, "host.name", mon_metrics_host());
    MS_BUFFER_TEXT(out, "]},\"scopeMetrics\":[{\"scope\":{\"name\":\"dynolog\",\"version\":");
    put_text(out, source->version);
    MS_BUFFER_TEXT(out, "},\"metrics\":[");
}

static void end_request(struct ms_buffer *out)
{
    MS_BUFFER_TEXT(out, "]}]}]}");
}

static void begin_metric(struct ms_buffer *out, const struct mon_metric_info *info)
{
    static const char *const kinds[] = {
        [MON_COUNTER] = "\"sum\":{" CUMULATIVE ",\"isMonotonic\":true,",
        [MON_GAUGE] = "\"gauge\":{",
        [MON_HISTOGRAM] = "\"histogram\":{" CUMULATIVE ",",
    };
    MS_BUFFER_TEXT(out, "{\"name\":");
    put_text(out, info->name);
    MS_BUFFER_TEXT(out, ",\"description\":");
    put_text(out, info->help);
    MS_BUFFER_TEXT(out, ",\"unit\":");
    put_text(out, info->unit);
    ms_buffer_char(out, ',');
    put(out, kinds[info->type]);
    MS_BUFFER_TEXT(out, "\"dataPoints\":[");
}

int mon_otlp_json(const struct mon_otlp_source *source, void (*take)(void *context, struct ms_buffer *request),
                  void *context)
{
    struct ms_buffer out = {0};
    size_t points = 0; /* in this request */
    int requests = 0;
    for (unsigned i = 0; i < MON_METRIC_COUNT && !out.failed; i++) {
        const struct mon_metric_info *info = &mon_metric_info[i];
        const struct mon_series *series =
            info->group != MON_GROUP_LEGACY ? mon_metrics_first((enum mon_metric)i) : NULL;
        while (series != NULL && !out.failed) {
            if (points == 0) {
                begin_request(&out, source);
            } else {
                ms_buffer_char(&out, ',');
            }
            begin_metric(&out, info);
            for (bool first = true; series != NULL && points < MON_OTLP_POINTS; series = series->next, points++) {
                put(&out, first ? "" : ",");
                put_point(&out, series, source->now_ns);
                first = false;
            }
            MS_BUFFER_TEXT(&out, "]}}");
            if (points == MON_OTLP_POINTS) {
                end_request(&out);
                points = 0;
                requests++;
                take(context, &out);
                out.used = 0;
            }
        }
    }
    if (points != 0 && !out.failed) {
        end_request(&out);
        requests++;
        take(context, &out);
    }
    bool failed = out.failed;
    ms_buffer_free(&out);
    return failed ? -ENOMEM : requests;
}
