/* SPDX-License-Identifier: Apache-2.0 */
/* Records and their delivery to back ends. Used only by the event loop thread. Failure policy: a field that cannot be
 * allocated is omitted and counted; the rest of the record is valid. */
#include "monitor/store/record.h"

#include "base/clock.h"
#include "base/macros.h"
#include "monitor/store/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct mon_record_backend backends[4];
static size_t backend_count;

static struct mon_field *add(struct mon_record *record, const char *key, enum mon_field_type type)
{
    size_t key_b = strlen(key) + 1;
    if (record->count == record->room) {
        size_t room = record->room != 0 ? record->room * 2 : 32;
        struct mon_field *field = room <= MON_RECORD_MAX_FIELDS ? realloc(record->field, room * sizeof(*field)) : NULL;
        if (field == NULL) {
            record->left_out++;
            return NULL;
        }
        record->field = field;
        record->room = room;
    }
    if (!ms_buffer_reserve(&record->text, key_b)) {
        record->left_out++;
        return NULL;
    }
    struct mon_field *field = &record->field[record->count++];
    *field = (struct mon_field){.type = type, .key = (uint32_t)record->text.used};
    ms_buffer_add(&record->text, key, key_b);
    return field;
}

void mon_record_int(struct mon_record *record, const char *key, int64_t value)
{
    struct mon_field *field = add(record, key, MON_FIELD_INT);
    if (field != NULL) {
        field->i = value;
    }
}

void mon_record_uint(struct mon_record *record, const char *key, uint64_t value)
{
    struct mon_field *field = add(record, key, MON_FIELD_UINT);
    if (field != NULL) {
        field->u = value;
    }
}

void mon_record_float(struct mon_record *record, const char *key, double value)
{
    struct mon_field *field = add(record, key, MON_FIELD_FLOAT);
    if (field != NULL) {
        field->f = value;
    }
}

void mon_record_text(struct mon_record *record, const char *key, const char *value)
{
    size_t value_b = strlen(value) + 1;
    if (!ms_buffer_reserve(&record->text, value_b + strlen(key) + 1)) {
        record->left_out++;
        return;
    }
    struct mon_field *field = add(record, key, MON_FIELD_TEXT);
    if (field != NULL) {
        field->text = (uint32_t)record->text.used;
        ms_buffer_add(&record->text, value, value_b);
    }
}

const char *mon_record_key(const struct mon_record *record, const struct mon_field *field)
{
    return record->text.s + field->key;
}

const char *mon_record_string(const struct mon_record *record, const struct mon_field *field)
{
    return field != NULL && field->type == MON_FIELD_TEXT ? record->text.s + field->text : "";
}

static int by_key(const void *a, const void *b, void *record)
{
    const struct mon_field *left = a, *right = b;
    int order = strcmp(mon_record_key(record, left), mon_record_key(record, right));
    return order != 0 ? order : left->key < right->key ? -1 : 1; /* a later field has a higher offset */
}

void mon_record_sort(struct mon_record *record)
{
    if (record->count == 0) {
        return;
    }
    qsort_r(record->field, record->count, sizeof(*record->field), by_key, record);
    size_t kept = 0;
    for (size_t i = 1; i < record->count; i++) {
        const char *key = mon_record_key(record, &record->field[i]);
        if (strcmp(key, mon_record_key(record, &record->field[kept])) != 0) {
            kept++;
        }
        record->field[kept] = record->field[i];
    }
    record->count = kept + 1;
}

const struct mon_field *mon_record_find(const struct mon_record *record, const char *key)
{
    for (size_t i = record->count; i-- > 0;) {
        if (strcmp(mon_record_key(record, &record->field[i]), key) == 0) {
            return &record->field[i];
        }
    }
    return NULL;
}

void mon_record_free(struct mon_record *record)
{
    free(record->field);
    ms_buffer_free(&record->text);
    *record = (struct mon_record){.source = record->source};
}

int mon_record_add_backend(const struct mon_record_backend *backend)
{
    if (backend_count == MS_COUNT_OF(backends)) {
        return -ENOSPC;
    }
    backends[backend_count++] = *backend;
    return 0;
}

void mon_record_remove_backend(const void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < backend_count; i++) {
        if (backends[i].context != context) {
            backends[kept++] = backends[i];
        }
    }
    backend_count = kept;
}

void mon_record_emit(struct mon_record *record)
{
    if (backend_count == 0 || record->count == 0) {
        return;
    }
    mon_record_sort(record);
    if (record->time_ns == 0) {
        record->time_ns = ms_clock_ns(CLOCK_REALTIME);
    }
    for (size_t i = 0; i < backend_count; i++) {
        mon_metric_record(MON_METRIC_BACKEND_RECORDS, MON_LABELS(.sink = backends[i].name), 1);
        backends[i].write(backends[i].context, record);
    }
}
