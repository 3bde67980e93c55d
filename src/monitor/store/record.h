/* Records: what one source saw at one time, as named values. Back ends that write one line or one event per
 * observation (JSON, TensorBoard) get them; the store of series is for those that show the present state.
 *
 * A record is built on the stack and given away:
 *     struct ms_record record = {.source = MS_RECORD_KERNEL};
 *     ms_record_float(&record, "cpu_u", 12.5);
 *     ms_record_emit(&record);
 *     ms_record_free(&record);
 * At most MS_RECORD_MAX_FIELDS fields; more are left out and counted in `left_out`. */
#ifndef MS_STORE_RECORD_H
#define MS_STORE_RECORD_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

#define MS_RECORD_MAX_FIELDS 4096

enum ms_record_source {
    MS_RECORD_KERNEL,
    MS_RECORD_PMU,
    MS_RECORD_PROCESS,
    MS_RECORD_DEVICE,
    MS_RECORD_NPU,
    MS_RECORD_OPERATOR
};

enum ms_field_type { MS_FIELD_INT, MS_FIELD_UINT, MS_FIELD_FLOAT, MS_FIELD_TEXT };

struct ms_field {
    uint32_t key, text; /* offsets of terminated texts in ms_record.text */
    enum ms_field_type type;
    union {
        int64_t i;
        uint64_t u;
        double f;
    };
};

struct ms_record {
    enum ms_record_source source;
    uint64_t time_ns; /* since the epoch; 0: set when it is emitted */
    struct ms_field *field;
    size_t count, room, left_out;
    struct ms_buffer text;
};

void ms_record_int(struct ms_record *record, const char *key, int64_t value);
void ms_record_uint(struct ms_record *record, const char *key, uint64_t value);
void ms_record_float(struct ms_record *record, const char *key, double value);
void ms_record_text(struct ms_record *record, const char *key, const char *value);
void ms_record_sort(struct ms_record *record); /* by key; of equal keys the last set one stays */
const struct ms_field *ms_record_find(const struct ms_record *record, const char *key);
const char *ms_record_key(const struct ms_record *record, const struct ms_field *field);
const char *ms_record_string(const struct ms_record *record, const struct ms_field *field); /* "" if not a text */
void ms_record_free(struct ms_record *record);

struct ms_record_sink {
    const char *name; /* label `sink` */
    void (*write)(void *context, const struct ms_record *record);
    void *context;
};
/* 0, or -ENOSPC. The record that a sink sees is sorted and has a time. Sinks are the process's own, like the store. */
int ms_record_add_sink(const struct ms_record_sink *sink);
void ms_record_remove_sink(const void *context);
void ms_record_emit(struct ms_record *record);

#endif
