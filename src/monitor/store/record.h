/* SPDX-License-Identifier: Apache-2.0 */
/* Records: named values that one source observed at one time. Back ends that write one line or one event per
 * observation (JSON, TensorBoard) receive them; back ends that show the current state read the store of series.
 *
 * Usage:
 *     struct mon_record record = {.source = MON_RECORD_KERNEL};
 *     mon_record_float(&record, "cpu_u", 12.5);
 *     mon_record_emit(&record);
 *     mon_record_free(&record);
 * A record has at most MON_RECORD_MAX_FIELDS fields; further ones are omitted and counted in `left_out`. */
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
    uint32_t key, text; /* offsets of NUL-terminated texts in mon_record.text */
    enum mon_field_type type;
    union {
        int64_t i;
        uint64_t u;
        double f;
    };
};

struct mon_record {
    enum mon_record_source source;
    uint64_t time_ns; /* since the epoch; 0: set by mon_record_emit */
    struct mon_field *field;
    size_t count, room, left_out;
    struct ms_buffer text;
};

void mon_record_int(struct mon_record *record, const char *key, int64_t value);
void mon_record_uint(struct mon_record *record, const char *key, uint64_t value);
void mon_record_float(struct mon_record *record, const char *key, double value);
void mon_record_text(struct mon_record *record, const char *key, const char *value);
void mon_record_sort(struct mon_record *record); /* by key; of equal keys, keeps the last one set */
const struct mon_field *mon_record_find(const struct mon_record *record, const char *key);
const char *mon_record_key(const struct mon_record *record, const struct mon_field *field);
const char *mon_record_string(const struct mon_record *record, const struct mon_field *field); /* "" if not a text */
void mon_record_free(struct mon_record *record);

struct mon_record_backend {
    const char *name; /* value of the label `sink` */
    void (*write)(void *context, const struct mon_record *record);
    void *context;
};
/* Registers a back end for all records of the process. 0 or -ENOSPC. A back end receives records sorted and with a
 * time. */
int mon_record_add_backend(const struct mon_record_backend *backend);
void mon_record_remove_backend(const void *context);
void mon_record_emit(struct mon_record *record);

#endif
