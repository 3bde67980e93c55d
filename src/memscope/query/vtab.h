/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a store inside SQLite: one virtual table each, read where the records stand. */
#ifndef MS_QUERY_VTAB_H
#define MS_QUERY_VTAB_H

#include "memscope/query/store.h"

#include <sqlite3.h>

/* Planning a statement sets what the store wants and needs. Returns SQLite's code. */
int ms_vtab_register(sqlite3 *db, struct ms_store *store);

#endif
