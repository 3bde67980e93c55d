/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of SQL that say what to write instead. */
#ifndef MS_QUERY_EXPLAIN_H
#define MS_QUERY_EXPLAIN_H

#include "base/buffer.h"

#include <sqlite3.h>

/* Appends the last error of the connection, where it is in the statement, and what there is in its place; terminated.
 */
void ms_query_explain(sqlite3 *db, const char *sql, int code, struct ms_buffer *out);

#endif
