/* SPDX-License-Identifier: Apache-2.0 */
/* See vtab.h. A scan is as cheap as reading memory; a record is found directly by its number; records come sorted by
 * columns with few distinct values if a statement groups or sorts by these only (order.h). There are no other indexes:
 * for joins of large tables on other columns, SQLite builds one (docs/guide/query.md). Used by the thread that uses the
 * connection. */
#include "memscope/query/vtab.h"

#include "base/buffer.h"
#include "memscope/export/sqlite_vtab.h"
#include "memscope/model/model.h"
#include "memscope/query/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ORDER_COLUMNS 8

struct store_order { /* kept as long as the table: a join may need it repeatedly */
    struct store_order *next;
    char columns[ORDER_COLUMNS + 1];
    uint64_t count; /* of records at that time */
    struct ms_records places;
};

struct store_table {
    sqlite3_vtab base;
    struct ms_store *store;
    enum ms_query_table which;
    struct store_order *orders;
};

struct store_cursor {
    sqlite3_vtab_cursor base;
    uint64_t at, end;
    uint64_t record;        /* the record at position `at` */
    const uint32_t *places; /* NULL: table order */
};

enum { PLAN_SCAN, PLAN_NUMBER, PLAN_ORDER };

/* ---- planning ---- */

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **out, char **error)
{
    (void)argc;
    (void)error;
    size_t which = 0; /* found by name: each table is its own module */
    while (which < MS_TABLE_COUNT && strcmp(ms_query_schemas[which].name, argv[0]) != 0) {
        which++;
    }
    struct ms_buffer sql = {0};
    MS_BUFFER_TEXT(&sql, "CREATE TABLE x(");
    for (size_t i = 0; which < MS_TABLE_COUNT && i < ms_query_schemas[which].column_count; i++) {
        const struct ms_query_column *column = &ms_query_schemas[which].columns[i];
        if (i != 0) {
            ms_buffer_char(&sql, ',');
        }
        ms_buffer_char(&sql, '"');
        ms_buffer_add(&sql, column->name, strlen(column->name));
        ms_buffer_char(&sql, '"');
        if (column->form == MS_QUERY_DEVICE) { /* accepts '0' for 0 */
            MS_BUFFER_TEXT(&sql, " INTEGER");
        }
    }
    MS_BUFFER_TEXT(&sql, ")\0");
    struct store_table *table = which < MS_TABLE_COUNT && !sql.failed ? sqlite3_malloc(sizeof(*table)) : NULL;
    int rc = table != NULL ? sqlite3_declare_vtab(db, sql.s) : SQLITE_NOMEM;
    ms_buffer_free(&sql);
    if (rc != SQLITE_OK) {
        sqlite3_free(table);
        return rc;
    }
    *table = (struct store_table){.store = context, .which = (enum ms_query_table)which};
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *base)
{
    struct store_table *table = (struct store_table *)base;
    while (table->orders != NULL) {
        struct store_order *order = table->orders;
        table->orders = order->next;
        ms_records_free(&order->places);
        sqlite3_free(order);
    }
    sqlite3_free(table);
    return SQLITE_OK;
}

static uint32_t need_of(const struct ms_query_column *column)
{
    switch (column->form) {
    case MS_QUERY_CALLS:
    case MS_QUERY_BLOCK_SITE:
        return MS_NEED_CALLS;
    case MS_QUERY_BLOCK_INEFFICIENT:
        return MS_NEED_INEFFICIENT;
    case MS_QUERY_EVENT_BLOCK:
        return MS_NEED_BLOCKS;
    case MS_QUERY_EVENT_ATTR:
        return MS_NEED_ATTR;
    default:
        return 0;
    }
}

/* SELECT DISTINCT keeps the values it has seen, which are few, and returns them as they come. */
static bool is_distinct(sqlite3_index_info *info)
{
#if SQLITE_VERSION_NUMBER >= 3038000
    return sqlite3_vtab_distinct(info) >= 2;
#else
    (void)info;
    return false;
#endif
}

/* Can the requested order be provided? */
static int plan_order(const struct store_table *table, sqlite3_index_info *info)
{
    char columns[ORDER_COLUMNS + 1] = "";
    if (info->nOrderBy == 0 || info->nOrderBy > ORDER_COLUMNS || is_distinct(info)) {
        return SQLITE_OK;
    }
    for (int i = 0; i < info->nOrderBy; i++) {
        if (!ms_order_is_known(table->store, table->which, info->aOrderBy[i].iColumn)) {
            return SQLITE_OK;
        }
        columns[i] = MS_ORDER_COLUMN(info->aOrderBy[i].iColumn, info->aOrderBy[i].desc != 0);
    }
    info->idxStr = sqlite3_mprintf("%s", columns);
    info->needToFreeIdxStr = 1;
    info->idxNum = PLAN_ORDER;
    info->orderByConsumed = 1;
    return info->idxStr != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct store_table *table = (struct store_table *)base;
    const struct ms_query_schema *schema = &ms_query_schemas[table->which];
    struct ms_store *store = table->store;
    store->wanted |= 1u << table->which;
    for (size_t i = 0; i < schema->column_count; i++) {
        if ((info->colUsed >> i & 1) != 0) {
            uint32_t need = need_of(&schema->columns[i]);
            store->needs |= need;
            store->wanted |= (need & MS_NEED_BLOCKS) != 0 ? 1u << MS_TABLE_BLOCKS : 0;
        }
    }
    uint64_t count = ms_store_count(store, table->which);
    info->estimatedRows = (sqlite3_int64)count + 1;
    info->estimatedCost = (double)count + 1;
    info->idxNum = PLAN_SCAN;
    for (int i = 0; schema->columns[0].form == MS_QUERY_NUMBER && i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (constraint->usable && constraint->op == SQLITE_INDEX_CONSTRAINT_EQ && constraint->iColumn == 0) {
            info->aConstraintUsage[i].argvIndex = 1;
            info->idxNum = PLAN_NUMBER;
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
            info->estimatedRows = 1;
            info->estimatedCost = 1;
            return SQLITE_OK;
        }
    }
    return plan_order(table, info);
}

/* ---- scanning ---- */

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
    (void)table;
    return ms_vtab_open_cursor(sizeof(struct store_cursor), out);
}

static void go_to(struct store_cursor *cursor, uint64_t at)
{
    cursor->at = at;
    cursor->record = cursor->places != NULL && at < cursor->end ? cursor->places[at] : at;
}

/* NULL: see errno. */
static const struct store_order *find_order(struct store_table *table, const char *columns, uint64_t count)
{
    struct store_order *order = table->orders;
    while (order != NULL && (order->count != count || strcmp(order->columns, columns) != 0)) {
        order = order->next;
    }
    if (order != NULL) {
        return order;
    }
    order = sqlite3_malloc(sizeof(*order));
    if (order == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    *order = (struct store_order){.next = table->orders, .count = count};
    memcpy(order->columns, columns, strlen(columns) + 1);
    if (!ms_order_make(table->store, table->which, columns, &order->places)) {
        int error = errno;
        table->base.zErrMsg = sqlite3_mprintf("sorting %s: %s", ms_query_schemas[table->which].name, strerror(error));
        sqlite3_free(order);
        errno = error;
        return NULL;
    }
    table->orders = order;
    return order;
}

static int begin(sqlite3_vtab_cursor *base, int plan, const char *columns, int argc, sqlite3_value **argv)
{
    struct store_cursor *cursor = (struct store_cursor *)base;
    struct store_table *table = (struct store_table *)base->pVtab;
    uint64_t begin_at = 0;
    cursor->end = ms_store_count(table->store, table->which);
    cursor->places = NULL;
    if (plan == PLAN_NUMBER && argc == 1) {
        sqlite3_int64 number = sqlite3_value_int64(argv[0]); /* SQLite compares the result again */
        bool there = number >= 1 && (uint64_t)number <= cursor->end;
        begin_at = there ? (uint64_t)number - 1 : 0;
        cursor->end = there ? (uint64_t)number : 0;
    } else if (plan == PLAN_ORDER) {
        const struct store_order *order = find_order(table, columns, cursor->end);
        if (order == NULL) {
            return errno == EINTR ? SQLITE_INTERRUPT : errno == ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
        }
        cursor->places = (const uint32_t *)(const void *)order->places.base;
    }
    go_to(cursor, begin_at);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    struct store_cursor *cursor = (struct store_cursor *)base;
    go_to(cursor, cursor->at + 1);
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
    const struct store_cursor *cursor = (const struct store_cursor *)base;
    return cursor->at >= cursor->end;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)((const struct store_cursor *)base)->record + 1;
    return SQLITE_OK;
}

/* ---- cells ---- */

static void give_number(sqlite3_context *result, uint64_t number, bool known)
{
    if (known) {
        sqlite3_result_int64(result, (sqlite3_int64)number);
    }
}

static void give_text(sqlite3_context *result, const struct ms_store *store, uint32_t text)
{
    if (text != 0) {
        struct ms_intern_text found = ms_intern_get(&store->texts, text);
        sqlite3_result_text(result, found.s, (int)found.length_b, SQLITE_STATIC);
    }
}

static void give_word(sqlite3_context *result, const char *word)
{
    sqlite3_result_text(result, word, -1, SQLITE_STATIC);
}

static void give_hex(sqlite3_context *result, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)number);
    sqlite3_result_text(result, text, -1, SQLITE_TRANSIENT);
}

static void give_device(sqlite3_context *result, uint32_t device)
{
    if (device == MS_DEV_CPU) {
        give_word(result, "cpu");
    } else {
        give_number(result, device, device != MS_DEV_UNKNOWN);
    }
}

static void give_inefficient(sqlite3_context *result, uint8_t inefficient)
{
    char text[MS_INEFFICIENT_TEXT_B];
    if (ms_inefficient_text(inefficient, text) != 0) {
        sqlite3_result_text(result, text, -1, SQLITE_TRANSIENT);
    }
}

static void give_block(sqlite3_context *result, const struct ms_store *store, const struct ms_block_record *block,
                       enum ms_query_form form)
{
    static const char *const ends[] = {
        [MS_END_FREE] = "freed", [MS_END_SHADOW] = "not traced", [MS_END_RESIDUAL] = "lost", [MS_END_EXIT] = "live"};
    switch (form) {
    case MS_QUERY_BLOCK_END:
        give_word(result, ends[block->end]);
        return;
    case MS_QUERY_BLOCK_SITE:
        give_text(result, store, ms_store_site(store, block));
        return;
    case MS_QUERY_BLOCK_INEFFICIENT:
        give_inefficient(result, block->inefficient);
        return;
    default:
        if (block->pool == MS_TYPE_HAL) {
            give_word(result, ms_module_name(block->module_id));
        }
        return;
    }
}

static void give_event(sqlite3_context *result, const struct ms_store *store, const struct ms_event_record *event,
                       enum ms_query_form form)
{
    switch (form) {
    case MS_QUERY_EVENT_EVENT:
        give_word(result, ms_event_name(event->event));
        return;
    case MS_QUERY_EVENT_ADDR:
        if ((event->has & MS_EVENT_HAS_ADDR) != 0) {
            give_hex(result, event->addr);
        }
        return;
    case MS_QUERY_EVENT_SIZE:
        give_number(result, event->size_b, (event->has & MS_EVENT_HAS_SIZE) != 0);
        return;
    case MS_QUERY_EVENT_USED:
        give_number(result, event->used_b, (event->has & MS_EVENT_HAS_USED) != 0);
        return;
    case MS_QUERY_EVENT_RESERVED:
        give_number(result, event->reserved_b, (event->has & MS_EVENT_HAS_RESERVED) != 0);
        return;
    case MS_QUERY_EVENT_BLOCK:
        give_number(result, event->block, event->block != 0);
        return;
    default:
        if (event->attr_b != 0) {
            sqlite3_result_text(result, store->attrs.base + event->attr, (int)event->attr_b, SQLITE_STATIC);
        }
        return;
    }
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int i)
{
    const struct store_table *table = (const struct store_table *)base->pVtab;
    const struct ms_store *store = table->store;
    const struct ms_query_column *schema = &ms_query_schemas[table->which].columns[i];
    uint64_t at = ((const struct store_cursor *)base)->record;
    const void *record = ms_store_at(store, table->which, at);
    const char *field = (const char *)record + schema->offset;
    uint64_t u64;
    uint32_t u32;
    switch (schema->form) {
    case MS_QUERY_NUMBER:
        sqlite3_result_int64(result, (sqlite3_int64)at + 1);
        break;
    case MS_QUERY_U64:
    case MS_QUERY_U64_OR_NULL:
        memcpy(&u64, field, sizeof(u64));
        give_number(result, u64, u64 != 0 || schema->form == MS_QUERY_U64);
        break;
    case MS_QUERY_U32:
    case MS_QUERY_U32_OR_NULL:
        memcpy(&u32, field, sizeof(u32));
        give_number(result, u32, u32 != MS_ID_NONE && (u32 != 0 || schema->form == MS_QUERY_U32));
        break;
    case MS_QUERY_TEXT:
    case MS_QUERY_CALLS:
        memcpy(&u32, field, sizeof(u32));
        give_text(result, store, u32);
        break;
    case MS_QUERY_DEVICE:
        memcpy(&u32, field, sizeof(u32));
        give_device(result, u32);
        break;
    case MS_QUERY_POOL:
        give_word(result, ms_type_name(*(const uint8_t *)field));
        break;
    case MS_QUERY_POOL32:
        memcpy(&u32, field, sizeof(u32));
        give_word(result, ms_type_name(u32));
        break;
    case MS_QUERY_HEX:
        memcpy(&u64, field, sizeof(u64));
        give_hex(result, u64);
        break;
    case MS_QUERY_FLAG:
        sqlite3_result_int(result, *(const uint8_t *)field != 0);
        break;
    case MS_QUERY_BLOCK_END:
    case MS_QUERY_BLOCK_SITE:
    case MS_QUERY_BLOCK_INEFFICIENT:
    case MS_QUERY_BLOCK_MODULE:
        give_block(result, store, record, schema->form);
        break;
    default:
        give_event(result, store, record, schema->form);
        break;
    }
    return SQLITE_OK;
}

int ms_vtab_register(sqlite3 *db, struct ms_store *store)
{
    static const sqlite3_module module = {
        .xConnect = connect, /* no xCreate: an eponymous table, it exists without being created */
        .xDisconnect = disconnect,
        .xBestIndex = best_index,
        .xOpen = open_cursor,
        .xClose = ms_vtab_close_cursor,
        .xFilter = begin,
        .xNext = next,
        .xEof = at_end,
        .xColumn = column,
        .xRowid = rowid,
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; i < MS_TABLE_COUNT && rc == SQLITE_OK; i++) {
        rc = sqlite3_create_module(db, ms_query_schemas[i].name, &module, store);
    }
    return rc;
}
