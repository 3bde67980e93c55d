/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a table in the order of columns that have few values: words, texts, numbers of devices, threads and steps.
 *
 * SQLite sorts by comparing, n log n times, and through files when there is much; questions that group millions of
 * records spend most of their time there. Here a column becomes the rank of its value, and records are counted into
 * their places, column by column from the last one on: the time is linear in records. */
#ifndef MS_QUERY_ORDER_H
#define MS_QUERY_ORDER_H

#include "memscope/query/store.h"

/* Columns, the first one first: one byte each, number and direction. */
#define MS_ORDER_COLUMN(column, descending) ((char)(1 + 2 * (column) + (descending)))

bool ms_order_is_known(const struct ms_store *store, enum ms_query_table table, int column);

/* Places of all records, 32 bits each, those that are equal as they stand in the table. False: see errno (no memory, no
 * disk, EFBIG: more records than such numbers, EINTR: stopped). */
bool ms_order_make(const struct ms_store *store, enum ms_query_table table, const char *columns,
                   struct ms_records *places);

#endif
