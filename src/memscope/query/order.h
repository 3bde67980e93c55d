/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the records of a table by columns that have few distinct values: words, texts, device, thread and step numbers.
 *
 * SQLite sorts by comparison, in n log n steps, and through files if there is much data; queries that group millions of
 * records spend most of their time there. Here each column value is replaced by its rank, and records are distributed
 * by counting (radix sort, last column first): time is linear in the number of records. */
#ifndef MS_QUERY_ORDER_H
#define MS_QUERY_ORDER_H

#include "memscope/query/store.h"

/* Columns, most significant first: one byte each, number and direction. */
#define MS_ORDER_COLUMN(column, descending) ((char)(1 + 2 * (column) + (descending)))

bool ms_order_is_known(const struct ms_store *store, enum ms_query_table table, int column);

/* Positions of all records, 32 bits each; equal ones keep their order in the table. False: see errno (ENOMEM, no disk
 * space, EFBIG: too many records for 32 bits, EINTR: stopped). */
bool ms_order_make(const struct ms_store *store, enum ms_query_table table, const char *columns,
                   struct ms_records *places);

#endif
