/* SPDX-License-Identifier: Apache-2.0 */
/* Records: what one source saw at one time, as named values. Back ends that write one line or one event per
 * observation (JSON, TensorBoard) get them; the store of series is for those that show the present state.
 *
 * A record is built on the stack and given away:
 *     struct mon_record record = {.source = MON_RECORD_KERNEL};
 *     mon_record_float(&record, "cpu_u", 12.5);
 *     mon_record_emit(&record);
 *     mon_record_free(&record);
 * At most MON_RECORD_MAX_FIELDS fields; more are left out and counted in `left_out`. */
#ifndef MON_STORE_RECORD_H
#define MON_STORE_RECORD_H

#include "base/buffer.h"

#include <stddef.h>
#include <stdint.h>

#define MON_RECORD_MAX_FIELDS 4096

enum mon_record_source {
    MON_RECORD_KERNEL,
    MON_RECORD_PMU,
    MON_RECORD_PROCESS,
    MON_RECORD_DEVICE,
    MON_RECORD_NPU,
    MON_RECORD_OPERATOR
};

enum mon_field_type { MON_FIELD_INT, MON_FIELD_UINT, MON_FIELD_FLOAT, MON_FIELD_TEXT };

struct mon_field {
    uint32_t key, text; /* offsets of terminated texts in mon_record.text */
    enum mon_field_type type;
    union {
        int64_t i;
        uint64_t u;
        double f;
    };
};

struct mon_record {
    enum mon_record_source source;
    uint64_t time_ns; /* since the epoch; 0: set when it is emitted */
    struct mon_field *field;
    size_t count, room, left_out;
    struct ms_buffer text;
};

void mon_record_int(struct mon_record *record, const char *key, int64_t value);
void mon_record_uint(struct mon_record *record, const char *key, uint64_t value);
void mon_record_float(struct mon_record *record, const char *key, double value);
void mon_record_text(struct mon_record *record, const char *key, const char *value);
void mon_record_sort(struct mon_record *record); /* by key; of equal keys the last set one stays */
const struct mon_field *mon_record_find(const struct mon_record *record, const char *key);
const char *mon_record_key(const struct mon_record *record, const struct mon_field *field);
const char *mon_record_string(const struct mon_record *record, const struct mon_field *field); /* "" if not a text */
void mon_record_free(struct mon_record *record);

struct mon_record_backend {
    const char *name; /* label `sink` */
    void (*write)(void *context, const struct mon_record *record);
    void *context;
};
/* 0, or -ENOSPC. The record that a sink sees is sorted and has a time. Sinks are the process's own, like the store. */
int mon_record_add_backend(const struct mon_record_backend *backend);
void mon_record_remove_backend(const void *context);
void mon_record_emit(struct mon_record *record);

#endif
