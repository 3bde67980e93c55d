/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a store in SQLite: one virtual table each, which reads the records in place. */
#ifndef MS_QUERY_VTAB_H
#define MS_QUERY_VTAB_H

#include "memscope/query/store.h"

#include <sqlite3.h>

/* Planning a statement sets what the store must contain. Returns an SQLite result code. */
int ms_vtab_register(sqlite3 *db, struct ms_store *store);

#endif
