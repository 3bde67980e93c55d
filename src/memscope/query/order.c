/* SPDX-License-Identifier: Apache-2.0 */
/* See order.h. The order is SQLite's: NULL, then numbers, then texts by bytes. */
#include "memscope/query/order.h"

#include "base/map.h"
#include "memscope/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

#define NO_VALUE UINT64_MAX /* NULL */

static uint64_t u32_at(const char *field)
{
    uint32_t number;
    memcpy(&number, field, sizeof(number));
    return number;
}

/* A code for a column's value in a record: equal values have equal codes. */
static uint64_t code_of(const struct ms_store *store, const struct ms_query_column *column, const void *record)
{
    const char *field = (const char *)record + column->offset;
    uint64_t code;
    switch (column->form) {
    case MS_QUERY_POOL:
    case MS_QUERY_EVENT_EVENT:
        return *(const uint8_t *)field;
    case MS_QUERY_FLAG:
        return *(const uint8_t *)field != 0;
    case MS_QUERY_POOL32:
        return u32_at(field);
    case MS_QUERY_DEVICE:
        code = u32_at(field);
        return code != MS_DEV_UNKNOWN ? code : NO_VALUE;
    case MS_QUERY_BLOCK_SITE:
        code = ms_store_site(store, record);
        return code != 0 ? code : NO_VALUE;
    case MS_QUERY_U32:
        code = u32_at(field);
        return code != MS_ID_NONE ? code : NO_VALUE;
    default: /* texts, and numbers for which 0 means none */
        code = u32_at(field);
        return code != MS_ID_NONE && code != 0 ? code : NO_VALUE;
    }
}

bool ms_order_is_known(const struct ms_store *store, enum ms_query_table table, int column)
{
    if (column < 0 || (size_t)column >= ms_query_schemas[table].column_count ||
        ms_store_count(store, table) > UINT32_MAX) {
        return false;
    }
    switch (ms_query_schemas[table].columns[column].form) {
    case MS_QUERY_POOL:
    case MS_QUERY_POOL32:
    case MS_QUERY_EVENT_EVENT:
    case MS_QUERY_FLAG:
    case MS_QUERY_DEVICE:
    case MS_QUERY_BLOCK_SITE:
    case MS_QUERY_U32:
    case MS_QUERY_U32_OR_NULL:
    case MS_QUERY_TEXT:
        return true;
    default:
        return false;
    }
}

struct value {
    uint64_t code;
    uint64_t number;  /* if it is not a text; NULL sorts first */
    const char *text; /* NULL: a number */
    size_t text_b;
};

static struct value value_of(const struct ms_store *store, enum ms_query_form form, uint64_t code)
{
    struct value value = {.code = code, .number = code + 1}; /* NULL is 0 */
    if (code == NO_VALUE) {
        return value;
    }
    switch (form) {
    case MS_QUERY_POOL:
    case MS_QUERY_POOL32:
        value.text = ms_type_name((unsigned)code);
        break;
    case MS_QUERY_EVENT_EVENT:
        value.text = ms_event_name((unsigned)code);
        break;
    case MS_QUERY_DEVICE:
        value.text = code == MS_DEV_CPU ? "cpu" : NULL;
        break;
    case MS_QUERY_TEXT:
    case MS_QUERY_BLOCK_SITE: {
        struct ms_intern_text text = ms_intern_get(&store->texts, (uint32_t)code);
        value.text = text.s;
        value.text_b = text.length_b;
        return value;
    }
    default:
        break;
    }
    value.text_b = value.text != NULL ? strlen(value.text) : 0;
    return value;
}

static int compare(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
    if (x->text == NULL || y->text == NULL) {
        return x->text != NULL || y->text != NULL ? (x->text != NULL ? 1 : -1)
                                                  : (x->number > y->number) - (x->number < y->number);
    }
    int order = memcmp(x->text, y->text, x->text_b < y->text_b ? x->text_b : y->text_b);
    return order != 0 ? order : (x->text_b > y->text_b) - (x->text_b < y->text_b);
}

static bool goes_on(const struct ms_store *store, uint64_t record)
{
    bool stopped = record % 65536 == 0 && store->stopped != NULL && store->stopped(store->argument) != 0;
    errno = stopped ? EINTR : errno;
    return !stopped;
}

/* ---- ranks ---- */

struct ranks {
    struct ms_map of_code;
    uint64_t *counts; /* records per rank; then the position of the next one */
    size_t count;
};

static void free_ranks(struct ranks *ranks)
{
    ms_map_free(&ranks->of_code);
    free(ranks->counts);
}

/* Counts records by code, sorts the codes by value, and counts by rank. */
static bool make_ranks(const struct ms_store *store, enum ms_query_table table, const struct ms_query_column *column,
                       bool descending, struct ranks *ranks)
{
    uint64_t records = ms_store_count(store, table);
    *ranks = (struct ranks){0};
    uint64_t last = 0, *slot = NULL;
    for (uint64_t i = 0; i < records; i++) {
        uint64_t code = code_of(store, column, ms_store_at(store, table, i));
        if (slot == NULL || code != last) {
            slot = ms_map_at(&ranks->of_code, code, 0, NULL);
            last = code;
        }
        if (slot == NULL || !goes_on(store, i)) {
            return false;
        }
        ++*slot;
    }
    size_t codes = ranks->of_code.count, at = 0;
    struct value *values = calloc(codes + 1, sizeof(*values));
    ranks->counts = calloc(codes + 1, sizeof(*ranks->counts));
    if (values == NULL || ranks->counts == NULL) {
        free(values);
        return false; /* errno is set by malloc or by the map */
    }
    for (size_t i = ms_map_first(&ranks->of_code, 0); i < ranks->of_code.size;
         i = ms_map_first(&ranks->of_code, i + 1)) {
        values[at++] = value_of(store, column->form, ranks->of_code.slots[i].key);
    }
    qsort(values, codes, sizeof(*values), compare);
    const struct value *before = NULL;
    for (size_t i = 0; i < codes; i++) {
        const struct value *value = &values[descending ? codes - 1 - i : i];
        ranks->count += before == NULL || compare(value, before) != 0; /* two codes may have the same text */
        before = value;
        uint64_t *rank = ms_map_get(&ranks->of_code, value->code);
        ranks->counts[ranks->count - 1] += *rank;
        *rank = ranks->count - 1;
    }
    free(values);
    return true;
}

/* ---- distribution ---- */

/* From the previous order, or that of the table, to the next. */
static bool distribute(const struct ms_store *store, enum ms_query_table table, const struct ms_query_column *column,
                       struct ranks *ranks, const uint32_t *from, uint32_t *to)
{
    uint64_t records = ms_store_count(store, table), begin = 0;
    for (size_t i = 0; i < ranks->count; i++) {
        uint64_t count = ranks->counts[i];
        ranks->counts[i] = begin;
        begin += count;
    }
    uint64_t last = 0, *rank = NULL;
    for (uint64_t i = 0; i < records; i++) {
        if (!goes_on(store, i)) {
            return false;
        }
        uint32_t place = from != NULL ? from[i] : (uint32_t)i;
        uint64_t code = code_of(store, column, ms_store_at(store, table, place));
        if (rank == NULL || code != last) {
            rank = ms_map_get(&ranks->of_code, code);
            last = code;
        }
        to[ranks->counts[*rank]++] = place;
    }
    return true;
}

bool ms_order_make(const struct ms_store *store, enum ms_query_table table, const char *columns,
                   struct ms_records *places)
{
    uint64_t records = ms_store_count(store, table);
    if (records > UINT32_MAX) {
        errno = EFBIG;
        return false;
    }
    if (records == 0) {
        return true;
    }
    struct ms_records other = {0};
    const uint32_t *from = NULL;
    bool good = ms_records_add(places, records * sizeof(uint32_t)) != NULL &&
                (columns[1] == '\0' || ms_records_add(&other, records * sizeof(uint32_t)) != NULL);
    for (size_t i = strlen(columns); good && i-- > 0;) {
        const struct ms_query_column *column = &ms_query_schemas[table].columns[(columns[i] - 1) / 2];
        struct ranks ranks;
        uint32_t *to = (uint32_t *)(void *)(i % 2 == 0 ? places->base : other.base); /* the last pass ends in places */
        good = make_ranks(store, table, column, (columns[i] - 1) % 2 != 0, &ranks) &&
               distribute(store, table, column, &ranks, from, to);
        from = to;
        free_ranks(&ranks);
    }
    int error = errno;
    ms_records_free(&other);
    if (!good) {
        ms_records_free(places);
    }
    errno = error;
    return good;
}
