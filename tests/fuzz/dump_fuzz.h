/* A dump of any content: it must be read to an end, as rows and as events. */
#ifndef DUMP_FUZZ_H
#define DUMP_FUZZ_H

#include "source/source.h"

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

static int begin_model(void *argument, uint32_t pid, struct ms_model *model)
{
    (void)pid;
    struct ms_consumer consumer = {.self = argument, .on_row = look_at_row};
    return ms_model_add(model, &consumer);
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
    uint64_t sum = 0;
    struct ms_source *source;
    struct ms_source_options options = {.sz = sizeof(options), .memory_b = 4096};
    if (ms_source_open(path, &options, &source) != 0) {
        return;
    }
    struct ms_consumer consumer = {.self = &sum, .on_row = look_at_row};
    struct ms_model_options model = MS_MODEL_OPTIONS_DEFAULT;
    struct ms_source_listener listener = {.argument = &sum, .begin = begin_model};
    model.events |= MS_WANT_ACCESS;
    model.levels |= MS_WANT_KERNEL;
    model.analysis |= MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_OOM;
    model.cpu = true;
    ms_source_rows(source, 0, MS_ORDER_AS_WRITTEN, &consumer);
    ms_source_feed(source, 0, &model, &listener);
    ms_source_close(source);
}

#endif
