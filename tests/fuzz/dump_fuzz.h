/* SPDX-License-Identifier: Apache-2.0 */
/* A dump of any content: it must be read to an end, as rows and as events. */
#ifndef DUMP_FUZZ_H
#define DUMP_FUZZ_H

#include "memscope/analyze/report/report.h"
#include "memscope/render/report_json.h"
#include "memscope/source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_b);

static int look_at_row(void *self, const struct ms_row *row)
{
    uint64_t *sum = self;
    for (uint32_t i = 0; i < row->name.length_b; i++) {
        *sum += (uint8_t)row->name.s[i];
    }
    for (uint32_t i = 0; i < row->attr_count; i++) {
        const struct ms_attr *attr = &row->attr[i];
        *sum += attr->form == MS_FORM_TEXT && attr->text.length_b != 0 ? (uint8_t)attr->text.s[0] : attr->number;
    }
    return 0;
}

struct fuzz_reading {
    uint64_t sum;
    struct ms_report_builder *report;
};

static int begin_model(void *argument, uint32_t pid, struct ms_model *model)
{
    struct fuzz_reading *reading = argument;
    struct ms_consumer consumer = {.self = &reading->sum, .on_row = look_at_row};
    int rc = ms_model_add(model, &consumer);
    return rc != 0 ? rc : ms_report_process_begin(reading->report, pid, model);
}

static int end_model(void *argument, uint32_t pid, struct ms_model *model)
{
    struct fuzz_reading *reading = argument;
    (void)pid;
    return ms_report_process_end(reading->report, model, (struct ms_stack_source){0}, "", "", "");
}

static void write_report(struct ms_report_builder *builder)
{
    struct ms_buffer json = {0};
    const struct ms_report *report = ms_report_finish(builder);
    if (report != NULL) {
        ms_report_json(report, &json);
    }
    ms_buffer_free(&json);
    ms_report_free(builder);
}

static void read_dump(const char *suffix, const uint8_t *data, size_t size_b)
{
    static char directory[64], path[96];
    if (directory[0] == 0) {
        snprintf(directory, sizeof(directory), "/tmp/npuscope-fuzz-XXXXXX");
        if (mkdtemp(directory) == NULL) {
            abort();
        }
        snprintf(path, sizeof(path), "%s/memscope_dump_1.%s", directory, suffix);
    }
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(data, 1, size_b, file) != size_b || fclose(file) != 0) {
        abort();
    }
    struct fuzz_reading reading = {0};
    struct ms_report_options report = {.idle_threshold = 3};
    struct ms_source *source;
    struct ms_source_options options = {.memory_b = 4096};
    if (ms_source_open(path, &options, &source) != 0) {
        return;
    }
    struct ms_consumer consumer = {.self = &reading.sum, .on_row = look_at_row};
    struct ms_model_options model;
    struct ms_source_listener listener = {.argument = &reading, .begin = begin_model, .end = end_model};
    ms_report_model_options(&model);
    if (ms_report_begin(&report, &reading.report) != 0) {
        abort();
    }
    ms_source_rows(source, 0, MS_ORDER_AS_WRITTEN, &consumer);
    ms_source_feed(source, 0, &model, &listener);
    write_report(reading.report);
    ms_source_close(source);
}

#endif
