/* SPDX-License-Identifier: Apache-2.0 */
/* See text_format.h. Metrics appear in table order and series in order of creation; a metric without series is omitted.
 * Upstream's names have upstream's label for the host. */
#include "monitor/metrics/text_format.h"

#include "base/macros.h"
#include "monitor/store/series.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const type_names[] = {
    [MON_COUNTER] = "counter", [MON_GAUGE] = "gauge", [MON_HISTOGRAM] = "histogram"};

static void put(struct ms_buffer *out, const char *s)
{
    ms_buffer_add(out, s, strlen(s));
}

/* Escapes backslash and newline, and in labels also the quote. */
static void put_escaped(struct ms_buffer *out, const char *s, bool label)
{
    for (;;) {
        size_t plain = strcspn(s, label ? "\\\n\"" : "\\\n");
        ms_buffer_add(out, s, plain);
        s += plain;
        if (*s == '\0') {
            return;
        }
        ms_buffer_char(out, '\\');
        ms_buffer_char(out, *s == '\n' ? 'n' : *s);
        s++;
    }
}

void mon_text_number(struct ms_buffer *out, double value)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    char text[32];
    double size = value < 0 ? -value : value;
    /* Most values have few digits: integers, ticks, nanoseconds. Dividing two exact numbers yields the double nearest
     * to the decimal fraction, so if that equals the value, the fraction is its text. */
    for (unsigned digits = 0; digits < MS_COUNT_OF(powers) && size * powers[digits] < 9e15; digits++) {
        uint64_t scaled = (uint64_t)(size * powers[digits] + 0.5);
        if ((double)scaled / powers[digits] == size) {
            if (value < 0) {
                ms_buffer_char(out, '-');
            }
            ms_buffer_u64(out, scaled / (uint64_t)powers[digits]);
            if (digits > 0) {
                unsigned fraction = (unsigned)(scaled % (uint64_t)powers[digits]);
                text[0] = '.';
                for (unsigned i = digits; i > 0; i--, fraction /= 10) {
                    text[i] = (char)('0' + fraction % 10);
                }
                ms_buffer_add(out, text, digits + 1);
            }
            return;
        }
    }
    snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value) {
        snprintf(text, sizeof(text), "%.17g", value);
    }
    put(out, text);
}

static void put_line(struct ms_buffer *out, const struct mon_series *series, const char *suffix, const char *le,
                     double value)
{
    const struct mon_metric_info *info = &mon_metric_info[series->metric];
    const char *label = series->key;
    put(out, info->name);
    put(out, suffix);
    put(out, info->group == MON_GROUP_LEGACY ? "{host_name=\"" : "{host=\"");
    put_escaped(out, mon_metrics_host(), true);
    for (uint32_t mask = info->labels; mask != 0; mask &= mask - 1) {
        MS_BUFFER_TEXT(out, "\",");
        put(out, mon_label_info[__builtin_ctz(mask)].name);
        MS_BUFFER_TEXT(out, "=\"");
        put_escaped(out, label, true);
        label += strlen(label) + 1;
    }
    if (le != NULL) {
        MS_BUFFER_TEXT(out, "\",le=\"");
        put(out, le);
    }
    MS_BUFFER_TEXT(out, "\"} ");
    mon_text_number(out, value);
    ms_buffer_char(out, '\n');
}

static void put_histogram(struct ms_buffer *out, const struct mon_series *series)
{
    static char le[MON_HISTOGRAM_BOUNDS + 1][24];
    uint64_t below = 0;
    for (size_t i = 0; i <= MON_HISTOGRAM_BOUNDS; i++) {
        if (le[i][0] == '\0') {
            snprintf(le[i], sizeof(le[i]), i < MON_HISTOGRAM_BOUNDS ? "%.12g" : "+Inf", mon_histogram_bound(i));
        }
        below += series->histogram->bucket[i];
        put_line(out, series, "_bucket", le[i], (double)below);
    }
    put_line(out, series, "_sum", NULL, series->histogram->sum);
    put_line(out, series, "_count", NULL, (double)below);
}

void mon_text_format(uint32_t groups, struct ms_buffer *out)
{
    for (unsigned i = 0; i < MON_METRIC_COUNT; i++) {
        const struct mon_metric_info *info = &mon_metric_info[i];
        const struct mon_series *series = mon_metrics_first((enum mon_metric)i);
        if ((groups & 1u << info->group) == 0 || series == NULL) {
            continue;
        }
        MS_BUFFER_TEXT(out, "# HELP ");
        put(out, info->name);
        ms_buffer_char(out, ' ');
        put_escaped(out, info->help, false);
        MS_BUFFER_TEXT(out, "\n# TYPE ");
        put(out, info->name);
        ms_buffer_char(out, ' ');
        put(out, type_names[info->type]);
        ms_buffer_char(out, '\n');
        for (; series != NULL; series = series->next) {
            if (series->histogram != NULL) {
                put_histogram(out, series);
            } else {
                put_line(out, series, "", NULL, series->value);
            }
        }
    }
}
